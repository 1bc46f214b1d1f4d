/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_DAEMON_PIPELINE_H
#define OPJIT_DAEMON_PIPELINE_H
/*
 * Events in, session out: event log → merge by time → resolver → store. operf, opd and --replay go through it alike, so
 * a kept log gives the same store again. Single-threaded. All functions 0 or -errno.
 */
#include "daemon/account.h"
#include "format/evlog/evlog.h"

struct pipeline;

struct pipeline_opts {
	const char *session_dir;
	bool append;
	uint32_t n_cpus;            /* streams: cpu + 1, and n_cpus + 1 for the live front; replay: 0 */
	struct account_opts account;
	const char *log_path;       /* keep the log here; NULL = no */
	uint64_t flight_bytes;      /* keep only the last so many bytes of sample pages, in memory, until saved; 0 = all */
	const char *cpu_type;       /* NULL = "CPU with timer interrupt" */
	double mhz;
	bool no_sync;               /* tests and replays */
};

struct pipeline_stats {
	uint64_t log_bytes;
	int log_error;              /* the log ended early: -errno of the write */
	struct evlog_merge_stats merge;
	struct resolver_stats resolver;
};

int pipeline_new(struct pipeline **ret, const struct pipeline_opts *o);
void pipeline_free(struct pipeline *p); /* without flushing */
/* Live: an event of a cpu (UINT32_MAX: of the live front). */
int pipeline_event(struct pipeline *p, const struct ev *e);
/* Nothing older than cpu_ns comes from any cpu, nothing older than front_ns from the front. */
int pipeline_sync(struct pipeline *p, uint64_t cpu_ns, uint64_t front_ns);
/* Everything held comes out. */
int pipeline_finish(struct pipeline *p);
/* Reads a log instead of live events. *cut_at and *bad_blocks as evlog_replay_fd. */
int pipeline_replay(struct pipeline *p, int fd, uint64_t *bad_blocks, uint64_t *cut_at);
/* Commits what was counted so far. */
int pipeline_flush(struct pipeline *p);
/* opcontrol --reset: what was counted is forgotten, processes and code stay known. */
int pipeline_reset(struct pipeline *p);
/* opcontrol --save: what was counted is kept under a name; counting begins anew. */
int pipeline_save(struct pipeline *p, const char *name);
/* How long after its time a sample may still be held, waiting for records about the code it lies in. */
uint64_t pipeline_lag_ns(const struct pipeline *p);
/* Memory that a flush would free. */
size_t pipeline_store_bytes(const struct pipeline *p);
/* Flight recorder: writes what is kept to path (atomically). */
int pipeline_save_log(struct pipeline *p, const char *path);

struct account *pipeline_account(struct pipeline *p);
struct resolver *pipeline_resolver(struct pipeline *p);
const struct session_totals *pipeline_totals(struct pipeline *p);
void pipeline_stats(const struct pipeline *p, struct pipeline_stats *ret);
/* Whether what is counted first is a clock: then no model of CPU is named. */
bool pipeline_is_timer(const char *const *events, size_t n);
/* Model name and MHz of this machine's CPU, from proc_root/cpuinfo. */
void pipeline_cpu(const char *proc_root, struct strbuf *name, double *mhz);

#endif
