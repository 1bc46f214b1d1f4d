/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A flush: what was gathered and the generation before become a new generation, committed by one rename of `current`.
 * The bytes written depend on the counts alone, not on the order in which they came: files sorted by path, keys
 * sorted, stacks sorted by caller, then file and key.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "session/gen.h"
#include "session/manage.h"
#include "session/path.h"
#include "session/read.h"
#include "session/store.h"

struct flush {
	struct session_store *s;
	struct session *base;          /* NULL = none */
	uint32_t *base_numbers;        /* index in base -> number of the file */
	uint32_t *base_of;             /* number of the file -> index in base + 1 */
	struct store_record *records;  /* sorted by file and key */
	size_t n_records;
	size_t *first;                 /* of each file's records; n_files + 1 of them */
	struct store_stacks tree;      /* base and new together */
	uint8_t *live;                 /* files that the generation has */
	uint32_t *sorted;              /* numbers of the live files by path */
	uint32_t *rank;                /* number -> place in sorted */
	uint32_t *slot;                /* number -> entry of `names` */
	uint32_t n_files, n_live;
	struct ophd_builder names;
	struct gen_writer out;
};

static void flush_done(struct flush *f)
{
	session_free(f->base);
	free(f->base_numbers);
	free(f->base_of);
	free(f->records);
	free(f->first);
	store_stacks_done(&f->tree);
	free(f->live);
	free(f->sorted);
	free(f->rank);
	free(f->slot);
	ophd_builder_done(&f->names);
	gen_writer_done(&f->out);
}

/* --- what there is ------------------------------------------------------------------------------------- */
int store_collect(const struct session_store *s, struct store_record **ret, size_t *n)
{
	struct store_record *r = malloc((s->used + s->n_extra + 1) * sizeof(*r));
	size_t k = 0;

	if (!r)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_cells; i++)
		if (s->cells[i].count)
			r[k++] = (struct store_record){ .key = s->cells[i].key, .file = s->cells[i].file, .count = s->cells[i].count };
	if (s->n_extra)
		memcpy(r + k, s->extra, s->n_extra * sizeof(*r));
	*ret = r;
	*n = k + s->n_extra;
	return 0;
}

/* Byte `at` (0 … 7 of the key, 8 … 11 of the file) of a record. */
static inline unsigned int digit(const struct store_record *r, unsigned int at)
{
	return (at < 8 ? (unsigned int)(r->key >> 8 * at) : r->file >> 8 * (at - 8)) & 255;
}

static void radix_pass(const struct store_record *from, struct store_record *to, size_t n, unsigned int at)
{
	size_t start[256] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		start[digit(&from[i], at)]++;
	for (size_t i = 0; i < 256; i++) {
		size_t c = start[i];
		start[i] = sum;
		sum += c;
	}
	for (size_t i = 0; i < n; i++)
		to[start[digit(&from[i], at)]++] = from[i];
}

int store_sort(struct store_record **records, size_t *n)
{
	struct store_record *a = *records, *b = malloc((*n + 1) * sizeof(*b)), differ = { 0 };
	size_t out = 0;

	if (!b)
		return -ENOMEM;
	for (size_t i = 1; i < *n; i++) {
		differ.key |= a[i].key ^ a[0].key;
		differ.file |= a[i].file ^ a[0].file;
	}
	for (unsigned int at = 0; at < 12; at++)
		if (digit(&differ, at)) {
			struct store_record *t = a;
			radix_pass(a, b, *n, at);
			a = b;
			b = t;
		}
	free(b);
	for (size_t i = 0; i < *n; i++) {
		if (out && a[out - 1].key == a[i].key && a[out - 1].file == a[i].file)
			a[out - 1].count = opdb_add(a[out - 1].count, a[i].count);
		else
			a[out++] = a[i];
	}
	*records = a;
	*n = out;
	return 0;
}

