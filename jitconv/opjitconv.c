/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * opjitconv: from what a JIT wrote to an ordinary ELF file. Images of libopagent (growing or not), perf's jitdump, perf
 * maps and OProfile's dump come in; one sealed image each comes out.
 */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "jitconv/foreign.h"
#include "jitconv/seal.h"
#include "lib/io.h"
#include "lib/msg.h"
#include "lib/strbuf.h"

const char *argp_program_version = "opjitconv (opjit) " PACKAGE_VERSION;

enum { OPT_NO_DEBUG = 256, OPT_SESSION, OPT_LIST };

struct args {
	const char *output, *session, *name;
	char **inputs;
	int n_inputs;
	bool no_debug, list;
};

static error_t parse(int key, char *arg, struct argp_state *st)
{
	struct args *a = st->input;

	switch (key) {
	case 'o': a->output = arg; return 0;
	case 'n': a->name = arg; return 0;
	case 'V': msg_verbose = 1; return 0;
	case OPT_NO_DEBUG: a->no_debug = true; return 0;
	case OPT_SESSION: a->session = arg; return 0;
	case OPT_LIST: a->list = true; return 0;
	case ARGP_KEY_ARGS:
		a->inputs = st->argv + st->next;
		a->n_inputs = st->argc - st->next;
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

struct input {
	int fd;
	const uint8_t *data;
	size_t len;
};

static void input_done(struct input *in)
{
	if (in->data)
		munmap((void *)in->data, in->len);
	if (in->fd >= 0)
		close(in->fd);
}

static int input_open(struct input *in, int dirfd, const char *path)
{
	struct stat st;
	void *p;

	*in = (struct input){ .fd = io_open_regular(dirfd, path, O_RDONLY) };
	if (in->fd == -ENXIO)
		return msg_error("%s: not a regular file", path), -ENXIO;
	if (in->fd < 0)
		return msg_errno(in->fd, "%s", path);
	if (fstat(in->fd, &st) < 0)
		return msg_errno(errno, "%s", path);
	if (!st.st_size)
		return msg_error("%s: empty file", path), -EBADMSG;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, in->fd, 0);
	if (p == MAP_FAILED)
		return msg_errno(errno, "%s: cannot map", path);
	in->data = p;
	in->len = (size_t)st.st_size;
	return 0;
}

/* Into path.tmp first: path is the old file or the whole new one. */
static int seal_to(const struct input *in, int dirfd, const char *in_path, const char *out, const struct args *a)
{
	struct seal_opts o = { .no_debug = a->no_debug, .name = a->name, .mapped = true };
	AUTO_STRBUF tmp = STRBUF_INIT_CAP(8192);
	AUTO_CLOSE int fd = -1;
	struct seal_stats st = { 0 };
	const char *why = NULL;
	uint64_t at = 0;
	int r;

	fd = io_beside_open(dirfd, out, 0644, &tmp);
	if (fd == -EEXIST)
		return msg_error("%s: a device or pipe; an image is written beside its place and renamed: give a file", out), fd;
	if (fd < 0)
		return msg_errno(fd, "cannot write %s", out);
	r = io_beside_commit(dirfd, out, &tmp, seal_image(in->data, in->len, fd, &o, &st, &why, &at));
	if (r < 0) {
		if (why)
			return msg_error("%s: %s (offset %#" PRIx64 ")", in_path, why, at), r;
		return msg_errno(r, "%s", in_path);
	}
	if (st.bad_tables)
		msg_warn("%s: %" PRIu64 " of %" PRIu64 " regions have damaged tables; their names are kept", in_path, st.bad_tables, st.regions);
	msg_debug("%s: %" PRIu64 " regions, %" PRIu64 " bytes of code, %" PRIu64 " of debug information", out, st.regions, st.text_bytes,
		  st.debug_bytes);
	return 0;
}

static int list_event(void *arg, const struct jit_event *e)
{
	static const char *const types[] = { "?", "load", "unload", "move", "lines", "heap", "close" };

	printf("%" PRIu64 ".%09" PRIu64 " %-6s %#" PRIx64 "+%#" PRIx64 " %.*s\n", (uint64_t)(e->time_ns / NSEC_PER_SEC), (uint64_t)(e->time_ns % NSEC_PER_SEC),
	       e->type < ARRAY_SIZE(types) ? types[e->type] : "?", e->addr, e->size, (int)e->name_len, e->name ? e->name : "");
	return 0;
}

static int ignore_event(void *arg, const struct jit_event *e) { return 0; }

static int convert_foreign(enum jit_format format, const char *path, const char *out, const struct args *a)
{
	struct jit_foreign *f;
	struct jit_parser_stats st;
	const char *why = NULL;
	int r = jit_foreign_open(&f, format, -1, 0, (uint32_t)-1, path, &why);

	if (r < 0)
		return why ? (msg_error("%s", why), r) : msg_errno(r, "%s", path);
	r = jit_foreign_finish(f, a->list ? list_event : ignore_event, NULL);
	jit_foreign_stats(f, &st);
	if (st.bad)
		msg_warn("%s: %s (offset %" PRIu64 "); %" PRIu64 " in all refused, %" PRIu64 " regions kept", path, st.first_bad, st.first_bad_at,
			 st.bad, st.loads);
	if (r == -EBADMSG && st.loads)
		r = 0; /* partial results are results */
	if (r < 0 && r != -EBADMSG)
		msg_errno(r, "%s", path);
	if (r >= 0 && out) {
		r = jit_foreign_save(f, AT_FDCWD, out);
		if (r < 0)
			msg_errno(r, "%s", out);
	}
	jit_foreign_free(f);
	return r;
}

static int convert(const char *path, const char *out, const struct args *a)
{
	AUTO(input_done) struct input in = { .fd = -1 };
	enum jit_format format;
	int r = input_open(&in, AT_FDCWD, path);

	if (r < 0)
		return r;
	format = jit_foreign_detect(in.data, in.len);
	if (format)
		return convert_foreign(format, path, out, a);
	if (a->list)
		return msg_error("%s: --list is for jitdump, perf map and OProfile dumps; try nm or readelf", path), -EINVAL;
	return seal_to(&in, AT_FDCWD, path, out, a);
}

/* All images of a session, each replaced by its sealed form. One that is damaged stays as it is. */
static int seal_session(const struct args *a)
{
	AUTO_STRBUF dir = STRBUF_INIT_CAP(8192), path = STRBUF_INIT_CAP(8192);
	int r = 0, n = 0;
	struct dirent *e, *x;
	DIR *d, *inst;

	strbuf_addf(&dir, "%s/jit", a->session);
	d = opendir(strbuf_str(&dir));
	if (!d)
		return msg_errno(errno, "%s", dir.buf);
	while ((e = readdir(d))) {
		strbuf_reset(&path);
		strbuf_addf(&path, "%s/%s", dir.buf, e->d_name);
		if (e->d_name[0] == '.' || !(inst = opendir(strbuf_str(&path))))
			continue;
		while ((x = readdir(inst))) {
			AUTO(input_done) struct input in = { .fd = -1 };
			size_t len = strlen(x->d_name);
			if (len < 4 || strcmp(x->d_name + len - 3, ".jo") != 0)
				continue;
			if (input_open(&in, dirfd(inst), x->d_name) < 0 || seal_to(&in, dirfd(inst), x->d_name, x->d_name, a) < 0)
				r = -EBADMSG;
			else
				n++;
		}
		closedir(inst);
	}
	closedir(d);
	msg_debug("%d images sealed", n);
	return r;
}

int main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "output", 'o', "FILE", 0, "write the image to FILE (default: IN.jo, or for an image IN.sealed.jo)", 0 },
		{ "name", 'n', "NAME", 0, "name of the compilation unit", 0 },
		{ "no-debug", OPT_NO_DEBUG, NULL, 0, "symbols only: no DWARF, no call-frame information", 0 },
		{ "list", OPT_LIST, NULL, 0, "print the events of a jitdump, perf map or OProfile dump, one a line", 0 },
		{ "seal-session", OPT_SESSION, "DIR", 0, "seal every image of the session DIR in place", 0 },
		{ "verbose", 'V', NULL, 0, "say what was done", 0 },
		{ 0 },
	};
	static const struct argp argp = { options, parse, "IN…",
		"Turn what a JIT wrote (an image of libopagent, perf's jitdump, a perf map, OProfile's dump) into a sealed ELF image with "
		"symbols, DWARF lines, inlined subroutines and call-frame information.", NULL, NULL, NULL };
	struct args a = { 0 };
	int failed = 0;

	msg_init("opjitconv");
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (a.session && !a.n_inputs)
		return seal_session(&a) < 0;
	if (!a.n_inputs || a.session || (a.output && a.n_inputs > 1)) {
		msg_error(!a.n_inputs ? "no input file" : a.session ? "--seal-session takes no input files" : "--output takes one input file");
		return 2;
	}
	for (int i = 0; i < a.n_inputs; i++) {
		AUTO_STRBUF out = STRBUF_INIT_CAP(8192);
		size_t len = strlen(a.inputs[i]);
		bool image = len > 3 && !strcmp(a.inputs[i] + len - 3, ".jo");
		strbuf_addf(&out, "%.*s%s", (int)(image ? len - 3 : len), a.inputs[i], image ? ".sealed.jo" : ".jo");
		if (a.output)
			strbuf_reset(&out), strbuf_addstr(&out, a.output);
		failed |= convert(a.inputs[i], a.list && !a.output ? NULL : strbuf_str(&out), &a) < 0;
	}
	return failed;
}
