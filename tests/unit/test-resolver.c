/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each rule of doc/attribution.md, on events made by hand. */
#include "daemon/resolver.h"

#include "lib/tap.h"

#define MS NSEC_PER_MSEC
#define S NSEC_PER_SEC
#define CODE UINT64_C(0x7f0000000000)
#define LAG (20 * MS)

static struct resolver *r;

static void begin(void)
{
	if (resolver_new(&r) < 0)
		abort();
}

static void end(void)
{
	resolver_free(r);
	r = NULL;
}

static void fed(const struct ev *e)
{
	if (resolver_event(r, e) < 0)
		abort();
}

static void mapped(int pid, uint64_t t, uint64_t addr, uint64_t len, uint64_t pgoff, const char *path)
{
	struct ev e = { .type = EV_MMAP, .time_ns = t, .pid = pid, .tid = pid };

	e.u.mmap.addr = addr;
	e.u.mmap.len = len;
	e.u.mmap.pgoff = pgoff;
	e.u.mmap.prot = 5;
	e.u.mmap.path = path;
	fed(&e);
}

static void unmapped(int pid, uint64_t t, uint64_t addr, uint64_t len)
{
	struct ev e = { .type = EV_MUNMAP, .time_ns = t, .pid = pid, .tid = pid };

	e.u.mmap.addr = addr;
	e.u.mmap.len = len;
	fed(&e);
}

static void comm(int pid, uint64_t t, const char *name, bool exec)
{
	struct ev e = { .type = EV_COMM, .time_ns = t, .pid = pid, .tid = pid };

	e.u.comm.comm = name;
	e.u.comm.flags = exec ? EV_COMM_EXEC : 0;
	fed(&e);
}

static void forked(int pid, uint64_t t, int ppid)
{
	struct ev e = { .type = EV_FORK, .time_ns = t, .pid = pid, .tid = pid };

	e.u.fork.ppid = e.u.fork.ptid = ppid;
	fed(&e);
}

static void exited(int pid, uint64_t t)
{
	struct ev e = { .type = EV_EXIT, .time_ns = t, .pid = pid, .tid = pid };

	fed(&e);
}

static void proc_is(int pid, uint64_t t, uint32_t execs, const char *exe, const char *app)
{
	struct ev e = { .type = EV_PROC, .time_ns = t, .pid = pid, .tid = pid };

	e.u.proc.exec_count = execs;
	e.u.proc.exe = exe;
	e.u.proc.app = app;
	resolver_early(r, &e);
}

static void source_kind(int pid, uint64_t t, uint32_t number, uint64_t lag, const char *instance, uint32_t kind)
{
	struct ev e = { .type = EV_JITSRC, .time_ns = t, .pid = pid, .tid = pid };

	e.u.jitsrc.source = number;
	e.u.jitsrc.kind = kind;
	e.u.jitsrc.lag_ns = lag;
	e.u.jitsrc.instance = instance;
	resolver_early(r, &e);
}

static void source(int pid, uint64_t t, uint32_t number, uint64_t lag, const char *instance)
{
	source_kind(pid, t, number, lag, instance, JIT_SOURCE_OPAGENT1);
}

/* A source of process pid that its marker announced. */
static void source_of(int pid, uint64_t t, uint32_t number, const char *instance)
{
	char path[128];

	source(pid, t, number, LAG, instance);
	snprintf(path, sizeof(path), "/var/lib/oprofile/jit/%s/ring", instance);
	mapped(pid, t, UINT64_C(0x7e0000000000), 4096, 0, path);
}

static void jit(uint32_t src, uint8_t type, uint64_t t, uint64_t id, uint64_t addr, uint64_t size, uint8_t kind, uint32_t flags)
{
	struct ev e = { .type = EV_JIT, .time_ns = t };

	e.u.jit.source = src;
	e.u.jit.e = (struct jit_event){
		.type = type, .kind = kind, .flags = flags, .time_ns = t, .addr = addr, .size = size, .id = id,
		.segment = 0, .image_offset = 0x1000 * id, .tier = -1,
	};
	resolver_early(r, &e);
}

static void load(uint32_t src, uint64_t t, uint64_t id, uint64_t addr, uint64_t size)
{
	jit(src, JIT_EVENT_LOAD, t, id, addr, size, JIT_METHOD, 0);
}

static void unload(uint32_t src, uint64_t t, uint64_t id, uint64_t addr)
{
	jit(src, JIT_EVENT_UNLOAD, t, id, addr, 0, JIT_METHOD, 0);
}

static struct hit at(int pid, uint64_t t, uint64_t ip)
{
	struct hit h;
	struct ev e = { .type = EV_SAMPLE, .time_ns = t, .pid = pid, .tid = pid };

	fed(&e);
	resolver_find(r, resolver_proc(r, pid, t), t, ip, EV_USER, &h);
	return h;
}

