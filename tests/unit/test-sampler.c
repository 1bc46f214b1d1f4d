/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sampler with the kernel's real events. Page faults are what makes it exact: a workload (this program again, with
 * "work" as its first argument) touches a known number of fresh pages in one function and prints how many, so the
 * samples inside that function must be just as many for each thread. No check depends on time.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/io.h"
#include "lib/map.h"
#include "lib/tap.h"
#include "sampler/priv.h"
#include "sampler/sampler.h"
#include "tests/unit/sampler-work.h"

/* --- what the sampler gave ------------------------------------------------------------------------------ */
struct got {
	uint32_t type, cpu;
	int32_t pid, tid, ppid;
	uint64_t a, b, time_ns;  /* ip; or address and length; or start time and exec count */
	char text[128];          /* path, comm, exe */
};

struct run {
	struct got *g;
	size_t n, room;
	uint64_t lost, samples, back;
	uint64_t last[1024];
	struct strbuf out;
	char notice[1024];
	unsigned int notices;
};

static char *self;

static int collect(void *arg, const struct ev *e)
{
	struct run *r = arg;
	struct got g = { .type = e->type, .cpu = e->cpu, .pid = e->pid, .tid = e->tid, .time_ns = e->time_ns };
	uint32_t stream = MIN(e->cpu, 1023u);

	/* EV_SYNC may be older than what came before it, and what comes after may not be older than either. */
	r->back += e->type != EV_SYNC && e->time_ns < r->last[stream];
	r->last[stream] = MAX(r->last[stream], e->time_ns);
	switch (e->type) {
	case EV_SAMPLE: g.a = e->u.sample.ip; r->samples++; break;
	case EV_LOST: r->lost += e->u.lost.count; break;
	case EV_MMAP:
		g.a = e->u.mmap.addr;
		g.b = e->u.mmap.len;
		snprintf(g.text, sizeof(g.text), "%s", e->u.mmap.path);
		break;
	case EV_PROC:
		g.a = e->u.proc.start_time;
		g.b = e->u.proc.exec_count;
		snprintf(g.text, sizeof(g.text), "%s", e->u.proc.exe);
		break;
	case EV_COMM: g.a = e->u.comm.flags; break;
	case EV_FORK: g.ppid = e->u.fork.ppid; break;
	case EV_SYNC: return 0;
	}
	if (r->n == r->room) {
		size_t room = r->room ? r->room * 2 : 4096;
		struct got *p = reallocarray(r->g, room, sizeof(*p));
		if (!p)
			return -ENOMEM;
		r->g = p;
		r->room = room;
	}
	r->g[r->n++] = g;
	return 0;
}

static void on_notice(void *arg, const char *line)
{
	struct run *r = arg;

	r->notices++;
	snprintf(r->notice, sizeof(r->notice), "%s", line);
}

static void run_done(struct run *r)
{
	free(r->g);
	strbuf_done(&r->out);
}

struct child { pid_t pid; int in, out, go; };

/* The workload, stopped before its exec when held; its stdin and stdout are ours. */
static struct child start(const char *path, const char *what, bool held, uid_t uid)
{
	char *argv[] = { (char *)path, "work", (char *)what, NULL };
	int in[2], out[2], go[2];
	struct child c;
	char b;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(go, O_CLOEXEC))
		exit(99);
	fflush(stdout);
	c.pid = fork();
	if (c.pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(go[1]);
		if (held && read(go[0], &b, 1) != 1)
			_exit(98);
		if (uid && setresuid(uid, uid, uid))
			_exit(97);
		execv(path, argv);
		_exit(96);
	}
	close(in[0]);
	close(out[1]);
	close(go[0]);
	c.in = in[1];
	c.out = out[0];
	c.go = go[1];
	return c;
}

static void tell(int fd)
{
	if (write(fd, "", 1) != 1)
		printf("# the workload is gone\n");
}

static void child_done(struct child *c)
{
	close(c->in);
	close(c->out);
	close(c->go);
	waitpid(c->pid, NULL, 0);
}

