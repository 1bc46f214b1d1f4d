/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processes that are known, so that each gets its EV_PROC once for each life and each exec. */
#include <errno.h>
#include <string.h>

#include "sampler/priv.h"
#include "sampler/procinfo.h"

#define SEEN_MAX 4096u

static struct known_proc *known_get(struct sampler *s, int32_t pid)
{
	const uint64_t *at = pid > 0 ? u64map_get(&s->procs, (uint64_t)pid) : NULL;

	return at ? &s->known[*at - 1] : NULL;
}

static void known_drop(struct sampler *s, int32_t pid)
{
	struct known_proc *k = known_get(s, pid);

	if (!k)
		return;
	free(k->exe);
	free(k->app);
	*k = (struct known_proc){ 0 };
	if (grow(&s->free_known, &s->room_free, s->n_free + 1, sizeof(*s->free_known)) == 0)
		s->free_known[s->n_free++] = (uint32_t)(k - s->known);
	u64map_del(&s->procs, (uint64_t)pid);
	if (s->last_pid == pid)
		s->last_pid = 0;
}

/* A new, empty entry for pid; NULL when memory ends. Moves the others. */
static struct known_proc *known_new(struct sampler *s, int32_t pid)
{
	uint32_t i;

	known_drop(s, pid);
	if (s->n_free) {
		i = s->free_known[--s->n_free];
	} else {
		if (grow(&s->known, &s->room_known, s->n_known + 1, sizeof(*s->known)) < 0)
			return NULL;
		i = (uint32_t)s->n_known++;
	}
	s->known[i] = (struct known_proc){ .nspid = pid };
	if (u64map_put(&s->procs, (uint64_t)pid, i + 1) < 0)
		return NULL;
	return &s->known[i];
}

void track_done(struct sampler *s)
{
	for (size_t i = 0; i < s->n_known; i++) {
		free(s->known[i].exe);
		free(s->known[i].app);
	}
	free(s->known);
	free(s->free_known);
	free(s->pending);
	free(s->exits);
	u64map_done(&s->seen);
	u64map_done(&s->procs);
}

static int emit_proc(const struct known_proc *k, int32_t pid, uint64_t t, uint32_t cpu, ev_sink_fn *sink, void *arg)
{
	struct ev e = { .type = EV_PROC, .cpu = cpu, .time_ns = t, .pid = pid, .tid = pid };

	e.u.proc.start_time = k->start_time;
	e.u.proc.ppid = k->ppid;
	e.u.proc.nspid = k->nspid;
	e.u.proc.uid = k->uid;
	e.u.proc.exec_count = k->exec_count;
	e.u.proc.exe = k->exe ? k->exe : "";
	e.u.proc.app = k->app ? k->app : "";
	return sink(arg, &e);
}

int track_read(struct sampler *s, int32_t pid, uint64_t t, uint32_t cpu, bool exec, ev_sink_fn *sink, void *arg)
{
	AUTO(procinfo_done) struct procinfo p = { 0 };
	struct known_proc *k = known_get(s, pid);
	int r = procinfo_read(&p, s->proc_root, pid);

	if (r == -ENOMEM)
		return r;
	/* Gone, or gone and its number taken by another one. */
	if (r < 0 || (k && exec && k->start_time && k->start_time != p.start_time)) {
		if (!exec)
			return -ESRCH;
		procinfo_done(&p);
	}
	if (k && !exec && k->start_time == p.start_time)
		; /* told before: the same life, its exec count stays */
	else if (!k || !exec)
		k = known_new(s, pid);
	else
		k->exec_count++;
	if (!k)
		return -ENOMEM;
	k->fresh_exec = exec;
	k->since_ns = t;
	if (p.start_time) {
		k->start_time = p.start_time;
		k->ppid = p.ppid;
		k->nspid = p.nspid;
		k->uid = p.uid;
	}
	free(k->exe);
	free(k->app);
	k->exe = TAKE_PTR(p.exe);
	k->app = TAKE_PTR(p.app);
	return emit_proc(k, pid, t, cpu, sink, arg);
}

/* The child of a fork is its parent's twin until its exec; what /proc says by now may be later than that. */
static int track_fork(struct sampler *s, const struct pending *p, uint64_t t, uint32_t cpu, ev_sink_fn *sink, void *arg)
{
	AUTO(procinfo_done) struct procinfo info = { 0 };
	struct known_proc *k = known_new(s, p->pid);
	const struct known_proc *parent = known_get(s, p->ppid);

	if (!k)
		return -ENOMEM;
	k->ppid = p->ppid;
	k->since_ns = p->time_ns;
	if (parent) {
		k->uid = parent->uid;
		k->exe = parent->exe ? strdup(parent->exe) : NULL;
		k->app = parent->app ? strdup(parent->app) : NULL;
	}
	if (procinfo_read_ids(&info, s->proc_root, p->pid) == 0) {
		k->start_time = info.start_time;
		k->nspid = info.nspid;
		k->uid = info.uid;
	}
	return emit_proc(k, p->pid, t, cpu, sink, arg);
}

static void track_setuid(struct sampler *s, int32_t pid, const char *comm)
{
	if (!s->stats.setuid_exec++)
		sampler_notice(s, "process %d (%s): the kernel ended its sampling, since it executed a set-uid or unreadable program; to see those, "
			       "run as root with --system-wide", pid, comm);
}

static bool has_address_space(const struct procinfo *p)
{
	return p->state != 'Z' && p->state != 'X' && p->vsize;
}

/*
 * The kernel also says "exit" of a task that goes on, when it takes the events off it at the exec of a set-uid program.
 * Then either nothing was mapped since the exec, or the task still has an address space.
 */
