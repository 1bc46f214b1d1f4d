/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/abi/opdb.h"

#include <errno.h>

static int head_word(const struct opdb *db, unsigned int i, uint64_t *v, struct abi_fault *fault)
{
	size_t at = abi_prefix_len(&db->fmt) + (size_t)i * db->fmt.width;

	if (abi_word_num(&db->fmt, db->data + at, v) < 0)
		return ABI_FAULT(fault, at, "word-range: a word does not fit 64 bits");
	return 0;
}

static int read_head(struct opdb *db, const void *data, size_t len, struct abi_fault *fault)
{
	unsigned int w;
	uint64_t words, bytes;
	size_t at;
	int r = abi_prefix_read(&db->fmt, ABI_OPDB, data, len, fault);

	if (r < 0)
		return r;
	w = db->fmt.width;
	at = (size_t)r;
	db->data = data;
	db->len = len;
	db->pages_at = at + OPDB_HEAD_WORDS * w;
	if (len < db->pages_at)
		return ABI_FAULT(fault, len, "head-short: the file ends inside the eight words of the head");
	if ((r = head_word(db, 0, &db->total, fault)) < 0 || (r = head_word(db, 1, &db->used, fault)) < 0 ||
	    (r = head_word(db, 2, &db->root, fault)) < 0 || (r = head_word(db, 3, &db->page_entries, fault)) < 0)
		return r;
	if (!db->page_entries)
		return ABI_FAULT(fault, at + 3 * w, "page-size: a page has room for no entry");
	if (__builtin_mul_overflow(db->page_entries, 3, &words) || __builtin_add_overflow(words, 2, &words) ||
	    __builtin_mul_overflow(words, w, &bytes) || bytes > len)
		return ABI_FAULT(fault, at + 3 * w, "page-size: one page is longer than the file");
	db->page_bytes = bytes;
	if (!db->used)
		return ABI_FAULT(fault, at + w, "used-zero: record 0 must be in use");
	if (db->used > db->total)
		return ABI_FAULT(fault, at + w, "used-range: current size is above the total size");
	if (db->root >= db->used)
		return ABI_FAULT(fault, at + 2 * w, "root-range: the root is not below the current size");
	return 0;
}

int opdb_read(struct opdb *ret, const void *data, size_t len, struct abi_fault *fault)
{
	struct opdb db = { 0 };
	uint64_t need;
	int r = read_head(&db, data, len, fault);

	if (r < 0)
		return r;
	if (__builtin_mul_overflow(db.total, db.page_bytes, &need) || __builtin_add_overflow(need, db.pages_at, &need) ||
	    need != len)
		return ABI_FAULT(fault, abi_prefix_len(&db.fmt), "length: total size disagrees with the length of the file");
	*ret = db;
	return 0;
}

int opdb_read_lenient(struct opdb *ret, const void *data, size_t len, struct abi_fault *fault)
{
	struct opdb db = { .lenient = true };
	uint64_t need;
	int r = read_head(&db, data, len, fault);

	if (r < 0)
		return r;
	if (__builtin_mul_overflow(db.used, db.page_bytes, &need) || __builtin_add_overflow(need, db.pages_at, &need) ||
	    need > len)
		return ABI_FAULT(fault, len, "length: the file ends before its current size");
	*ret = db;
	return 0;
}

/* --- walking ------------------------------------------------------------------------------------------- */
struct walk {
	const struct opdb *db;
	uint64_t lo, hi;
	opdb_fn *fn;
	void *arg;
	struct abi_fault *fault;
	uint8_t *seen;             /* opdb_check: a bit a page */
	struct opdb_stat *stat;
	unsigned int leaf_depth;   /* 0 = not known yet */
	bool whole;                /* go everywhere, not only where lo … hi is */
};

/* Keys of a page lie in (below, above), each end open and only meant if its flag is set. */
struct bounds {
	uint64_t below, above;
	bool has_below, has_above;
};

