/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From events to the session and back, and the same session again from the log. */
#include "daemon/pipeline.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "lib/io.h"
#include "lib/tap.h"

#define S NSEC_PER_SEC
#define MS NSEC_PER_MSEC
#define CODE UINT64_C(0x7f0000000000)

static char dir[] = "/tmp/opjit-test-pipeline-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[4][256];
	static unsigned int i;
	char *p = path[i++ % 4];

	snprintf(p, 256, "%s/%s", dir, name);
	return p;
}

static void put(struct pipeline *p, const struct ev *e)
{
	if (pipeline_event(p, e) < 0)
		abort();
}

static struct ev event(uint32_t type, uint32_t cpu, uint64_t t, int pid)
{
	return (struct ev){ .type = type, .cpu = cpu, .time_ns = t, .pid = pid, .tid = pid };
}

static void clock_event(struct pipeline *p, uint64_t t)
{
	struct ev e = event(EV_EVENTDESC, UINT32_MAX, t, -1);

	e.u.desc.name = "cpu-clock";
	e.u.desc.desc = "time";
	e.u.desc.freq = 997;
	e.u.desc.flags = 1;
	put(p, &e);
}

/* 100 rounds of one second: a VM replaces its method at one address each second; two CPUs sample. */
static uint64_t run(struct pipeline *p)
{
	static uint64_t chain[3] = { CODE + 0x10, 0x400105, 0x400205 };
	uint64_t n = 0;
	struct ev e;

	clock_event(p, 1 * S);
	e = event(EV_COMM, 0, 1 * S, 10);
	e.u.comm.comm = "vm";
	e.u.comm.flags = EV_COMM_EXEC;
	put(p, &e);
	e = event(EV_PROC, 0, 1 * S, 10);
	e.u.proc.exe = "/usr/bin/vm";
	e.u.proc.app = "vm:Main";
	e.u.proc.exec_count = 1;
	put(p, &e);
	e = event(EV_MMAP, 0, 1 * S, 10);
	e.u.mmap.addr = 0x400000;
	e.u.mmap.len = 0x1000;
	e.u.mmap.path = "/usr/bin/vm";
	put(p, &e);
	e.u.mmap.addr = CODE;
	e.u.mmap.path = "//anon";
	put(p, &e);
	e.u.mmap.addr = 0x10000;
	e.u.mmap.path = "/jit/10-0123456789abcdef/ring";
	put(p, &e);
	e = event(EV_JITSRC, UINT32_MAX, 1 * S, 10);
	e.u.jitsrc.source = 1;
	e.u.jitsrc.kind = JIT_SOURCE_HOTSPOT;
	e.u.jitsrc.lag_ns = 200 * MS;
	e.u.jitsrc.instance = "10-0123456789abcdef";
	put(p, &e);
	for (uint64_t i = 1; i <= 100; i++) {
		for (uint64_t k = 0; k < 20; k++) {
			e = event(EV_SAMPLE, k % 2, (1 + i) * S + k * 40 * MS, 10);
			e.u.sample.ip = k % 4 == 3 ? 0x400010 : CODE + 0x10;
			e.u.sample.mode = EV_USER;
			e.u.sample.n_chain = 3;
			e.u.sample.chain = chain;
			chain[0] = e.u.sample.ip;
			put(p, &e);
			n++;
		}
		/* what happened in this second is read at its end */
		for (uint32_t what = JIT_EVENT_UNLOAD; what >= JIT_EVENT_LOAD; what--) {
			if (what == JIT_EVENT_UNLOAD && i == 1)
				continue;
			e = event(EV_JIT, UINT32_MAX, (2 + i) * S - MS, 10);
			e.u.jit.source = 1;
			e.u.jit.e = (struct jit_event){
				.type = (uint8_t)what, .time_ns = (1 + i) * S, .addr = CODE, .size = 0x100, .tier = 4,
				.id = what == JIT_EVENT_LOAD ? i : i - 1, .image_offset = 0x1000 * i,
				.name = "f", .name_len = 1,
			};
			put(p, &e);
		}
		if (pipeline_sync(p, (2 + i) * S - 2 * MS, (2 + i) * S - MS) < 0)
			abort();
	}
	e = event(EV_LOST, 1, 200 * S, -1);
	e.u.lost.count = 7;
	put(p, &e);
	return n;
}

