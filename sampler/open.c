/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opening: first each event is tried, and what the kernel refuses is given up as far as the user's wish allows it; then
 * a ring for each CPU is mapped on the sideband event of the first task; then the rest is opened and sent there.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "sampler/priv.h"
#include "sampler/procinfo.h"
#include "sampler/why.h"

#define DEFAULT_FREQ 997u
#define DEFAULT_PAGES 128u

void sampler_notice(struct sampler *s, const char *fmt, ...)
{
	AUTO_STRBUF line = STRBUF_INIT_CAP(4096);
	va_list ap;

	if (!s->o.notice)
		return;
	va_start(ap, fmt);
	strbuf_vaddf(&line, fmt, ap);
	va_end(ap);
	s->o.notice(s->o.arg, strbuf_str(&line));
}

static int perf_open(struct perf_event_attr *attr, int32_t pid, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static uint64_t clamp_freq(struct sampler *s, uint64_t freq)
{
	int64_t max;

	if (!why_sysctl("/proc/sys/kernel/perf_event_max_sample_rate", &max) || max <= 0 || freq <= (uint64_t)max)
		return freq;
	sampler_notice(s, "%llu samples a second is above what the kernel allows; taking %lld (sysctl kernel.perf_event_max_sample_rate)",
		       (unsigned long long)freq, (long long)max);
	return (uint64_t)max;
}

static void attr_common(struct sampler *s, struct perf_event_attr *a)
{
	a->size = sizeof(*a);
	a->sample_type = PERFREC_SAMPLE_TYPE;
	a->read_format = PERF_FORMAT_LOST;
	a->sample_id_all = 1;
	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
	a->exclude_hv = 1;
	a->disabled = 1;
	if (s->o.target != SAMPLER_SYSTEM)
		a->inherit = 1;
	if (s->o.target == SAMPLER_COMMAND)
		a->enable_on_exec = 1;
}

static void attr_event(struct sampler *s, struct sampled *ev, uint64_t freq)
{
	struct perf_event_attr *a = &ev->attr;

	memset(a, 0, sizeof(*a));
	attr_common(s, a);
	a->type = ev->spec.type;
	a->config = ev->spec.config;
	a->config1 = ev->spec.config1;
	a->config2 = ev->spec.config2;
	if (ev->spec.count) {
		a->sample_period = ev->spec.count;
	} else if (ev->spec.type == PERF_TYPE_TRACEPOINT || (ev->spec.type == PERF_TYPE_SOFTWARE && ev->spec.min_count == 1)) {
		/* Rare events: by frequency the first ones would go unseen. */
		a->sample_period = 1;
		ev->spec.count = 1;
	} else {
		a->freq = 1;
		a->sample_freq = freq;
	}
	ev->shared_id = ev->spec.type == PERF_TYPE_SOFTWARE && !ev->spec.timer;
	a->exclude_kernel = ev->spec.no_kernel || s->stats.user_only;
	a->exclude_user = ev->spec.no_user;
	if (s->o.callgraph) {
		a->sample_type |= PERF_SAMPLE_CALLCHAIN;
		a->sample_max_stack = (uint16_t)MIN(s->o.max_stack, (uint32_t)UINT16_MAX);
		a->exclude_callchain_kernel = a->exclude_kernel;
	}
}

static void attr_sideband(struct sampler *s, uint32_t pages)
{
	struct perf_event_attr *a = &s->sideband;

	memset(a, 0, sizeof(*a));
	attr_common(s, a);
	a->type = PERF_TYPE_SOFTWARE;
	a->config = PERF_COUNT_SW_DUMMY;
	a->sample_period = 1;
	a->mmap = a->mmap2 = a->comm = a->comm_exec = a->task = 1;
	a->exclude_kernel = 1; /* it counts nothing; so it is allowed at paranoid 2 */
	a->ksymbol = s->o.target == SAMPLER_SYSTEM && !s->o.user_only;
	a->watermark = 1;
	a->wakeup_watermark = pages * (uint32_t)sysconf(_SC_PAGESIZE) / 2;
	/* For what runs already nothing may slip in between reading /proc and the start. */
	if (s->o.target != SAMPLER_COMMAND)
		a->disabled = 0;
	if (s->o.callgraph)
		a->sample_type |= PERF_SAMPLE_CALLCHAIN;
}

static int refused(const struct sampler *s, uint32_t event, int32_t pid, uint32_t cpu, int err, struct strbuf *why)
{
	const struct sampled *ev = event == SIDEBAND ? NULL : &s->events[event];
	struct why_ask a = { .event = "dummy (mmap, comm and fork records)", .target = s->o.target, .pid = pid, .cpu = cpu,
			     .proc_root = s->proc_root, .n_fds = s->n_fds };

	if (ev) {
		a.event = ev->fell_back ? ev->asked : ev->spec.name;
		a.hardware = ev->spec.hardware;
		a.tracepoint = ev->spec.type == PERF_TYPE_TRACEPOINT;
	}
	why_open(why, -err, &a);
	return err;
}

/* What it gave up, said once all events could be opened: a refusal has one line of its own. */
static void say_given_up(struct sampler *s)
{
	if (s->stats.user_only && !s->o.user_only)
		sampler_notice(s, "kernel.perf_event_paranoid is %d: only user space is sampled, time in the kernel is not seen "
			       "(run as root, or sysctl kernel.perf_event_paranoid=1)", why_paranoid());
	for (size_t i = 0; i < s->n_events; i++) {
		const struct sampled *ev = &s->events[i];
		if (!ev->fell_back)
			continue;
		s->stats.fallback = true;
		sampler_notice(s, "no hardware counter for '%s' here (%s), as in most virtual machines: sampling by time, cpu-clock, %llu a second",
			       ev->asked, strerror(ev->fell_back), (unsigned long long)s->o.freq);
	}
}

static void everything_user_only(struct sampler *s)
{
	s->stats.user_only = true;
	for (size_t i = 0; i < s->n_events; i++) {
		s->events[i].attr.exclude_kernel = 1;
		s->events[i].attr.exclude_callchain_kernel = s->o.callgraph;
	}
}

static bool no_counter(int err)
{
	return err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV;
}

static void fall_back(struct sampler *s, struct sampled *ev, int err)
{
	struct evspec clock;

	evspec_cpu_clock(&clock);
	clock.no_kernel = ev->spec.no_kernel;
	clock.no_user = ev->spec.no_user;
	memcpy(ev->asked, ev->spec.name, sizeof(ev->asked));
	ev->spec = clock;
	ev->fell_back = -err;
	attr_event(s, ev, s->o.freq);
	ev->attr.read_format = s->sideband.read_format;
}

/* What can be given up after err; false: nothing. One thing at a time. */
static bool give_up_something(struct sampler *s, struct sampled *ev, int err)
{
	if (err == -EINVAL && ev->attr.read_format) {
		for (size_t i = 0; i < s->n_events; i++)
			s->events[i].attr.read_format = 0; /* before Linux 6.0 */
		s->sideband.read_format = 0;
		return true;
	}
	if ((err == -EACCES || err == -EPERM) && s->o.target != SAMPLER_SYSTEM && ev->spec.type != PERF_TYPE_TRACEPOINT &&
	    !ev->attr.exclude_kernel && !ev->spec.no_user && !why_privileged() && why_paranoid() >= 2) {
		everything_user_only(s);
		return true;
	}
	if (no_counter(err) && ev->spec.hardware) {
		fall_back(s, ev, err);
		return true;
	}
	return false;
}

/* Tries the event on the first target; the kernel may still refuse for another thread or CPU later. */
static int try_event(struct sampler *s, uint32_t i, struct strbuf *why)
{
	int32_t pid = s->o.target == SAMPLER_SYSTEM ? -1 : s->pids[0];
	struct sampled *ev = &s->events[i];
	int fd;

	for (;;) {
		fd = perf_open(&ev->attr, pid, (int)s->cpus[0]);
		if (fd >= 0)
			break;
		if (!give_up_something(s, ev, fd))
			return refused(s, i, pid, s->cpus[0], fd, why);
	}
	close(fd);
	return 0;
}

/* Two events that both fell back to cpu-clock would count the same twice. */
static void drop_doubles(struct sampler *s)
{
	size_t out = 0;

	for (size_t i = 0; i < s->n_events; i++) {
		bool twice = false;
		for (size_t k = 0; k < out; k++)
			twice |= !memcmp(&s->events[k].attr, &s->events[i].attr, sizeof(s->events[i].attr));
		if (!twice)
			s->events[out++] = s->events[i];
	}
	s->n_events = out;
}

int open_events(struct sampler *s, struct strbuf *why)
{
	size_t n = MAX(s->o.n_events, (size_t)1);
	uint64_t freq;
	int r;

	if (!s->o.freq)
		s->o.freq = DEFAULT_FREQ;
	freq = clamp_freq(s, s->o.freq);
	s->o.freq = freq;
	s->stats.user_only = s->o.user_only;
	s->events = calloc(n, sizeof(*s->events));
	if (!s->events)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!s->o.n_events)
			evspec_cycles(&s->events[i].spec);
		else if ((r = evspec_parse(&s->events[i].spec, s->o.events[i], NULL, why)) < 0)
			return r;
		s->n_events = i + 1;
		attr_event(s, &s->events[i], freq);
	}
	attr_sideband(s, s->o.ring_pages ? s->o.ring_pages : DEFAULT_PAGES);
	for (size_t i = 0; i < s->n_events; i++) {
		r = try_event(s, (uint32_t)i, why);
		if (r < 0)
			return r;
	}
	say_given_up(s);
	drop_doubles(s);
	return 0;
}

