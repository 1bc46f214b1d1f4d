/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_EVLOG_MERGE_H
#define OPJIT_FORMAT_EVLOG_MERGE_H
/* What the merge has besides the contract in evlog.h, for readers inside format/evlog and for opevlog. */
#include "format/evlog/cursor.h"
#include "format/evlog/evlog.h"

/* Gets events that a writer registered itself, in their order among the others; c has id, body and time. */
typedef int evlog_user_fn(void *arg, const struct evlog_meta *meta, uint32_t stream, const struct evlog_cursor *c);
void evlog_merge_set_user(struct evlog_merge *m, evlog_user_fn *user);
/* A last page of which only len bytes are there: its whole events are taken. */
int evlog_merge_feed_cut(struct evlog_merge *m, const void *page, size_t len);
const struct evlog_meta *evlog_merge_meta(const struct evlog_merge *m);
bool evlog_merge_swap(const struct evlog_merge *m);

/*
 * Cuts a byte stream into blocks. data[0 .. len) is what stands at *at; `last`: nothing will follow.
 * 1: a block (prefix or page) of *block bytes stands at data + *skip; bytes before it could not be read (*skip of them).
 * 0: more bytes are needed; *skip may be dropped already. -EBADMSG and the like: does not begin as a log.
 */
struct evlog_blocks {
	bool started, swap;
	bool in_bad;           /* inside a region that could not be read */
	uint64_t bad_blocks;   /* such regions */
};
int evlog_blocks_next(struct evlog_blocks *b, const uint8_t *data, size_t len, bool last, size_t *skip, size_t *block);

#endif
