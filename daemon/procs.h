/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_DAEMON_PROCS_H
#define OPJIT_DAEMON_PROCS_H
/* What the resolver keeps of processes and of their JIT sources. Private to resolver.c and procs.c. */
#include "daemon/jittl.h"
#include "daemon/maps.h"
#include "daemon/resolver.h"

#define PROC_MAX_REFS 32
#define PROC_MAX_INFOS 32

struct jitsrc {
	uint32_t number;
	uint32_t kind;
	int32_t pid;
	uint32_t refs;        /* processes that have it */
	bool bound;           /* some process had it */
	uint64_t found_ns;
	uint64_t lag_ns;
	uint64_t *pins;       /* times of forks after which a child still asks */
	size_t n_pins, pins_room;
	struct jittl *tl;
	char *instance;
	uint8_t *hits;        /* a perf map's: a bit for each region that has samples */
	size_t hits_bytes;
	bool hits_lost;       /* no memory for them: all count as hit */
};

struct srcref {
	struct jitsrc *src;
	uint64_t until_ns;    /* a forked child asks for what was there at the fork */
};

struct procinfo {         /* an EV_PROC; newest first */
	struct procinfo *next;
	uint64_t time_ns, start_time;
	uint32_t exec_count;
	uint32_t exe, app;    /* string ids */
};

struct proc {
	int32_t pid;
	uint32_t execs;
	uint64_t start_ns;    /* fork or first sight */
	uint64_t synth_ns;    /* first sight by something other than a fork: what is mapped then is older */
	uint64_t exec_ns;     /* when what it runs now began */
	uint64_t exit_ns;     /* 0 = lives */
	uint64_t seen_ns;     /* last sample */
	struct maps *maps;
	struct srcref refs[PROC_MAX_REFS];
	uint32_t n_refs;
	bool named, has_name; /* looked up; inherited from the parent */
	uint32_t exe, app, comm;
	uint32_t first_path;  /* first file mapped since the exec; 0 = none */
	struct u64map cache;
};

struct resolver {
	struct strpool strings;
	struct u64map procs;      /* pid -> struct proc * */
	struct u64map infos;      /* pid -> struct procinfo * */
	struct u64map sources;    /* number -> struct jitsrc * */
	struct u64map instances;  /* hash of the name -> number */
	struct jitsrc **unbound;
	size_t n_unbound, unbound_room;
	struct maps *kernel, *bpf;
	uint64_t vmlinux_base;
	uint64_t now_ns;
	struct proc *last;        /* of the last sample */
	struct exited {
		int32_t pid;
		uint64_t at_ns;
	} *exited;                /* in order of time, from exited_head on */
	size_t exited_head, n_exited, exited_room;
	uint64_t bad, max_lag_ns;
	char path[EV_MAX_PATH];   /* for deriving names */
};

/* String id; "" is 0. Refused ones (out of memory, too many) are 0 too. */
uint32_t resolver_string(struct resolver *r, const char *s);
const char *resolver_str(const struct resolver *r, uint32_t id);

struct proc *procs_get(const struct resolver *r, int32_t pid);
struct proc *procs_make(struct resolver *r, int32_t pid, uint64_t time_ns, bool synth);
int procs_fork(struct resolver *r, int32_t pid, int32_t ppid, uint64_t time_ns);
void procs_exec(struct resolver *r, struct proc *p, uint64_t time_ns);
int procs_exit(struct resolver *r, struct proc *p, uint64_t time_ns);
/* Frees what exited long before now. */
void procs_sweep(struct resolver *r);
void procs_free_all(struct resolver *r);
int procs_info(struct resolver *r, const struct ev *e);

int sources_add(struct resolver *r, const struct ev *e);
/* The instance named by a marker's path is p's from now on. */
void sources_marker(struct resolver *r, struct proc *p, const char *path, uint64_t time_ns);
/* Those that no marker told of: by pid. */
void sources_bind_pid(struct resolver *r, struct proc *p, uint64_t time_ns);
void sources_free_all(struct resolver *r);

#endif
