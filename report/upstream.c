/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/upstream.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "lib/reader.h"

#define HEAD 104u
#define NODE 16u
#define MIN_NODES 128u
#define FILE_VERSION 0x13u

static void put32(uint8_t *p, uint64_t v)
{
	uint32_t le = htole32((uint32_t)v);
	memcpy(p, &le, 4);
}
static void put64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, 8);
}

static uint32_t bucket_of(uint64_t key, uint32_t size)
{
	uint32_t t = (uint32_t)(key >> 32 ^ key);

	return (t ^ t >> 8) & (size - 1);
}

int upstream_write(struct strbuf *ret, const struct upstream_head *h, const struct upstream_pair *pairs, size_t n)
{
	uint64_t bits;
	uint32_t size = MIN_NODES;
	uint8_t *p, *nodes, *heads;
	size_t len;
	int r;

	while (size < n + 1 && size < UINT32_C(1) << 31)
		size *= 2;
	if (size < n + 1)
		return -E2BIG;
	len = HEAD + (size_t)20 * size;
	r = strbuf_reserve(ret, len);
	if (r < 0)
		return r;
	p = (uint8_t *)ret->buf + ret->len;
	memset(p, 0, len + 1);
	memcpy(p, "DAE\n", 4);
	put32(p + 4, FILE_VERSION);
	put32(p + 8, h->cpu_type);
	put32(p + 12, h->event);
	put32(p + 16, h->um);
	put32(p + 20, h->count);
	put32(p + 24, h->is_kernel);
	memcpy(&bits, &h->mhz, 8);
	put64(p + 32, bits);
	put64(p + 40, h->mtime);
	put32(p + 48, h->cg_to_is_kernel);
	put64(p + 56, h->anon_start);
	put64(p + 64, h->cg_to_anon_start);
	put32(p + 72, size);
	put32(p + 76, n + 1);
	nodes = p + HEAD;
	heads = nodes + (size_t)NODE * size;
	for (size_t i = 0; i < n; i++) {
		uint8_t *node = nodes + NODE * (i + 1), *head = heads + 4 * (size_t)bucket_of(pairs[i].key, size);
		put64(node, pairs[i].key);
		put32(node + 8, MIN(pairs[i].value, (uint64_t)UINT32_MAX));
		memcpy(node + 12, head, 4);
		put32(head, i + 1);
	}
	ret->len += len;
	return 0;
}

static int bad(const char **what, uint64_t *at, uint64_t offset, const char *text)
{
	*what = text;
	*at = offset;
	return -EBADMSG;
}

int upstream_read(struct upstream_head *h, const void *data, size_t len, upstream_fn *fn, void *arg, const char **what,
		  uint64_t *at)
{
	struct reader r = reader_of(data, len);
	const void *magic = reader_take(&r, 4);
	uint64_t mhz;
	uint32_t size, used;

	r.swap = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	*h = (struct upstream_head){ 0 };
	if (!magic || memcmp(magic, "DAE\n", 4) != 0)
		return bad(what, at, 0, "not a sample file of OProfile");
	if (len < HEAD)
		return bad(what, at, len, "the file ends inside its head");
	if (reader_u32(&r) != FILE_VERSION)
		return bad(what, at, 4, "not version 0x13");
	h->cpu_type = reader_u32(&r);
	h->event = reader_u32(&r);
	h->um = reader_u32(&r);
	h->count = reader_u32(&r);
	h->is_kernel = reader_u32(&r) != 0;
	r.pos = 32;
	mhz = reader_u64(&r);
	memcpy(&h->mhz, &mhz, 8);
	h->mtime = reader_u64(&r);
	h->cg_to_is_kernel = reader_u32(&r) != 0;
	r.pos = 56;
	h->anon_start = reader_u64(&r);
	h->cg_to_anon_start = reader_u64(&r);
	size = reader_u32(&r);
	used = reader_u32(&r);
	if ((uint64_t)len != HEAD + (uint64_t)20 * size)
		return bad(what, at, 72, "the number of nodes disagrees with the length of the file");
	if (!used || used > size)
		return bad(what, at, 76, "more nodes in use than there are");
	r.pos = HEAD + NODE;
	for (uint32_t i = 1; i < used; i++) {
		uint64_t key = reader_u64(&r);
		uint32_t value = reader_u32(&r);
		int q = fn ? fn(arg, key, value) : 0;
		reader_u32(&r);
		if (q < 0)
			return q;
	}
	return 0;
}
