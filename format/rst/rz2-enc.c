/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The writer of RZ2. */
#include <errno.h>
#include <stdio.h>

#include "format/rst/rz2.h"

struct rz2_stats {
	uint32_t max_chunk;
	uint64_t instr, other, loops, plains, pava_index, pava_all, ea_zero, ea_size[5], chunk_size[10];
};
struct rz2_enc {
	bool up, lossy;
	struct rz2_cpu *cpus[RZ2_MAX_CPUS];
	struct rz2_stats st;
	struct rz2_cpu *cpu; /* of the stream at hand */
	struct strbuf *out;
	const uint8_t **order; /* records of the stream at hand */
	uint32_t words[RZ2_CHUNK_RECS];
	uint64_t eas[RZ2_CHUNK_RECS];
	uint32_t at[RZ2_CHUNK_RECS + 1]; /* index in `order` of each instruction of the chunk */
};

static void put(struct rz2_enc *e, uint64_t v, unsigned int bytes)
{
	uint8_t b[8];

	rst_put64(b, v);
	strbuf_add(e->out, b + 8 - bytes, bytes);
}

static unsigned int cpu_of(const struct rz2_enc *e, const uint8_t *r)
{
	if (e->up)
		return 0;
	switch (r[0]) {
	case RST_INSTR: case RST_TRAP: case RST_TRAPEXIT: return r[2] >> 2;
	case RST_TLB: return r[4] & 63;
	case RST_REGVAL: case RST_PAVADIFF: return r[1] & 127;
	case RST_PREG: return r[8];
	case RST_CPU: return rst_be16(r + 6);
	}
	return 0;
}

/* --- records outside the instructions ------------------------------------------------------------------- */

static void put_value(struct rz2_enc *e, uint64_t v)
{
	uint64_t *slot = &e->cpu->values[v % RZ2_VALUES];

	if (*slot == v) {
		put(e, RZ2_VINDEX, 1);
		put(e, v % RZ2_VALUES, 2);
	} else if (v <= 8) {
		put(e, RZ2_VSMALL + v, 1);
	} else if (v <= 0xff) {
		put(e, RZ2_V1, 1);
		put(e, v, 1);
	} else if (v <= 0xffff) {
		put(e, RZ2_V2, 1);
		put(e, v, 2);
	} else if (v == UINT64_MAX) {
		put(e, RZ2_VMINUS1, 1);
	} else {
		*slot = v;
		put(e, v >> 32 ? RZ2_V8 : RZ2_V4, 1);
		put(e, v, v >> 32 ? 8 : 4);
	}
}

static void put_regid(struct rz2_enc *e, uint8_t id, int rd)
{
	if (id == rd)
		return;
	put(e, RZ2_REGID, 1);
	put(e, id, 1);
}

/* Whether the short form brings the record back. */
static bool regval_is_short(const uint8_t *r)
{
	if (r[1] >> 7 != 1 || r[2] != 1 || r[6] & 0x1f || r[7])
		return false;
	if (r[3] == 1)
		return true;
	return !rst_be64(r + 16) && (r[3] == 6 || (r[3] == 5 && !r[5]));
}

static void put_regval(struct rz2_enc *e, const uint8_t *r, int rd)
{
	if (r[3] == 1)
		put(e, RZ2_PAIR, 1);
	put_regid(e, r[4], rd);
	put_value(e, rst_be64(r + 8));
	if (r[3] == 6) {
		put(e, RZ2_CC, 1);
		put(e, r[5], 1);
	} else if (r[3] == 1) {
		put_regid(e, r[5], rd);
		put_value(e, rst_be64(r + 16));
	}
}

static int find_pava(const struct rz2_enc *e, const uint8_t *r)
{
	size_t len = e->lossy && !(r[1] & 0x80) ? 16 : RST_REC_SIZE;

	for (int i = 0; i < RZ2_PAVA_SLOTS; i++)
		if (!memcmp(e->cpu->pava[i], r, len))
			return i;
	return -1;
}

static int put_other(struct rz2_enc *e, const uint8_t *r, int rd)
{
	int slot;

	e->st.other++;
	if (r[0] >= RZ2_END && r[0] <= RZ2_PAIR)
		return -EILSEQ;
	if (r[0] == RST_REGVAL && (regval_is_short(r) || (e->lossy && r[2] == 1 && (r[3] == 1 || r[3] == 5 || r[3] == 6)))) {
		put_regval(e, r, rd);
		return 0;
	}
	if (r[0] == RST_PAVADIFF) {
		e->st.pava_all++;
		slot = find_pava(e, r);
		if (slot >= 0) {
			e->st.pava_index++;
			put(e, RZ2_PAVA + (unsigned int)slot, 1);
			rz2_pava_used(e->cpu, (unsigned int)slot);
			return 0;
		}
		rz2_pava_store(e->cpu, r);
	}
	rz2_note_record(e->cpu, r);
	return strbuf_add(e->out, r, RST_REC_SIZE);
}

