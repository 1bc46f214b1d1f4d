/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_REPORT_OPEVLOG_H
#define OPJIT_REPORT_OPEVLOG_H
/* The parts of opevlog: a log as blocks in memory, and one function for each command. */
#include <stdio.h>
#include <sys/types.h>

#include "format/evlog/merge.h"
#include "format/evlog/pmclog.h"
#include "lib/strbuf.h"

struct evfile {
	const char *name;
	const uint8_t *data;
	size_t len;
	bool mapped;
	dev_t dev;
	ino_t ino;
	const struct evfile *next; /* of those mapped */
};
/* The whole of a file, "-" for standard input. Says why not. 0 or -errno. *f stays where it is until it is closed. */
int evfile_open(struct evfile *f, const char *name);
/* 0, or -EINVAL (said) for a file that was opened by evfile_open. */
int evfile_may_write(const char *name);
void evfile_close(struct evfile *f);
static inline bool evfile_is_opel(const struct evfile *f) { return f->len >= 4 && !memcmp(f->data, "opel", 4); }

/* Walks an opel log page by page; metadata is taken in on the way. */
struct evwalk {
	const struct evfile *f;
	struct evlog_blocks blocks;
	struct evlog_meta meta;
	size_t pos, at;            /* at: offset of the page given last */
	struct evlog_page pg;
	const uint8_t *body;
	bool cut;                  /* the page given last is not all there */
	uint64_t bad, bad_at;
};
void evwalk_begin(struct evwalk *w, const struct evfile *f);
void evwalk_end(struct evwalk *w);
/* 1: a data page; 0: the end; -errno: no log that we can read. */
int evwalk_next(struct evwalk *w);

struct filter {
	double from, to;           /* seconds since the log began; negative: no limit */
	int64_t pid, cpu;          /* -1: any */
};
bool filter_takes(const struct filter *f, const struct evlog_meta *meta, const struct ev *e);
/* Does a sample need it to be named? Such events stay whatever the filter says. */
bool event_is_state(const struct ev *e);

struct options {
	bool json, raw, lenient;
	const char *output, *to, *format, *ftrace;
	const char *notes, *samples, *names;
	double idle;
	struct filter filter;
};
int cmd_dump(const struct options *o, char **files);
int cmd_stat(const struct options *o, char **files);
int cmd_check(const struct options *o, char **files);
int cmd_cut(const struct options *o, char **files);
int cmd_merge(const struct options *o, char **files);
int cmd_convert(const struct options *o, char **files);
int cmd_follow(const struct options *o, char **files);
/* Formats of convert. */
int convert_ctf(const struct evfile *f, const char *dir);
int convert_to_pmclog(const struct evfile *f, FILE *out);
/* A directory that convert_ctf made. */
int convert_from_ctf(const char *dir, const char *out);
int convert_from_script(const struct evfile *f, const char *out);
int convert_from_pmclog(const struct evfile *f, const char *out);
int convert_to_abi(const struct evfile *f, const struct options *o);
int convert_from_abi(const struct options *o, const char *out);
int convert_script(const struct evfile *f, FILE *out);
int convert_to_rst(const struct evfile *f, FILE *out);

/* Runs the merge over a whole log, sinks as evlog_merge_new's. Says what is wrong with the log. */
int evfile_merge(const struct evfile *f, ev_sink_fn *fn, evlog_user_fn *user, void *arg, struct evlog_merge **keep);
/* An output of pages. */
struct evout {
	FILE *f;
	struct evlog_writer *w;
};
int evout_open(struct evout *o, const char *name, uint32_t n_streams, const struct evlog_meta *meta);
int evout_close(struct evout *o, int ret);

#endif
