/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_REPORT_ANNOTATE_H
#define OPJIT_REPORT_ANNOTATE_H
/* opannotate: source and instructions with their samples. */
#include "report/common.h"

struct annotate {
	struct report_common common;
	bool source, assembly;
	const char *output_dir, *objdump_params;
	struct report_list search, base, include_file, exclude_file;
	char *command;
};

/* What was counted at a line of a source file. */
struct annotate_line {
	uint32_t line;
	uint64_t *counts;
	char *symbols; /* "name total: …" of the symbols that begin here; NULL = none */
};
struct annotate_file {
	char *path;
	struct annotate_line *lines; /* ascending */
	size_t n, room;
	uint64_t *counts;
};
struct annotate_files {
	struct annotate_file *v; /* descending by samples */
	size_t n;
};

int annotate_files_make(struct annotate_files *ret, struct query *q);
void annotate_files_done(struct annotate_files *f);
/* The text of a source file, searched as the options say. -ENOENT. */
int annotate_read_source(const struct annotate *a, const char *path, struct strbuf *text);
void annotate_add_heading(const struct annotate *a, struct query *q, struct strbuf *out);
/* "  4660 100.000 " for each column, blanks where counts is NULL or 0, then ':'. */
void annotate_add_counts(const struct query *q, const uint64_t *counts, struct strbuf *out);
int annotate_source(const struct annotate *a, struct query *q);
int annotate_assembly(const struct annotate *a, struct query *q);

#endif
