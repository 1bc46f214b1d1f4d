/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * XML as schema 3.1: setup, options, classes, then binaries with their modules and symbols, then the table of the
 * symbols that they refer to, and with --details the table of the instructions.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "report/opreport.h"
#include "report/text.h"

static void attribute(struct strbuf *out, const char *name, const char *value)
{
	strbuf_addf(out, " %s=\"", name);
	text_add_xml(out, value);
	strbuf_addch(out, '"');
}

static void heading(const struct opreport *o, struct query *q, struct strbuf *out)
{
	struct session *s = q->sources[0].session;
	bool cpu = false, thread = false;

	for (size_t c = 0; c < q->n_classes; c++) {
		cpu |= q->classes[c].cpu >= 0;
		thread |= q->classes[c].tid >= 0;
	}
	strbuf_addstr(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<profile schemaversion=\"3.1\"");
	attribute(out, "title", o->command ? o->command : "opreport");
	attribute(out, "processor", session_cpu_type(s));
	if (session_mhz(s) > 0)
		strbuf_addf(out, " mhz=\"%g\"", session_mhz(s));
	if (cpu)
		strbuf_addstr(out, " separatedcpus=\"true\"");
	if (thread)
		strbuf_addstr(out, " separatedthreads=\"true\"");
	strbuf_addstr(out, ">\n <setup>\n");
	for (size_t i = 0; i < q->n_events; i++) {
		const struct session_event *e = q->events[i];

		if (e->timer) {
			strbuf_addf(out, "  <timersetup rtcinterrupts=\"%" PRIu64 "\"/>\n", e->freq);
			continue;
		}
		strbuf_addf(out, "  <eventsetup id=\"%zu\"", i);
		attribute(out, "eventname", e->name);
		strbuf_addf(out, " unitmask=\"0x%02x\" setupcount=\"%" PRIu64 "\"/>\n", e->um, e->count ? e->count : e->freq);
	}
	strbuf_addf(out, " </setup>\n <options session=\"");
	text_add_xml(out, session_dir(s));
	strbuf_addf(out, "\" debuginfo=\"%s\" details=\"%s\" excludedependent=\"%s\" excludesymbols=\"%s\" imagepath=\"%s\"/>\n",
		    o->debug_info ? "true" : "false", o->details ? "true" : "false",
		    o->common.exclude_dependent ? "true" : "false", o->common.exclude.n ? "true" : "false",
		    o->common.dirs.n ? "true" : "false");
	strbuf_addstr(out, " <classes>\n");
	for (size_t c = 0; c < q->n_classes; c++) {
		const struct query_class *k = &q->classes[c];

		strbuf_addf(out, "  <class name=\"c%zu\"", c);
		attribute(out, "event", q->events[k->event]->name);
		strbuf_addf(out, " mask=\"0x%02x\"", q->events[k->event]->um);
		if (k->cpu >= 0)
			strbuf_addf(out, " cpu=\"%d\"", k->cpu);
		if (k->tid >= 0)
			strbuf_addf(out, " thread=\"%d\"", k->tid);
		strbuf_addstr(out, "/>\n");
	}
	strbuf_addstr(out, " </classes>\n");
}

static void counts(const struct query *q, const uint64_t *v, const char *indent, struct strbuf *out)
{
	for (size_t c = 0; c < q->n_classes; c++)
		if (v[c]) {
			strbuf_addf(out, "%s<count", indent);
			if (q->n_classes > 1)
				strbuf_addf(out, " class=\"c%zu\"", c);
			strbuf_addf(out, ">%" PRIu64 "</count>\n", v[c]);
		}
}

/* Rows of one image of one application; with symbols, each refers to the table. */
static void module(const struct opreport *o, const struct query *q, uint32_t app, uint32_t image, const char *indent,
		   bool sum_too, struct strbuf *out)
{
	uint64_t sum[QUERY_CLASSES_MAX] = { 0 };
	AUTO_STRBUF deeper = STRBUF_INIT;

	strbuf_addf(&deeper, "%s ", indent);
	for (size_t i = 0; i < q->n_rows; i++)
		if (q->rows[i].app == app && q->rows[i].image == image)
			for (size_t c = 0; c < q->n_classes; c++)
				sum[c] += q->rows[i].counts[c];
	if (sum_too)
		counts(q, sum, indent, out);
	for (size_t i = 0; i < q->n_rows && o->symbols; i++) {
		if (q->rows[i].app != app || q->rows[i].image != image || opreport_too_small(o, q, q->rows[i].counts))
			continue;
		strbuf_addf(out, "%s<symbol idref=\"%zu\">\n", indent, i);
		counts(q, q->rows[i].counts, strbuf_str(&deeper), out);
		strbuf_addf(out, "%s</symbol>\n", indent);
	}
}

