/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_TESTS_FAKEJIT_POST_H
#define OPJIT_TESTS_FAKEJIT_POST_H
/* The ways in which a JIT can tell what it did, with the lateness and the losses that real ones have. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum post_kind { POST_OPAGENT, POST_DROPIN, POST_JITDUMP, POST_PERFMAP, POST_OPDUMP, POST_NONE };

struct post; /* one source; several in one process are several JITs, or one that tells it in several ways */

struct post_event {
	char what;             /* 'L'oad, 'U'nload, 'M'ove */
	uint64_t time_ns;      /* the truth */
	uint32_t late_us;      /* what is said of an unload: so late it may be */
	uint64_t addr, from, size;
	const void *code;
	char name[64];
};

/* lag_ms: what the source says of itself (full API only); dir: where files go that have no fixed place. */
struct post *post_open(enum post_kind kind, unsigned int lag_ms, const char *dir);
/* Says it now. */
void post_say(struct post *p, const struct post_event *e);
void post_close(struct post *p);
/* In a forked child: files of its own where the source needs that. */
void post_forked(struct post *p);

/* What is put in is said delay_ms later, by a thread of its own, with the stamp it has. */
void post_later(struct post *p, const struct post_event *e, unsigned int delay_ms);
/* Until all that was put in is said. */
void post_drain(void);

uint64_t post_now(void);
#endif
