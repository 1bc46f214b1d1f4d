/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* RZ3: bit arrays, the value cache, every record but INSTR, and the sections. The form: doc/format-rst.md, "RZ3". */
#include <errno.h>

#include "format/rst/rz3.h"

const uint8_t rz3_widths[RZ3_ARRAYS] = {
	2, 8, 1, 10, 1, 8, 32, 1, 1, 3, 7, 11, 13, 15, 18, 21, 25, 64, 1, 1, 8, 1, 8, 1, 3, 8, 32, 1, 13, 1, 1, 1, 13, 1, 1, 30, 49,
	1, 32, 1, 1, 1, 1, 3, 10, 32, 8, 5, 1, 1,
};
static const char head_magic[16] = "RZ3 5948486328$", section_magic[16] = "3ZR SHDR297302$";

int rz3_init(struct rz3 *c, bool enc, unsigned int minor)
{
	memset(c, 0, sizeof(*c));
	c->enc = enc;
	c->minor = minor;
	c->wide = minor >= 20;
	c->version = c->wide ? RST_VERSION : 210;
	memcpy(c->widths, rz3_widths, sizeof(rz3_widths));
	if (!c->wide) {
		c->widths[RZ3_CPU_RAW] = 6;
		c->widths[RZ3_HITS] = 7;
		c->widths[RZ3_TLB_INFO] = 26;
	}
	return 0;
}

void rz3_done(struct rz3 *c)
{
	for (size_t i = 0; i < RZ3_ARRAYS; i++)
		free(c->a[i].w);
	for (size_t i = 0; i < RZ3_MAX_CPUS; i++)
		free(c->cpus[i]);
}

/* --- bit arrays ----------------------------------------------------------------------------------------- */

static void push(struct rz3 *c, struct rz3_bits *b, unsigned int width, uint64_t v)
{
	uint64_t bit = b->count * width, need = (bit + width + 63) / 64;
	size_t at = bit / 64;
	unsigned int shift = bit % 64;

	if (need > b->n_words) {
		size_t room = MAX((size_t)need, b->n_words * 2 + 64);
		uint64_t *p = realloc(b->w, room * sizeof(*p));

		if (!p) {
			c->error = -ENOMEM;
			return;
		}
		memset(p + b->n_words, 0, (room - b->n_words) * sizeof(*p));
		b->w = p;
		b->n_words = room;
	}
	if (width < 64)
		v &= (1ULL << width) - 1;
	b->w[at] |= v << shift;
	if (shift + width > 64)
		b->w[at + 1] |= v >> (64 - shift);
	b->count++;
}

static uint64_t pop(struct rz3 *c, struct rz3_bits *b, unsigned int width)
{
	uint64_t bit = b->pos * width, v;
	size_t at = bit / 64;
	unsigned int shift = bit % 64;

	if (b->pos >= b->count) {
		c->error = -EBADMSG;
		c->fault = "an array of a section is used up";
		return 0;
	}
	b->pos++;
	v = b->w[at] >> shift;
	if (shift + width > 64)
		v |= b->w[at + 1] << (64 - shift);
	return width < 64 ? v & ((1ULL << width) - 1) : v;
}

uint64_t rz3_io(struct rz3 *c, unsigned int array, uint64_t v)
{
	if (!c->enc)
		return pop(c, &c->a[array], c->widths[array]);
	push(c, &c->a[array], c->widths[array], v);
	return v;
}

/* --- shared pieces -------------------------------------------------------------------------------------- */

struct rz3_cpu *rz3_cpu_state(struct rz3 *c, unsigned int cpu)
{
	if (!c->cpus[cpu]) {
		c->cpus[cpu] = calloc(1, sizeof(struct rz3_cpu));
		if (!c->cpus[cpu])
			c->error = -ENOMEM;
	}
	return c->cpus[cpu];
}

unsigned int rz3_cpu_no(struct rz3 *c, unsigned int expect, unsigned int cpu)
{
	if (rz3_bit(c, RZ3_CPU_HIT, cpu == expect))
		return expect;
	return (unsigned int)rz3_io(c, RZ3_CPU_RAW, cpu);
}

