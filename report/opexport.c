/* SPDX-License-Identifier: GPL-3.0-or-later */
/* opexport: a session as OProfile's own tools read it. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "format/abi/opdb.h"
#include "lib/io.h"
#include "lib/map.h"
#include "lib/msg.h"
#include "report/upstream.h"
#include "session/session.h"

#define JIT_BASE UINT64_C(0x10000000) /* addresses that exported JIT code gets: below 4 GiB, which some readers need */
#define JIT_ALIGN 4096u

static const char usage[] =
	"Usage: opexport --oprofile=DIR [OPTION]...\n"
	"Writes a session that OProfile's own opreport reads: DIR/samples/current.\n\n"
	"      --oprofile=DIR     where to; made if it is not there\n"
	"  -d, --session-dir=DIR  session to take (default ./oprofile_data, else\n"
	"                         /var/lib/oprofile)\n"
	"  -?, --help             this text\n"
	"  -v, --version          version\n";

/* One file of the result. Several of ours may fall together there, so records are gathered and added up. */
struct output {
	struct upstream_head head;
	struct opdb_pair *records;
	size_t n, room;
	bool dropped;            /* one window too many */
};

/* JIT images of one process of one application: a range of addresses and one image. */
struct process {
	char *dir;               /* {root}APP/{dep}/{anon:anon} */
	int32_t tgid;
	struct jo_image image;
	uint64_t end;            /* next free address */
};

struct jit_file { /* one of our images in its process */
	uint32_t process;
	uint64_t at;             /* address of its offset 0 */
	uint64_t far, far_at;    /* its first address of code without bytes, which stands gigabytes behind the rest, and where that goes */
};

struct export {
	struct session *s;
	const char *out;
	struct strpool paths;    /* of outputs, below samples/current */
	struct output *outputs;
	size_t n_outputs;
	struct process *processes;
	size_t n_processes;
	struct jit_file *jit;    /* of each session file; process UINT32_MAX = not a JIT file */
	uint64_t arcs_left_out;
	size_t n_windows;
	int error;
};

/*
 * One end of an arc, or where a sample lies. A key of an arc has 32 bits for each end there: an anonymous range of more (that of
 * addresses which lie in no mapping is the whole address space) is given in windows of 4 GiB, each as a range of its own.
 */
#define WINDOW (UINT64_C(1) << 32)
#define WINDOWS_MAX 1024u      /* each is a file; of steps to nowhere so many say enough */
struct spot {
	size_t file;             /* SIZE_MAX = none */
	uint64_t window;         /* offset of the window in the range */
	uint64_t key;
};

/* --- names --------------------------------------------------------------------------------------------- */
static void add_root(struct strbuf *sb, const char *path)
{
	strbuf_addf(sb, "{root}%s%s", *path == '/' ? "" : "/", path);
}

static void add_app(struct strbuf *sb, const struct session_file *f)
{
	if (*f->app_path)
		add_root(sb, f->app_path);
	else if (f->kind == SESSION_KERNEL)
		strbuf_addf(sb, "{kern}/%s", f->image);
	else
		strbuf_addstr(sb, "{root}/unknown");
}

static int32_t tgid_of(const struct session_file *f)
{
	return f->tgid >= 0 ? f->tgid : f->kind == SESSION_JIT ? (int32_t)strtol(f->image, NULL, 10) : 0;
}

static bool is_wide(const struct session_file *f)
{
	return f->kind == SESSION_ANON && f->end - f->start > WINDOW;
}

