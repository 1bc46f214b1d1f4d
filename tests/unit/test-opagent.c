/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libopagent and the live reader together: what is posted is what is read, from the ring, the journal and the image. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "format/jit/image.h"
#include "format/jit/tables.h"
#include "jitconv/instances.h"
#include "jitconv/source.h"
#include "lib/io.h"
#include "lib/strbuf.h"
#include "lib/tap.h"
#include "libopagent/opagent.h"

static char root[] = "/tmp/opjit-test-XXXXXX";

struct got {
	struct jit_event last;
	char name[256];
	unsigned int n, loads, unloads, moves, amends, heaps, closes;
	uint64_t next_load; /* names method-N in order */
	bool in_order;
};

static int take(void *arg, const struct jit_event *e)
{
	struct got *g = arg;

	g->n++;
	g->last = *e;
	snprintf(g->name, sizeof(g->name), "%.*s", (int)e->name_len, e->name ? e->name : "");
	g->loads += e->type == JIT_EVENT_LOAD;
	g->unloads += e->type == JIT_EVENT_UNLOAD;
	g->moves += e->type == JIT_EVENT_MOVE;
	g->amends += e->type == JIT_EVENT_AMEND;
	g->heaps += e->type == JIT_EVENT_HEAP;
	g->closes += e->type == JIT_EVENT_CLOSE;
	if (e->type == JIT_EVENT_LOAD && !strncmp(g->name, "method-", 7))
		if (strtoull(g->name + 7, NULL, 10) != g->next_load++)
			g->in_order = false;
	return 0;
}

static struct jit_source *source(struct opagent *a, int32_t pid)
{
	AUTO_STRBUF path = STRBUF_INIT;
	struct jit_source *s = NULL;
	const char *why = "";
	int r;

	strbuf_addf(&path, "%s/ring", opagent_dir(a));
	ok(jit_source_is_marker(path.buf), "the ring's path is a marker");
	r = jit_source_open(&s, pid, geteuid(), path.buf, 0, 0, &why);
	if (!ok(r == 0, "source opens"))
		printf("# %s\n", why);
	return s;
}

static void post(struct opagent *a, unsigned int from, unsigned int n)
{
	uint8_t code[64];

	memset(code, 0x90, sizeof(code));
	for (unsigned int i = from; i < from + n; i++) {
		char name[32];
		struct opagent_region r = { .size = sizeof(r), .addr = 0x10000 + i * 64ull, .code_size = sizeof(code),
					    .code = code, .name = name, .tier = 3 };
		snprintf(name, sizeof(name), "method-%u", i);
		code[0] = (uint8_t)i;
		if (opagent_load(a, &r, NULL) < 0)
			ok(false, "load %u", i);
	}
}

static void test_region(struct opagent *a, struct jit_source *s, struct got *g)
{
	uint8_t code[100] = { 0xc3 };
	struct opagent_region r = { .size = sizeof(r), .addr = 0x7000, .code_size = 100, .code = code, .name = "void A.b()",
				    .tier = 4, .flags = OPAGENT_OSR, .osr_bci = 17, .time_ns = 1234567 };
	uint64_t id = 0;

	is_int(0, opagent_load(a, &r, &id), "load");
	is_int(1, id, "first number");
	ok(jit_source_pending(s), "pending");
	is_int(1, jit_source_poll(s, take, g), "one event");
	ok(!jit_source_pending(s), "nothing pending");
	is_str("void A.b()", g->name, "its name");
	ok(g->last.addr == 0x7000 && g->last.size == 100 && g->last.tier == 4 && g->last.osr_bci == 17 &&
	   g->last.flags == JIT_OSR && g->last.time_ns == 1234567 && g->last.id == 1 && g->last.image_offset == 4096,
	   "its fields");
	is_int(0, opagent_move(a, 0x7000, 0x9000, 0), "move");
	is_int(-ENOENT, opagent_unload(a, 0x7000, 0), "the old address is empty");
	is_int(0, opagent_unload(a, 0x9000, 99), "unload");
	is_int(-ENOENT, opagent_unload(a, 0x9000, 0), "unloaded already");
	is_int(0, opagent_heap(a, "non-profiled", 0x100000, 0x10000), "heap");
	is_int(3, jit_source_poll(s, take, g), "three events");
	is_str("non-profiled", g->name, "heap's name");
	r.code = NULL;
	r.code_size = 1 << 20;
	r.name = "no bytes";
	is_int(0, opagent_load(a, &r, NULL), "a region without bytes");
	is_int(1, jit_source_poll(s, take, g), "comes");
	ok(g->last.flags & JIT_NO_BYTES && g->last.image_offset >= 1 << 20, "outside .text");
	is_int(-EINVAL, opagent_load(a, &(struct opagent_region){ .size = 4 }, NULL), "size too small");
	is_int(-EINVAL, opagent_load(a, &(struct opagent_region){ .size = sizeof(r) }, NULL), "no name");
}

