/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sampler/sampler.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "sampler/priv.h"
#include "sampler/procinfo.h"

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_rings; i++)
		munmap(s->rings[i].base, s->rings[i].map_len);
	for (size_t i = 0; i < s->n_fds; i++)
		close(s->fds[i].fd);
	for (size_t i = 0; s->pidfds && i < s->n_pids; i++)
		util_close_fd(&s->pidfds[i]);
	util_close_fd(&s->epfd);
	track_done(s);
	u64map_done(&s->ids);
	u64map_done(&s->late);
	u64map_done(&s->have);
	free(s->rings);
	free(s->fds);
	free(s->events);
	free(s->cpus);
	free(s->pids);
	free(s->pidfds);
	free(s->first_tids);
	free(s->proc_root);
	free(s->bounce);
	free(s->order);
	free(s);
}

static void sampler_free_ptr(struct sampler **s)
{
	sampler_free(*s);
}

static bool opts_good(const struct sampler_opts *o, struct strbuf *why)
{
	uint32_t pages = o->ring_pages;

	if (o->target > SAMPLER_SYSTEM || (o->target != SAMPLER_SYSTEM && !o->n_pids) || (o->target == SAMPLER_COMMAND && o->n_pids != 1))
		strbuf_addstr(why, "no process to watch was given");
	else if (pages & (pages - 1) || pages > 1u << 20)
		strbuf_addf(why, "the ring size must be a power of two up to 1048576 pages, not %u", pages);
	else
		return true;
	return false;
}

/* A descriptor for each pid that tells its end; -1 where the kernel has no pidfd (before 5.3). */
static int watch_pids(struct sampler *s)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLET };

	s->pidfds = malloc(s->n_pids * sizeof(*s->pidfds));
	if (!s->pidfds)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_pids; i++) {
#ifdef SYS_pidfd_open
		s->pidfds[i] = (int)syscall(SYS_pidfd_open, s->pids[i], 0);
#else
		s->pidfds[i] = -1;
#endif
		e.data.u32 = UINT32_MAX;
		if (s->pidfds[i] >= 0)
			epoll_ctl(s->epfd, EPOLL_CTL_ADD, s->pidfds[i], &e);
	}
	return 0;
}

static int sampler_init(struct sampler *s, const struct sampler_opts *o)
{
	s->o = *o;
	s->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (s->epfd < 0)
		return -errno;
	s->proc_root = strdup(o->proc_root ? o->proc_root : "/proc");
	s->bounce = malloc(PERFREC_MAX);
	if (!s->proc_root || !s->bounce)
		return -ENOMEM;
	s->parser.callchain = o->callgraph;
	s->parser.max_chain = o->max_stack && o->max_stack < EV_MAX_FRAMES ? o->max_stack : EV_MAX_FRAMES;
	if (o->target != SAMPLER_SYSTEM) {
		s->n_pids = o->n_pids;
		s->pids = malloc(o->n_pids * sizeof(*s->pids));
		if (!s->pids)
			return -ENOMEM;
		memcpy(s->pids, o->pids, o->n_pids * sizeof(*s->pids));
		return watch_pids(s);
	}
	return 0;
}

int sampler_open(struct sampler **ret, const struct sampler_opts *o, struct strbuf *why)
{
	AUTO(sampler_free_ptr) struct sampler *s = NULL;
	int r;

	if (!opts_good(o, why))
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->epfd = -1;
	r = sampler_init(s, o);
	if (r < 0) {
		strbuf_addf(why, "the sampler cannot start: %s", strerror(-r));
		return r;
	}
	r = target_cpus(&s->cpus, &s->n_cpus);
	if (r < 0) {
		strbuf_addstr(why, "/sys/devices/system/cpu/online cannot be understood");
		return r;
	}
	r = open_first(s, why);
	if (r >= 0)
		r = open_events(s, why);
	if (r >= 0)
		r = open_rings(s, why);
	if (r >= 0)
		r = open_tasks(s, why);
	if (r < 0) {
		if (!why->len)
			strbuf_addf(why, "the sampler cannot start: %s", strerror(-r));
		return r;
	}
	if (target_foreign_proc(s->proc_root))
		sampler_notice(s, "%s is of another pid namespace than ours: names of processes are missing or wrong (mount -t proc proc /proc)",
			       s->proc_root);
	*ret = TAKE_PTR(s);
	return 0;
}

static int all_fds(struct sampler *s, unsigned long what)
{
	int r = 0;

	for (size_t i = 0; i < s->n_fds; i++)
		if (ioctl(s->fds[i].fd, what, 0) < 0 && errno != ESRCH)
			r = -errno;
	return r;
}

int sampler_enable(struct sampler *s)
{
	AUTO_STRBUF why = STRBUF_INIT_CAP(4096);

	/* The command's events wait for its exec. */
	if (s->o.target == SAMPLER_COMMAND && !s->disabled)
		return 0;
	if (open_stragglers(s, &why) < 0)
		sampler_notice(s, "some threads that started just now are not watched: %s", strbuf_str(&why));
	s->disabled = s->settled = false;
	return all_fds(s, PERF_EVENT_IOC_ENABLE);
}

int sampler_disable(struct sampler *s)
{
	s->disabled = true;
	return all_fds(s, PERF_EVENT_IOC_DISABLE);
}

int sampler_fd(const struct sampler *s)
{
	return s->epfd;
}

static bool pid_lives(const struct sampler *s, size_t i)
{
	struct pollfd p = { .fd = s->pidfds[i], .events = POLLIN };
	struct procinfo info = { 0 };

	if (p.fd >= 0)
		return poll(&p, 1, 0) == 0;
	return procinfo_read_stat(&info, s->proc_root, s->pids[i]) == 0 && info.state != 'Z' && info.state != 'X';
}

bool sampler_alive(const struct sampler *s)
{
	for (size_t i = 0; i < s->n_pids; i++)
		if (pid_lives(s, i))
			return true;
	return s->o.target == SAMPLER_SYSTEM;
}

void sampler_stats(const struct sampler *s, struct sampler_stats *ret)
{
	*ret = s->stats;
}

int sampler_event_totals(const struct sampler *s, uint32_t event, uint64_t *count, uint64_t *lost)
{
	uint64_t v[2] = { 0 };

	*count = *lost = 0;
	for (size_t i = 0; i < s->n_fds; i++) {
		if (s->fds[i].event != event)
			continue;
		if (read(s->fds[i].fd, v, sizeof(v)) < 0)
			return -errno;
		*count += v[0];
		*lost += v[1];
	}
	return 0;
}

int sampler_list_events(sampler_list_fn *fn, void *arg)
{
	return evspec_list(fn, arg);
}