/* Reads what the workload printed until n lines are there or it ends, draining meanwhile if s is given. */
static void until_lines(struct run *r, struct child *c, struct sampler *s, size_t n)
{
	char buf[4096];
	ssize_t got;

	for (;;) {
		size_t lines = 0;
		for (size_t i = 0; i < r->out.len; i++)
			lines += r->out.buf[i] == '\n';
		if (lines >= n)
			return;
		struct pollfd p[2] = { { .fd = c->out, .events = POLLIN }, { .fd = s ? sampler_fd(s) : -1, .events = POLLIN } };
		poll(p, 2, 100);
		if (s)
			sampler_drain(s, collect, r);
		if (!(p[0].revents & (POLLIN | POLLHUP)))
			continue;
		got = read(c->out, buf, sizeof(buf));
		if (got <= 0)
			return;
		strbuf_add(&r->out, buf, (size_t)got);
	}
}

static struct sampler *open_it(struct sampler_opts *o, struct run *r)
{
	AUTO_STRBUF why = STRBUF_INIT;
	struct sampler *s = NULL;

	o->notice = on_notice;
	o->arg = r;
	r->out.cap = STRBUF_CAP;
	if (sampler_open(&s, o, &why) < 0)
		printf("# %s\n", strbuf_str(&why));
	return s;
}

static size_t count(const struct run *r, uint32_t type, int32_t pid, int32_t tid, uint64_t lo, uint64_t hi)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->g[i].type == type && r->g[i].pid == pid && (tid < 0 || r->g[i].tid == tid) && r->g[i].a >= lo && r->g[i].a < hi;
	return n;
}

/* Every TOUCH line against the samples. */
static size_t check_touches(const struct run *r, const char *what)
{
	size_t lines = 0, wrong = 0, n, have;
	int pid, tid;
	uint64_t lo, hi;

	for (const char *p = strbuf_str(&r->out); (p = strstr(p, "TOUCH ")); p += 6) {
		if (sscanf(p, "TOUCH %d %d %zu %" SCNx64 " %" SCNx64, &pid, &tid, &n, &lo, &hi) != 5)
			continue;
		/* A thread may have touched twice under one tid. */
		size_t want = 0;
		int pid2, tid2;
		uint64_t lo2, hi2;
		for (const char *q = strbuf_str(&r->out); (q = strstr(q, "TOUCH ")); q += 6)
			if (sscanf(q, "TOUCH %d %d %zu %" SCNx64 " %" SCNx64, &pid2, &tid2, &have, &lo2, &hi2) == 5 && pid2 == pid && tid2 == tid &&
			    lo2 == lo)
				want += have;
		/* At its very first byte the function itself may be what was not there yet. */
		have = count(r, EV_SAMPLE, pid, tid, lo + 1, hi);
		if (have != want) {
			wrong++;
			printf("# task %d/%d: %zu touches, %zu samples\n", pid, tid, want, have);
		}
		lines++;
	}
	is_int(0, wrong, "%s: each of %zu tasks has exactly its own samples", what, lines);
	return lines;
}

static void check_stream(const struct run *r, struct sampler *s, const char *what)
{
	struct sampler_stats st;

	sampler_stats(s, &st);
	ok(r->back == 0, "%s: no CPU's stream goes back in time", what);
	is_int(0, st.bad_records, "%s: no bad record", what);
	ok(st.samples == r->samples && st.lost == r->lost, "%s: stats agree with the stream", what);
}

static const char *const faults[] = { "page-faults:1" };

