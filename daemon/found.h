/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_DAEMON_FOUND_H
#define OPJIT_DAEMON_FOUND_H
/*
 * Finds the files in which other JITs tell their code: jitdumps by their executable mapping, perf maps and
 * OProfile's dumps by looking for perf-PID.map in the process's own /tmp (and $TMPDIR) and .oprofile/jitdump/PID.dump there once it has anonymous executable memory. Files are opened as the
 * process sees them, also after it has exited. Single-threaded.
 */
#include "format/evlog/event.h"
#include "jitconv/source.h"

struct found;

/* A source was opened: taken over by the callee. Negative stops. */
typedef int found_fn(void *arg, struct jit_source *s, int32_t pid, uint64_t time_ns, const char *path);
/* A file was there but is not used: one line, without the process's number. */
typedef void found_refused_fn(void *arg, int32_t pid, const char *why);

int found_new(struct found **ret, const char *proc_root, found_fn *fn, found_refused_fn *refused, void *arg);
/*
 * Maps of these programs (a NULL-terminated list of how their names begin, which must live as long) are removed once
 * they are read: we had asked for them.
 */
void found_remove_maps_of(struct found *f, const char *const *programs);
void found_free(struct found *f);
/* Each EV_MMAP, EV_COMM (exec), EV_FORK and EV_EXIT. 0 or what fn returned. */
int found_event(struct found *f, const struct ev *e);
/* Every round: looks for maps that are due. */
int found_tick(struct found *f, uint64_t now_ns);

#endif