static const uint16_t vc_size[RZ3_VC_LEVELS] = { 7, 31, 61, 127, 509, 2039, 8191 };
static const uint8_t vc_low[RZ3_VC_LEVELS] = { 4, 6, 7, 8, 9, 10, 12 };

/* The first level that knows v (RZ3_VC_LEVELS: none), with its index; levels before it learn v. */
static unsigned int vc_look(struct rz3_cpu *s, uint64_t v, uint64_t *index)
{
	for (unsigned int i = 0; i < RZ3_VC_LEVELS; i++) {
		uint64_t tag = v >> vc_low[i];

		*index = tag ? tag % vc_size[i] : vc_size[i];
		if (!tag || s->vc[i][*index] == tag)
			return i;
		s->vc[i][*index] = tag;
	}
	return RZ3_VC_LEVELS;
}

uint64_t rz3_value(struct rz3 *c, struct rz3_cpu *s, uint64_t v)
{
	uint64_t index, e;
	unsigned int level;

	if (c->enc) {
		level = vc_look(s, v, &index);
		rz3_io(c, RZ3_VC_LEVEL, level);
		if (level == RZ3_VC_LEVELS)
			rz3_io(c, RZ3_RAW64, v);
		else
			rz3_io(c, RZ3_VC_0 + level, index << vc_low[level] | (v & ((1u << vc_low[level]) - 1)));
		return v;
	}
	level = (unsigned int)rz3_io(c, RZ3_VC_LEVEL, 0);
	if (level == RZ3_VC_LEVELS) {
		v = rz3_io(c, RZ3_RAW64, 0);
	} else {
		e = rz3_io(c, RZ3_VC_0 + level, 0);
		index = e >> vc_low[level];
		if (index > vc_size[level]) {
			c->error = -EBADMSG;
			c->fault = "a value index is out of range";
			return 0;
		}
		v = (index < vc_size[level] ? s->vc[level][index] << vc_low[level] : 0) | (e & ((1u << vc_low[level]) - 1));
	}
	vc_look(s, v, &index);
	return v;
}

static uint64_t zero_or_value(struct rz3 *c, struct rz3_cpu *s, uint64_t v)
{
	return rz3_bit(c, RZ3_VALUE_ZERO, !v) ? 0 : rz3_value(c, s, v);
}

/* The record's cpu: of the writer's record, or 0. */
static unsigned int cpu_in(const struct rz3 *c, const uint8_t *rec)
{
	int cpu = c->enc ? rst_rec_cpu(rec, c->version) : 0;

	return cpu < 0 ? 0 : (unsigned int)cpu;
}

/* --- PAVADIFF ------------------------------------------------------------------------------------------- */

/* The INSTR whose addresses the reader will know, or NULL. Another PAVADIFF of this cpu before it would take its place. */
static const uint8_t *look_ahead(const struct rz3 *c, const uint8_t *rec, unsigned int cpu)
{
	for (rec += RST_REC_SIZE; rec < c->rec_end; rec += RST_REC_SIZE) {
		if (rec[0] == RST_INSTR)
			return rst_rec_cpu(rec, c->version) == (int)cpu ? rec : NULL;
		if (rec[0] == RST_PAVADIFF && rst_rec_cpu(rec, c->version) == (int)cpu)
			return NULL;
	}
	return NULL;
}

static uint16_t code_context(struct rz3 *c, uint16_t *last, uint16_t v, unsigned int hit, unsigned int raw)
{
	if (!rz3_bit(c, hit, v == *last))
		*last = (uint16_t)rz3_io(c, raw, v & 0x1fff);
	return *last;
}

static bool predict_diff(uint64_t *slot, bool usable, uint64_t diff)
{
	if (!usable)
		return false;
	if (*slot == diff >> 13)
		return true;
	*slot = diff >> 13;
	return false;
}