/* --- tests ---------------------------------------------------------------------------------------------- */
static void test_command(void)
{
	struct run r = { 0 };
	struct child c = start(self, "tree", true, 0);
	struct sampler_opts o = { .target = SAMPLER_COMMAND, .pids = &c.pid, .n_pids = 1, .events = faults, .n_events = 1 };
	struct sampler *s = open_it(&o, &r);
	uint64_t total = 0, lost = 0;
	size_t forks = 0, execs = 0;
	int32_t leaf = 0;

	if (!ok(s, "command: opened"))
		return child_done(&c);
	sampler_synthesize(s, collect, &r);
	sampler_enable(s);
	tell(c.go);
	until_lines(&r, &c, s, 100);
	sampler_drain(s, collect, &r); /* what is told of its begin, while /proc has its start time */
	child_done(&c);
	sampler_disable(s);
	sampler_drain(s, collect, &r);
	is_int(6, check_touches(&r, "command"), "threads, a child, and its exec were followed");
	sampler_event_totals(s, 0, &total, &lost);
	ok(total == r.samples + r.lost && lost == 0, "samples (%" PRIu64 ") are what the kernel counted (%" PRIu64 ")", r.samples, total);
	for (const char *p = strbuf_str(&r.out); !leaf && (p = strstr(p, "TOUCH ")); p += 6) {
		int pid, n;
		if (sscanf(p, "TOUCH %d %*d %d", &pid, &n) == 2 && n == 60)
			leaf = pid;
	}
	for (size_t i = 0; i < r.n; i++)
		forks += r.g[i].type == EV_FORK && r.g[i].ppid == c.pid && r.g[i].pid == leaf && r.g[i].tid == leaf;
	is_int(1, forks, "the fork of the child is told once");
	for (size_t i = 0; i < r.n; i++)
		execs += r.g[i].type == EV_PROC && r.g[i].pid == leaf && r.g[i].b == 1;
	is_int(1, execs, "its exec gives a second EV_PROC with exec count 1");
	is_int(0, count(&r, EV_PROC, c.pid, -1, 0, 1), "no EV_PROC of the command lacks its start time");
	is_int(1, count(&r, EV_PROC, c.pid, -1, 1, UINT64_MAX), "the command has one EV_PROC with a start time");
	ok(count(&r, EV_EXIT, leaf, leaf, 0, UINT64_MAX) == 1 && count(&r, EV_EXIT, c.pid, c.pid, 0, UINT64_MAX) == 1, "both ends are told");
	check_stream(&r, s, "command");
	struct pollfd p = { .fd = sampler_fd(s), .events = POLLIN };
	is_int(0, poll(&p, 1, 0), "after the end its descriptor is quiet: no reader spins on the hang-up");
	ok(!sampler_alive(s), "and it is no longer alive");
	sampler_free(s);
	run_done(&r);
}

/*
 * A process that begins, works and ends on different CPUs, not reaped, and all of it is drained at once. Whichever ring
 * comes first, it is one process, with one life: nothing that is drained after its end makes a second one of the zombie.
 */
static void check_hop(const cpu_set_t *all, int from, int to, int end)
{
	struct run r = { 0 };
	cpu_set_t one;
	char what[32];
	siginfo_t si;

	snprintf(what, sizeof(what), "hop %d %d", to, end);
	CPU_ZERO(&one);
	CPU_SET(from, &one);
	sched_setaffinity(0, sizeof(one), &one);
	struct child c = start(self, what, true, 0);
	sched_setaffinity(0, sizeof(*all), all);
	struct sampler_opts o = { .target = SAMPLER_COMMAND, .pids = &c.pid, .n_pids = 1, .events = faults, .n_events = 1 };
	struct sampler *s = open_it(&o, &r);

	if (!ok(s, "from CPU %d to CPU %d, end on CPU %d: opened", from, to, end))
		return child_done(&c);
	sampler_synthesize(s, collect, &r);
	sampler_enable(s);
	tell(c.go);
	if (waitid(P_PID, (id_t)c.pid, &si, WEXITED | WNOWAIT) == 0)
		is_int(0, si.si_status, "it went there and ended");
	for (int i = 0; i < 3; i++)
		sampler_drain(s, collect, &r);
	is_int(1, count(&r, EV_EXIT, c.pid, c.pid, 0, UINT64_MAX), "its end is told once");
	is_int(1, count(&r, EV_PROC, c.pid, -1, 0, UINT64_MAX), "and what it is, once");
	is_int(0, s->n_exits, "no end is kept");
	ok(!u64map_get(&s->procs, (uint64_t)c.pid), "and it is forgotten");
	until_lines(&r, &c, NULL, 100);
	is_int(2, check_touches(&r, "hop"), "both threads' samples are there");
	child_done(&c);
	check_stream(&r, s, "hop");
	sampler_free(s);
	run_done(&r);
}

