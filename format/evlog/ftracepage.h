/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_EVLOG_FTRACEPAGE_H
#define OPJIT_FORMAT_EVLOG_FTRACEPAGE_H
/*
 * Reads one page of the kernel's ring buffer (trace_pipe_raw): bytes in, events out, nothing allocated.
 * Both event heads: type_len:5 delta:27 (2.6.31 on) and type:2 len:3 delta:27 (2.6.28 to 2.6.30).
 */
#include "lib/util.h"

#define FTRACE_LOST_UNKNOWN (-1)

struct ftrace_page {
	const uint8_t *data, *p, *end;
	bool big;              /* the writer's byte order */
	bool old;              /* the head of 2.6.28 */
	uint64_t time;         /* of the event given last */
	int64_t lost;          /* events lost before this page; FTRACE_LOST_UNKNOWN: some */
};
struct ftrace_event {
	uint64_t time;         /* nanoseconds of the trace clock */
	const void *data;
	uint32_t len;
	uint32_t offset;       /* of the head in the page */
};

/* len: the page as it was read, its header included; long_bytes: 4 or 8, of the writer's kernel.
 * 0, -EINVAL, -EBADMSG: shorter than its header, or a commit that is longer than the page. */
int ftrace_page_open(struct ftrace_page *pg, const void *data, size_t len, bool big, unsigned int long_bytes, bool old);
/* The next event that holds data. 1, 0 at the end, -EBADMSG. */
int ftrace_page_next(struct ftrace_page *pg, struct ftrace_event *ret);

#endif
