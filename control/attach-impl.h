/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_CONTROL_ATTACH_IMPL_H
#define OPJIT_CONTROL_ATTACH_IMPL_H
/* Between the caller's side of an attempt (attach.c) and the child that makes it (attach-child.c). */
#include <stdbool.h>

#include "control/attach.h"
#include "lib/util.h"

struct verdict { /* from the child to the parent, through a pipe, in one piece */
	int result;
	char why[1024];
};
_Static_assert(sizeof(struct verdict) < 4096, "a write to a pipe is atomic");

/* Returns v. */
struct verdict *verdict_set(struct verdict *v, int result, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* In the child: writes the verdict to fd and ends. */
_Noreturn void attach_child(int fd, pid_t pid, const char *agent, const char *options, unsigned int timeout_ms, bool quiet_only);

#endif
