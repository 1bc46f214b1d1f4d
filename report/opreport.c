/* SPDX-License-Identifier: GPL-3.0-or-later */
/* opreport: profiles by image and by symbol. */
#include "report/opreport.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/msg.h"
#include "report/text.h"

enum { KEY_INLINES = 0x2000, KEY_LINES, KEY_QUALITY, KEY_TIERS, KEY_JSON, KEY_CSV };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What is shown:", 10 },
	{ "symbols", 'l', NULL, 0, "by symbol instead of by image", 10 },
	{ "callgraph", 'c', NULL, 0, "with callers and callees", 10 },
	{ "details", 'd', NULL, 0, "each instruction that has samples", 10 },
	{ "lines", KEY_LINES, NULL, 0, "each symbol split by source line", 10 },
	{ "inlines", KEY_INLINES, NULL, 0, "each symbol split by its inlined frames", 10 },
	{ "quality", KEY_QUALITY, NULL, 0, "how the samples got their names, and what is missing", 10 },
	{ NULL, 0, NULL, 0, "How it is shown:", 11 },
	{ "debug-info", 'g', NULL, 0, "source file and line of each symbol", 11 },
	{ "show-address", 'w', NULL, 0, "address of each symbol", 11 },
	{ "accumulated", 'a', NULL, 0, "running sums of samples and percentages", 11 },
	{ "global-percent", '%', NULL, 0, "percentages of the whole profile", 11 },
	{ "long-filenames", 'f', NULL, 0, "whole paths", 11 },
	{ "no-header", 'n', NULL, 0, "no heading", 11 },
	{ "sort", 's', "LIST", 0, "sample,image,app-name,symbol,debug,vma", 11 },
	{ "reverse-sort", 'r', NULL, 0, "the other way round", 11 },
	{ "tiers", KEY_TIERS, NULL, 0, "compiled versions of a method apart, with their tier", 11 },
	{ NULL, 0, NULL, 0, "Output:", 12 },
	{ "output-file", 'o', "FILE", 0, "write there instead of to standard output", 12 },
	{ "xml", 'X', NULL, 0, "XML (schema 3.1)", 12 },
	{ "json", KEY_JSON, NULL, 0, "JSON", 12 },
	{ "csv", KEY_CSV, NULL, 0, "comma-separated values", 12 },
	{ 0 },
};

