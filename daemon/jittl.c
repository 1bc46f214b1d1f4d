/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "daemon/jittl.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "daemon/jitblock.h"
#include "daemon/jittable.h"

#define BLOCK 72
#define MAX_HEAPS 64

#define K_KIND 3u
#define K_SINCE_UNKNOWN 4u
#define KIND_SHIFT 29
#define MAX_SIZE ((1u << KIND_SHIFT) - 1)
#define SEGMENT_SHIFT 40
#define LATE_SHIFT 57
#define MAX_LATE 127u

struct rest { /* read for the one or two candidates of a look-up */
	uint64_t load, unload;
	uint64_t off_seg;     /* lateness of the end << 57 | segment << 40 | image offset */
};

struct block { /* a look-up searches addr, then checks size, then reads one rest */
	uint16_t n;
	bool in_chunk;        /* see jitblock.h */
	uint32_t max_size;
	uint64_t addr[BLOCK];
	uint32_t size_kind[BLOCK]; /* kind << KIND_SHIFT | size */
	struct rest rest[BLOCK];
	uint32_t id[BLOCK];
};

static uint32_t size_at(const struct block *b, unsigned int i) { return b->size_kind[i] & MAX_SIZE; }
static uint32_t kind_at(const struct block *b, unsigned int i) { return b->size_kind[i] >> KIND_SHIFT; }

struct jittl {
	struct jittable table;
	size_t near;          /* the block of the last event: the next one is often there too */
	struct jitblock_pool pool;
	uint64_t lo, hi;      /* bounds over regions and heaps */
	struct jittl_heap heaps[MAX_HEAPS];
	size_t n_heaps;
	uint64_t n, n_dead, prune_at;
	uint64_t n_loads, n_bad, n_pruned;
};

static struct block *block_at(const struct jittl *j, size_t at) { return jittable_block(&j->table, at); }

int jittl_new(struct jittl **ret)
{
	struct jittl *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	j->lo = UINT64_MAX;
	j->prune_at = 1024;
	j->pool.bytes = sizeof(struct block);
	*ret = j;
	return 0;
}

static struct block *block_new(struct jittl *j)
{
	bool in_chunk;
	struct block *b = jitblock_get(&j->pool, &in_chunk);

	if (b) {
		b->n = 0;
		b->max_size = 0;
		b->in_chunk = in_chunk;
	}
	return b;
}

static void block_free(struct jittl *j, struct block *b) { jitblock_put(&j->pool, b, b->in_chunk); }

void jittl_free(struct jittl *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->table.n; i++)
		block_free(j, block_at(j, i));
	jittable_done(&j->table);
	free(j);
}

/* --- the table of blocks ------------------------------------------------------------------------------- */

static uint64_t block_end(const struct block *b)
{
	uint64_t end = 0;

	for (unsigned int i = 0; i < b->n; i++)
		end = MAX(end, b->addr[i] + size_at(b, i));
	return end;
}

static uint64_t reach_before(const struct jittl *j, size_t at) { return at ? jittable_reach(&j->table, at - 1) : 0; }

/* Block `at` changed in any way: its entries in the table, and the reach of those behind. */
static void table_fix(struct jittl *j, size_t at)
{
	struct block *b = block_at(j, at);
	uint64_t reach = MAX(reach_before(j, at), block_end(b));

	b->max_size = 0;
	for (unsigned int i = 0; i < b->n; i++)
		b->max_size = MAX(b->max_size, size_at(b, i));
	j->table.first[jittable_slot(&j->table, at)] = b->addr[0];
	j->table.reach[jittable_slot(&j->table, at)] = reach;
}

/* jittable_find where events come in: they mostly go on where the last one was, or behind it. */
static size_t table_near(struct jittl *j, uint64_t addr)
{
	size_t at = j->near;

	if (at < j->table.n && jittable_first(&j->table, at) <= addr) {
		if (at + 1 < j->table.n && jittable_first(&j->table, at + 1) <= addr)
			at++;
		if (at + 1 == j->table.n || addr < jittable_first(&j->table, at + 1))
			return j->near = at;
	}
	at = jittable_find(&j->table, addr);
	if (at < j->table.n)
		j->near = at;
	return at;
}