/*
 * A command that forks on another CPU than that of its exec, and a child that executes on yet another, all of it drained at
 * once. Whichever ring comes first: the child has its parent's name until its exec, and then one exec.
 */
static void check_family(const cpu_set_t *all, int from, int to, int end)
{
	struct run r = { 0 };
	cpu_set_t one;
	char what[32];
	size_t n = 0, in_order = 0;
	int child = 0;
	const char *at;

	snprintf(what, sizeof(what), "family %d %d", to, end);
	CPU_ZERO(&one);
	CPU_SET(from, &one);
	sched_setaffinity(0, sizeof(one), &one);
	struct child c = start(self, what, true, 0);
	sched_setaffinity(0, sizeof(*all), all);
	struct sampler_opts o = { .target = SAMPLER_COMMAND, .pids = &c.pid, .n_pids = 1, .events = faults, .n_events = 1 };
	struct sampler *s = open_it(&o, &r);

	if (!ok(s, "exec on CPU %d, fork on CPU %d, the child's exec on CPU %d: opened", from, to, end))
		return child_done(&c);
	sampler_synthesize(s, collect, &r);
	sampler_enable(s);
	tell(c.go);
	until_lines(&r, &c, NULL, 3);
	sampler_drain(s, collect, &r);
	sampler_drain(s, collect, &r);
	at = strstr(strbuf_str(&r.out), "CHILD ");
	if (!at || sscanf(at, "CHILD %d", &child) != 1)
		ok(false, "the child ran");
	for (size_t i = 0; i < r.n; i++) {
		const struct got *g = &r.g[i];
		if (g->type != EV_PROC || g->pid != child)
			continue;
		in_order += g->b == n;
		if (!n++)
			is_str(self, g->text, "the child has the name of its parent");
	}
	ok(n == 2 && in_order == 2, "the child is told at its fork, and at its exec (%zu, %zu in order)", n, in_order);
	is_int(1, count(&r, EV_PROC, c.pid, -1, 0, UINT64_MAX), "the parent once");
	is_int(2, check_touches(&r, "family"), "the child's samples are there");
	is_int(0, s->n_pending, "nothing is put off");
	ok(!u64map_get(&s->procs, (uint64_t)child) && u64map_get(&s->procs, (uint64_t)c.pid), "who ended is forgotten");
	tell(c.in);
	child_done(&c);
	sampler_drain(s, collect, &r);
	check_stream(&r, s, "family");
	sampler_free(s);
	run_done(&r);
}

static void test_hop(void)
{
	cpu_set_t all;
	int low = -1, high = -1;

	CPU_ZERO(&all);
	sched_getaffinity(0, sizeof(all), &all);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all)) {
			low = low < 0 ? i : low;
			high = i;
		}
	if (low == high)
		skip("a process that ends on another CPU: there is one only");
	for (int i = 0; i < 4 && low != high; i++)
		check_hop(&all, i & 1 ? low : high, i & 1 ? high : low, i & 2 ? low : high);
	check_family(&all, high, low, low);
	check_family(&all, high, low, high);
	check_family(&all, low, high, low);
	check_family(&all, low, high, high);
}

static void test_attach(void)
{
	uint64_t doubles = 0;

	for (int round = 0; round < 3; round++) {
		struct run r = { 0 };
		struct child c = start(self, "churn", false, 0);
		struct sampler_opts o = { .target = SAMPLER_PIDS, .pids = &c.pid, .n_pids = 1, .events = faults, .n_events = 1 };
		struct sampler *s;
		r.out.cap = STRBUF_CAP;
		until_lines(&r, &c, NULL, 1);
		usleep(round * 5000u);
		s = open_it(&o, &r);
		if (!ok(s, "attach: opened while threads are being made"))
			return child_done(&c);
		sampler_synthesize(s, collect, &r);
		sampler_enable(s);
		tell(c.in);
		until_lines(&r, &c, s, 1 + CHURN + 1 + (CHURN + 3) / 4);
		child_done(&c);
		sampler_disable(s);
		sampler_drain(s, collect, &r);
		is_int(CHURN + 1 + (CHURN + 3) / 4, check_touches(&r, "attach"), "all threads ran");
		is_int(0, r.lost, "nothing was lost");
		check_stream(&r, s, "attach");
		struct sampler_stats st;
		sampler_stats(s, &st);
		printf("# %" PRIu64 " threads found late, %" PRIu64 " double records\n", st.late_threads, st.doubles);
		doubles += st.doubles;
		sampler_free(s);
		run_done(&r);
	}
	printf("# in all %" PRIu64 " doubles\n", doubles);
}

