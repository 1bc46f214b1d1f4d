/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_SAMPLER_PROCINFO_H
#define OPJIT_SAMPLER_PROCINFO_H
/* What /proc/PID tells about a process, and the name that people know it by. The process may go at any moment. */
#include "format/evlog/event.h"
#include "lib/strbuf.h"

struct procinfo {
	uint64_t start_time; /* clock ticks since boot; 0 = the process is gone */
	uint64_t vsize;      /* bytes; 0 for kernel threads and those that are ending */
	int32_t ppid, nspid, n_threads;
	uint32_t uid;
	char state;          /* R S D T Z … */
	char comm[64];
	char *exe;           /* "" unknown; a trailing " (deleted)" of the kernel is kept */
	char *app;           /* "" = base name of exe */
};

void procinfo_done(struct procinfo *p);
/* proc_root as in sampler_opts, not NULL. -ESRCH: gone; the fields that could be read before are set. */
int procinfo_read(struct procinfo *ret, const char *proc_root, int32_t pid);
/* Only /proc/PID/stat: start time, ppid, state, comm, vsize, number of threads. Nothing to free. */
int procinfo_read_stat(struct procinfo *ret, const char *proc_root, int32_t pid);
/* As above, and uid and nspid. */
int procinfo_read_ids(struct procinfo *ret, const char *proc_root, int32_t pid);

/* An EV_MMAP, stamped t, for each executable mapping of the process, as the kernel's records have them. 0, -errno, or what sink returned. */
int procinfo_mappings(const char *proc_root, int32_t pid, uint64_t t, uint32_t cpu, ev_sink_fn *sink, void *arg);

/*
 * The name for people: exe is the executable's path, args/len /proc/PID/cmdline (strings with a NUL each). Adds to sb
 * "java:App", "java:foo.jar", "mono:prog.exe", "node:app.js", … or nothing when the base name of exe says it all.
 */
void procinfo_app_name(struct strbuf *sb, const char *exe, const char *args, size_t len);

/* Whether we are in the machine's first pid namespace, or in one that cannot be told: then all processes have a pid for us. */
bool procinfo_first_pid_ns(void);

#endif
