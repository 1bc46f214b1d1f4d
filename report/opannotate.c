/* SPDX-License-Identifier: GPL-3.0-or-later */
/* opannotate: source and instructions with their samples. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/io.h"
#include "lib/msg.h"
#include "report/annotate.h"
#include "report/disasm.h"
#include "report/text.h"

enum { KEY_INCLUDE_FILE = 0x2000, KEY_EXCLUDE_FILE, KEY_OBJDUMP };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What is shown:", 10 },
	{ "source", 's', NULL, 0, "source files with samples", 10 },
	{ "assembly", 'a', NULL, 0, "instructions with samples (with -s: source between them)", 10 },
	{ "include-file", KEY_INCLUDE_FILE, "LIST", 0, "these source files alone (wildcards allowed)", 10 },
	{ "exclude-file", KEY_EXCLUDE_FILE, "LIST", 0, "not these source files", 10 },
	{ NULL, 0, NULL, 0, "Where sources are:", 11 },
	{ "search-dirs", 'd', "LIST", 0, "directories to look for sources in", 11 },
	{ "base-dirs", 'b', "LIST", 0, "beginnings of paths to take off before looking", 11 },
	{ NULL, 0, NULL, 0, "Output:", 12 },
	{ "output-dir", 'o', "DIR", 0, "one annotated file a source file, below DIR", 12 },
	{ "objdump-params", KEY_OBJDUMP, "PARAMS", 0, "disassemble with objdump and these parameters", 12 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct annotate *a = state->input;
	int r = 0;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &a->common; break;
	case 's': a->source = true; break;
	case 'a': a->assembly = true; break;
	case KEY_INCLUDE_FILE: r = report_list_add(&a->include_file, arg); break;
	case KEY_EXCLUDE_FILE: r = report_list_add(&a->exclude_file, arg); break;
	case 'd': r = report_list_add(&a->search, arg); break;
	case 'b': r = report_list_add(&a->base, arg); break;
	case 'o': a->output_dir = arg; break;
	case KEY_OBJDUMP: a->objdump_params = arg; break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return -r;
}

static const struct argp_child children[] = { { &report_common_argp, 0, NULL, 0 }, { 0 } };
static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[PROFILE-SPECIFICATION...]",
	.doc = "Shows source lines or instructions with the samples that were taken there.",
	.children = children,
};

/* --- shared ---------------------------------------------------------------------------------------------------- */

void annotate_add_heading(const struct annotate *a, struct query *q, struct strbuf *out)
{
	AUTO_STRBUF cpu = STRBUF_INIT;
	const char *line, *end;

	strbuf_addstr(out, "/*\n * Command line: ");
	text_add_plain(out, a->command ? a->command : "opannotate");
	strbuf_addf(out, "\n *\n * Interpretation of command line:\n * Output annotated %s\n",
		    a->source && a->assembly ? "assembly listing and source with samples" :
		    a->source ? "source file with samples" : "assembly listing with samples");
	if (a->common.threshold > 0)
		strbuf_addf(out, " * Output only what has at least %g%% of the samples\n", a->common.threshold);
	strbuf_addstr(out, " *\n");
	report_add_header(&cpu, q);
	for (line = strbuf_str(&cpu); *line; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		strbuf_addf(out, " * %.*s\n", (int)(end - line), line);
	}
	strbuf_addstr(out, " */\n");
}

void annotate_add_counts(const struct query *q, const uint64_t *counts, struct strbuf *out)
{
	for (size_t c = 0; c < q->n_classes; c++)
		if (counts && counts[c]) {
			strbuf_addf(out, "%6" PRIu64 " ", counts[c]);
			text_add_percent(out, counts[c], q->classes[c].total);
			strbuf_addch(out, ' ');
		} else {
			strbuf_addstr(out, "               ");
		}
	strbuf_addch(out, ':');
}

/* --- source ---------------------------------------------------------------------------------------------------- */

static bool name_in(const struct report_list *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (!fnmatch(l->v[i], path, 0) || !fnmatch(l->v[i], text_base(path), 0))
			return true;
	return false;
}

static bool file_wanted(const struct annotate *a, const struct query *q, const struct annotate_file *f)
{
	bool any = false;

	for (size_t c = 0; c < q->n_classes && !any; c++)
		any = f->counts[c] && text_percent(f->counts[c], q->classes[c].total) >= a->common.threshold;
	return any && (!a->include_file.n || name_in(&a->include_file, f->path)) && !name_in(&a->exclude_file, f->path);
}

/* One line of source text, control bytes made visible but for tabs. */
static void add_text(struct strbuf *out, const char *s, size_t n)
{
	AUTO_STRBUF part = STRBUF_INIT;
	size_t from = 0;

	for (size_t i = 0; i <= n; i++)
		if (i == n || s[i] == '\t' || !s[i]) {
			strbuf_reset(&part);
			strbuf_add(&part, s + from, i - from);
			text_add_plain(out, strbuf_str(&part));
			if (i < n)
				strbuf_addstr(out, s[i] ? "\t" : "\\x00");
			from = i + 1;
		}
}

static void add_line_end(const struct annotate_line *l, struct strbuf *out)
{
	if (l && l->symbols) {
		strbuf_addstr(out, " /* ");
		text_add_plain(out, l->symbols);
		strbuf_addstr(out, " */");
	}
	strbuf_addch(out, '\n');
}