static void test_events(void)
{
	struct opagent_open_opts o = { .size = sizeof(o), .dir = root, .source = "hotspot", .lag_us = 200000 };
	struct opagent *a = NULL;
	struct jit_source *s;
	struct jit_source_info info;
	struct got g = { .in_order = true };

	errno = 77;
	is_int(0, opagent_open(&a, &o), "opens");
	is_int(77, errno, "errno is kept");
	s = source(a, getpid());
	test_region(a, s, &g);
	is_int(0, opagent_close(a), "close");
	is_int(1, jit_source_poll(s, take, &g), "the goodbye");
	is_int(1, g.closes, "is one");
	jit_source_info(s, &info);
	ok(info.closed && info.kind == JIT_SOURCE_HOTSPOT && info.lag_ns == 200000000 && info.pid == getpid() &&
	   info.nspid == getpid() && !info.n_bad && !info.n_overruns, "info");
	jit_source_free(s);
	is_int(-ESHUTDOWN, opagent_unload(a, 1, 0), "a closed handle is refused");
}

static bool whole_image(int dirfd, const char *path, unsigned int n_loads)
{
	AUTO_STRBUF sb = STRBUF_INIT;
	struct jit_image im;
	struct jit_fault f;
	struct jit_event e;
	struct got g = { .in_order = true };
	int r;

	if (io_slurp(dirfd, path, &sb) < 0 || jit_image_parse(&im, sb.buf, sb.len, sb.len, &f) < 0)
		return false;
	struct jit_walk w = jit_walk_of(&im, sb.buf);
	while ((r = jit_walk_next(&w, &e, &f)) > 0)
		take(&g, &e);
	const Elf64_Sym *sym = (const void *)(sb.buf + im.symtab.offset);
	return r == 0 && g.in_order && g.loads == n_loads && im.symtab.size == (n_loads + 1) * (sizeof(void *) == 8 ? 24 : 16) &&
	       (sizeof(void *) == 4 || (sym[1].st_value == im.text.addr && sym[1].st_size == 64));
}

static void test_overrun(void)
{
	struct opagent_open_opts o = { .size = sizeof(o), .dir = root, .ring_entries = 64 };
	struct opagent *a = NULL;
	struct got g = { .in_order = true }, g2 = { .in_order = true };
	struct jit_source_info info;
	struct jit_source *s, *s2;
	AUTO_CLOSE int dirfd = open(root, O_RDONLY | O_DIRECTORY);

	is_int(0, opagent_open(&a, &o), "opens with 64 entries");
	s = source(a, getpid());
	s2 = source(a, 0);
	post(a, 0, 40);
	is_int(40, jit_source_poll(s, take, &g), "from the ring");
	post(a, 40, 5000);
	is_int(5000, jit_source_poll(s, take, &g), "from the journal");
	post(a, 5040, 60);
	is_int(60, jit_source_poll(s, take, &g), "from the ring again");
	is_int(5100, jit_source_poll(s2, take, &g2), "another reader has its own cursor");
	ok(g.in_order && g2.in_order && g.loads == 5100, "nothing lost, in order");
	jit_source_info(s, &info);
	is_int(1, info.n_overruns, "one overrun");
	is_int(0, jit_source_save_image(s, 0, dirfd, "saved.jo"), "image is saved");
	ok(whole_image(dirfd, "saved.jo", 5100), "and whole");
	unlinkat(dirfd, "saved.jo", 0);
	opagent_close(a);
	jit_source_free(s);
	jit_source_free(s2);
}

static const char *const names[] = { "int X.f()", "int Y.g()" }, *const files[] = { "x/X.java", "y/Y.java" };

