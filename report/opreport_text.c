/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two views as text, in the shape that scripts for OProfile read. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/map.h"
#include "report/opreport.h"
#include "report/text.h"

#define IMAGE_WIDTH 25
#define LINE_WIDTH 28

/* --- by image ------------------------------------------------------------------------------------------------ */

static void image_heading(const struct query *q, const char *indent, struct strbuf *out)
{
	size_t n = q->n_classes;

	strbuf_addstr(out, indent);
	for (size_t c = 0; c < n; c++) {
		const char *label = q->classes[c].label;

		if (strlen(label) > 17) { /* an axis behind '|' tells columns apart: it stays */
			const char *axis = strchr(label, '|');
			int room = axis && strlen(axis) < 13 ? (int)strlen(axis) : 0;

			strbuf_addf(out, "%.*s...%s|", 14 - room, label, room ? axis : "");
		} else {
			strbuf_addf(out, "%17s|", label);
		}
	}
	strbuf_addf(out, "\n%s", indent);
	for (size_t c = 0; c < n; c++)
		strbuf_addstr(out, "  samples|      %|");
	strbuf_addf(out, "\n%s", indent);
	for (size_t c = 0; c < n; c++)
		strbuf_addstr(out, "------------------");
	strbuf_addch(out, '\n');
}

static void image_line(const struct query *q, const char *indent, const uint64_t *counts, const uint64_t *whole,
		       const char *name, struct strbuf *out)
{
	strbuf_addstr(out, indent);
	for (size_t c = 0; c < q->n_classes; c++) {
		strbuf_addf(out, "%9" PRIu64 " ", counts[c]);
		text_add_percent(out, counts[c], whole[c]);
		strbuf_addch(out, ' ');
	}
	text_add_plain(out, name);
	strbuf_addch(out, '\n');
}

struct app_sum {
	uint64_t counts[QUERY_CLASSES_MAX];
	uint32_t app;
	size_t n;          /* images */
	size_t first;      /* row */
};

