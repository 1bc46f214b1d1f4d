/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPEVLOG_RING_H
#define OPEVLOG_RING_H
/*
 * A ring of event-log pages that one thread (and the signal handlers that interrupt it) writes and one reader takes
 * whole pages from, in one process or through shared memory (no pointers inside). Two modes: the ring is full until the
 * reader takes pages, the newest events are dropped and counted; or flight recorder, the oldest page is overwritten
 * and its events are counted. What was written = what is read + what is counted, exactly.
 *
 * Writing takes no lock, makes no system call, never waits: not for the reader, which may have stopped or been
 * killed, and not for a writer it has interrupted. It is async-signal-safe and keeps errno. Several threads must not
 * write to one ring: each has its own, with its own stream number.
 *
 * The pages are those of an event log (doc/format-evlog.md); opevlog_file_* puts them into one.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OPEVLOG_FIRST_ID 18u   /* events of one's own: 18 … 27 */
#define OPEVLOG_LAST_ID 27u

struct opevlog_ring_opts {
	size_t size;            /* sizeof(struct opevlog_ring_opts) of the caller */
	uint32_t page_size;     /* power of two, 4096 … 65536; 0 = 16384 */
	uint32_t n_pages;       /* 2 … 4096; 0 = 8. One more is the reader's */
	uint32_t stream;        /* number of the stream, from 1 */
	int overwrite;          /* flight recorder */
	int tsc;                /* stamp with the CPU's counter, else CLOCK_MONOTONIC. Only x86 heeds it; the caller has
				 * seen that /sys/devices/system/clocksource/clocksource0/current_clocksource says
				 * "tsc": only then are stamps comparable between CPUs */
	uint16_t words[10];     /* payload words of events 18 … 27; 0 = the first word tells */
};

struct opevlog_ring;

/* Bytes of memory that a ring needs; 0 for options that make no sense. */
size_t opevlog_ring_bytes(const struct opevlog_ring_opts *o);
/* Makes a ring in mem (aligned to 64; zeroed or not). NULL for options that make no sense or too little memory. */
struct opevlog_ring *opevlog_ring_make(void *mem, size_t bytes, const struct opevlog_ring_opts *o);
/* The ring that somebody made there, as the writer or the reader of another process. NULL if it is none. */
struct opevlog_ring *opevlog_ring_attach(void *mem, size_t bytes);

/* Writes one event. 0; -ENOBUFS: no room, counted as lost; -E2BIG, -EINVAL: not counted. Signal-safe. */
int opevlog_write(struct opevlog_ring *r, uint32_t id, const void *payload, uint32_t bytes);
/* Closes the page that is being written, if it has events, so that the reader can take it. May be called by the
 * writer's thread or by the reader. Signal-safe. */
void opevlog_ring_flush(struct opevlog_ring *r);

struct opevlog_reader {
	struct opevlog_ring *ring;
	uint32_t spare;         /* the page that is the reader's own */
	uint64_t told_lost;
	uint64_t bad;           /* pages that held no events one can read: let go, counted here */
	uint64_t events;        /* in the pages taken */
};
/* A reader, also in place of one that was killed: pages that it had taken are gone, all others come whole. */
int opevlog_reader_init(struct opevlog_reader *rd, struct opevlog_ring *r);
/* Takes the oldest complete page: 1, *page and *bytes (a block as it goes into a log), valid until the next take.
 * 0: there is none. `dead`: the writer is no more, so a page with an event half written will not become complete:
 * it is passed over. -EBADMSG: the ring's control words cannot be a writer's. */
int opevlog_reader_take(struct opevlog_reader *rd, int dead, const void **page, size_t *bytes);

struct opevlog_ring_stats {
	uint64_t dropped;       /* events that found no room */
	uint64_t overwritten;   /* events in pages that were overwritten unread */
};
void opevlog_ring_stats(const struct opevlog_ring *r, struct opevlog_ring_stats *ret);

/* --- a log file from rings ----------------------------------------------------------------------------- */
struct opevlog_file;
/* Begins a log on fd (not owned): prefix and metadata. tsc as the rings have it; calibration takes 20 ms then.
 * 0, -errno. */
int opevlog_file_new(struct opevlog_file **ret, int fd, uint32_t n_streams, int tsc);
/* Tells what an event is: name and fields ("u64 addr; u32 len"), words as the ring has them. 0, -EINVAL, -errno. */
int opevlog_file_event(struct opevlog_file *f, uint32_t id, const char *name, const char *fields, uint32_t words);
/* Writes every complete page of a ring. Pages written or -errno. */
int opevlog_file_drain(struct opevlog_file *f, struct opevlog_reader *rd, int dead);
/* CLOSELOG. Does not close fd. f is freed in any case. */
int opevlog_file_finish(struct opevlog_file *f);

#ifdef __cplusplus
}
#endif
#endif
