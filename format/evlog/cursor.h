/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_EVLOG_CURSOR_H
#define OPJIT_FORMAT_EVLOG_CURSOR_H
/*
 * Reading one page, event by event, and the metadata that its events refer to. Allocates only for metadata.
 * Single-threaded per object.
 */
#include "format/evlog/wire.h"

/* --- metadata, as far as it was fed -------------------------------------------------------------------- */
struct evlog_user_event {
	char *name, *fields;
};

/* What the clocks said at one instant, told on the way. */
struct evlog_timesync {
	uint64_t clock, mono, real;
	uint64_t ns;           /* what `clock` is, so that times do not go back */
	uint64_t mult;         /* as evlog_meta's, from here on */
};
#define EVLOG_MAX_TIMESYNCS 65536u

struct evlog_meta {
	char **strings;        /* id -> string, NULL = unknown */
	uint32_t n_strings, strings_room;
	uint64_t string_bytes;
	bool have_init, closed;
	uint32_t version, n_streams, page_size, clock_kind;
	uint64_t freq_hz, anchor_clock, anchor_mono, anchor_real;
	uint64_t mult;         /* 32.32 nanoseconds a tick; used when clock_kind is EVLOG_CLOCK_TSC */
	struct evlog_timesync *syncs; /* ascending */
	uint32_t n_syncs, syncs_room;
	char machine[72];
	struct evlog_user_event user[32];
	uint16_t user_words[32]; /* payload words of registered events; 0 = the first word tells */
	uint64_t bad;          /* records refused */
};
#define EVLOG_CLOCK_MONOTONIC 1u /* times are nanoseconds of CLOCK_MONOTONIC */
#define EVLOG_CLOCK_TSC 2u       /* ticks of freq_hz; anchor_clock stands for anchor_mono */

void evlog_meta_done(struct evlog_meta *m);  /* frees and empties */
/* Takes in the used bytes of a metadata page; `last`: its header says that the log ends there, without which a
 * CLOSELOG in it is not believed. -EBADMSG: the rest of the page was left out. -ENOMEM. */
int evlog_meta_feed(struct evlog_meta *m, const void *data, size_t len, bool swap, bool last);
uint64_t evlog_meta_ns(const struct evlog_meta *m, uint64_t clock);
/* The wall clock at a time: by the last time sync that was not later, else by INIT. */
uint64_t evlog_meta_realtime(const struct evlog_meta *m, uint64_t ns);
/* Those of a log's syncs that were not written to another yet, for what copies it; *done counts them, first 0. */
struct evlog_writer;
int evlog_meta_copy_syncs(const struct evlog_meta *m, uint32_t *done, struct evlog_writer *w);
/* The meaning of times that carry over pages; NULL if nobody told this id. */
const char *evlog_meta_string(const struct evlog_meta *m, uint32_t id);

/* --- one page ------------------------------------------------------------------------------------------ */
struct evlog_slot {
	int32_t pid, tid;
	uint32_t cpu, event;
	uint64_t period;
	uint8_t mode, truncated;
};

struct evlog_cursor {
	const struct evlog_meta *meta;
	const uint8_t *data, *p, *end; /* p: the next event's head */
	bool swap, skip_early, ticks;
	/* The event peeked at: */
	uint32_t id;
	const uint8_t *at;      /* its head */
	const uint8_t *body;
	uint32_t body_len;
	uint64_t clock;         /* its time in the log's clock */
	uint64_t time_ns;
	uint64_t valid[4];      /* which slots this page has told */
	struct evlog_slot slots[256];
};

/* Room for a decoded event's chain and joined strings. */
struct evlog_scratch {
	uint64_t chain[EV_MAX_FRAMES];
};

void evlog_cursor_init(struct evlog_cursor *c, const struct evlog_meta *meta, const struct evlog_page *pg,
		       const void *data, bool swap);
/* Goes to the next event that is one (contexts and discarded ones are passed over). 1, 0 at the end of the page,
 * -EBADMSG: the rest of the page cannot be read (offset c->at - c->data). */
int evlog_cursor_next(struct evlog_cursor *c);
/* Decodes the event that _next stands on. Pointers in *e go into the page, the metadata and *s. 0, -EBADMSG, or
 * -ENOENT for a registered event that struct ev has no place for (body and id stand in the cursor). */
int evlog_cursor_decode(struct evlog_cursor *c, struct ev *e, struct evlog_scratch *s);
static inline bool evlog_id_is_early(uint32_t id)
{
	return id <= ID_EVENTDESC && (1u << id & (1u << ID_JIT | 1u << ID_JITSRC | 1u << ID_PROC | 1u << ID_EVENTDESC));
}

#endif