static int by_sum(const void *a, const void *b, void *arg)
{
	const struct app_sum *x = a, *y = b;
	const struct query *q = arg;

	for (size_t c = 0; c < q->n_classes; c++)
		if (x->counts[c] != y->counts[c])
			return x->counts[c] > y->counts[c] ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static const char *image_name(const struct opreport *o, const struct query *q, uint32_t image)
{
	return o->long_names ? q->images[image].long_label : q->images[image].label;
}

static void app_name(const struct opreport *o, const struct query *q, uint32_t app, struct strbuf *sb)
{
	const struct query_app *a = &q->apps[app];

	if (!o->long_names || !*a->path)
		strbuf_addstr(sb, a->name);
	else if (!strcmp(text_base(a->path), a->name) || !strcmp(a->path, a->name))
		strbuf_addstr(sb, a->path);
	else
		strbuf_addf(sb, "%s (%s)", a->path, a->name);
}

static void app_block(const struct opreport *o, const struct query *q, const struct app_sum *a, const uint64_t *whole,
		      struct strbuf *out)
{
	const struct query_row *only = &q->rows[a->first];
	AUTO_STRBUF name = STRBUF_INIT;

	app_name(o, q, a->app, &name);
	image_line(q, "", a->counts, whole, strbuf_str(&name), out);
	if (a->n == 1 && (!strcmp(q->images[only->image].long_label, q->apps[a->app].path) ||
			  !strcmp(q->images[only->image].label, q->apps[a->app].name)))
		return; /* the application alone */
	image_heading(q, "\t", out);
	for (size_t i = 0; i < q->n_rows; i++)
		if (q->rows[i].app == a->app && !opreport_too_small(o, q, q->rows[i].counts))
			image_line(q, "\t", q->rows[i].counts, o->global_percent ? whole : a->counts,
				   image_name(o, q, q->rows[i].image), out);
}

int opreport_images(const struct opreport *o, struct query *q, struct strbuf *out)
{
	uint64_t whole[QUERY_CLASSES_MAX];
	struct app_sum *sums = calloc(q->n_apps + 1, sizeof(*sums));
	bool flat = q->opts.merge & QUERY_MERGE_LIB;

	if (!sums)
		return -ENOMEM;
	for (size_t c = 0; c < q->n_classes; c++)
		whole[c] = opreport_whole(o, q, c);
	for (size_t i = 0; i < q->n_rows; i++) {
		struct app_sum *a = &sums[q->rows[i].app];

		if (!a->n++)
			a->first = i;
		a->app = q->rows[i].app;
		for (size_t c = 0; c < q->n_classes; c++)
			a->counts[c] += q->rows[i].counts[c];
	}
	if (!o->n_sort && !o->reverse)
		qsort_r(sums, q->n_apps, sizeof(*sums), by_sum, q);
	if (!o->no_header) {
		report_add_header(out, q);
		image_heading(q, "", out);
	}
	if (flat)
		for (size_t i = 0; i < q->n_rows; i++)
			if (!opreport_too_small(o, q, q->rows[i].counts))
				image_line(q, "", q->rows[i].counts, whole, image_name(o, q, q->rows[i].image), out);
	for (size_t i = 0; !flat && i < q->n_apps; i++)
		if (sums[i].n && !opreport_too_small(o, q, sums[i].counts))
			app_block(o, q, &sums[i], whole, out);
	free(sums);
	return out->error;
}

/* --- by symbol ----------------------------------------------------------------------------------------------- */

struct look { /* which columns a table has */
	bool image, app;
	int vma_digits;
};

static struct look look_of(const struct query *q)
{
	struct look l = { false, false, 8 };

	for (size_t i = 0; i < q->n_rows; i++) {
		if (q->rows[i].image != q->rows[0].image)
			l.image = true;
		if (q->rows[i].app != q->rows[0].app)
			l.app = true;
		if (q->rows[i].vma >> 32)
			l.vma_digits = 16;
	}
	return l;
}

static void symbols_heading(const struct opreport *o, const struct query *q, const struct look *l, bool diff,
			    struct strbuf *out)
{
	if (o->show_address || o->details)
		strbuf_addf(out, "%-*s", l->vma_digits + 1, "vma");
	for (size_t c = 0; c < q->n_classes; c++)
		strbuf_addf(out, "samples  %s%%        %s%s", o->accumulated ? "cum. samples  " : "",
			    o->accumulated ? "cum. %     " : "", diff ? "diff %    " : "");
	if (o->debug_info)
		strbuf_addf(out, "%-*s", LINE_WIDTH, "linenr info");
	if (l->image)
		strbuf_addf(out, "%-*s", IMAGE_WIDTH, "image name");
	if (l->app)
		strbuf_addf(out, "%-*s", IMAGE_WIDTH, "app name");
	strbuf_addstr(out, "symbol name\n");
}

static void counts_columns(const struct opreport *o, const struct query *q, const uint64_t *counts, const uint64_t *whole,
			   const uint64_t *sums, struct strbuf *out)
{
	for (size_t c = 0; c < q->n_classes; c++) {
		strbuf_addf(out, "%-8" PRIu64 " ", counts[c]);
		if (o->accumulated && sums)
			strbuf_addf(out, "%-13" PRIu64 " ", sums[c]);
		text_add_percent(out, counts[c], whole[c]);
		strbuf_addstr(out, "  ");
		if (o->accumulated && sums) {
			text_add_percent(out, sums[c], whole[c]);
			strbuf_addstr(out, "    ");
		}
	}
}

static void name_columns(const struct opreport *o, const struct query *q, const struct look *l, struct query_row *r,
			 struct strbuf *out)
{
	AUTO_STRBUF sb = STRBUF_INIT;

	if (o->debug_info) {
		opreport_add_location(o, query_row_line(r), &sb);
		text_add_padded(out, strbuf_str(&sb), LINE_WIDTH);
	}
	if (l->image)
		text_add_padded(out, image_name(o, q, r->image), IMAGE_WIDTH);
	if (l->app) {
		strbuf_reset(&sb);
		app_name(o, q, r->app, &sb);
		text_add_padded(out, strbuf_str(&sb), IMAGE_WIDTH);
	}
	text_add_plain(out, r->name);
	strbuf_addch(out, '\n');
}

/* One line a key, with the samples of each column. */
static void detail_lines(const struct opreport *o, const struct query *q, const struct look *l, const struct query_row *r,
			 const uint64_t *whole, struct strbuf *out)
{
	for (size_t i = 0; i < r->n_details;) {
		const struct query_detail *d = &r->details[i];
		uint64_t counts[QUERY_CLASSES_MAX] = { 0 }, vma = d->key;
		struct sym_line at = { NULL, 0 };
		AUTO_STRBUF sb = STRBUF_INIT;

		for (; i < r->n_details && r->details[i].img == d->img && r->details[i].key == d->key; i++)
			counts[r->details[i].class] += r->details[i].count;
		(void)sym_find(d->img, d->key, &vma);
		strbuf_addf(out, "  %0*" PRIx64 " ", l->vma_digits, vma);
		counts_columns(o, q, counts, o->global_percent ? whole : r->counts, NULL, out);
		if (o->debug_info) {
			if (sym_line(d->img, d->key, &at) < 0)
				at = (struct sym_line){ NULL, 0 };
			opreport_add_location(o, &at, &sb);
			text_add_plain(out, strbuf_str(&sb));
		}
		while (out->len && out->buf[out->len - 1] == ' ')
			out->buf[--out->len] = '\0';
		strbuf_addch(out, '\n');
	}
}

static int part_lines(const struct opreport *o, const struct query *q, const struct query_row *r, const uint64_t *whole,
		      struct strbuf *out)
{
	struct opreport_part *v;
	size_t n;
	int e = opreport_parts(o, q, r, &v, &n);

	for (size_t i = 0; !e && i < n; i++) {
		strbuf_addstr(out, "  ");
		counts_columns(o, q, v[i].counts, o->global_percent ? whole : r->counts, NULL, out);
		text_add_plain(out, v[i].label);
		strbuf_addch(out, '\n');
	}
	if (!e)
		opreport_parts_free(v, n);
	return e;
}

int opreport_symbols(const struct opreport *o, struct query *q, struct strbuf *out)
{
	struct look l = look_of(q);
	uint64_t whole[QUERY_CLASSES_MAX], sums[QUERY_CLASSES_MAX] = { 0 };
	int e = 0;

	for (size_t c = 0; c < q->n_classes; c++)
		whole[c] = opreport_whole(o, q, c);
	if (!o->no_header) {
		report_add_header(out, q);
		symbols_heading(o, q, &l, false, out);
	}
	for (size_t i = 0; i < q->n_rows && !e; i++) {
		struct query_row *r = &q->rows[i];

		if (opreport_too_small(o, q, r->counts))
			continue;
		for (size_t c = 0; c < q->n_classes; c++)
			sums[c] += r->counts[c];
		if (o->show_address || o->details)
			strbuf_addf(out, "%0*" PRIx64 " ", l.vma_digits, r->vma);
		counts_columns(o, q, r->counts, whole, sums, out);
		name_columns(o, q, &l, r, out);
		if (o->details)
			detail_lines(o, q, &l, r, whole, out);
		if (o->lines || o->inlines)
			e = part_lines(o, q, r, whole, out);
	}
	return e ? e : out->error;
}

/* --- differences ---------------------------------------------------------------------------------------------- */

static void difference_line(const struct opreport *o, const struct query *q, const struct look *l, struct query_row *r,
			    const uint64_t *old, const uint64_t *new, struct strbuf *out)
{
	static const uint64_t none[QUERY_CLASSES_MAX];

	if (o->show_address)
		strbuf_addf(out, "%0*" PRIx64 " ", l->vma_digits, r->vma);
	for (size_t c = 0; c < q->n_classes; c++) {
		const uint64_t *shown = new ? new : none;

		strbuf_addf(out, "%-8" PRIu64 " ", shown[c]);
		text_add_percent(out, shown[c], opreport_whole(o, q, c));
		strbuf_addstr(out, "  ");
		if (!new || !shown[c])
			strbuf_addf(out, "%-10s", "---");
		else if (!old || !old[c])
			strbuf_addf(out, "%-10s", "+++");
		else
			strbuf_addf(out, "%+-9.4f ", 100.0 * ((double)new[c] - (double)old[c]) / (double)old[c]);
	}
	if (o->symbols) {
		name_columns(o, q, l, r, out);
	} else {
		text_add_plain(out, image_name(o, q, r->image));
		strbuf_addch(out, '\n');
	}
}

/* Rows of two profiles are the same when application, image and symbol are called the same. */
static int64_t row_words(struct strpool *p, const struct query *q, const struct query_row *r)
{
	AUTO_STRBUF sb = STRBUF_INIT;
	const struct query_image *m = &q->images[r->image];

	/* the process of a JIT or anonymous image differs from run to run */
	strbuf_addf(&sb, "%s\n%.*s\n%s", q->apps[r->app].name,
		    m->kind == SESSION_JIT || m->kind == SESSION_ANON ? (int)strcspn(m->label, "(") : (int)strlen(m->label),
		    m->label, m->kind == SESSION_ANON && !q->opts.by_symbol ? "" : r->name);
	return sb.error ? sb.error : strpool_id(p, strbuf_str(&sb), sb.len);
}

struct joined {
	struct query_row *old, *new; /* the first of each side, for names */
	uint64_t *o, *n;             /* sums; one side may have several rows of one name */
};

static int join(struct strpool *p, struct query *q, bool is_new, struct joined **v, size_t *n)
{
	for (size_t i = 0; i < q->n_rows; i++) {
		int64_t id = row_words(p, q, &q->rows[i]);
		struct joined *j;
		uint64_t **sum;

		if (id < 0)
			return (int)id;
		if ((size_t)id == *n) {
			struct joined *more = realloc(*v, (*n + 1) * sizeof(*more));

			if (!more)
				return -ENOMEM;
			*v = more;
			more[(*n)++] = (struct joined){ 0 };
		}
		j = &(*v)[id];
		sum = is_new ? &j->n : &j->o;
		if (!*sum) {
			*sum = calloc(q->n_classes, sizeof(**sum));
			if (!*sum)
				return -ENOMEM;
			*(is_new ? &j->new : &j->old) = &q->rows[i];
		}
		for (size_t c = 0; c < q->n_classes; c++)
			(*sum)[c] += q->rows[i].counts[c];
	}
	return 0;
}

int opreport_difference(const struct opreport *o, struct query *old, struct query *new, struct strbuf *out)
{
	struct strpool p = { 0 };
	struct joined *v = NULL;
	struct look l = look_of(new), lo = look_of(old);
	size_t n = 0;
	int r;

	if (old->n_classes != new->n_classes)
		return -EINVAL;
	l.image |= lo.image;
	l.app |= lo.app;
	l.vma_digits = MAX(l.vma_digits, lo.vma_digits);
	r = join(&p, new, true, &v, &n);
	if (!r)
		r = join(&p, old, false, &v, &n);
	if (!o->no_header && !r) {
		report_add_header(out, new);
		if (o->symbols) {
			symbols_heading(o, new, &l, true, out);
		} else {
			for (size_t c = 0; c < new->n_classes; c++)
				strbuf_addstr(out, "samples  %        diff %    ");
			strbuf_addstr(out, "image name\n");
		}
	}
	for (size_t i = 0; i < n && !r; i++) {
		struct joined *j = &v[i];

		if (j->new && !opreport_too_small(o, new, j->n))
			difference_line(o, new, &l, j->new, j->o, j->n, out);
		else if (!j->new && !opreport_too_small(o, old, j->o))
			difference_line(o, old, &l, j->old, j->o, NULL, out);
	}
	for (size_t i = 0; i < n; i++) {
		free(v[i].o);
		free(v[i].n);
	}
	free(v);
	strpool_done(&p);
	return r < 0 ? r : out->error;
}
