/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_LIB_READER_H
#define OPJIT_LIB_READER_H
/*
 * A bounded cursor over bytes that somebody else wrote. Reading past the end sets `bad` and gives zeros, so a
 * decoder may read a whole struct and check once. The offset of the first fault stays in `bad_at`.
 */
#include <endian.h>
#include <string.h>

#include "lib/util.h"

struct reader {
	const uint8_t *data;
	size_t len;
	size_t pos;
	bool swap;     /* the bytes are of the other byte order */
	bool bad;
	size_t bad_at;
};

static inline struct reader reader_of(const void *data, size_t len)
{
	return (struct reader){ .data = data, .len = len };
}
static inline size_t reader_left(const struct reader *r) { return r->len - r->pos; }

/* The next n bytes, or NULL (and bad). */
static inline const void *reader_take(struct reader *r, size_t n)
{
	const void *p;
	if (r->bad || n > r->len - r->pos) {
		if (!r->bad)
			r->bad_at = r->pos;
		r->bad = true;
		return NULL;
	}
	p = r->data + r->pos;
	r->pos += n;
	return p;
}
static inline uint8_t reader_u8(struct reader *r)
{
	const uint8_t *p = reader_take(r, 1);
	return p ? *p : 0;
}
static inline uint16_t reader_u16(struct reader *r)
{
	uint16_t v = 0;
	const void *p = reader_take(r, 2);
	if (p)
		memcpy(&v, p, 2);
	return r->swap ? __builtin_bswap16(v) : v;
}
static inline uint32_t reader_u32(struct reader *r)
{
	uint32_t v = 0;
	const void *p = reader_take(r, 4);
	if (p)
		memcpy(&v, p, 4);
	return r->swap ? __builtin_bswap32(v) : v;
}
static inline uint64_t reader_u64(struct reader *r)
{
	uint64_t v = 0;
	const void *p = reader_take(r, 8);
	if (p)
		memcpy(&v, p, 8);
	return r->swap ? __builtin_bswap64(v) : v;
}
/* A NUL-terminated string inside the remaining bytes; NULL (and bad) if there is no NUL. */
static inline const char *reader_str(struct reader *r)
{
	const char *s = (const char *)r->data + r->pos;
	const void *nul = r->bad ? NULL : memchr(s, 0, r->len - r->pos);
	if (!nul) {
		if (!r->bad)
			r->bad_at = r->pos;
		r->bad = true;
		return NULL;
	}
	r->pos += (size_t)((const char *)nul - s) + 1;
	return s;
}
static inline void reader_align(struct reader *r, size_t a)
{
	size_t pad = (a - r->pos % a) % a;
	if (pad)
		reader_take(r, pad);
}

#endif
