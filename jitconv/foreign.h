/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_JITCONV_FOREIGN_H
#define OPJIT_JITCONV_FOREIGN_H
/*
 * A file that another JIT writes (jitdump, perf map, OProfile dump) as a live source: the file is kept open and read
 * as far as it goes at each poll; regions get their place in an image that is made when it is asked for, from the same
 * file. What the file says is checked, memory does not grow with it. Not thread-safe.
 */
#include "format/jit/parser.h"

struct jit_foreign;

/* By its first bytes: a magic number, or text that begins with a hexadecimal number. 0 = none of them. */
enum jit_format jit_foreign_detect(const void *head, size_t len);
/* By its name: …/jit-<pid>.dump, …/perf-<pid>.map, …/<pid>.dump below jitdump/. 0 = none; *pid as the name says. */
enum jit_format jit_foreign_name(const char *path, int32_t *pid);

/*
 * Opens a file as process pid sees it: below rootfd (its /proc/PID/root; -1 and pid 0 for tools: a plain path), so containers
 * need no setting and nothing outside is read. Refused, with one line in *why (valid until the next call in this thread): -EPERM
 * (not owned by uid, the line says whose it is), -ENXIO (not a regular file), -ELOOP (symbolic link), -errno. uid
 * (uint32_t)-1 = any owner.
 */
int jit_foreign_open(struct jit_foreign **ret, enum jit_format format, int rootfd, int32_t pid, uint32_t uid, const char *path,
		     const char **why);
void jit_foreign_free(struct jit_foreign *f);
/* Whether the file has grown (or was written anew) since the last poll: one fstat. */
bool jit_foreign_pending(struct jit_foreign *f);
/* Delivers all that is new, at most max bytes of the file (0 = all that is there now). Events or -errno. */
int jit_foreign_poll(struct jit_foreign *f, uint64_t max, jit_event_fn *fn, void *arg);
/* The process is gone: a last line without newline counts. As poll. */
int jit_foreign_finish(struct jit_foreign *f, jit_event_fn *fn, void *arg);
void jit_foreign_stats(const struct jit_foreign *f, struct jit_parser_stats *ret);
enum jit_format jit_foreign_format(const struct jit_foreign *f);
/* A sealed image of all that was delivered so far. 0 or -errno. */
int jit_foreign_save(struct jit_foreign *f, int dirfd, const char *path);

/* Wraps it as a jit_source of the process; its instance is named after pid and file. Takes f over. */
struct jit_source;
int jit_foreign_source(struct jit_source **ret, struct jit_foreign *f);

/* Where regions without bytes lie in such an image; the others lie from JIT_FOREIGN_TEXT on. */
#define JIT_FOREIGN_TEXT 4096ull
#define JIT_FOREIGN_NOBITS (1ull << 33) /* behind the most text that an image may have */

#endif