static void add_image(const struct export *x, struct strbuf *sb, const struct spot *at)
{
	static const char *const known[] = { "anon", "[vdso]", "[heap]", "[stack]" };
	const struct session_file *f = session_file(x->s, at->file);
	uint64_t start = f->start + at->window, end = is_wide(f) && f->end - start > WINDOW ? start + WINDOW : f->end;
	const char *name = "anon";

	switch (f->kind) {
	case SESSION_FILE:
		add_root(sb, f->image);
		break;
	case SESSION_KERNEL:
		strbuf_addstr(sb, "{kern}/");
		for (const char *c = f->image; *c; c++)
			strbuf_addch(sb, *c == '/' ? '_' : *c);
		break;
	case SESSION_ANON:
		for (size_t k = 0; k < ARRAY_SIZE(known); k++)
			name = !strcmp(f->image, known[k]) ? known[k] : name;
		strbuf_addf(sb, "{anon:%s}/%" PRId32 ".0x%" PRIx64 ".0x%" PRIx64, name, tgid_of(f), start, end);
		break;
	case SESSION_JIT:
		strbuf_addf(sb, "{anon:anon}/%" PRId32 ".0x%" PRIx64 ".0x%" PRIx64, tgid_of(f), JIT_BASE,
			    x->processes[x->jit[at->file].process].end);
		break;
	}
}

static void add_number(struct strbuf *sb, int32_t n)
{
	if (n < 0)
		strbuf_addstr(sb, ".all");
	else
		strbuf_addf(sb, ".%" PRId32, n);
}

/* Fields are separated by dots, so a name with one would be another number of fields. */
static void add_event(const struct export *x, struct strbuf *sb, const struct session_file *f)
{
	const struct session_event *e = session_event(x->s, f->event);

	strbuf_addch(sb, '/');
	if (e->timer)
		strbuf_addstr(sb, "TIMER.0.0");
	else {
		for (const char *c = e->name; *c; c++)
			strbuf_addch(sb, *c == '.' || *c == '/' || *c == '{' || *c == '}' ? '_' : *c);
		strbuf_addf(sb, ".%" PRIu64 ".%" PRIu32, e->count ? e->count : e->freq, e->um);
	}
	add_number(sb, f->tgid);
	add_number(sb, f->tid);
	add_number(sb, f->cpu);
}

/* --- outputs ------------------------------------------------------------------------------------------- */
static uint32_t cpu_type(const struct export *x, const struct session_event *e)
{
	if (e->timer)
		return UPSTREAM_TIMER;
	return strstr(session_cpu_type(x->s), "Intel") ? 80 : 69; /* Skylake, AMD64 generic */
}

static uint64_t anon_start(const struct session_file *f, const struct spot *at)
{
	return f->kind == SESSION_JIT ? JIT_BASE : f->kind == SESSION_ANON ? f->start + at->window : 0;
}

static uint64_t mtime_of(const struct export *x, const struct session_file *f)
{
	AUTO_STRBUF path = STRBUF_INIT;
	struct stat st;

	if (f->kind != SESSION_FILE || session_image_path(x->s, f, &path) < 0 || stat(path.buf, &st) < 0)
		return 0;
	return (uint64_t)st.st_mtime;
}

/* The output of an image, or of the arcs from one to another. NULL with x->error 0: one window too many. */
static struct output *output_of(struct export *x, const struct spot *at, const struct spot *to)
{
	const struct session_file *f = session_file(x->s, at->file), *callee = to->file == SIZE_MAX ? NULL : session_file(x->s, to->file);
	const struct session_event *e = session_event(x->s, f->event);
	AUTO_STRBUF path = STRBUF_INIT;
	uint32_t before = x->paths.n;
	struct output *more;
	int64_t id;

	add_app(&path, f);
	strbuf_addstr(&path, "/{dep}/");
	add_image(x, &path, at);
	if (callee) {
		strbuf_addstr(&path, "/{cg}/");
		add_image(x, &path, to);
	}
	add_event(x, &path, f);
	id = path.error ? path.error : strpool_id(&x->paths, path.buf, path.len);
	if (id < 0) {
		x->error = (int)id;
		return NULL;
	}
	if (id < before)
		return x->outputs[id].dropped ? NULL : &x->outputs[id];
	x->n_windows += at->window || to->window;
	more = realloc(x->outputs, (x->n_outputs + 1) * sizeof(*more));
	if (!more) {
		x->error = -ENOMEM;
		return NULL;
	}
	x->outputs = more;
	more[x->n_outputs++] = (struct output){ .head = {
		.cpu_type = cpu_type(x, e), .um = e->um, .count = (uint32_t)MIN(e->count ? e->count : e->timer ? 0 : e->freq, UINT32_MAX),
		.is_kernel = f->kind == SESSION_KERNEL, .cg_to_is_kernel = callee && callee->kind == SESSION_KERNEL,
		.mhz = session_mhz(x->s), .mtime = mtime_of(x, f), .anon_start = anon_start(f, at),
		.cg_to_anon_start = callee ? anon_start(callee, to) : 0 } };
	more[id].dropped = callee && (at->window || to->window) && x->n_windows > WINDOWS_MAX;
	return more[id].dropped ? NULL : &more[id];
}