static void check_tables(const struct jit_event *e)
{
	struct jit_inlines in = { 0 };
	struct jit_unwind_row row;
	struct jit_line l[3];
	struct jit_unpack u = jit_unpack_of(e->lines, e->lines_len);

	ok(jit_unpack_line(&u, &l[0]) == 1 && jit_unpack_line(&u, &l[1]) == 1 && jit_unpack_line(&u, &l[2]) == 1 &&
	   jit_unpack_line(&u, &l[2]) == 0, "three lines");
	is_str("y/Y.java", jit_string(e->strings, e->strings_len, l[1].file), "file of a line");
	ok(l[1].offset == 8 && l[1].line == 12 && l[2].file == 0 && l[2].line == 9, "fields of a line");
	is_int(0, jit_inlines_unpack(&in, e->inlines, e->inlines_len), "inlines");
	ok(in.n_frames == 2 && in.n_ranges == 3 && in.ranges[1].frame == 1 && in.frames[1].caller == 0 &&
	   in.frames[0].caller == JIT_NO_FRAME && in.ranges[0].frame == JIT_NO_FRAME && in.frames[1].call_line == 44, "their fields");
	is_str("int Y.g()", jit_string(e->strings, e->strings_len, in.frames[1].name), "name of a frame");
	jit_inlines_done(&in);
	u = jit_unpack_of(e->unwind, e->unwind_len);
	ok(jit_unpack_unwind(&u, &row) == 1 && row.cfa_offset == 8 && row.ra_offset == -8 && jit_unpack_unwind(&u, &row) == 1 &&
	   row.fp_offset == -16 && jit_unpack_unwind(&u, &row) == 0, "unwind rows");
	ok(e->source_file_len == 6 && !memcmp(e->source_file, "M.java", 6), "source file");
}

static void test_tables(void)
{
	struct opagent_open_opts o = { .size = sizeof(o), .dir = root };
	struct opagent *a = NULL;
	struct opagent_line lines[] = { { 0, 10, 0 }, { 8, 12, 1 }, { 20, 9, UINT32_MAX } };
	struct opagent_frame frames[] = { { UINT32_MAX, 0, 0, 33 }, { 0, 1, 1, 44 } };
	struct opagent_inline_range inlines[] = { { 0, UINT32_MAX, 5 }, { 8, 1, 6 }, { 12, 0, 7 } };
	struct opagent_unwind_row unwind[] = { { 0, 8, 7, -8, 0, 0 }, { 4, 16, 6, -8, -16, 0 } };
	struct opagent_region r = { .size = sizeof(r), .addr = 0x1000, .code_size = 32, .code = "0123456789abcdef0123456789abcdef",
				    .name = "m", .source_file = "M.java", .names = names, .files = files, .n_names = 2,
				    .n_files = 2, .lines = lines, .n_lines = 3, .frames = frames, .n_frames = 2,
				    .inlines = inlines, .n_inlines = 3, .unwind = unwind, .n_unwind = 2 };
	struct got g = { 0 };
	struct jit_source *s;
	struct jit_event *e = &g.last;
	struct jit_inlines in = { 0 };
	struct jit_unpack u;
	struct jit_line l;

	opagent_open(&a, &o);
	s = source(a, getpid());
	jit_source_want_tables(s, true);
	is_int(0, opagent_load(a, &r, NULL), "load with tables");
	is_int(1, jit_source_poll(s, take, &g), "comes");
	check_tables(e);
	lines[0].line = 11;
	is_int(0, opagent_amend(a, &r), "amend");
	is_int(1, jit_source_poll(s, take, &g), "comes");
	u = jit_unpack_of(e->lines, e->lines_len);
	ok(e->type == JIT_EVENT_AMEND && e->id == 1 && jit_unpack_line(&u, &l) == 1 && l.line == 11, "with the new line");
	frames[0].caller = 1;
	r.addr = 0x2000;
	is_int(0, opagent_load(a, &r, NULL), "frames in a circle are taken as given");
	jit_source_poll(s, take, &g);
	is_int(-EBADMSG, jit_inlines_unpack(&in, e->inlines, e->inlines_len), "and refused by the reader");
	lines[1].file = 7;
	is_int(-EINVAL, opagent_load(a, &r, NULL), "an index out of range is refused");
	opagent_close(a);
	jit_source_free(s);
}

