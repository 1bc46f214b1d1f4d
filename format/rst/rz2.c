/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tables both sides of RZ2 keep, and its reader. The form: doc/format-rst.md, "RZ2". */
#include <errno.h>

#include "format/rst/rz2.h"

struct rz2_cpu *rz2_cpu_new(void)
{
	return calloc(1, sizeof(struct rz2_cpu));
}

void rz2_cpu_free(struct rz2_cpu *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(c->ways); i++) {
		free(c->ways[i].words);
		free(c->ways[i].eas);
	}
	free(c);
}

static struct rz2_way *set_of(struct rz2_cpu *c, uint64_t pc)
{
	return c->ways + (((pc >> 2) * 47) % RZ2_SETS) * RZ2_WAYS;
}

struct rz2_way *rz2_chunk_find(struct rz2_cpu *c, uint64_t pc, uint32_t n)
{
	struct rz2_way *w = set_of(c, pc);

	for (size_t i = 0; i < RZ2_WAYS; i++)
		if (w[i].n && w[i].pc == pc && w[i].n >= n)
			return w + i;
	return NULL;
}

/* The unit in which address lists are given room: stale words beyond the newest list stay readable. */
static uint32_t ea_units(uint32_t m)
{
	return 8 * m / 512 + 1;
}

int rz2_chunk_store(struct rz2_cpu *c, uint64_t pc, uint32_t n, const uint32_t *words, const uint64_t *eas, uint32_t m)
{
	struct rz2_way *set = set_of(c, pc), *w = set;

	for (size_t i = 0; i < RZ2_WAYS; i++) {
		if (!set[i].age) {
			w = set + i;
			break;
		}
	}
	if (n > w->n_words) {
		uint32_t *p = realloc(w->words, n * sizeof(*p));

		if (!p)
			return -ENOMEM;
		w->words = p;
		w->n_words = n;
	}
	if (!w->eas || ea_units(m) > ea_units(w->n_eas)) {
		uint32_t room = 2 * ea_units(m) * 512 / 8;
		uint64_t *p = calloc(room, sizeof(*p));

		if (!p)
			return -ENOMEM;
		free(w->eas);
		w->eas = p;
		w->ea_room = room;
	}
	memcpy(w->words, words, n * sizeof(*words));
	memcpy(w->eas, eas, m * sizeof(*eas));
	w->pc = pc;
	w->n = n;
	w->n_eas = m;
	w->age = RZ2_WAYS;
	for (size_t i = 0; i < RZ2_WAYS; i++)
		if (set[i].age)
			set[i].age--;
	return 0;
}

void rz2_chunk_again(struct rz2_cpu *c, struct rz2_way *w, const uint64_t *eas, uint32_t m)
{
	struct rz2_way *set = set_of(c, w->pc);
	uint32_t old = w->age;

	for (size_t i = 0; i < RZ2_WAYS; i++)
		if (set[i].age > old)
			set[i].age--;
	w->age = RZ2_WAYS - 1;
	memcpy(w->eas, eas, m * sizeof(*eas));
}

void rz2_pava_used(struct rz2_cpu *c, unsigned int slot)
{
	uint8_t old = c->pava_age[slot];

	for (size_t i = 0; i < RZ2_PAVA_SLOTS; i++)
		if (c->pava_age[i] > old)
			c->pava_age[i]--;
	c->pava_age[slot] = RZ2_PAVA_SLOTS - 1;
}

void rz2_pava_store(struct rz2_cpu *c, const uint8_t *rec)
{
	size_t slot = 0;

	while (slot + 1 < RZ2_PAVA_SLOTS && c->pava_age[slot])
		slot++;
	memcpy(c->pava[slot], rec, RST_REC_SIZE);
	c->pava_age[slot] = RZ2_PAVA_SLOTS;
	for (size_t i = 0; i < RZ2_PAVA_SLOTS; i++)
		if (c->pava_age[i])
			c->pava_age[i]--;
}

/* --- reader --------------------------------------------------------------------------------------------- */

struct rz2_dec {
	bool up;
	struct rz2_cpu *cpus[RZ2_MAX_CPUS];
	uint8_t *data;
	size_t room;
	struct rst_recs streams; /* the streams one after the other */
	uint64_t n_checks;
	/* of the stream at hand */
	const uint8_t *p, *end;
	struct rz2_cpu *cpu;
	unsigned int cpu_no;
	uint8_t *to;    /* next record goes here */
	size_t left;    /* records that may still come */
	const char *fault;
};

