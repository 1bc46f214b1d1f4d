/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/abi/ophd.h"

#include <errno.h>

void ophd_done(struct ophd *h)
{
	free(h->name);
	free(h->parent);
	*h = (struct ophd){ 0 };
}

/* Sizes in the head against the length of the file: exact. Gives the offset of entry 0. */
static int read_head(struct ophd *h, const uint8_t *p, size_t len, uint64_t *at, struct abi_fault *fault)
{
	unsigned int w;
	uint64_t n, pool, need;
	int r = abi_prefix_read(&h->fmt, ABI_OPHD, p, len, fault);

	if (r < 0)
		return r;
	w = h->fmt.width;
	*at = (uint64_t)r;
	if (len - *at < 2 * (size_t)w)
		return ABI_FAULT(fault, len, "head-short: the file ends inside the two sizes");
	if (abi_word_num(&h->fmt, p + *at, &n) < 0)
		return ABI_FAULT(fault, *at, "word-range: a word does not fit 64 bits");
	if (abi_word_num(&h->fmt, p + *at + w, &pool) < 0)
		return ABI_FAULT(fault, *at + w, "word-range: a word does not fit 64 bits");
	if (n < 1)
		return ABI_FAULT(fault, *at, "entries-zero: a table has at least its root");
	if (n > len || pool > len)
		return ABI_FAULT(fault, n > len ? *at : *at + w, "length: sizes disagree with the length of the file");
	*at += 2 * w;
	need = *at + 2 * n * w + pool;
	if (need != len)
		return ABI_FAULT(fault, MIN(need, len), "length: sizes disagree with the length of the file");
	if (n > OPHD_MAX_ENTRIES || pool > UINT32_MAX) {
		(void)ABI_FAULT(fault, *at, "limit: more than 2^32 - 2 entries or bytes");
		return -E2BIG;
	}
	h->n = (uint32_t)n;
	h->pool_len = (uint32_t)pool;
	h->pool = (const char *)p + len - pool;
	if (pool < 2 || h->pool[0] != '/' || h->pool[1])
		return ABI_FAULT(fault, len - pool, "pool-root: the pool does not start with \"/\"");
	if (h->pool[pool - 1])
		return ABI_FAULT(fault, len - 1, "pool-end: the last byte of the pool is not NUL");
	return 0;
}

static int read_entry(struct ophd *h, const uint8_t *p, uint64_t at, uint32_t i, struct abi_fault *fault)
{
	unsigned int w = h->fmt.width;
	uint64_t name, parent;

	at += 2 * (uint64_t)i * w;
	if (abi_word_num(&h->fmt, p + at, &name) < 0)
		return ABI_FAULT(fault, at, "word-range: a word does not fit 64 bits");
	if (abi_word_nil(&h->fmt, p + at + w, &parent) < 0)
		return ABI_FAULT(fault, at + w, "word-range: a word does not fit 64 bits");
	if (name >= h->pool_len)
		return ABI_FAULT(fault, at, "name-range: a name lies past the pool");
	if (parent != UINT64_MAX && parent >= h->n)
		return ABI_FAULT(fault, at + w, "parent-range: a parent is past the table");
	if (!i && (name || parent))
		return ABI_FAULT(fault, at, "root: entry 0 is not the root");
	if (parent == UINT64_MAX && name)
		return ABI_FAULT(fault, at, "free-name: a free entry has a name");
	h->name[i] = (uint32_t)name;
	h->parent[i] = parent == UINT64_MAX ? OPHD_NONE : (uint32_t)parent;
	return 0;
}

/* Every used entry leads to the root. Each entry is walked once: those known to be good are marked. */
static int check_walks(const struct ophd *h, uint64_t at, struct abi_fault *fault)
{
	AUTO_FREE uint8_t *state = calloc(h->n, 1); /* 0 unseen, 1 on this walk, 2 good */
	unsigned int w2 = 2u * h->fmt.width;

	if (!state)
		return -ENOMEM;
	state[0] = 2;
	for (uint32_t i = 1; i < h->n; i++) {
		uint32_t j = i;
		if (h->parent[i] == OPHD_NONE)
			continue;
		for (; !state[j]; j = h->parent[j]) {
			state[j] = 1;
			if (h->parent[h->parent[j]] == OPHD_NONE)
				return ABI_FAULT(fault, at + (uint64_t)j * w2 + h->fmt.width, "parent-free: a parent is a free entry");
		}
		if (state[j] == 1)
			return ABI_FAULT(fault, at + (uint64_t)j * w2 + h->fmt.width, "cycle: the parents of an entry go round");
		for (j = i; state[j] == 1; j = h->parent[j])
			state[j] = 2;
	}
	return 0;
}

int ophd_read(struct ophd *ret, const void *data, size_t len, struct abi_fault *fault)
{
	AUTO(ophd_done) struct ophd h = { 0 };
	uint64_t at;
	int r = read_head(&h, data, len, &at, fault);

	if (r < 0)
		return r;
	h.name = malloc(h.n * sizeof(*h.name));
	h.parent = malloc(h.n * sizeof(*h.parent));
	if (!h.name || !h.parent)
		return -ENOMEM;
	for (uint32_t i = 0; i < h.n; i++) {
		r = read_entry(&h, data, at, i, fault);
		if (r < 0)
			return r;
	}
	r = check_walks(&h, at, fault);
	if (r < 0)
		return r;
	*ret = h;
	h = (struct ophd){ 0 };
	return 0;
}

int ophd_path(const struct ophd *h, uint32_t i, struct strbuf *ret)
{
	size_t len = 0, pos;
	int r;

	if (!ophd_used(h, i))
		return -EINVAL;
	if (!i)
		return strbuf_addch(ret, '/');
	for (uint32_t j = i; j; j = h->parent[j]) {
		len += strlen(ophd_name(h, j)) + 1;
		if (len > ret->cap)
			return -E2BIG;
	}
	r = strbuf_reserve(ret, len);
	if (r < 0)
		return r;
	pos = ret->len + len;
	for (uint32_t j = i; j; j = h->parent[j]) {
		size_t n = strlen(ophd_name(h, j));
		pos -= n;
		memcpy(ret->buf + pos, ophd_name(h, j), n);
		ret->buf[--pos] = '/';
	}
	ret->len += len;
	ret->buf[ret->len] = '\0';
	return 0;
}