static bool is_region(struct hit h, uint64_t id, enum hit_quality q, uint64_t into)
{
	if (h.image == HIT_JIT && h.region_id == id && h.quality == q && h.key == 0x1000 * id + into)
		return true;
	printf("# class %d image %d region %llu quality %d key %#llx\n", h.class, h.image, (unsigned long long)h.region_id, h.quality,
	       (unsigned long long)h.key);
	return false;
}

/* --- identity and mappings ----------------------------------------------------------------------------- */

static void test_files(void)
{
	struct hit h;

	begin();
	comm(10, 1 * S, "a.out", true);
	mapped(10, 1 * S, 0x400000, 0x2000, 0x1000, "/bin/a.out");
	mapped(10, 1 * S, 0x7fff0000, 0x1000, 0, "[vdso]");
	h = at(10, 2 * S, 0x400010);
	ok(h.class == HIT_NATIVE && h.image == HIT_FILE && !strcmp(h.name, "/bin/a.out") && h.key == 0x1010,
	   "file: address - start + offset");
	h = at(10, 2 * S, 0x7fff0020);
	ok(h.class == HIT_NATIVE && h.image == HIT_RANGE && !strcmp(h.name, "[vdso]") && h.key == 0x20, "vdso has its name");
	h = at(10, 2 * S, 0x999999);
	ok(h.class == HIT_UNKNOWN && h.key == 0x999999, "nothing mapped: unknown, kept");
	mapped(10, 3 * S, 0x401000, 0x1000, 0x7000, "/lib/over.so");
	ok(!strcmp(at(10, 4 * S, 0x401008).name, "/lib/over.so") && at(10, 4 * S, 0x401008).key == 0x7008, "a later mapping covers");
	ok(!strcmp(at(10, 4 * S, 0x400fff).name, "/bin/a.out"), "what it does not cover stays");
	unmapped(10, 5 * S, 0x400000, 0x800);
	ok(at(10, 6 * S, 0x400010).class == HIT_UNKNOWN, "unmapped");
	ok(at(10, 6 * S, 0x400810).key == 0x1810, "the rest keeps its offsets");
	mapped(10, 6 * S, 0x500000, 0x1000, 0, "/tmp/x.so (deleted)");
	h = at(10, 7 * S, 0x500001);
	ok(h.class == HIT_NATIVE && !strcmp(h.name, "/tmp/x.so (deleted)"), "a deleted file without JIT code is itself");
	mapped(10, 6 * S, 0x600000, 0x1000, 0, "//anon");
	h = at(10, 7 * S, 0x600123);
	ok(h.class == HIT_ANON && h.start == 0x600000 && h.end == 0x601000 && h.key == 0x123 && !strcmp(h.name, "anon"),
	   "anonymous memory: its range");
	mapped(10, 6 * S, 0x700000, 0x1000, 0, "[heap]");
	ok(!strcmp(at(10, 7 * S, 0x700123).name, "[heap]"), "[heap] is named");
	mapped(10, 6 * S, UINT64_MAX - 10, 4096, 0, "/x");
	mapped(10, 6 * S, 0x800000, 0, 0, "/x");
	struct resolver_stats st;
	resolver_stats(r, &st);
	is_int(2, st.bad_events, "mappings that wrap or are empty are refused and counted");
	end();
}

static void test_identity(void)
{
	begin();
	comm(10, 1 * S, "sh", true);
	proc_is(10, 1 * S, 0, "/bin/sh", "sh");
	mapped(10, 1 * S, 0x400000, 0x1000, 0, "/bin/sh");
	forked(11, 2 * S, 10);
	ok(!strcmp(at(11, 2 * S + 1, 0x400000).name, "/bin/sh"), "fork: mappings are inherited");
	is_str("/bin/sh", proc_exe(r, resolver_proc(r, 11, 2 * S)), "fork: the name too");
	mapped(11, 3 * S, 0x400000, 0x1000, 0, "/lib/child.so");
	ok(!strcmp(at(10, 3 * S, 0x400000).name, "/bin/sh"), "fork: the parent does not see the child's mappings");
	comm(11, 4 * S, "java", true);
	proc_is(11, 4 * S + 5, 1, "/usr/bin/java", "java:App");
	mapped(11, 4 * S, 0x500000, 0x1000, 0, "/usr/bin/java");
	ok(at(11, 4 * S + 1, 0x400000).class == HIT_UNKNOWN, "exec: the old mappings are gone");
	is_str("/usr/bin/java", proc_exe(r, resolver_proc(r, 11, 4 * S + 2)), "exec: new executable");
	is_str("java:App", proc_app(r, resolver_proc(r, 11, 4 * S + 2)), "exec: new name for people");
	exited(11, 5 * S);
	ok(at(11, 5 * S + 1, 0x500000).class == HIT_NATIVE, "a sample just after the exit still has its process");
	forked(11, 6 * S, 10);
	ok(!strcmp(at(11, 6 * S + 1, 0x400000).name, "/bin/sh"), "a reused pid is a new process");
	is_str("/bin/sh", proc_exe(r, resolver_proc(r, 11, 6 * S)), "a reused pid has its own name");
	exited(11, 7 * S);
	for (uint64_t t = 8; t < 30; t++)
		exited(1000, t * S);
	struct resolver_stats st;
	resolver_stats(r, &st);
	is_int(1, st.n_procs, "what exited is forgotten after a while");
	comm(20, 40 * S, "short", true);
	mapped(20, 40 * S, 0x400000, 0x1000, 0, "/bin/short");
	at(20, 40 * S, 0x400000);
	is_str("/bin/short", proc_exe(r, resolver_proc(r, 20, 40 * S)), "no description: the first file mapped is the executable");
	is_str("short", proc_app(r, resolver_proc(r, 20, 40 * S)), "no description: its base name");
	end();
}

