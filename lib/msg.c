/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/msg.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/strbuf.h"

int msg_verbose;
static const char *msg_tool = "opjit";

void msg_init(const char *tool) { msg_tool = tool; }

static void say(const char *kind, const char *fmt, va_list ap, int err)
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP(65536);

	strbuf_addf(&sb, "%s: %s", msg_tool, kind);
	strbuf_vaddf(&sb, fmt, ap);
	if (err)
		strbuf_addf(&sb, ": %s", strerror(err));
	strbuf_addch(&sb, '\n');
	/* One write, so that lines of several processes do not mix. */
	fwrite(strbuf_str(&sb), 1, sb.len, stderr);
}

#define SAY(kind, err)                          \
	do {                                    \
		va_list ap;                     \
		va_start(ap, fmt);              \
		say(kind, fmt, ap, err);        \
		va_end(ap);                     \
	} while (0)

void msg_error(const char *fmt, ...) { SAY("error: ", 0); }
void msg_warn(const char *fmt, ...) { SAY("warning: ", 0); }
void msg_info(const char *fmt, ...) { SAY("", 0); }
void msg_debug(const char *fmt, ...)
{
	if (msg_verbose >= 1)
		SAY("", 0);
}

int msg_errno(int err, const char *fmt, ...)
{
	err = abs(err);
	SAY("error: ", err);
	return -err;
}