static int bad(struct rz2_dec *d, const char *fault)
{
	if (!d->fault)
		d->fault = fault;
	return -EBADMSG;
}

static uint64_t get(struct rz2_dec *d, unsigned int bytes)
{
	uint64_t v = 0;

	if ((size_t)(d->end - d->p) < bytes) {
		d->p = d->end;
		bad(d, "a stream ends too early");
		return 0;
	}
	while (bytes--)
		v = v << 8 | *d->p++;
	return v;
}

static uint8_t *new_rec(struct rz2_dec *d)
{
	uint8_t *r = d->to;

	if (!d->left) {
		bad(d, "a stream has more records than the run list says");
		return NULL;
	}
	d->left--;
	d->to += RST_REC_SIZE;
	return r;
}

static uint64_t get_value(struct rz2_dec *d)
{
	uint8_t tag = (uint8_t)get(d, 1);
	uint64_t v;

	switch (tag) {
	case RZ2_V1: return get(d, 1);
	case RZ2_V2: return get(d, 2);
	case RZ2_V4:
	case RZ2_V8:
		v = get(d, tag == RZ2_V4 ? 4 : 8);
		d->cpu->values[v % RZ2_VALUES] = v;
		return v;
	case RZ2_VINDEX:
		v = get(d, 2);
		if (v >= RZ2_VALUES) {
			bad(d, "a value index is out of range");
			return 0;
		}
		return d->cpu->values[v];
	case RZ2_VMINUS1: return UINT64_MAX;
	}
	if (tag >= RZ2_VSMALL && tag <= RZ2_VSMALL + 8)
		return tag - RZ2_VSMALL;
	bad(d, "not the tag of a value");
	return 0;
}

static uint8_t get_regid(struct rz2_dec *d, int rd)
{
	if (d->p < d->end && *d->p == RZ2_REGID) {
		d->p++;
		return (uint8_t)get(d, 1);
	}
	if (rd < 0)
		bad(d, "a register value without its number");
	return (uint8_t)rd;
}

/* rd: of the instruction before it in the chunk, or -1 */
static int get_regval(struct rz2_dec *d, int rd)
{
	uint8_t *r = new_rec(d);
	bool pair = *d->p == RZ2_PAIR;

	if (!r)
		return -EBADMSG;
	memset(r, 0, RST_REC_SIZE);
	r[0] = RST_REGVAL;
	r[1] = 0x80;
	r[2] = 1;
	r[3] = 5;
	d->p += pair;
	r[4] = get_regid(d, rd);
	rst_put64(r + 8, get_value(d));
	if (pair) {
		r[3] = 1;
		r[5] = get_regid(d, rd);
		rst_put64(r + 16, get_value(d));
	} else if (d->p < d->end && *d->p == RZ2_CC) {
		d->p++;
		r[3] = 6;
		r[5] = (uint8_t)get(d, 1);
	}
	rst_rec_set_cpu(r, RST_VERSION, d->cpu_no);
	return 0;
}

/* Types whose cpu field the reader overwrites. */
static void force_cpu(uint8_t *r, unsigned int cpu)
{
	switch (r[0]) {
	case RST_INSTR: case RST_TLB: case RST_REGVAL: case RST_PREG: case RST_TRAP: case RST_TRAPEXIT: case RST_CPU:
	case RST_PAVADIFF:
		rst_rec_set_cpu(r, RST_VERSION, cpu);
	}
}

/* One record that is no chunk. */
static int get_other(struct rz2_dec *d, int rd)
{
	uint8_t tag = d->p < d->end ? *d->p : 0, *r;

	if ((tag >= RZ2_REGID && tag <= RZ2_VSMALL + 8) || tag == RZ2_PAIR)
		return get_regval(d, rd);
	if (d->p == d->end || tag == RZ2_CC || (tag >= RZ2_END && tag <= RZ2_LOOP))
		return bad(d, "not the tag of a record");
	r = new_rec(d);
	if (!r)
		return -EBADMSG;
	if (tag >= RZ2_PAVA && tag < RZ2_PAVA + RZ2_PAVA_SLOTS) {
		d->p++;
		memcpy(r, d->cpu->pava[tag - RZ2_PAVA], RST_REC_SIZE);
		if (r[0] != RST_PAVADIFF)
			return bad(d, "a PAVADIFF slot that was never filled");
		rz2_pava_used(d->cpu, tag - RZ2_PAVA);
		force_cpu(r, d->cpu_no);
		return 0;
	}
	if (d->end - d->p < RST_REC_SIZE)
		return bad(d, "a stream ends within a record");
	memcpy(r, d->p, RST_REC_SIZE);
	d->p += RST_REC_SIZE;
	if (r[0] == RST_PAVADIFF)
		rz2_pava_store(d->cpu, r);
	force_cpu(r, d->cpu_no);
	rz2_note_record(d->cpu, r);
	return 0;
}

