/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_LIB_MSG_H
#define OPJIT_LIB_MSG_H
/*
 * What a tool says to its user, on stderr, one line each, prefixed with the tool's name. Libraries do not call
 * these; they return an error and the tool says it once: what, where, what to do.
 */
#include "lib/util.h"

/* The tool's name for the prefix; not copied. Call first in main. */
void msg_init(const char *tool);
/* Lines of msg_debug appear when the level is ≥ 1. */
extern int msg_verbose;
void msg_error(const char *fmt, ...) PRINTF_LIKE(1, 2);
void msg_warn(const char *fmt, ...) PRINTF_LIKE(1, 2);
void msg_info(const char *fmt, ...) PRINTF_LIKE(1, 2);
void msg_debug(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* As msg_error, followed by ": " and the text of the errno (given positive or negative). Returns -|err|. */
int msg_errno(int err, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
