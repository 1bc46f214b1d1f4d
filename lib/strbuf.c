/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/strbuf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void strbuf_done(struct strbuf *sb)
{
	free(sb->buf);
	*sb = (struct strbuf){ .cap = sb->cap };
}

void strbuf_reset(struct strbuf *sb)
{
	sb->len = 0;
	sb->error = 0;
	if (sb->buf)
		sb->buf[0] = '\0';
}

int strbuf_reserve(struct strbuf *sb, size_t more)
{
	size_t need, room;
	char *p;

	if (sb->error)
		return sb->error;
	if (more > sb->cap || sb->len > sb->cap - more)
		return sb->error = -E2BIG;
	need = sb->len + more + 1;
	if (need <= sb->room)
		return 0;
	room = MAX(need, sb->room + sb->room / 2);
	room = MAX(room, (size_t)64);
	p = realloc(sb->buf, room);
	if (!p)
		return sb->error = -ENOMEM;
	sb->buf = p;
	sb->room = room;
	sb->buf[sb->len] = '\0'; /* an empty file that was read gives "" too */
	return 0;
}

int strbuf_add(struct strbuf *sb, const void *data, size_t len)
{
	int r = strbuf_reserve(sb, len);

	if (r < 0)
		return r;
	if (len)
		memcpy(sb->buf + sb->len, data, len);
	sb->len += len;
	sb->buf[sb->len] = '\0';
	return 0;
}

int strbuf_addstr(struct strbuf *sb, const char *s) { return strbuf_add(sb, s, strlen(s)); }
int strbuf_addch(struct strbuf *sb, char c) { return strbuf_add(sb, &c, 1); }

int strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap)
{
	va_list again;
	int n, r;

	if (sb->error)
		return sb->error;
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		return sb->error = -EINVAL;
	r = strbuf_reserve(sb, (size_t)n);
	if (r < 0)
		return r;
	vsnprintf(sb->buf + sb->len, (size_t)n + 1, fmt, ap);
	sb->len += (size_t)n;
	return 0;
}

int strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = strbuf_vaddf(sb, fmt, ap);
	va_end(ap);
	return r;
}

const char *strbuf_str(const struct strbuf *sb) { return sb->buf ? sb->buf : ""; }

char *strbuf_steal(struct strbuf *sb)
{
	char *p;

	if (sb->error || strbuf_reserve(sb, 0) < 0)
		return NULL;
	p = sb->buf;
	p[sb->len] = '\0';
	*sb = (struct strbuf){ .cap = sb->cap };
	return p;
}
