/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "daemon/account.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_EVENTS 32 /* five bits of a cache key */
#define MAX_HELD 262144u
#define MAX_HELD_FRAMES (4u << 20)

struct jit_image {
	uint32_t source, segment;
	char *instance;
};

struct queued {             /* what a struct ev has of a sample without its stack */
	uint64_t time_ns, ip;
	int32_t pid, tid;
	uint32_t cpu, event;
	enum ev_cpumode mode;
};

struct account {
	struct queued queue[RESOLVER_MAX_ASK];
	size_t n_queued;
	struct resolver *r;
	struct session_store *s;
	struct session_totals *totals;
	struct account_opts o;
	struct session_event events[MAX_EVENTS];
	struct u64map jit_seen; /* source << 24 | segment */
	struct jit_image *jit;
	size_t n_jit, jit_room;
	struct ev *held;        /* in order of arrival; chains are the account's own */
	size_t n_held, held_room, held_frames;
};

int account_new(struct account **ret, struct resolver *r, struct session_store *s, const struct account_opts *o)
{
	struct account *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->r = r;
	a->o = *o;
	a->s = s;
	a->totals = session_store_totals(s);
	*ret = a;
	return 0;
}

void account_free(struct account *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < MAX_EVENTS; i++) {
		free((char *)a->events[i].name);
		free((char *)a->events[i].desc);
	}
	for (size_t i = 0; i < a->n_jit; i++)
		free(a->jit[i].instance);
	free(a->jit);
	for (size_t i = 0; i < a->n_held; i++)
		free((void *)a->held[i].u.sample.chain);
	free(a->held);
	u64map_done(&a->jit_seen);
	free(a);
}

void account_forget_source(struct account *a, uint32_t source)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->n_jit; i++) {
		if (a->jit[i].source != source) {
			a->jit[kept++] = a->jit[i];
			continue;
		}
		u64map_del(&a->jit_seen, (uint64_t)source << 24 | a->jit[i].segment);
		free(a->jit[i].instance);
	}
	a->n_jit = kept;
}

static int event_desc(struct account *a, const struct ev *e)
{
	uint32_t i = e->u.desc.index;
	struct session_event *d;

	if (i >= MAX_EVENTS)
		return 0;
	d = &a->events[i];
	free((char *)d->name);
	free((char *)d->desc);
	*d = (struct session_event){
		.name = strdup(e->u.desc.name ? e->u.desc.name : "?"), .desc = strdup(e->u.desc.desc ? e->u.desc.desc : ""),
		.count = e->u.desc.count, .freq = e->u.desc.freq, .um = e->u.desc.um, .timer = e->u.desc.flags & 1,
	};
	if (!d->name || !d->desc)
		return -ENOMEM;
	return session_store_event(a->s, i, d);
}

static int note_jit(struct account *a, const struct hit *h)
{
	uint64_t *seen = u64map_at(&a->jit_seen, (uint64_t)jitsrc_number(h->source) << 24 | h->segment);

	if (!seen)
		return -ENOMEM;
	if (*seen)
		return 0;
	*seen = 1;
	if (a->n_jit == a->jit_room) {
		size_t room = a->jit_room ? a->jit_room * 2 : 16;
		void *p = realloc(a->jit, room * sizeof(*a->jit));

		if (!p)
			return -ENOMEM;
		a->jit = p;
		a->jit_room = room;
	}
	a->jit[a->n_jit] = (struct jit_image){ jitsrc_number(h->source), h->segment, strdup(jitsrc_instance(h->source)) };
	return a->jit[a->n_jit++].instance ? 0 : -ENOMEM;
}

static int64_t file_make(struct account *a, struct proc *p, const struct hit *h, const struct ev *e)
{
	char jit_name[300];
	struct session_file f = {
		.kind = (enum session_image_kind)h->image, .image = h->name, .app_path = proc_exe(a->r, p),
		.app = proc_app(a->r, p), .event = e->u.sample.event, .tgid = -1, .tid = -1, .cpu = -1,
		.start = h->start, .end = h->end,
	};
	int r;

	if (h->image == HIT_JIT) {
		if ((r = note_jit(a, h)) < 0)
			return r;
		snprintf(jit_name, sizeof(jit_name), "%s/%u.jo", jitsrc_instance(h->source), h->segment);
		f.image = jit_name;
	}
	if (h->image == HIT_JIT || h->image == HIT_RANGE || a->o.separate_tgid || a->o.separate_tid)
		f.tgid = proc_pid(p);
	if (a->o.separate_tid)
		f.tid = e->tid;
	if (a->o.separate_cpu && e->cpu != UINT32_MAX)
		f.cpu = (int32_t)e->cpu;
	return session_store_file(a->s, &f);
}

