/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_DAEMON_RESOLVER_H
#define OPJIT_DAEMON_RESOLVER_H
/*
 * Who was at this address of this process at this time: processes, their mappings, their JIT regions and the
 * kernel's modules, kept up to date by the events of the log in order of time (resolver_event), and by those that
 * the merge hands out ahead of time (resolver_early). The rules are in doc/attribution.md.
 *
 * A pure function of the events: no clock, no /proc, no file is looked at. Not thread-safe. Memory is bounded: each
 * list has a cap, what is refused is counted in resolver_stats.
 */
#include "format/evlog/event.h"
#include "lib/map.h"
#include "lib/util.h"

struct resolver;
struct proc;
struct jitsrc;

enum hit_class { /* one counter of struct session_totals each */
	HIT_KERNEL, HIT_NATIVE, HIT_JIT_METHOD, HIT_JIT_STUB, HIT_JIT_INTERPRETER, HIT_GAP, HIT_ANON, HIT_UNKNOWN,
};
enum hit_quality { HIT_PLAIN, HIT_EXACT, HIT_BACKDATED, HIT_AMBIGUOUS };
enum hit_image { HIT_FILE, HIT_KERNEL_IMAGE, HIT_JIT, HIT_RANGE }; /* = enum session_image_kind */

struct hit {
	enum hit_class class;
	enum hit_quality quality;
	enum hit_image image;
	const char *name;          /* path, module or range's name; not for HIT_JIT */
	struct jitsrc *source;     /* HIT_JIT */
	uint32_t segment;          /* HIT_JIT */
	uint64_t start, end;       /* HIT_RANGE */
	uint64_t key;
	uint64_t region_id;        /* HIT_JIT; for tests and traces */
	uint64_t cache;            /* the same for the same image within the process and its exec; never 0 */
};

struct resolver_stats {
	uint64_t n_procs, n_sources, n_regions, region_bytes;
	uint64_t bad_events;       /* refused: contradictory, over a limit, of an unknown source */
	uint64_t max_lag_ns;       /* of all sources seen */
};

#define RESOLVER_MAX_LAG_NS (2 * NSEC_PER_SEC) /* a source that asks for more gets this */
#define RESOLVER_MAX_SOURCES 65536

int resolver_new(struct resolver **ret);
void resolver_free(struct resolver *r);
/* 0 or -ENOMEM; bad events are counted, not returned. EV_SAMPLE moves the time forward only. */
int resolver_event(struct resolver *r, const struct ev *e);
int resolver_early(struct resolver *r, const struct ev *e);
/* The process of a sample; makes one if it was never seen. NULL: out of memory. Valid until the next event. */
struct proc *resolver_proc(struct resolver *r, int32_t pid, uint64_t time_ns);
/* Always finds something. ip: the address to look up (a return address is given as ip - 1). */
void resolver_find(struct resolver *r, struct proc *p, uint64_t time_ns, uint64_t ip, enum ev_cpumode mode, struct hit *ret);
/*
 * Before n samples are looked up one by one: has the memory brought that their look-ups will read, all in parallel.
 * Changes nothing; with no event between, resolver_find then waits for little.
 */
struct resolver_ask {
	uint64_t ip;
	int32_t pid;
	enum ev_cpumode mode;
};
#define RESOLVER_MAX_ASK 64
void resolver_prefetch(const struct resolver *r, const struct resolver_ask *asks, size_t n);
void resolver_stats(const struct resolver *r, struct resolver_stats *ret);

/* What a process is called, valid until the next event; "" for a kernel thread. */
const char *proc_exe(const struct resolver *r, struct proc *p);
const char *proc_app(const struct resolver *r, struct proc *p);
int32_t proc_pid(const struct proc *p);
/* One of its sources may deliver code long after it was made (a dump that is written through a buffer). */
bool proc_delivers_late(const struct proc *p);
/* Image numbers of the caller's, kept with the process until it execs or ends: hit.cache -> number + 1. */
struct u64map *proc_cache(struct proc *p);

const char *jitsrc_instance(const struct jitsrc *s);
uint32_t jitsrc_number(const struct jitsrc *s);
/* The source of a number given by EV_JITSRC, or NULL. */
struct jitsrc *resolver_source(const struct resolver *r, uint32_t number);
/*
 * Whether a region of a perf map was the answer for any sample so far; of other kinds of sources and for unknown ones always
 * true: names that may be needed are kept.
 */
bool resolver_was_hit(struct resolver *r, uint32_t source, uint64_t id);

/* Ranges of the kernel and its modules, for the session's notes. */
typedef int resolver_kernel_fn(void *arg, const char *name, uint64_t start, uint64_t end);
int resolver_each_kernel(const struct resolver *r, resolver_kernel_fn *fn, void *arg);

#endif
