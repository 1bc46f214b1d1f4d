/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_REPORT_QUERY_H
#define OPJIT_REPORT_QUERY_H
/*
 * Samples of one profile (one specification over one or several sessions), added up to rows by application, image
 * and symbol, in columns ("classes") by event and by whatever was recorded separately and is not merged. Every report
 * is printed from this. All totals agree: the rows of a query by image and of one by symbol sum up to the same
 * numbers, which are those of the session's store.
 */
#include "report/spec.h"
#include "report/symbols.h"

#define QUERY_MERGE_CPU 1u
#define QUERY_MERGE_LIB 2u
#define QUERY_MERGE_TID 4u
#define QUERY_MERGE_TGID 8u
#define QUERY_MERGE_UNITMASK 16u
#define QUERY_MERGE_ALL 31u
#define QUERY_CLASSES_MAX 64

struct query_opts {
	const char *session_dir;       /* NULL: ./oprofile_data, else /var/lib/oprofile */
	const char *root;              /* -R */
	const char *const *image_dirs; /* -p, NULL-terminated or NULL */
	const char *const *words;      /* profile specification */
	size_t n_words;
	const char *const *include, *const *exclude; /* symbols, NULL-terminated or NULL; wildcards */
	unsigned int merge;            /* QUERY_MERGE_* */
	bool exclude_dependent;
	bool by_symbol;                /* else by image */
	bool details;                  /* keep the keys of each row */
	bool raw_names, tiers;
	enum names_style style;
};

struct query_source { /* one session */
	struct session *session;
	struct symbols *symbols;
	char *dir;
	uint32_t *event_of; /* its event -> index into query.events */
};

struct query_class { /* a column */
	uint32_t event;     /* index into query.events */
	int32_t cpu, tid; /* -1 = all */
	char *label;        /* "CPU_CLK_UNHALTED:100000", with the separated axes behind */
	uint64_t total;     /* of the rows */
	uint64_t all;       /* of the whole session, whatever was selected */
};

struct query_app {
	char *name, *path; /* "java:App", "/usr/bin/java" */
};

struct query_image {
	enum session_image_kind kind;
	char *label;      /* for people: "libc.so.6", "java:App [jit]", "anon (tgid:7 range:0x1000-0x2000)" */
	char *long_label; /* with -f: the path */
	int32_t tgid;
};

struct query_detail {
	struct sym_image *img;
	uint64_t key;
	uint64_t count;
	uint32_t class;
};

struct query_row {
	uint32_t app, image;
	struct sym_image *img;  /* of the first sample of the row; NULL by image */
	const struct sym *sym;  /* NULL = none there */
	uint64_t key, vma;      /* start of the symbol (or of what has none) */
	char *name;             /* for people */
	uint64_t *counts;       /* one a class */
	struct query_detail *details; /* ascending by image and key, with opts.details */
	size_t n_details, room;
	struct sym_line at;     /* query_row_line() */
	bool at_known;
};

struct query {
	struct query_opts opts;
	struct spec spec;
	struct query_source *sources;
	size_t n_sources;
	const struct session_event **events;
	size_t n_events;
	struct query_class *classes;
	size_t n_classes;
	struct query_app *apps;
	size_t n_apps;
	struct query_image *images;
	size_t n_images;
	struct query_row *rows;
	size_t n_rows;
	struct query_index *index; /* internal */
};

/*
 * Opens what the words name and adds up. On error 0 rows and a text for the user in why:
 * -ENOENT (no session, or nothing matches), -EBADMSG (damaged: file and offset are in why), -EINVAL (a bad
 * specification), -E2BIG (too many columns: why says what to merge).
 */
int query_run(struct query **ret, const struct query_opts *o, struct strbuf *why);
void query_free(struct query *q);

/* The name of a symbol for people under the query's options; "(no symbols)" for NULL. Appended to sb. */
void query_symbol_name(const struct query_opts *o, struct sym_image *img, const struct sym *s, struct strbuf *sb);
/*
 * For call graphs: the row of (file of a source, key) in a query by symbol, made with counts 0 if it is not there.
 * Index into q->rows (which may move), or -errno. Not after query_sort.
 */
int64_t query_row_at(struct query *q, size_t source, uint32_t file, uint64_t key);
/* The column of a file; -1 if it was not selected. */
int query_class_of(const struct query *q, size_t source, uint32_t file);
/*
 * Opens the session a tool works on: dir, or the default. *ret_dir (may be NULL) becomes its path, to be freed.
 * The error text says what to do.
 */
int query_open_session(struct session **ret, const char *dir, char **ret_dir, struct strbuf *why);

enum query_sort {
	QUERY_SORT_SAMPLE, QUERY_SORT_IMAGE, QUERY_SORT_APP, QUERY_SORT_SYMBOL, QUERY_SORT_DEBUG, QUERY_SORT_VMA,
};
/* Source position of the row's symbol; line 0 if none is known. */
const struct sym_line *query_row_line(struct query_row *r);
/* The sum over all columns. */
uint64_t query_row_samples(const struct query *q, const struct query_row *r);
/* Sorts by the keys in turn; the rest of the order is total, so that equal runs print equal reports. */
void query_sort(struct query *q, const enum query_sort *by, size_t n, bool reverse);

#endif
