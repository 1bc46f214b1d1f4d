/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Gathering: counts are added up in one open-addressing table until a flush writes them (flush.c). The table holds only
 * what came since the last flush; a flush merges it with the files of the generation before, so memory is bounded
 * by what is new between two flushes.
 */
#include "session/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "lib/io.h"
#include "session/gen.h"
#include "session/path.h"
#include "session/read.h"

#define FIRST_CELLS 4096u
#define KEEP_CELLS ((size_t)1 << 21)   /* a larger table is given back after a flush */

/* Look-ups go all over a large table: in huge pages, where there are any, they miss the TLB far less. */
#define HUGE_BYTES ((size_t)2 << 20)
static struct store_cell *cells_new(size_t n)
{
	size_t bytes = n * sizeof(struct store_cell);
	struct store_cell *cells = NULL;

	if (bytes < HUGE_BYTES)
		return calloc(n, sizeof(*cells));
	if (posix_memalign((void **)&cells, HUGE_BYTES, bytes))
		return NULL;
	madvise(cells, bytes, MADV_HUGEPAGE);
	memset(cells, 0, bytes);
	return cells;
}

static int table_init(struct session_store *s, size_t n)
{
	struct store_cell *cells = cells_new(n);

	if (!cells)
		return -ENOMEM;
	s->cells = cells;
	s->n_cells = n;
	s->shift = 64 - (unsigned int)__builtin_ctzll(n);
	s->used = 0;
	return 0;
}

static inline uint64_t hash_of(uint32_t file, uint64_t key)
{
	return (key + file * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);
}

static inline struct store_cell *find(struct session_store *s, uint32_t file, uint64_t key)
{
	size_t i = hash_of(file, key) >> s->shift;

	for (;; i = (i + 1) & (s->n_cells - 1)) {
		struct store_cell *c = &s->cells[i];
		if (!c->count || (c->key == key && c->file == file))
			return c;
	}
}

static int grow(struct session_store *s)
{
	struct store_cell *old = s->cells;
	size_t n = s->n_cells, used = s->used;
	int r = table_init(s, n * 2);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (old[i].count)
			*find(s, old[i].file, old[i].key) = old[i];
	s->used = used;
	free(old);
	return 0;
}

static int add_extra(struct session_store *s, uint32_t file, uint64_t key, uint64_t count)
{
	if (s->n_extra == s->extra_room) {
		size_t room = s->extra_room ? s->extra_room * 2 : 64;
		struct store_record *e = realloc(s->extra, room * sizeof(*e));
		if (!e)
			return -ENOMEM;
		s->extra = e;
		s->extra_room = room;
	}
	s->extra[s->n_extra++] = (struct store_record){ .file = file, .key = key, .count = count };
	return 0;
}

/* A new key, or a full cell. */
static __attribute__((noinline)) int add_slow(struct session_store *s, uint32_t file, uint64_t key, uint64_t count)
{
	struct store_cell *c;
	int r;

	c = find(s, file, key);
	if (!c->count) {
		if (s->used >= s->n_cells / 2) {
			r = grow(s);
			if (r < 0)
				return r;
			c = find(s, file, key);
		}
		s->used++;
		c->key = key;
		c->file = file;
		c->count = (uint32_t)MIN(count, (uint64_t)UINT32_MAX);
		count -= c->count;
		return count ? add_extra(s, file, key, count) : 0;
	}
	if (count <= UINT32_MAX - c->count) {
		c->count += (uint32_t)count;
		return 0;
	}
	/* What a cell has gathered goes aside and it starts afresh with 1 of it, since 0 would mean free. */
	r = add_extra(s, file, key, opdb_add(c->count - 1u, count));
	if (!r)
		c->count = 1;
	return r;
}

static inline int apply(struct session_store *s, const struct store_pending *p)
{
	size_t mask = s->n_cells - 1;

	/* The usual case, without a call: a key that is there. */
	for (size_t i = p->hash >> s->shift;; i = (i + 1) & mask) {
		struct store_cell *c = &s->cells[i];
		uint32_t have = c->count;
		if (!have)
			break;
		if (c->key == p->key && c->file == p->file) {
			if (p->count > UINT32_MAX - have)
				break;
			c->count = have + (uint32_t)p->count;
			return 0;
		}
	}
	return add_slow(s, p->file, p->key, p->count);
}

/*
 * A large table lies in no cache, and a processor that waits for one cell after the other does little else. So a sample waits
 * here while its cell is on its way, and in its place the one that came STORE_PENDING before it is counted.
 */
int session_store_add(struct session_store *s, uint32_t file, uint64_t key, uint64_t count)
{
	struct store_pending *p = &s->pending[s->pending_at], old = *p;
	uint64_t hash = hash_of(file, key);

	if (file >= s->paths.n)
		return -EINVAL;
	__builtin_prefetch(&s->cells[hash >> s->shift], 1);
	*p = (struct store_pending){ key, count, hash, file };
	s->pending_at = (s->pending_at + 1) % STORE_PENDING;
	return old.count ? apply(s, &old) : 0;
}

int store_settle(struct session_store *s)
{
	for (unsigned int i = 0; i < STORE_PENDING; i++) {
		struct store_pending *p = &s->pending[s->pending_at];
		int r = p->count ? apply(s, p) : 0;
		if (r < 0)
			return r;
		p->count = 0;
		s->pending_at = (s->pending_at + 1) % STORE_PENDING;
	}
	return 0;
}

