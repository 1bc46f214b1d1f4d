/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_REPORT_QUERY_INDEX_H
#define OPJIT_REPORT_QUERY_INDEX_H
/* The inside of a query, for query.c, query_open.c and query_class.c. */
#include "lib/map.h"
#include "report/query.h"

struct query_file { /* what a sample file of a source adds to */
	int32_t class;  /* -1 = not selected */
	uint32_t app, image;
	struct sym_image *img; /* NULL until asked for */
	bool known;            /* app and image are set */
};

struct query_index {
	struct query_file **files;   /* [source][file] */
	struct strpool app_keys, image_keys, names;
	struct u64map pairs;         /* app << 32 | image -> number + 1 */
	struct u64map rows;          /* pair << 36 | symbol -> row + 1 */
	size_t rows_room;
};

int query_sources_open(struct query *q, struct strbuf *why);
/* Columns: selects files and makes query.classes; -E2BIG with why if there are too many. */
int query_classes_make(struct query *q, struct strbuf *why);

#endif
