/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_EVLOG_EVLOG_H
#define OPJIT_FORMAT_EVLOG_EVLOG_H
/*
 * The event log `opel` as the pipeline uses it: events into pages, pages (in the order they were closed) into a file
 * and into the merge, events out by time. The file is the concatenation of the prefix and the pages; replaying it
 * gives the merge exactly what the live run gave it. Format: doc/format-evlog.md.
 */
#include "format/evlog/event.h"

/* --- writing ------------------------------------------------------------------------------------------- */
struct evlog_writer;
/* Gets each closed page (the prefix first, as a block of its own, len < page size), in arrival order. 0 or -errno. */
typedef int evlog_page_fn(void *arg, const void *page, size_t len);

struct evlog_writer_opts {
	uint32_t page_size;     /* power of two, 4 KiB … 64 KiB; 0 = 16 KiB */
	uint32_t n_streams;     /* data streams 1 … n; stream 0 is metadata. The pipeline uses cpu + 1, and ncpu + 1 for JIT */
	evlog_page_fn *page;
	void *arg;
};
int evlog_writer_new(struct evlog_writer **ret, const struct evlog_writer_opts *o);
void evlog_writer_free(struct evlog_writer *w);
/* Appends to a stream (single-threaded here). Time in a stream must not go back; one that does is raised to the last. */
int evlog_write(struct evlog_writer *w, uint32_t stream, const struct ev *e);
/* Promise that the stream has nothing older than time_ns to come; closes its page if it has events, or writes an
 * empty one if the end time moved. */
int evlog_writer_sync(struct evlog_writer *w, uint32_t stream, uint64_t time_ns);
/* Closes all pages and the log (CLOSELOG). */
int evlog_writer_finish(struct evlog_writer *w);

/* --- merging ------------------------------------------------------------------------------------------- */
struct evlog_merge;
/*
 * Events come out in order of (time_ns, stream, position). `early` (may be NULL) gets EV_JIT, EV_JITSRC, EV_PROC and
 * EV_EVENTDESC at once when their page is fed, so that a timeline can be filled ahead of the samples; they do not
 * come to `fn` again. All others come to `fn` when the watermark has passed them:
 * min over the streams of their end time, less lag_ns.
 */
int evlog_merge_new(struct evlog_merge **ret, uint64_t lag_ns, ev_sink_fn *fn, ev_sink_fn *early, void *arg);
void evlog_merge_free(struct evlog_merge *m);
/* Blocks exactly as the page callback gave them. -EBADMSG: the block was refused (counted), the next may be fed. */
int evlog_merge_feed(struct evlog_merge *m, const void *page, size_t len);
/* The lag may grow while it runs (a source with a larger one was found). */
void evlog_merge_set_lag(struct evlog_merge *m, uint64_t lag_ns);
/* End of the log: everything held comes out. */
int evlog_merge_finish(struct evlog_merge *m);

/* --- files --------------------------------------------------------------------------------------------- */
/* Reads a log from fd block by block and feeds the merge; see also pmclog.h for the record-wise reader. */
int evlog_replay_fd(int fd, struct evlog_merge *m, uint64_t *bad_blocks, uint64_t *cut_at);

#endif
