/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_CONTROL_ATTACH_H
#define OPJIT_CONTROL_ATTACH_H
/*
 * Loads a JVMTI agent into a running HotSpot JVM through its dynamic attach protocol; no JDK tool is needed.
 *
 * How it goes: a file .attach_pid<N> in the target's /tmp or working directory asks for the listener, SIGQUIT wakes
 * the VM, which then listens on the UNIX socket /tmp/.java_pid<N>; N is the pid as the target sees itself, and paths
 * are the target's, reached through /proc/PID/root. The VM accepts only its own effective uid and gid or root's, so the work is
 * done in a child process that takes over the target's ids and waits there: nothing here blocks or changes the caller.
 *
 * SIGQUIT is sent once, to a VM that is asked by nobody else: one that finds nobody asking, or that listens already, answers it with a
 * thread dump on the program's output. So of an attempt that is given up before the VM reacts, .attach_pid<N> stays, until the next
 * attempt. The file is made in /tmp where that is possible.
 *
 * The agent must be readable at the target's end. Where it is not (another mount namespace, a directory closed to the
 * target's user), it is copied into the target's /tmp, owned by the target, and removed again once it is loaded.
 *
 * A VM with file capabilities hides /proc/PID/root from its own user: then /tmp is its /tmp if both have the same mount there.
 *
 * Refusals that are found before anything is touched: no such process, not a JVM, zombie or exiting, stopped, SIGQUIT not
 * caught (-Xrs: the signal would kill it), attach disabled on the command line. Every failure is one line that
 * says what happened and what to do.
 */
#include <sys/types.h>

#include "lib/strbuf.h"

struct attach; /* one attempt under way */

/*
 * Starts one. agent_path is absolute; options (may be NULL or "") go to Agent_OnAttach as they are. *ret only on
 * success. quiet_only: rather fail (-EOPNOTSUPP) than let the VM print its warning of late agents (JDK 21 and later; control/jvmflag.h
 * tells how it is avoided). -errno if the child cannot be made; every other refusal comes from attach_poll.
 */
int attach_start(struct attach **ret, pid_t pid, const char *agent_path, const char *options, unsigned int timeout_ms,
		 bool quiet_only);
/* Becomes readable when attach_poll will give the result. */
int attach_fd(const struct attach *a);
pid_t attach_pid(const struct attach *a);
/*
 * -EAGAIN while it goes on, else the result, with a line in *why (may be NULL) that tells how or why not. Never blocks.
 * 0 loaded; -ESRCH no such process; -ENOEXEC not a HotSpot JVM; -EOPNOTSUPP attach disabled or SIGQUIT not caught;
 * -EBUSY stopped; -ETIMEDOUT no answer; -EPERM, -EACCES not ours; -EPROTO an answer that is none; -ECANCELED the VM
 * or the agent refused (its words are in *why).
 */
int attach_poll(struct attach *a, struct strbuf *why);
/* Ends the child if it still runs. NULL is allowed. */
void attach_free(struct attach *a);

/* All of the above, waiting up to timeout_ms (it returns a little later at most). */
int attach_jvm(pid_t pid, const char *agent_path, const char *options, unsigned int timeout_ms, struct strbuf *why);

#endif
