/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_EVLOG_WIRE_H
#define OPJIT_FORMAT_EVLOG_WIRE_H
/*
 * The event log on the wire: prefix, page header, event heads, ids. Private to format/evlog and its tests;
 * doc/format-evlog.md is the offset table of all this.
 *
 * Words are u32 and u64 in the byte order that the prefix tells; `swap` below means "not the host's".
 * Nothing is aligned to more than 4 bytes, so every access goes through memcpy.
 */
#include <endian.h>
#include <string.h>

#include "format/evlog/event.h"

#define EVLOG_PREFIX_MAX (8 + 255)
#define EVLOG_PREFIX_LEN 16u      /* what our writer makes: wb 8 */
#define EVLOG_PAGE_MAGIC 0x6c657047u
#define EVLOG_PAGE_HEADER 48u
#define EVLOG_PAGE_MIN 4096u
#define EVLOG_PAGE_MAX 65536u
#define EVLOG_MAX_STREAMS 65536u
#define EVLOG_MAX_STRINGS (1u << 22)
#define EVLOG_MAX_STRING_BYTES (1u << 30)
#define EVLOG_MAX_STRING (1u << 20)     /* longest string once its pieces are joined */
#define EVLOG_INLINE_MAX 1024u          /* longer strings go to the string table in pieces of this */

/* Page header, offsets. */
#define PG_MAGIC 0
#define PG_STREAM 4
#define PG_SEQ 8
#define PG_BASE 16
#define PG_END 24
#define PG_USED 32
#define PG_FLAGS 36   /* u16 */
#define PG_CHECK 38   /* u16, evlog_page_check() */
#define PG_LOST 40

#define PGF_MISSED 1u /* records were lost before the end of this page (the lost counter moved) */
#define PGF_LAST 2u   /* the log ends here */
#define PGF_META 4u   /* stream 0: metadata ids */
#define PGF_EARLY 8u  /* holds JIT, JITSRC, PROC or EVENTDESC events */

/* Ids of data streams. */
enum evlog_id {
	ID_CTX = 0,          /* what a slot stands for, until the page ends */
	ID_SAMPLE = 1,       /* slot, ip */
	ID_SAMPLE_PERIOD = 2,/* slot, ip, u32 period */
	ID_SAMPLE_CHAIN = 3,
	ID_MMAP = 4,
	ID_COMM = 5,
	ID_FORK = 6,
	ID_EXIT = 7,
	ID_LOST = 8,
	ID_KSYMBOL = 9,
	ID_JIT = 10,
	ID_JITSRC = 11,
	ID_PROC = 12,
	ID_SYNC = 13,
	ID_MUNMAP = 14,
	ID_EVENTDESC = 15,
	ID_THROTTLE = 16,
	ID_SAMPLE_WIDE = 17, /* an ip that does not fit 56 bits */
	ID_USER = 18,        /* 18 … 27: registered by the writer, see the metadata */
	ID_LONG = 28,        /* {u16 id, u16 words} */
	ID_DISCARDED = 29,   /* {u16 0, u16 words} */
	ID_FULL = 30,        /* {u16 id, u16 words}, u64 time */
	ID_TIMESYNC = 31,    /* metadata only */
};
/* Ids of stream 0. */
enum evlog_meta_id {
	META_INIT = 0,
	META_EVENT = 1,
	META_STRING = 2,
	META_CLOSELOG = 3,
};

#define EVLOG_VARIABLE 0xffu
#define EVLOG_STR_INLINE 0x80000000u
#define EVLOG_NO_STRING 0x7fffffffu   /* NULL */

static inline uint32_t wire_ld32(const void *p, bool swap)
{
	uint32_t v;
	memcpy(&v, p, 4);
	return swap ? __builtin_bswap32(v) : v;
}
static inline uint64_t wire_ld64(const void *p, bool swap)
{
	uint64_t v;
	memcpy(&v, p, 8);
	return swap ? __builtin_bswap64(v) : v;
}
static inline uint16_t wire_ld16(const void *p, bool swap)
{
	uint16_t v;
	memcpy(&v, p, 2);
	return swap ? __builtin_bswap16(v) : v;
}
static inline void wire_st16(void *p, uint16_t v, bool swap)
{
	v = swap ? __builtin_bswap16(v) : v;
	memcpy(p, &v, 2);
}
static inline void wire_st32(void *p, uint32_t v, bool swap)
{
	v = swap ? __builtin_bswap32(v) : v;
	memcpy(p, &v, 4);
}
static inline void wire_st64(void *p, uint64_t v, bool swap)
{
	v = swap ? __builtin_bswap64(v) : v;
	memcpy(p, &v, 8);
}

struct evlog_page {
	uint32_t stream, used;
	uint16_t flags;
	uint64_t seq, base, end, lost;
	size_t block_len; /* header, used bytes and padding to 8 */
};

/* Payload words of each data id; EVLOG_VARIABLE: the first payload word counts the payload's words, itself included. */
extern const uint8_t evlog_id_words[32];

/* The prefix: 0 and its length in *len and whether it needs swapping; -EAGAIN: more bytes are needed;
 * -EBADMSG: no prefix of ours or an eb that is no permutation; -EPROTONOSUPPORT: a later major;
 * -ENOTSUP: a byte order that is neither little nor big. */
int evlog_prefix_parse(const void *data, size_t len, size_t *prefix_len, bool *swap);
void evlog_prefix_make(uint8_t prefix[EVLOG_PREFIX_LEN], bool big);
/* The header's own check value: a page is only believed to start where it fits. */
uint16_t evlog_page_check(const void *header);
/* 0, -EBADMSG. `data` has EVLOG_PAGE_HEADER bytes. */
int evlog_page_parse(const void *data, bool swap, struct evlog_page *ret);
void evlog_page_make(void *data, bool swap, const struct evlog_page *pg);

#endif