static void test_kernel(void)
{
	struct hit h;
	struct ev e = { .type = EV_KSYMBOL, .time_ns = 3 * S, .pid = -1 };

	begin();
	mapped(-1, 1, UINT64_C(0xffffffff81000000), 0x1000000, 0, "[kernel.kallsyms]_text");
	mapped(-1, 1, UINT64_C(0xffffffffc0000000), 0x10000, 0, "/lib/modules/6.1/kernel/fs/xfs/xfs.ko.xz");
	mapped(-1, 1, UINT64_C(0xffffffffc0020000), 0x10000, 0, "[ext4]");
	resolver_find(r, resolver_proc(r, 0, S), S, UINT64_C(0xffffffff81000123), EV_KERNEL, &h);
	ok(h.class == HIT_KERNEL && !strcmp(h.name, "vmlinux") && h.key == 0x123, "kernel: address - base");
	resolver_find(r, resolver_proc(r, 0, S), S, UINT64_C(0xffffffffc0000010), EV_KERNEL, &h);
	ok(!strcmp(h.name, "xfs") && h.key == 0x10, "module: by its own base, base name of its file");
	resolver_find(r, resolver_proc(r, 0, S), S, UINT64_C(0xffffffffc0020010), EV_UNKNOWN_MODE, &h);
	ok(!strcmp(h.name, "ext4"), "unknown mode, upper half: kernel");
	resolver_find(r, resolver_proc(r, 0, S), S, UINT64_C(0xffffffffa0000000), EV_KERNEL, &h);
	ok(!strcmp(h.name, "vmlinux") && h.class == HIT_KERNEL, "kernel address outside of everything is vmlinux");
	e.u.ksymbol.addr = UINT64_C(0xffffffffc0100000);
	e.u.ksymbol.len = 0x100;
	e.u.ksymbol.name = "bpf_prog_1234_x";
	fed(&e);
	resolver_find(r, resolver_proc(r, 0, S), 4 * S, UINT64_C(0xffffffffc0100004), EV_KERNEL, &h);
	ok(!strcmp(h.name, "bpf_prog_1234_x") && h.key == 4, "eBPF program by its name");
	e.u.ksymbol.unregister = 1;
	fed(&e);
	resolver_find(r, resolver_proc(r, 0, S), 5 * S, UINT64_C(0xffffffffc0100004), EV_KERNEL, &h);
	ok(!strcmp(h.name, "vmlinux"), "eBPF program gone");
	end();
}

/* --- JIT rules ----------------------------------------------------------------------------------------- */

static void jit_begin(void)
{
	begin();
	comm(10, 1 * S, "vm", true);
	mapped(10, 1 * S, 0x400000, 0x1000, 0, "/bin/vm");
	mapped(10, 1 * S, CODE, 0x100000, 0, "//anon");
	source_of(10, 1 * S + 1, 1, "10-00112233445566aa");
}

static void test_live(void)
{
	jit_begin();
	load(1, 2 * S, 1, CODE + 0x100, 0x100);
	load(1, 2 * S, 2, CODE + 0x200, 0x80);
	unload(1, 4 * S, 1, CODE + 0x100);
	load(1, 5 * S, 3, CODE + 0x100, 0x100);
	ok(is_region(at(10, 3 * S, CODE + 0x100), 1, HIT_EXACT, 0), "live: first byte");
	ok(is_region(at(10, 3 * S, CODE + 0x1ff), 1, HIT_EXACT, 0xff), "live: last byte");
	ok(is_region(at(10, 3 * S, CODE + 0x200), 2, HIT_EXACT, 0), "live: the neighbour's first");
	ok(at(10, 3 * S, CODE + 0x280).class == HIT_ANON, "live: one past the end is not the region's");
	ok(is_region(at(10, 2 * S, CODE + 0x100), 1, HIT_EXACT, 0), "live: from the very stamp of its load");
	ok(at(10, 4 * S, CODE + 0x100).class == HIT_ANON, "live: not from the stamp of its unload");
	ok(is_region(at(10, 5 * S, CODE + 0x100), 3, HIT_EXACT, 0), "reuse: the later version");
	ok(is_region(at(10, 4 * S - 1, CODE + 0x110), 1, HIT_EXACT, 0x10), "reuse: the earlier version before");
	jit(1, JIT_EVENT_LOAD, 6 * S, 4, CODE + 0x300, 16, JIT_STUB, 0);
	jit(1, JIT_EVENT_LOAD, 6 * S, 5, CODE + 0x310, 16, JIT_INTERPRETER, 0);
	ok(at(10, 7 * S, CODE + 0x300).class == HIT_JIT_STUB && at(10, 7 * S, CODE + 0x310).class == HIT_JIT_INTERPRETER, "kinds");
	end();
}

