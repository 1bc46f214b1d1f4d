/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/common.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "lib/io.h"
#include "lib/msg.h"
#include "report/text.h"

enum { KEY_SESSION_DIR = 0x1000, KEY_RAW_NAMES };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Which samples:", 1 },
	{ "session-dir", KEY_SESSION_DIR, "DIR", 0, "session to read (./oprofile_data, else /var/lib/oprofile)", 1 },
	{ "exclude-dependent", 'x', NULL, 0, "leave out libraries, modules and the kernel", 1 },
	{ "merge", 'm', "LIST", 0, "add up cpu,tid,unitmask (columns), lib (libraries), tgid (JIT code of processes), all", 1 },
	{ "include-symbols", 'i', "LIST", 0, "these symbols alone (wildcards allowed)", 1 },
	{ "exclude-symbols", 'e', "LIST", 0, "not these symbols", 1 },
	{ "threshold", 't', "PERCENT", 0, "leave out what has less than that", 1 },
	{ NULL, 0, NULL, 0, "Where images are:", 2 },
	{ "image-path", 'p', "LIST", 0, "further directories with images", 2 },
	{ "root", 'R', "DIR", 0, "look for images below DIR first", 2 },
	{ NULL, 0, NULL, 0, "Names:", 3 },
	{ "demangle", 'D', "STYLE", 0, "smart (default), normal (all types), none (as in the image)", 3 },
	{ "raw-names", KEY_RAW_NAMES, NULL, 0, "keep the numbers of lambdas, proxies and hidden classes", 3 },
	{ NULL, 0, NULL, 0, "General:", -1 },
	{ "verbose", 'V', "LIST", 0, "say what is done: all,debug,bfd,level1,sfile,stats,xml", -1 },
	{ "version", 'v', NULL, 0, "print the version", -1 },
	{ 0 },
};