int session_store_event(struct session_store *s, uint32_t index, const struct session_event *e)
{
	size_t slot;
	int r;

	if (index >= SESSION_MAX_EVENTS)
		return -EINVAL;
	if (index >= s->n_event_map) {
		uint32_t *m = realloc(s->event_map, (index + 1) * sizeof(*m));
		if (!m)
			return -ENOMEM;
		memset(m + s->n_event_map, 0, (index + 1 - s->n_event_map) * sizeof(*m));
		s->event_map = m;
		s->n_event_map = index + 1;
	}
	/* The same event of an earlier run goes on, unless another index of this run has it. */
	for (slot = 0; slot < s->info.n_events; slot++) {
		const struct session_event *have = &s->info.events[slot];
		bool taken = false;
		for (uint32_t i = 0; i < s->n_event_map; i++)
			taken |= i != index && s->event_map[i] == slot + 1;
		if (!taken && !strcmp(have->name, e->name ? e->name : "") && have->count == e->count && have->freq == e->freq &&
		    have->um == e->um && have->timer == e->timer)
			break;
	}
	if (slot == s->info.n_events) {
		r = session_info_event(&s->info, slot, e);
		if (r < 0)
			return r;
	}
	s->event_map[index] = (uint32_t)slot + 1;
	return 0;
}

int64_t session_store_file(struct session_store *s, const struct session_file *f)
{
	AUTO_STRBUF event = STRBUF_INIT, path = STRBUF_INIT;
	int r;

	if (f->event >= s->n_event_map || !s->event_map[f->event])
		return -EINVAL;
	r = session_info_event_path(&s->info, s->event_map[f->event] - 1, &event);
	if (r >= 0)
		r = session_path_make(&path, f, event.buf);
	if (r < 0)
		return r;
	return strpool_id(&s->paths, path.buf, path.len);
}

struct session_totals *session_store_totals(struct session_store *s)
{
	return &s->info.totals;
}

int session_store_note(struct session_store *s, const char *key, const char *value)
{
	return session_info_note(&s->info, key, value);
}

size_t session_store_bytes(const struct session_store *s)
{
	return s->n_cells * sizeof(*s->cells) + s->extra_room * sizeof(*s->extra) + s->paths.room +
	       s->paths.n_room * sizeof(*s->paths.offsets) + s->paths.n_slots * sizeof(*s->paths.slots) +
	       s->tree.room * sizeof(*s->tree.nodes) + s->tree.n_slots * sizeof(*s->tree.slots);
}

void store_clear(struct session_store *s)
{
	struct store_cell *old = s->cells;

	s->n_extra = 0;
	memset(s->pending, 0, sizeof(s->pending));
	store_stacks_done(&s->tree);
	if (s->n_cells > KEEP_CELLS && table_init(s, FIRST_CELLS) == 0) {
		free(old);
	} else {
		memset(s->cells, 0, s->n_cells * sizeof(*s->cells));
		s->used = 0;
	}
}

/* What `current` holds already: to be gone on with, or to become `previous`. */
static int take_up(struct session_store *s, bool append)
{
	uint64_t current;
	struct session *base;
	char *why = NULL;
	int r = gen_adopt(s->samples_fd);

	if (r >= 0)
		r = gen_of_link(s->samples_fd, "current", &current);
	if (r < 0)
		return r;
	if (!append) {
		s->old = current;
		return 0;
	}
	if (!current)
		return 0;
	r = session_open(&base, s->dir, &why);
	free(why);
	if (r < 0)
		return r;
	r = session_info_copy(&s->info, &base->info);
	session_free(base);
	s->base = current;
	return r;
}

static void store_free_ptr(struct session_store **s)
{
	session_store_free(*s);
}

int session_store_new(struct session_store **ret, const struct session_store_opts *o)
{
	AUTO(store_free_ptr) struct session_store *s = calloc(1, sizeof(*s));
	AUTO_STRBUF path = STRBUF_INIT;
	int r;

	if (!s)
		return -ENOMEM;
	s->samples_fd = -1;
	s->written.cap = SESSION_INFO_MAX;
	s->dir = strdup(o->dir);
	r = strbuf_addf(&path, "%s/samples", o->dir);
	if (!s->dir || r < 0)
		return -ENOMEM;
	r = table_init(s, FIRST_CELLS);
	if (r >= 0)
		r = io_mkdirs(path.buf, 0755);
	if (r < 0)
		return r;
	s->samples_fd = open(path.buf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->samples_fd < 0)
		return -errno;
	if (flock(s->samples_fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return -EBUSY;
	r = take_up(s, o->append);
	if (r < 0)
		return r;
	s->no_sync = o->no_sync;
	s->stacks = s->info.stacks = o->stacks || s->info.stacks;
	if (o->cpu_type) {
		free(s->info.cpu_type);
		s->info.cpu_type = strdup(o->cpu_type);
		if (!s->info.cpu_type)
			return -ENOMEM;
	}
	if (o->mhz > 0)
		s->info.mhz = o->mhz;
	*ret = TAKE_PTR(s);
	return 0;
}

void session_store_free(struct session_store *s)
{
	if (!s)
		return;
	free(s->dir);
	if (s->samples_fd >= 0)
		close(s->samples_fd);
	session_info_done(&s->info);
	free(s->event_map);
	strpool_done(&s->paths);
	free(s->cells);
	free(s->extra);
	store_stacks_done(&s->tree);
	strbuf_done(&s->written);
	free(s);
}