/* Each descriptor that is kept: noted with its id, so that records find their event. */
static int keep_fd(struct sampler *s, int fd, uint32_t event, uint32_t cpu, int32_t tid)
{
	uint64_t id;
	int r;

	r = grow(&s->fds, &s->room_fds, s->n_fds + 1, sizeof(*s->fds));
	if (r < 0 || ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0) {
		r = r < 0 ? r : -errno;
		close(fd);
		return r;
	}
	s->fds[s->n_fds++] = (struct sampler_fd){ .fd = fd, .event = event, .cpu = cpu, .tid = tid };
	return u64map_put(&s->ids, id, s->n_fds);
}

/* The limit on descriptors is raised as far as it goes, root's hard limit too. */
static void raise_nofile(size_t need)
{
	struct rlimit rl;

	need += 64;
	if (getrlimit(RLIMIT_NOFILE, &rl) < 0 || rl.rlim_cur == RLIM_INFINITY || rl.rlim_cur >= need)
		return;
	rl.rlim_cur = MIN((rlim_t)need, rl.rlim_max);
	if (rl.rlim_max < need) {
		struct rlimit more = { .rlim_cur = need, .rlim_max = need };
		if (!setrlimit(RLIMIT_NOFILE, &more))
			return;
	}
	setrlimit(RLIMIT_NOFILE, &rl);
}

