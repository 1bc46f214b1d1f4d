/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_DAEMON_ACCOUNT_H
#define OPJIT_DAEMON_ACCOUNT_H
/* From a resolved sample to the session's store: sample files, totals, call stacks. */
#include "daemon/resolver.h"
#include "session/session.h"

struct account;

/* For tests and diagnoses: each sample once it has its final place; both pointers are valid during the call. */
typedef void account_trace_fn(void *arg, const struct ev *e, const struct hit *h);

struct account_opts {
	bool callgraph;
	bool separate_tgid;       /* for files and the kernel too; JIT images and ranges always are by process */
	bool separate_tid, separate_cpu;
	uint64_t from_ns, to_ns;  /* samples outside are not counted; to 0 = no end */
	account_trace_fn *trace;  /* NULL = none */
	void *trace_arg;
};

/* r and s stay the caller's. */
int account_new(struct account **ret, struct resolver *r, struct session_store *s, const struct account_opts *o);
void account_free(struct account *a);
/*
 * EV_SAMPLE, EV_LOST, EV_EXIT and EV_EVENTDESC; others are ignored. Samples are gathered and looked up many at a time, so that
 * their waits for memory overlap: before the resolver is given anything but a sample, and before the counts are read,
 * call account_run.
 */
int account_event(struct account *a, const struct ev *e);
int account_run(struct account *a);
/*
 * A sample that nothing has a name for, in a process whose dump is written through a buffer, is held until the dump
 * is complete: the end of the process, this call (before each flush), or too many of them.
 */
int account_settle(struct account *a);
/* The images of a source are saved and it is closed: they are no longer told. */
void account_forget_source(struct account *a, uint32_t source);
/* JIT images that have samples: source number and segment.  */
typedef int account_image_fn(void *arg, const char *instance, uint32_t source, uint32_t segment);
int account_each_image(struct account *a, account_image_fn *fn, void *arg);
/* Writes the kernel's ranges and quality facts into the session's info. */
int account_notes(struct account *a);

#endif