static void write_pavadiff(struct rz3 *c, struct rz3_cpu *s, uint8_t *rec, unsigned int cpu)
{
	const uint8_t *i = look_ahead(c, rec, cpu);
	bool ea_valid = rec[1] & 0x80, ea_usable = i && ea_valid && i[1] & RST_I_EA, pc_hit, ea_hit = false;

	pc_hit = i && predict_diff(&s->pd_i[(rst_instr_pc(i) >> 13) % 512], true, rst_be64(rec + 8));
	rz3_bit(c, RZ3_PD_PC_HIT, pc_hit);
	if (!pc_hit)
		rz3_io(c, RZ3_RAW64, rst_be64(rec + 8));
	if (ea_valid) {
		ea_hit = ea_usable && predict_diff(&s->pd_d[(rst_instr_ea(i) >> 13) % 2048], true, rst_be64(rec + 16));
		rz3_bit(c, RZ3_PD_EA_HIT, ea_hit);
		if (!ea_hit)
			rz3_io(c, RZ3_RAW64, rst_be64(rec + 16));
	}
	if (!pc_hit && !ea_hit)
		rz3_bit(c, RZ3_PD_LOOKAHEAD, i != NULL);
}

static void read_pavadiff(struct rz3 *c, struct rz3_cpu *s, uint8_t *rec, bool ea_valid)
{
	s->pend_ea = false;
	s->pend_pc = rz3_bit(c, RZ3_PD_PC_HIT, false);
	if (!s->pend_pc)
		rst_put64(rec + 8, rz3_io(c, RZ3_RAW64, 0));
	if (ea_valid) {
		s->pend_ea = rz3_bit(c, RZ3_PD_EA_HIT, false);
		if (!s->pend_ea)
			rst_put64(rec + 16, rz3_io(c, RZ3_RAW64, 0));
	}
	s->pending = NULL;
	if (s->pend_pc || s->pend_ea || rz3_bit(c, RZ3_PD_LOOKAHEAD, false))
		s->pending = rec;
}

static void code_pavadiff(struct rz3 *c, uint8_t *rec)
{
	unsigned int cpu = rz3_cpu_no(c, c->pcpu, cpu_in(c, rec));
	struct rz3_cpu *s = rz3_cpu_state(c, cpu);
	uint16_t ictx, dctx;
	bool ea_valid;

	c->pcpu = cpu;
	if (!s)
		return;
	ictx = code_context(c, &s->ictx, rst_be16(rec + 4), RZ3_PD_ICTX_HIT, RZ3_PD_ICTX);
	ea_valid = rz3_bit(c, RZ3_PD_EA_VALID, rec[1] & 0x80);
	dctx = code_context(c, &s->dctx, rst_be16(rec + 6), RZ3_PD_DCTX_HIT, RZ3_PD_DCTX);
	if (c->enc) {
		write_pavadiff(c, s, rec, cpu);
		return;
	}
	rec[1] = ea_valid ? 0x80 : 0;
	rst_rec_set_cpu(rec, c->version, cpu);
	rst_put16(rec + 4, ictx);
	rst_put16(rec + 6, dctx);
	read_pavadiff(c, s, rec, ea_valid);
}

/* --- the other types ------------------------------------------------------------------------------------ */

static void code_regval(struct rz3 *c, uint8_t *rec)
{
	unsigned int cpu = rz3_cpu_no(c, c->lcpu, cpu_in(c, rec)), at;
	struct rz3_cpu *s = rz3_cpu_state(c, cpu);
	bool post = rz3_bit(c, RZ3_RV_POST, rec[1] & 0x80);

	if (!s)
		return;
	at = s->prev_pc >> 2 & 0xffff;
	for (unsigned int k = 0; k < 2; k++) {
		uint8_t type = s->rv_type[k][at], id;
		uint64_t v;

		if (!rz3_bit(c, RZ3_RV_TYPE_HIT, type == rec[2 + k]))
			s->rv_type[k][at] = type = (uint8_t)rz3_io(c, RZ3_RV_TYPE, rec[2 + k]);
		if (!c->enc)
			rec[2 + k] = type;
		if (type == 5)
			continue;
		id = (uint8_t)(s->rv_id[k][at] + (c->prev_type == RST_REGVAL ? 2 : 0));
		if (!rz3_bit(c, RZ3_RV_ID_HIT, id == rec[4 + k]))
			id = (uint8_t)rz3_io(c, RZ3_RV_ID, rec[4 + k]);
		s->rv_id[k][at] = id;
		v = zero_or_value(c, s, rst_be64(rec + 8 + 8 * k));
		if (!c->enc) {
			rec[4 + k] = id;
			rst_put64(rec + 8 + 8 * k, v);
		}
	}
	if (!c->enc) {
		rec[1] = post ? 0x80 : 0;
		rst_rec_set_cpu(rec, c->version, cpu);
	}
}

