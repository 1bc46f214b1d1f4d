/* SPDX-License-Identifier: GPL-3.0-or-later */
/* opimport: a session of OProfile's own tools as one of ours. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/io.h"
#include "lib/map.h"
#include "lib/msg.h"
#include "report/upstream.h"
#include "session/session.h"

#define FILE_MAX ((size_t)1 << 32)
#define EVENTS_MAX 1024
#define JO_TEXT 4096u

static const char usage[] =
	"Usage: opimport --oprofile=DIR [OPTION]...\n"
	"Reads a session of OProfile's own tools, DIR/samples/current, into a session of ours.\n\n"
	"      --oprofile=DIR     the session to read\n"
	"  -d, --session-dir=DIR  where to (default ./oprofile_data)\n"
	"      --previous         read DIR/samples/previous instead\n"
	"  -V, --verbose          name each file that was left out, and why\n"
	"  -?, --help             this text\n"
	"  -v, --version          version\n";

struct jo { /* a TGID.jo, and where its symbols went in the image of ours */
	char *path;
	bool usable;
	struct jo_image from;
	uint64_t *to;            /* of each symbol: offset in our image */
	char *image;             /* INSTANCE/0.jo */
};

struct import {
	const char *out;
	bool verbose;
	struct session_store *store;
	struct strpool events;   /* NAME.COUNT.UM */
	struct jo **jos;         /* each by itself: they are pointed to */
	size_t n_jos;
	char *root;              /* directory of samples */
	uint64_t files, left_out, samples;
	bool cpu_noted;
};

static int leave_out(struct import *m, const char *path, const char *what, uint64_t at)
{
	m->left_out++;
	if (m->verbose)
		msg_warn("%s: offset 0x%" PRIx64 ": %s", path, at, what);
	return 0;
}

/* --- paths: {root}APP/{dep}/DEP[/{cg}/CALLEE]/EVENT.COUNT.UM.TGID.TID.CPU --------------------------------- */
struct place {
	struct session_file f;
	char *range;             /* {anon:NAME}/ this; NULL = not anonymous */
};

/* One of {root}/path, {kern}/name, {anon:NAME}/TGID.0xS.0xE, NUL-terminated. In place. */
static bool parse_place(char *s, struct place *p)
{
	if (!strncmp(s, "{root}/", 7)) {
		p->f.kind = SESSION_FILE;
		p->f.image = s + 6;
	} else if (!strncmp(s, "{kern}/", 7) && s[7]) {
		p->f.kind = SESSION_KERNEL;
		p->f.image = s + 7;
	} else if (!strncmp(s, "{anon:", 6)) {
		char *end = strchr(s, '}'), *a, *b;
		if (!end || end[1] != '/' || end == s + 6)
			return false;
		*end = '\0';
		p->f.kind = SESSION_ANON;
		p->f.image = s + 6;
		p->range = end + 2;
		a = strchr(p->range, '.');
		b = a ? strchr(a + 1, '.') : NULL;
		if (!b)
			return false;
		p->f.tgid = (int32_t)strtol(p->range, NULL, 10);
		p->f.start = strtoull(a + 1, NULL, 16);
		p->f.end = strtoull(b + 1, NULL, 16);
	} else {
		return false;
	}
	return true;
}

/* "all" or a number. */
static int32_t number(const char *s)
{
	uint64_t v;

	return util_parse_u64(s, 10, INT32_MAX, &v) < 0 ? -1 : (int32_t)v;
}

static int event_of(struct import *m, const char *name, const char *count, const char *um, const struct upstream_head *h)
{
	AUTO_STRBUF key = STRBUF_INIT;
	uint32_t before = m->events.n;
	struct session_event e = { .name = name, .desc = "", .timer = h->cpu_type == UPSTREAM_TIMER };
	uint64_t v;
	int64_t id;
	int r;

	strbuf_addf(&key, "%s.%s.%s", name, count, um);
	id = key.error ? key.error : strpool_id(&m->events, key.buf, key.len);
	if (id < 0 || id < before)
		return (int)id;
	if (id >= EVENTS_MAX)
		return -E2BIG;
	e.count = util_parse_u64(count, 10, UINT64_MAX, &v) < 0 ? 0 : v;
	e.um = util_parse_u64(um, 10, UINT32_MAX, &v) < 0 ? 0 : (uint32_t)v;
	r = session_store_event(m->store, (uint32_t)id, &e);
	return r < 0 ? r : (int)id;
}

