/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_CONTROL_JVMFLAG_H
#define OPJIT_CONTROL_JVMFLAG_H
/*
 * A flag (-XX:…) of a running HotSpot JVM, read from outside through the tables that the VM exports for its
 * serviceability agent. Needs the right to read the process's memory (ptrace access).
 *
 * Why it is written to as well: JDK 21 and later print a warning on the program's stderr when an agent is attached, unless
 * EnableDynamicAgentLoading was given on the command line. Marking the flag's origin as "command line" for the time of the
 * attach keeps the program's output what it was. One 4-byte word is changed, only if it reads exactly as a flag at its
 * default does, and put back, unless the VM gives no answer: it may load the agent later.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct jvmflag {
	pid_t pid;
	uint64_t value_addr, origin_addr;
	uint32_t origin_word; /* as read */
	bool value;
};

/* A flag of type bool. 0; -ENOENT: this VM has no such flag; -EPERM, -ESRCH and others: it cannot be looked at. */
int jvmflag_read(struct jvmflag *ret, pid_t pid, const char *name);
/* Whether it was given by the user (command line, environment or file). */
bool jvmflag_is_set(const struct jvmflag *f);
/* As if given on the command line. 0 or -errno, -EBUSY if it changed meanwhile. */
int jvmflag_mark_set(const struct jvmflag *f);
/* Where a flag cannot be read: whether +NAME was asked for, on the command line or in the environment. The last of + and - wins. */
bool jvmflag_asked(pid_t pid, const char *name);
/* Back to what jvmflag_read saw. */
void jvmflag_restore(const struct jvmflag *f);

#endif
