/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "daemon/maps.h"

#include <errno.h>
#include <string.h>

struct maps {
	uint32_t refs;
	size_t n, room;
	struct map *v;
};

struct maps *maps_share(struct maps *m)
{
	if (m)
		m->refs++;
	return m;
}

void maps_drop(struct maps *m)
{
	if (!m || --m->refs > 0)
		return;
	free(m->v);
	free(m);
}

size_t maps_count(const struct maps *m) { return m ? m->n : 0; }
const struct map *maps_at(const struct maps *m, size_t i) { return &m->v[i]; }

/* First mapping that ends after addr. */
static size_t maps_lower(const struct maps *m, uint64_t addr)
{
	size_t lo = 0, hi = m ? m->n : 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->v[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct map *maps_find(const struct maps *m, uint64_t addr)
{
	size_t i = maps_lower(m, addr);

	return m && i < m->n && m->v[i].start <= addr ? &m->v[i] : NULL;
}

void maps_prefetch(const struct maps *m)
{
	if (m)
		for (size_t i = 0; i < MIN(m->n * sizeof(*m->v), (size_t)512); i += 64)
			__builtin_prefetch((const char *)m->v + i);
}

/* Makes *m our own, with room for two more. */
static int maps_own(struct maps **m)
{
	struct maps *o = *m, *n = o;

	if (!o || o->refs > 1) {
		if (!(n = calloc(1, sizeof(*n))))
			return -ENOMEM;
		n->refs = 1;
		n->n = o ? o->n : 0;
		n->room = n->n + 8;
		if (!(n->v = malloc(n->room * sizeof(*n->v)))) {
			free(n);
			return -ENOMEM;
		}
		if (n->n)
			memcpy(n->v, o->v, n->n * sizeof(*n->v));
		if (o)
			o->refs--;
		*m = n;
	}
	if (n->room < n->n + 2) {
		size_t room = n->room * 2 + 2;
		void *p = realloc(n->v, room * sizeof(*n->v));

		if (!p)
			return -ENOMEM;
		n->v = p;
		n->room = room;
	}
	return 0;
}

int maps_del(struct maps **mp, uint64_t start, uint64_t end)
{
	struct maps *m;
	size_t i, k;
	int r;

	if (start >= end)
		return -EINVAL;
	i = maps_lower(*mp, start);
	if (i >= maps_count(*mp) || (*mp)->v[i].start >= end)
		return 0;
	if ((r = maps_own(mp)) < 0)
		return r;
	m = *mp;
	if (m->v[i].start < start) {
		if (m->v[i].end > end) { /* a hole in the middle */
			memmove(&m->v[i + 1], &m->v[i], (m->n - i) * sizeof(*m->v));
			m->n++;
			m->v[i].end = start;
			m->v[i + 1].pgoff += end - m->v[i + 1].start;
			m->v[i + 1].start = end;
			return 0;
		}
		m->v[i++].end = start;
	}
	for (k = i; k < m->n && m->v[k].end <= end; k++)
		;
	if (k < m->n && m->v[k].start < end) {
		m->v[k].pgoff += end - m->v[k].start;
		m->v[k].start = end;
	}
	memmove(&m->v[i], &m->v[k], (m->n - k) * sizeof(*m->v));
	m->n -= k - i;
	return 0;
}

int maps_add(struct maps **mp, const struct map *what)
{
	struct maps *m;
	size_t i;
	int r;

	if ((r = maps_del(mp, what->start, what->end)) < 0)
		return r;
	if (maps_count(*mp) >= MAPS_MAX)
		return -E2BIG;
	if ((r = maps_own(mp)) < 0)
		return r;
	m = *mp;
	i = maps_lower(m, what->start);
	memmove(&m->v[i + 1], &m->v[i], (m->n - i) * sizeof(*m->v));
	m->v[i] = *what;
	m->n++;
	return 0;
}

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

enum map_kind map_kind_of(const char *path)
{
	size_t len = strlen(path);
	static const char deleted[] = " (deleted)";

	if (!len || starts(path, "//anon") || starts(path, "[heap]") || starts(path, "[stack") || starts(path, "[anon"))
		return MAP_KIND_ANON;
	if (path[0] == '[')
		return MAP_KIND_SPECIAL;
	if (starts(path, "/memfd:") || starts(path, "/dev/zero") || starts(path, "/SYSV") || starts(path, "/anon_hugepage") ||
	    starts(path, "/dev/hugepages") || starts(path, "anon_inode:") || starts(path, "/dev/shm/") || path[0] != '/')
		return MAP_KIND_JIT;
	/* A file without a name may be somebody's double mapping as well as a replaced library. */
	if (len >= sizeof(deleted) && !strcmp(path + len - (sizeof(deleted) - 1), deleted))
		return MAP_KIND_JIT;
	return MAP_KIND_FILE;
}

const char *map_anon_name(const char *path)
{
	return starts(path, "[heap]") ? "[heap]" : starts(path, "[stack") ? "[stack]" : "anon";
}