/* The process remembers the store's number of each image (+ 1), for each event. */
static int64_t file_of(struct account *a, struct proc *p, const struct hit *h, const struct ev *e)
{
	uint64_t *v;
	int64_t f;

	if (a->o.separate_tid || a->o.separate_cpu)
		return file_make(a, p, h, e); /* the store looks them up by their fields */
	if (!(v = u64map_at(proc_cache(p), h->cache ^ (uint64_t)e->u.sample.event << 59)))
		return -ENOMEM;
	if (*v)
		return (int64_t)*v - 1;
	if ((f = file_make(a, p, h, e)) >= 0)
		*v = (uint64_t)f + 1;
	return f;
}

static void count(struct session_totals *t, const struct hit *h, uint64_t time_ns)
{
	switch (h->class) {
	case HIT_KERNEL: t->kernel++; break;
	case HIT_NATIVE: t->native++; break;
	case HIT_JIT_METHOD: t->jit_method++; break;
	case HIT_JIT_STUB: t->jit_stub++; break;
	case HIT_JIT_INTERPRETER: t->jit_interpreter++; break;
	case HIT_GAP: t->gap++; break;
	case HIT_ANON: t->anon++; break;
	case HIT_UNKNOWN: t->unknown++; break;
	}
	t->exact += h->quality == HIT_EXACT;
	t->backdated += h->quality == HIT_BACKDATED;
	t->ambiguous += h->quality == HIT_AMBIGUOUS;
	if (!t->first_ns || time_ns < t->first_ns)
		t->first_ns = time_ns;
	t->last_ns = MAX(t->last_ns, time_ns);
}

/* chain[0] is the leaf, which is resolved already. */
static int stack(struct account *a, struct proc *p, const struct ev *e, int64_t leaf_file, uint64_t leaf_key)
{
	uint32_t n = MIN(e->u.sample.n_chain, (uint32_t)EV_MAX_FRAMES);
	int64_t node = 0;
	struct hit h;

	for (uint32_t i = n; i-- > 1;) {
		uint64_t ip = e->u.sample.chain[i] - 1;
		int64_t f;

		resolver_find(a->r, p, e->time_ns, ip, i < e->u.sample.n_kernel ? EV_KERNEL : EV_USER, &h);
		if ((f = file_of(a, p, &h, e)) < 0)
			return (int)f;
		if ((node = session_store_frame(a->s, (uint64_t)node, (uint32_t)f, h.key)) < 0)
			return (int)node;
	}
	if ((node = session_store_frame(a->s, (uint64_t)node, (uint32_t)leaf_file, leaf_key)) < 0)
		return (int)node;
	a->totals->chains++;
	a->totals->truncated_chains += e->u.sample.truncated != 0;
	return session_store_stack_add(a->s, (uint64_t)node, 1);
}

static int hold(struct account *a, const struct ev *e)
{
	uint32_t n = MIN(e->u.sample.n_chain, (uint32_t)EV_MAX_FRAMES);
	uint64_t *chain = NULL;
	int r;

	if (a->n_held >= MAX_HELD || a->held_frames + n > MAX_HELD_FRAMES) {
		r = account_settle(a);
		if (r < 0)
			return r;
	}
	if (a->n_held == a->held_room) {
		size_t room = a->held_room * 2 + 256;
		void *more = realloc(a->held, room * sizeof(*a->held));

		if (!more)
			return -ENOMEM;
		a->held = more;
		a->held_room = room;
	}
	if (n && !(chain = malloc(n * sizeof(*chain))))
		return -ENOMEM;
	if (n)
		memcpy(chain, e->u.sample.chain, n * sizeof(*chain));
	a->held[a->n_held] = *e;
	a->held[a->n_held].u.sample.chain = chain;
	a->held[a->n_held++].u.sample.n_chain = n;
	a->held_frames += n;
	return 0;
}

static bool wanted(const struct account *a, const struct ev *e)
{
	return e->u.sample.event < MAX_EVENTS && e->time_ns >= a->o.from_ns && (!a->o.to_ns || e->time_ns < a->o.to_ns);
}

