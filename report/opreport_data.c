/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The forms for programs: JSON and CSV; and the account of how samples got their names. */
#include <inttypes.h>
#include <string.h>

#include "report/opreport.h"
#include "report/text.h"

struct quality_line {
	const char *key, *words;
	size_t at; /* offset of the count in struct session_totals */
	bool group;
};

static const struct quality_line quality[] = {
#define Q(field, words, group) { #field, words, offsetof(struct session_totals, field), group }
	Q(kernel, "kernel and modules", true),
	Q(native, "native code", true),
	Q(jit_method, "JIT: methods", true),
	Q(jit_stub, "JIT: stubs of the VM", true),
	Q(jit_interpreter, "JIT: interpreter", true),
	Q(gap, "in a code heap, but in no known code", true),
	Q(anon, "anonymous memory nobody told about", true),
	Q(unknown, "no mapping known", true),
	Q(exact, "named by code that was live at that time", false),
	Q(backdated, "named by code that was posted a little later", false),
	Q(ambiguous, "ambiguous: old and new code overlap in time", false),
	Q(lost, "lost: dropped by the kernel or a full log", false),
	Q(chains, "call stacks", false),
	Q(truncated_chains, "call stacks cut short", false),
#undef Q
};

static uint64_t total_of(const struct session_totals *t, const struct quality_line *l)
{
	return *(const uint64_t *)((const char *)t + l->at);
}

static void sum_totals(const struct query *q, struct session_totals *ret)
{
	*ret = (struct session_totals){ 0 };
	for (size_t s = 0; s < q->n_sources; s++) {
		const struct session_totals *t = session_totals(q->sources[s].session);

		for (size_t i = 0; t && i < ARRAY_SIZE(quality); i++)
			*(uint64_t *)((char *)ret + quality[i].at) += total_of(t, &quality[i]);
	}
}

static void quality_row(struct strbuf *out, uint64_t n, uint64_t of, const char *words)
{
	strbuf_addf(out, "%9" PRIu64 " ", n);
	text_add_percent(out, n, of);
	strbuf_addf(out, " %s\n", words);
}

int opreport_quality(const struct opreport *o, struct query *q, struct strbuf *out)
{
	struct session_totals t;
	uint64_t all = 0, jit, named;

	sum_totals(q, &t);
	for (size_t i = 0; i < ARRAY_SIZE(quality); i++)
		all += quality[i].group ? total_of(&t, &quality[i]) : 0;
	jit = t.jit_method + t.jit_stub + t.jit_interpreter;
	named = t.kernel + t.native + jit;
	if (!o->no_header)
		report_add_header(out, q);
	strbuf_addstr(out, "  samples       % where\n");
	for (size_t i = 0; i < ARRAY_SIZE(quality); i++)
		if (quality[i].group)
			quality_row(out, total_of(&t, &quality[i]), all, quality[i].words);
	quality_row(out, all, all, "all samples");
	quality_row(out, named, all, "given to a known image or JIT region");
	strbuf_addstr(out, "\n  samples       % of those in JIT code\n");
	quality_row(out, t.exact, jit, "exact: the code was live at that time");
	quality_row(out, t.backdated, jit, "backdated: the code was posted a little later");
	quality_row(out, t.ambiguous, jit, "ambiguous: old and new code overlap in time");
	strbuf_addstr(out, "\n  records       %\n");
	quality_row(out, t.lost, all + t.lost, "lost: dropped by the kernel or a full log");
	quality_row(out, t.truncated_chains, t.chains, "of the call stacks were cut short");
	return out->error;
}

static void json_counts(const struct query *q, const uint64_t *counts, struct strbuf *out)
{
	strbuf_addstr(out, "\"samples\":[");
	for (size_t c = 0; c < q->n_classes; c++)
		strbuf_addf(out, "%s%" PRIu64, c ? "," : "", counts[c]);
	strbuf_addch(out, ']');
}

static void json_location(const struct sym_line *at, struct strbuf *out)
{
	if (!at->line || !at->file)
		return;
	strbuf_addstr(out, ",\"file\":");
	text_add_json(out, at->file);
	strbuf_addf(out, ",\"line\":%u", at->line);
}

static void json_columns(const struct opreport *o, const struct query *q, struct strbuf *out)
{
	strbuf_addstr(out, "\"columns\":[");
	for (size_t c = 0; c < q->n_classes; c++) {
		const struct query_class *k = &q->classes[c];
		const struct session_event *e = q->events[k->event];

		strbuf_addstr(out, c ? ",\n  {\"event\":" : "\n  {\"event\":");
		text_add_json(out, e->name);
		strbuf_addf(out, ",\"count\":%" PRIu64 ",\"frequency\":%" PRIu64 ",\"unit_mask\":%u,\"timer\":%s", e->count, e->freq,
			    e->um, e->timer ? "true" : "false");
		if (k->cpu >= 0)
			strbuf_addf(out, ",\"cpu\":%d", k->cpu);
		if (k->tid >= 0)
			strbuf_addf(out, ",\"tid\":%d", k->tid);
		strbuf_addf(out, ",\"total\":%" PRIu64 ",\"all\":%" PRIu64 "}", opreport_whole(o, q, c), k->all);
	}
	strbuf_addstr(out, "\n ]");
}