/* Before its exec a child runs in its parent's mappings, which are not told again. */
static bool mapped(const struct run *r, const struct got *sample)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct got *g = &r->g[i];
		if (g->type == EV_COMM && g->a == EV_COMM_EXEC && g->pid == sample->pid && g->time_ns > sample->time_ns)
			return true;
		if (g->type == EV_MMAP && g->pid == sample->pid && g->time_ns <= sample->time_ns && sample->a >= g->a && sample->a - g->a < g->b)
			return true;
	}
	return false;
}

static void check_mapped(const struct run *r, pid_t a, pid_t b, const char *what)
{
	size_t n = 0, without = 0;
	uint64_t lo, hi;
	const char *p = strstr(strbuf_str(&r->out), "TOUCH ");

	if (!p || sscanf(p, "TOUCH %*d %*d %*u %" SCNx64 " %" SCNx64, &lo, &hi) != 2)
		lo = hi = 0;
	for (size_t i = 0; i < r->n; i++)
		if (r->g[i].type == EV_SAMPLE && (r->g[i].pid == a || r->g[i].pid == b) && r->g[i].a < 1ULL << 47) {
			n++;
			without += !mapped(r, &r->g[i]);
		}
	ok(n && !without, "%s: each of %zu user samples lies in a mapping told before it (%zu do not)", what, n, without);
}

static void test_system(bool synthesize)
{
	const char *what = synthesize ? "system-wide" : "system-wide, not synthesized";
	struct run r = { 0 };
	struct child before = start(self, "wait", false, 0), after;
	struct sampler_opts o = { .target = SAMPLER_SYSTEM, .events = faults, .n_events = 1, .ring_pages = 1024 };
	struct sampler *s;

	r.out.cap = STRBUF_CAP;
	until_lines(&r, &before, NULL, 1); /* its exec is over: one seen by a part of the rings only is what synthesizing is for */
	s = open_it(&o, &r);
	if (!s) {
		skip("system-wide is not allowed here");
		return child_done(&before);
	}
	if (synthesize)
		sampler_synthesize(s, collect, &r);
	sampler_enable(s);
	after = start(self, "wait", false, 0);
	tell(after.in);
	until_lines(&r, &after, s, 3);
	tell(before.in);
	until_lines(&r, &before, s, 4);
	sampler_drain(s, collect, &r); /* a first sight may wait for the second drain */
	sampler_drain(s, collect, &r);
	tell(before.in);
	tell(after.in);
	child_done(&before);
	child_done(&after);
	sampler_disable(s);
	sampler_drain(s, collect, &r);
	is_int(2, check_touches(&r, what), "a process from before and one from after");
	is_int(0, r.lost, "nothing was lost");
	ok(count(&r, EV_PROC, before.pid, -1, 1, UINT64_MAX) >= 1 && count(&r, EV_PROC, after.pid, -1, 1, UINT64_MAX) >= 1, "%s: both have an EV_PROC", what);
	check_mapped(&r, before.pid, after.pid, what);
	check_stream(&r, s, what);
	sampler_free(s);
	run_done(&r);
}

/* Kernels since 6.2 write one fault's samples for both with the id of whichever event comes first. */
static void test_two(void)
{
	struct run r[2] = { { 0 }, { 0 } };
	struct sampler_opts o = { .target = SAMPLER_SYSTEM, .events = faults, .n_events = 1, .ring_pages = 1024 };
	struct child c = start(self, "many", true, 0);
	struct sampler *s[2] = { open_it(&o, &r[0]), NULL };

	if (!s[0]) {
		skip("system-wide is not allowed here");
		return child_done(&c);
	}
	s[1] = open_it(&o, &r[1]);
	sampler_enable(s[0]);
	if (ok(s[1], "two at once, system-wide: opened"))
		sampler_enable(s[1]);
	tell(c.go);
	until_lines(&r[0], &c, NULL, 100);
	child_done(&c);
	strbuf_addstr(&r[1].out, strbuf_str(&r[0].out));
	for (int i = 0; i < 2 && s[i]; i++) {
		sampler_disable(s[i]);
		sampler_drain(s[i], collect, &r[i]);
		is_int(1, check_touches(&r[i], i ? "the second" : "the first"), "all samples are there");
		check_stream(&r[i], s[i], i ? "the second" : "the first");
		sampler_free(s[i]);
		run_done(&r[i]);
	}
}

