/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_EVLOG_RECORDER_H
#define OPJIT_FORMAT_EVLOG_RECORDER_H
/*
 * Flight recorder for pages: keeps the newest bytes that a writer handed out, in memory, and saves them as a log of
 * its own. What the samples need to be named (mappings, names, forks, JIT events, identities, event descriptions)
 * is kept from pages that go, too, in compact form up to a limit of its own. Single-threaded.
 *
 *	struct evlog_recorder *r;
 *	evlog_recorder_new(&r, 64 << 20, 0);
 *	writer_opts.page = evlog_recorder_page, .arg = r;     // or call it from one's own page callback
 *	…
 *	evlog_recorder_save(r, evlog_fd_page, &fd);           // as often as wanted; recording goes on
 */
#include "format/evlog/evlog.h"

struct evlog_recorder;
/* max_bytes: of pages with samples. history_bytes: of what outlives them; 0 = max_bytes. */
int evlog_recorder_new(struct evlog_recorder **ret, uint64_t max_bytes, uint64_t history_bytes);
void evlog_recorder_free(struct evlog_recorder *r);
/* An evlog_page_fn; arg is the recorder. */
int evlog_recorder_page(void *r, const void *page, size_t len);
/* Hands a whole log to fn: prefix, pages, CLOSELOG. */
int evlog_recorder_save(struct evlog_recorder *r, evlog_page_fn *fn, void *arg);
struct evlog_recorder_stats {
	uint64_t held_bytes, history_bytes;
	uint64_t overwritten;      /* samples that were let go */
	uint64_t history_dropped;  /* other events that were let go: names may be missing for old processes */
};
void evlog_recorder_stats(const struct evlog_recorder *r, struct evlog_recorder_stats *ret);
/* An evlog_page_fn that writes to the descriptor at *(int *)arg. */
int evlog_fd_page(void *fd, const void *page, size_t len);

#endif