static void code_trap(struct rz3 *c, uint8_t *rec)
{
	unsigned int cpu = rz3_cpu_no(c, c->pcpu, cpu_in(c, rec));
	struct rz3_cpu *s = rz3_cpu_state(c, cpu);
	uint64_t info = 0, pc = rst_be64(rec + 8), npc = rst_be64(rec + 16), expect;
	uint16_t sys_mask = c->wide ? 0xfff : 0xffff;
	bool pc_hit, npc_hit;

	if (!s)
		return;
	if (c->enc) {
		pc_hit = pc == s->pred_pc;
		npc_hit = npc == (pc_hit ? s->pred_npc : pc + 4);
		info = (uint64_t)(rec[1] >> 7) << 48 | (uint64_t)(rec[1] & 15) << 44 |
		       (uint64_t)(rst_be16(rec + 2) & 0x3ff) << 34 | (uint64_t)rst_be16(rec + 4) << 18 |
		       (uint64_t)(rst_be16(rec + 6) & sys_mask) << 2 | pc_hit << 1 | npc_hit;
	}
	info = rz3_io(c, RZ3_TRAP_INFO, info);
	pc_hit = info >> 1 & 1;
	npc_hit = info & 1;
	pc = pc_hit ? s->pred_pc : rz3_io(c, RZ3_RAW64, pc);
	expect = pc_hit ? s->pred_npc : pc + 4;
	npc = npc_hit ? expect : rz3_io(c, RZ3_RAW64, npc);
	if (c->enc)
		return;
	rec[1] = (uint8_t)((info >> 48 & 1) << 7 | (info >> 44 & 15));
	rst_put16(rec + 2, info >> 34 & 0x3ff);
	rst_put16(rec + 4, (uint16_t)(info >> 18));
	rst_put16(rec + 6, (uint16_t)(info >> 2) & sys_mask);
	rst_put64(rec + 8, pc);
	rst_put64(rec + 16, npc);
	rst_rec_set_cpu(rec, c->version, cpu);
}

static void code_tlb(struct rz3 *c, uint8_t *rec)
{
	uint64_t v = 0;

	if (c->enc) {
		unsigned int cpu = cpu_in(c, rec);

		v = (uint64_t)(rec[1] >> 7) << 29 | (uint64_t)rst_be16(rec + 2) << 13 | (uint64_t)(rec[1] >> 6 & 1) << 12 |
		    (uint64_t)(rec[4] >> 6) << 10;
		v = c->wide ? v | cpu : v >> 4 | cpu;
	}
	v = rz3_io(c, RZ3_TLB_INFO, v);
	if (c->enc) {
		rz3_io(c, RZ3_RAW64, rst_be64(rec + 8));
		rz3_io(c, RZ3_RAW64, rst_be64(rec + 16));
		return;
	}
	rst_rec_set_cpu(rec, c->version, v & (c->wide ? 0x3ff : 0x3f));
	if (!c->wide)
		v <<= 4;
	rec[1] = (uint8_t)((v >> 29 & 1) << 7 | (v >> 12 & 1) << 6);
	rst_put16(rec + 2, (uint16_t)(v >> 13));
	rec[4] |= (uint8_t)((v >> 10 & 3) << 6);
	rst_put64(rec + 8, rz3_io(c, RZ3_RAW64, 0));
	rst_put64(rec + 16, rz3_io(c, RZ3_RAW64, 0));
}

