/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_REPORT_OPREPORT_H
#define OPJIT_REPORT_OPREPORT_H
/* The forms of opreport's output. Each appends to out; 0 or -errno with a text in why. */
#include "report/common.h"

enum opreport_form { OPREPORT_TEXT = 0, OPREPORT_XML, OPREPORT_JSON, OPREPORT_CSV };

struct opreport {
	struct report_common common;
	enum opreport_form form;
	bool symbols, callgraph, details, inlines, lines, quality;
	bool debug_info, show_address, long_names, no_header, accumulated, global_percent, reverse, tiers;
	enum query_sort sort[8];
	size_t n_sort;
	const char *output;
	char *command; /* the command line, for XML */
};

int opreport_images(const struct opreport *o, struct query *q, struct strbuf *out);
int opreport_symbols(const struct opreport *o, struct query *q, struct strbuf *out);
int opreport_difference(const struct opreport *o, struct query *old, struct query *new, struct strbuf *out);
int opreport_callgraph(const struct opreport *o, struct query *q, struct strbuf *out, struct strbuf *why);
int opreport_xml(const struct opreport *o, struct query *q, struct strbuf *out);
int opreport_json(const struct opreport *o, struct query *q, struct strbuf *out);
int opreport_csv(const struct opreport *o, struct query *q, struct strbuf *out);
int opreport_quality(const struct opreport *o, struct query *q, struct strbuf *out);

/* --- shared by the forms --- */

/* Percentages of a column refer to this. */
uint64_t opreport_whole(const struct opreport *o, const struct query *q, size_t class);
/* Whether a row stays below --threshold in every column. */
bool opreport_too_small(const struct opreport *o, const struct query *q, const uint64_t *counts);
/* "Foo.java:12", or the full path with -f; "(no location information)" when line is 0. */
void opreport_add_location(const struct opreport *o, const struct sym_line *at, struct strbuf *sb);

/* A row split up further: by source line or by stack of inlined frames. */
struct opreport_part {
	char *label;
	uint64_t *counts; /* one a class */
};
/* Parts in descending order of samples; free with opreport_parts_free. The sums equal the row's. */
int opreport_parts(const struct opreport *o, const struct query *q, const struct query_row *row,
		   struct opreport_part **ret, size_t *ret_n);
void opreport_parts_free(struct opreport_part *v, size_t n);

#endif