static void test_lost(void)
{
	struct run r = { 0 };
	struct child c = start(self, "many", true, 0);
	struct sampler_opts o = { .target = SAMPLER_COMMAND, .pids = &c.pid, .n_pids = 1, .events = faults, .n_events = 1, .ring_pages = 1 };
	struct sampler *s = open_it(&o, &r);
	uint64_t total = 0, lost = 0, side = 0, side_lost = 0;

	if (!ok(s, "lost: opened with rings of one page"))
		return child_done(&c);
	tell(c.go);
	struct pollfd p = { .fd = sampler_fd(s), .events = POLLIN };
	is_int(1, poll(&p, 1, 60000), "the descriptor is readable at half a ring");
	until_lines(&r, &c, NULL, 100);
	child_done(&c);
	sampler_disable(s);
	sampler_drain(s, collect, &r);
	sampler_event_totals(s, 0, &total, &lost);
	sampler_event_totals(s, UINT32_MAX, &side, &side_lost);
	if (lost + side_lost == 0 && r.lost == 0) {
		skip("this kernel has no PERF_FORMAT_LOST");
	} else {
		ok(lost > 1000, "a reader that stood still lost most (%" PRIu64 ")", lost);
		is_int(total, r.samples + lost, "samples + lost is what the kernel counted");
		is_int(lost + side_lost, r.lost, "EV_LOST says exactly what was lost, samples and other records");
	}
	check_stream(&r, s, "lost");
	sampler_drain(s, collect, &r);
	is_int(lost + side_lost, r.lost, "another drain does not tell it again");
	sampler_free(s);
	run_done(&r);
}

static void test_lost_rounds(void)
{
	struct run r = { 0 };
	struct child c = start(self, "rounds", false, 0);
	struct sampler_opts o = { .target = SAMPLER_PIDS, .pids = &c.pid, .n_pids = 1, .events = faults, .n_events = 1, .ring_pages = 1 };
	struct sampler *s = open_it(&o, &r);
	uint64_t total = 0, lost = 0, side = 0, side_lost = 0;

	if (!ok(s, "stop and go: opened"))
		return child_done(&c);
	for (size_t i = 1; i <= 3; i++) {
		sampler_enable(s);
		tell(c.in);
		until_lines(&r, &c, NULL, i);
		sampler_disable(s);
		sampler_drain(s, collect, &r);
		sampler_event_totals(s, 0, &total, &lost);
		sampler_event_totals(s, UINT32_MAX, &side, &side_lost);
		ok(total == r.samples + lost && r.lost == lost + side_lost, "round %zu: %" PRIu64 " samples + %" PRIu64 " lost = %" PRIu64, i, r.samples,
		   lost, total);
	}
	ok(sampler_alive(s), "the process is alive");
	tell(c.in);
	child_done(&c);
	struct pollfd p = { .fd = sampler_fd(s), .events = POLLIN };
	is_int(1, poll(&p, 1, 60000), "its end makes the descriptor readable");
	ok(!sampler_alive(s), "and is noticed");
	sampler_free(s);
	run_done(&r);
}