/* How many regions of the block start at or before addr. */
static unsigned int block_upper(const struct block *b, uint64_t addr)
{
	const uint64_t *base = b->addr;
	unsigned int n = b->n;

	while (n > 1) {
		unsigned int half = n / 2;

		base = base[half] <= addr ? base + half : base;
		n -= half;
	}
	return (unsigned int)(base - b->addr) + (b->n && *base <= addr);
}

/* --- how late an end is told, in seven bits: none, or 5 µs to hours in steps of a quarter at most ------------ */

static uint64_t late_ns_of(uint64_t off_seg)
{
	unsigned int code = (unsigned int)(off_seg >> LATE_SHIFT);

	return code ? ((UINT64_C(4) + code % 4) << code / 4) * 1000 : 0;
}

static uint64_t late_bits(uint32_t us)
{
	uint64_t code = us ? 1 : 0;

	while (code && code < MAX_LATE && (UINT64_C(4) + code % 4) << code / 4 < us)
		code++;
	return code << LATE_SHIFT;
}

/* --- one region in a block ----------------------------------------------------------------------------- */

static void slots_move(struct block *to, unsigned int ti, const struct block *from, unsigned int fi, unsigned int n)
{
	memmove(to->addr + ti, from->addr + fi, n * sizeof(*to->addr));
	memmove(to->size_kind + ti, from->size_kind + fi, n * sizeof(*to->size_kind));
	memmove(to->id + ti, from->id + fi, n * sizeof(*to->id));
	memmove(to->rest + ti, from->rest + fi, n * sizeof(*to->rest));
}

static void slot_set(struct block *b, unsigned int i, const struct jittl_region *r)
{
	b->addr[i] = r->addr;
	b->size_kind[i] = (uint32_t)r->size | ((r->kind & K_KIND) | (r->since_unknown ? K_SINCE_UNKNOWN : 0)) << KIND_SHIFT;
	b->rest[i].load = r->load_ns;
	b->rest[i].unload = r->unload_ns;
	b->rest[i].off_seg = (uint64_t)r->segment << SEGMENT_SHIFT | r->image_offset;
	b->id[i] = r->id;
}

static void slot_get(const struct block *b, unsigned int i, struct jittl_region *r)
{
	r->addr = b->addr[i];
	r->size = size_at(b, i);
	r->load_ns = b->rest[i].load;
	r->unload_ns = b->rest[i].unload;
	r->image_offset = b->rest[i].off_seg & JITTL_MAX_OFFSET;
	r->segment = (uint32_t)(b->rest[i].off_seg >> SEGMENT_SHIFT) & JITTL_MAX_SEGMENT;
	r->late_ns = late_ns_of(b->rest[i].off_seg);
	r->id = b->id[i];
	r->kind = kind_at(b, i) & K_KIND;
	r->since_unknown = kind_at(b, i) & K_SINCE_UNKNOWN;
}

/* Where a region goes: behind all with the same address and an earlier or equal time. */
static unsigned int slot_for(const struct block *b, const struct jittl_region *r)
{
	unsigned int i = b->n && b->addr[b->n - 1] < r->addr ? b->n : block_upper(b, r->addr);

	while (i > 0 && b->addr[i - 1] == r->addr && b->rest[i - 1].load > r->load_ns)
		i--;
	return i;
}

/* An empty block that becomes number `at`, for a region from addr on. */
static int block_insert(struct jittl *j, size_t at, uint64_t addr)
{
	struct block *b = block_new(j);
	int r = b ? jittable_insert(&j->table, at, b, addr, reach_before(j, at)) : -ENOMEM;

	if (r < 0 && b)
		block_free(j, b);
	return r;
}

static int block_split(struct jittl *j, size_t at)
{
	struct block *b = block_at(j, at), *right;
	int r = block_insert(j, at + 1, b->addr[BLOCK / 2]);

	if (r < 0)
		return r;
	right = block_at(j, at + 1);
	right->n = BLOCK / 2;
	slots_move(right, 0, b, BLOCK / 2, BLOCK / 2);
	b->n = BLOCK / 2;
	table_fix(j, at);
	table_fix(j, at + 1);
	return 0;
}