static void code_preg(struct rz3 *c, uint8_t *rec)
{
	unsigned int cpu = cpu_in(c, rec);
	uint64_t v = 0;

	if (c->enc)
		v = (uint64_t)(cpu == c->pcpu) << 61 | (uint64_t)(rst_be16(rec + 20) & 0x1fff) << 48 |
		    (uint64_t)(rst_be16(rec + 22) & 0x1fff) << 35 | (uint64_t)rec[1] << 27 | (uint64_t)(rec[4] & 7) << 24 |
		    (uint64_t)rec[5] << 16 | rst_be16(rec + 6);
	v = rz3_io(c, RZ3_RAW64, v);
	cpu = v >> 61 & 1 ? c->pcpu : (unsigned int)rz3_io(c, RZ3_CPU_RAW, cpu);
	if (c->enc)
		return;
	rec[1] = (uint8_t)(v >> 27);
	rec[4] = v >> 24 & 7;
	rec[5] = (uint8_t)(v >> 16);
	rst_put16(rec + 6, (uint16_t)v);
	rst_put16(rec + 16, v >> 48 & 0x1fff);
	rst_put16(rec + 18, v >> 35 & 0x1fff);
	rst_put16(rec + 20, v >> 48 & 0x1fff);
	rst_put16(rec + 22, v >> 35 & 0x1fff);
	rst_rec_set_cpu(rec, c->version, cpu);
}

static void code_dma(struct rz3 *c, uint8_t *rec)
{
	bool write = rz3_bit(c, RZ3_DMA_WRITE, rec[1] & 1);
	uint32_t bytes = (uint32_t)rz3_io(c, RZ3_DMA_BYTES, rst_be32(rec + 4));
	uint64_t pa = rz3_io(c, RZ3_RAW64, rst_be64(rec + 8));

	if (c->enc)
		return;
	rec[1] = write;
	rst_put32(rec + 4, bytes);
	rst_put64(rec + 8, pa);
}

static void code_memval(struct rz3 *c, uint8_t *rec)
{
	bool is128 = rz3_bit(c, RZ3_MV_FLAGS, rec[1] & 0x80), pa = rz3_bit(c, RZ3_MV_FLAGS, !(rec[1] & 0x40)), cont = false;
	unsigned int cpu = rz3_cpu_no(c, c->pcpu, cpu_in(c, rec)), size = 0;
	struct rz3_cpu *s = rz3_cpu_state(c, cpu);
	uint64_t a, b;
	uint8_t a36 = 0;
	uint32_t a04 = 0;

	if (!s)
		return;
	if (is128) {
		cont = rz3_bit(c, RZ3_MV_FLAGS, rec[1] & 0x20);
		if (!cont) {
			a36 = (uint8_t)rz3_io(c, RZ3_MV_A36, rec[3]);
			a04 = (uint32_t)rz3_io(c, RZ3_MV_A04, rst_be32(rec + 4));
		}
	} else {
		size = (unsigned int)rz3_io(c, RZ3_MV_SIZE, (rec[3] - 1u) & 7) + 1;
	}
	a = rz3_value(c, s, rst_be64(rec + 8));
	b = rz3_value(c, s, rst_be64(rec + 16));
	if (c->enc)
		return;
	rec[1] = (uint8_t)(is128 << 7 | !pa << 6 | cont << 5);
	rec[3] = is128 ? a36 : (uint8_t)size;
	rst_put32(rec + 4, a04);
	rst_put64(rec + 8, a);
	rst_put64(rec + 16, b);
	if (is128)
		rec[1] |= (cpu >> 8 & 3), rec[2] = (uint8_t)cpu;
	else
		rst_rec_set_cpu(rec, c->version, cpu);
}

static void code_raw(struct rz3 *c, uint8_t *rec)
{
	for (unsigned int i = 0; i < 24; i += 8) {
		uint64_t v = rz3_io(c, RZ3_RAW64, rst_be64(rec + i));

		if (!c->enc)
			rst_put64(rec + i, v);
	}
}