static int map_ring(struct sampler *s, int fd, uint32_t cpu, uint32_t *pages, struct strbuf *why)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct epoll_event e = { .events = EPOLLIN | EPOLLET, .data.u32 = cpu };
	uint32_t asked = *pages;
	void *base;

	for (;;) {
		base = mmap(NULL, (*pages + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (base != MAP_FAILED)
			break;
		if ((errno != EPERM && errno != ENOMEM && errno != EACCES) || *pages == 1) {
			int err = errno;
			why_mmap(why, err, *pages);
			return -err;
		}
		*pages /= 2;
	}
	s->rings[s->n_rings++] = (struct sampler_ring){ .fd = fd, .cpu = cpu, .base = base, .map_len = (*pages + 1) * page };
	/* Edge-triggered: a hang-up of the first task must not keep the descriptor readable for ever. */
	if (epoll_ctl(s->epfd, EPOLL_CTL_ADD, fd, &e) < 0) {
		strbuf_addf(why, "epoll_ctl says %s: the kernel cannot watch the ring; end other programs", strerror(errno));
		return -errno;
	}
	return asked == *pages ? 0 : 1;
}

int open_rings(struct sampler *s, struct strbuf *why)
{
	uint32_t asked = s->o.ring_pages ? s->o.ring_pages : DEFAULT_PAGES, pages = asked;
	int32_t pid = s->o.target == SAMPLER_SYSTEM ? -1 : s->pids[0];
	int fd, r;

	s->rings = calloc(s->n_cpus, sizeof(*s->rings));
	if (!s->rings)
		return -ENOMEM;
	raise_nofile(s->n_cpus * (s->n_events + 2) + 64);
	for (size_t i = 0; i < s->n_cpus; i++) {
		fd = perf_open(&s->sideband, pid, (int)s->cpus[i]);
		if (fd == -EINVAL && s->sideband.ksymbol) {
			s->sideband.ksymbol = 0; /* before Linux 5.1 */
			s->stats.no_system = true;
			fd = perf_open(&s->sideband, pid, (int)s->cpus[i]);
		}
		if (fd == -ENODEV)
			continue; /* went offline */
		if (fd < 0)
			return refused(s, SIDEBAND, pid, s->cpus[i], fd, why);
		r = keep_fd(s, fd, SIDEBAND, s->cpus[i], pid);
		if (r < 0)
			return r;
		r = map_ring(s, fd, s->cpus[i], &pages, why);
		if (r < 0)
			return r;
	}
	if (pages != asked) {
		sampler_notice(s, "the limit of locked memory leaves %u pages a CPU for the kernel's rings in place of %u (sysctl "
			       "kernel.perf_event_mlock_kb, or ulimit -l): more samples may be lost", pages, asked);
	}
	if (!s->n_rings) {
		strbuf_addstr(why, "perf_event_open: no CPU is online; the list in /sys/devices/system/cpu/online does not fit the kernel");
		return -ENODEV;
	}
	s->stats.n_rings = (uint32_t)s->n_rings;
	s->stats.ring_pages = pages;
	return 0;
}

static int open_into(struct sampler *s, const struct sampler_ring *ring, struct perf_event_attr *attr, uint32_t event, int32_t tid,
		     struct strbuf *why)
{
	int fd = perf_open(attr, tid, (int)ring->cpu), r;

	if (fd < 0)
		return fd == -ESRCH ? fd : refused(s, event, tid, ring->cpu, fd, why);
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0) {
		r = -errno;
		close(fd);
		strbuf_addf(why, "the kernel does not send event %d to the ring of CPU %u (%s); try one event, or --system-wide", (int)event, ring->cpu,
			    strerror(-r));
		return r;
	}
	return keep_fd(s, fd, event, ring->cpu, tid);
}