static int region_insert(struct jittl *j, const struct jittl_region *r)
{
	uint64_t end = r->addr + r->size;
	struct block *b;
	unsigned int i;
	size_t at;
	int ret;

	if (!j->table.n && (ret = block_insert(j, 0, r->addr)) < 0)
		return ret;
	for (;;) {
		at = table_near(j, r->addr);
		if (at == j->table.n)
			at = 0;
		b = block_at(j, at);
		i = slot_for(b, r);
		/* Versions of one address may run over from the block before. */
		while (i == 0 && b->n && at > 0 && jittable_first(&j->table, at) == r->addr) {
			b = block_at(j, --at);
			i = slot_for(b, r);
		}
		if (b->n < BLOCK)
			break;
		/* Behind all in it, as in a code heap that grows, or in the page of one: the full block stays full. */
		ret = i == BLOCK ? block_insert(j, at + 1, r->addr) : block_split(j, at);
		if (ret < 0)
			return ret;
	}
	slots_move(b, i + 1, b, i, b->n - i);
	slot_set(b, i, r);
	b->n++;
	b->max_size = MAX(b->max_size, (uint32_t)r->size);
	j->table.first[jittable_slot(&j->table, at)] = b->addr[0];
	for (size_t k = at; k < j->table.n && jittable_reach(&j->table, k) < end; k++)
		j->table.reach[jittable_slot(&j->table, k)] = end;
	j->lo = MIN(j->lo, r->addr);
	j->hi = MAX(j->hi, end);
	j->n++;
	return 0;
}

/*
 * The region that an UNLOAD or MOVE means: of those that start at addr the one with the id, else (id 0) the newest
 * that is not unloaded. False: none.
 */
static bool region_at(struct jittl *j, uint64_t addr, uint64_t id, size_t *ret_at, unsigned int *ret_i)
{
	size_t at = table_near(j, addr);

	if (at == j->table.n)
		return false;
	if (block_at(j, at)->n && block_at(j, at)->addr[block_at(j, at)->n - 1] < addr)
		return false;
	for (;; at--) {
		struct block *b = block_at(j, at);

		for (unsigned int i = block_upper(b, addr); i > 0 && b->addr[i - 1] == addr; i--) {
			if (id ? b->id[i - 1] != id : b->rest[i - 1].unload != UINT64_MAX)
				continue;
			*ret_at = at;
			*ret_i = i - 1;
			return true;
		}
		if (at == 0 || b->addr[0] < addr)
			return false;
	}
}

/* --- events -------------------------------------------------------------------------------------------- */

static bool clip(struct jittl_region *r, uint64_t addr, uint64_t size)
{
	bool good = size > 0;

	if (size > MAX_SIZE) {
		size = MAX_SIZE;
		good = false;
	}
	if (addr > UINT64_MAX - size) {
		size = UINT64_MAX - addr;
		good = false;
	}
	r->addr = addr;
	r->size = size;
	return good;
}

static int event_load(struct jittl *j, const struct jit_event *e)
{
	struct jittl_region r = {
		.load_ns = e->time_ns, .unload_ns = UINT64_MAX, .kind = MIN(e->kind, JIT_TRAMPOLINE),
		.image_offset = e->image_offset, .segment = e->segment, .id = (uint32_t)e->id,
		.since_unknown = e->flags & (JIT_SINCE_UNKNOWN | JIT_TIME_UNKNOWN),
	};
	bool good = clip(&r, e->addr, e->size);
	size_t at;
	unsigned int i;
	int ret;

	if (r.size == 0 || e->id > UINT32_MAX || e->segment > JITTL_MAX_SEGMENT || e->image_offset > JITTL_MAX_OFFSET) {
		j->n_bad++;
		return -EBADMSG;
	}
	if (j->n >= JITTL_MAX_REGIONS) {
		j->n_bad++;
		return -E2BIG;
	}
	j->n_loads++;
	if (!good)
		j->n_bad++;
	if (region_at(j, r.addr, 0, &at, &i))
		j->n_dead++; /* overwritten in place, so it ends without an unload */
	ret = region_insert(j, &r);
	return ret < 0 ? ret : good ? 0 : -EBADMSG;
}

static int event_unload(struct jittl *j, uint64_t addr, const struct jit_event *e, struct jittl_region *ret)
{
	size_t at;
	unsigned int i;
	uint64_t end;
	struct block *b;

	if (!region_at(j, addr, e->id, &at, &i)) {
		j->n_bad++;
		return -EBADMSG;
	}
	b = block_at(j, at);
	slot_get(b, i, ret);
	if (b->rest[i].unload == UINT64_MAX)
		j->n_dead++;
	if (e->time_ns < b->rest[i].load)
		j->n_bad++;
	/* The earlier of two ends holds. */
	end = MAX(e->time_ns, b->rest[i].load);
	if (end < b->rest[i].unload) {
		b->rest[i].unload = end;
		b->rest[i].off_seg &= (UINT64_C(1) << LATE_SHIFT) - 1;
		b->rest[i].off_seg |= e->type == JIT_EVENT_UNLOAD ? late_bits(e->flags) : 0;
	}
	return 0;
}

