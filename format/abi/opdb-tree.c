/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The B-tree that grows in place. An addition first walks down, noting the way; knows then how many pages it will split,
 * makes room for them, and only then writes. So an error leaves the tree as it was, and no pointer into the bytes is kept
 * over a growth, which may move them.
 */
#include "format/abi/opdb.h"

#include <assert.h>
#include <errno.h>

struct step {
	uint64_t page;
	uint32_t n;      /* occupation */
	uint32_t pos;    /* where the key is or goes */
};

static uint8_t *page_at(const struct opdb_tree *t, uint64_t page)
{
	return t->data + t->pages_at + page * t->page_bytes;
}

/* The words of a page: 0 occupation, 1 left page, 2 + 3i right page, 3 + 3i value, 4 + 3i key. */
static int word_get(const struct opdb_tree *t, uint64_t page, size_t word, uint64_t *v)
{
	return abi_word_num(&t->fmt, page_at(t, page) + word * t->fmt.width, v) < 0 ? -EBADMSG : 0;
}
/* For values that were checked to fit before. */
static void word_put(const struct opdb_tree *t, uint64_t page, size_t word, uint64_t v)
{
	int r = abi_word_put(&t->fmt, page_at(t, page) + word * t->fmt.width, v);
	assert(r == 0);
	(void)r;
}
static void head_put(const struct opdb_tree *t, unsigned int word, uint64_t v)
{
	int r = abi_word_put(&t->fmt, t->data + abi_prefix_len(&t->fmt) + (size_t)word * t->fmt.width, v);
	assert(r == 0);
	(void)r;
}

struct opdb opdb_tree_view(const struct opdb_tree *t)
{
	return (struct opdb){ .fmt = t->fmt, .data = t->data, .len = t->len, .pages_at = t->pages_at,
			      .page_bytes = t->page_bytes, .total = t->total, .used = t->used, .root = t->root,
			      .page_entries = t->page_entries };
}

static int resize(struct opdb_tree *t, uint64_t total)
{
	size_t len;
	int r;

	if (total > abi_max(&t->fmt))
		return -ERANGE;
	if (__builtin_mul_overflow(total, t->page_bytes, &len) || __builtin_add_overflow(len, t->pages_at, &len))
		return -E2BIG;
	r = t->grow(t->arg, len, &t->data);
	if (r < 0)
		return r;
	t->len = len;
	t->total = total;
	head_put(t, 0, total);
	return 0;
}

int opdb_tree_init(struct opdb_tree *t, const struct abi_format *fmt, uint32_t page_entries, uint64_t total)
{
	size_t len;
	int r;

	if (page_entries < 2 || page_entries > OPDB_MAX_ENTRIES || !total || !t->grow)
		return -EINVAL;
	t->fmt = *fmt;
	t->fmt.kind = ABI_OPDB;
	t->page_entries = page_entries;
	t->pages_at = abi_prefix_len(fmt) + OPDB_HEAD_WORDS * (size_t)fmt->width;
	t->page_bytes = (3 * (size_t)page_entries + 2) * fmt->width;
	if (page_entries > abi_max(fmt) || total > abi_max(fmt))
		return -ERANGE;
	if (__builtin_mul_overflow(total, t->page_bytes, &len) || __builtin_add_overflow(len, t->pages_at, &len))
		return -E2BIG;
	r = t->grow(t->arg, len, &t->data);
	if (r < 0)
		return r;
	t->len = len;
	t->total = total;
	t->used = 1;
	t->root = 0;
	abi_prefix_write(&t->fmt, t->data);
	head_put(t, 0, total);
	head_put(t, 1, 1);
	head_put(t, 2, 0);
	head_put(t, 3, page_entries);
	return 0;
}

int opdb_tree_attach(struct opdb_tree *t, uint8_t *data, size_t len, struct abi_fault *fault)
{
	struct opdb db;
	int r = opdb_read(&db, data, len, fault);

	if (r >= 0)
		r = opdb_check(&db, NULL, fault);
	if (r < 0)
		return r;
	if (db.page_entries < 2 || db.page_entries > OPDB_MAX_ENTRIES)
		return -EINVAL;
	t->fmt = db.fmt;
	t->data = data;
	t->len = len;
	t->pages_at = db.pages_at;
	t->page_bytes = db.page_bytes;
	t->total = db.total;
	t->used = db.used;
	t->root = db.root;
	t->page_entries = (uint32_t)db.page_entries;
	return 0;
}