/* All events of one task on all CPUs. -ESRCH: it ended. */
static int open_task(struct sampler *s, int32_t tid, bool has_sideband, struct strbuf *why)
{
	int r;

	for (size_t i = 0; i < s->n_rings; i++)
		for (size_t k = 0; k < s->n_events; k++) {
			r = open_into(s, &s->rings[i], &s->events[k].attr, (uint32_t)k, tid, why);
			if (r < 0)
				return r;
		}
	for (size_t i = 0; !has_sideband && i < s->n_rings; i++) {
		r = open_into(s, &s->rings[i], &s->sideband, SIDEBAND, tid, why);
		if (r < 0)
			return r;
	}
	return 0;
}

static int no_process(int32_t pid, struct strbuf *why)
{
	strbuf_addf(why, "process %d does not exist or has ended: give the pid of a running process (ps -e)", pid);
	return -ESRCH;
}

/* The threads of all pids before a single event is open: none of them can have inherited one. */
int open_first(struct sampler *s, struct strbuf *why)
{
	size_t room = 0;

	for (size_t i = 0; s->o.target == SAMPLER_PIDS && i < s->n_pids; i++) {
		AUTO_FREE int32_t *tids = NULL;
		size_t n;
		int r = target_threads(s->proc_root, s->pids[i], &tids, &n);
		if (r == -ESRCH)
			return no_process(s->pids[i], why);
		if (r < 0) {
			strbuf_addf(why, "the threads of process %d cannot be listed: %s; run as root", s->pids[i], strerror(-r));
			return r;
		}
		r = grow(&s->first_tids, &room, s->n_first_tids + n, sizeof(*s->first_tids));
		if (r < 0)
			return r;
		memcpy(s->first_tids + s->n_first_tids, tids, n * sizeof(*tids));
		s->n_first_tids += n;
	}
	return 0;
}