struct chunk {
	uint32_t n, m;
	uint64_t pc;
	struct rz2_way *way; /* of a loop chunk */
	uint32_t words[65536];
	uint8_t flags[65536];
	uint64_t eas[65536];
};

static int64_t get_offset(struct rz2_dec *d)
{
	int8_t b = (int8_t)get(d, 1);

	switch (b) {
	case -125: return (int8_t)get(d, 1);
	case -123: return (int16_t)get(d, 2);
	case 123: return (int32_t)get(d, 4);
	case 125: return (int64_t)get(d, 8);
	}
	return b;
}

static int get_eas(struct rz2_dec *d, struct chunk *k)
{
	for (uint32_t i = 0; i < k->n; i++) {
		if (!(k->flags[i] & RST_I_EA) || sparc_is_pcrel(sparc_kind(k->words[i])))
			continue;
		if (k->way) {
			if (k->m >= k->way->ea_room)
				return bad(d, "more addresses than a table entry has");
			k->eas[k->m] = k->way->eas[k->m] + (uint64_t)get_offset(d);
		} else {
			k->eas[k->m] = get(d, 8);
		}
		d->cpu->sum += k->eas[k->m++];
	}
	return d->fault ? -EBADMSG : 0;
}

/* The records of a chunk, with the ones between its instructions. */
static int put_chunk(struct rz2_dec *d, const struct chunk *k)
{
	uint32_t m = 0;

	for (uint32_t i = 0; i < k->n; i++) {
		enum sparc_kind kind = sparc_kind(k->words[i]);
		uint64_t pc = k->pc + 4 * (uint64_t)i, ea = 0;
		uint8_t *r = new_rec(d);
		unsigned int others;

		if (!r)
			return -EBADMSG;
		if (sparc_is_pcrel(kind))
			ea = rz2_branch_ea(d->cpu, k->words[i], kind, pc, k->flags[i]);
		else if (k->flags[i] & RST_I_EA)
			ea = k->eas[m++];
		memset(r, 0, RST_REC_SIZE);
		r[0] = RST_INSTR;
		r[1] = k->flags[i] & ~RST_I_SCRATCH;
		rst_put32(r + 4, k->words[i]);
		rst_put64(r + 8, pc);
		rst_put64(r + 16, ea);
		rst_rec_set_cpu(r, RST_VERSION, d->cpu_no);
		if (!(k->flags[i] & RST_I_SCRATCH))
			continue;
		others = (unsigned int)get(d, 1);
		d->cpu->sum += others;
		while (others--) {
			if (get_other(d, (int)sparc_rd(k->words[i])) || d->fault)
				return -EBADMSG;
			d->cpu->sum += d->to[-RST_REC_SIZE];
		}
	}
	return 0;
}

