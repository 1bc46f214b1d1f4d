/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_SESSION_SESSION_H
#define OPJIT_SESSION_SESSION_H
/*
 * A session directory, one definition for writer and reader (DESIGN of the layout: ARCHITECTURE.md).
 *
 *	DIR/samples/current -> gen-N/       symbolic link, renamed into place by each flush
 *	DIR/samples/gen-N/{root}APP/{dep}/IMAGE/EVENT.COUNT.UM.TGID.TID.CPU   opdb: key = offset, value = samples
 *	DIR/samples/gen-N/names             ophd: every path and name
 *	DIR/samples/gen-N/stacks, stacks.db ophd of frames (parent = caller) and opdb node -> samples
 *	DIR/samples/gen-N/info              text, key=value: events, cpu type, times, totals, processes, quality
 *	DIR/jit/INSTANCE/N.jo               images of JIT code; DIR/kallsyms; DIR/vdso; DIR/log/events.opel
 *
 * IMAGE is {root}/path, {kern}/name, {jit}/INSTANCE/N.jo or {anon:NAME}/TGID.0xSTART.0xEND.
 */
#include "lib/strbuf.h"
#include "lib/util.h"

enum session_image_kind {
	SESSION_FILE = 0,   /* image = absolute path; key = file offset */
	SESSION_KERNEL = 1, /* image = "vmlinux" or a module's name; key = address - base (info has the bases) */
	SESSION_JIT = 2,    /* image = "INSTANCE/N.jo"; key = image offset */
	SESSION_ANON = 3,   /* image = "anon", "[vdso]", "[heap]", "[stack]", "[gap]"; key = address - start */
};

struct session_file { /* identifies one sample file */
	enum session_image_kind kind;
	const char *image;
	const char *app_path;  /* executable of the process ("" for the kernel alone) */
	const char *app;       /* name for people, e.g. "java:App", "bash" */
	uint32_t event;        /* index into the session's events */
	int32_t tgid, tid, cpu; /* -1 = not separated */
	uint64_t start, end;   /* SESSION_ANON: the range */
};

#define SESSION_VDSO_MAX (1 << 20) /* bytes of DIR/vdso; a longer one is neither written nor read */

struct session_event {
	const char *name, *desc;
	uint64_t count, freq;  /* one of them 0 */
	uint32_t um;
	bool timer;
};

/* What became of the samples; each sample is counted in exactly one of the first group. */
struct session_totals {
	uint64_t kernel, native, jit_method, jit_stub, jit_interpreter, gap, anon, unknown;
	uint64_t lost;                  /* records the kernel or a full log dropped */
	/* how a JIT sample was attributed (a subset of the above) */
	uint64_t exact, backdated, ambiguous;
	uint64_t truncated_chains, chains;
	uint64_t first_ns, last_ns;     /* CLOCK_MONOTONIC of the first and last sample */
};

/* --- writing (daemon) ---------------------------------------------------------------------------------- */
struct session_store;

struct session_store_opts {
	const char *dir;
	const char *cpu_type;  /* "CPU with timer interrupt", or a model name */
	double mhz;            /* 0 = unknown */
	bool stacks;           /* keep call stacks */
	bool append;           /* go on with what samples/current has */
	bool no_sync;          /* do not wait for the disk: for tests and replays */
};
/* -EBUSY: another store writes there. Without append the session before becomes samples/previous at the first flush. */
int session_store_new(struct session_store **ret, const struct session_store_opts *o);
void session_store_free(struct session_store *s); /* without flushing */
int session_store_event(struct session_store *s, uint32_t index, const struct session_event *e);
/* The number of a sample file; the same fields give the same number. ≥ 0 or -errno. Strings are copied. */
int64_t session_store_file(struct session_store *s, const struct session_file *f);
/* The hot path: adds count samples at key. -EINVAL: no such file. -ENOMEM may be that of a sample shortly before. */
int session_store_add(struct session_store *s, uint32_t file, uint64_t key, uint64_t count);
/* Call stacks: frames from the outermost inwards; parent 0 = none. Number of the node (> 0) or -errno. Numbers of nodes
 * hold until the next flush (the flush writes the tree and drops it); numbers of files hold for ever. */
int64_t session_store_frame(struct session_store *s, uint64_t parent, uint32_t file, uint64_t key);
int session_store_stack_add(struct session_store *s, uint64_t node, uint64_t count);
struct session_totals *session_store_totals(struct session_store *s); /* the caller counts here */
/* Free-text facts for `info`: key has no '=' or newline. */
int session_store_note(struct session_store *s, const char *key, const char *value);
/* Writes a new generation and commits it with one rename. kill -9 at any point leaves the last one whole. */
int session_store_flush(struct session_store *s);
/* Memory held by what is not flushed yet, and by the names: flush when it grows beyond what you grant. */
size_t session_store_bytes(const struct session_store *s);
/* Forgets all samples, flushed or not, and commits an empty generation (opcontrol --reset). Events and notes stay. */
int session_store_reset(struct session_store *s);
/* Flushes, keeps the result as samples/NAME and starts anew with nothing (opcontrol --save=NAME). -EEXIST; -EINVAL: NAME has
 * '/', starts with '.', is "current", "previous" or looks like a generation. */
int session_store_save(struct session_store *s, const char *name);

/* --- without a store (opcontrol, no daemon running) ---------------------------------------------------- */
int session_save(const char *dir, const char *name);
/* Removes `current` and `previous` (saved ones stay) and the images below jit/ that no saved session names. Adds what was
 * freed to *bytes and *files (may be NULL). -EBUSY while a store writes. */
int session_reset(const char *dir, uint64_t *bytes, uint64_t *files);
/* Removes the images below jit/ that no generation and no saved session names. */
int session_sweep_images(const char *dir, uint64_t *bytes, uint64_t *files);

/* --- reading (report) ---------------------------------------------------------------------------------- */
struct session;

/* -ENOENT: no session there; -EBADMSG with *why naming file and offset. *why is free()d by the caller. */
int session_open(struct session **ret, const char *dir, char **why);
/* As above; name = "current", "previous" or a saved session's. */
int session_open_named(struct session **ret, const char *dir, const char *name, char **why);
/* After a failed session_file_each or session_stacks_each: file, offset and rule. "" if there was none. */
const char *session_error(const struct session *s);
void session_free(struct session *s);
const char *session_dir(const struct session *s);
size_t session_n_events(const struct session *s);
const struct session_event *session_event(const struct session *s, size_t i);
const char *session_cpu_type(const struct session *s);
double session_mhz(const struct session *s);
const struct session_totals *session_totals(const struct session *s);
const char *session_note(const struct session *s, const char *key); /* NULL = absent */
size_t session_n_files(const struct session *s);
const struct session_file *session_file(const struct session *s, size_t i);
/* Ascending keys. */
typedef int session_count_fn(void *arg, uint64_t key, uint64_t count);
int session_file_each(struct session *s, size_t i, session_count_fn *fn, void *arg);
/* Call stacks: nodes with their own counts. frames[0] is the leaf. */
struct session_frame {
	uint32_t file; /* index as session_file() */
	uint64_t key;
};
typedef int session_stack_fn(void *arg, const struct session_frame *frames, size_t n, uint64_t count);
int session_stacks_each(struct session *s, session_stack_fn *fn, void *arg);
/* Where the bytes of an image are now: below the session (jit, archive) or on this system. -ENOENT if nowhere. */
int session_image_path(const struct session *s, const struct session_file *f, struct strbuf *ret);

#endif