static int open_base(struct flush *f)
{
	struct session_store *s = f->s;
	char *why = NULL, name[GEN_NAME_MAX];
	int r;

	if (!s->base)
		return 0;
	gen_name(name, s->base);
	r = session_open_named(&f->base, s->dir, name, &why);
	free(why);
	if (r < 0)
		return r;
	f->base_numbers = calloc(f->base->n_entries + 1, sizeof(*f->base_numbers));
	if (!f->base_numbers)
		return -ENOMEM;
	for (size_t i = 0; i < f->base->n_entries; i++) {
		const char *path = f->base->entries[i].path;
		int64_t number = strpool_id(&s->paths, path, strlen(path));
		if (number < 0)
			return (int)number;
		f->base_numbers[i] = (uint32_t)number;
	}
	return 0;
}

struct to_tree {
	struct flush *f;
	uint32_t *node_of; /* slot of the base's stacks -> node */
	uint32_t room;
};

static int base_node(void *arg, uint32_t slot, uint32_t parent, size_t file, uint64_t key, uint64_t count)
{
	struct to_tree *t = arg;
	int64_t node;

	if (slot >= t->room) {
		uint32_t room = MAX(slot + 1, t->room * 2), *more = realloc(t->node_of, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + t->room, 0, (room - t->room) * sizeof(*more));
		t->node_of = more;
		t->room = room;
	}
	node = store_stacks_node(&t->f->tree, parent ? t->node_of[parent] : 0, t->f->base_numbers[file], key);
	if (node < 0)
		return (int)node;
	t->node_of[slot] = (uint32_t)node;
	t->f->tree.nodes[node].count = opdb_add(t->f->tree.nodes[node].count, count);
	return 0;
}

/* The tree of base and new together; the store's own stays as it is, for the case that this flush fails. */
static int join_stacks(struct flush *f)
{
	const struct store_stacks *mine = &f->s->tree;
	struct to_tree t = { .f = f };
	AUTO_FREE uint32_t *map = calloc(mine->n + 1, sizeof(*map));
	int r = map ? 0 : -ENOMEM;

	if (r >= 0 && f->base)
		r = session_nodes_each(f->base, base_node, &t);
	free(t.node_of);
	for (uint32_t i = 1; i <= mine->n && r >= 0; i++) {
		const struct store_node *x = &mine->nodes[i];
		int64_t node = store_stacks_node(&f->tree, map[x->parent], x->file, x->key);
		if (node < 0)
			return (int)node;
		map[i] = (uint32_t)node;
		f->tree.nodes[node].count = opdb_add(f->tree.nodes[node].count, x->count);
	}
	return r;
}

/* Marks nodes with a count below them (in `keep`) and the files that they and the records name. */
static int find_live(struct flush *f, uint8_t *keep)
{
	for (uint32_t i = f->tree.n; i > 0; i--) {
		const struct store_node *x = &f->tree.nodes[i];
		keep[i] |= x->count != 0;
		keep[x->parent] |= keep[i];
		if (keep[i])
			f->live[x->file] = 1;
	}
	for (size_t i = 0; i < f->n_records; i++)
		f->live[f->records[i].file] = 1;
	for (size_t i = 0; f->base && i < f->base->n_entries; i++) {
		f->live[f->base_numbers[i]] = 1;
		f->base_of[f->base_numbers[i]] = (uint32_t)i + 1;
	}
	for (uint32_t i = 0; i < f->n_files; i++)
		f->n_live += f->live[i];
	return 0;
}

/* --- names --------------------------------------------------------------------------------------------- */
static int by_path(const void *a, const void *b, void *arg)
{
	const struct strpool *p = arg;

	return strcmp(strpool_str(p, *(const uint32_t *)a), strpool_str(p, *(const uint32_t *)b));
}

/* Components that all live paths have together: of each, those not shared with the one before. */
static uint32_t count_components(const struct flush *f)
{
	const char *before = "";
	uint64_t n = 0;

	for (uint32_t i = 0; i < f->n_live; i++) {
		const char *path = strpool_str(&f->s->paths, f->sorted[i]);
		size_t same = 0, k;
		for (k = 0; path[k] && path[k] == before[k]; k++)
			if (path[k] == '/')
				same = k;
		for (k = same; path[k]; k++)
			n += path[k] == '/';
		before = path;
	}
	return (uint32_t)MIN(n, (uint64_t)UINT32_MAX / 4);
}