/* --- chunks --------------------------------------------------------------------------------------------- */

static void put_offset(struct rz2_enc *e, int64_t o)
{
	int kind;

	if (!o)
		e->st.ea_zero++;
	if (o == (int8_t)o) {
		kind = o == -125 || o == -123 || o == 123 || o == 125;
		if (kind)
			put(e, (uint8_t)-125, 1);
		put(e, (uint8_t)o, 1);
	} else if (o == (int16_t)o) {
		kind = 2;
		put(e, (uint8_t)-123, 1);
		put(e, (uint16_t)o, 2);
	} else if (o == (int32_t)o) {
		kind = 3;
		put(e, 123, 1);
		put(e, (uint32_t)o, 4);
	} else {
		kind = 4;
		put(e, 125, 1);
		put(e, (uint64_t)o, 8);
	}
	e->st.ea_size[kind]++;
}

/* How many instructions the chunk beginning at `order[i]` has; e->at gets where they are. A gap that is too long for its
 * count byte ends it as well. */
static uint32_t chunk_extent(struct rz2_enc *e, size_t round, size_t i, size_t n)
{
	uint32_t k = 1;
	size_t j = i + 1, gap = 0;
	uint64_t next = rst_instr_pc(e->order[i]) + 4;

	e->at[0] = (uint32_t)i;
	for (; j < n && j - round < RZ2_CHUNK_RECS && gap <= 255; j++) {
		const uint8_t *r = e->order[j];

		if (r[0] != RST_INSTR) {
			gap++;
			continue;
		}
		if (rst_instr_pc(r) != next)
			break;
		e->at[k++] = (uint32_t)j;
		next += 4;
		gap = 0;
	}
	return k;
}

static uint8_t chunk_flags(const struct rz2_enc *e, uint32_t i, uint32_t n)
{
	uint8_t f = e->order[e->at[i]][1] & 0x6e;

	return i + 1 < n && e->at[i + 1] - e->at[i] > 1 ? f | RST_I_SCRATCH : f;
}

static int put_chunk(struct rz2_enc *e, uint32_t n)
{
	struct rz2_cpu *c = e->cpu;
	uint64_t pc = rst_instr_pc(e->order[e->at[0]]);
	struct rz2_way *way = rz2_chunk_find(c, pc, n);
	uint32_t i, m = 0;
	uint8_t tag;
	int rc = 0;

	for (i = 0; i < n; i++) {
		const uint8_t *r = e->order[e->at[i]];

		e->words[i] = rst_instr_word(r);
		if (r[1] & RST_I_EA && !sparc_is_pcrel(sparc_kind(e->words[i])))
			e->eas[m++] = rst_instr_ea(r);
	}
	if (way && (memcmp(way->words, e->words, n * sizeof(*e->words)) || m > way->ea_room))
		way = NULL;
	tag = way ? RZ2_LOOP : RZ2_PLAIN;
	put(e, tag, 1);
	put(e, n, 2);
	put(e, pc, 8);
	c->sum += tag + n + pc;
	for (i = 0; i < n && !way; i++)
		put(e, e->words[i], 4);
	for (i = 0; i < n; i++) {
		uint8_t f = chunk_flags(e, i, n);

		put(e, f, 1);
		c->sum += (uint32_t)(e->words[i] + f);
	}
	for (i = 0; i < m; i++) {
		if (way)
			put_offset(e, (int64_t)(e->eas[i] - way->eas[i]));
		else
			put(e, e->eas[i], 8);
		c->sum += e->eas[i];
	}
	if (way)
		rz2_chunk_again(c, way, e->eas, m);
	else
		rc = rz2_chunk_store(c, pc, n, e->words, e->eas, m);
	for (i = 0; i + 1 < n && !rc; i++) {
		uint32_t others = e->at[i + 1] - e->at[i] - 1;

		if (!others)
			continue;
		put(e, others, 1);
		c->sum += others;
		for (uint32_t j = 1; j <= others && !rc; j++) {
			const uint8_t *r = e->order[e->at[i] + j];

			rc = put_other(e, r, (int)sparc_rd(e->words[i]));
			c->sum += r[0];
		}
	}
	if (++c->n_chunks == RZ2_CHECK_EVERY) {
		put(e, c->sum, 8);
		c->sum = 0;
		c->n_chunks = 0;
	}
	e->st.instr += n;
	e->st.loops += way != NULL;
	e->st.plains += way == NULL;
	e->st.chunk_size[MIN(n / 100, 9u)]++;
	e->st.max_chunk = MAX(e->st.max_chunk, n);
	return rc;
}

