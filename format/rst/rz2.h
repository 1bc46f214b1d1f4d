/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_RST_RZ2_H
#define OPJIT_FORMAT_RST_RZ2_H
/* Inside format/rst only: what the reader and the writer of RZ2 keep in step for each cpu. */
#include "format/rst/codec.h"
#include "format/rst/sparc.h"

#define RZ2_HEAD 512
#define RZ2_FOOT 184
#define RZ2_BLOCK_RECS 32760
#define RZ2_MAX_CPUS 64
#define RZ2_SETS 3391
#define RZ2_WAYS 4
#define RZ2_PAVA_SLOTS 8
#define RZ2_VALUES 65535
#define RZ2_CHUNK_RECS 1000
#define RZ2_CHECK_EVERY 16

enum rz2_tag {
	RZ2_END = 161, RZ2_PLAIN = 162, RZ2_LOOP = 163, RZ2_PAVA = 164, RZ2_CC = 172, RZ2_REGID = 173, RZ2_V1 = 174, RZ2_V2 = 175,
	RZ2_V4 = 176, RZ2_V8 = 177, RZ2_VINDEX = 178, RZ2_VMINUS1 = 179, RZ2_VSMALL = 180, RZ2_PAIR = 189,
};

struct rz2_way {
	uint64_t pc;
	uint32_t n;       /* instructions */
	uint32_t age;
	uint32_t *words;  /* room for n_words */
	uint32_t n_words;
	uint64_t *eas;    /* ea_room of them */
	uint32_t n_eas, ea_room;
};
struct rz2_cpu {
	struct rz2_way ways[RZ2_SETS * RZ2_WAYS];
	uint8_t pava[RZ2_PAVA_SLOTS][RST_REC_SIZE];
	uint8_t pava_age[RZ2_PAVA_SLOTS];
	uint64_t values[RZ2_VALUES];
	uint64_t sum;      /* since the last checksum */
	uint32_t n_chunks; /* since then */
	bool am;           /* PSTATE.AM of the last PREG */
};
struct rz2_cpu *rz2_cpu_new(void);
void rz2_cpu_free(struct rz2_cpu *c);
/* The first way with that pc and at least n instructions, or NULL. */
struct rz2_way *rz2_chunk_find(struct rz2_cpu *c, uint64_t pc, uint32_t n);
int rz2_chunk_store(struct rz2_cpu *c, uint64_t pc, uint32_t n, const uint32_t *words, const uint64_t *eas, uint32_t m);
void rz2_chunk_again(struct rz2_cpu *c, struct rz2_way *w, const uint64_t *eas, uint32_t m);
void rz2_pava_used(struct rz2_cpu *c, unsigned int slot);
void rz2_pava_store(struct rz2_cpu *c, const uint8_t *rec);
/* ea_va of a PC-relative transfer as the reader makes it up */
static inline uint64_t rz2_branch_ea(const struct rz2_cpu *c, uint32_t w, enum sparc_kind k, uint64_t pc, uint8_t flags)
{
	uint64_t to;

	if (flags & RST_I_AN)
		return 0;
	if (!(flags & RST_I_BT))
		return pc + 8;
	to = pc + (uint64_t)sparc_disp(w, k);
	return c->am ? to & 0xffffffff : to;
}
static inline void rz2_note_record(struct rz2_cpu *c, const uint8_t *rec)
{
	if (rec[0] == RST_PREG)
		c->am = rst_be16(rec + 6) & RST_PSTATE_AM;
}

#endif