static int make_names(struct flush *f)
{
	uint32_t k = 0;
	int r;

	for (uint32_t i = 0; i < f->n_files; i++)
		if (f->live[i])
			f->sorted[k++] = i;
	qsort_r(f->sorted, f->n_live, sizeof(*f->sorted), by_path, &f->s->paths);
	r = ophd_builder_init(&f->names, ophd_size_for(count_components(f)), true);
	for (uint32_t i = 0; i < f->n_live && r >= 0; i++) {
		int64_t slot = ophd_builder_add_path(&f->names, strpool_str(&f->s->paths, f->sorted[i]));
		if (slot < 0)
			return (int)slot;
		f->rank[f->sorted[i]] = i;
		f->slot[f->sorted[i]] = (uint32_t)slot;
	}
	return r;
}

static int write_names(struct flush *f)
{
	AUTO_STRBUF out = STRBUF_INIT_CAP(SESSION_READ_MAX);
	int r = ophd_builder_write(&f->names, NULL, &out);

	return r < 0 ? r : gen_write(&f->out, "names", out.buf, out.len);
}

/* --- sample files -------------------------------------------------------------------------------------- */
struct merge {
	struct opdb_pair *out;
	size_t n, room;
	const struct store_record *next, *end;
};

static int merge_put(struct merge *m, uint64_t key, uint64_t value)
{
	if (m->n == m->room) {
		size_t room = m->room ? m->room * 2 : 1024;
		struct opdb_pair *more = realloc(m->out, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		m->out = more;
		m->room = room;
	}
	m->out[m->n++] = (struct opdb_pair){ key, value };
	return 0;
}

static int merge_base(void *arg, uint64_t key, uint64_t value)
{
	struct merge *m = arg;
	int r = 0;

	for (; m->next < m->end && m->next->key < key && r >= 0; m->next++)
		r = merge_put(m, m->next->key, m->next->count);
	if (m->next < m->end && m->next->key == key)
		value = opdb_add(value, (m->next++)->count);
	return r < 0 ? r : merge_put(m, key, value);
}

static int write_file(struct flush *f, uint32_t number, struct merge *m, struct strbuf *out)
{
	AUTO_STRBUF where = STRBUF_INIT, from = STRBUF_INIT;
	uint32_t base = f->base_of[number];
	const char *path = strpool_str(&f->s->paths, number);
	int r = session_path_location(&where, path, f->slot[number]);

	m->n = 0;
	m->next = f->records + f->first[number];
	m->end = f->records + f->first[number + 1];
	if (r >= 0 && base && m->next == m->end) {
		r = session_path_location(&from, path, f->base->entries[base - 1].slot);
		return r < 0 ? r : gen_link(&f->out, where.buf, f->base->fd, from.buf);
	}
	if (r >= 0 && base)
		r = session_file_each(f->base, base - 1, merge_base, m);
	for (; m->next < m->end && r >= 0; m->next++)
		r = merge_put(m, m->next->key, m->next->count);
	strbuf_reset(out);
	if (r >= 0)
		r = opdb_build(m->out, m->n, NULL, 0, out, NULL);
	return r < 0 ? r : gen_write(&f->out, where.buf, out->buf, out->len);
}

static int write_files(struct flush *f)
{
	AUTO_STRBUF out = STRBUF_INIT_CAP(SESSION_READ_MAX);
	struct merge m = { 0 };
	int r = 0;

	for (size_t i = 0, k = 0; i <= f->n_files; i++) {
		while (k < f->n_records && f->records[k].file < i)
			k++;
		f->first[i] = k;
	}
	for (uint32_t i = 0; i < f->n_live && r >= 0; i++)
		r = write_file(f, f->sorted[i], &m, &out);
	free(m.out);
	return r;
}

/* --- stacks -------------------------------------------------------------------------------------------- */
static int by_caller(const void *a, const void *b, void *arg)
{
	const struct flush *f = arg;
	const struct store_node *x = &f->tree.nodes[*(const uint32_t *)a], *y = &f->tree.nodes[*(const uint32_t *)b];

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (f->rank[x->file] != f->rank[y->file])
		return f->rank[x->file] < f->rank[y->file] ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

/* The kept nodes, each one's children together and in order; children[i] is the place of the first child of i. */
static uint32_t order_nodes(struct flush *f, const uint8_t *keep, uint32_t *order, uint32_t *children)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i <= f->tree.n; i++)
		if (keep[i])
			order[n++] = i;
	qsort_r(order, n, sizeof(*order), by_caller, f);
	for (uint32_t i = n; i-- > 0;)
		children[f->tree.nodes[order[i]].parent] = i;
	return n;
}