static void sort_arg(struct opreport *o, const char *arg, struct argp_state *state)
{
	static const char *const words[] = { "sample", "image", "app-name", "symbol", "debug", "vma" };

	while (*arg) {
		size_t len = strcspn(arg, ","), i;

		for (i = 0; i < ARRAY_SIZE(words); i++)
			if (strlen(words[i]) == len && !memcmp(words[i], arg, len))
				break;
		if (i == ARRAY_SIZE(words))
			argp_error(state, "--sort=%.*s: not one of sample, image, app-name, symbol, debug, vma", (int)len, arg);
		else if (o->n_sort < ARRAY_SIZE(o->sort))
			o->sort[o->n_sort++] = (enum query_sort)i;
		arg += len + (arg[len] == ',');
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct opreport *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &o->common; break;
	case 'l': o->symbols = true; break;
	case 'c': o->callgraph = o->symbols = true; break;
	case 'd': o->details = o->symbols = true; break;
	case KEY_LINES: o->lines = o->symbols = true; break;
	case KEY_INLINES: o->inlines = o->symbols = true; break;
	case KEY_QUALITY: o->quality = true; break;
	case 'g': o->debug_info = o->symbols = true; break;
	case 'w': o->show_address = o->symbols = true; break;
	case 'a': o->accumulated = o->symbols = true; break;
	case '%': o->global_percent = true; break;
	case 'f': o->long_names = true; break;
	case 'n': o->no_header = true; break;
	case 's': sort_arg(o, arg, state); break;
	case 'r': o->reverse = true; break;
	case KEY_TIERS: o->tiers = o->symbols = true; break;
	case 'o': o->output = arg; break;
	case 'X': o->form = OPREPORT_XML; break;
	case KEY_JSON: o->form = OPREPORT_JSON; break;
	case KEY_CSV: o->form = OPREPORT_CSV; break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = { { &report_common_argp, 0, NULL, 0 }, { 0 } };
static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[PROFILE-SPECIFICATION...]\n{ SPECIFICATION... } { SPECIFICATION... }",
	.doc = "Shows what was running in a profile, by image or by symbol.",
	.children = children,
};

/* --- shared by the forms ---------------------------------------------------------------------------------- */

uint64_t opreport_whole(const struct opreport *o, const struct query *q, size_t class)
{
	return o->global_percent ? q->classes[class].all : q->classes[class].total;
}

bool opreport_too_small(const struct opreport *o, const struct query *q, const uint64_t *counts)
{
	for (size_t c = 0; c < q->n_classes; c++)
		if (text_percent(counts[c], opreport_whole(o, q, c)) >= o->common.threshold)
			return false;
	return true;
}

void opreport_add_location(const struct opreport *o, const struct sym_line *at, struct strbuf *sb)
{
	if (!at->line || !at->file)
		strbuf_addstr(sb, "(no location information)");
	else
		strbuf_addf(sb, "%s:%u", o->long_names ? at->file : text_base(at->file), at->line);
}

/* --- the run ----------------------------------------------------------------------------------------------- */

static int run_query(const struct opreport *o, const char **words, size_t n, struct query **ret)
{
	struct query_opts qo = { 0 };
	AUTO_STRBUF why = STRBUF_INIT;
	AUTO_STRBUF clean = STRBUF_INIT;
	int r;

	report_common_query(&o->common, &qo);
	qo.words = words;
	qo.n_words = n;
	qo.by_symbol = o->symbols;
	qo.details = o->details || o->lines || o->inlines;
	qo.tiers = o->tiers;
	r = query_run(ret, &qo, &why);
	if (r < 0) {
		text_add_plain(&clean, strbuf_str(&why));
		msg_error("%s", strbuf_str(&clean));
	}
	return r;
}

struct word { /* of the command line, without its braces */
	const char *text;
	int len;
	bool opens, closes;
};

static struct word word_of(const char *s)
{
	struct word w = { .opens = *s == '{' };
	size_t len;

	s += w.opens;
	len = strlen(s);
	w.closes = len && s[len - 1] == '}';
	w.text = s;
	w.len = (int)(len - w.closes);
	return w;
}

static int add_word(struct report_list *l, const struct word *w)
{
	char **more = realloc(l->v, (l->n + 2) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	l->v = more;
	l->v[l->n] = strndup(w->text, (size_t)w->len);
	return l->v[l->n++] ? 0 : -ENOMEM;
}

/* { A } { B }: the words of each; those outside of braces belong to both. Number of groups, or -EINVAL. */
static int split_braces(const struct opreport *o, struct report_list groups[2])
{
	int n = 0, r = 0;
	bool inside = false;

	for (size_t i = 0; i < o->common.n_words && !r; i++) {
		struct word w = word_of(o->common.words[i]);

		if ((w.opens && (inside || n == 2)) || (w.closes && !inside && !w.opens))
			return -EINVAL;
		n += w.opens;
		inside |= w.opens;
		for (int g = 0; g < 2 && w.len && !r; g++)
			if (!inside || g == n - 1)
				r = add_word(&groups[g], &w);
		inside &= !w.closes;
	}
	return r ? r : inside ? -EINVAL : n;
}

static int make(const struct opreport *o, struct query *q, struct strbuf *out)
{
	AUTO_STRBUF why = STRBUF_INIT;
	int r;

	if (o->quality && o->form != OPREPORT_JSON)
		return opreport_quality(o, q, out);
	if (o->callgraph && o->form == OPREPORT_TEXT) {
		r = opreport_callgraph(o, q, out, &why);
		if (r < 0)
			msg_error("%s", why.len ? why.buf : strerror(-r));
		return r;
	}
	query_sort(q, o->sort, o->n_sort, o->reverse);
	switch (o->form) {
	case OPREPORT_XML: return opreport_xml(o, q, out);
	case OPREPORT_JSON: return opreport_json(o, q, out);
	case OPREPORT_CSV: return opreport_csv(o, q, out);
	case OPREPORT_TEXT: break;
	}
	return o->symbols ? opreport_symbols(o, q, out) : opreport_images(o, q, out);
}

static int run_difference(struct opreport *o, struct report_list groups[2], struct strbuf *out)
{
	struct query *q[2] = { NULL, NULL };
	int r = 0;

	if (o->form != OPREPORT_TEXT || o->callgraph || o->details || o->inlines || o->lines || o->quality) {
		msg_error("differences are shown as text by image or by symbol only");
		return -EINVAL;
	}
	for (int i = 0; i < 2 && !r; i++)
		r = run_query(o, (const char **)groups[i].v, groups[i].n, &q[i]);
	if (!r) {
		for (int i = 0; i < 2; i++)
			report_warn_missing(&o->common, q[i]);
		query_sort(q[1], o->sort, o->n_sort, o->reverse);
		r = opreport_difference(o, q[0], q[1], out);
	}
	query_free(q[0]);
	query_free(q[1]);
	return r;
}

static int run(struct opreport *o)
{
	struct report_list groups[2] = { 0 };
	AUTO_STRBUF out = STRBUF_INIT_CAP((size_t)1 << 32);
	struct query *q = NULL;
	int n = split_braces(o, groups), r;

	if (n == 1 || n < 0) {
		msg_error("differences are written { SPECIFICATION } { SPECIFICATION }");
		r = -EINVAL;
	} else if (n == 2) {
		r = run_difference(o, groups, &out);
	} else {
		r = run_query(o, o->common.words, o->common.n_words, &q);
		if (!r)
			r = make(o, q, &out);
		if (!r)
			report_warn_missing(&o->common, q);
	}
	if (!r)
		r = report_write(&out, o->output);
	query_free(q);
	for (int i = 0; i < 2; i++) {
		for (size_t k = 0; k < groups[i].n; k++)
			free(groups[i].v[k]);
		free(groups[i].v);
	}
	return r;
}

int main(int argc, char **argv)
{
	struct opreport o = { 0 };
	AUTO_STRBUF command = STRBUF_INIT;
	int r;

	msg_init("opreport");
	for (int i = 0; i < argc; i++)
		strbuf_addf(&command, "%s%s", i ? " " : "", i ? argv[i] : text_base(argv[i]));
	o.command = command.buf;
	if (argp_parse(&argp, argc, argv, 0, NULL, &o))
		return 1;
	r = run(&o);
	report_common_done(&o.common);
	return r < 0 ? 1 : 0;
}
