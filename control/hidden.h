/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_CONTROL_HIDDEN_H
#define OPJIT_CONTROL_HIDDEN_H
/*
 * What can be told of a process that the kernel hides from its own user: with file capabilities (setcap on the program) or after
 * prctl(PR_SET_DUMPABLE, 0) /proc/PID/root, ns, maps and environ cannot be read, but status, mountinfo and the names of threads can.
 */
#include <stdbool.h>
#include <sys/types.h>

/*
 * Whether the /tmp of the process is the one that we have. 0 yes; -EXDEV no, or it cannot be said; -errno if nothing can be read. Mounts
 * have numbers that are unique on the machine, and a root elsewhere shows none that holds /tmp.
 */
int hidden_has_our_tmp(pid_t pid);
/* Whether it looks like a JVM by its name or by those of its threads. */
bool hidden_is_jvm(pid_t pid);

#endif