static void test_file_or_jit(void)
{
	jit_begin();
	load(1, 2 * S, 1, CODE + 0x100, 0x100);
	mapped(10, 3 * S, CODE, 0x1000, 0, "/lib/late.so");
	ok(at(10, 4 * S, CODE + 0x100).class == HIT_NATIVE, "a file mapped after the load wins");
	load(1, 5 * S, 2, CODE + 0x100, 0x100);
	ok(is_region(at(10, 6 * S, CODE + 0x100), 2, HIT_EXACT, 0), "a region posted after the file was mapped wins");
	static const char *const memory[] = { "/memfd:jit (deleted)", "/dev/zero (deleted)", "/SYSV00000000 (deleted)",
					      "/anon_hugepage (deleted)", "/tmp/.gone (deleted)", "/dev/shm/jit", "anon_inode:[x]" };
	for (size_t i = 0; i < ARRAY_SIZE(memory); i++) {
		mapped(10, 7 * S, CODE + 0x10000 * (i + 1), 0x1000, 0, memory[i]);
		load(1, 6 * S, 10 + i, CODE + 0x10000 * (i + 1), 0x100);
		ok(is_region(at(10, 8 * S, CODE + 0x10000 * (i + 1)), 10 + i, HIT_EXACT, 0), "JIT memory: %s", memory[i]);
	}
	end();
	begin(); /* a process that ran before: what is seen mapped at first sight may be older than its code */
	mapped(10, 9 * S, CODE, 0x1000, 0, "/some/file");
	source_of(10, 9 * S, 1, "10-00112233445566aa");
	load(1, 5 * S, 1, CODE, 0x100);
	ok(is_region(at(10, 10 * S, CODE), 1, HIT_EXACT, 0), "first sight: code older than our sight of the mapping");
	end();
}

static void test_backdating(void)
{
	jit_begin();
	load(1, 2 * S, 1, CODE, 0x100);
	unload(1, 3 * S, 1, CODE);
	load(1, 4 * S, 2, CODE, 0x100);
	ok(is_region(at(10, 4 * S - LAG, CODE), 2, HIT_BACKDATED, 0), "next: within the lag of its stamp");
	ok(at(10, 4 * S - LAG - 1, CODE).class == HIT_ANON, "next: not beyond the lag");
	ok(is_region(at(10, 3 * S - 1, CODE), 1, HIT_EXACT, 0), "next: never where something lived");
	jit(1, JIT_EVENT_LOAD, 9 * S, 3, CODE + 0x1000, 0x100, JIT_METHOD, JIT_SINCE_UNKNOWN);
	ok(is_region(at(10, 5 * S, CODE + 0x1000), 3, HIT_BACKDATED, 0), "existed since an unknown time: any time before");
	ok(is_region(at(10, 9 * S, CODE + 0x1000), 3, HIT_EXACT, 0), "existed since an unknown time: exact from its stamp");
	load(1, 10 * S, 4, CODE + 0x2000, 0x100);
	unload(1, 11 * S, 4, CODE + 0x2000);
	jit(1, JIT_EVENT_LOAD, 20 * S, 5, CODE + 0x2000, 0x100, JIT_METHOD, JIT_SINCE_UNKNOWN);
	ok(at(10, 10 * S - LAG - 1, CODE + 0x2000).class == HIT_ANON, "a replayed load does not reach behind an older region");
	ok(is_region(at(10, 12 * S, CODE + 0x2000), 5, HIT_BACKDATED, 0), "but to its end");
	end();
}

