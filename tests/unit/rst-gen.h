/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_TESTS_UNIT_RST_GEN_H
#define OPJIT_TESTS_UNIT_RST_GEN_H
/* Records for the tests of format/rst: random ones of each type, and a small plausible program run. */
#include "format/rst/rst.h"

static inline uint64_t gen_next(uint64_t *seed)
{
	*seed += 0x9e3779b97f4a7c15ULL;
	return util_hash_u64(*seed);
}

static inline void gen_hex(uint8_t *rec, const char *hex)
{
	memset(rec, 0, RST_REC_SIZE);
	for (size_t i = 0; i < RST_REC_SIZE * 2; hex++) {
		const char *digits = "0123456789abcdef", *d = *hex ? strchr(digits, *hex) : NULL;

		if (!*hex)
			break;
		if (!d)
			continue;
		rec[i / 2] = (uint8_t)(rec[i / 2] << 4 | (d - digits));
		i++;
	}
}

/* A record of that type whose every field is random and whose unused bits are 0. */
static inline void gen_random(uint8_t *rec, uint8_t type, unsigned int version, uint64_t *seed)
{
	size_t n;
	const struct rst_field *f;

	memset(rec, 0, RST_REC_SIZE);
	rec[0] = type;
	for (int form = 0; form < 2; form++) { /* the first round may choose another form of the record */
		f = rst_rec_fields(type, rec, version, &n);
		for (; n; n--, f++) {
			for (size_t i = 0; f->is_bytes && i < f->size; i++)
				rec[f->bit / 8 + i] = (uint8_t)gen_next(seed);
			if (!f->is_bytes && !(form && (!strcmp(f->name, "is128") || !strcmp(f->name, "reftype") || !strcmp(f->name, "subtype"))))
				rst_field_set(f, rec, gen_next(seed) >> (gen_next(seed) % 64));
		}
		if (form == 0) {
			uint8_t keep[3] = { rec[1], rec[2], 0 };

			memset(rec + 1, 0, RST_REC_SIZE - 1);
			if (type == RST_MEMVAL || type == RST_TRACEINFO)
				rec[1] = type == RST_MEMVAL ? keep[0] & 0x80 : keep[0];
			if (type == RST_RFS_CW)
				rec[2] = keep[1] & 0x3f;
		}
	}
}

/* n instructions of a made-up SPARC program with loops, calls, loads and now and then another record; `cpus` of them in
 * turns. Header and level record first. What it makes is clean: both old compressed forms can hold it. */
static inline size_t gen_program(uint8_t *recs, size_t room, unsigned int version, unsigned int cpus, uint64_t *seed)
{
	struct { uint64_t pc, npc, ea; uint32_t left, trip; } c[64];
	size_t n = 0;

	memset(recs, 0, room * RST_REC_SIZE);
	rst_header_make(recs, version);
	recs[RST_REC_SIZE] = RST_TRACEINFO;
	recs[RST_REC_SIZE + 1] = RST_TRACEINFO_LEVEL;
	n = 2;
	for (unsigned int i = 0; i < cpus; i++) {
		c[i].pc = 0x10000 + 0x1000 * i;
		c[i].npc = c[i].pc + 4;
		c[i].ea = 0x200000000ULL * (i + 1);
		c[i].left = c[i].trip = 5 + (uint32_t)(gen_next(seed) % 20);
		recs[n * RST_REC_SIZE] = RST_PAVADIFF;
		recs[n * RST_REC_SIZE + 1] = 0x80;
		rst_rec_set_cpu(recs + n * RST_REC_SIZE, version, i);
		rst_put16(recs + n * RST_REC_SIZE + 4, 7);
		rst_put16(recs + n * RST_REC_SIZE + 6, 7);
		n++;
	}
	for (unsigned int i = 0; n < room; i = (i + 1) % cpus) {
		uint8_t *r = recs + n++ * RST_REC_SIZE;
		uint64_t pc = c[i].pc, next = c[i].npc + 4;
		unsigned int at = (pc >> 2) % 12;
		uint32_t w = 0x82006001 + (uint32_t)(pc >> 2) % 7 * 0x4000; /* add %gN, 1, %g1 */

		r[0] = RST_INSTR;
		if (at == 3) { /* ldx [%g1 + 8], %g2 */
			w = 0xc4586008;
			r[1] = RST_I_EA;
			c[i].ea += gen_next(seed) % 16 ? 8 : gen_next(seed) % 100000;
			rst_put64(r + 16, c[i].ea);
		} else if (at == 9) { /* bne,pt %xcc, −8 */
			w = 0x12680000 | (0x7ffff & (uint32_t)-8);
			r[1] = RST_I_EA;
			if (c[i].left && --c[i].left) {
				r[1] |= RST_I_BT;
				next = pc - 32;
			} else {
				c[i].left = c[i].trip + (uint32_t)(gen_next(seed) % 3);
				next = pc + 8;
			}
			rst_put64(r + 16, next);
		} else if (at == 11 && gen_next(seed) % 5 == 0) { /* call */
			int32_t d = (int32_t)(gen_next(seed) % 64 * 12) - 384 + 12;

			w = 0x40000000 | ((uint32_t)d & 0x3fffffff);
			r[1] = RST_I_EA | RST_I_BT;
			next = pc + (uint64_t)(int64_t)d * 4;
			rst_put64(r + 16, next);
		}
		rst_put32(r + 4, w);
		rst_put64(r + 8, pc);
		rst_rec_set_cpu(r, version, i);
		c[i].pc = c[i].npc;
		c[i].npc = next;
		if (n < room && gen_next(seed) % 40 == 0) {
			r += RST_REC_SIZE;
			n++;
			r[0] = RST_CPU;
			rst_put16(r + 6, (uint16_t)i);
			rst_put64(r + 16, gen_next(seed) >> 20);
		}
	}
	return n;
}

#endif