static bool is_own_image(const struct query *q, uint32_t app, uint32_t image)
{
	return !strcmp(q->images[image].long_label, q->apps[app].path);
}

static int binary(const struct opreport *o, const struct query *q, uint32_t app, struct strbuf *out)
{
	bool *images = calloc(q->n_images + 1, sizeof(*images));

	if (!images)
		return -ENOMEM;
	for (size_t i = 0; i < q->n_rows; i++)
		if (q->rows[i].app == app)
			images[q->rows[i].image] = true;
	strbuf_addstr(out, " <binary");
	attribute(out, "name", *q->apps[app].path ? q->apps[app].path : q->apps[app].name);
	if (*q->apps[app].name && strcmp(q->apps[app].name, text_base(q->apps[app].path)))
		attribute(out, "application", q->apps[app].name);
	strbuf_addstr(out, ">\n");
	for (uint32_t m = 0; m < q->n_images; m++)
		if (images[m] && is_own_image(q, app, m))
			module(o, q, app, m, "  ", true, out);
	for (uint32_t m = 0; m < q->n_images; m++) {
		if (!images[m] || is_own_image(q, app, m))
			continue;
		strbuf_addstr(out, "  <module");
		attribute(out, "name", q->images[m].long_label);
		strbuf_addstr(out, ">\n");
		module(o, q, app, m, "   ", true, out);
		strbuf_addstr(out, "  </module>\n");
	}
	strbuf_addstr(out, " </binary>\n");
	free(images);
	return 0;
}

static void symbol_table(const struct opreport *o, struct query *q, struct strbuf *out)
{
	strbuf_addstr(out, " <symboltable>\n");
	for (size_t i = 0; i < q->n_rows; i++) {
		struct query_row *r = &q->rows[i];

		if (opreport_too_small(o, q, r->counts))
			continue;
		strbuf_addf(out, "  <symboldata id=\"%zu\"", i);
		attribute(out, "name", r->name);
		if (r->sym)
			strbuf_addf(out, " startingaddr=\"0x%" PRIx64 "\" codelength=\"%" PRIu64 "\"", r->vma,
				    r->sym->end - r->sym->start);
		if (o->debug_info && query_row_line(r)->line && query_row_line(r)->file) {
			attribute(out, "file", query_row_line(r)->file);
			strbuf_addf(out, " line=\"%u\"", query_row_line(r)->line);
		}
		strbuf_addstr(out, "/>\n");
	}
	strbuf_addstr(out, " </symboltable>\n");
}

static void detail_table(const struct opreport *o, const struct query *q, struct strbuf *out)
{
	size_t id = 0;

	strbuf_addstr(out, " <detailtable>\n");
	for (size_t i = 0; i < q->n_rows; i++) {
		const struct query_row *r = &q->rows[i];

		if (opreport_too_small(o, q, r->counts))
			continue;
		strbuf_addf(out, "  <symboldetails id=\"%zu\">\n", i);
		for (size_t k = 0; k < r->n_details;) {
			const struct query_detail *d = &r->details[k];
			uint64_t v[QUERY_CLASSES_MAX] = { 0 }, vma = d->key;
			struct sym_line at = { NULL, 0 };

			for (; k < r->n_details && r->details[k].img == d->img && r->details[k].key == d->key; k++)
				v[r->details[k].class] += r->details[k].count;
			(void)sym_find(d->img, d->key, &vma);
			strbuf_addf(out, "   <detaildata id=\"%zu\" vmaoffset=\"0x%" PRIx64 "\"", id++, vma);
			if (o->debug_info && !sym_line(d->img, d->key, &at)) {
				attribute(out, "file", at.file);
				strbuf_addf(out, " line=\"%u\"", at.line);
			}
			strbuf_addstr(out, ">\n");
			counts(q, v, "    ", out);
			strbuf_addstr(out, "   </detaildata>\n");
		}
		strbuf_addstr(out, "  </symboldetails>\n");
	}
	strbuf_addstr(out, " </detailtable>\n");
}

int opreport_xml(const struct opreport *o, struct query *q, struct strbuf *out)
{
	int r = 0;

	heading(o, q, out);
	for (uint32_t a = 0; a < q->n_apps && !r; a++) {
		bool any = false;

		for (size_t i = 0; i < q->n_rows && !any; i++)
			any = q->rows[i].app == a;
		if (any)
			r = binary(o, q, a, out);
	}
	if (o->symbols)
		symbol_table(o, q, out);
	if (o->details)
		detail_table(o, q, out);
	strbuf_addstr(out, "</profile>\n");
	return r < 0 ? r : out->error;
}