static int put_stream(struct rz2_enc *e, unsigned int cpu, size_t n)
{
	size_t i = 0;
	int rc = 0;

	if (!e->cpus[cpu]) {
		e->cpus[cpu] = rz2_cpu_new();
		if (!e->cpus[cpu])
			return -ENOMEM;
	}
	e->cpu = e->cpus[cpu];
	while (i < n && !rc) {
		size_t round = i;
		uint32_t k;

		while (i < n && e->order[i][0] != RST_INSTR && !rc)
			rc = put_other(e, e->order[i++], -1);
		if (i == n || rc)
			break;
		if (i - round >= RZ2_CHUNK_RECS)
			round = i;
		k = chunk_extent(e, round, i, n);
		rc = put_chunk(e, k);
		i = e->at[k - 1] + 1;
	}
	put(e, RZ2_END, 1);
	return rc;
}

static void put_run(struct rz2_enc *e, unsigned int cpu, uint32_t count)
{
	put(e, cpu, 1);
	put(e, count < 256 ? count : 0, 1);
	if (count >= 256)
		put(e, count < 65536 ? count : 0, 2);
	if (count >= 65536)
		put(e, count, 4);
}

static void patch_u32(struct strbuf *out, size_t at)
{
	if (!out->error)
		rst_put32((uint8_t *)out->buf + at, (uint32_t)(out->len - at - 4));
}

static int rz2_section(void *enc, const uint8_t *recs, size_t n, struct strbuf *out)
{
	struct rz2_enc *e = enc;
	size_t per_cpu[RZ2_MAX_CPUS] = { 0 }, at, i, run = 0;
	int rc = 0;

	e->out = out;
	at = out->len;
	put(e, 0, 4);
	for (i = 0; i < n && !e->up; i++) {
		unsigned int cpu = cpu_of(e, recs + i * RST_REC_SIZE);

		if (cpu >= RZ2_MAX_CPUS)
			return -EILSEQ;
		per_cpu[cpu]++;
		run++;
		if (i + 1 == n || cpu_of(e, recs + (i + 1) * RST_REC_SIZE) != cpu) {
			put_run(e, cpu, (uint32_t)run);
			run = 0;
		}
	}
	if (e->up) {
		per_cpu[0] = n;
	} else {
		patch_u32(out, at);
		at = out->len;
		put(e, 0, 4);
	}
	for (unsigned int cpu = 0; cpu < RZ2_MAX_CPUS && !rc; cpu++) {
		size_t k = 0;

		if (!per_cpu[cpu])
			continue;
		for (i = 0; i < n; i++)
			if (cpu_of(e, recs + i * RST_REC_SIZE) == cpu)
				e->order[k++] = recs + i * RST_REC_SIZE;
		rc = put_stream(e, cpu, k);
	}
	patch_u32(out, at);
	return rc;
}

static int rz2_begin(void *enc, struct strbuf *out)
{
	char head[RZ2_HEAD] = "";

	snprintf(head, sizeof(head), "RZ2 -- Rstzip2 compressed RST file.\nRstzip2 version: 2.01.\nNumcpus=%d.\n",
		 ((struct rz2_enc *)enc)->up ? 1 : 0);
	return strbuf_add(out, head, sizeof(head));
}

static int rz2_end(void *enc, const uint8_t *tail, size_t n_tail, struct strbuf *out)
{
	struct rz2_enc *e = enc;
	uint64_t nums[(RZ2_FOOT - 8) / 8];

	_Static_assert(sizeof(e->st) - offsetof(struct rz2_stats, instr) == sizeof(nums), "the foot is all numbers from instr on");
	memcpy(nums, (const char *)&e->st + offsetof(struct rz2_stats, instr), sizeof(nums));
	e->out = out;
	if (!e->up) {
		put(e, 2, 4);
		put(e, 0xff00, 2);
	}
	put(e, 0, 4);
	put(e, e->st.max_chunk, 4);
	put(e, 0, 4);
	for (size_t i = 0; i < ARRAY_SIZE(nums); i++)
		put(e, nums[i], 8);
	return out->error;
}

static int rz2_new(void **ret, const struct rst_out_opts *o, unsigned int version, const uint8_t *recs, size_t n)
{
	struct rz2_enc *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->order = malloc(RZ2_BLOCK_RECS * sizeof(*e->order));
	e->up = o->rz2_up < 0 ? version < 110 : o->rz2_up;
	e->lossy = o->lossy;
	if (!e->order) {
		free(e);
		return -ENOMEM;
	}
	*ret = e;
	return 0;
}

static void rz2_free(void *enc)
{
	struct rz2_enc *e = enc;

	for (size_t i = 0; i < RZ2_MAX_CPUS; i++)
		rz2_cpu_free(e->cpus[i]);
	free(e->order);
	free(e);
}

const struct rst_encoder_ops rst_rz2_encoder = {
	.section_recs = RZ2_BLOCK_RECS,
	.new = rz2_new,
	.free = rz2_free,
	.begin = rz2_begin,
	.section = rz2_section,
	.end = rz2_end,
};
