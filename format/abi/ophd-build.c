/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/abi/ophd.h"

#include <errno.h>

static bool is_prime(uint32_t n)
{
	if (n < 4)
		return n > 1;
	if (n % 2 == 0)
		return false;
	for (uint64_t d = 3; d * d <= n; d += 2)
		if (n % d == 0)
			return false;
	return true;
}

static uint32_t next_prime(uint32_t n)
{
	while (!is_prime(n))
		n++;
	return n;
}

uint32_t ophd_size_for(uint32_t n)
{
	return next_prime(n + n / 3 + 3);
}

int ophd_builder_init(struct ophd_builder *b, uint32_t n, bool share)
{
	*b = (struct ophd_builder){ .share = share, .pool = STRBUF_INIT_CAP(UINT32_MAX) };
	if (n < 1 || n > (UINT32_MAX >> 1))
		return -E2BIG;
	b->n = n == 1 ? 1 : next_prime(n);
	b->name = calloc(b->n, sizeof(*b->name));
	b->parent = malloc(b->n * sizeof(*b->parent));
	if (!b->name || !b->parent) {
		ophd_builder_done(b);
		return -ENOMEM;
	}
	memset(b->parent, 0xff, b->n * sizeof(*b->parent));
	b->parent[0] = 0;
	return strbuf_add(&b->pool, "/", 2);
}

void ophd_builder_done(struct ophd_builder *b)
{
	free(b->name);
	free(b->parent);
	free(b->offsets);
	strbuf_done(&b->pool);
	strpool_done(&b->strings);
	*b = (struct ophd_builder){ 0 };
}

/* The placement of 2002, with unsigned characters so that it is the same on every machine. */
static uint32_t hash(const char *s, size_t len)
{
	uint32_t h = 0;

	while (len-- > 0) {
		uint32_t c = (uint8_t)s[len];
		h = (h + (c << 4) + (c >> 4)) * 11;
	}
	return h;
}

static int64_t pool_offset(struct ophd_builder *b, const char *s, size_t len)
{
	uint32_t at = (uint32_t)b->pool.len;
	int64_t id = -1;
	int r;

	if (b->share) {
		id = strpool_id(&b->strings, s, len);
		if (id < 0)
			return id;
		if (id < b->n_offsets)
			return b->offsets[id];
	}
	r = strbuf_add(&b->pool, s, len);
	if (r >= 0)
		r = strbuf_add(&b->pool, "", 1);
	if (r < 0)
		return r;
	if (!b->share)
		return at;
	if (b->n_offsets == b->offsets_room) {
		uint32_t room = b->offsets_room ? b->offsets_room * 2 : 64;
		uint32_t *o = realloc(b->offsets, room * sizeof(*o));
		if (!o)
			return -ENOMEM;
		b->offsets = o;
		b->offsets_room = room;
	}
	b->offsets[b->n_offsets++] = at;
	return at;
}

int64_t ophd_builder_add(struct ophd_builder *b, uint32_t parent, const char *component, size_t len)
{
	uint32_t first, slot, step;
	int64_t at;

	if (!len || memchr(component, '/', len) || memchr(component, 0, len) || parent >= b->n ||
	    b->parent[parent] == OPHD_NONE)
		return -EINVAL;
	first = slot = (hash(component, len) ^ parent) % b->n;
	step = first ? first : 1;
	for (;;) {
		if (slot && b->parent[slot] == OPHD_NONE)
			break;
		if (slot && b->parent[slot] == parent && !strncmp(b->pool.buf + b->name[slot], component, len) &&
		    !b->pool.buf[b->name[slot] + len])
			return slot;
		slot = (uint32_t)(((uint64_t)slot + step) % b->n);
		if (slot == first)
			return -ENOSPC;
	}
	at = pool_offset(b, component, len);
	if (at < 0)
		return at;
	b->name[slot] = (uint32_t)at;
	b->parent[slot] = parent;
	b->used++;
	return slot;
}

int64_t ophd_builder_add_path(struct ophd_builder *b, const char *path)
{
	int64_t at = 0;

	while (*path == '/' && at >= 0) {
		size_t len = strcspn(++path, "/");
		if (!len && !*path && !at)
			return 0;
		at = ophd_builder_add(b, (uint32_t)at, path, len);
		path += len;
	}
	return *path && at >= 0 ? -EINVAL : at;
}

int ophd_builder_write(const struct ophd_builder *b, const struct abi_format *fmt, struct strbuf *ret)
{
	struct abi_format f;
	size_t total, start = ret->len;
	uint8_t *p;
	int r;

	if (fmt)
		f = *fmt;
	else
		abi_format_init(&f, ABI_OPHD, abi_width_for(MAX(b->n, b->pool.len)), NULL);
	f.kind = ABI_OPHD;
	total = abi_prefix_len(&f) + 2u * f.width + 2 * (size_t)b->n * f.width + b->pool.len;
	r = strbuf_reserve(ret, total);
	if (r < 0)
		return r;
	p = (uint8_t *)ret->buf + start;
	abi_prefix_write(&f, p);
	p += abi_prefix_len(&f);
	if (abi_word_put(&f, p, b->n) < 0 || abi_word_put(&f, p + f.width, b->pool.len) < 0)
		return -ERANGE;
	p += 2 * f.width;
	for (uint32_t i = 0; i < b->n; i++, p += 2 * f.width) {
		uint64_t parent = b->parent[i] == OPHD_NONE ? UINT64_MAX : b->parent[i];
		if (abi_word_put(&f, p, b->name[i]) < 0 || abi_word_put_nil(&f, p + f.width, parent) < 0)
			return -ERANGE;
	}
	memcpy(p, b->pool.buf, b->pool.len);
	ret->len = start + total;
	ret->buf[ret->len] = '\0';
	return 0;
}
