/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_SAMPLER_SAMPLER_H
#define OPJIT_SAMPLER_SAMPLER_H
/*
 * perf_event_open to typed events. A sampler watches a command that the caller is about to start, processes that
 * run already, or the whole machine. All times are CLOCK_MONOTONIC. Single-threaded.
 *
 * Texts: every function that can be refused by the kernel fills `why` (a strbuf of the caller) with one line: what
 * the kernel did, the likely cause, the fix. The caller prints it. Notices (fallback to cpu-clock, smaller rings,
 * user space only) come through opts.notice, one line each.
 */
#include "format/evlog/event.h"
#include "lib/strbuf.h"

enum sampler_target { SAMPLER_COMMAND, SAMPLER_PIDS, SAMPLER_SYSTEM };

struct sampler_event {
	char *spec;       /* as the user wrote it: name[:count[:um[:k[:u]]]], rHEX, cpu-clock, a tracepoint */
};

struct sampler_opts {
	enum sampler_target target;
	const int32_t *pids;          /* SAMPLER_PIDS; SAMPLER_COMMAND: one, stopped before its exec */
	size_t n_pids;
	const char *const *events;    /* specs; none = cycles, else cpu-clock */
	size_t n_events;
	uint64_t freq;                /* samples a second a CPU for events without a count; 0 = 997 */
	bool callgraph;
	uint32_t max_stack;           /* 0 = the kernel's limit */
	uint32_t ring_pages;          /* data pages a CPU, power of two; 0 = 128 (512 KiB) */
	bool user_only;               /* forced by paranoid for non-root, said once */
	const char *proc_root;        /* NULL = /proc */
	void (*notice)(void *arg, const char *line);
	void *arg;
};

struct sampler;

struct sampler_stats {
	uint64_t samples, lost, throttled, records, bad_records;
	uint32_t n_fds, n_rings, ring_pages;
	bool user_only, fallback; /* fallback: cpu-clock in place of what was asked */
	bool no_system;           /* set when namespaces, ksymbol … were refused */
	uint64_t late_threads;    /* PIDS: found by a later scan, as they started while we attached */
	uint64_t doubles;         /* records of those that came twice and were given once */
	uint64_t setuid_exec;     /* tasks that the kernel took our events from, as they executed a set-uid program */
};

/* Opens events (disabled). COMMAND: enable_on_exec. */
int sampler_open(struct sampler **ret, const struct sampler_opts *o, struct strbuf *why);
void sampler_free(struct sampler *s);
/* Emits what exists already: EV_EVENTDESC, kernel and module mappings (path "vmlinux", else the module's name), and for
 * PIDS/SYSTEM every process with its EV_PROC, EV_COMM (one a thread), EV_MMAP. Call once after open. Stamp: the time of
 * the call, cpu UINT32_MAX. For PIDS and SYSTEM records of new mappings flow from sampler_open on, so nothing is missed
 * between reading /proc and sampler_enable. */
int sampler_synthesize(struct sampler *s, ev_sink_fn *sink, void *arg);
/* COMMAND: the exec does it; this is then a no-op. */
int sampler_enable(struct sampler *s);
/* Stops all events at once, also in children. The next drain gets the rest and settles what was lost to the last record. */
int sampler_disable(struct sampler *s);
/* A descriptor to poll(2) that becomes readable when a ring is half full. */
int sampler_fd(const struct sampler *s);
/* Takes everything the rings have, ring after ring (each in order of time), as events; ends with EV_SYNC for each
 * cpu, and one for cpu UINT32_MAX, stamped with the time before the drain began: nothing older comes later from that cpu.
 * A fork gives an EV_PROC (a copy of the parent's names), an exec another (read anew from /proc; names "" if it is gone). A
 * process that is first seen in a sample is read from /proc too: EV_PROC, EV_COMM, EV_MMAP. All of these have cpu UINT32_MAX
 * and come last, in order of time among themselves, whichever rings tell of them. A record of a ring that comes late
 * (time-stamped, then written after the ring was read) is moved up to the last time given out. A sink's negative answer ends the drain and is returned; the rest of that ring is gone. */
int sampler_drain(struct sampler *s, ev_sink_fn *sink, void *arg);
/* SAMPLER_PIDS: false when all of them have exited. */
bool sampler_alive(const struct sampler *s);
void sampler_stats(const struct sampler *s, struct sampler_stats *ret);
/* What the kernel counted of event index i so far, and how many records of it found no room. 0 or -errno. */
int sampler_event_totals(const struct sampler *s, uint32_t event, uint64_t *count, uint64_t *lost);

/* Every event that can be asked for here: the kernel's own, then libpfm4's for this CPU. min_count: the least count.
 * A non-zero answer of fn ends the list and is returned. */
typedef int sampler_list_fn(void *arg, const char *name, const char *desc, uint64_t min_count);
int sampler_list_events(sampler_list_fn *fn, void *arg);

#endif