/* Position of the first key ≥ key. 1 = that key, 0 = its place, -EBADMSG. */
static int find_in_page(const struct opdb_tree *t, struct step *s, uint64_t key)
{
	uint32_t lo = 0, hi = s->n;
	uint64_t k;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (word_get(t, s->page, 4 + 3 * (size_t)mid, &k) < 0)
			return -EBADMSG;
		if (k == key) {
			s->pos = mid;
			return 1;
		}
		if (k < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	s->pos = lo;
	return 0;
}

/* The way from the root to the page that has the key (1) or the leaf it goes into (0). */
static int walk_down(const struct opdb_tree *t, uint64_t key, struct step path[OPDB_MAX_DEPTH], unsigned int *depth)
{
	uint64_t page = t->root;
	int r = 0;

	for (*depth = 0; page; ++*depth) {
		struct step *s = &path[*depth];
		uint64_t n;
		if (*depth == OPDB_MAX_DEPTH || page >= t->used)
			return -EBADMSG;
		s->page = page;
		if (word_get(t, page, 0, &n) < 0 || n < 1 || n > t->page_entries)
			return -EBADMSG;
		s->n = (uint32_t)n;
		r = find_in_page(t, s, key);
		if (r < 0)
			return r;
		if (r == 1) {
			++*depth;
			return 1;
		}
		if (word_get(t, page, s->pos ? 2 + 3 * ((size_t)s->pos - 1) : 1, &page) < 0)
			return -EBADMSG;
	}
	return r;
}

static int add_to_value(struct opdb_tree *t, const struct step *s, uint64_t value)
{
	uint8_t *at = page_at(t, s->page) + (3 + 3 * (size_t)s->pos) * t->fmt.width;
	uint64_t have;

	if (abi_word_nil(&t->fmt, at, &have) < 0)
		return -EBADMSG;
	have = opdb_add(have, value);
	if (t->fmt.width < 8 && have >= abi_max(&t->fmt))
		have = UINT64_MAX;
	return abi_word_put_nil(&t->fmt, at, have);
}

/* Room for the pages that an insertion into a full leaf will split off. */
static int make_room(struct opdb_tree *t, const struct step *path, unsigned int depth)
{
	uint64_t need = 0, total = t->total;
	unsigned int i = depth;

	while (i > 0 && path[i - 1].n == t->page_entries) {
		need++;
		i--;
	}
	need += i == 0; /* a new root, or the first */
	if (i == 0 && depth == OPDB_MAX_DEPTH)
		return -E2BIG;
	while (t->used + need > total)
		total *= 2;
	return total == t->total ? 0 : resize(t, total);
}

static uint64_t new_page(struct opdb_tree *t)
{
	uint64_t page = t->used++;

	memset(page_at(t, page), 0, t->page_bytes);
	head_put(t, 1, t->used);
	return page;
}

/* One entry on its way up: key, value and the page right of it, as stored bytes (right, value, key). */
struct carried {
	uint8_t bytes[3 * ABI_MAX_WIDTH];
};

static void set_right(const struct opdb_tree *t, struct carried *c, uint64_t page)
{
	int r = abi_word_put(&t->fmt, c->bytes, page);
	assert(r == 0);
	(void)r;
}

static void insert_entry(struct opdb_tree *t, uint64_t page, uint32_t n, uint32_t pos, const struct carried *c)
{
	size_t w = t->fmt.width, e = 3 * w;
	uint8_t *at = page_at(t, page) + 2 * w + pos * e;

	memmove(at + e, at, (n - pos) * e);
	memcpy(at, c->bytes, e);
	word_put(t, page, 0, n + 1);
}

/*
 * A full page and one more entry: the middle of all goes up, those right of it move to a new page, whose left page is
 * what was right of the middle. *c becomes the middle, with the new page right of it.
 */
static void split_page(struct opdb_tree *t, const struct step *s, struct carried *c)
{
	size_t w = t->fmt.width, e = 3 * w;
	uint32_t p = t->page_entries, mid = p / 2, right_n = p - mid;
	uint64_t fresh = new_page(t);
	uint8_t *old = page_at(t, s->page) + 2 * w, *new = page_at(t, fresh) + 2 * w;
	struct carried up;

	if (s->pos == mid) {
		up = *c;
		memcpy(new, old + mid * e, right_n * e);
	} else if (s->pos < mid) {
		memcpy(up.bytes, old + (mid - 1) * e, e);
		memcpy(new, old + mid * e, right_n * e);
		memmove(old + (s->pos + 1) * e, old + s->pos * e, (mid - 1 - s->pos) * e);
		memcpy(old + s->pos * e, c->bytes, e);
	} else {
		uint32_t before = s->pos - mid - 1;
		memcpy(up.bytes, old + mid * e, e);
		memcpy(new, old + (mid + 1) * e, before * e);
		memcpy(new + before * e, c->bytes, e);
		memcpy(new + (before + 1) * e, old + s->pos * e, (p - s->pos) * e);
	}
	memset(old + mid * e, 0, (p - mid) * e);
	memcpy(page_at(t, fresh) + w, up.bytes, w);
	word_put(t, s->page, 0, mid);
	word_put(t, fresh, 0, right_n);
	set_right(t, &up, fresh);
	*c = up;
}

static void new_root(struct opdb_tree *t, const struct carried *c)
{
	uint64_t old = t->root, page = new_page(t);

	word_put(t, page, 1, old);
	insert_entry(t, page, 0, 0, c);
	t->root = page;
	head_put(t, 2, page);
}

int opdb_tree_add(struct opdb_tree *t, uint64_t key, uint64_t value)
{
	struct step path[OPDB_MAX_DEPTH];
	struct carried c = { { 0 } };
	unsigned int depth;
	int r;

	if (key > abi_max(&t->fmt))
		return -ERANGE;
	if (t->fmt.width < 8 && value >= abi_max(&t->fmt))
		value = UINT64_MAX;
	r = walk_down(t, key, path, &depth);
	if (r < 0)
		return r;
	if (r == 1)
		return add_to_value(t, &path[depth - 1], value);
	r = make_room(t, path, depth);
	if (r < 0)
		return r;
	abi_word_put(&t->fmt, c.bytes, 0);
	abi_word_put_nil(&t->fmt, c.bytes + t->fmt.width, value);
	abi_word_put(&t->fmt, c.bytes + 2 * t->fmt.width, key);
	while (depth > 0) {
		const struct step *s = &path[--depth];
		if (s->n < t->page_entries) {
			insert_entry(t, s->page, s->n, s->pos, &c);
			return 0;
		}
		split_page(t, s, &c);
	}
	new_root(t, &c);
	return 0;
}

static int merge_one(void *arg, uint64_t key, uint64_t value)
{
	return opdb_tree_add(arg, key, value);
}

int opdb_tree_merge(struct opdb_tree *t, const struct opdb *src, struct abi_fault *fault)
{
	return opdb_each(src, merge_one, t, fault);
}
