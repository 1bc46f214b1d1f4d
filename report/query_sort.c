/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "report/query.h"
#include "report/query_index.h"

struct sorting {
	struct query *q;
	const enum query_sort *by;
	size_t n;
	bool reverse;
};

const struct sym_line *query_row_line(struct query_row *r)
{
	uint64_t key;

	if (!r->at_known) {
		r->at_known = true;
		/* a symbol starts at a vma; questions are asked by file offset */
		if (!r->img || !r->sym || !sym_offset(r->img, r->sym->start, &key) || sym_line(r->img, key, &r->at) < 0)
			r->at = (struct sym_line){ NULL, 0 };
	}
	return &r->at;
}

uint64_t query_row_samples(const struct query *q, const struct query_row *r)
{
	uint64_t sum = 0;

	for (size_t c = 0; c < q->n_classes; c++)
		sum += r->counts[c];
	return sum;
}

static int by_lines(const struct query_row *a, const struct query_row *b)
{
	int r = strcmp(a->at.file ? a->at.file : "", b->at.file ? b->at.file : "");

	return r ? r : a->at.line < b->at.line ? -1 : a->at.line > b->at.line;
}

static int by_samples(const struct query *q, const struct query_row *a, const struct query_row *b)
{
	for (size_t c = 0; c < q->n_classes; c++)
		if (a->counts[c] != b->counts[c])
			return a->counts[c] > b->counts[c] ? -1 : 1;
	return 0;
}

static int by_one(const struct query *q, enum query_sort by, const struct query_row *a, const struct query_row *b)
{
	switch (by) {
	case QUERY_SORT_SAMPLE:
		return by_samples(q, a, b);
	case QUERY_SORT_IMAGE:
		return strcmp(q->images[a->image].label, q->images[b->image].label);
	case QUERY_SORT_APP:
		return strcmp(q->apps[a->app].name, q->apps[b->app].name);
	case QUERY_SORT_SYMBOL:
		return strcmp(a->name, b->name);
	case QUERY_SORT_DEBUG:
		return by_lines(a, b);
	case QUERY_SORT_VMA:
		return a->vma < b->vma ? -1 : a->vma > b->vma;
	}
	return 0;
}

static int compare(const void *x, const void *y, void *arg)
{
	static const enum query_sort rest[] = { QUERY_SORT_SAMPLE, QUERY_SORT_IMAGE, QUERY_SORT_APP, QUERY_SORT_SYMBOL,
						QUERY_SORT_VMA };
	const struct sorting *s = arg;
	int r = 0;

	for (size_t i = 0; i < s->n && !r; i++)
		r = by_one(s->q, s->by[i], x, y);
	for (size_t i = 0; i < ARRAY_SIZE(rest) && !r; i++)
		r = by_one(s->q, rest[i], x, y);
	return s->reverse ? -r : r;
}

void query_sort(struct query *q, const enum query_sort *by, size_t n, bool reverse)
{
	struct sorting s = { q, by, n, reverse };

	for (size_t i = 0; i < n; i++)
		if (by[i] == QUERY_SORT_DEBUG)
			for (size_t k = 0; k < q->n_rows; k++)
				(void)query_row_line(&q->rows[k]);
	if (q->n_rows)
		qsort_r(q->rows, q->n_rows, sizeof(*q->rows), compare, &s);
}
