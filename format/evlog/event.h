/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_EVLOG_EVENT_H
#define OPJIT_FORMAT_EVLOG_EVENT_H
/*
 * The typed events of the event log, decoded. The sampler makes them from what the kernel says, the live front of the
 * daemon adds JIT and process events, the log stores them, the resolver takes them in order of time.
 * Pointers belong to whoever made the struct and are valid during the call only.
 */
#include "format/jit/event.h"
#include "lib/util.h"

enum ev_type {
	EV_SAMPLE = 1,
	EV_MMAP = 2,      /* executable mapping (PERF_RECORD_MMAP2); pid -1: the kernel or a module */
	EV_COMM = 3,      /* name of a thread; with EV_COMM_EXEC the process has just exec'd */
	EV_FORK = 4,      /* pid/tid: the new one; u.fork.ppid/ptid its parent. Same pid: a thread */
	EV_EXIT = 5,
	EV_LOST = 6,      /* u.lost.count records of this cpu were lost before this time */
	EV_KSYMBOL = 7,   /* eBPF programs and the like come and go */
	EV_JIT = 8,       /* one jit_event of source u.jit.source, time_ns = when it was read */
	EV_JITSRC = 9,    /* a JIT source of pid was found */
	EV_PROC = 10,     /* identity of a process, read from /proc at start or exec */
	EV_SYNC = 11,     /* nothing older than time_ns will come in this stream */
	EV_MUNMAP = 12,   /* [addr, addr + len) is gone (synthesised; perf does not tell unmaps) */
	EV_EVENTDESC = 13, /* one counted event: index, name, period, … */
	EV_THROTTLE = 14,
	EV_TYPE_MAX
};

enum ev_cpumode { EV_KERNEL = 1, EV_USER = 2, EV_HYPERVISOR = 3, EV_UNKNOWN_MODE = 0 };

#define EV_MAX_FRAMES 1024   /* longest call chain that is kept */
#define EV_MAX_PATH 4096

struct ev {
	uint32_t type;         /* enum ev_type */
	uint32_t cpu;          /* UINT32_MAX = none */
	uint64_t time_ns;      /* CLOCK_MONOTONIC; order of the stream */
	int32_t pid, tid;      /* host's namespace; pid 0 = idle/swapper; -1 = none */
	union {
		struct {
			uint64_t ip;
			uint64_t period;
			uint32_t event;      /* index of EV_EVENTDESC */
			uint8_t mode;        /* enum ev_cpumode */
			uint8_t truncated;   /* chain was cut at the limit */
			uint32_t n_chain;    /* 0 = no chain asked; else chain[0] is the leaf itself */
			uint32_t n_kernel;   /* how many of the first chain entries are kernel addresses */
			const uint64_t *chain;
		} sample;
		struct {
			uint64_t addr, len, pgoff;
			uint64_t dev, ino, ino_gen; /* 0 when unknown */
			uint32_t prot, flags; /* PROT_*, MAP_* */
			const char *path;     /* as the kernel prints it: //anon, [heap], /memfd:x (deleted), … */
		} mmap; /* and EV_MUNMAP: addr, len */
		struct {
			const char *comm;
			uint32_t flags;
#define EV_COMM_EXEC 1u
		} comm;
		struct {
			int32_t ppid, ptid;
		} fork;
		struct {
			uint64_t count;
		} lost;
		struct {
			uint64_t addr, len;
			uint32_t unregister;
			const char *name;
		} ksymbol;
		struct {
			uint32_t source;      /* number given by EV_JITSRC */
			struct jit_event e;   /* tables (lines, inlines, unwind) are not carried in the log */
		} jit;
		struct {
			uint32_t source;      /* 1, 2, 3, … in the log */
			uint32_t kind;        /* enum jit_source_kind */
			uint64_t lag_ns;
			const char *instance; /* image of segment N is <session>/jit/<instance>/<N>.jo */
		} jitsrc;
		struct {
			uint64_t start_time;  /* clock ticks since boot, /proc/PID/stat field 22 */
			int32_t ppid, nspid;
			uint32_t uid;
			uint32_t exec_count;  /* counted by the sampler from 0 */
			const char *exe;      /* /proc/PID/exe, "" unknown */
			const char *app;      /* name for people: DESIGN §8, "java:App"; "" = base name of exe */
		} proc;
		struct {
			uint32_t index;
			const char *name;     /* e.g. "cpu-clock", "CPU_CLK_UNHALTED" */
			const char *desc;
			uint64_t count;       /* period (events a sample), or 0 when by frequency */
			uint64_t freq;        /* samples a second a CPU, or 0 */
			uint32_t um;          /* unit mask */
			uint32_t flags;       /* 1: is a timer (cpu-clock, task-clock) */
		} desc;
	} u;
};

/* Gets each event; negative stops the producer, which returns it. */
typedef int ev_sink_fn(void *arg, const struct ev *e);

#endif
