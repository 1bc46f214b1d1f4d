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
	/* All 0 = this machine, now. For converters, and for logs that must come out the same twice: */
	uint64_t anchor_mono_ns, anchor_real_ns; /* one instant by both clocks; used when anchor_real_ns is not 0 */
	const char *machine;
	bool other_order;       /* write in the byte order that is not the host's */
};
int evlog_writer_new(struct evlog_writer **ret, const struct evlog_writer_opts *o);
void evlog_writer_free(struct evlog_writer *w);
/* Appends to a stream (single-threaded here). Time in a stream must not go back; one that does is raised to the last.
 * An event that cannot be kept is counted as lost in its page's header (-ENOMEM, -EINVAL: not counted). After an
 * error of the page callback every call returns that. */
int evlog_write(struct evlog_writer *w, uint32_t stream, const struct ev *e);
/* Promise that the stream has nothing older than time_ns to come; closes its page if it has events, or writes an
 * empty one if the end time moved. */
int evlog_writer_sync(struct evlog_writer *w, uint32_t stream, uint64_t time_ns);
/* Says that `count` more records of the stream were dropped before they got here: an EV_LOST in the merge. */
int evlog_writer_lost(struct evlog_writer *w, uint32_t stream, uint64_t count);
/* What the clocks say at one instant, for the readers' wall-clock times from then on. All 0 = now. */
int evlog_writer_timesync(struct evlog_writer *w, uint64_t mono_ns, uint64_t real_ns);
/* Closes all pages and the log (CLOSELOG). */
int evlog_writer_finish(struct evlog_writer *w);

/* --- merging ------------------------------------------------------------------------------------------- */
struct evlog_merge;
/*
 * Events come out in order of (time_ns, stream, position). `early` (may be NULL) gets EV_JIT, EV_JITSRC, EV_PROC and
 * EV_EVENTDESC at once when their page is fed, so that a timeline can be filled ahead of the samples; they do not
 * come to `fn` again. All others come to `fn` when the watermark has passed them:
 * min over the streams of their end time, less lag_ns.
 * All n_streams of the writer count: one that has said nothing yet holds the others back, so the writer's owner
 * calls evlog_writer_sync for every stream each round. If somebody forgets, at most 64 MiB of pages are held;
 * then the oldest events come out without waiting (a rule of bytes, so live and replay still agree).
 * A step of a page's lost counter, or pages missing between two, become an EV_LOST at the page's base time; where
 * only pages are missing the count is their number: at least so many.
 */
int evlog_merge_new(struct evlog_merge **ret, uint64_t lag_ns, ev_sink_fn *fn, ev_sink_fn *early, void *arg);
void evlog_merge_free(struct evlog_merge *m);
/* Blocks exactly as the page callback gave them. -EBADMSG: the block was refused (counted), the next may be fed. */
int evlog_merge_feed(struct evlog_merge *m, const void *page, size_t len);
/* The lag may grow while it runs (a source with a larger one was found). */
void evlog_merge_set_lag(struct evlog_merge *m, uint64_t lag_ns);
/* End of the log: everything held comes out. May be called twice. */
int evlog_merge_finish(struct evlog_merge *m);
struct evlog_merge_stats {
	uint64_t events, early, late;     /* late: older than one that had come out already */
	uint64_t pages, bad_pages;        /* bad: refused, or with a rest that could not be read */
	uint64_t bad_meta, forced;        /* metadata records refused; events that came out without waiting */
	uint64_t held_bytes, most_held;
	uint64_t watermark_ns;
	bool closed;                      /* CLOSELOG was seen */
};
void evlog_merge_stats(const struct evlog_merge *m, struct evlog_merge_stats *ret);
/* Wall-clock time of a time in the log (realtime anchor of the metadata); 0 before the metadata. */
uint64_t evlog_merge_realtime(const struct evlog_merge *m, uint64_t time_ns);

/* --- files --------------------------------------------------------------------------------------------- */
/*
 * Reads a log from fd (file, pipe; from where it stands) block by block and feeds the merge; the caller then calls
 * evlog_merge_finish. A block that cannot be read costs itself alone: *bad_blocks counts those, reading goes on at the next
 * page header. *cut_at: UINT64_MAX if the log was closed, else the offset where it ends; whole events of a page
 * that was cut are delivered. Either may be NULL. 0, or -errno of read or of a sink; -EBADMSG, -EPROTONOSUPPORT,
 * -ENOTSUP when it does not begin as an event log that we can read. See also pmclog.h for the record-wise reader.
 */
int evlog_replay_fd(int fd, struct evlog_merge *m, uint64_t *bad_blocks, uint64_t *cut_at);

#endif