static int event_heap(struct jittl *j, const struct jit_event *e)
{
	uint64_t end;

	if (!e->size || !util_add_u64(e->addr, e->size, &end)) {
		j->n_bad++;
		return -EBADMSG;
	}
	for (size_t i = 0; i < j->n_heaps; i++)
		if (j->heaps[i].start == e->addr) {
			j->heaps[i].end = MAX(j->heaps[i].end, end);
			j->hi = MAX(j->hi, end);
			return 0;
		}
	if (j->n_heaps == MAX_HEAPS) {
		j->n_bad++;
		return -E2BIG;
	}
	j->heaps[j->n_heaps++] = (struct jittl_heap){ e->addr, end };
	j->lo = MIN(j->lo, e->addr);
	j->hi = MAX(j->hi, end);
	return 0;
}

int jittl_event(struct jittl *j, const struct jit_event *e)
{
	struct jittl_region r;
	int ret;

	switch (e->type) {
	case JIT_EVENT_LOAD:
		return event_load(j, e);
	case JIT_EVENT_UNLOAD:
		return event_unload(j, e->addr, e, &r);
	case JIT_EVENT_MOVE:
		if ((ret = event_unload(j, e->old_addr, e, &r)) < 0)
			return ret;
		r.load_ns = e->time_ns;
		r.unload_ns = UINT64_MAX;
		r.since_unknown = false;
		if (!clip(&r, e->addr, r.size)) {
			j->n_bad++;
			return -EBADMSG;
		}
		return region_insert(j, &r);
	case JIT_EVENT_HEAP:
		return event_heap(j, e);
	default:
		return 0;
	}
}

/* --- questions ----------------------------------------------------------------------------------------- */

bool jittl_covers(const struct jittl *j, uint64_t addr)
{
	return addr >= j->lo && addr < j->hi;
}

const struct jittl_heap *jittl_heap(const struct jittl *j, uint64_t addr)
{
	for (size_t i = 0; i < j->n_heaps; i++)
		if (addr >= j->heaps[i].start && addr < j->heaps[i].end)
			return &j->heaps[i];
	return NULL;
}

struct scan {
	const struct block *last_b, *next_b, *inner_b;
	unsigned int last_i, next_i, inner_i;
};

/* A stub that is posted as a part of a larger stub or of the interpreter keeps its own name. */
static bool is_inner(const struct block *b, unsigned int i, const struct block *out, unsigned int o)
{
	return (kind_at(b, i) & K_KIND) != JIT_METHOD && (kind_at(out, o) & K_KIND) != JIT_METHOD &&
	       size_at(b, i) < size_at(out, o) && b->addr[i] >= out->addr[o] &&
	       b->addr[i] + size_at(b, i) <= out->addr[o] + size_at(out, o);
}

static void scan_block(const struct block *b, uint64_t addr, uint64_t t, struct scan *s)
{
	for (unsigned int i = block_upper(b, addr); i > 0; i--) {
		uint64_t into = addr - b->addr[i - 1];
		unsigned int k = i - 1;

		if (into >= b->max_size)
			return;
		if (into >= size_at(b, k))
			continue;
		if (b->rest[k].load > t) {
			if (!s->next_b || b->rest[k].load < s->next_b->rest[s->next_i].load)
				s->next_b = b, s->next_i = k;
		} else if (!s->last_b || b->rest[k].load > s->last_b->rest[s->last_i].load) {
			if (s->last_b && t < s->last_b->rest[s->last_i].unload && is_inner(s->last_b, s->last_i, b, k))
				s->inner_b = s->last_b, s->inner_i = s->last_i;
			s->last_b = b, s->last_i = k;
		} else if (t < b->rest[k].unload && is_inner(b, k, s->last_b, s->last_i)) {
			s->inner_b = b, s->inner_i = k;
		}
	}
}

/* All lines that the search of a block may touch at once: one wait for memory in place of one a step. */
static void block_prefetch(const struct block *b)
{
	for (const char *line = (const char *)b, *end = (const char *)b->rest; line < end; line += 64)
		__builtin_prefetch(line);
}

