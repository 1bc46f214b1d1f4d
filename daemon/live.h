/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_DAEMON_LIVE_H
#define OPJIT_DAEMON_LIVE_H
/*
 * The live front of the pipeline: drains the sampler, finds JIT sources by their markers in the stream of mappings,
 * reads them, gives agents to VMs, and saves the images of JIT code into the session. Single-threaded.
 */
#include "control/agents.h"
#include "daemon/pipeline.h"
#include "sampler/sampler.h"

struct live;

struct live_opts {
	struct pipeline *pipeline;
	struct sampler *sampler;
	struct agents *agents;      /* NULL = none */
	const char *session_dir;    /* images go to DIR/jit/INSTANCE/N.jo */
	const char *registry;       /* file that gets a line for each instance found; NULL = none */
	const char *proc_root;      /* NULL = /proc */
	const char *const *remove_maps_of; /* programs whose perf maps were asked for by us: they go when they are read; NULL = none */
	bool attach_at_start;       /* VMs that run already get an agent at once (--pid) */
};

struct live_stats {
	uint64_t n_sources, n_jit_events, n_refused; /* refused: rings that could not be opened */
	uint64_t n_overruns, n_bad_records;
	uint64_t images_saved, image_errors;
	size_t open_sources;
};

int live_new(struct live **ret, const struct live_opts *o);
void live_free(struct live *l);
/* What exists already. Once, after sampler_open. */
int live_start(struct live *l);
/* One round: kernel rings, JIT rings, agents. 0 or -errno. */
int live_round(struct live *l);
/* The last round, and everything held comes out. */
int live_finish(struct live *l);
/* Saves what has samples and was not saved since it last grew: before each flush. */
int live_save_images(struct live *l);
/* Live instances as text, a line each (status). */
void live_describe(const struct live *l, struct strbuf *ret);
void live_stats(const struct live *l, struct live_stats *ret);

/* Copies the text symbols of PROC/kallsyms to DIR/kallsyms. -EPERM: the kernel hides the addresses. */
int live_save_kallsyms(const char *proc_root, const char *session_dir);
/* Copies the code that the kernel maps into each process, an ELF file, to DIR/vdso, unless it is there. -ENOENT: there is none. */
int live_save_vdso(const char *session_dir);

#endif