static void test_dropin(void)
{
	struct debug_line_info lines[] = { { 0x5000, 3, "a.c" }, { 0x5008, 4, "a.c" } };
	op_agent_t h;
	char code[16] = { 0 };

	setenv("OPJIT_DIR", root, 1);
	h = op_open_agent();
	ok(h != NULL, "op_open_agent");
	is_int(0, op_write_native_code(h, "f", 0x5000, code, 16), "op_write_native_code");
	is_int(0, op_write_debug_line_info(h, (void *)0x5000, 2, lines), "op_write_debug_line_info");
	is_int(0, op_write_debug_line_info(h, (void *)0x5000, 0, NULL), "no lines are fine");
	is_int(0, op_write_native_code(h, "g", 0x6000, NULL, 16), "code NULL");
	is_int(0, op_unload_native_code(h, 0x5000), "op_unload_native_code");
	is_int(0, op_unload_native_code(h, 0x5555), "of an unknown address");
	ok(op_major_version() == 1 && op_minor_version() == 0, "version 1.0");
	is_int(0, op_close_agent(h), "op_close_agent");
	errno = 0;
	is_int(-1, op_close_agent(h), "closed twice");
	is_int(EINVAL, errno, "EINVAL");
	is_int(-1, op_write_native_code((op_agent_t)code, "f", 0x5000, code, 16), "no handle at all");
}

static int child(struct opagent *a, const char *parent)
{
	struct got g = { 0 };
	struct jit_source *s = NULL;
	char path[5000];

	post(a, 100, 5);
	snprintf(path, sizeof(path), "%s/ring", opagent_dir(a));
	if (!strcmp(parent, opagent_dir(a)) || opagent_unload(a, 0x10000, 0) ||
	    jit_source_open(&s, getpid(), geteuid(), path, 0, 0, NULL) || jit_source_poll(s, take, &g) != 6)
		return 1;
	jit_source_free(s);
	return g.loads == 5 && g.last.type == JIT_EVENT_UNLOAD && g.last.id == 0 ? 0 : 2;
}

/*
 * What a forked child gives up of the memory it inherited is meant to be given up, and valgrind would call it a leak:
 * it does not look into a program that is replaced by another.
 */
static _Noreturn void child_leave(int r)
{
	execl("/bin/sh", "sh", "-c", r ? "exit 1" : "exit 0", (char *)NULL);
	_exit(r ? 1 : 3);
}

static void test_fork(void)
{
	struct opagent_open_opts o = { .size = sizeof(o), .dir = root };
	struct opagent *a = NULL;
	struct jit_source *s;
	struct got g = { .in_order = true };
	char parent[4096];
	int status;
	pid_t pid;

	opagent_open(&a, &o);
	snprintf(parent, sizeof(parent), "%s", opagent_dir(a));
	s = source(a, getpid());
	post(a, 0, 10);
	pid = fork();
	if (!pid)
		child_leave(child(a, parent));
	waitpid(pid, &status, 0);
	is_int(0, status, "the child posts to an instance of its own");
	post(a, 10, 1);
	is_int(11, jit_source_poll(s, take, &g), "the parent's has its own events only");
	ok(g.in_order, "in order");
	pid = fork();
	if (!pid) {
		opagent_close(a);
		child_leave(0);
	}
	waitpid(pid, &status, 0);
	post(a, 11, 1);
	is_int(1, jit_source_poll(s, take, &g), "a child that closes does not close the parent's");
	opagent_close(a);
	jit_source_free(s);
}

static int count_one(void *arg, const struct jit_instance *i)
{
	unsigned int *n = arg;

	n[i->live ? 0 : 1]++;
	return 0;
}

static void test_instances(void)
{
	struct opagent_open_opts o = { .size = sizeof(o), .dir = root };
	struct opagent *a = NULL;
	unsigned int n[2] = { 0 };
	struct jit_removal sum = { 0 };

	opagent_open(&a, &o);
	is_int(0, jit_instances_each(root, count_one, n), "instances are listed");
	is_int(1, n[0], "one is live");
	ok(n[1] > 3, "others are over");
	is_int(0, jit_instances_remove_dead(root, 0, NULL, NULL, &sum), "dead ones are removed");
	ok(sum.kept == 1 && sum.instances == n[1] && sum.bytes > 0, "all of them");
	post(a, 0, 3);
	opagent_close(a);
}

int main(void)
{
	uint64_t bytes = 0, n = 0;

	if (!mkdtemp(root))
		return 99;
	test_events();
	test_overrun();
	test_tables();
	test_dropin();
	test_fork();
	test_instances();
	is_int(0, io_remove_tree(AT_FDCWD, root, &bytes, &n), "clean-up");
	return done_testing();
}