static int get_chunk(struct rz2_dec *d, struct chunk *k)
{
	struct rz2_cpu *c = d->cpu;
	uint8_t tag = (uint8_t)get(d, 1);
	uint32_t i;

	k->n = (uint32_t)get(d, 2);
	k->pc = get(d, 8);
	k->m = 0;
	k->way = NULL;
	if (!k->n || k->n > d->left || (size_t)(d->end - d->p) < k->n)
		return bad(d, "a chunk is longer than its stream");
	if (tag == RZ2_LOOP) {
		k->way = rz2_chunk_find(c, k->pc, k->n);
		if (!k->way)
			return bad(d, "a loop chunk that was never sent whole");
		memcpy(k->words, k->way->words, k->n * sizeof(*k->words));
	} else {
		for (i = 0; i < k->n; i++)
			k->words[i] = (uint32_t)get(d, 4);
	}
	c->sum += tag + k->n + k->pc;
	for (i = 0; i < k->n; i++) {
		k->flags[i] = (uint8_t)get(d, 1);
		c->sum += (uint32_t)(k->words[i] + k->flags[i]);
	}
	if (d->fault || get_eas(d, k))
		return -EBADMSG;
	if (k->way)
		rz2_chunk_again(c, k->way, k->eas, k->m);
	else if (rz2_chunk_store(c, k->pc, k->n, k->words, k->eas, k->m))
		return -ENOMEM;
	if (put_chunk(d, k))
		return -EBADMSG;
	if (++c->n_chunks == RZ2_CHECK_EVERY) {
		if (get(d, 8) != c->sum)
			return bad(d, "a checksum does not agree");
		d->n_checks++;
		c->n_chunks = 0;
		c->sum = 0;
	}
	return d->fault ? -EBADMSG : 0;
}

static int get_stream(struct rz2_dec *d, unsigned int cpu, size_t n, struct chunk *k)
{
	if (!d->cpus[cpu]) {
		d->cpus[cpu] = rz2_cpu_new();
		if (!d->cpus[cpu])
			return -ENOMEM;
	}
	d->cpu = d->cpus[cpu];
	d->cpu_no = cpu;
	d->left = n;
	for (;;) {
		int rc;

		if (d->p == d->end)
			return bad(d, "a stream has no end");
		if (*d->p == RZ2_END)
			break;
		rc = *d->p == RZ2_PLAIN || *d->p == RZ2_LOOP ? get_chunk(d, k) : get_other(d, -1);
		if (rc || d->fault)
			return rc ? rc : -EBADMSG;
	}
	d->p++;
	return d->left ? bad(d, "a stream has fewer records than the run list says") : 0;
}

struct runs {
	size_t n;
	struct run { uint8_t cpu; uint32_t count; } *run;
	uint64_t per_cpu[RZ2_MAX_CPUS];
	uint64_t total;
};

static int get_runs(struct rz2_dec *d, struct runs *r)
{
	size_t room = 0;

	while (d->p < d->end) {
		uint8_t cpu = (uint8_t)get(d, 1);
		uint64_t count = get(d, 1);

		if (!count)
			count = get(d, 2);
		if (!count)
			count = get(d, 4);
		if (d->fault || cpu >= RZ2_MAX_CPUS || !count)
			return bad(d, "the run list is damaged");
		r->per_cpu[cpu] += count;
		r->total += count;
		if (r->total > RST_SECTION_CAP / RST_REC_SIZE)
			return bad(d, "the run list is damaged");
		if (r->n == room) {
			struct run *p = realloc(r->run, (room = room ? room * 2 : 256) * sizeof(*p));

			if (!p)
				return -ENOMEM;
			r->run = p;
		}
		r->run[r->n++] = (struct run){ cpu, (uint32_t)count };
	}
	return 0;
}

static int interleave(struct rz2_dec *d, const struct runs *r, struct rst_recs *out)
{
	const uint8_t *from[RZ2_MAX_CPUS], *p = d->streams.recs;
	uint8_t *to;
	int rc = rst_recs_reserve(out, r->total);

	if (rc)
		return rc;
	for (size_t i = 0; i < RZ2_MAX_CPUS; i++) {
		from[i] = p;
		p += r->per_cpu[i] * RST_REC_SIZE;
	}
	to = out->recs;
	for (size_t i = 0; i < r->n; i++) {
		size_t len = r->run[i].count * (size_t)RST_REC_SIZE;

		memcpy(to, from[r->run[i].cpu], len);
		from[r->run[i].cpu] += len;
		to += len;
	}
	out->n = r->total;
	return 1;
}

/* A u32 length and that many bytes. */
static int take(struct rz2_dec *d, struct rst_src *src)
{
	uint8_t len4[4];
	size_t len, got = 0;
	int rc = rst_src_need(src, len4, 4);

	if (rc)
		return rc;
	len = rst_be32(len4);
	if (len > RST_SECTION_CAP)
		return bad(d, "a block is too long");
	/* Room is made as the bytes come: a length alone costs nothing. */
	while (got < len) {
		size_t more = MIN(len - got, (size_t)1 << 20);

		if (got + more > d->room) {
			size_t room = MAX(d->room * 2, got + more);
			uint8_t *p = realloc(d->data, room);

			if (!p)
				return -ENOMEM;
			d->data = p;
			d->room = room;
		}
		rc = rst_src_need(src, d->data + got, more);
		if (rc)
			return rc;
		got += more;
	}
	d->p = d->end = d->data;
	if (len)
		d->end += len;
	return 0;
}