int report_list_add(struct report_list *l, const char *words)
{
	while (*words) {
		size_t len = strcspn(words, ",");
		char **more = realloc(l->v, (l->n + 2) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		l->v = more;
		if (len) {
			l->v[l->n] = strndup(words, len);
			if (!l->v[l->n])
				return -ENOMEM;
			l->n++;
		}
		l->v[l->n] = NULL;
		words += len + (words[len] == ',');
	}
	return 0;
}

/* Symbol names hold commas themselves: "f(int, long)" is one word, a comma inside brackets does not part. */
static int add_symbols(struct report_list *l, const char *words)
{
	int depth = 0;
	const char *from = words;

	for (const char *s = words;; s++) {
		if (*s == '(' || *s == '<')
			depth++;
		else if ((*s == ')' || *s == '>') && depth)
			depth--;
		else if (!*s || (*s == ',' && !depth)) {
			char **more = realloc(l->v, (l->n + 2) * sizeof(*more));

			if (!more)
				return -ENOMEM;
			l->v = more;
			if (s > from && !(l->v[l->n++] = strndup(from, (size_t)(s - from))))
				return -ENOMEM;
			l->v[l->n] = NULL;
			from = s + 1;
			if (!*s)
				return 0;
		}
	}
}

static void merge_arg(struct report_common *c, const char *arg, struct argp_state *state)
{
	static const struct {
		const char *word;
		unsigned int bit;
	} words[] = {
		{ "cpu", QUERY_MERGE_CPU }, { "lib", QUERY_MERGE_LIB }, { "tid", QUERY_MERGE_TID }, { "tgid", QUERY_MERGE_TGID },
		{ "unitmask", QUERY_MERGE_UNITMASK }, { "all", QUERY_MERGE_ALL },
	};

	while (*arg) {
		size_t len = strcspn(arg, ","), i;

		for (i = 0; i < ARRAY_SIZE(words); i++)
			if (strlen(words[i].word) == len && !memcmp(words[i].word, arg, len))
				break;
		if (i == ARRAY_SIZE(words))
			argp_error(state, "--merge=%.*s: not one of cpu, lib, tid, tgid, unitmask, all", (int)len, arg);
		else
			c->merge |= words[i].bit;
		arg += len + (arg[len] == ',');
	}
}

static void threshold_arg(struct report_common *c, const char *arg, struct argp_state *state)
{
	char *end;

	c->threshold = strtod(arg, &end);
	if (end == arg || (*end && strcmp(end, "%")) || !(c->threshold >= 0 && c->threshold <= 100))
		argp_error(state, "--threshold=%s: a percentage from 0 to 100 is needed", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct report_common *c = state->input;
	int r = 0;

	switch (key) {
	case KEY_SESSION_DIR: c->session_dir = arg; break;
	case KEY_RAW_NAMES: c->raw_names = true; break;
	case 'x': c->exclude_dependent = true; break;
	case 'm': merge_arg(c, arg, state); break;
	case 'i': r = add_symbols(&c->include, arg); break;
	case 'e': r = add_symbols(&c->exclude, arg); break;
	case 't': threshold_arg(c, arg, state); break;
	case 'p': r = report_list_add(&c->dirs, arg); break;
	case 'R': c->root = arg; break;
	case 'V': r = report_list_add(&c->verbose, arg); break;
	case 'v':
		printf("%s (%s) %s\n", program_invocation_short_name, PACKAGE_NAME, PACKAGE_VERSION);
		exit(0);
	case 'D':
		if (names_style_parse(arg, &c->style) < 0)
			argp_error(state, "--demangle=%s: not one of smart, normal, none", arg);
		break;
	case ARGP_KEY_ARG: {
		const char **more = realloc(c->words, (c->n_words + 1) * sizeof(*more));

		if (!more)
			return ENOMEM;
		c->words = more;
		c->words[c->n_words++] = arg;
		break;
	}
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return -r;
}

const struct argp report_common_argp = { .options = options, .parser = parse };

static void list_done(struct report_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
}

void report_common_done(struct report_common *c)
{
	list_done(&c->dirs);
	list_done(&c->include);
	list_done(&c->exclude);
	list_done(&c->verbose);
	free(c->words);
}

bool report_verbose(const struct report_common *c, const char *topic)
{
	for (size_t i = 0; i < c->verbose.n; i++)
		if (!strcmp(c->verbose.v[i], topic) || !strcmp(c->verbose.v[i], "all"))
			return true;
	return false;
}

void report_common_query(const struct report_common *c, struct query_opts *o)
{
	o->session_dir = c->session_dir;
	o->root = c->root;
	o->image_dirs = (const char *const *)c->dirs.v;
	o->include = (const char *const *)c->include.v;
	o->exclude = (const char *const *)c->exclude.v;
	o->words = c->words;
	o->n_words = c->n_words;
	o->merge = c->merge;
	o->exclude_dependent = c->exclude_dependent;
	o->style = c->style;
	o->raw_names = c->raw_names;
}

struct missing {
	unsigned int n;
};

static void warn_one(void *arg, const char *image, int error)
{
	struct missing *m = arg;
	AUTO_STRBUF sb = STRBUF_INIT;

	if (m->n++ >= 5)
		return;
	text_add_plain(&sb, image);
	msg_warn("%s: no symbols: %s", strbuf_str(&sb),
		 error == -ENOENT ? "not found here (see --image-path and --root)" :
		 error == -ENOEXEC ? "not an ELF file" : strerror(-error));
}

void report_warn_missing(const struct report_common *c, struct query *q)
{
	struct missing m = { 0 };

	for (size_t i = 0; i < q->n_sources; i++) {
		struct session *s = q->sources[i].session;

		for (size_t k = 0; k < session_n_files(s) && report_verbose(c, "sfile"); k++) {
			const struct session_file *f = session_file(s, k);

			fprintf(stderr, "sample file %zu: %s of %s event %u tgid %d tid %d cpu %d\n", k, f->image, f->app, f->event,
				f->tgid, f->tid, f->cpu);
		}
		symbols_each_missing(q->sources[i].symbols, warn_one, &m);
	}
	if (m.n > 5)
		msg_warn("and %u more images without symbols", m.n - 5);
	if (report_verbose(c, "stats"))
		for (size_t k = 0; k < q->n_classes; k++)
			fprintf(stderr, "%s: %" PRIu64 " of %" PRIu64 " samples, %zu rows\n", q->classes[k].label, q->classes[k].total,
				q->classes[k].all, q->n_rows);
}

void report_add_header(struct strbuf *sb, struct query *q)
{
	struct session *s = q->sources[0].session;
	const char *cpu = session_cpu_type(s);
	double mhz = session_mhz(s);

	strbuf_addstr(sb, "CPU: ");
	text_add_plain(sb, cpu && *cpu ? cpu : "unknown");
	if (mhz > 0)
		strbuf_addf(sb, ", speed %g MHz (estimated)", mhz);
	strbuf_addch(sb, '\n');
	for (size_t i = 0; i < q->n_events; i++) {
		const struct session_event *e = q->events[i];

		if (e->timer) {
			strbuf_addstr(sb, "Profiling through timer interrupt\n");
			continue;
		}
		strbuf_addstr(sb, "Counted ");
		text_add_plain(sb, e->name);
		strbuf_addstr(sb, " events (");
		text_add_plain(sb, e->desc ? e->desc : "");
		strbuf_addf(sb, ") with a unit mask of 0x%02x (%s) ", e->um, e->um ? "unit mask set" : "No unit mask");
		if (e->count)
			strbuf_addf(sb, "count %" PRIu64 "\n", e->count);
		else
			strbuf_addf(sb, "frequency %" PRIu64 " Hz\n", e->freq);
	}
}

int report_write(const struct strbuf *sb, const char *path)
{
	int fd = STDOUT_FILENO, r;

	if (sb->error)
		return msg_errno(sb->error, "cannot make the report");
	if (path) {
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (fd < 0)
			return msg_errno(errno, "%s", path);
	}
	r = io_write_full(fd, strbuf_str(sb), sb->len);
	if (path && close(fd) < 0 && !r)
		r = -errno;
	return r < 0 ? msg_errno(r, "cannot write to %s", path ? path : "standard output") : 0;
}