static int track_exit(struct sampler *s, const struct pending *e)
{
	struct procinfo p = { 0 };
	const struct known_proc *k = known_get(s, e->pid);
	bool there;

	there = procinfo_read_stat(&p, s->proc_root, e->pid) == 0 && !(k && k->start_time && k->start_time != p.start_time);
	if (k && s->o.target != SAMPLER_SYSTEM && (k->fresh_exec || (there && has_address_space(&p))))
		track_setuid(s, e->pid, p.comm[0] ? p.comm : k->exe ? k->exe : "?");
	/* The first thread may end before the others; then the process is still the same. */
	if (there && (p.n_threads > 1 || has_address_space(&p)))
		return 0;
	if (grow(&s->exits, &s->room_exits, s->n_exits + 1, sizeof(*s->exits)) < 0)
		return -ENOMEM;
	s->exits[s->n_exits++] = (struct pid_at){ e->pid, e->time_ns };
	return 0;
}

/*
 * What a process did on other CPUs before its end may come as late as in the next drain (stamped before this one, written
 * after its ring was read). Until then it stays known, or its samples would make a second one of what is a zombie.
 */
void track_forget(struct sampler *s)
{
	size_t out = 0;

	for (size_t i = 0; i < s->n_exits_before; i++) {
		const struct known_proc *k = known_get(s, s->exits[i].pid);
		if (k && k->since_ns <= s->exits[i].time_ns)
			known_drop(s, s->exits[i].pid);
	}
	for (size_t i = s->n_exits_before; i < s->n_exits; i++)
		s->exits[out++] = s->exits[i];
	s->n_exits = s->n_exits_before = out;
}

static int handle(struct sampler *s, const struct pending *p, uint64_t t, uint32_t cpu, ev_sink_fn *sink, void *arg)
{
	struct known_proc *k;

	switch (p->what) {
	case EV_FORK:
		return track_fork(s, p, t, cpu, sink, arg);
	case EV_COMM:
		return track_read(s, p->pid, t, cpu, true, sink, arg);
	case EV_MMAP:
		k = known_get(s, p->pid);
		if (k)
			k->fresh_exec = false;
		return 0;
	case EV_EXIT:
		return track_exit(s, p);
	}
	return known_get(s, p->pid) ? 0 : synth_process(s, p->pid, t, cpu, sink, arg);
}

static int put_off(struct sampler *s, const struct pending *p)
{
	if (grow(&s->pending, &s->room_pending, s->n_pending + 1, sizeof(*s->pending)) < 0)
		return -ENOMEM;
	s->pending[s->n_pending] = *p;
	s->pending[s->n_pending].nth = (uint32_t)s->n_pending;
	s->n_pending++;
	return 0;
}

int track_event(struct sampler *s, const struct ev *e, ev_sink_fn *sink, void *arg)
{
	struct pending p = { .time_ns = e->time_ns, .pid = e->pid, .what = e->type };

	if (e->pid <= 0)
		return 0;
	if (e->type == EV_FORK && e->pid != e->u.fork.ppid)
		p.ppid = e->u.fork.ppid;
	else if (!(e->type == EV_COMM && e->u.comm.flags & EV_COMM_EXEC) && !(e->type == EV_EXIT && e->pid == e->tid) &&
		 e->type != EV_MMAP)
		return 0;
	/* From before the processes were listed: an event without a CPU would be older than those of the list. */
	if (e->time_ns < s->synth_ns)
		return handle(s, &p, e->time_ns, e->cpu, sink, arg);
	return put_off(s, &p);
}

/* A process that is not known: looked up when the drain ends, for its fork and exec may come from another CPU's ring. */
int track_sample(struct sampler *s, const struct ev *e)
{
	if (e->pid == s->last_pid || e->pid <= 0)
		return 0;
	if (known_get(s, e->pid)) {
		s->last_pid = e->pid;
		return 0;
	}
	if (s->n_seen >= SEEN_MAX || u64map_get(&s->seen, (uint64_t)e->pid))
		return 0;
	if (u64map_put(&s->seen, (uint64_t)e->pid, 1) < 0)
		return -ENOMEM;
	s->n_seen++;
	return put_off(s, &(struct pending){ .time_ns = e->time_ns, .pid = e->pid, .what = EV_SAMPLE });
}

static int pending_cmp(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->nth < y->nth ? -1 : x->nth > y->nth;
}

/*
 * In the order in which it happened, whichever ring it stood in: a child is its parent's twin as the parent was at the fork,
 * and what a child executed is not taken back by a fork that is drained after it. Later than until_ns there may be more in
 * a ring that this drain had left already. None has a CPU, so that the order of the CPUs' streams is kept; a process first
 * seen in a sample comes just before it.
 */
int track_pending(struct sampler *s, uint64_t until_ns, ev_sink_fn *sink, void *arg)
{
	size_t out = 0;
	int r = 0;

	if (s->n_pending)
		qsort(s->pending, s->n_pending, sizeof(*s->pending), pending_cmp);
	for (size_t i = 0; i < s->n_pending; i++) {
		const struct pending p = s->pending[i];
		if (p.time_ns > until_ns || r < 0) {
			s->pending[out] = p;
			s->pending[out].nth = (uint32_t)out;
			out++;
			continue;
		}
		if (p.what == EV_SAMPLE) {
			u64map_del(&s->seen, (uint64_t)p.pid);
			s->n_seen--;
		}
		s->told_ns = MAX(s->told_ns, p.time_ns - (p.what == EV_SAMPLE));
		r = handle(s, &p, s->told_ns, UINT32_MAX, sink, arg);
	}
	s->n_pending = out;
	s->told_ns = MAX(s->told_ns, until_ns);
	return r;
}