/* The six fields of the file's name; numbers go to f. */
static int parse_leaf(struct import *m, char *leaf, const struct upstream_head *h, struct session_file *f)
{
	char *field[6] = { leaf };
	int r;

	for (size_t i = 5; i > 0; i--) {
		char *dot = strrchr(leaf, '.');
		if (!dot)
			return -EBADMSG;
		*dot = '\0';
		field[i] = dot + 1;
	}
	r = event_of(m, field[0], field[1], field[2], h);
	if (r < 0)
		return r;
	f->event = (uint32_t)r;
	f->tgid = number(field[3]);
	f->tid = number(field[4]);
	f->cpu = number(field[5]);
	return 0;
}

/* --- JIT images ---------------------------------------------------------------------------------------- */
/* Our image of it: symbols one after the other, each at its new offset. */
static int convert_jo(struct import *m, struct jo *j, int32_t tgid)
{
	struct jo_image to = JO_IMAGE_INIT;
	AUTO_STRBUF path = STRBUF_INIT, image = STRBUF_INIT;
	uint64_t at = JO_TEXT;
	int r = 0;

	j->to = calloc(j->from.n + 1, sizeof(*j->to));
	if (!j->to)
		return -ENOMEM;
	to.machine = j->from.machine;
	for (size_t i = 0; i < j->from.n && r >= 0; i++) {
		const struct jo_symbol *s = &j->from.symbols[i];
		j->to[i] = at;
		r = jo_image_add(&to, at, s->size, j->from.names.buf + s->name, s->bytes == SIZE_MAX ? NULL : j->from.code.buf + s->bytes);
		at += ALIGN_UP(s->size, (uint64_t)16);
	}
	strbuf_addf(&image, "%" PRId32 "-%016" PRIx64, tgid, util_hash_bytes(j->path, strlen(j->path)));
	strbuf_addf(&path, "%s/jit/%s", m->out, strbuf_str(&image));
	if (r >= 0)
		r = path.error ? path.error : io_mkdirs(path.buf, 0755);
	strbuf_addstr(&path, "/0.jo");
	if (r >= 0)
		r = jo_image_write(&to, JO_TEXT, strbuf_str(&path));
	jo_image_done(&to);
	strbuf_addstr(&image, "/0.jo");
	j->image = strbuf_steal(&image);
	return r < 0 ? r : j->image ? 0 : -ENOMEM;
}

/* The TGID.jo beside a range directory; NULL if there is none. */
static struct jo *jo_of(struct import *m, const char *dir, int32_t tgid)
{
	AUTO_STRBUF path = STRBUF_INIT;
	struct jo **more, *j;

	strbuf_addf(&path, "%s/%" PRId32 ".jo", dir, tgid);
	if (path.error)
		return NULL;
	for (size_t i = 0; i < m->n_jos; i++)
		if (!strcmp(m->jos[i]->path, path.buf))
			return m->jos[i]->usable ? m->jos[i] : NULL;
	more = realloc(m->jos, (m->n_jos + 1) * sizeof(*more));
	if (!more)
		return NULL;
	m->jos = more;
	j = calloc(1, sizeof(*j));
	if (!j)
		return NULL;
	*j = (struct jo){ .path = strbuf_steal(&path), .from = JO_IMAGE_INIT };
	m->jos[m->n_jos++] = j;
	if (jo_image_read(&j->from, j->path) == 0 && j->from.n)
		j->usable = convert_jo(m, j, tgid) == 0;
	return j->usable ? j : NULL;
}

/* --- one file ------------------------------------------------------------------------------------------ */
struct side { /* an end of an arc, or the one image of a sample file */
	struct session_file f;
	uint64_t anon_start;
	struct jo *jo;
	int64_t plain, jit;      /* numbers in the store; -1 = not yet */
};

/* The store's file and key for a key there. */
static int resolve(struct import *m, struct side *s, uint64_t key, uint32_t *file, uint64_t *ret)
{
	const struct jo_symbol *sym = s->jo ? jo_image_find(&s->jo->from, key + s->anon_start) : NULL;
	struct session_file f = s->f;
	int64_t *number = sym ? &s->jit : &s->plain;

	if (sym) {
		f.kind = SESSION_JIT;
		f.image = s->jo->image;
		f.start = f.end = 0;
	}
	if (*number < 0)
		*number = session_store_file(m->store, &f);
	if (*number < 0)
		return (int)*number;
	*file = (uint32_t)*number;
	*ret = sym ? s->jo->to[sym - s->jo->from.symbols] + (key + s->anon_start - sym->addr) : key;
	return 0;
}

