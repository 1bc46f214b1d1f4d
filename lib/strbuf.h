/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_LIB_STRBUF_H
#define OPJIT_LIB_STRBUF_H
/*
 * A byte buffer that grows up to a cap. `buf` is always NUL-terminated once anything was added (the NUL is not
 * counted in len), so it serves for strings and for bytes.
 *
 *	struct strbuf sb = STRBUF_INIT;           // cap 64 MiB
 *	strbuf_addf(&sb, "%s.%u", name, n);
 *	if (sb.error) …                           // one check at the end is enough
 *	strbuf_done(&sb);
 *
 * Errors are sticky: after -ENOMEM or -E2BIG (cap) nothing more is added and every call returns the error.
 * Not thread-safe per object.
 */
#include <stdarg.h>

#include "lib/util.h"

struct strbuf {
	char *buf;
	size_t len;
	size_t room;
	size_t cap; /* most bytes it may hold */
	int error;  /* 0 or -errno */
};

#define STRBUF_CAP ((size_t)64 << 20)
#define STRBUF_INIT { .cap = STRBUF_CAP }
#define STRBUF_INIT_CAP(n) { .cap = (n) }
#define AUTO_STRBUF AUTO(strbuf_done) struct strbuf

void strbuf_done(struct strbuf *sb);           /* frees, and empties */
void strbuf_reset(struct strbuf *sb);          /* len 0, keeps the memory, clears the error */
int strbuf_reserve(struct strbuf *sb, size_t more);
int strbuf_add(struct strbuf *sb, const void *data, size_t len);
int strbuf_addstr(struct strbuf *sb, const char *s);
int strbuf_addch(struct strbuf *sb, char c);
int strbuf_addf(struct strbuf *sb, const char *fmt, ...) PRINTF_LIKE(2, 3);
int strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
/* The string, never NULL ("" when empty). Owned by sb. */
const char *strbuf_str(const struct strbuf *sb);
/* Hands the memory to the caller (free()); sb is empty afterwards. NULL if sb had an error. */
char *strbuf_steal(struct strbuf *sb);

#endif
