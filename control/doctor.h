/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_CONTROL_DOCTOR_H
#define OPJIT_CONTROL_DOCTOR_H
/*
 * opcontrol --doctor: what stands between the samples of a process (or of all processes) and their names, and what mends it. Looks
 * from outside; changes nothing, attaches to nothing. Prints lines of "ok", "note" and "MEND", with the switch or command.
 */
#include "control/agents.h"
#include "lib/util.h"

struct doctor {
	struct agents *agents;
	const char *session_dir, *run_dir, *proc_root;
	unsigned int n_mend;      /* things to mend said so far */
};

/* The machine, and each process that has generated code. 0 or -errno. */
int doctor_machine(struct doctor *d);
/* One process. -ESRCH: there is none (said). */
int doctor_process(struct doctor *d, int32_t pid);

/* --- between the two files ------------------------------------------------------------------------------ */
void doctor_ok(const char *topic, const char *fmt, ...) PRINTF_LIKE(2, 3);
void doctor_note(const char *topic, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* What is wrong; the line below says what mends it (NULL = nothing can). */
void doctor_mend(struct doctor *d, const char *topic, const char *mend, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* What the maps, the command line and the environment of a process tell. */
struct doctor_facts {
	int32_t pid, nspid;
	uint32_t uid;
	char state;
	bool other_ns;             /* pids or mounts of its own */
	struct strbuf cmdline, environ; /* strings with a NUL each */
	char exe[256];             /* base name */
	struct strbuf libs;        /* base names of files mapped executable, each between newlines */
	struct strbuf markers, dumps; /* paths, a NUL each */
	uint64_t anon_bytes;       /* executable memory without a file */
	unsigned int n_anon;
};
void doctor_facts_done(struct doctor_facts *f);
/* 0, -ESRCH, -EACCES. */
int doctor_facts_read(struct doctor_facts *f, const char *proc_root, int32_t pid);
bool doctor_has_word(const struct strbuf *strings, const char *word);
bool doctor_has_lib(const struct doctor_facts *f, const char *prefix);

struct doctor_sources { /* sums over the sources of a process */
	unsigned int n, n_refused;
	uint64_t records, methods;
};
/* Opens, reads and tells each source of the process. */
void doctor_look_for_sources(struct doctor *d, const struct doctor_facts *f, struct doctor_sources *ret);
/* Its runtime, and what it was told and what not. */
void doctor_runtime(struct doctor *d, const struct doctor_facts *f, const struct doctor_sources *s);

#endif