static struct pipeline *made(const char *name, const char *log, uint32_t cpus, uint64_t flight)
{
	struct pipeline_opts o = {
		.session_dir = path_of(name), .n_cpus = cpus, .account = { .callgraph = true, .separate_tgid = true }, .log_path = log,
		.flight_bytes = flight, .no_sync = true,
	};
	struct pipeline *p;

	if (pipeline_new(&p, &o) < 0)
		abort();
	return p;
}

struct sums { uint64_t jit_versions, jit, all, wrong; };

static int add_up(void *arg, uint64_t key, uint64_t count)
{
	struct sums *s = arg;

	s->jit_versions++;
	s->jit += count;
	s->wrong += (key & 0xfff) != 0x10 || count != 15;
	return 0;
}

static int add_stack(void *arg, const struct session_frame *f, size_t n, uint64_t count)
{
	struct sums *s = arg;

	s->all += count;
	s->wrong += n != 3;
	return 0;
}

static void read_back(const char *name, uint64_t n, struct sums *s)
{
	struct session *in;
	char *why = NULL;
	const struct session_totals *t;

	*s = (struct sums){ 0 };
	if (!ok(session_open(&in, path_of(name), &why) == 0, "session opens"))
		return;
	t = session_totals(in);
	is_int(n, t->native + t->jit_method, "all samples are there");
	is_int(n * 3 / 4, t->jit_method, "JIT share");
	is_int(n * 3 / 4, t->exact + t->backdated + t->ambiguous, "each JIT sample has its quality");
	is_int(7, t->lost, "lost ones are counted");
	for (size_t i = 0; i < session_n_files(in); i++)
		if (session_file(in, i)->kind == SESSION_JIT) {
			is_str("10-0123456789abcdef/0.jo", session_file(in, i)->image, "image of the segment");
			is_str("vm:Main", session_file(in, i)->app, "application");
			session_file_each(in, i, add_up, s);
		}
	is_int(0, session_stacks_each(in, add_stack, s), "stacks");
	is_int(n, s->all, "as many stacks as samples");
	session_free(in);
	free(why);
}

static bool same(const char *a, const char *b)
{
	AUTO_STRBUF cmd = STRBUF_INIT;
	FILE *f;

	strbuf_addf(&cmd, "diff -r %s/%s/samples/current/ %s/%s/samples/current/ 2>&1", dir, a, dir, b);
	f = popen(cmd.buf, "r");
	return f && pclose(f) == 0;
}

static void replay(const char *log, const char *name, int want)
{
	AUTO_CLOSE int fd = open(log, O_RDONLY | O_CLOEXEC);
	struct pipeline *p = made(name, NULL, 0, 0);
	uint64_t bad = 0, cut = 0;

	is_int(want, pipeline_replay(p, fd, &bad, &cut), "replay %s", name);
	if (want == 0)
		is_int(0, pipeline_flush(p), "replay: flush");
	pipeline_free(p);
}

static void test_all(void)
{
	const char *log = path_of("log.opel");
	struct pipeline *p = made("live", log, 2, 0);
	struct pipeline_stats st;
	uint64_t n = run(p);
	struct sums s;

	is_int(0, pipeline_flush(p), "a flush in the middle");
	is_int(0, pipeline_finish(p), "finish");
	is_int(0, pipeline_flush(p), "flush");
	pipeline_stats(p, &st);
	ok(st.log_bytes > 0 && st.log_error == 0 && st.merge.late == 0, "log written, nothing late");
	pipeline_free(p);
	read_back("live", n, &s);
	is_int(100, s.jit_versions, "a hundred versions of the method");
	is_int(0, s.wrong, "each with its own samples, at its own key; stacks whole");
	replay(log, "again", 0);
	ok(same("live", "again"), "replayed: the same bytes, though the live run flushed twice");
	replay(log, "third", 0);
	ok(same("again", "third"), "replayed twice: the same");
	replay("/etc/passwd", "garbage", -EBADMSG);
}