static void test_ambiguous(void)
{
	jit_begin();
	load(1, 2 * S, 1, CODE, 0x100);
	load(1, 4 * S, 2, CODE, 0x100);
	ok(is_region(at(10, 4 * S - LAG, CODE), 2, HIT_AMBIGUOUS, 0), "no unload: within the lag, given to the newer and said");
	ok(is_region(at(10, 4 * S - LAG - 1, CODE), 1, HIT_EXACT, 0), "no unload: exact before the lag");
	ok(is_region(at(10, 4 * S, CODE), 2, HIT_EXACT, 0), "no unload: exact from the newer's stamp");
	unload(1, 5 * S, 2, CODE);
	ok(at(10, 6 * S, CODE).class == HIT_ANON, "the overwritten one does not come back");
	load(1, 7 * S, 3, CODE + 0x1000, 0x100);
	unload(1, 9 * S, 3, CODE + 0x1000);
	load(1, 8 * S, 4, CODE + 0x1080, 0x100);
	ok(is_region(at(10, 8 * S - 1, CODE + 0x1090), 4, HIT_AMBIGUOUS, 0x10), "unload stamped after the reuse: as none");
	ok(is_region(at(10, 8 * S - 1, CODE + 0x1010), 3, HIT_EXACT, 0x10), "partly overlapped: the free part is exact");
	ok(is_region(at(10, 8 * S + 1, CODE + 0x1010), 3, HIT_EXACT, 0x10), "partly overlapped: and lives on");
	ok(is_region(at(10, 8 * S + 1, CODE + 0x1090), 4, HIT_EXACT, 0x10), "partly overlapped: the rest is the newer's");
	jit(1, JIT_EVENT_LOAD, 10 * S, 20, CODE + 0x4000, 0x1000, JIT_STUB, 0);
	jit(1, JIT_EVENT_LOAD, 10 * S + 1, 21, CODE + 0x4100, 0x10, JIT_STUB, 0);
	jit(1, JIT_EVENT_LOAD, 10 * S, 23, CODE + 0x6100, 0x10, JIT_STUB, 0);
	jit(1, JIT_EVENT_LOAD, 10 * S + 1, 22, CODE + 0x6000, 0x1000, JIT_STUB, 0);
	ok(is_region(at(10, 11 * S, CODE + 0x4108), 21, HIT_EXACT, 8), "a stub inside a stub keeps its name");
	ok(is_region(at(10, 11 * S, CODE + 0x6108), 23, HIT_EXACT, 8), "also when the outer one is posted later");
	ok(is_region(at(10, 11 * S, CODE + 0x6200), 22, HIT_EXACT, 0x200), "the rest is the outer one's");
	end();
}

/* Ends that are told late, and say by how much. */
static void test_late_end(void)
{
	const uint32_t us = 300000, room = us * 1000 / 4; /* steps of a quarter */

	jit_begin();
	load(1, 2 * S, 1, CODE, 0x100);
	jit(1, JIT_EVENT_UNLOAD, 4 * S, 1, CODE, 0, JIT_METHOD, us);
	load(1, 4 * S + 1, 2, CODE + 0x80, 0x80);
	ok(is_region(at(10, 4 * S - 1, CODE + 0x80), 2, HIT_AMBIGUOUS, 0), "late end: given to the newer and said");
	ok(is_region(at(10, 4 * S - us * 1000, CODE + 0x80), 2, HIT_AMBIGUOUS, 0), "late end: for the whole time");
	ok(is_region(at(10, 4 * S - us * 1000 - room, CODE + 0x80), 1, HIT_EXACT, 0x80), "late end: exact before");
	ok(is_region(at(10, 4 * S - 1, CODE), 1, HIT_AMBIGUOUS, 0), "late end: where nobody came, the older, and said");
	ok(is_region(at(10, 4 * S, CODE + 0x80), 2, HIT_BACKDATED, 0), "late end: from its stamp on the newer's");
	load(1, 7 * S, 3, CODE, 0x80);
	ok(is_region(at(10, 4 * S - 1, CODE), 1, HIT_AMBIGUOUS, 0), "late end: one that comes beyond the lag was not there yet");
	load(1, 8 * S, 4, CODE + 0x1000, 0x100);
	jit(1, JIT_EVENT_UNLOAD, 9 * S, 4, CODE + 0x1000, 0, JIT_METHOD, us);
	jit(1, JIT_EVENT_UNLOAD, 9 * S - 1, 4, CODE + 0x1000, 0, JIT_METHOD, 0);
	ok(is_region(at(10, 9 * S - 2, CODE + 0x1000), 4, HIT_EXACT, 0), "of two ends the earlier, with its lateness");
	load(1, 10 * S, 5, CODE + 0x2000, 0x100);
	jit(1, JIT_EVENT_UNLOAD, 11 * S, 5, CODE + 0x2000, 0, JIT_METHOD, UINT32_MAX);
	load(1, 11 * S, 6, CODE + 0x2000, 0x100);
	ok(is_region(at(10, 10 * S, CODE + 0x2000), 6, HIT_AMBIGUOUS, 0), "lateness beyond its life: the whole life");
	ok(at(10, 10 * S - LAG - 1, CODE + 0x2000).class == HIT_ANON, "but no longer than that");
	end();
}

