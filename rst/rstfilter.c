/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rstfilter: a chain of filters in one process. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "rst/cli.h"
#include "rst/filter.h"
#include "rst/print.h"

#define MAX_STAGES 64

static const char usage[] =
"Usage: rstfilter -a 'FILTER [FILTER …]' [options] [file]\n"
"Change instruction traces.\n"
"  -a, --apply LIST        filters by name, in order; NAME=VALUE for those that take one\n"
"  -l, --list              the filters\n"
"  -o, --output FILE       where to (else stdout); the suffix .rzx, .rz2.gz, .rz3.gz packs\n"
"  -u, --text              a text of the input and of what each stage made: FILE (or rstfilter).N-NAME.txt\n"
"  -k, --keep-level        do not count the stages in the level record\n"
"  -h, --help              this text\n"
"  -v, --version           the version\n";

struct chain;
struct stage {
	struct chain *c;
	struct filter *f;    /* NULL: the end of the chain */
	FILE *text;
	struct printer printer;
	uint64_t n;
};
struct chain {
	struct stage s[MAX_STAGES + 1];
	size_t n;            /* filters */
	struct cli_out *out;
	bool keep_level;
};

/* A record comes to a stage. */
static int take(void *arg, const uint8_t *in)
{
	struct stage *s = arg;
	uint8_t rec[RST_REC_SIZE];
	int rc, v;

	memcpy(rec, in, RST_REC_SIZE);
	if (s->f && !s->n) {
		v = rst_header_version(rec);
		if (v >= 0)
			s->f->version = s->f->version_out = (unsigned int)v;
	}
	if (s->text) {
		if (!s->n) {
			v = rst_header_version(rec);
			s->printer.version = v < 0 ? RST_VERSION : (unsigned int)v;
		}
		fputs(printer_line(&s->printer, s->n, rec), s->text);
	}
	s->n++;
	if (!s->f)
		return cli_out_write(s->c->out, rec, 1);
	/* Each stage that rewrites a trace counts itself in its level record. */
	if (s->n == 2 && rec[0] == RST_TRACEINFO && rec[1] == RST_TRACEINFO_LEVEL && !s->c->keep_level)
		rst_put16(rec + 2, (uint16_t)(rst_be16(rec + 2) + 1));
	s->f->n = s->n - 1;
	rc = s->f->ops->rec(s->f, rec);
	return rc;
}

static int make_chain(struct chain *c, char *list)
{
	char *save = NULL;

	for (char *name = strtok_r(list, " \t\n", &save); name; name = strtok_r(NULL, " \t\n", &save)) {
		int rc;

		if (c->n == MAX_STAGES) {
			msg_error("more than %d filters", MAX_STAGES);
			return -E2BIG;
		}
		rc = filter_new(&c->s[c->n].f, name);
		if (rc == -ENOENT)
			msg_error("%s: no such filter; see rstfilter --list", name);
		else if (rc)
			msg_error("%s: a wrong or missing value; see rstfilter --list", name);
		if (rc)
			return rc;
		c->n++;
	}
	if (!c->n) {
		msg_error("no filters given; see rstfilter --help");
		return -EINVAL;
	}
	for (size_t i = 0; i <= c->n; i++)
		c->s[i].c = c;
	for (size_t i = 0; i < c->n; i++) {
		c->s[i].f->emit = take;
		c->s[i].f->emit_arg = &c->s[i + 1];
	}
	return 0;
}

static int open_texts(struct chain *c, const char *base)
{
	const struct print_opts po = { .verbose = false };

	for (size_t i = 0; i <= c->n; i++) {
		AUTO_FREE char *path = NULL;
		const char *name = i ? c->s[i - 1].f->ops->name : "input";

		if (asprintf(&path, "%s.%zu-%s.txt", base, i, name) < 0)
			return -ENOMEM;
		c->s[i].text = fopen(path, "we");
		if (!c->s[i].text)
			return msg_errno(errno, "%s", path);
		if (printer_init(&c->s[i].printer, &po, RST_VERSION))
			return -ENOMEM;
	}
	return 0;
}