static void json_details(const struct query *q, const struct query_row *r, struct strbuf *out)
{
	strbuf_addstr(out, ",\"details\":[");
	for (size_t i = 0; i < r->n_details;) {
		const struct query_detail *d = &r->details[i];
		uint64_t counts[QUERY_CLASSES_MAX] = { 0 }, vma = d->key;
		struct sym_line at = { NULL, 0 };

		strbuf_addf(out, "%s{", i ? "," : "");
		for (; i < r->n_details && r->details[i].img == d->img && r->details[i].key == d->key; i++)
			counts[r->details[i].class] += r->details[i].count;
		(void)sym_find(d->img, d->key, &vma);
		strbuf_addf(out, "\"vma\":\"0x%" PRIx64 "\",", vma);
		json_counts(q, counts, out);
		if (sym_line(d->img, d->key, &at) == 0)
			json_location(&at, out);
		strbuf_addch(out, '}');
	}
	strbuf_addch(out, ']');
}

static int json_parts(const struct opreport *o, const struct query *q, const struct query_row *r, struct strbuf *out)
{
	struct opreport_part *v;
	size_t n;
	int e = opreport_parts(o, q, r, &v, &n);

	if (e < 0)
		return e;
	strbuf_addf(out, ",\"%s\":[", o->inlines ? "inlines" : "lines");
	for (size_t i = 0; i < n; i++) {
		strbuf_addf(out, "%s{\"%s\":", i ? "," : "", o->inlines ? "stack" : "at");
		text_add_json(out, v[i].label);
		strbuf_addch(out, ',');
		json_counts(q, v[i].counts, out);
		strbuf_addch(out, '}');
	}
	strbuf_addch(out, ']');
	opreport_parts_free(v, n);
	return 0;
}

static void json_quality(const struct query *q, struct strbuf *out)
{
	struct session_totals t;

	sum_totals(q, &t);
	strbuf_addstr(out, "\"quality\":{");
	for (size_t i = 0; i < ARRAY_SIZE(quality); i++)
		strbuf_addf(out, "%s\"%s\":%" PRIu64, i ? "," : "", quality[i].key, total_of(&t, &quality[i]));
	strbuf_addch(out, '}');
}

int opreport_json(const struct opreport *o, struct query *q, struct strbuf *out)
{
	int r = 0;
	bool first = true;

	strbuf_addstr(out, "{\"schema\":1,\n \"cpu\":");
	text_add_json(out, session_cpu_type(q->sources[0].session));
	strbuf_addstr(out, ",\n ");
	json_columns(o, q, out);
	strbuf_addstr(out, ",\n ");
	json_quality(q, out);
	strbuf_addstr(out, ",\n \"rows\":[");
	for (size_t i = 0; i < q->n_rows && !r; i++) {
		struct query_row *row = &q->rows[i];

		if (opreport_too_small(o, q, row->counts))
			continue;
		strbuf_addstr(out, first ? "\n  {\"app\":" : ",\n  {\"app\":");
		first = false;
		text_add_json(out, q->apps[row->app].name);
		strbuf_addstr(out, ",\"app_path\":");
		text_add_json(out, q->apps[row->app].path);
		strbuf_addstr(out, ",\"image\":");
		text_add_json(out, q->images[row->image].label);
		strbuf_addstr(out, ",\"image_path\":");
		text_add_json(out, q->images[row->image].long_label);
		if (o->symbols) {
			strbuf_addstr(out, ",\"symbol\":");
			text_add_json(out, row->name);
			strbuf_addf(out, ",\"vma\":\"0x%" PRIx64 "\"", row->vma);
			if (o->debug_info)
				json_location(query_row_line(row), out);
		}
		strbuf_addch(out, ',');
		json_counts(q, row->counts, out);
		if (o->details)
			json_details(q, row, out);
		if (o->lines || o->inlines)
			r = json_parts(o, q, row, out);
		strbuf_addch(out, '}');
	}
	strbuf_addstr(out, "\n ]}\n");
	return r < 0 ? r : out->error;
}

int opreport_csv(const struct opreport *o, struct query *q, struct strbuf *out)
{
	if (!o->no_header) {
		for (size_t c = 0; c < q->n_classes; c++) {
			AUTO_STRBUF sb = STRBUF_INIT;

			text_add_csv(out, q->classes[c].label);
			strbuf_addf(&sb, "%s %%", q->classes[c].label);
			strbuf_addch(out, ',');
			text_add_csv(out, strbuf_str(&sb));
			strbuf_addch(out, ',');
		}
		strbuf_addstr(out, o->symbols ? "app,image,symbol,vma,file,line\r\n" : "app,image\r\n");
	}
	for (size_t i = 0; i < q->n_rows; i++) {
		struct query_row *r = &q->rows[i];

		if (opreport_too_small(o, q, r->counts))
			continue;
		for (size_t c = 0; c < q->n_classes; c++)
			strbuf_addf(out, "%" PRIu64 ",%.6g,", r->counts[c], text_percent(r->counts[c], opreport_whole(o, q, c)));
		text_add_csv(out, q->apps[r->app].name);
		strbuf_addch(out, ',');
		text_add_csv(out, o->long_names ? q->images[r->image].long_label : q->images[r->image].label);
		if (o->symbols) {
			const struct sym_line *at = o->debug_info ? query_row_line(r) : NULL;

			strbuf_addch(out, ',');
			text_add_csv(out, r->name);
			strbuf_addf(out, ",0x%" PRIx64 ",", r->vma);
			if (at && at->line && at->file) {
				text_add_csv(out, at->file);
				strbuf_addf(out, ",%u", at->line);
			} else {
				strbuf_addch(out, ',');
			}
		}
		strbuf_addstr(out, "\r\n");
	}
	return out->error;
}
