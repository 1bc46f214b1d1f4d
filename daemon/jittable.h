/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_DAEMON_JITTABLE_H
#define OPJIT_DAEMON_JITTABLE_H
/*
 * The table of one timeline's blocks, in order of address. The arrays have a gap where the last block came in: blocks come in runs
 * (a JIT fills one page of its code heap, then another somewhere else), and within a run nothing has to move. An entry's
 * number counts without the gap; jittable_slot says where it lies.
 */
#include "lib/util.h"

struct block;

struct jittable {
	uint64_t *first;       /* address of each block's first region */
	uint64_t *reach;       /* highest end in this block and all before it */
	struct block **blocks;
	size_t n, room, gap;   /* entries from number `gap` on lie at the end of the room */
};

static inline size_t jittable_slot(const struct jittable *t, size_t at) { return at < t->gap ? at : at + (t->room - t->n); }
static inline uint64_t jittable_first(const struct jittable *t, size_t at) { return t->first[jittable_slot(t, at)]; }
static inline uint64_t jittable_reach(const struct jittable *t, size_t at) { return t->reach[jittable_slot(t, at)]; }
static inline struct block *jittable_block(const struct jittable *t, size_t at) { return t->blocks[jittable_slot(t, at)]; }

/* The last block whose first address is ≤ addr; t->n if there is none. */
static inline size_t jittable_find(const struct jittable *t, uint64_t addr)
{
	size_t n = t->gap, from = 0;
	const uint64_t *base = t->first;

	if (t->gap < t->n && (t->gap == 0 || base[t->room - t->n + t->gap] <= addr)) {
		from = t->gap;
		n = t->n - t->gap;
		base += t->room - n;
	}
	if (!n || addr < base[0])
		return t->n;
	for (const uint64_t *start = base;;) {
		size_t half = n / 2;

		if (n <= 1)
			return from + (size_t)(base - start);
		base = base[half] <= addr ? base + half : base;
		n -= half;
	}
}

/* A block that becomes number `at`. 0 or -ENOMEM. */
int jittable_insert(struct jittable *t, size_t at, struct block *b, uint64_t first, uint64_t reach);
/* No gap in front of the last entry. */
void jittable_close(struct jittable *t);
/* Of a table without a gap the first n entries stay, and the room follows. */
void jittable_cut(struct jittable *t, size_t n);
void jittable_done(struct jittable *t);

#endif
