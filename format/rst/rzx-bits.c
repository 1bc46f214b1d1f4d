/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <pthread.h>

#include "format/rst/rzx.h"

/* Logistic functions in fixed point: 256 to the unit, ±12 units. */
#define D_MAX 3071
static uint16_t squash_table[2 * D_MAX + 1]; /* d → probability of 16 bits */
static int16_t stretch_table[4096];          /* probability of 12 bits → d */
static uint16_t rate_table[1024];            /* 65536 / (n + 1.5) */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
	uint64_t v = 1ULL << 32; /* e^(−d/256) in 32 fraction bits */
	int d, p;

	for (d = 0; d <= D_MAX; d++) {
		uint64_t q = (65536ULL << 32) / ((1ULL << 32) + v);

		q = MIN(q, 65535u);
		squash_table[D_MAX + d] = (uint16_t)q;
		squash_table[D_MAX - d] = (uint16_t)MAX(65536 - q, 1u);
		v = v * 4278222859ULL >> 32; /* e^(−1/256) · 2^32 */
	}
	for (d = -D_MAX, p = 0; p < 4096; p++) {
		while (d < D_MAX && squash_table[D_MAX + d] < p * 16 + 8)
			d++;
		stretch_table[p] = (int16_t)d;
	}
	for (d = 0; d < 1024; d++)
		rate_table[d] = (uint16_t)(131072 / (2 * d + 3));
}

int rzx_bits_init(struct rzx_bits *b, bool enc, unsigned int counter_bits)
{
	size_t n = (size_t)1 << counter_bits;

	pthread_once(&once, make_tables);
	memset(b, 0, sizeof(*b));
	b->enc = enc;
	b->counter_bits = counter_bits;
	/* 0 stands for "a half, never seen" (the top bit is kept inverted), so that untouched pages cost nothing. */
	b->counter = calloc(n, sizeof(*b->counter));
	return b->counter ? 0 : -ENOMEM;
}

void rzx_bits_done(struct rzx_bits *b)
{
	free(b->counter);
}

void rzx_bits_begin_write(struct rzx_bits *b, struct strbuf *out)
{
	b->out = out;
	b->x1 = 0;
	b->x2 = UINT32_MAX;
}

void rzx_bits_end_write(struct rzx_bits *b)
{
	/* The shortest number within [x1, x2]; the reader has zeros behind the end. */
	uint8_t top = (uint8_t)((b->x1 + 0xffffffu) >> 24);

	if (b->x1 == 0)
		return;
	if (b->x1 <= 0xff000000u && (uint32_t)top << 24 >= b->x1 && (uint32_t)top << 24 <= b->x2) {
		strbuf_addch(b->out, (char)top);
		return;
	}
	for (int i = 0; i < 4; i++)
		strbuf_addch(b->out, (char)(b->x1 >> (24 - 8 * i)));
}

static inline uint8_t next_byte(struct rzx_bits *b)
{
	return b->in < b->in_end ? *b->in++ : 0;
}

void rzx_bits_begin_read(struct rzx_bits *b, const uint8_t *in, size_t len)
{
	b->in = in;
	b->in_end = len ? in + len : in; /* in may be NULL then */
	b->x1 = 0;
	b->x2 = UINT32_MAX;
	b->x = 0;
	for (int i = 0; i < 4; i++)
		b->x = b->x << 8 | next_byte(b);
}

static inline bool code(struct rzx_bits *b, uint32_t p, bool bit)
{
	uint32_t mid = b->x1 + (uint32_t)((uint64_t)(b->x2 - b->x1) * p >> 16);

	if (!b->enc)
		bit = b->x <= mid;
	if (bit)
		b->x2 = mid;
	else
		b->x1 = mid + 1;
	while (!((b->x1 ^ b->x2) >> 24)) {
		if (b->enc)
			strbuf_addch(b->out, (char)(b->x2 >> 24));
		else
			b->x = b->x << 8 | next_byte(b);
		b->x1 <<= 8;
		b->x2 = b->x2 << 8 | 255;
	}
	return bit;
}

void rzx_mixer_init(struct rzx_mixer *m, unsigned int n)
{
	for (unsigned int i = 0; i < RZX_MAX_INPUTS; i++)
		m->w[i] = i < n ? (int32_t)(65536 * 5 / 4 / n) : 0;
}

#define COUNT_LIMIT 1023u

bool rzx_bit(struct rzx_bits *b, struct rzx_mixer *m, const uint64_t *ctx, unsigned int n, bool bit)
{
	uint32_t *c[RZX_MAX_INPUTS];
	int32_t st[RZX_MAX_INPUTS];
	int64_t dot = 0;
	int32_t err;
	int d;
	uint32_t p;
	unsigned int i, shift = 64 - b->counter_bits;

	for (i = 0; i < n; i++) {
		c[i] = &b->counter[(ctx[i] + i * 0x9e3779b97f4a7c15ULL) * 0x2545f4914f6cdd1dULL >> shift];
		st[i] = stretch_table[(*c[i] ^ 0x80000000u) >> 20];
		/* A counter that was never used knows nothing. */
		dot += (int64_t)m->w[i] * st[i];
	}
	dot >>= 16;
	d = dot > D_MAX ? D_MAX : dot < -D_MAX ? -D_MAX : (int)dot;
	p = squash_table[D_MAX + d];
	bit = code(b, p, bit);
	err = (bit ? 65535 : 0) - (int32_t)p;
	for (i = 0; i < n; i++) {
		uint32_t v = *c[i] ^ 0x80000000u, count = v & 1023;
		int64_t diff = (int64_t)(bit ? 0x3fffff : 0) - (int64_t)(v >> 10);

		m->w[i] += (int32_t)(((int64_t)st[i] * err * 6 + (1 << 17)) >> 18);
		v += (uint32_t)((diff * rate_table[count] >> 16) * 1024);
		if (count < COUNT_LIMIT)
			v++;
		*c[i] = v ^ 0x80000000u;
	}
	return bit;
}