static void add_source(const struct annotate *a, const struct query *q, const struct annotate_file *f, struct strbuf *out)
{
	AUTO_STRBUF text = STRBUF_INIT;
	const char *s, *end;
	uint32_t number = 1;
	size_t i = 0;

	strbuf_addstr(out, "/*\n * Total samples for file : \"");
	text_add_plain(out, f->path);
	strbuf_addstr(out, "\"\n *\n * ");
	for (size_t c = 0; c < q->n_classes; c++) {
		strbuf_addf(out, "%s%6" PRIu64 " ", c ? " " : "", f->counts[c]);
		text_add_percent(out, f->counts[c], q->classes[c].total);
	}
	strbuf_addstr(out, "\n */\n\n\n");
	if (annotate_read_source(a, f->path, &text) < 0) {
		AUTO_STRBUF clean = STRBUF_INIT;

		text_add_plain(&clean, f->path);
		msg_warn("%s: source not found (see --search-dirs and --base-dirs)", strbuf_str(&clean));
	}
	for (s = strbuf_str(&text); s < strbuf_str(&text) + text.len; s = end + 1, number++) {
		const struct annotate_line *l = i < f->n && f->lines[i].line == number ? &f->lines[i++] : NULL;

		end = memchr(s, '\n', (size_t)(text.buf + text.len - s));
		end = end ? end : text.buf + text.len;
		annotate_add_counts(q, l ? l->counts : NULL, out);
		add_text(out, s, (size_t)(end - s));
		add_line_end(l, out);
	}
	for (; i < f->n; i++) { /* lines behind the end of the text that we have */
		annotate_add_counts(q, f->lines[i].counts, out);
		strbuf_addf(out, "(line %u)", f->lines[i].line);
		add_line_end(&f->lines[i], out);
	}
}

/* DIR/path of the source; ".." must not lead out of DIR. */
static int output_path(const struct annotate *a, const char *path, struct strbuf *ret)
{
	strbuf_addstr(ret, a->output_dir);
	for (const char *s = path; *s;) {
		size_t n = strcspn(s, "/");

		if (n && !(n == 1 && *s == '.') && !(n == 2 && s[0] == '.' && s[1] == '.'))
			strbuf_addf(ret, "/%.*s", (int)n, s);
		s += n + (s[n] == '/');
	}
	return ret->error;
}

static int write_below(const struct annotate *a, const char *path, const struct strbuf *sb)
{
	AUTO_STRBUF to = STRBUF_INIT;
	AUTO_FREE char *parent = NULL;
	char *slash;
	int r = output_path(a, path, &to);

	if (r < 0)
		return r;
	parent = strdup(to.buf);
	slash = parent ? strrchr(parent, '/') : NULL;
	if (!slash)
		return -ENOMEM;
	*slash = '\0';
	r = io_mkdirs(parent, 0777);
	if (r < 0)
		return msg_errno(r, "%s", parent);
	return report_write(sb, to.buf);
}

int annotate_source(const struct annotate *a, struct query *q)
{
	struct annotate_files files;
	AUTO_STRBUF out = STRBUF_INIT_CAP((size_t)1 << 32);
	bool any = false;
	int r = annotate_files_make(&files, q);

	if (!a->output_dir)
		annotate_add_heading(a, q, &out);
	for (size_t i = 0; i < files.n && !r; i++) {
		if (!file_wanted(a, q, &files.v[i]))
			continue;
		any = true;
		add_source(a, q, &files.v[i], &out);
		if (a->output_dir) {
			annotate_add_heading(a, q, &out);
			r = write_below(a, files.v[i].path, &out);
			strbuf_reset(&out);
		} else {
			strbuf_addch(&out, '\n');
		}
	}
	if (!r && !any) {
		msg_error("no samples with known source lines: were the programs compiled with -g, the JIT code with lines?");
		r = -ENOENT;
	}
	if (!r && !a->output_dir)
		r = report_write(&out, NULL);
	annotate_files_done(&files);
	return r;
}

/* --- main ------------------------------------------------------------------------------------------------------ */

static int run(struct annotate *a)
{
	struct query_opts qo = { .by_symbol = true, .details = true };
	AUTO_STRBUF why = STRBUF_INIT;
	AUTO_STRBUF clean = STRBUF_INIT;
	struct query *q = NULL;
	int r;

	if (!a->source && !a->assembly) {
		msg_error("give --source, --assembly or both");
		return -EINVAL;
	}
	report_common_query(&a->common, &qo);
	r = query_run(&q, &qo, &why);
	if (r < 0) {
		text_add_plain(&clean, strbuf_str(&why));
		msg_error("%s", strbuf_str(&clean));
		return r;
	}
	query_sort(q, NULL, 0, false);
	r = a->assembly ? annotate_assembly(a, q) : annotate_source(a, q);
	if (!r)
		report_warn_missing(&a->common, q);
	query_free(q);
	return r;
}

static void lists_done(struct annotate *a)
{
	struct report_list *lists[] = { &a->search, &a->base, &a->include_file, &a->exclude_file };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		for (size_t k = 0; k < lists[i]->n; k++)
			free(lists[i]->v[k]);
		free(lists[i]->v);
	}
}

int main(int argc, char **argv)
{
	struct annotate a = { 0 };
	AUTO_STRBUF command = STRBUF_INIT;
	int r;

	msg_init("opannotate");
	for (int i = 0; i < argc; i++)
		strbuf_addf(&command, "%s%s", i ? " " : "", i ? argv[i] : text_base(argv[i]));
	a.command = command.buf;
	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return 1;
	r = run(&a);
	report_common_done(&a.common);
	lists_done(&a);
	return r < 0 ? 1 : 0;
}
