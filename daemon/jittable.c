/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "daemon/jittable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void entries_move(struct jittable *t, size_t to, size_t from, size_t n)
{
	memmove(t->first + to, t->first + from, n * sizeof(*t->first));
	memmove(t->reach + to, t->reach + from, n * sizeof(*t->reach));
	memmove(t->blocks + to, t->blocks + from, n * sizeof(struct block *));
}

static void gap_move(struct jittable *t, size_t at)
{
	size_t wide = t->room - t->n;

	if (at == t->gap)
		return;
	if (at < t->gap)
		entries_move(t, at + wide, at, t->gap - at);
	else
		entries_move(t, t->gap, t->gap + wide, at - t->gap);
	t->gap = at;
}

void jittable_close(struct jittable *t) { gap_move(t, t->n); }

/* Of a table without a gap. What all three arrays have holds, also where one cannot be had. */
static int resize(struct jittable *t, size_t room)
{
	void *p;

	t->room = MIN(t->room, room);
	if (!(p = realloc(t->first, room * sizeof(*t->first))))
		return -ENOMEM;
	t->first = p;
	if (!(p = realloc(t->reach, room * sizeof(*t->reach))))
		return -ENOMEM;
	t->reach = p;
	if (!(p = realloc(t->blocks, room * sizeof(struct block *))))
		return -ENOMEM;
	t->blocks = p;
	t->room = room;
	return 0;
}

int jittable_insert(struct jittable *t, size_t at, struct block *b, uint64_t first, uint64_t reach)
{
	int r;

	if (t->n == t->room) {
		jittable_close(t);
		r = resize(t, t->room ? t->room * 2 : 8);
		if (r < 0)
			return r;
	}
	gap_move(t, at);
	t->first[at] = first;
	t->reach[at] = reach;
	t->blocks[at] = b;
	t->gap++;
	t->n++;
	return 0;
}

void jittable_cut(struct jittable *t, size_t n)
{
	t->n = t->gap = n;
	if (n <= t->room / 4)
		resize(t, MAX(n * 2, (size_t)8));
}

void jittable_done(struct jittable *t)
{
	free(t->first);
	free(t->reach);
	free(t->blocks);
}
