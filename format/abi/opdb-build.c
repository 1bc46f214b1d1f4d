/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sorted pairs to a canonical file. Of every (p + 1) pairs p fill a page and one goes up as the separator; the separators
 * are the pairs of the level above, until one page holds all. Only the last two pages of a level share evenly. Records
 * are numbered leaves first, in order of key, then each level above, the root last.
 */
#include "format/abi/opdb.h"

#include <errno.h>

static const uint32_t page_sizes[] = { 4, 6, 12, 24, 48, 96 };

/* Pages of one level that takes n pairs, its separators counted. */
static uint64_t level_pages(uint64_t n, uint64_t p)
{
	return (n + 1 + p) / (p + 1);
}

static uint64_t count_records(uint64_t n, uint64_t p)
{
	uint64_t records = 1;

	while (n) {
		uint64_t pages = level_pages(n, p);
		records += pages;
		n = pages - 1;
	}
	return records;
}

static uint32_t choose_page_size(uint64_t n)
{
	uint32_t best = 0;
	uint64_t best_words = 0;

	for (size_t i = 0; i < ARRAY_SIZE(page_sizes); i++) {
		uint64_t words = count_records(n, page_sizes[i]) * (3 * page_sizes[i] + 2);
		if (!best || words < best_words) {
			best = page_sizes[i];
			best_words = words;
		}
	}
	return best;
}

struct build {
	struct abi_format fmt;
	uint8_t *pages;            /* record 0 */
	size_t page_bytes;
	uint32_t p;
};

static int put_entry(struct build *b, uint8_t *at, uint64_t right, const struct opdb_pair *kv)
{
	unsigned int w = b->fmt.width;

	if (abi_word_put(&b->fmt, at, right) < 0 || abi_word_put_nil(&b->fmt, at + w, kv->value) < 0 ||
	    abi_word_put(&b->fmt, at + 2 * w, kv->key) < 0)
		return -ERANGE;
	return 0;
}

/* One level: n pairs into pages from record `first` on, over children from record `child` on (0 = leaves). The
 * separators go to `up`. */
static int build_level(struct build *b, const struct opdb_pair *pairs, size_t n, uint64_t first, uint64_t child,
		       struct opdb_pair *up)
{
	uint64_t pages = level_pages(n, b->p);
	unsigned int w = b->fmt.width;
	size_t at = 0;

	for (uint64_t i = 0; i < pages; i++) {
		uint8_t *page = b->pages + (first + i) * b->page_bytes, *e = page + 2 * w;
		size_t left = n - at, take = MIN(left, (size_t)b->p);
		if (pages - i == 2 && left < 2 * (size_t)b->p + 1)
			take = left / 2; /* left - 1 pairs in two pages, one between them */
		if (abi_word_put(&b->fmt, page, take) < 0 || abi_word_put(&b->fmt, page + w, child) < 0)
			return -ERANGE;
		child += child != 0;
		for (size_t k = 0; k < take; k++, e += 3 * w) {
			if (put_entry(b, e, child, &pairs[at + k]) < 0)
				return -ERANGE;
			child += child != 0;
		}
		at += take;
		if (i + 1 < pages)
			up[i] = pairs[at++];
	}
	return 0;
}

static int build_pages(struct build *b, const struct opdb_pair *pairs, size_t n)
{
	AUTO_FREE struct opdb_pair *level = NULL;
	uint64_t first = 1, child = 0;

	while (n) {
		uint64_t pages = level_pages(n, b->p);
		struct opdb_pair *up = malloc(pages * sizeof(*up));
		int r;
		if (!up)
			return -ENOMEM;
		r = build_level(b, pairs, n, first, child, up);
		free(level);
		level = up;
		if (r < 0)
			return r;
		pairs = level;
		n = pages - 1;
		child = first;
		first += pages;
	}
	return 0;
}

static int check_pairs(const struct opdb_pair *pairs, size_t n, uint64_t *most, size_t *bad)
{
	for (size_t i = 0; i < n; i++) {
		*bad = i;
		if (i && pairs[i].key <= pairs[i - 1].key)
			return -EINVAL;
		if (pairs[i].value != UINT64_MAX)
			*most = MAX(*most, pairs[i].value);
	}
	if (n)
		*most = MAX(*most, pairs[n - 1].key);
	return 0;
}

int opdb_build(const struct opdb_pair *pairs, size_t n, const struct abi_format *fmt, uint32_t page_entries,
	       struct strbuf *ret, size_t *bad)
{
	struct build b = { .p = page_entries };
	uint64_t records, most = 0;
	size_t start = ret->len, total, ignore, head;
	uint8_t *p;
	int r;

	if (!bad)
		bad = &ignore;
	if (b.p == 1 || b.p > OPDB_MAX_ENTRIES)
		return -EINVAL;
	r = check_pairs(pairs, n, &most, bad);
	if (r < 0)
		return r;
	if (!b.p)
		b.p = choose_page_size(n);
	records = count_records(n, b.p);
	if (fmt)
		b.fmt = *fmt;
	else
		abi_format_init(&b.fmt, ABI_OPDB, abi_width_for(MAX(most, MAX(records, b.p))), NULL);
	b.fmt.kind = ABI_OPDB;
	b.page_bytes = (3 * (size_t)b.p + 2) * b.fmt.width;
	head = abi_prefix_len(&b.fmt) + OPDB_HEAD_WORDS * b.fmt.width;
	if (__builtin_mul_overflow(records, b.page_bytes, &total) || __builtin_add_overflow(total, head, &total))
		return -E2BIG;
	r = strbuf_reserve(ret, total);
	if (r < 0)
		return r;
	p = (uint8_t *)ret->buf + start;
	memset(p, 0, total + 1);
	abi_prefix_write(&b.fmt, p);
	p += abi_prefix_len(&b.fmt);
	*bad = n;
	if (abi_word_put(&b.fmt, p, records) < 0 || abi_word_put(&b.fmt, p + b.fmt.width, records) < 0 ||
	    abi_word_put(&b.fmt, p + 2 * b.fmt.width, records - 1) < 0 || abi_word_put(&b.fmt, p + 3 * b.fmt.width, b.p) < 0)
		return -ERANGE;
	b.pages = (uint8_t *)ret->buf + start + head;
	r = build_pages(&b, pairs, n);
	if (r < 0) {
		for (*bad = 0; *bad < n; ++*bad)
			if (pairs[*bad].key > abi_max(&b.fmt) ||
			    (pairs[*bad].value != UINT64_MAX && b.fmt.width < 8 && pairs[*bad].value >= abi_max(&b.fmt)))
				break;
		return r;
	}
	ret->len = start + total;
	return 0;
}