static void test_share(void)
{
	static const char *const clock[] = { "cpu-clock" };
	struct run r = { 0 };
	struct child c = start(self, "spin", true, 0);
	struct sampler_opts o = { .target = SAMPLER_COMMAND, .pids = &c.pid, .n_pids = 1, .events = clock, .n_events = 1 };
	struct sampler *s = open_it(&o, &r);
	unsigned long long us[2] = { 0 };
	int pid[2] = { 0 };
	size_t n[2], i = 0;
	double p, mean, slack;

	if (!ok(s, "share: opened"))
		return child_done(&c);
	tell(c.go);
	until_lines(&r, &c, s, 100);
	child_done(&c);
	sampler_disable(s);
	sampler_drain(s, collect, &r);
	for (const char *q = strbuf_str(&r.out); i < 2 && (q = strstr(q, "CPU ")); q += 4)
		i += sscanf(q, "CPU %d %llu", &pid[i], &us[i]) == 2;
	if (!ok(i == 2 && us[0] && us[1], "two processes span"))
		return;
	n[0] = count(&r, EV_SAMPLE, pid[0], -1, 0, UINT64_MAX);
	n[1] = count(&r, EV_SAMPLE, pid[1], -1, 0, UINT64_MAX);
	p = (double)us[0] / (double)(us[0] + us[1]);
	mean = p * (double)(n[0] + n[1]);
	slack = 25 * mean * (1 - p); /* (5 standard deviations of a binomial count)² */
	ok(n[0] + n[1] > 500 && ((double)n[0] - mean) * ((double)n[0] - mean) <= slack + 4,
	   "their samples %zu : %zu are as their CPU times %llu : %llu us, within 5 standard deviations", n[0], n[1], us[0], us[1]);
	check_stream(&r, s, "share");
	sampler_free(s);
	run_done(&r);
}

static void test_jit_mappings(void)
{
	struct run r = { 0 };
	struct child c = start(self, "jit", true, 0);
	struct sampler_opts o = { .target = SAMPLER_COMMAND, .pids = &c.pid, .n_pids = 1, .events = faults, .n_events = 1 };
	struct sampler *s = open_it(&o, &r);
	uint64_t a = 0, b = 0;
	bool anon = false, memfd = false;

	if (!ok(s, "executable memory: opened"))
		return child_done(&c);
	tell(c.go);
	until_lines(&r, &c, s, 1);
	child_done(&c);
	sampler_disable(s);
	sampler_drain(s, collect, &r);
	if (sscanf(strbuf_str(&r.out), "JIT %" SCNx64 " %" SCNx64, &a, &b) != 2)
		ok(false, "the workload ran");
	for (size_t i = 0; i < r.n; i++) {
		const struct got *g = &r.g[i];
		if (g->type != EV_MMAP || g->pid != c.pid)
			continue;
		anon |= g->a == a && !strcmp(g->text, "//anon");
		memfd |= g->a == b && !strcmp(g->text, "/memfd:opjit:test (deleted)");
	}
	ok(anon, "anonymous memory made executable by mprotect is told");
	ok(memfd, "an executable memfd is told by its name");
	sampler_free(s);
	run_done(&r);
}

static void test_unreadable_program(void)
{
	char dir[] = "/tmp/opjit-sampler-XXXXXX", path[64];
	AUTO_STRBUF image = STRBUF_INIT;
	struct run r = { 0 };

	if (geteuid() != 0) {
		skip("only root can lay out a program that another user may run and not read");
		return;
	}
	if (!mkdtemp(dir) || chmod(dir, 0755) || io_slurp(AT_FDCWD, self, &image) < 0)
		return;
	snprintf(path, sizeof(path), "%s/prog", dir);
	io_replace(path, image.buf, image.len, 0711);
	chmod(path, 0711);
	struct child c = start(path, "leaf", true, 65534);
	struct sampler_opts o = { .target = SAMPLER_COMMAND, .pids = &c.pid, .n_pids = 1, .events = faults, .n_events = 1 };
	struct sampler *s = open_it(&o, &r);
	if (!ok(s, "unreadable program: opened"))
		return child_done(&c);
	tell(c.go);
	until_lines(&r, &c, s, 1);
	child_done(&c);
	sampler_disable(s);
	sampler_drain(s, collect, &r);
	struct sampler_stats st;
	sampler_stats(s, &st);
	ok(strstr(strbuf_str(&r.out), "TOUCH"), "it ran");
	is_int(1, st.setuid_exec, "that the kernel took our events away is counted");
	ok(r.notices == 1 && strstr(r.notice, "set-uid or unreadable") && strstr(r.notice, "--system-wide"), "and said once, with what to do");
	sampler_free(s);
	run_done(&r);
	io_remove_tree(AT_FDCWD, dir, NULL, NULL);
}

