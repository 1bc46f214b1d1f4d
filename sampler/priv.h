/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_SAMPLER_PRIV_H
#define OPJIT_SAMPLER_PRIV_H
/* What the .c files of the sampler share. Nobody else includes it. */
#include <linux/perf_event.h>

#include "lib/map.h"
#include "sampler/evspec.h"
#include "sampler/perfrec.h"
#include "sampler/sampler.h"

#define SIDEBAND UINT32_MAX /* event number of the dummy that carries mmap, comm, fork and exit */

struct sampled {          /* one event that was asked for */
	struct evspec spec;
	struct perf_event_attr attr;
	bool shared_id;       /* the kernel may write another event's id: see is_double() */
	int fell_back;        /* errno for which cpu-clock stands in; 0 */
	char asked[128];      /* its name then */
};

struct sampler_fd {
	int fd;
	uint32_t event;       /* index of struct sampled, or SIDEBAND */
	uint32_t cpu;
	int32_t tid;          /* -1: whole CPU */
};

struct seen_sample { uint64_t time_ns, ip, id; int32_t tid; };

struct sampler_ring {
	int fd;               /* the event it was mapped from; owned by the list of fds */
	uint32_t cpu;
	void *base;
	size_t map_len;
	uint64_t head;        /* how far this drain goes */
	uint64_t last_ns;     /* of the last event given out: order is kept across drains */
	struct seen_sample given, held; /* of late threads: see is_double() */
	uint64_t lost_told;   /* records lost that an EV_LOST has told */
	uint64_t lost_early;  /* part of it that the kernel has yet to write itself */
};

struct known_proc {
	uint64_t start_time;
	uint64_t since_ns;    /* of its last fork, exec or first sight */
	uint32_t exec_count;
	int32_t ppid, nspid;
	uint32_t uid;
	bool fresh_exec;      /* nothing was mapped since its last exec */
	char *exe, *app;
};

struct pid_at { int32_t pid; uint64_t time_ns; };

/* What tells of a process, kept until all rings were drained: each has its part of it, and only together are they in order. */
struct pending {
	uint64_t time_ns;
	uint32_t nth;         /* of those of one time, as they came */
	int32_t pid, ppid;
	uint32_t what;        /* EV_FORK, EV_COMM (an exec), EV_MMAP, EV_EXIT; EV_SAMPLE: seen in one, and not known yet */
};

struct sampler {
	struct sampler_opts o;
	char *proc_root;
	int32_t *pids;
	int *pidfds;
	size_t n_pids;
	struct sampled *events;
	size_t n_events;
	struct perf_event_attr sideband;
	uint32_t *cpus;
	size_t n_cpus;
	struct sampler_fd *fds;
	size_t n_fds, room_fds;
	struct sampler_ring *rings;
	size_t n_rings;
	int epfd;
	bool disabled;        /* sampler_disable was called: the next drain settles the lost counts */
	bool settled;
	struct u64map ids;    /* perf event id -> 1 + index of fds */
	uint64_t last_id;     /* memo of the last look-up */
	struct sampler_fd last_owner;
	struct sampler_fd stray_owner; /* drain.c: of samples with a foreign id */
	bool stray_known, stray_one;
	int32_t *first_tids;  /* PIDS: the threads there were before anything was opened */
	size_t n_first_tids;
	struct u64map have;   /* PIDS: tids that have events of their own */
	struct u64map late;   /* tid -> order << 32 | tid of the thread whose own events count; see is_double() */
	bool any_late, scanned;
	uint64_t opened_ns, opened_ticks; /* end of the last scan; of the first ones */
	struct u64map procs;  /* pid -> 1 + index of known */
	struct known_proc *known;
	size_t n_known, room_known;
	uint32_t *free_known;
	size_t n_free, room_free;
	int32_t last_pid;     /* known for sure */
	struct pending *pending;
	size_t n_pending, room_pending, n_seen; /* n_seen of them are EV_SAMPLE */
	struct u64map seen;   /* the pids of those */
	uint64_t synth_ns;    /* time of sampler_synthesize */
	uint64_t told_ns;     /* time of the last event without a CPU */
	struct pid_at *exits; /* those that the drain before saw first, n_exits_before of them */
	size_t n_exits, n_exits_before, room_exits;
	struct perfrec_parser parser;
	uint8_t *bounce;
	struct order { uint64_t time_ns, at; } *order;
	size_t room_order;
	struct sampler_stats stats;
};

/* target.c: which CPUs and threads. */
int target_cpus(uint32_t **ret, size_t *n);
int target_threads(const char *proc_root, int32_t pid, int32_t **ret, size_t *n);
/* Its numbers are not ours: it was mounted in another pid namespace. */
bool target_foreign_proc(const char *proc_root);

/* open.c, in this order */
int open_first(struct sampler *s, struct strbuf *why);
int open_events(struct sampler *s, struct strbuf *why);
int open_rings(struct sampler *s, struct strbuf *why);
int open_tasks(struct sampler *s, struct strbuf *why);
/* PIDS, once more before the start: threads that were half made during the first scans. */
int open_stragglers(struct sampler *s, struct strbuf *why);
void sampler_notice(struct sampler *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* track.c: which processes are known, and their EV_PROC. */
int track_event(struct sampler *s, const struct ev *e, ev_sink_fn *sink, void *arg); /* after e was given out */
int track_sample(struct sampler *s, const struct ev *e);
/* When all rings were drained: what they told up to until_ns. */
int track_pending(struct sampler *s, uint64_t until_ns, ev_sink_fn *sink, void *arg);
void track_forget(struct sampler *s); /* at the end of a drain */
/* Reads /proc/pid and emits EV_PROC; exec: the count goes up. */
int track_read(struct sampler *s, int32_t pid, uint64_t time_ns, uint32_t cpu, bool exec, ev_sink_fn *sink, void *arg);
void track_done(struct sampler *s);

/* synth.c */
int synth_process(struct sampler *s, int32_t pid, uint64_t time_ns, uint32_t cpu, ev_sink_fn *sink, void *arg);

/* Grows *array of elements of size so that it has room for need ones. 0 or -ENOMEM. */
int grow(void *array, size_t *room, size_t need, size_t size);

#endif
