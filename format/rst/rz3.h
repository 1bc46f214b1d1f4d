/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_RST_RZ3_H
#define OPJIT_FORMAT_RST_RZ3_H
/*
 * Inside format/rst only: RZ3. Reader and writer are the same code: each step asks `rz3_io` for a bit field, which in
 * the writer puts what the record says and in the reader returns what the file says, so the tables cannot part.
 */
#include "format/rst/codec.h"
#include "format/rst/sparc.h"

#define RZ3_HEAD 24
#define RZ3_SECTION_HEAD 232
#define RZ3_SECTION_RECS 131072
#define RZ3_ARRAYS 50
#define RZ3_MAX_CPUS 1024

enum rz3_array {
	RZ3_RTYPE_KEY, RZ3_RTYPE, RZ3_CPU_HIT, RZ3_CPU_RAW, RZ3_ALL_HIT, RZ3_HITS, RZ3_WORD, RZ3_CTI_EA_HIT, RZ3_VALUE_ZERO,
	RZ3_VC_LEVEL, RZ3_VC_0, RZ3_RAW64 = 17, RZ3_RV_POST, RZ3_RV_TYPE_HIT, RZ3_RV_TYPE, RZ3_RV_ID_HIT, RZ3_RV_ID, RZ3_MV_FLAGS,
	RZ3_MV_SIZE, RZ3_MV_A36, RZ3_MV_A04, RZ3_PD_ICTX_HIT, RZ3_PD_ICTX, RZ3_PD_PC_HIT, RZ3_PD_EA_VALID, RZ3_PD_DCTX_HIT,
	RZ3_PD_DCTX, RZ3_PD_EA_HIT, RZ3_PD_LOOKAHEAD, RZ3_TLB_INFO, RZ3_TRAP_INFO, RZ3_DMA_WRITE, RZ3_DMA_BYTES,
};
extern const uint8_t rz3_widths[RZ3_ARRAYS]; /* of minor 20 */

#define RZ3_VC_LEVELS 7
#define RZ3_WORD_SETS 131072
#define RZ3_RAS 16

struct rz3_word_entry {
	uint64_t tag, target;
	uint32_t word;
};
struct rz3_cpu {
	uint64_t pred_pc, pred_npc, prev_pc;
	uint8_t pred_an, pred_hpriv, pred_pr, amask, call_slot;
	uint16_t ictx, dctx;
	uint8_t *pending;      /* PAVADIFF that waits for its INSTR (reader) */
	bool pend_pc, pend_ea; /* which halves are to be filled in */
	uint64_t ras[RZ3_RAS];
	uint32_t ras_top, ras_depth;
	uint64_t vc[RZ3_VC_LEVELS][8191];
	uint64_t pd_i[512], pd_d[2048];
	uint64_t jump[2048];
	uint8_t counter[16384];
	uint8_t rv_type[2][65536], rv_id[2][65536];
	struct rz3_word_entry word[RZ3_WORD_SETS][2];
	uint8_t word_lru[RZ3_WORD_SETS];
};

struct rz3_bits {
	uint64_t *w;   /* native words */
	size_t n_words;
	uint64_t count, pos; /* elements; pos: read so far */
};
struct rz3 {
	bool enc;
	bool wide;     /* minor 20: 10-bit cpus, hpriv */
	unsigned int minor;
	unsigned int version; /* of the record layouts that go with it */
	uint8_t widths[RZ3_ARRAYS];
	struct rz3_bits a[RZ3_ARRAYS];
	struct rz3_cpu *cpus[RZ3_MAX_CPUS];
	unsigned int pcpu, lcpu;
	uint8_t prev_type;
	int error;
	const char *fault;
	/* of the section at hand */
	uint8_t *rec_end; /* writer: behind the last record, for looking ahead */
};
int rz3_init(struct rz3 *c, bool enc, unsigned int minor);
void rz3_done(struct rz3 *c);
/* Codes one record: from rec (writer) or into it (reader; rec is zeroed before). */
void rz3_record(struct rz3 *c, uint8_t *rec);
uint64_t rz3_io(struct rz3 *c, unsigned int array, uint64_t v);
void rz3_instr(struct rz3 *c, uint8_t *rec);
/* 10-bit cpu; hit if it is `expect`. */
unsigned int rz3_cpu_no(struct rz3 *c, unsigned int expect, unsigned int cpu);
struct rz3_cpu *rz3_cpu_state(struct rz3 *c, unsigned int cpu);
uint64_t rz3_value(struct rz3 *c, struct rz3_cpu *s, uint64_t v);
static inline bool rz3_bit(struct rz3 *c, unsigned int array, bool v)
{
	return rz3_io(c, array, v);
}

#endif