struct one {
	struct import *m;
	struct side from, to;
	bool arcs;
};

static int take_pair(void *arg, uint64_t key, uint64_t value)
{
	struct one *o = arg;
	struct session_store *st = o->m->store;
	uint32_t file, callee;
	uint64_t k, ck;
	int64_t node;
	int r = resolve(o->m, &o->from, o->arcs ? key >> 32 : key, &file, &k);

	if (r < 0 || !value)
		return r;
	if (!o->arcs) {
		o->m->samples += value;
		return session_store_add(st, file, k, value);
	}
	r = resolve(o->m, &o->to, key & UINT32_MAX, &callee, &ck);
	if (r < 0)
		return r;
	node = session_store_frame(st, 0, file, k);
	if (node > 0)
		node = session_store_frame(st, (uint64_t)node, callee, ck);
	return node < 0 ? (int)node : session_store_stack_add(st, (uint64_t)node, value);
}

static void note_cpu(struct import *m, const struct upstream_head *h)
{
	char text[40];

	if (m->cpu_noted)
		return;
	m->cpu_noted = true;
	snprintf(text, sizeof(text), "%" PRIu32, h->cpu_type);
	session_store_note(m->store, "oprofile_cpu_type", text);
	session_store_note(m->store, "imported_from", m->root);
}

static void finish_side(struct import *m, struct side *s, const struct place *p, const struct session_file *leaf,
			const char *app, uint64_t anon, const char *path)
{
	AUTO_FREE char *dir = strdup(path);
	char *slash;

	s->plain = s->jit = -1;
	s->f = p->f;
	s->f.app_path = app;
	s->f.app = "";
	s->f.event = leaf->event;
	if (p->f.kind != SESSION_ANON || leaf->tgid >= 0)
		s->f.tgid = leaf->tgid;
	s->f.tid = leaf->tid;
	s->f.cpu = leaf->cpu;
	s->anon_start = anon ? anon : p->f.start;
	if (p->f.kind != SESSION_ANON || !dir)
		return;
	/* up to and with {anon:NAME}, where TGID.jo lies: before the range */
	slash = strstr(dir, p->range);
	if (slash && slash > dir) {
		slash[-1] = '\0';
		s->jo = jo_of(m, dir, p->f.tgid);
	}
}

static int take_bytes(struct import *m, const char *path, char *copy, const struct strbuf *bytes)
{
	char *dep = strstr(copy, "/{dep}/"), *leaf = strrchr(copy, '/'), *cg = strstr(copy, "/{cg}/");
	struct one o = { .m = m };
	struct place from = { .f.tgid = -1 }, to = { .f.tgid = -1 };
	struct session_file fields = { 0 };
	struct upstream_head h;
	const char *what = NULL, *app = "";
	uint64_t at = 0;
	int r = upstream_read(&h, strbuf_str(bytes), bytes->len, NULL, NULL, &what, &at);

	if (r < 0)
		return leave_out(m, path, what ? what : "cannot be read", at);
	if (!dep || leaf <= dep + 7)
		return leave_out(m, path, "not the path of a sample file", 0);
	*dep = *leaf = '\0';
	if (!strncmp(copy, "{root}/", 7))
		app = copy + 6;
	else if (strncmp(copy, "{kern}/", 7) != 0)
		return leave_out(m, path, "not the path of a sample file", 0);
	if (cg) {
		*cg = '\0';
		o.arcs = true;
	}
	if (!parse_place(dep + 7, &from) || (cg && !parse_place(cg + 6, &to)) || parse_leaf(m, leaf + 1, &h, &fields) < 0)
		return leave_out(m, path, "not the path of a sample file", 0);
	note_cpu(m, &h);
	finish_side(m, &o.from, &from, &fields, app, h.anon_start, path);
	if (cg)
		finish_side(m, &o.to, &to, &fields, app, h.cg_to_anon_start, path);
	m->files++;
	r = upstream_read(&h, bytes->buf, bytes->len, take_pair, &o, &what, &at);
	return r < 0 ? msg_errno(r, "%s", path) : 0;
}