static void test_gap(void)
{
	struct hit h;

	jit_begin();
	jit(1, JIT_EVENT_HEAP, 2 * S, 0, CODE, 0x10000, 0, 0);
	load(1, 2 * S, 1, CODE + 0x100, 0x100);
	h = at(10, 3 * S, CODE + 0x200);
	ok(h.class == HIT_GAP && !strcmp(h.name, "[gap]") && h.start == CODE && h.end == CODE + 0x10000 && h.key == 0x200,
	   "hole in a code heap: [gap], never the neighbour");
	ok(at(10, 3 * S, CODE + 0x10000).class == HIT_ANON, "outside of the heap: the anonymous range");
	ok(is_region(at(10, 3 * S, CODE + 0x1ff), 1, HIT_EXACT, 0xff), "regions in the heap");
	end();
}

static void test_fork_exec(void)
{
	jit_begin();
	load(1, 2 * S, 1, CODE, 0x100);
	forked(11, 3 * S, 10);
	unload(1, 4 * S, 1, CODE);
	load(1, 4 * S, 2, CODE, 0x100);
	load(1, 4 * S, 3, CODE + 0x1000, 0x100);
	ok(is_region(at(11, 6 * S, CODE), 1, HIT_EXACT, 0), "child: what lived at the fork lives on");
	ok(at(11, 6 * S, CODE + 0x1000).class == HIT_ANON, "child: what the parent made after the fork is not its");
	ok(is_region(at(10, 6 * S, CODE), 2, HIT_EXACT, 0), "parent: goes on");
	/* enough turnover that the parent's timeline is pruned */
	for (uint64_t i = 0; i < 5000; i++) {
		load(1, 7 * S + i * MS, 100 + i, CODE + 0x2000, 0x100);
		unload(1, 7 * S + i * MS + 1, 100 + i, CODE + 0x2000);
		at(10, 7 * S + i * MS, CODE);
	}
	ok(is_region(at(11, 20 * S, CODE), 1, HIT_EXACT, 0), "child: kept when the parent's dead are cleared away");
	struct resolver_stats st;
	resolver_stats(r, &st);
	ok(st.n_regions < 3000, "the dead are cleared away (%llu regions)", (unsigned long long)st.n_regions);
	source_of(11, 21 * S, 2, "11-aabbccddeeff0011");
	load(2, 22 * S, 7, CODE, 0x80);
	ok(is_region(at(11, 23 * S, CODE), 7, HIT_EXACT, 0), "child: its own code is newer");
	ok(is_region(at(11, 23 * S, CODE + 0x80), 1, HIT_EXACT, 0x80), "child: inherited code beside it");
	comm(11, 24 * S, "other", true);
	mapped(11, 24 * S, CODE, 0x1000, 0, "//anon");
	ok(at(11, 25 * S, CODE).class == HIT_ANON, "exec: nothing of it is left");
	exited(10, 26 * S);
	for (uint64_t t = 27; t < 60; t++)
		exited(1000, t * S);
	resolver_stats(r, &st);
	is_int(0, st.n_sources, "sources go with their processes");
	end();
}

static void test_move_two(void)
{
	struct ev e = { .type = EV_JIT, .time_ns = 3 * S };

	jit_begin();
	load(1, 2 * S, 1, CODE, 0x100);
	e.u.jit.source = 1;
	e.u.jit.e = (struct jit_event){ .type = JIT_EVENT_MOVE, .time_ns = 3 * S, .id = 1, .old_addr = CODE, .addr = CODE + 0x8000 };
	resolver_early(r, &e);
	ok(is_region(at(10, 2 * S, CODE + 5), 1, HIT_EXACT, 5), "moved: the old place before");
	ok(at(10, 3 * S, CODE + 5).class == HIT_ANON, "moved: not after");
	ok(is_region(at(10, 3 * S, CODE + 0x8005), 1, HIT_EXACT, 5), "moved: the new place after, same key");
	source_of(10, 4 * S, 2, "10-ffffffffffffffff");
	load(2, 5 * S, 9, CODE + 0x8000, 0x40);
	ok(is_region(at(10, 6 * S, CODE + 0x8005), 9, HIT_EXACT, 5), "two sources: the newest load wins");
	ok(is_region(at(10, 6 * S, CODE + 0x8045), 1, HIT_EXACT, 0x45), "two sources: beside it the other's");
	unload(2, 7 * S, 9, CODE + 0x8000);
	ok(is_region(at(10, 8 * S, CODE + 0x8005), 1, HIT_EXACT, 5), "two sources: back to the other's when it goes");
	end();
}