static int add_record(struct output *o, uint64_t key, uint64_t value)
{
	if (o->n == o->room) {
		size_t room = o->room ? o->room * 2 : 64;
		struct opdb_pair *more = realloc(o->records, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		o->records = more;
		o->room = room;
	}
	o->records[o->n++] = (struct opdb_pair){ key, value };
	return 0;
}

static uint64_t jit_key(const struct jit_file *f, uint64_t key)
{
	return key < f->far ? f->at + key : f->far_at + (key - f->far);
}

/* A key of ours as a key there. */
static struct spot spot_of(const struct export *x, size_t i, uint64_t key)
{
	const struct session_file *f = session_file(x->s, i);
	struct spot at = { .file = i, .key = f->kind == SESSION_JIT ? jit_key(&x->jit[i], key) - JIT_BASE : key };

	if (is_wide(f)) {
		at.window = key & ~(WINDOW - 1);
		at.key = key & (WINDOW - 1);
	}
	return at;
}

/* --- JIT images ---------------------------------------------------------------------------------------- */
static int process_of(struct export *x, const struct session_file *f, uint32_t *ret)
{
	AUTO_STRBUF dir = STRBUF_INIT;
	struct process *more;

	add_app(&dir, f);
	strbuf_addstr(&dir, "/{dep}/{anon:anon}");
	if (dir.error)
		return dir.error;
	for (size_t i = 0; i < x->n_processes; i++)
		if (x->processes[i].tgid == tgid_of(f) && !strcmp(x->processes[i].dir, dir.buf)) {
			*ret = (uint32_t)i;
			return 0;
		}
	more = realloc(x->processes, (x->n_processes + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	x->processes = more;
	more[x->n_processes] = (struct process){ .dir = strbuf_steal(&dir), .tgid = tgid_of(f), .end = JIT_BASE, .image = JO_IMAGE_INIT };
	*ret = (uint32_t)x->n_processes++;
	return 0;
}

struct span {
	uint64_t far, end, far_end;
};

static void span_take(struct span *s, uint64_t addr, uint64_t size)
{
	uint64_t *end = addr < s->far ? &s->end : &s->far_end;

	*end = MAX(*end, addr + size);
}

static int widen(void *arg, uint64_t key, uint64_t count)
{
	span_take(arg, key, 1);
	return 0;
}

/* The first address behind all code that has its bytes. */
static uint64_t far_of(const struct jo_image *im)
{
	uint64_t near = 0, far = UINT64_MAX;

	for (size_t k = 0; k < im->n; k++)
		if (im->symbols[k].bytes != SIZE_MAX)
			near = MAX(near, im->symbols[k].addr + im->symbols[k].size);
	for (size_t k = 0; k < im->n; k++)
		if (im->symbols[k].bytes == SIZE_MAX && im->symbols[k].addr >= near)
			far = MIN(far, im->symbols[k].addr);
	return far;
}

/* Gives image i its addresses in its process. The same image under another event has the same ones. */
static int place_jit(struct export *x, size_t i)
{
	const struct session_file *f = session_file(x->s, i);
	struct jo_image im = JO_IMAGE_INIT;
	AUTO_STRBUF path = STRBUF_INIT;
	struct span span = { .far = UINT64_MAX };
	struct jit_file *at = &x->jit[i];
	struct process *p;
	int r = process_of(x, f, &x->jit[i].process);

	if (r < 0)
		return r;
	for (size_t k = 0; k < i; k++)
		if (x->jit[k].process == x->jit[i].process && !strcmp(session_file(x->s, k)->image, f->image)) {
			*at = x->jit[k];
			return 0;
		}
	p = &x->processes[at->process];
	if (session_image_path(x->s, f, &path) == 0 && jo_image_read(&im, path.buf) == 0) {
		p->image.machine = im.machine;
		span.far = far_of(&im);
	} else {
		jo_image_done(&im); /* of a damaged one there may be some */
	}
	span.far_end = span.far;
	r = session_file_each(x->s, i, widen, &span);
	for (size_t k = 0; k < im.n; k++)
		span_take(&span, im.symbols[k].addr, im.symbols[k].size);
	at->at = p->end;
	at->far = span.far;
	at->far_at = p->end + ALIGN_UP(span.end, (uint64_t)JIT_ALIGN);
	for (size_t k = 0; k < im.n && r >= 0; k++) {
		const struct jo_symbol *s = &im.symbols[k];
		r = jo_image_add(&p->image, jit_key(at, s->addr), s->size, im.names.buf + s->name,
				 s->bytes == SIZE_MAX ? NULL : im.code.buf + s->bytes);
	}
	p->end = at->far_at + ALIGN_UP(span.far_end - span.far, (uint64_t)JIT_ALIGN);
	jo_image_done(&im);
	return r;
}

static int write_images(struct export *x)
{
	for (size_t i = 0; i < x->n_processes; i++) {
		AUTO_STRBUF path = STRBUF_INIT;
		int r;
		strbuf_addf(&path, "%s/samples/current/%s", x->out, x->processes[i].dir);
		r = path.error ? path.error : io_mkdirs(path.buf, 0755);
		strbuf_addf(&path, "/%" PRId32 ".jo", x->processes[i].tgid);
		if (r >= 0)
			r = jo_image_write(&x->processes[i].image, JIT_BASE, strbuf_str(&path));
		if (r < 0)
			return msg_errno(r, "%s", strbuf_str(&path));
	}
	return 0;
}

/* --- samples and arcs ---------------------------------------------------------------------------------- */
struct one {
	struct export *x;
	struct output *o;
	size_t i;
	uint64_t window;
};

static int add_count(void *arg, uint64_t key, uint64_t count)
{
	static const struct spot none = { .file = SIZE_MAX };
	struct one *one = arg;
	struct spot at = spot_of(one->x, one->i, key);

	if (!one->o || at.window != one->window) {
		one->o = output_of(one->x, &at, &none);
		one->window = at.window;
	}
	return one->o ? add_record(one->o, at.key, count) : one->x->error;
}

static int add_arcs(void *arg, const struct session_frame *frames, size_t n, uint64_t count)
{
	struct export *x = arg;

	for (size_t k = 0; k + 1 < n; k++) {
		struct spot from = spot_of(x, frames[k + 1].file, frames[k + 1].key), to = spot_of(x, frames[k].file, frames[k].key);
		struct output *o = from.key > UINT32_MAX || to.key > UINT32_MAX ? NULL : output_of(x, &from, &to);
		if (!o && !x->error)
			x->arcs_left_out++;
		else if (!o || add_record(o, from.key << 32 | to.key, count) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct opdb_pair *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static int write_output(struct export *x, size_t i)
{
	AUTO_STRBUF out = STRBUF_INIT_CAP((size_t)1 << 33), path = STRBUF_INIT;
	struct output *o = &x->outputs[i];
	size_t n = 0;
	char *slash;
	int r;

	if (!o->n)
		return 0;
	qsort(o->records, o->n, sizeof(*o->records), by_key);
	for (size_t k = 0; k < o->n; k++)
		if (n && o->records[n - 1].key == o->records[k].key)
			o->records[n - 1].value = opdb_add(o->records[n - 1].value, o->records[k].value);
		else
			o->records[n++] = o->records[k];
	strbuf_addf(&path, "%s/samples/current/%s", x->out, strpool_str(&x->paths, (uint32_t)i));
	if (path.error)
		return path.error;
	slash = strrchr(path.buf, '/');
	*slash = '\0';
	r = io_mkdirs(path.buf, 0755);
	*slash = '/';
	_Static_assert(sizeof(struct opdb_pair) == sizeof(struct upstream_pair), "the same pair");
	if (r >= 0)
		r = upstream_write(&out, &o->head, (const struct upstream_pair *)o->records, n);
	if (r >= 0)
		r = io_replace(path.buf, out.buf, out.len, 0644);
	return r < 0 ? msg_errno(r, "%s", path.buf) : 0;
}

static int export(struct export *x)
{
	size_t n = session_n_files(x->s);
	int r = 0;

	x->jit = calloc(n + 1, sizeof(*x->jit));
	if (!x->jit)
		return -ENOMEM;
	for (size_t i = 0; i < n && r >= 0; i++) {
		x->jit[i].process = UINT32_MAX;
		if (session_file(x->s, i)->kind == SESSION_JIT)
			r = place_jit(x, i);
	}
	for (size_t i = 0; i < n && r >= 0; i++) {
		struct one one = { .x = x, .i = i };
		r = session_file_each(x->s, i, add_count, &one);
	}
	if (r >= 0)
		r = session_stacks_each(x->s, add_arcs, x);
	if (r < 0)
		return *session_error(x->s) ? (msg_error("%s", session_error(x->s)), r) : msg_errno(r, "export");
	for (size_t i = 0; i < x->n_outputs && r >= 0; i++)
		r = write_output(x, i);
	return r < 0 ? r : write_images(x);
}

static void export_done(struct export *x)
{
	for (size_t i = 0; i < x->n_outputs; i++)
		free(x->outputs[i].records);
	for (size_t i = 0; i < x->n_processes; i++) {
		free(x->processes[i].dir);
		jo_image_done(&x->processes[i].image);
	}
	free(x->outputs);
	free(x->processes);
	free(x->jit);
	strpool_done(&x->paths);
	session_free(x->s);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "oprofile", required_argument, NULL, 'O' }, { "session-dir", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, '?' }, { "version", no_argument, NULL, 'v' }, { 0 },
	};
	struct export x = { 0 };
	const char *dir = NULL;
	char *why = NULL;
	struct stat st;
	AUTO_STRBUF current = STRBUF_INIT;
	int c, at, r;

	msg_init("opexport");
	while ((at = optind, c = getopt_long(argc, argv, "d:v?", longs, NULL)) != -1) {
		switch (c) {
		case 'O': x.out = optarg; break;
		case 'd': dir = optarg; break;
		case 'v':
			printf("opexport (opjit) %s\n", PACKAGE_VERSION);
			return 0;
		default:
			if (!strcmp(argv[at], "--help") || !strcmp(argv[at], "-?")) {
				fputs(usage, stdout);
				return 0;
			}
			return 2;
		}
	}
	if (!x.out || optind < argc) {
		fputs(usage, stderr);
		return 2;
	}
	strbuf_addf(&current, "%s/samples/current", x.out);
	if (lstat(strbuf_str(&current), &st) == 0) {
		msg_error("%s is there already: give another --oprofile=DIR", current.buf);
		return 1;
	}
	if (!dir)
		dir = access("oprofile_data/samples", F_OK) == 0 ? "oprofile_data" : "/var/lib/oprofile";
	r = session_open(&x.s, dir, &why);
	if (r < 0) {
		msg_error("%s", why ? why : strerror(-r));
		free(why);
		return 1;
	}
	r = export(&x);
	if (r >= 0 && x.arcs_left_out)
		msg_warn("%" PRIu64 " call stack steps lie above 4 GiB in their image, or in too many places that are none, and were left out", x.arcs_left_out);
	export_done(&x);
	return r < 0 ? 1 : 0;
}