static int get_mp(struct rz2_dec *d, struct rst_src *src, struct runs *r, struct chunk *k, struct rst_recs *out)
{
	bool last;
	int rc = take(d, src);

	if (rc)
		return rc;
	last = d->end - d->p == 2 && d->p[0] == 0xff && !d->p[1];
	if (!last)
		rc = get_runs(d, r);
	if (!rc)
		rc = take(d, src);
	if (rc)
		return rc;
	if (d->p == d->end && (last || !r->total))
		return 0;
	if (last)
		return bad(d, "the last block is not empty");
	rc = rst_recs_reserve(&d->streams, r->total);
	d->to = d->streams.recs;
	for (unsigned int cpu = 0; !rc && cpu < RZ2_MAX_CPUS; cpu++)
		if (r->per_cpu[cpu])
			rc = get_stream(d, cpu, r->per_cpu[cpu], k);
	if (!rc && d->p != d->end)
		rc = bad(d, "a block has bytes left over");
	return rc ? rc : interleave(d, r, out);
}

/* One stream of unknown length: tried with room for more and more records is not needed, a byte makes at most 1/11 chunk
 * of 65,535; the format's own limit is taken. */
static int get_up(struct rz2_dec *d, struct rst_src *src, struct chunk *k, struct rst_recs *out)
{
	size_t room;
	int rc = take(d, src);

	if (rc)
		return rc;
	if (d->p == d->end)
		return 0;
	room = (size_t)(d->end - d->p); /* each record takes a byte at least: its flags or its tag */
	rc = rst_recs_reserve(out, room);
	if (rc)
		return rc;
	d->to = out->recs;
	rc = get_stream(d, 0, room, k);
	if (rc == -EBADMSG && d->fault && d->left && d->p == d->end && d->end[-1] == RZ2_END) {
		d->fault = NULL; /* fewer than room: as expected */
		rc = 0;
	}
	out->n = room - d->left;
	return rc ? rc : 1;
}

static int rz2_next(void *dec, struct rst_src *src, struct rst_recs *out, const char **fault)
{
	struct rz2_dec *d = dec;
	struct chunk *k = malloc(sizeof(*k));
	struct runs r = { 0 };
	int rc;

	d->fault = NULL;
	if (!k)
		return -ENOMEM;
	do {
		out->n = 0;
		rc = d->up ? get_up(d, src, k, out) : get_mp(d, src, &r, k, out);
	} while (rc == 1 && !out->n);
	free(k);
	free(r.run);
	if (rc == 0) {
		uint8_t foot[RZ2_FOOT];

		rc = rst_src_need(src, foot, sizeof(foot));
		if (rc == -EBADMSG && src->fault && !strcmp(src->fault, "the file is cut off"))
			src->fault = "the file is cut off in its footer";
	}
	*fault = d->fault;
	return rc;
}

static int rz2_new(void **ret, struct rst_src *src, const char **why)
{
	char head[RZ2_HEAD + 1] = "";
	const char *n;
	struct rz2_dec *d;
	int rc = rst_src_need(src, head, RZ2_HEAD);

	if (rc) {
		*why = src->fault;
		return rc;
	}
	n = strstr(head, "Numcpus=");
	if (!n || n[8] < '0' || n[8] > '9') {
		*why = "an RZ2 header without its number of cpus";
		return -EBADMSG;
	}
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->up = strtoul(n + 8, NULL, 10) == 1;
	*ret = d;
	return 0;
}

static void rz2_free(void *dec)
{
	struct rz2_dec *d = dec;

	for (size_t i = 0; i < RZ2_MAX_CPUS; i++)
		rz2_cpu_free(d->cpus[i]);
	free(d->data);
	free(d->streams.recs);
	free(d);
}

static void rz2_info(const void *dec, struct rst_in_info *info)
{
	info->n_checks = ((const struct rz2_dec *)dec)->n_checks;
}

const struct rst_decoder_ops rst_rz2_decoder = { rz2_new, rz2_free, rz2_next, rz2_info };