static int take_file(struct import *m, const char *path)
{
	AUTO_CLOSE int fd = io_open_regular(AT_FDCWD, path, O_RDONLY);
	AUTO_STRBUF bytes = STRBUF_INIT_CAP(FILE_MAX);
	AUTO_FREE char *copy = strdup(path + strlen(m->root) + 1);
	size_t len = strlen(path);
	int r;

	if (len > 3 && !strcmp(path + len - 3, ".jo"))
		return 0;
	if (!copy || fd < 0)
		return !copy ? -ENOMEM : leave_out(m, path, strerror(-fd), 0);
	r = io_read_all(fd, &bytes);
	return r < 0 ? leave_out(m, path, strerror(-r), 0) : take_bytes(m, path, copy, &bytes);
}

static int walk(struct import *m, const char *dir, unsigned int depth)
{
	DIR *d = opendir(dir);
	int r = 0;

	if (!d)
		return msg_errno(errno, "%s", dir);
	for (struct dirent *e; r >= 0 && (e = readdir(d));) {
		AUTO_STRBUF path = STRBUF_INIT;
		struct stat st;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		strbuf_addf(&path, "%s/%s", dir, e->d_name);
		if (path.error || lstat(path.buf, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode))
			r = depth > 200 ? leave_out(m, path.buf, "too deep", 0) : walk(m, path.buf, depth + 1);
		else if (S_ISREG(st.st_mode))
			r = take_file(m, path.buf);
	}
	closedir(d);
	return r;
}

static int run(struct import *m, const char *dir, const char *which)
{
	struct session_store_opts o = { .dir = m->out, .stacks = true, .cpu_type = "as OProfile counted it" };
	AUTO_STRBUF root = STRBUF_INIT;
	int r;

	strbuf_addf(&root, "%s/samples/%s", dir, which);
	m->root = strbuf_steal(&root);
	if (!m->root)
		return -ENOMEM;
	if (access(m->root, R_OK) < 0)
		return msg_errno(errno, "%s: no session of OProfile there", m->root);
	r = session_store_new(&m->store, &o);
	if (r < 0)
		return msg_errno(r, "%s", m->out);
	r = walk(m, m->root, 0);
	if (r >= 0 && !m->samples) {
		msg_error("%s: no samples that could be read%s", m->root, m->left_out && !m->verbose ? " (-V tells why)" : "");
		r = -ENODATA;
	}
	if (r >= 0) {
		session_store_totals(m->store)->unknown = m->samples;
		r = session_store_flush(m->store);
		if (r < 0)
			msg_errno(r, "%s", m->out);
	}
	if (r >= 0)
		msg_info("%s: %" PRIu64 " samples of %" PRIu64 " files%s", m->out, m->samples, m->files, m->left_out ? "" : ", nothing left out");
	if (m->left_out)
		msg_warn("%" PRIu64 " files were left out%s", m->left_out, m->verbose ? "" : " (-V names them)");
	session_store_free(m->store);
	for (size_t i = 0; i < m->n_jos; i++) {
		free(m->jos[i]->path);
		free(m->jos[i]->to);
		free(m->jos[i]->image);
		jo_image_done(&m->jos[i]->from);
		free(m->jos[i]);
	}
	free(m->jos);
	free(m->root);
	strpool_done(&m->events);
	return r;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "oprofile", required_argument, NULL, 'O' }, { "session-dir", required_argument, NULL, 'd' },
		{ "previous", no_argument, NULL, 'p' }, { "verbose", optional_argument, NULL, 'V' }, { "help", no_argument, NULL, '?' },
		{ "version", no_argument, NULL, 'v' }, { 0 },
	};
	struct import m = { .out = "oprofile_data" };
	const char *dir = NULL, *which = "current";
	int c, at;

	msg_init("opimport");
	while ((at = optind, c = getopt_long(argc, argv, "d:Vv?", longs, NULL)) != -1) {
		switch (c) {
		case 'O': dir = optarg; break;
		case 'd': m.out = optarg; break;
		case 'p': which = "previous"; break;
		case 'V': m.verbose = true; break;
		case 'v':
			printf("opimport (opjit) %s\n", PACKAGE_VERSION);
			return 0;
		default:
			if (!strcmp(argv[at], "--help") || !strcmp(argv[at], "-?")) {
				fputs(usage, stdout);
				return 0;
			}
			return 2;
		}
	}
	if (!dir || optind < argc) {
		fputs(usage, stderr);
		return 2;
	}
	return run(&m, dir, which) < 0 ? 1 : 0;
}
