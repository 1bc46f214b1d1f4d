/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions with samples, symbol by symbol; a method that was compiled more than once has a block each time. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "report/annotate.h"
#include "report/disasm.h"
#include "report/text.h"

struct listing {
	const struct annotate *a;
	struct query *q;
	struct strbuf *out;
	struct sym_image *img;
	const struct query_detail *d, *end; /* what is still to be printed of this block, by ascending key */
	struct sym_line last;               /* with --source: printed last */
	struct strbuf source;               /* text of last.file */
};

static uint64_t vma_of(const struct query_detail *d)
{
	uint64_t vma = d->key;

	(void)sym_find(d->img, d->key, &vma);
	return vma;
}

static void add_source_line(struct listing *l, uint64_t vma)
{
	struct sym_line at = { NULL, 0 };
	uint64_t key;
	const char *s, *end;

	if (!sym_offset(l->img, vma, &key) || sym_line(l->img, key, &at) < 0 ||
	    (l->last.line == at.line && l->last.file && !strcmp(l->last.file, at.file)))
		return;
	if (!l->last.file || strcmp(l->last.file, at.file)) {
		strbuf_reset(&l->source);
		(void)annotate_read_source(l->a, at.file, &l->source);
	}
	l->last = at;
	s = strbuf_str(&l->source);
	for (uint32_t n = 1; n < at.line && *s; n++) {
		s += strcspn(s, "\n");
		s += *s == '\n';
	}
	end = s + strcspn(s, "\n");
	annotate_add_counts(l->q, NULL, l->out);
	text_add_plain(l->out, text_base(at.file));
	strbuf_addf(l->out, ":%u", at.line);
	if (end > s) {
		AUTO_FREE char *line = strndup(s, (size_t)(end - s));

		for (char *t = line; t && *t; t++)
			if (*t == '\t')
				*t = ' ';
		strbuf_addstr(l->out, ": ");
		text_add_plain(l->out, line ? line : "");
	}
	strbuf_addch(l->out, '\n');
}

/* Adds up what was counted before the next instruction: samples may lie within one. */
static bool take_until(struct listing *l, uint64_t vma, uint64_t *counts)
{
	bool any = false;

	for (; l->d < l->end && vma_of(l->d) < vma; l->d++) {
		counts[l->d->class] += l->d->count;
		any = true;
	}
	return any;
}

static int add_instruction(void *arg, uint64_t vma, const char *text)
{
	struct listing *l = arg;
	uint64_t counts[QUERY_CLASSES_MAX] = { 0 };

	if (l->a->source)
		add_source_line(l, vma);
	(void)take_until(l, vma + 1, counts);
	annotate_add_counts(l->q, counts, l->out);
	strbuf_addf(l->out, "%8" PRIx64 ":\t", vma);
	text_add_plain(l->out, text);
	strbuf_addch(l->out, '\n');
	return l->out->error;
}

/* Addresses alone: what has no code bytes, no symbol, or lies inside the last instruction. */
static void add_rest(struct listing *l)
{
	while (l->d < l->end) {
		uint64_t counts[QUERY_CLASSES_MAX] = { 0 }, vma = vma_of(l->d);

		(void)take_until(l, vma + 1, counts);
		annotate_add_counts(l->q, counts, l->out);
		strbuf_addf(l->out, "%8" PRIx64 ":\n", vma);
	}
}

static int add_block(struct listing *l, struct query_row *r, const struct sym *s, size_t from, size_t to)
{
	uint64_t counts[QUERY_CLASSES_MAX] = { 0 };
	int e = 0;

	for (size_t i = from; i < to; i++)
		counts[r->details[i].class] += r->details[i].count;
	l->img = r->details[from].img;
	l->d = &r->details[from];
	l->end = &r->details[to];
	strbuf_addf(l->out, "\n%016" PRIx64 " <", s ? s->start : vma_of(l->d));
	text_add_plain(l->out, r->name);
	strbuf_addstr(l->out, ">: /* ");
	text_add_plain(l->out, l->q->images[r->image].label);
	strbuf_addstr(l->out, " total: ");
	for (size_t c = 0; c < l->q->n_classes; c++) {
		strbuf_addf(l->out, "%s%6" PRIu64 " ", c ? " " : "", counts[c]);
		text_add_percent(l->out, counts[c], l->q->classes[c].total);
	}
	strbuf_addstr(l->out, " */\n");
	if (s && s->end > s->start)
		e = l->a->objdump_params ? disasm_objdump(l->img, s->start, s->end, l->a->objdump_params, add_instruction, l) :
					   disasm_range(l->img, s->start, s->end, add_instruction, l);
	if (e == -ENOENT || e == -EOPNOTSUPP) {
		strbuf_addf(l->out, "/* %s */\n", e == -ENOENT ? "no code bytes here" : "no disassembler for this machine");
		e = 0;
	}
	add_rest(l);
	return e;
}

int annotate_assembly(const struct annotate *a, struct query *q)
{
	AUTO_STRBUF out = STRBUF_INIT_CAP((size_t)1 << 32);
	struct listing l = { .a = a, .q = q, .out = &out, .source = STRBUF_INIT };
	int r = 0;

	annotate_add_heading(a, q, &out);
	for (size_t i = 0; i < q->n_rows && !r; i++) {
		struct query_row *row = &q->rows[i];
		bool wanted = false;

		for (size_t c = 0; c < q->n_classes && !wanted; c++)
			wanted = text_percent(row->counts[c], q->classes[c].total) >= a->common.threshold;
		for (size_t from = 0, to; wanted && from < row->n_details && !r; from = to) {
			const struct sym *s = sym_find(row->details[from].img, row->details[from].key, NULL);

			for (to = from + 1; to < row->n_details && row->details[to].img == row->details[from].img &&
					    sym_find(row->details[to].img, row->details[to].key, NULL) == s; to++)
				;
			r = add_block(&l, row, s, from, to);
		}
	}
	strbuf_done(&l.source);
	return r < 0 ? r : report_write(&out, NULL);
}