void jittl_prefetch(const struct jittl *j, uint64_t addr, unsigned int step)
{
	const struct block *b;
	size_t at;

	if (step == 0) {
		__builtin_prefetch(j);
		__builtin_prefetch(&j->table.n);
		return;
	}
	if (addr < j->lo || addr >= j->hi)
		return;
	if (step == 1) { /* a small table whole, of a large one the middle */
		size_t bytes = j->table.n * sizeof(*j->table.first);
		const char *t = (const char *)j->table.first;

		for (size_t i = 0; i < MIN(bytes, (size_t)512); i += 64)
			__builtin_prefetch(t + i);
		return;
	}
	at = jittable_find(&j->table, addr);
	if (at == j->table.n)
		return;
	if (step == 2) {
		__builtin_prefetch(&j->table.reach[jittable_slot(&j->table, at ? at - 1 : 0)]);
		block_prefetch(block_at(j, at));
		return;
	}
	b = block_at(j, at);
	__builtin_prefetch(&b->rest[MAX(block_upper(b, addr), 1u) - 1]);
	__builtin_prefetch(&b->id[MAX(block_upper(b, addr), 1u) - 1]);
}

void jittl_find(const struct jittl *j, uint64_t addr, uint64_t t, struct jittl_find *ret)
{
	struct scan s = { 0 };
	size_t at = jittable_find(&j->table, addr);

	ret->has_live = ret->has_next = ret->overwritten = ret->doubtful = false;
	if (at == j->table.n)
		return;
	block_prefetch(block_at(j, at));
	for (;; at--) {
		scan_block(block_at(j, at), addr, t, &s);
		if (at == 0 || jittable_reach(&j->table, at - 1) <= addr)
			break;
	}
	if (s.inner_b && s.last_b && is_inner(s.inner_b, s.inner_i, s.last_b, s.last_i))
		s.last_b = s.inner_b, s.last_i = s.inner_i;
	/* An older one that was never unloaded does not come back when its successor goes: it was overwritten. */
	if (s.last_b && t < s.last_b->rest[s.last_i].unload) {
		ret->has_live = true;
		slot_get(s.last_b, s.last_i, &ret->live);
		ret->doubtful = ret->live.unload_ns - t <= ret->live.late_ns;
	}
	if (s.next_b) {
		ret->has_next = true;
		slot_get(s.next_b, s.next_i, &ret->next);
		ret->overwritten = ret->has_live && ret->live.unload_ns > ret->next.load_ns &&
				   (ret->live.kind == JIT_METHOD || ret->next.kind == JIT_METHOD);
	}
}

/* --- pruning ------------------------------------------------------------------------------------------- */

bool jittl_wants_prune(const struct jittl *j)
{
	return j->n_dead >= j->prune_at;
}

static bool pinned(uint64_t from, uint64_t to, const uint64_t *pins, size_t n_pins)
{
	for (size_t i = 0; i < n_pins; i++)
		if (pins[i] >= from && pins[i] < to)
			return true;
	return false;
}

/* Next slot in order, over block borders. */
static bool slot_next(const struct jittl *j, size_t *at, unsigned int *i)
{
	if (++*i < block_at(j, *at)->n)
		return true;
	*i = 0;
	return ++*at < j->table.n;
}

/*
 * The latest time at which the region can still be an answer: its unload, or the load of a later version of the same
 * start that is not smaller.
 */
static uint64_t slot_end(const struct jittl *j, size_t at, unsigned int i)
{
	const struct block *b = block_at(j, at);
	uint64_t end = b->rest[i].unload;
	size_t at2 = at;
	unsigned int i2 = i;

	while (slot_next(j, &at2, &i2) && block_at(j, at2)->addr[i2] == b->addr[i]) {
		const struct block *n = block_at(j, at2);

		if (size_at(n, i2) >= size_at(b, i) && !is_inner(b, i, n, i2))
			return MIN(end, n->rest[i2].load);
	}
	return end;
}

/*
 * Whether an older region that nobody unloaded lies below this one: while it is there, this one must stay, though
 * dead, to keep the older from coming back.
 */
