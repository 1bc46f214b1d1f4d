/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_REPORT_COMMON_H
#define OPJIT_REPORT_COMMON_H
/* The options that opreport, opannotate and opgprof share, as an argp child, and what goes with them. */
#include <argp.h>
#include <stdio.h>

#include "report/query.h"

struct report_list { /* comma-separated words of an option, NULL-terminated */
	char **v;
	size_t n;
};

struct report_common {
	const char *session_dir, *root;
	struct report_list dirs;    /* -p */
	struct report_list include, exclude;
	struct report_list verbose; /* topics */
	const char **words;         /* profile specification, as given */
	size_t n_words;
	enum names_style style;
	bool raw_names;
	unsigned int merge;
	bool exclude_dependent;
	double threshold;
};

/* argp child; its input is a struct report_common, which report_common_done empties. */
extern const struct argp report_common_argp;
void report_common_done(struct report_common *c);
int report_list_add(struct report_list *l, const char *words);
bool report_verbose(const struct report_common *c, const char *topic);
/* Fills the fields of o that the common options decide. */
void report_common_query(const struct report_common *c, struct query_opts *o);
/* One line for each image without symbols that held samples, at most five; and what -V wants to see. */
void report_warn_missing(const struct report_common *c, struct query *q);
/* "CPU: …" and a line for each event, as upstream prints them. */
void report_add_header(struct strbuf *sb, struct query *q);
/* Writes sb to path (NULL = stdout). Says what is wrong; 0 or -errno. */
int report_write(const struct strbuf *sb, const char *path);

#endif