static void test_foreign(void)
{
	begin();
	comm(10, 1 * S, "vm", true);
	mapped(10, 1 * S, CODE, 0x100000, 0, "//anon");
	source_kind(10, 1 * S, 1, LAG, "10-00112233445566aa", JIT_SOURCE_JITDUMP);
	load(1, 2 * S, 1, CODE, 0x100);
	load(1, 4 * S, 2, CODE, 0x100);
	ok(is_region(at(10, 4 * S - 1, CODE), 1, HIT_AMBIGUOUS, 0), "jitdump, within the lag: ambiguous, given to the older");
	ok(is_region(at(10, 4 * S - LAG - 1, CODE), 1, HIT_EXACT, 0), "jitdump, before the lag: exact");
	ok(is_region(at(10, 4 * S, CODE), 2, HIT_EXACT, 0), "jitdump, from the stamp on: the newer");
	ok(is_region(at(10, 2 * S - LAG, CODE), 1, HIT_BACKDATED, 0), "jitdump, where nothing lived: backdated");
	source_kind(10, 1 * S, 2, 0, "10-00112233445566bb", JIT_SOURCE_PERFMAP);
	jit(2, JIT_EVENT_LOAD, 5 * S, 77, CODE, 0x100, JIT_METHOD, JIT_TIME_UNKNOWN);
	jit(2, JIT_EVENT_LOAD, 5 * S, 78, CODE + 0x1000, 0x100, JIT_METHOD, JIT_TIME_UNKNOWN);
	ok(is_region(at(10, 6 * S, CODE), 2, HIT_EXACT, 0), "a source without times stands behind one with times");
	ok(is_region(at(10, 6 * S, CODE + 0x1000), 78, HIT_EXACT, 0), "and serves where that has nothing");
	source(10, 1 * S, 3, LAG, "10-00112233445566cc");
	load(3, 2 * S, 31, CODE, 0x100);
	unload(3, 4 * S - 5, 31, CODE);
	load(3, 4 * S, 32, CODE, 0x100);
	ok(is_region(at(10, 4 * S - 6, CODE), 31, HIT_EXACT, 0), "told twice with the same stamps: by the one that knows the end");
	end();
}

static void test_backwards(void)
{
	jit_begin();
	/* told in the wrong order, by a clock that runs backwards: the stamps alone count */
	for (uint64_t i = 0; i < 50; i++)
		load(1, 100 * S - i * S, 1 + i, CODE, 0x100);
	bool good = true;
	for (uint64_t i = 0; i < 50; i++)
		good &= is_region(at(10, 100 * S - i * S + 1, CODE), 1 + i, HIT_EXACT, 0);
	ok(good, "clock running backwards: each from its stamp on");
	/* 64 regions that overlap each other: the last one loaded has the address */
	for (uint64_t i = 0; i < 64; i++)
		load(1, 200 * S + i, 100 + i, CODE + 0x1000 + 16 * i, 0x1000);
	good = true;
	for (uint64_t i = 0; i < 64; i++)
		good &= is_region(at(10, 201 * S, CODE + 0x1000 + 16 * i), 100 + i, HIT_EXACT, 0);
	ok(good, "overlapping without end: the newest, and of each older one the part that is not covered");
	end();
}

static void test_binding(void)
{
	begin();
	source(10, 1 * S, 1, LAG, "10-00112233445566aa");
	load(1, 1 * S, 1, CODE, 0x100);
	mapped(10, 1 * S, CODE, 0x1000, 0, "//anon");
	ok(is_region(at(10, 2 * S, CODE), 1, HIT_EXACT, 0), "no marker was seen: by pid");
	end();
	begin();
	/* the first process of this pid is gone before its source is read; the second has the same pid */
	source(10, 1 * S, 1, LAG, "10-00112233445566aa");
	source(10, 3 * S, 2, LAG, "10-ffeeddccbbaa9988");
	load(1, 1 * S, 1, CODE, 0x100);
	load(2, 3 * S, 2, CODE, 0x100);
	comm(10, 1 * S, "one", true);
	mapped(10, 1 * S, 0x1000, 0x1000, 0, "/tmp/x/10-00112233445566aa/ring");
	ok(is_region(at(10, 2 * S, CODE), 1, HIT_EXACT, 0), "marker: first process of the pid");
	exited(10, 2 * S + 1);
	forked(10, 3 * S, 1);
	mapped(10, 3 * S, 0x1000, 0x1000, 0, "/memfd:opjit:10-ffeeddccbbaa9988 (deleted)");
	ok(is_region(at(10, 4 * S, CODE), 2, HIT_EXACT, 0), "marker: second process of the pid, by memfd");
	end();
	begin();
	mapped(10, 1 * S, 0x1000, 0x1000, 0, "/tmp/x/10-00112233445566aa/ring");
	mapped(10, 1 * S, CODE, 0x1000, 0, "//anon");
	at(10, 2 * S, CODE);
	source(10, 1 * S, 1, LAG, "10-00112233445566aa");
	load(1, 1 * S, 1, CODE, 0x100);
	ok(is_region(at(10, 2 * S, CODE), 1, HIT_EXACT, 0), "marker first, source later");
	end();
	begin();
	comm(10, 1 * S, "sh", true);
	mapped(10, 1 * S, CODE, 0x1000, 0, "//anon");
	source_kind(10, 4 * S, 1, 0, "10-00112233445566aa", JIT_SOURCE_PERFMAP);
	jit(1, JIT_EVENT_LOAD, 4 * S, 1, CODE, 0x100, JIT_METHOD, JIT_TIME_UNKNOWN);
	ok(is_region(at(10, 2 * S, CODE), 1, HIT_BACKDATED, 0), "a file found later names what ran before");
	comm(10, 3 * S, "vm", true);
	mapped(10, 3 * S, CODE, 0x1000, 0, "//anon");
	ok(is_region(at(10, 3 * S + 1, CODE), 1, HIT_BACKDATED, 0), "a file found later is the new program's after an exec");
	ok(is_region(at(10, 5 * S, CODE), 1, HIT_EXACT, 0), "and stays so");
	comm(10, 6 * S, "other", true);
	mapped(10, 6 * S, CODE, 0x1000, 0, "//anon");
	ok(at(10, 7 * S, CODE).class == HIT_ANON, "an exec after it was found lets it go");
	end();
}

