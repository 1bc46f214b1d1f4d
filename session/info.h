/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_SESSION_INFO_H
#define OPJIT_SESSION_INFO_H
/*
 * The `info` file of a generation: lines of key=value in a fixed order, so equal sessions have equal bytes. Escapes in
 * keys of notes and in values: \\, \n, and \xHH for every other control byte. doc/format-session.md lists the keys.
 */
#include "session/session.h"

#define SESSION_INFO_MAX ((size_t)16 << 20)
#define SESSION_MAX_EVENTS 4096

struct session_note {
	char *key, *value;
};

struct session_info {
	char *cpu_type;
	double mhz;
	bool stacks;
	struct session_event *events;   /* strings owned */
	size_t n_events;
	struct session_totals totals;
	struct session_note *notes;     /* sorted by key */
	size_t n_notes;
};

void session_info_done(struct session_info *i);
/* Strings are copied. index ≤ n_events (appends) or an existing one (replaces). */
int session_info_event(struct session_info *i, size_t index, const struct session_event *e);
int session_info_note(struct session_info *i, const char *key, const char *value);
const char *session_info_get(const struct session_info *i, const char *key);
/* EVENT.COUNT.UM of event k as it stands in paths. */
int session_info_event_path(const struct session_info *i, size_t k, struct strbuf *ret);
int session_info_copy(struct session_info *ret, const struct session_info *i);
int session_info_write(const struct session_info *i, struct strbuf *ret);
/* -EBADMSG and *line (from 1) for anything session_info_write does not make; unknown plain keys are skipped. */
int session_info_read(struct session_info *ret, const char *data, size_t len, unsigned int *line);

#endif
