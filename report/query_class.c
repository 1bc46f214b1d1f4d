/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Columns of a query: by event, and by thread and CPU where recorded separately, unless merged. A process is no column:
 * a thread's number is unique, and recorders separate processes always.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "report/query_index.h"
#include "report/text.h"

static bool same_event(const struct query *q, const struct session_event *a, const struct session_event *b)
{
	return !strcmp(a->name, b->name) && a->count == b->count && a->freq == b->freq &&
	       (a->um == b->um || (q->opts.merge & QUERY_MERGE_UNITMASK));
}

static int number_events(struct query *q)
{
	for (size_t i = 0; i < q->n_sources; i++) {
		struct query_source *src = &q->sources[i];
		size_t n = session_n_events(src->session);

		src->event_of = calloc(n + 1, sizeof(*src->event_of));
		if (!src->event_of)
			return -ENOMEM;
		for (size_t k = 0; k < n; k++) {
			const struct session_event *e = session_event(src->session, k);
			size_t j;

			for (j = 0; j < q->n_events && !same_event(q, q->events[j], e); j++)
				;
			if (j == q->n_events) {
				const struct session_event **more = realloc(q->events, (j + 1) * sizeof(*more));

				if (!more)
					return -ENOMEM;
				q->events = more;
				q->events[q->n_events++] = e;
			}
			src->event_of[k] = (uint32_t)j;
		}
	}
	return 0;
}

/* The column of a file, made if it is new. */
static int class_of(struct query *q, size_t source, const struct session_file *f)
{
	unsigned int merge = q->opts.merge;
	struct query_class c = {
		.event = q->sources[source].event_of[f->event],
		.cpu = merge & QUERY_MERGE_CPU ? -1 : f->cpu,
		.tid = merge & QUERY_MERGE_TID ? -1 : f->tid,
	};
	struct query_class *more;

	for (size_t i = 0; i < q->n_classes; i++) {
		const struct query_class *k = &q->classes[i];

		if (k->event == c.event && k->cpu == c.cpu && k->tid == c.tid)
			return (int)i;
	}
	if (q->n_classes == QUERY_CLASSES_MAX)
		return -E2BIG;
	more = realloc(q->classes, (q->n_classes + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	q->classes = more;
	q->classes[q->n_classes] = c;
	return (int)q->n_classes++;
}

static bool dependent(const struct session_file *f)
{
	if (f->kind == SESSION_FILE)
		return strcmp(f->image, f->app_path) != 0;
	return f->kind == SESSION_KERNEL ? *f->app_path : f->kind == SESSION_ANON;
}

static int compare(const struct query_class *a, const struct query_class *b)
{
	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

/* Sorts the columns and renumbers the files; there are at most QUERY_CLASSES_MAX of them. */
static void order(struct query *q)
{
	int to[QUERY_CLASSES_MAX] = { 0 };
	struct query_class sorted[QUERY_CLASSES_MAX];

	for (size_t i = 0; i < q->n_classes; i++)
		for (size_t k = 0; k < q->n_classes; k++)
			if (compare(&q->classes[k], &q->classes[i]) < 0)
				to[i]++;
	for (size_t i = 0; i < q->n_classes; i++)
		sorted[to[i]] = q->classes[i];
	if (q->n_classes)
		memcpy(q->classes, sorted, q->n_classes * sizeof(*sorted));
	for (size_t s = 0; s < q->n_sources; s++)
		for (size_t i = 0; i < session_n_files(q->sources[s].session); i++)
			if (q->index->files[s][i].class >= 0)
				q->index->files[s][i].class = to[q->index->files[s][i].class];
}

static int make_labels(struct query *q)
{
	for (size_t i = 0; i < q->n_classes; i++) {
		struct query_class *c = &q->classes[i];
		const struct session_event *e = q->events[c->event];
		AUTO_STRBUF sb = STRBUF_INIT;

		if (e->timer)
			strbuf_addstr(&sb, "TIMER:0");
		else
			text_add_plain(&sb, e->name);
		if (!e->timer)
			strbuf_addf(&sb, ":%" PRIu64, e->count ? e->count : e->freq);
		if (c->cpu >= 0 && q->n_classes > 1)
			strbuf_addf(&sb, "|cpu:%d", c->cpu);
		if (c->tid >= 0 && q->n_classes > 1)
			strbuf_addf(&sb, "|tid:%d", c->tid);
		c->label = strbuf_steal(&sb);
		if (!c->label)
			return -ENOMEM;
	}
	return 0;
}

int query_classes_make(struct query *q, struct strbuf *why)
{
	int r = number_events(q);

	q->index->files = calloc(q->n_sources, sizeof(*q->index->files));
	if (r < 0 || !q->index->files)
		return r < 0 ? r : -ENOMEM;
	for (size_t s = 0; s < q->n_sources; s++) {
		struct session *se = q->sources[s].session;
		size_t n = session_n_files(se);

		q->index->files[s] = calloc(n + 1, sizeof(**q->index->files));
		if (!q->index->files[s])
			return -ENOMEM;
		for (size_t i = 0; i < n; i++) {
			const struct session_file *f = session_file(se, i);
			struct query_file *qf = &q->index->files[s][i];

			qf->class = -1;
			if (f->event >= session_n_events(se) || !spec_match(&q->spec, session_event(se, f->event), f) ||
			    (q->opts.exclude_dependent && dependent(f)))
				continue;
			qf->class = class_of(q, s, f);
			if (qf->class == -E2BIG) {
				strbuf_addf(why, "more than %d columns: the samples are separated; add --merge=%s", QUERY_CLASSES_MAX,
					    f->tid >= 0 ? "tid,cpu" : "cpu");
				return -E2BIG;
			}
			if (qf->class < 0)
				return qf->class;
		}
	}
	order(q);
	return make_labels(q);
}