static void test_flight(void)
{
	const char *log = path_of("flight.opel");
	struct pipeline *p = made("flight", NULL, 2, 64 << 10);
	uint64_t n;
	struct stat st;

	n = run(p);
	is_int(0, pipeline_finish(p), "flight recorder: finish");
	is_int(n, pipeline_totals(p)->native + pipeline_totals(p)->jit_method, "it still counts all");
	is_int(0, pipeline_save_log(p, log), "saved");
	pipeline_free(p);
	ok(stat(log, &st) == 0 && st.st_size > 0, "there is a log");
	p = made("flight-again", NULL, 0, 0);
	AUTO_CLOSE int fd = open(log, O_RDONLY | O_CLOEXEC);
	is_int(0, pipeline_replay(p, fd, NULL, NULL), "it can be replayed");
	const struct session_totals *t = pipeline_totals(p);
	ok(t->native + t->jit_method > 0 && t->unknown == 0 && t->anon == 0, "all samples that are left have their names");
	pipeline_free(p);
}

static void test_full_disk(void)
{
	struct pipeline *p = made("full", "/dev/full", 2, 0);
	struct pipeline_stats st;
	uint64_t n = run(p);

	is_int(0, pipeline_finish(p), "log on a full disk: the run goes on");
	pipeline_stats(p, &st);
	is_int(-ENOSPC, st.log_error, "and it is told");
	is_int(n, pipeline_totals(p)->native + pipeline_totals(p)->jit_method, "all samples count");
	pipeline_free(p);
}

/* An agent attached 0.8 s after its VM began tells the method that ran all the time. */
static void test_attached(const char *library, bool named)
{
	struct pipeline *p = made(named ? "java" : "other", NULL, 1, 0);
	struct ev e = event(EV_MMAP, 0, 10 * S, 10);
	uint64_t n = 0, t = 10 * S;

	clock_event(p, t);
	e.u.mmap.addr = 0x400000;
	e.u.mmap.len = 0x1000;
	e.u.mmap.path = library;
	put(p, &e);
	e.u.mmap.addr = CODE;
	e.u.mmap.path = "//anon";
	put(p, &e);
	for (t += 40 * MS; t < 10 * S + 800 * MS; t += 40 * MS, n++) {
		e = event(EV_SAMPLE, 0, t, 10);
		e.u.sample.ip = CODE + 0x10;
		e.u.sample.mode = EV_USER;
		put(p, &e);
		if (pipeline_sync(p, t, t) < 0)
			abort();
	}
	e = event(EV_JITSRC, UINT32_MAX, t, 10);
	e.u.jitsrc.source = 1;
	e.u.jitsrc.kind = JIT_SOURCE_HOTSPOT;
	e.u.jitsrc.lag_ns = NSEC_PER_SEC;
	e.u.jitsrc.instance = "10-0123456789abcdef";
	put(p, &e);
	e = event(EV_JIT, UINT32_MAX, t, 10);
	e.u.jit.source = 1;
	e.u.jit.e = (struct jit_event){
		.type = JIT_EVENT_LOAD, .flags = JIT_SINCE_UNKNOWN, .time_ns = t, .addr = CODE, .size = 0x100, .tier = 4, .id = 1,
		.name = "f", .name_len = 1,
	};
	put(p, &e);
	is_int(0, pipeline_finish(p), "an agent attached late: finish");
	if (named)
		is_int(n, pipeline_totals(p)->jit_method, "%s: samples wait for the agent", library);
	else
		ok(pipeline_totals(p)->jit_method < n, "%s: nothing is waited for", library);
	is_int(n, pipeline_totals(p)->jit_method + pipeline_totals(p)->anon, "none is lost or left over");
	pipeline_free(p);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_all();
	test_flight();
	test_full_disk();
	test_attached("/usr/lib/jvm/x/lib/server/libjvm.so", true);
	test_attached("/usr/lib/x/libjvm.so.1", false);
	io_remove_tree(AT_FDCWD, dir, NULL, NULL);
	return done_testing();
}