static void test_chains(void)
{
	struct run r = { 0 };
	struct child c = start(self, "leaf", true, 0);
	struct sampler_opts o = { .target = SAMPLER_COMMAND, .pids = &c.pid, .n_pids = 1, .events = faults, .n_events = 1, .callgraph = true,
				  .max_stack = 4 };
	struct sampler *s = open_it(&o, &r);

	if (!ok(s, "chains: opened"))
		return child_done(&c);
	tell(c.go);
	until_lines(&r, &c, s, 1);
	child_done(&c);
	sampler_disable(s);
	sampler_drain(s, collect, &r);
	check_touches(&r, "chains");
	check_stream(&r, s, "chains");
	sampler_free(s);
	run_done(&r);
}

static int stop_after(void *arg, const struct ev *e)
{
	int *n = arg;

	return e->type == EV_SAMPLE && --*n == 0 ? -ECANCELED : 0;
}

static void test_sink_stops(void)
{
	struct run r = { 0 };
	struct child c = start(self, "leaf", true, 0);
	struct sampler_opts o = { .target = SAMPLER_COMMAND, .pids = &c.pid, .n_pids = 1, .events = faults, .n_events = 1 };
	struct sampler *s = open_it(&o, &r);
	int n = 3;

	if (!ok(s, "a sink that says no: opened"))
		return child_done(&c);
	tell(c.go);
	until_lines(&r, &c, NULL, 1);
	child_done(&c);
	is_int(-ECANCELED, sampler_drain(s, stop_after, &n), "its answer is returned");
	is_int(0, n, "and it is not called again");
	sampler_free(s);
	run_done(&r);
}

static void test_refusals(void)
{
	static const struct { struct sampler_opts o; int want; const char *says; } bad[] = {
		{ { .target = SAMPLER_PIDS }, -EINVAL, "no process" },
		{ { .target = SAMPLER_SYSTEM, .ring_pages = 3 }, -EINVAL, "power of two" },
		{ { .target = 9 }, -EINVAL, "no process" },
	};
	static const int32_t nobody[] = { 0x7ffffff0 };
	struct sampler_opts gone = { .target = SAMPLER_PIDS, .pids = nobody, .n_pids = 1 };
	AUTO_STRBUF why = STRBUF_INIT;
	struct sampler *s = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		strbuf_reset(&why);
		is_int(bad[i].want, sampler_open(&s, &bad[i].o, &why), "options that make no sense");
		ok(strstr(strbuf_str(&why), bad[i].says), "are refused with: %s", strbuf_str(&why));
	}
	strbuf_reset(&why);
	is_int(-ESRCH, sampler_open(&s, &gone, &why), "a pid that is not there");
	ok(strstr(strbuf_str(&why), "does not exist") && !strchr(strbuf_str(&why), '\n'), "%s", strbuf_str(&why));
}

int main(int argc, char **argv)
{
	struct run r = { 0 };
	struct sampler *s;
	int32_t me = getpid();
	struct sampler_opts o = { .target = SAMPLER_PIDS, .pids = &me, .n_pids = 1, .events = faults, .n_events = 1 };

	if (argc > 2 && !strcmp(argv[1], "work"))
		return sampler_work(argv);
	signal(SIGPIPE, SIG_IGN);
	self = realpath("/proc/self/exe", NULL);
	test_refusals();
	s = open_it(&o, &r);
	if (!s) {
		skip("perf_event_open is refused here");
		return done_testing();
	}
	sampler_free(s);
	if (argc > 1 && !strcmp(argv[1], "attach")) {
		test_attach();
		return done_testing();
	}
	test_command();
	test_hop();
	skip("attaching while threads are made as fast as they can be: in make check-long, see doc/attribution.md");
	test_system(true);
	test_system(false);
	test_two();
	test_lost();
	test_lost_rounds();
	test_share();
	test_jit_mappings();
	test_unreadable_program();
	test_chains();
	test_sink_stops();
	free(self);
	return done_testing();
}