static int open_threads(struct sampler *s, const int32_t *tids, size_t n, bool late, size_t *n_new, struct strbuf *why)
{
	int r;

	raise_nofile(s->n_fds + n * s->n_rings * (s->n_events + 1));
	for (size_t i = 0; i < n; i++) {
		if (u64map_get(&s->have, (uint64_t)tids[i]))
			continue;
		/* Noted before it is opened: a record of it may come at once. */
		r = u64map_put(&s->have, (uint64_t)tids[i], 1);
		if (r >= 0 && late)
			r = u64map_put(&s->late, (uint64_t)tids[i], ++s->stats.late_threads << 32 | (uint32_t)tids[i]);
		if (r < 0)
			return r;
		s->any_late |= late;
		r = open_task(s, tids[i], !late && tids[i] == s->pids[0], why);
		if (r < 0 && r != -ESRCH)
			return r;
		++*n_new;
	}
	return 0;
}

/* Keeps those of tids that started up to a time (clock ticks since boot); returns their number. */
static size_t started_before(const struct sampler *s, int32_t *tids, size_t n, uint64_t ticks)
{
	struct procinfo p;
	size_t out = 0;

	if (ticks == UINT64_MAX)
		return n;
	for (size_t i = 0; i < n; i++)
		if (!u64map_get(&s->have, (uint64_t)tids[i]) && procinfo_read_stat(&p, s->proc_root, tids[i]) == 0 && p.start_time <= ticks)
			tids[out++] = tids[i];
	return out;
}

static uint64_t boot_ticks(void)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * hz + (uint64_t)ts.tv_nsec / (NSEC_PER_SEC / hz);
}

/*
 * A thread that starts while we attach either inherits the events of its maker, or is found by the next scan and gets
 * its own, or both. `late` lists those of the scans: for them and what they fork only their own events count.
 */
static int scan_pids(struct sampler *s, uint64_t started_until, struct strbuf *why)
{
	size_t n_new = 1;
	int r = 0;

	while (r >= 0 && n_new) {
		n_new = 0;
		for (size_t i = 0; r >= 0 && i < s->n_pids; i++) {
			AUTO_FREE int32_t *tids = NULL;
			size_t n;
			r = target_threads(s->proc_root, s->pids[i], &tids, &n);
			if (r == -ESRCH)
				r = 0; /* it ended meanwhile: the drain will say so */
			else if (r >= 0)
				r = open_threads(s, tids, started_before(s, tids, n, started_until), true, &n_new, why);
		}
	}
	return r;
}

static int open_pids(struct sampler *s, struct strbuf *why)
{
	size_t n_new = 0;
	int r = open_threads(s, s->first_tids, s->n_first_tids, false, &n_new, why);

	if (r >= 0)
		r = scan_pids(s, UINT64_MAX, why);
	s->opened_ns = util_now_ns();
	s->opened_ticks = boot_ticks();
	return r;
}

/*
 * A clone that was under way when its maker's events were opened inherits none or not all of them, and shows in /proc
 * only when it is done. A little later it has had the time; it counts as started when it was done, so there is a margin.
 */
#define CLONE_NS (50 * NSEC_PER_MSEC)
#define CLONE_TICKS 20u

int open_stragglers(struct sampler *s, struct strbuf *why)
{
	uint64_t due = s->opened_ns + CLONE_NS, now = util_now_ns();
	int r;

	if (s->o.target != SAMPLER_PIDS || s->scanned)
		return 0;
	s->scanned = true;
	if (now < due) {
		struct timespec ts = { .tv_nsec = (long)(due - now) };
		nanosleep(&ts, NULL);
	}
	/* Where we ourselves come late, a thread that was missed has made others since. */
	r = scan_pids(s, MAX(s->opened_ticks + CLONE_TICKS, boot_ticks()), why);
	s->opened_ns = util_now_ns();
	s->stats.n_fds = (uint32_t)s->n_fds;
	return r;
}

int open_tasks(struct sampler *s, struct strbuf *why)
{
	int r;

	if (s->o.target == SAMPLER_PIDS)
		r = open_pids(s, why);
	else
		r = open_task(s, s->o.target == SAMPLER_SYSTEM ? -1 : s->pids[0], true, why);
	if (r == -ESRCH && !why->len)
		return no_process(s->pids[0], why);
	s->stats.n_fds = (uint32_t)s->n_fds;
	return r;
}