static void test_hostile(void)
{
	struct resolver_stats st;

	jit_begin();
	load(1, 5 * S, 1, CODE, 0x100);
	unload(1, 3 * S, 1, CODE);
	ok(at(10, 4 * S, CODE).class == HIT_ANON && at(10, 6 * S, CODE).class == HIT_ANON, "end before start: never live");
	load(1, 7 * S, 2, CODE + 0x1000, UINT64_MAX);
	load(1, 7 * S, 3, UINT64_MAX - 5, 100);
	load(1, 7 * S, 4, CODE + 0x2000, 0);
	unload(1, 7 * S, 999, CODE + 0x5000);
	load(77, 7 * S, 4, CODE, 10);
	jit(1, 99, 7 * S, 1, CODE, 1, 99, ~0u);
	jit(1, JIT_EVENT_HEAP, 1, 0, UINT64_MAX, UINT64_MAX, 0, 0);
	source(10, 7 * S, 1, UINT64_MAX, "again");
	source(10, 7 * S, 5, UINT64_MAX, "../../etc");
	source(10, 7 * S, 6, UINT64_MAX, "");
	resolver_stats(r, &st);
	ok(st.bad_events >= 9, "all of it is counted (%llu)", (unsigned long long)st.bad_events);
	ok(st.max_lag_ns <= RESOLVER_MAX_LAG_NS, "no lag without bound");
	load(1, 8 * S, 10, CODE + 0x1000, 0x100);
	ok(is_region(at(10, 9 * S, CODE + 0x1010), 10, HIT_EXACT, 0x10), "the rest is right");
	/* clocks running backwards, thousands of overlaps */
	for (uint64_t i = 0; i < 20000; i++)
		load(1, (30000 - i) * MS, 1000 + i, CODE + 0x10000 + i % 257, 1 + i * 7 % 5000);
	for (uint64_t i = 0; i < 3000; i++)
		at(10, 9 * S + i * MS, CODE + 0xf000 + i * 3);
	ok(true, "a storm of overlaps ends");
	end();
}

/* The timeline against a plain list that is searched from end to end. */
static void test_against_list(void)
{
	enum { N = 3000 };
	static struct { uint64_t addr, size, from, to; } v[N];
	uint64_t seed = 12345, wrong = 0, t = 2 * S;
	size_t n = 0;

	jit_begin();
	for (int step = 0; step < 20000; step++) {
		seed = util_hash_u64(seed + 1);
		t += 1000 + seed % 1000;
		if (n < N && seed % 3 == 0) {
			v[n].addr = CODE + (seed >> 8) % 0x4000 * 16;
			v[n].size = 16 + (seed >> 24) % 400;
			v[n].from = t;
			v[n].to = UINT64_MAX;
			load(1, t, n + 1, v[n].addr, v[n].size);
			n++;
		} else if (n && seed % 3 == 1) {
			size_t i = (seed >> 8) % n;
			if (v[i].to == UINT64_MAX) {
				v[i].to = t;
				unload(1, t, i + 1, v[i].addr);
			}
		} else {
			uint64_t ip = CODE + (seed >> 8) % 0x40000;
			size_t best = N;
			struct hit h = at(10, t, ip);
			for (size_t i = 0; i < n; i++)
				if (ip - v[i].addr < v[i].size && (best == N || v[i].from >= v[best].from))
					best = i;
			bool want = best < N && v[best].to > t;
			wrong += want ? h.region_id != best + 1 : h.image == HIT_JIT;
		}
	}
	is_int(0, wrong, "timeline equals a plain list, with pruning");
	end();
}

int main(void)
{
	test_files();
	test_identity();
	test_kernel();
	test_live();
	test_file_or_jit();
	test_backdating();
	test_ambiguous();
	test_late_end();
	test_gap();
	test_fork_exec();
	test_move_two();
	test_binding();
	test_hostile();
	test_foreign();
	test_backwards();
	test_against_list();
	return done_testing();
}