static int walk_word(struct walk *w, const uint8_t *p, uint64_t *v)
{
	if (abi_word_num(&w->db->fmt, p, v) < 0)
		return ABI_FAULT(w->fault, p - w->db->data, "word-range: a word does not fit 64 bits");
	return 0;
}

/* The entry i of a page, checked against the key before it and the page's bounds. */
static int walk_entry(struct walk *w, const uint8_t *entry, struct bounds *b, uint64_t *right, struct opdb_pair *kv)
{
	unsigned int width = w->db->fmt.width;
	const uint8_t *key_at = entry + 2 * width;
	int r;

	if ((r = walk_word(w, entry, right)) < 0 || (r = walk_word(w, key_at, &kv->key)) < 0)
		return r;
	if (abi_word_nil(&w->db->fmt, entry + width, &kv->value) < 0)
		return ABI_FAULT(w->fault, entry + width - w->db->data, "word-range: a word does not fit 64 bits");
	if (b->has_below && kv->key <= b->below)
		return ABI_FAULT(w->fault, key_at - w->db->data, "key-order: a key does not ascend");
	if (b->has_above && kv->key >= b->above)
		return ABI_FAULT(w->fault, key_at - w->db->data, "key-order: a key is not below the next one of its parent");
	return 0;
}

static int walk_page(struct walk *w, uint64_t page, unsigned int depth, struct bounds b);

static int walk_child(struct walk *w, uint64_t child, const uint8_t *at, unsigned int depth, struct bounds b)
{
	if (!child != (w->leaf_depth == depth) && w->leaf_depth)
		return ABI_FAULT(w->fault, at - w->db->data, "depth: leaves lie at different depths");
	if (!child) {
		w->leaf_depth = depth;
		return 0;
	}
	if (child >= w->db->used)
		return ABI_FAULT(w->fault, at - w->db->data, "page-range: a page is not below the current size");
	if (!w->whole && ((b.has_above && b.above <= w->lo) || (b.has_below && b.below >= w->hi)))
		return 0;
	return walk_page(w, child, depth + 1, b);
}

static int walk_seen(struct walk *w, uint64_t page, unsigned int depth, const uint8_t *at)
{
	if (depth > OPDB_MAX_DEPTH)
		return ABI_FAULT(w->fault, at - w->db->data, "depth: the tree is deeper than 64 pages");
	if (!w->seen)
		return 0;
	if (w->seen[page / 8] & 1u << page % 8)
		return ABI_FAULT(w->fault, at - w->db->data, "page-twice: a page is reached twice");
	w->seen[page / 8] |= (uint8_t)(1u << page % 8);
	w->stat->pages++;
	w->stat->depth = MAX(w->stat->depth, depth);
	return 0;
}

static int walk_page(struct walk *w, uint64_t page, unsigned int depth, struct bounds b)
{
	const struct opdb *db = w->db;
	unsigned int width = db->fmt.width;
	const uint8_t *p = db->data + db->pages_at + page * db->page_bytes;
	const uint8_t *link_at = p + width, *e = p + 2 * width;
	uint64_t n, link, right;
	int r = walk_seen(w, page, depth, p);

	if (r < 0)
		return r;
	if ((r = walk_word(w, p, &n)) < 0 || (r = walk_word(w, link_at, &link)) < 0)
		return r;
	if (n < 1 || n > db->page_entries)
		return ABI_FAULT(w->fault, p - db->data, "occupation: a page has no entry or more than it has room for");
	for (uint64_t i = 0; i < n; i++, e += 3 * width) {
		struct opdb_pair kv;
		struct bounds left = b;
		r = walk_entry(w, e, &b, &right, &kv);
		if (r < 0)
			return r;
		left.above = kv.key;
		left.has_above = true;
		r = walk_child(w, link, link_at, depth, left);
		if (r)
			return r;
		if (w->fn && kv.key >= w->lo && kv.key <= w->hi && (r = w->fn(w->arg, kv.key, kv.value)))
			return r;
		b.below = kv.key;
		b.has_below = true;
		link = right;
		link_at = e;
	}
	return walk_child(w, link, link_at, depth, b);
}

