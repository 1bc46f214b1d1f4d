/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/evlog/ftracepage.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define COMMIT_MASK 0x7ffffffu
#define COMMIT_STORED (1u << 30)
#define COMMIT_MISSED (1u << 31)
#define TIME_MASK ((1ULL << 59) - 1)

enum { TYPE_PADDING = 29, TYPE_EXTEND = 30, TYPE_STAMP = 31 };

static uint32_t ld32(const struct ftrace_page *pg, const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, 4);
	return pg->big ? be32toh(v) : le32toh(v);
}
static uint64_t ld64(const struct ftrace_page *pg, const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, 8);
	return pg->big ? be64toh(v) : le64toh(v);
}

int ftrace_page_open(struct ftrace_page *pg, const void *data, size_t len, bool big, unsigned int long_bytes, bool old)
{
	size_t head = 8 + long_bytes;
	uint64_t commit;
	uint32_t used;

	if (long_bytes != 4 && long_bytes != 8)
		return -EINVAL;
	if (len < head)
		return -EBADMSG;
	*pg = (struct ftrace_page){ .data = data, .big = big, .old = old };
	pg->time = ld64(pg, pg->data);
	commit = long_bytes == 8 ? ld64(pg, pg->data + 8) : ld32(pg, pg->data + 8);
	used = (uint32_t)commit & COMMIT_MASK;
	if (used > len - head)
		return -EBADMSG;
	pg->p = pg->data + head;
	pg->end = pg->p + used;
	if (commit & COMMIT_MISSED && !old) {
		pg->lost = FTRACE_LOST_UNKNOWN;
		if (commit & COMMIT_STORED && len - head - used >= long_bytes)
			pg->lost = long_bytes == 8 ? (int64_t)ld64(pg, pg->end) : (int64_t)ld32(pg, pg->end);
	}
	return 0;
}

/* The word behind the head, which must be there. */
static bool next_word(const struct ftrace_page *pg, const uint8_t *p, uint32_t *ret)
{
	if (pg->end - p < 4)
		return false;
	*ret = ld32(pg, p);
	return true;
}

/* Payload of an event whose length stands in the word behind the head and counts that word. */
static int event_long(struct ftrace_page *pg, const uint8_t *p, struct ftrace_event *ret)
{
	uint32_t n;

	if (!next_word(pg, p, &n) || n < 4 || n > (size_t)(pg->end - p))
		return -EBADMSG;
	ret->data = p + 4;
	ret->len = n - 4;
	pg->p = p + ALIGN_UP(n, 4u);
	if (pg->p > pg->end)
		pg->p = pg->end;
	return 1;
}

static int event_short(struct ftrace_page *pg, const uint8_t *p, uint32_t len, struct ftrace_event *ret)
{
	if (len > (size_t)(pg->end - p))
		return -EBADMSG;
	ret->data = p;
	ret->len = len;
	pg->p = p + len;
	return 1;
}

/* Time items and padding: 0 to go on, -EBADMSG. */
static int item_time(struct ftrace_page *pg, const uint8_t *p, uint32_t delta, bool absolute)
{
	uint32_t high;
	uint64_t t;

	if (!next_word(pg, p, &high))
		return -EBADMSG;
	t = ((uint64_t)high << 27) + delta;
	if (absolute) {
		/* 59 bits; the rest is that of the time so far, one more if it went round */
		t = (t & TIME_MASK) | (pg->time & ~TIME_MASK);
		if (t < pg->time)
			t += 1ULL << 59;
		pg->time = t;
	} else {
		pg->time += t;
	}
	pg->p = p + 4;
	return 0;
}

static int item_padding(struct ftrace_page *pg, const uint8_t *p, uint32_t delta)
{
	uint32_t n;

	if (!delta) { /* the rest of the page */
		pg->p = pg->end;
		return 0;
	}
	if (!next_word(pg, p, &n) || n > (size_t)(pg->end - p))
		return -EBADMSG;
	if (delta != 1 || pg->old)
		pg->time += delta;
	/* An event that was taken back: n bytes behind the head, at least the word itself. */
	pg->p = p + ALIGN_UP(MAX(n, 4u), 4u);
	if (pg->p > pg->end)
		pg->p = pg->end;
	return 0;
}

static int step(struct ftrace_page *pg, struct ftrace_event *ret)
{
	const uint8_t *p = pg->p + 4;
	uint32_t w = ld32(pg, pg->p), type = pg->big ? w >> 27 : w & 31, delta = pg->big ? w & 0x7ffffff : w >> 5;

	ret->offset = (uint32_t)(pg->p - pg->data);
	if (type == TYPE_PADDING)
		return item_padding(pg, p, delta);
	if (type == TYPE_EXTEND || type == TYPE_STAMP)
		return item_time(pg, p, delta, type == TYPE_STAMP);
	pg->time += delta;
	ret->time = pg->time;
	return type ? event_short(pg, p, type * 4, ret) : event_long(pg, p, ret);
}

static int step_old(struct ftrace_page *pg, struct ftrace_event *ret)
{
	const uint8_t *p = pg->p + 4;
	uint32_t w = ld32(pg, pg->p);
	uint32_t type = pg->big ? w >> 30 : w & 3, len = pg->big ? w >> 27 & 7 : w >> 2 & 7;
	uint32_t delta = pg->big ? w & 0x7ffffff : w >> 5;

	ret->offset = (uint32_t)(pg->p - pg->data);
	switch (type) {
	case 0: /* padding: the rest of the page */
		pg->p = pg->end;
		return 0;
	case 1:
		return item_time(pg, p, delta, false);
	case 2: /* a stamp that nobody wrote: three more words */
		if (pg->end - p < 12)
			return -EBADMSG;
		pg->p = p + 12;
		return 0;
	}
	pg->time += delta;
	ret->time = pg->time;
	return len ? event_short(pg, p, len * 4, ret) : event_long(pg, p, ret);
}

int ftrace_page_next(struct ftrace_page *pg, struct ftrace_event *ret)
{
	while (pg->end - pg->p >= 4) {
		int r = pg->old ? step_old(pg, ret) : step(pg, ret);
		if (r)
			return r;
	}
	return pg->p == pg->end ? 0 : -EBADMSG;
}