static int sample(struct account *a, const struct ev *e, bool final)
{
	struct proc *p;
	struct hit h;
	int64_t f;
	int r;

	if (!(p = resolver_proc(a->r, e->pid, e->time_ns)))
		return -ENOMEM;
	resolver_find(a->r, p, e->time_ns, e->u.sample.ip, e->u.sample.mode, &h);
	if (!final && h.class == HIT_ANON && proc_delivers_late(p))
		return hold(a, e);
	if ((f = file_of(a, p, &h, e)) < 0)
		return (int)f;
	if ((r = session_store_add(a->s, (uint32_t)f, h.key, 1)) < 0)
		return r;
	count(a->totals, &h, e->time_ns);
	if (a->o.trace)
		a->o.trace(a->o.trace_arg, e, &h);
	return a->o.callgraph ? stack(a, p, e, f, h.key) : 0;
}

/* In the order of arrival. */
int account_run(struct account *a)
{
	struct resolver_ask asks[RESOLVER_MAX_ASK];
	size_t n = a->n_queued;
	int r = 0;

	if (!n)
		return 0;
	a->n_queued = 0;
	for (size_t i = 0; i < n; i++)
		asks[i] = (struct resolver_ask){ a->queue[i].ip, a->queue[i].pid, a->queue[i].mode };
	resolver_prefetch(a->r, asks, n);
	for (size_t i = 0; i < n && r >= 0; i++) {
		const struct queued *q = &a->queue[i];
		struct ev e;

		e.type = EV_SAMPLE;
		e.cpu = q->cpu;
		e.time_ns = q->time_ns;
		e.pid = q->pid;
		e.tid = q->tid;
		memset(&e.u.sample, 0, sizeof(e.u.sample));
		e.u.sample.ip = q->ip;
		e.u.sample.event = q->event;
		e.u.sample.mode = q->mode;
		r = sample(a, &e, false);
	}
	return r;
}

/* Stacks are not kept so long, and a trace is told at once. */
static int sample_event(struct account *a, const struct ev *e)
{
	if (!wanted(a, e))
		return 0;
	if (a->o.callgraph || a->o.trace)
		return sample(a, e, false);
	a->queue[a->n_queued++] = (struct queued){ e->time_ns, e->u.sample.ip, e->pid, e->tid, e->cpu, e->u.sample.event,
						   (enum ev_cpumode)e->u.sample.mode };
	return a->n_queued == ARRAY_SIZE(a->queue) ? account_run(a) : 0;
}

/* Counts the held samples of a process, or all (pid 0), with what is known now. */
static int settle(struct account *a, int32_t pid)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < a->n_held; i++) {
		if ((pid && a->held[i].pid != pid) || r < 0) {
			a->held[kept++] = a->held[i];
			continue;
		}
		r = sample(a, &a->held[i], true);
		a->held_frames -= a->held[i].u.sample.n_chain;
		free((void *)a->held[i].u.sample.chain);
	}
	a->n_held = kept;
	return r;
}

int account_settle(struct account *a)
{
	int r = account_run(a);

	return r < 0 ? r : settle(a, 0);
}

int account_event(struct account *a, const struct ev *e)
{
	switch (e->type) {
	case EV_SAMPLE:
		return sample_event(a, e);
	case EV_EXIT:
		return e->pid == e->tid && a->n_held ? settle(a, e->pid) : 0;
	case EV_LOST:
		a->totals->lost += e->u.lost.count;
		return 0;
	case EV_EVENTDESC:
		return event_desc(a, e);
	default:
		return 0;
	}
}

int account_each_image(struct account *a, account_image_fn *fn, void *arg)
{
	int run = account_run(a);

	if (run < 0)
		return run;
	for (size_t i = 0; i < a->n_jit; i++) {
		int r = fn(arg, a->jit[i].instance, a->jit[i].source, a->jit[i].segment);

		if (r < 0)
			return r;
	}
	return 0;
}

static int note_kernel(void *arg, const char *name, uint64_t start, uint64_t end)
{
	struct account *a = arg;
	char key[300], value[64];

	snprintf(key, sizeof(key), "kernel.%s.base", name);
	for (char *c = key; *c; c++)
		if (*c == '=' || *c == '\n')
			*c = '_';
	snprintf(value, sizeof(value), "0x%" PRIx64, start);
	return session_store_note(a->s, key, value);
}

int account_notes(struct account *a)
{
	struct resolver_stats st;
	char value[32];
	int r = resolver_each_kernel(a->r, note_kernel, a);

	if (r < 0)
		return r;
	resolver_stats(a->r, &st);
	snprintf(value, sizeof(value), "%" PRIu64, st.bad_events);
	return session_store_note(a->s, "resolver.refused_events", value);
}