static int add_frame(struct flush *f, struct ophd_builder *b, uint32_t node, uint32_t *slots)
{
	const struct store_node *x = &f->tree.nodes[node];
	char name[48];
	int len = snprintf(name, sizeof(name), "%" PRIu32 ":%" PRIx64, f->slot[x->file], x->key);
	int64_t slot = ophd_builder_add(b, slots[x->parent], name, (size_t)len);

	if (slot < 0)
		return (int)slot;
	slots[node] = (uint32_t)slot;
	return 0;
}

/* Level by level from the root: a caller's place is canonical before its callees are placed. */
static int place_frames(struct flush *f, struct ophd_builder *b, const uint32_t *order, const uint32_t *children, uint32_t n,
			uint32_t *slots)
{
	AUTO_FREE uint32_t *queue = malloc((n + 1) * sizeof(*queue));
	uint32_t head = 0, tail = 1;

	if (!queue)
		return -ENOMEM;
	queue[0] = 0;
	while (head < tail) {
		uint32_t parent = queue[head++];
		for (uint32_t k = children[parent]; k < n && f->tree.nodes[order[k]].parent == parent; k++) {
			int r = add_frame(f, b, order[k], slots);
			if (r < 0)
				return r;
			queue[tail++] = order[k];
		}
	}
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct opdb_pair *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static int write_stack_counts(struct flush *f, const uint32_t *order, uint32_t n, const uint32_t *slots)
{
	AUTO_FREE struct opdb_pair *pairs = malloc((n + 1) * sizeof(*pairs));
	AUTO_STRBUF out = STRBUF_INIT_CAP(SESSION_READ_MAX);
	size_t k = 0;
	int r;

	if (!pairs)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (f->tree.nodes[order[i]].count)
			pairs[k++] = (struct opdb_pair){ slots[order[i]], f->tree.nodes[order[i]].count };
	qsort(pairs, k, sizeof(*pairs), by_key);
	r = opdb_build(pairs, k, NULL, 0, &out, NULL);
	return r < 0 ? r : gen_write(&f->out, "stacks.db", out.buf, out.len);
}

static int write_stacks(struct flush *f, const uint8_t *keep)
{
	AUTO(ophd_builder_done) struct ophd_builder b = { 0 };
	AUTO_STRBUF out = STRBUF_INIT_CAP(SESSION_READ_MAX);
	size_t room = f->tree.n + 1;
	AUTO_FREE uint32_t *order = malloc(room * sizeof(*order));
	AUTO_FREE uint32_t *children = malloc(room * sizeof(*children));
	AUTO_FREE uint32_t *slots = calloc(room, sizeof(*slots));
	uint32_t n;
	int r;

	if (!order || !children || !slots)
		return -ENOMEM;
	memset(children, 0xff, room * sizeof(*children));
	n = order_nodes(f, keep, order, children);
	r = ophd_builder_init(&b, ophd_size_for(n), true);
	if (r >= 0)
		r = place_frames(f, &b, order, children, n, slots);
	if (r >= 0)
		r = ophd_builder_write(&b, NULL, &out);
	if (r >= 0)
		r = gen_write(&f->out, "stacks", out.buf, out.len);
	return r < 0 ? r : write_stack_counts(f, order, n, slots);
}

/* --- all together -------------------------------------------------------------------------------------- */
static int prepare(struct flush *f, uint8_t **keep)
{
	int r = open_base(f);

	if (r >= 0)
		r = join_stacks(f);
	if (r < 0)
		return r;
	f->n_files = f->s->paths.n;
	f->live = calloc(f->n_files + 1, 1);
	f->sorted = calloc(f->n_files + 1, sizeof(*f->sorted));
	f->rank = calloc(f->n_files + 1, sizeof(*f->rank));
	f->slot = calloc(f->n_files + 1, sizeof(*f->slot));
	f->base_of = calloc(f->n_files + 1, sizeof(*f->base_of));
	f->first = calloc(f->n_files + 2, sizeof(*f->first));
	*keep = calloc(f->tree.n + 1, 1);
	if (!f->live || !f->sorted || !f->rank || !f->slot || !f->base_of || !f->first || !*keep)
		return -ENOMEM;
	r = store_collect(f->s, &f->records, &f->n_records);
	if (r >= 0)
		r = store_sort(&f->records, &f->n_records);
	if (r >= 0)
		r = find_live(f, *keep);
	return r < 0 ? r : make_names(f);
}

static int write_generation(struct flush *f, uint64_t n, const struct strbuf *info)
{
	AUTO_FREE uint8_t *keep = NULL;
	int r = prepare(f, &keep);

	if (r >= 0)
		r = gen_writer_init(&f->out, f->s->samples_fd, n, f->s->no_sync);
	if (r >= 0)
		r = write_names(f);
	if (r >= 0)
		r = write_files(f);
	if (r >= 0 && f->s->stacks)
		r = write_stacks(f, keep);
	if (r >= 0)
		r = gen_write(&f->out, "info", info->buf, info->len);
	return r < 0 ? r : gen_sync(&f->out);
}

static int commit(struct session_store *s, uint64_t n)
{
	int r = gen_point(s->samples_fd, "current", n);

	if (r < 0)
		return r;
	if (!s->no_sync && fsync(s->samples_fd) < 0)
		return -errno;
	if (s->old) {
		AUTO(strpool_done) struct strpool dropped = { 0 };
		(void)images_of(s->dir, "previous", &dropped);
		if (gen_point(s->samples_fd, "previous", s->old) >= 0)
			s->old = 0;
		gen_sweep(s->samples_fd, NULL, NULL);
		(void)images_drop(s->dir, s->samples_fd, &dropped);
		return 0;
	}
	gen_sweep(s->samples_fd, NULL, NULL);
	return 0;
}

int session_store_flush(struct session_store *s)
{
	AUTO(flush_done) struct flush f = { .s = s, .out.fd = -1 };
	AUTO_STRBUF info = STRBUF_INIT_CAP(SESSION_INFO_MAX);
	char name[GEN_NAME_MAX];
	uint64_t n;
	int r = session_info_write(&s->info, &info);

	if (r >= 0)
		r = store_settle(s);
	if (r < 0)
		return r;
	/* Nothing new since the last flush of this run: `current` stands. */
	if (s->written.len && !s->used && !s->tree.n && s->written.len == info.len && !memcmp(s->written.buf, info.buf, info.len))
		return 0;
	r = gen_last(s->samples_fd, &n);
	if (r < 0)
		return r;
	n++;
	r = write_generation(&f, n, &info);
	if (r >= 0)
		r = commit(s, n);
	if (r < 0) {
		uint64_t now;
		gen_name(name, n);
		/* A rename that happened counts, also if the wait for the disk failed. */
		if (gen_of_link(s->samples_fd, "current", &now) < 0 || now != n) {
			(void)gen_remove(s->samples_fd, name, NULL, NULL);
			return r;
		}
	}
	s->base = n;
	store_clear(s);
	strbuf_reset(&s->written);
	(void)strbuf_add(&s->written, info.buf, info.len);
	return r;
}
