/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A symbol split by source line or by its inlined frames. */
#include <errno.h>
#include <string.h>

#include "lib/map.h"
#include "report/opreport.h"

/* "inner(int) (Foo.java:12) < middle(int) (Foo.java:20) < outer() (Foo.java:33)" */
static void add_stack(const struct opreport *o, const struct query *q, const struct query_detail *d, struct strbuf *sb)
{
	struct sym_frame frames[SYM_FRAMES_MAX];
	int n = sym_inlines(d->img, d->key, frames);

	if (n <= 0)
		query_symbol_name(&q->opts, d->img, NULL, sb);
	for (int i = 0; i < n; i++) {
		struct sym s = { .name = frames[i].name, .tier = -1, .osr_bci = -1 };

		if (i)
			strbuf_addstr(sb, " < ");
		query_symbol_name(&q->opts, d->img, &s, sb);
		if (frames[i].at.line) {
			strbuf_addstr(sb, " (");
			opreport_add_location(o, &frames[i].at, sb);
			strbuf_addch(sb, ')');
		}
	}
}

static void add_line(const struct opreport *o, const struct query_detail *d, struct strbuf *sb)
{
	struct sym_line at = { NULL, 0 };

	if (sym_line(d->img, d->key, &at) < 0)
		at.line = 0;
	opreport_add_location(o, &at, sb);
}

static int by_samples(const void *a, const void *b, void *arg)
{
	const struct opreport_part *x = a, *y = b;
	const struct query *q = arg;

	for (size_t c = 0; c < q->n_classes; c++)
		if (x->counts[c] != y->counts[c])
			return x->counts[c] > y->counts[c] ? -1 : 1;
	return strcmp(x->label, y->label);
}

void opreport_parts_free(struct opreport_part *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(v[i].label);
		free(v[i].counts);
	}
	free(v);
}

int opreport_parts(const struct opreport *o, const struct query *q, const struct query_row *row,
		   struct opreport_part **ret, size_t *ret_n)
{
	struct strpool p = { 0 };
	struct opreport_part *v = calloc(row->n_details + 1, sizeof(*v));
	size_t n = 0;
	int r = v ? 0 : -ENOMEM;

	for (size_t i = 0; i < row->n_details && !r; i++) {
		const struct query_detail *d = &row->details[i];
		AUTO_STRBUF sb = STRBUF_INIT;
		int64_t id;

		if (o->inlines)
			add_stack(o, q, d, &sb);
		else
			add_line(o, d, &sb);
		id = sb.error ? sb.error : strpool_id(&p, strbuf_str(&sb), sb.len);
		if (id < 0) {
			r = (int)id;
			break;
		}
		if ((size_t)id == n) {
			v[n].label = strbuf_steal(&sb);
			v[n].counts = calloc(q->n_classes, sizeof(*v->counts));
			r = v[n].label && v[n].counts ? 0 : -ENOMEM;
			n++;
		}
		if (!r)
			v[id].counts[d->class] += d->count;
	}
	strpool_done(&p);
	if (r < 0) {
		if (v)
			opreport_parts_free(v, n);
		return r;
	}
	if (n)
		qsort_r(v, n, sizeof(*v), by_samples, (void *)q);
	*ret = v;
	*ret_n = n;
	return 0;
}