int opdb_range(const struct opdb *db, uint64_t lo, uint64_t hi, opdb_fn *fn, void *arg, struct abi_fault *fault)
{
	struct walk w = { .db = db, .lo = lo, .hi = hi, .fn = fn, .arg = arg, .fault = fault };

	if (!db->root || lo > hi)
		return 0;
	return walk_page(&w, db->root, 1, (struct bounds){ 0 });
}

static int check_pair(void *arg, uint64_t key, uint64_t value)
{
	struct opdb_stat *s = arg;

	if (!s->pairs++)
		s->min_key = key;
	s->max_key = key;
	s->sum = opdb_add(s->sum, value);
	s->overflowed += value == UINT64_MAX;
	return 0;
}

int opdb_check(const struct opdb *db, struct opdb_stat *ret, struct abi_fault *fault)
{
	AUTO_FREE uint8_t *seen = calloc(db->used / 8 + 1, 1); /* used ≤ length of the file */
	struct opdb_stat stat = { 0 };
	struct walk w = { .db = db, .hi = UINT64_MAX, .fn = check_pair, .arg = &stat, .fault = fault, .seen = seen,
			  .stat = &stat, .whole = true };
	int r = 0;

	if (!seen)
		return -ENOMEM;
	if (db->root)
		r = walk_page(&w, db->root, 1, (struct bounds){ 0 });
	if (r < 0)
		return r;
	stat.orphans = db->used - 1 - stat.pages;
	if (ret)
		*ret = stat;
	return 0;
}

/* Position of the first key ≥ key among the n of a page. */
static int find_in_page(const struct opdb *db, const uint8_t *p, uint64_t n, uint64_t key, uint64_t *pos, bool *same,
			struct abi_fault *fault)
{
	unsigned int width = db->fmt.width;
	uint64_t lo = 0, hi = n, k;

	*same = false;
	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;
		const uint8_t *at = p + (4 + 3 * mid) * width;
		if (abi_word_num(&db->fmt, at, &k) < 0)
			return ABI_FAULT(fault, at - db->data, "word-range: a word does not fit 64 bits");
		if (k < key) {
			lo = mid + 1;
		} else {
			*same = k == key;
			hi = mid;
			if (*same) {
				*pos = mid;
				return 0;
			}
		}
	}
	*pos = lo;
	return 0;
}

int opdb_get(const struct opdb *db, uint64_t key, uint64_t *value, struct abi_fault *fault)
{
	unsigned int width = db->fmt.width;
	uint64_t page = db->root;

	for (unsigned int depth = 0; page; depth++) {
		const uint8_t *p = db->data + db->pages_at + page * db->page_bytes, *at;
		uint64_t n, pos;
		bool same;
		int r;
		if (depth >= OPDB_MAX_DEPTH)
			return ABI_FAULT(fault, p - db->data, "depth: the tree is deeper than 64 pages");
		if (abi_word_num(&db->fmt, p, &n) < 0 || n < 1 || n > db->page_entries)
			return ABI_FAULT(fault, p - db->data, "occupation: a page has no entry or more than it has room for");
		r = find_in_page(db, p, n, key, &pos, &same, fault);
		if (r < 0)
			return r;
		at = p + (3 + 3 * pos) * width;
		if (same)
			return abi_word_nil(&db->fmt, at, value) < 0 ?
			       ABI_FAULT(fault, at - db->data, "word-range: a word does not fit 64 bits") : 0;
		at = pos ? p + (2 + 3 * (pos - 1)) * width : p + width;
		if (abi_word_num(&db->fmt, at, &page) < 0 || page >= db->used)
			return ABI_FAULT(fault, at - db->data, "page-range: a page is not below the current size");
	}
	return -ENOENT;
}