void rz3_record(struct rz3 *c, uint8_t *rec)
{
	static const uint8_t key_of[] = { RST_INSTR, RST_REGVAL, RST_PAVADIFF };
	unsigned int key = 0;
	uint8_t type = rec[0];

	while (c->enc && key < 3 && key_of[key] != type)
		key++;
	key = (unsigned int)rz3_io(c, RZ3_RTYPE_KEY, key);
	type = key < 3 ? key_of[key] : (uint8_t)rz3_io(c, RZ3_RTYPE, type);
	if (!c->enc)
		rec[0] = type;
	switch (type) {
	case RST_INSTR: rz3_instr(c, rec); break;
	case RST_REGVAL: code_regval(c, rec); break;
	case RST_PAVADIFF: code_pavadiff(c, rec); break;
	case RST_TRAP: code_trap(c, rec); break;
	case RST_TLB: code_tlb(c, rec); break;
	case RST_PREG: code_preg(c, rec); break;
	case RST_DMA: code_dma(c, rec); break;
	case RST_MEMVAL: code_memval(c, rec); break;
	case RST_RFS_CW: case RST_RFS_BT:
		c->error = c->enc ? -EILSEQ : -EPROTONOSUPPORT;
		c->fault = "cache and branch-predictor warming records are not supported in RZ3";
		break;
	default: code_raw(c, rec); break;
	}
	c->prev_type = type;
}

/* --- reader --------------------------------------------------------------------------------------------- */

static int read_array(struct rz3 *c, struct rst_src *src, struct rz3_bits *b)
{
	for (size_t i = 0; i < b->n_words; i += 8192) {
		size_t n = MIN(b->n_words - i, (size_t)8192);
		uint64_t *p = realloc(b->w, (i + n) * sizeof(*p));
		int rc;

		if (!p)
			return -ENOMEM;
		b->w = p;
		rc = rst_src_need(src, p + i, n * 8);
		if (rc)
			return rc;
		for (size_t j = i; j < i + n; j++)
			b->w[j] = __builtin_bswap64(b->w[j]);
	}
	return 0;
}

/* Number of records, 0 at the end, or -errno. */
static int64_t read_section(struct rz3 *c, struct rst_src *src)
{
	uint8_t head[RZ3_SECTION_HEAD];
	uint64_t size = RZ3_SECTION_HEAD, claimed;
	uint32_t n;
	size_t got = rst_src_read(src, head, sizeof(head));
	int rc;

	if (!got && !src->error)
		return 0;
	if (got < sizeof(head)) {
		c->fault = src->fault ? src->fault : "the file is cut off in the head of a section";
		return src->error ? src->error : -EBADMSG;
	}
	n = rst_be32(head + 16);
	claimed = rst_be64(head + 24);
	c->fault = "the head of a section is damaged";
	if (memcmp(head, section_magic, 16) || !n || n > RST_SECTION_CAP / RST_REC_SIZE)
		return -EBADMSG;
	for (size_t i = 0; i < RZ3_ARRAYS; i++) {
		uint32_t count = rst_be32(head + 32 + 4 * i);

		free(c->a[i].w);
		c->a[i] = (struct rz3_bits){ .count = count, .n_words = ((uint64_t)count * c->widths[i] + 63) / 64 };
		if (count > INT32_MAX)
			return -EBADMSG;
		size += c->a[i].n_words * 8;
	}
	if (size != claimed || size > RST_SECTION_CAP || c->a[RZ3_RTYPE_KEY].count != n)
		return -EBADMSG;
	c->fault = NULL;
	for (size_t i = 0; i < RZ3_ARRAYS; i++) {
		rc = read_array(c, src, &c->a[i]);
		if (rc)
			return rc;
	}
	return n;
}

static int rz3_next(void *dec, struct rst_src *src, struct rst_recs *out, const char **fault)
{
	struct rz3 *c = dec;
	int64_t n = read_section(c, src);
	int rc;

	*fault = c->fault;
	if (n <= 0)
		return (int)n;
	rc = rst_recs_reserve(out, (size_t)n);
	if (rc)
		return rc;
	memset(out->recs, 0, (size_t)n * RST_REC_SIZE);
	c->error = 0;
	for (int64_t i = 0; i < n && !c->error; i++)
		rz3_record(c, out->recs + i * RST_REC_SIZE);
	for (size_t i = 0; i < RZ3_MAX_CPUS; i++)
		if (c->cpus[i])
			c->cpus[i]->pending = NULL; /* its INSTR did not come in this section */
	for (size_t i = 0; i < RZ3_ARRAYS && !c->error; i++) {
		if (c->a[i].pos != c->a[i].count) {
			c->error = -EBADMSG;
			c->fault = "an array of a section has elements left over";
		}
	}
	*fault = c->fault;
	out->n = (size_t)n;
	return c->error ? c->error : 1;
}

