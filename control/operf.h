/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_CONTROL_OPERF_H
#define OPJIT_CONTROL_OPERF_H
/* The parts of operf: options (operf.c), a live run (run.c), the command's process (command.c), what is said (said.c). */
#include <sys/types.h>

#include "daemon/live.h"
#include "daemon/pipeline.h"
#include "lib/strbuf.h"
#include "sampler/sampler.h"

#define OPERF_MAX_PIDS 1024
#define OPERF_MAX_EVENTS 32

struct operf {
	/* what to watch */
	char **command;             /* NULL-terminated, or NULL */
	int32_t pids[OPERF_MAX_PIDS];
	size_t n_pids;
	bool system_wide, list;
	const char *replay;
	double from_s, to_s;        /* since the log's first sample; to 0 = the end */
	/* how */
	const char *events[OPERF_MAX_EVENTS];
	size_t n_events;
	uint64_t freq;
	bool callgraph, separate_thread, separate_cpu, append, verbose, quiet;
	const char *session_dir, *jit_dir, *vmlinux;
	bool keep_log;
	uint64_t flight_bytes;
	unsigned int no_agents;     /* RUNTIMES_… that are left alone */
	bool agents_env;
};

/* A run, live or replayed, to the session. The exit status for main. */
int operf_run(struct operf *o);
int operf_replay(struct operf *o);

/* --- command.c ----------------------------------------------------------------------------------------- */
struct command {
	pid_t pid;
	int go_fd;                  /* written once to let it exec */
	int error_fd;               /* tells the errno of a failed exec */
	bool done;
	int status;                 /* of waitpid */
};
/* Makes the process that will become argv, and holds it. setup (may be NULL) runs in it before the exec. */
int command_start(struct command *c, char **argv, void (*setup)(void *), void *arg);
/* Lets it go. 0, or -errno of its exec (it is gone then). */
int command_go(struct command *c);
/* Collects it if it has ended. */
void command_reap(struct command *c);
/* Ends a held or running command that must not go on. */
void command_kill(struct command *c);
/* The exit status of a shell for it: 128 + N for signals. */
int command_exit_status(const struct command *c);

/* --- said.c -------------------------------------------------------------------------------------------- */
void operf_progress(const struct session_totals *t, double seconds);
void operf_progress_end(void);
void operf_summary(const struct operf *o, const struct session_totals *t, const struct pipeline_stats *st, bool user_only);
uint64_t totals_samples(const struct session_totals *t);
uint64_t totals_named(const struct session_totals *t);

#endif
