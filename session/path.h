/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_SESSION_PATH_H
#define OPJIT_SESSION_PATH_H
/*
 * The path of a sample file below its generation, and back. Reversible for any bytes; doc/format-session.md has the
 * rules of escaping.
 *
 *	/{root}/usr/bin/java/{app:java:Main}/{dep}/{root}/lib/libc.so.6/cpu-clock.100000.0.all.all.all
 */
#include "session/session.h"

#define SESSION_MAX_PATH 65536   /* of one sample file, escaped */

/* As in the file name: EVENT.COUNT.UM; with a frequency in place of a count, COUNT is fHZ. `twin` > 0 tells apart
 * events that are equal in all of these. */
int session_path_event(struct strbuf *ret, const struct session_event *e, unsigned int twin);
/* Appends the path. event: what session_path_event gave. -E2BIG above SESSION_MAX_PATH. */
int session_path_make(struct strbuf *ret, const struct session_file *f, const char *event);
/*
 * Takes a path to pieces. *strings gets the bytes that the fields of *f point into and must outlive it; *event becomes
 * the EVENT.COUNT.UM part (also inside strings). f->event is not set. -EBADMSG for anything session_path_make does not make.
 */
int session_path_parse(const char *path, struct session_file *f, const char **event, char **strings);

/*
 * Where that file is below its generation: the path without its first '/'; one that the filesystem or a walk of directories
 * could refuse (very long, or very deep) is {long}/SLOT, the number of its entry in `names`.
 */
int session_path_location(struct strbuf *ret, const char *path, uint32_t slot);

/* One component: escapes everything that is special in a path of ours. */
int session_escape(struct strbuf *ret, const char *s, size_t len, const char *also);
/* Back, in place. False: not something session_escape makes. */
bool session_unescape(char *s);

#endif