static int rz3_new_dec(void **ret, struct rst_src *src, const char **why)
{
	uint8_t head[RZ3_HEAD];
	struct rz3 *c;
	int rc = rst_src_need(src, head, sizeof(head));

	if (rc) {
		*why = src->fault;
		return rc;
	}
	*why = "not the head of an RZ3 file";
	if (memcmp(head, head_magic, 16))
		return -EBADMSG;
	*why = "an RZ3 version that is not supported (3.16 to 3.20 are)";
	if (head[16] != 3 || head[17] < 16 || head[17] > 20)
		return -EPROTONOSUPPORT;
	c = malloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	*ret = c;
	return rz3_init(c, false, head[17]);
}

static void rz3_free(void *c)
{
	rz3_done(c);
	free(c);
}

static void rz3_info(const void *dec, struct rst_in_info *info)
{
	info->format_minor = ((const struct rz3 *)dec)->minor;
}

const struct rst_decoder_ops rst_rz3_decoder = { rz3_new_dec, rz3_free, rz3_next, rz3_info };

/* --- writer --------------------------------------------------------------------------------------------- */

static int rz3_section(void *enc, const uint8_t *recs, size_t n, struct strbuf *out)
{
	struct rz3 *c = enc;
	uint8_t head[RZ3_SECTION_HEAD] = "";
	uint64_t size = sizeof(head);
	int rc;

	for (size_t i = 0; i < RZ3_ARRAYS; i++) {
		if (c->a[i].w)
			memset(c->a[i].w, 0, c->a[i].n_words * sizeof(uint64_t));
		c->a[i].count = 0;
	}
	c->error = 0;
	c->rec_end = (uint8_t *)(uintptr_t)recs + n * RST_REC_SIZE;
	for (size_t i = 0; i < n && !c->error; i++)
		rz3_record(c, (uint8_t *)(uintptr_t)recs + i * RST_REC_SIZE);
	if (c->error)
		return c->error;
	memcpy(head, section_magic, 16);
	rst_put32(head + 16, (uint32_t)n);
	for (size_t i = 0; i < RZ3_ARRAYS; i++) {
		rst_put32(head + 32 + 4 * i, (uint32_t)c->a[i].count);
		size += (c->a[i].count * c->widths[i] + 63) / 64 * 8;
	}
	rst_put64(head + 24, size);
	strbuf_add(out, head, sizeof(head));
	rc = strbuf_reserve(out, size - sizeof(head));
	for (size_t i = 0; i < RZ3_ARRAYS && !rc; i++) {
		size_t words = (c->a[i].count * c->widths[i] + 63) / 64;

		for (size_t j = 0; j < words; j++) {
			uint64_t w = __builtin_bswap64(c->a[i].w[j]);

			strbuf_add(out, &w, 8);
		}
	}
	return rc;
}

static int rz3_begin(void *enc, struct strbuf *out)
{
	uint8_t head[RZ3_HEAD] = "";

	memcpy(head, head_magic, 16);
	head[16] = 3;
	head[17] = (uint8_t)((struct rz3 *)enc)->minor;
	return strbuf_add(out, head, sizeof(head));
}

static int rz3_end(void *enc, const uint8_t *tail, size_t n_tail, struct strbuf *out)
{
	return 0;
}

static int rz3_new_enc(void **ret, const struct rst_out_opts *o, unsigned int version, const uint8_t *recs, size_t n)
{
	struct rz3 *c = malloc(sizeof(*c));

	if (!c)
		return -ENOMEM;
	*ret = c;
	return rz3_init(c, true, o->rz3_minor ? o->rz3_minor : version >= 212 ? 20 : 19);
}

const struct rst_encoder_ops rst_rz3_encoder = {
	.section_recs = RZ3_SECTION_RECS,
	.new = rz3_new_enc,
	.free = rz3_free,
	.begin = rz3_begin,
	.section = rz3_section,
	.end = rz3_end,
};
