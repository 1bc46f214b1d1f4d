/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_CONTROL_AGENTS_H
#define OPJIT_CONTROL_AGENTS_H
/*
 * How agents get into virtual machines, under operf and opd: by an argument of the command itself where the command
 * is a VM that understands it, and by attaching for VMs that appear later. The program's output and exit status stay
 * what they were; what cannot be done quietly is not done. Not thread-safe.
 *
 *	struct agents_opts o = { .size = sizeof(o) };
 *	agents_new(&a, &o);
 *	agents_prepare_command(a, argv, &new_argv);            // exec new_argv
 *	loop: agents_on_mmap(a, tgid, path), agents_on_exit(a, tgid) for each such event of the log,
 *	      agents_tick(a, said, arg) at least every 100 ms
 */
#include <stdint.h>
#include <sys/types.h>

#include "lib/strbuf.h"

struct agents; /* opaque */

struct agents_opts {
	size_t size;              /* sizeof(struct agents_opts) */
	bool off;                 /* --no-agents: every call below does nothing */
	bool no_java, no_mono;    /* single ones off */
	bool env;                 /* --agents=env: agents_environment sets JAVA_TOOL_OPTIONS */
	const char *jit_dir;      /* dir= for the agents; NULL = their own default ($OPJIT_DIR and so on) */
	uint64_t max_bytes;       /* max= ; 0 = their default */
	unsigned int grace_ms;    /* time a new JVM has to load an agent by itself; 0 = 300 */
	unsigned int timeout_ms;  /* for one attach; 0 = 10000 */
	unsigned int max_parallel; /* attaches at a time; 0 = 4 */
};

enum agents_vm { AGENTS_VM_NONE, AGENTS_VM_JAVA, AGENTS_VM_MONO };

/* -ENOMEM, -EINVAL. o may be NULL. */
int agents_new(struct agents **ret, const struct agents_opts *o);
void agents_free(struct agents *a); /* ends attaches that still run; NULL is allowed */

/*
 * The path of an agent: below $OPJIT_AGENT_DIR, beside this program in a build tree, else in the directory it was
 * installed to. NULL if it is in none of them. Owned by a.
 */
const char *agents_java_path(struct agents *a);
const char *agents_mono_dir(struct agents *a);
/* Whether Mono, which takes a name and no path, would find the module that way. */
bool agents_mono_finds_it(void);
/* The same for anything else: a file of the build tree's agents/SUBDIR, or installed. malloc'd, NULL if it is not there. */
char *agents_find(const char *subdir, const char *file);

/* What VM a program (found along PATH if it has no slash) is. */
enum agents_vm agents_identify(const char *program);

/*
 * *ret becomes a NULL-terminated array of copied strings, argv with an agent's option put in where argv[0] is a VM
 * that takes it, to be freed with agents_argv_free. 1 if something was put in, 0 if it is a plain copy, -ENOMEM.
 */
int agents_prepare_command(struct agents *a, char *const argv[], char ***ret);
void agents_argv_free(char **argv);
/* With opts.env: sets JAVA_TOOL_OPTIONS (adding to what is there) in this process; call in the child before exec. */
int agents_environment(struct agents *a);

/* What was done for whom: result 0 = agent loaded, -errno = not, text = one line for the user. */
typedef void agents_said_fn(void *arg, pid_t pid, int result, const char *text);

/* A process mapped this file executable. True if it is a JVM that now waits to be attached to. */
bool agents_on_mmap(struct agents *a, pid_t tgid, const char *path);
/* The process has an agent (its ring was seen): no attach. */
void agents_on_ring(struct agents *a, pid_t tgid);
void agents_on_exit(struct agents *a, pid_t tgid);
/* exec: a new program in the same process; what was known of it is forgotten. */
void agents_on_exec(struct agents *a, pid_t tgid);
/* Attach to this process now (operf --pid, opcontrol --attach), if it is a JVM without our agent. True if it is tried. */
bool agents_attach_now(struct agents *a, pid_t tgid);
/* Starts what is due, collects what is done. Never blocks. */
void agents_tick(struct agents *a, agents_said_fn *said, void *arg);
/* How many are waiting or under way. */
size_t agents_pending(const struct agents *a);

#endif