static bool hides_older(const struct jittl *j, size_t at, unsigned int i)
{
	const struct block *b = block_at(j, at);
	uint64_t start = b->addr[i], end = start + size_at(b, i), load = b->rest[i].load;
	size_t at2 = at;
	unsigned int i2 = i;

	for (size_t k = at;; k--) {
		const struct block *o = block_at(j, k);

		for (unsigned int n = k == at ? i : o->n; n > 0; n--) {
			if (start - o->addr[n - 1] >= o->max_size)
				break;
			if (start - o->addr[n - 1] < size_at(o, n - 1) && o->rest[n - 1].load <= load && o->rest[n - 1].unload > load)
				return true;
		}
		if (k == 0 || jittable_reach(&j->table, k - 1) <= start)
			break;
	}
	while (slot_next(j, &at2, &i2) && block_at(j, at2)->addr[i2] < end) {
		const struct block *o = block_at(j, at2);

		if (o->rest[i2].load < load && o->rest[i2].unload > load)
			return true;
	}
	return false;
}

/* Takes the dropped slots out of a block. */
static void block_compact(struct block *b, const uint8_t *drop)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < b->n; i++) {
		if (drop[i / 8] & 1u << i % 8)
			continue;
		if (n != i)
			slots_move(b, n, b, i, 1);
		n++;
	}
	b->n = (uint16_t)n;
}

/* Few blocks over many chunks: all move together, so that the chunks go back. */
static void repack(struct jittl *j)
{
	struct jitblock_pool fresh = { .bytes = sizeof(struct block) }, old = j->pool;
	size_t n = 0;

	if (jitblock_bytes(&old) / 2 < j->table.n * sizeof(struct block))
		return;
	j->pool = fresh;
	for (; n < j->table.n; n++) {
		struct block *from = block_at(j, n), *to = block_new(j);
		bool in_chunk;

		if (!to)
			break;
		in_chunk = to->in_chunk;
		*to = *from;
		to->in_chunk = in_chunk;
		j->table.blocks[n] = to;
		jitblock_put(&old, from, from->in_chunk);
	}
	jitblock_join(&j->pool, &old); /* what is left where memory ended */
}

void jittl_prune(struct jittl *j, uint64_t now_ns, const uint64_t *pins, size_t n_pins)
{
	AUTO_FREE uint8_t (*drop)[BLOCK / 8] = calloc(MAX(j->table.n, (size_t)1), sizeof(*drop));
	size_t out = 0;

	if (!drop) {
		j->prune_at *= 2; /* try again later */
		return;
	}
	jittable_close(&j->table);
	j->n_dead = 0;
	for (size_t at = 0; at < j->table.n; at++) {
		const struct block *b = block_at(j, at);

		for (unsigned int i = 0; i < b->n; i++) {
			uint64_t end = slot_end(j, at, i);

			if (end == UINT64_MAX)
				continue;
			if (end > now_ns || pinned(b->rest[i].load, end, pins, n_pins) ||
			    (b->rest[i].unload == end && hides_older(j, at, i)))
				j->n_dead++;
			else
				drop[at][i / 8] |= (uint8_t)(1u << i % 8);
		}
	}
	for (size_t at = 0; at < j->table.n; at++) {
		struct block *b = block_at(j, at), *prev = out ? block_at(j, out - 1) : NULL;
		unsigned int before = b->n;

		block_compact(b, drop[at]);
		j->n -= before - b->n;
		j->n_pruned += before - b->n;
		/* Small neighbours are joined, so that memory follows what lives. */
		if (prev && prev->n + b->n <= BLOCK * 3 / 4) {
			slots_move(prev, prev->n, b, 0, b->n);
			prev->n = (uint16_t)(prev->n + b->n);
			block_free(j, b);
		} else if (b->n == 0) {
			block_free(j, b);
		} else {
			j->table.blocks[out++] = b;
		}
	}
	jittable_cut(&j->table, out);
	j->near = 0;
	repack(j);
	for (size_t at = 0; at < out; at++)
		table_fix(j, at);
	j->prune_at = 2 * j->n_dead + j->n / 4 + 1024;
}

void jittl_stats(const struct jittl *j, struct jittl_stats *ret)
{
	*ret = (struct jittl_stats){
		.n_regions = j->n, .n_loads = j->n_loads, .n_bad = j->n_bad, .n_pruned = j->n_pruned,
		.bytes = sizeof(*j) + jitblock_bytes(&j->pool) +
			 j->table.room * (2 * sizeof(uint64_t) + sizeof(struct block *)),
	};
}