static int pump(struct chain *c, struct cli_in *ci)
{
	const uint8_t *rec;
	int rc = 0;

	while (!rc && (rec = cli_next(ci)))
		rc = take(&c->s[0], rec);
	for (size_t i = 0; i < c->n && !rc; i++)
		if (c->s[i].f->ops->end)
			rc = c->s[i].f->ops->end(c->s[i].f);
	return rc;
}

static int close_chain(struct chain *c)
{
	int rc = 0;

	for (size_t i = 0; i <= c->n; i++) {
		if (c->s[i].text) {
			printer_done(&c->s[i].printer);
			if (fclose(c->s[i].text))
				rc = msg_errno(errno, "a text dump could not be written");
		}
		filter_free(c->s[i].f);
	}
	return rc;
}

static void list(void)
{
	for (size_t i = 0; i < filter_table_size; i++) {
		char name[40];

		snprintf(name, sizeof(name), "%s%s%s%s", filter_table[i].name,
			 !filter_table[i].param ? "" : filter_table[i].param_needed ? "=" : "[=",
			 filter_table[i].param ? filter_table[i].param : "",
			 filter_table[i].param && !filter_table[i].param_needed ? "]" : "");
		printf("%-16s %s\n", name, filter_table[i].help);
	}
}

static int run(struct chain *c, const char *in, const char *out, bool text)
{
	struct rst_out_opts o = { .container = RST_RAW, .rz2_up = -1 };
	struct cli_out co = { .fd = -1 };
	struct cli_in ci;
	bool gzip = false;
	int rc = cli_open(&ci, in), rc2;

	if (out)
		o.container = cli_container_of(out, &gzip);
	o.gzip_level = gzip ? 9 : 0;
	if (!rc)
		rc = cli_out_open(&co, out, &o);
	c->out = &co;
	if (!rc && text)
		rc = open_texts(c, out && strcmp(out, "-") ? out : "rstfilter");
	if (!rc) {
		rc = pump(c, &ci);
		if (rc == -EILSEQ)
			msg_error("record %" PRIu64 " has a value that the version asked for cannot hold", ci.recno - 1);
		else if (rc)
			msg_errno(rc, "stopped at record %" PRIu64, ci.recno - 1);
	}
	rc2 = cli_out_finish(&co, !rc, NULL, 0);
	rc = rc ? rc : rc2 ? rc2 : ci.error;
	cli_close(&ci);
	return rc;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "apply", 1, NULL, 'a' }, { "list", 0, NULL, 'l' }, { "output", 1, NULL, 'o' }, { "text", 0, NULL, 'u' },
		{ "keep-level", 0, NULL, 'k' }, { "help", 0, NULL, 'h' }, { "version", 0, NULL, 'v' }, { 0 },
	};
	static struct chain chain;
	const char *out = NULL;
	char *names = NULL;
	bool text = false;
	int c, rc;

	msg_init("rstfilter");
	while ((c = getopt_long(argc, argv, "a:lo:ukhv", longs, NULL)) >= 0) {
		switch (c) {
		case 'a': names = optarg; break;
		case 'l':
			list();
			return fflush(stdout) || ferror(stdout) ? 1 : 0;
		case 'o': out = optarg; break;
		case 'u': text = true; break;
		case 'k': chain.keep_level = true; break;
		case 'h': fputs(usage, stdout); return 0;
		case 'v': printf("rstfilter (opjit) %s\n", PACKAGE_VERSION); return 0;
		default: return 2;
		}
	}
	if (optind + 1 < argc) {
		msg_error("more than one file");
		return 2;
	}
	rc = make_chain(&chain, names ? names : (char[]){ "" });
	if (rc) {
		close_chain(&chain);
		return 2;
	}
	rc = run(&chain, argv[optind], out, text);
	if (close_chain(&chain))
		rc = -EIO;
	return rc ? 1 : 0;
}
