/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/query.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "report/query_index.h"
#include "report/text.h"

#define SYMBOL_BITS 36
#define NO_SYMBOLS "(no symbols)"

/* --- applications and images ------------------------------------------------------------------------------ */

static int64_t app_number(struct query *q, const char *path, const char *name)
{
	AUTO_STRBUF key = STRBUF_INIT;
	struct query_app *more;
	int64_t id;

	strbuf_addf(&key, "%s\n%s", path, name);
	id = key.error ? key.error : strpool_id(&q->index->app_keys, key.buf, key.len);
	if (id < 0 || (size_t)id < q->n_apps)
		return id;
	more = realloc(q->apps, (q->n_apps + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	q->apps = more;
	more[q->n_apps] = (struct query_app){ strdup(name), strdup(path) };
	return more[q->n_apps].name && more[q->n_apps++].path ? id : -ENOMEM;
}

/* What makes two sample files the same image in a report, and what the image is called. */
static void image_words(const struct query *q, const struct session_file *f, struct strbuf *key, struct strbuf *label,
			struct strbuf *full)
{
	const char *app = *f->app ? f->app : text_base(f->app_path), *slash;
	int32_t tgid = spec_file_tgid(f);

	switch (f->kind) {
	case SESSION_JIT:
		slash = strchr(f->image, '/');
		strbuf_addf(key, "j:%s", app);
		if (!(q->opts.merge & QUERY_MERGE_TGID)) /* a child may run its parent's code */
			strbuf_addf(key, ":%d:%.*s", tgid, (int)(slash ? slash - f->image : 0), f->image);
		strbuf_addf(label, "%s [jit]", app);
		strbuf_addf(full, "%s [jit]", app);
		if (!(q->opts.merge & QUERY_MERGE_TGID))
			strbuf_addf(full, " (tgid:%d)", tgid);
		break;
	case SESSION_ANON:
		strbuf_addf(key, "a:%s:%d:%" PRIx64 ":%" PRIx64, f->image, tgid, f->start, f->end);
		strbuf_addf(label, "%s (tgid:%d", f->image, tgid);
		if (f->start || f->end != UINT64_MAX) /* what no mapping held has no range */
			strbuf_addf(label, " range:0x%" PRIx64 "-0x%" PRIx64, f->start, f->end);
		strbuf_addch(label, ')');
		strbuf_addstr(full, strbuf_str(label));
		break;
	case SESSION_KERNEL:
	case SESSION_FILE:
		strbuf_addf(key, "%d:%s", f->kind, f->image);
		strbuf_addstr(label, f->kind == SESSION_FILE ? text_base(f->image) : f->image);
		strbuf_addstr(full, f->image);
		break;
	}
}

static int64_t image_number(struct query *q, const struct session_file *f)
{
	AUTO_STRBUF key = STRBUF_INIT;
	AUTO_STRBUF label = STRBUF_INIT;
	AUTO_STRBUF full = STRBUF_INIT;
	struct query_image *more, *m;
	int64_t id;

	image_words(q, f, &key, &label, &full);
	id = key.error ? key.error : strpool_id(&q->index->image_keys, key.buf, key.len);
	if (id < 0 || (size_t)id < q->n_images)
		return id;
	more = realloc(q->images, (q->n_images + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	q->images = more;
	m = &more[q->n_images];
	*m = (struct query_image){ f->kind, strbuf_steal(&label), strbuf_steal(&full), spec_file_tgid(f) };
	if (!m->label || !m->long_label) {
		free(m->label);
		free(m->long_label);
		return -ENOMEM;
	}
	q->n_images++;
	return id;
}

/* Several processes of one application: their images are told apart by the process. */
static int distinguish_jit(struct query *q)
{
	for (size_t i = 0; i < q->n_images; i++) {
		bool twin = false;

		if (q->images[i].kind != SESSION_JIT || (q->opts.merge & QUERY_MERGE_TGID))
			continue;
		for (size_t k = 0; k < q->n_images && !twin; k++)
			twin = k != i && q->images[k].kind == SESSION_JIT &&
			       !strncmp(q->images[k].label, q->images[i].label, strlen(q->images[i].label)) &&
			       strcmp(q->images[k].long_label, q->images[i].long_label);
		if (twin) {
			char *longer = strdup(q->images[i].long_label);

			if (!longer)
				return -ENOMEM;
			free(q->images[i].label);
			q->images[i].label = longer;
		}
	}
	return 0;
}

static struct query_file *file_of(struct query *q, size_t source, uint32_t file)
{
	const struct session_file *f = session_file(q->sources[source].session, file);
	struct query_file *qf = &q->index->files[source][file];
	int64_t app, image;

	if (qf->known)
		return qf;
	image = image_number(q, f);
	if (image < 0)
		return NULL;
	if (q->opts.merge & QUERY_MERGE_LIB)
		app = app_number(q, "", "");
	else if (!*f->app_path && !*f->app)
		app = app_number(q, q->images[image].long_label, q->images[image].label);
	else
		app = app_number(q, f->app_path, *f->app ? f->app : text_base(f->app_path));
	if (app < 0)
		return NULL;
	if (q->opts.by_symbol || q->opts.details) {
		qf->img = symbols_image(q->sources[source].symbols, f);
		if (!qf->img)
			return NULL;
	}
	qf->app = (uint32_t)app;
	qf->image = (uint32_t)image;
	qf->known = true;
	return qf;
}

/* --- rows -------------------------------------------------------------------------------------------------- */

/* What a symbol is called inside its image for the sake of merging: 0 = none there. */
static int64_t symbol_number(struct query *q, struct sym_image *img, const struct sym *s)
{
	AUTO_STRBUF sb = STRBUF_INIT;
	int64_t id;
	size_t n;

	if (!s)
		return 0;
	if (!sym_is_jit(img) && q->n_sources == 1)
		return s - sym_all(img, &n) + 1;
	if (q->opts.raw_names || q->opts.style == NAMES_NONE)
		strbuf_addstr(&sb, s->name);
	else
		names_fold(&sb, s->name);
	if (s->descriptor && q->opts.style != NAMES_SMART) /* shown, so two that differ are two */
		strbuf_addf(&sb, "\n%s", s->descriptor);
	if (q->opts.tiers)
		strbuf_addf(&sb, "\n%d %d", s->tier, s->osr_bci);
	id = sb.error ? sb.error : strpool_id(&q->index->names, strbuf_str(&sb), sb.len);
	return id < 0 ? id : id + 1;
}

static int64_t row_number(struct query *q, const struct query_file *qf, const struct sym *s, uint64_t key, uint64_t vma)
{
	struct query_index *x = q->index;
	uint64_t *pair = u64map_at(&x->pairs, (uint64_t)qf->app << 32 | qf->image), *row;
	int64_t symbol = s ? symbol_number(q, qf->img, s) : 0;
	struct query_row *r;

	if (!pair || symbol < 0)
		return -ENOMEM;
	if (!*pair)
		*pair = u64map_size(&x->pairs);
	if (*pair >> (64 - SYMBOL_BITS) || symbol >> SYMBOL_BITS)
		return -E2BIG;
	row = u64map_at(&x->rows, *pair << SYMBOL_BITS | (uint64_t)symbol);
	if (!row)
		return -ENOMEM;
	if (*row)
		return (int64_t)*row - 1;
	if (q->n_rows == x->rows_room) {
		size_t room = x->rows_room ? 2 * x->rows_room : 256;
		struct query_row *more = realloc(q->rows, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		q->rows = more;
		x->rows_room = room;
	}
	r = &q->rows[q->n_rows];
	*r = (struct query_row){ .app = qf->app, .image = qf->image, .img = qf->img, .sym = s, .key = key,
				 .vma = s ? s->start : vma };
	r->counts = calloc(q->n_classes, sizeof(*r->counts));
	if (!r->counts)
		return -ENOMEM;
	*row = ++q->n_rows;
	return (int64_t)q->n_rows - 1;
}

int64_t query_row_at(struct query *q, size_t source, uint32_t file, uint64_t key)
{
	struct query_file *qf = file_of(q, source, file);
	const struct sym *s;
	uint64_t vma = key;

	if (!qf)
		return -ENOMEM;
	s = sym_find(qf->img, key, &vma);
	return row_number(q, qf, s, key, vma);
}

int query_class_of(const struct query *q, size_t source, uint32_t file)
{
	return q->index->files[source][file].class;
}

static int add_detail(struct query_row *r, struct sym_image *img, uint64_t key, uint32_t class, uint64_t count)
{
	if (r->n_details == r->room) {
		size_t room = r->room ? 2 * r->room : 8;
		struct query_detail *more = realloc(r->details, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		r->details = more;
		r->room = room;
	}
	r->details[r->n_details++] = (struct query_detail){ img, key, count, class };
	return 0;
}

struct adding {
	struct query *q;
	struct query_file *qf;
	const struct sym *last; /* keys ascend: the next is often in the same symbol */
	int64_t last_row;
	uint64_t sum;
};

static int add_key(void *arg, uint64_t key, uint64_t count)
{
	struct adding *a = arg;
	struct query *q = a->q;
	struct query_row *row;
	uint64_t vma = key;

	a->sum += count;
	if (a->qf->class < 0)
		return 0;
	if (q->opts.by_symbol) {
		const struct sym *s = sym_find(a->qf->img, key, &vma);

		if (a->last_row < 0 || s != a->last) {
			a->last_row = row_number(q, a->qf, s, key, vma);
			a->last = s;
		}
	} else if (a->last_row < 0) {
		a->last_row = row_number(q, a->qf, NULL, key, vma);
	}
	if (a->last_row < 0)
		return (int)a->last_row;
	row = &q->rows[a->last_row];
	row->counts[a->qf->class] += count;
	if (!row->sym && key < row->key)
		row->key = key, row->vma = vma, row->img = a->qf->img;
	else if (row->sym && a->last && a->last->start < row->vma)
		row->vma = a->last->start;
	return q->opts.details ? add_detail(row, a->qf->img, key, (uint32_t)a->qf->class, count) : 0;
}

/* A file that is not selected still counts for --global-percent. */
static int add_file(struct query *q, size_t source, uint32_t file)
{
	struct query_file *qf = &q->index->files[source][file];
	const struct session_file *f = session_file(q->sources[source].session, file);
	struct adding a = { .q = q, .qf = qf, .last_row = -1 };
	int r;

	if (qf->class >= 0 && !file_of(q, source, file))
		return -ENOMEM;
	r = session_file_each(q->sources[source].session, file, add_key, &a);
	for (size_t c = 0; r >= 0 && c < q->n_classes; c++)
		if (q->classes[c].event == q->sources[source].event_of[f->event])
			q->classes[c].all += a.sum;
	return r < 0 ? r : 0;
}

/* --- names and filters ------------------------------------------------------------------------------------- */

void query_symbol_name(const struct query_opts *o, struct sym_image *img, const struct sym *s, struct strbuf *sb)
{
	AUTO_STRBUF folded = STRBUF_INIT;
	bool jit = sym_is_jit(img);

	if (!s) {
		strbuf_addstr(sb, NO_SYMBOLS);
		return;
	}
	if (jit && !o->raw_names && o->style != NAMES_NONE)
		names_fold(&folded, s->name);
	else
		strbuf_addstr(&folded, s->name);
	if (jit && s->descriptor && o->style != NAMES_SMART) {
		AUTO_STRBUF raw = STRBUF_INIT;

		names_raw(&raw, strbuf_str(&folded), s->descriptor);
		names_pretty(sb, strbuf_str(&raw), o->style, jit);
	} else {
		names_pretty(sb, strbuf_str(&folded), o->style, jit);
	}
	if (o->tiers && s->tier >= 0)
		strbuf_addf(sb, " (tier %d)", s->tier);
	if (o->tiers && s->osr_bci >= 0)
		strbuf_addf(sb, " (OSR @%d)", s->osr_bci);
}

static int name_rows(struct query *q)
{
	for (size_t i = 0; i < q->n_rows; i++) {
		struct query_row *r = &q->rows[i];
		const struct query_image *m = &q->images[r->image];
		AUTO_STRBUF sb = STRBUF_INIT;

		if (r->name)
			continue;
		if (!q->opts.by_symbol)
			strbuf_addstr(&sb, m->label);
		else if (m->kind == SESSION_ANON && !strncmp(m->label, "[gap]", 5))
			strbuf_addstr(&sb, "[gap]");
		else
			query_symbol_name(&q->opts, r->img, r->sym, &sb);
		r->name = strbuf_steal(&sb);
		if (!r->name)
			return -ENOMEM;
	}
	return 0;
}

static bool name_in(const char *const *list, const char *name, const char *raw)
{
	for (; list && *list; list++)
		if (!strcmp(*list, name) || !fnmatch(*list, name, 0) || (raw && !strcmp(*list, raw)))
			return true;
	return false;
}

static void row_done(struct query_row *r)
{
	free(r->counts);
	free(r->details);
	free(r->name);
}

/* Drops rows by name and sums up the columns. */
static void filter_rows(struct query *q)
{
	size_t n = 0;

	for (size_t i = 0; i < q->n_rows; i++) {
		struct query_row *r = &q->rows[i];
		const char *raw = r->sym ? r->sym->name : NULL;

		if ((q->opts.include && *q->opts.include && !name_in(q->opts.include, r->name, raw)) ||
		    name_in(q->opts.exclude, r->name, raw)) {
			row_done(r);
			continue;
		}
		for (size_t c = 0; c < q->n_classes; c++)
			q->classes[c].total += r->counts[c];
		q->rows[n++] = *r;
	}
	q->n_rows = n;
}

static int by_key(const void *a, const void *b)
{
	const struct query_detail *x = a, *y = b;

	size_t nx = sym_image_number(x->img), ny = sym_image_number(y->img);

	if (x->img != y->img)
		return nx != ny ? (nx < ny ? -1 : 1) : x->img < y->img ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->class < y->class ? -1 : x->class > y->class;
}

/* Several files of a row may hold the same key: of each (key, class) one is left. */
static void unify_details(struct query_row *r)
{
	size_t n = 0;

	if (!r->n_details)
		return;
	qsort(r->details, r->n_details, sizeof(*r->details), by_key);
	for (size_t i = 0; i < r->n_details; i++) {
		if (n && !by_key(&r->details[n - 1], &r->details[i]))
			r->details[n - 1].count += r->details[i].count;
		else
			r->details[n++] = r->details[i];
	}
	r->n_details = n;
}

/* --- the whole --------------------------------------------------------------------------------------------- */

static int query_add_up(struct query *q, struct strbuf *why)
{
	int r = spec_parse(&q->spec, q->opts.words, q->opts.n_words, why);

	if (!r)
		r = query_sources_open(q, why);
	if (!r)
		r = query_classes_make(q, why);
	for (size_t s = 0; !r && s < q->n_sources; s++)
		for (size_t i = 0; !r && i < session_n_files(q->sources[s].session); i++) {
			r = add_file(q, s, (uint32_t)i);
			if (r < 0 && *session_error(q->sources[s].session))
				strbuf_addstr(why, session_error(q->sources[s].session));
			else if (r < 0)
				strbuf_addf(why, "%s: sample file of %s: %s", q->sources[s].dir,
					    session_file(q->sources[s].session, i)->image, strerror(-r));
		}
	if (!r)
		r = distinguish_jit(q);
	if (!r)
		r = name_rows(q);
	if (r < 0)
		return r;
	filter_rows(q);
	for (size_t i = 0; i < q->n_rows; i++)
		unify_details(&q->rows[i]);
	if (!q->n_rows) {
		strbuf_addstr(why, q->opts.n_words || q->opts.include || q->opts.exclude ?
				   "no samples match; `opreport` without arguments shows what there is" :
				   "the profile holds no samples");
		return -ENOENT;
	}
	return 0;
}

int query_run(struct query **ret, const struct query_opts *o, struct strbuf *why)
{
	struct query *q = calloc(1, sizeof(*q));
	int r;

	if (!q || !(q->index = calloc(1, sizeof(*q->index)))) {
		free(q);
		return -ENOMEM;
	}
	q->opts = *o;
	r = query_add_up(q, why);
	if (r < 0) {
		if (!why->len)
			strbuf_addstr(why, strerror(-r));
		query_free(q);
		return r;
	}
	*ret = q;
	return 0;
}

void query_free(struct query *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->n_rows; i++)
		row_done(&q->rows[i]);
	free(q->rows);
	for (size_t i = 0; i < q->n_apps; i++) {
		free(q->apps[i].name);
		free(q->apps[i].path);
	}
	free(q->apps);
	for (size_t i = 0; i < q->n_images; i++) {
		free(q->images[i].label);
		free(q->images[i].long_label);
	}
	free(q->images);
	for (size_t i = 0; i < q->n_classes; i++)
		free(q->classes[i].label);
	free(q->classes);
	free(q->events);
	for (size_t i = 0; i < q->n_sources; i++) {
		symbols_free(q->sources[i].symbols);
		session_free(q->sources[i].session);
		free(q->sources[i].dir);
		free(q->sources[i].event_of);
		if (q->index->files)
			free(q->index->files[i]);
	}
	free(q->sources);
	free(q->index->files);
	strpool_done(&q->index->app_keys);
	strpool_done(&q->index->image_keys);
	strpool_done(&q->index->names);
	u64map_done(&q->index->pairs);
	u64map_done(&q->index->rows);
	free(q->index);
	spec_done(&q->spec);
	free(q);
}
