/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_RST_RZX_H
#define OPJIT_FORMAT_RST_RZX_H
/*
 * Inside format/rst only: rzx's coder of records (rzx.c) and the bit coder under it (rzx-bits.c). Bits go through a
 * binary range coder; the probability of each is mixed from up to RZX_MAX_INPUTS adaptive counters by a small set of
 * weights that learns with every bit. All arithmetic is in integers, so that every machine decodes what any machine wrote.
 */
#include "format/rst/codec.h"

#define RZX_MAX_INPUTS 7

struct rzx_mixer {
	int32_t w[RZX_MAX_INPUTS + 1];
};
struct rzx_bits {
	bool enc;
	uint32_t x1, x2, x;       /* range, and the reader's window */
	struct strbuf *out;       /* writer */
	const uint8_t *in, *in_end; /* reader; zeros behind the end */
	uint32_t *counter;        /* probability of a 1 in 22 bits, times seen in 10 */
	unsigned int counter_bits;
};
int rzx_bits_init(struct rzx_bits *b, bool enc, unsigned int counter_bits);
void rzx_bits_done(struct rzx_bits *b);
/* A section: the coder starts anew, the counters stay. */
void rzx_bits_begin_write(struct rzx_bits *b, struct strbuf *out);
void rzx_bits_end_write(struct rzx_bits *b);
void rzx_bits_begin_read(struct rzx_bits *b, const uint8_t *in, size_t len);
/* One bit in n contexts (hashes, any 64-bit values) mixed by *m; the writer's bit, the reader's is returned. */
bool rzx_bit(struct rzx_bits *b, struct rzx_mixer *m, const uint64_t *ctx, unsigned int n, bool bit);
void rzx_mixer_init(struct rzx_mixer *m, unsigned int n);

static inline uint64_t rzx_hash(uint64_t a, uint64_t b)
{
	uint64_t x = (a ^ b * 0x9e3779b97f4a7c15ULL) * 0xd6e8feb86659fd93ULL;

	return x ^ x >> 29;
}

/* The state that predicts, of a writer (enc) or a reader; level says how large its tables are, version is the traces'. */
struct rzx;
int rzx_make(struct rzx **ret, bool enc, unsigned int level, unsigned int version);
void rzx_free(struct rzx *x);
/* Its bit coder, to begin and end sections with. */
struct rzx_bits *rzx_coder(struct rzx *x);
/* One record: read by the writer, written by the reader. */
void rzx_record(struct rzx *x, uint8_t *rec);

#endif
