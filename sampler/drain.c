/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the rings to events. A ring is nearly in order of time: a sample taken by an interrupt can stand before the record
 * that was interrupted after its time was taken. So each batch is looked through first and put in order where it is not;
 * what is left over between two drains (microseconds) is moved up to the last time given out.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "sampler/priv.h"

static uint64_t ring_head(const struct sampler_ring *ring)
{
	const struct perf_event_mmap_page *pg = ring->base;

	return __atomic_load_n(&pg->data_head, __ATOMIC_ACQUIRE);
}

static struct perfrec_ring ring_view(struct sampler *s, const struct sampler_ring *ring, uint64_t head)
{
	const struct perf_event_mmap_page *pg = ring->base;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (struct perfrec_ring){
		.data = (const uint8_t *)ring->base + page,
		.size = ring->map_len - page,
		.tail = pg->data_tail,
		.head = head,
		.bounce = s->bounce,
	};
}

/* The event whose id the record bears; NULL for an id that is not ours. */
static const struct sampler_fd *owner_of(struct sampler *s, uint64_t id)
{
	const uint64_t *at;

	if (id == s->last_id)
		return &s->last_owner;
	at = u64map_get(&s->ids, id);
	if (!at)
		return NULL;
	s->last_id = id;
	s->last_owner = s->fds[*at - 1];
	return &s->last_owner;
}

/*
 * A record that bears an id of somebody else, who counts the same software event at the same time: see is_double(). It stands in a ring
 * of ours, so it is a sample of ours; of which event is known if only one of them is of that kind.
 */
static const struct sampler_fd *owner_of_stray(struct sampler *s)
{
	if (!s->stray_known) {
		size_t n = 0;

		for (size_t i = 0; i < s->n_events; i++)
			if (s->events[i].shared_id && ++n)
				s->stray_owner.event = (uint32_t)i;
		s->stray_owner.tid = -2; /* nobody's */
		s->stray_one = n == 1;
		s->stray_known = true;
	}
	return s->stray_one ? &s->stray_owner : NULL;
}

static bool same_sample(const struct seen_sample *a, const struct perfrec *rec)
{
	return a->time_ns == rec->ev.time_ns && a->ip == rec->ev.u.sample.ip && a->tid == rec->tid && a->id == rec->id && a->time_ns;
}

static struct seen_sample seen_of(const struct perfrec *rec)
{
	return (struct seen_sample){ .time_ns = rec->ev.time_ns, .ip = rec->ev.u.sample.ip, .id = rec->id, .tid = rec->tid };
}

/*
 * A thread that was found in a later scan may have inherited events as well. For it, and for what it forks, only the
 * events opened for it count: a record of another owner is a double. But kernels since 6.2 write both samples of one
 * page fault (or other counted software event) with the id of whichever event comes first, so the id does not tell there: two
 * such samples are alike to the nanosecond, and one of them is given out.
 */
static bool is_double(struct sampler *s, struct sampler_ring *ring, const struct perfrec *rec, const struct sampler_fd *owner)
{
	const uint64_t *root = u64map_get(&s->late, (uint64_t)rec->tid);
	bool again;

	/* The number is used anew, by another line. (A fork from before the last scan is the very thread it found.) */
	if (rec->ev.type == EV_FORK && !root && rec->ev.time_ns > s->opened_ns && !u64map_get(&s->late, (uint64_t)owner->tid))
		u64map_del(&s->late, (uint64_t)rec->ev.tid);
	if (!root)
		return false;
	if (rec->ev.type != EV_SAMPLE || !s->events[owner->event].shared_id)
		return owner->tid != (int32_t)(uint32_t)*root;
	if (same_sample(&ring->given, rec))
		return true;
	again = same_sample(&ring->held, rec);
	if (owner->tid == (int32_t)(uint32_t)*root || again) {
		ring->given = seen_of(rec);
		return false;
	}
	ring->held = seen_of(rec);
	return true;
}

/* Only events opened for a late thread, inherited, can write a fork with their id: the child is of that line. Of two
 * lines the one opened last counts. */
static int late_fork(struct sampler *s, const struct perfrec *rec, const struct sampler_fd *owner)
{
	const uint64_t *root = u64map_get(&s->late, (uint64_t)owner->tid);
	uint64_t *child, line;

	if (rec->ev.type != EV_FORK || !root || (int32_t)(uint32_t)*root != owner->tid)
		return 0;
	line = *root;
	child = u64map_at(&s->late, (uint64_t)rec->ev.tid);
	if (!child)
		return -ENOMEM;
	*child = MAX(*child, line);
	return 0;
}

/* What was told early, when the events stood still, is not counted again. */
static bool lost_again(struct sampler_ring *ring, struct ev *e)
{
	uint64_t early = MIN(e->u.lost.count, ring->lost_early);

	ring->lost_told += e->u.lost.count - early;
	ring->lost_early -= early;
	e->u.lost.count -= early;
	return !e->u.lost.count;
}

/* A container's perf events have pid 0 for all processes outside of it: mappings of one would give names to samples of another. */
static bool is_outside(const struct ev *e)
{
	return e->pid == 0 && (e->type == EV_MMAP || e->type == EV_COMM || e->type == EV_FORK || e->type == EV_EXIT);
}

static int give_record(struct sampler *s, struct sampler_ring *ring, const void *raw, size_t len, ev_sink_fn *sink, void *arg)
{
	struct perf_event_header h;
	const struct sampler_fd *owner;
	struct perfrec rec;
	struct ev *e = &rec.ev;
	int r = perfrec_parse(&s->parser, raw, len, &rec);

	s->stats.records++;
	if (r <= 0) {
		s->stats.bad_records += r < 0;
		return 0;
	}
	owner = owner_of(s, rec.id);
	if (!owner && e->type == EV_SAMPLE)
		owner = owner_of_stray(s);
	if (!owner || (e->type == EV_SAMPLE && owner->event == SIDEBAND)) {
		s->stats.bad_records++;
		return 0;
	}
	if (s->any_late && is_double(s, ring, &rec, owner)) {
		s->stats.doubles++;
		return 0;
	}
	memcpy(&h, raw, sizeof(h));
	if (h.type == PERF_RECORD_LOST && lost_again(ring, e))
		return 0;
	e->cpu = ring->cpu;
	e->time_ns = ring->last_ns = MAX(e->time_ns, ring->last_ns);
	if (e->type == EV_SAMPLE) {
		s->stats.samples++;
		e->u.sample.event = owner->event;
		r = sink(arg, e);
		return r < 0 ? r : track_sample(s, e);
	}
	s->stats.lost += e->type == EV_LOST ? e->u.lost.count : 0;
	s->stats.throttled += e->type == EV_THROTTLE;
	if (is_outside(e))
		return 0;
	r = sink(arg, e);
	return r < 0 ? r : track_event(s, e, sink, arg);
}

/* How many records, and whether their times ascend. */
static bool ring_ordered(struct perfrec_ring v, size_t *n)
{
	const void *rec;
	uint64_t t, last = 0;
	bool ordered = true;
	size_t len;

	for (*n = 0; perfrec_ring_next(&v, &rec, &len) == 1; ++*n) {
		t = perfrec_time(rec, len);
		ordered &= t >= last;
		last = t;
	}
	return ordered;
}

static int order_fill(struct sampler *s, struct perfrec_ring v, size_t n)
{
	const void *rec;
	size_t len, i = 0, k;

	if (grow(&s->order, &s->room_order, n, sizeof(*s->order)) < 0)
		return -ENOMEM;
	for (;;) {
		struct order o = { .at = v.tail };
		if (i == n || perfrec_ring_next(&v, &rec, &len) != 1)
			return 0;
		o.time_ns = perfrec_time(rec, len);
		/* Nearly in order: a place is found within a few steps. */
		for (k = i++; k && s->order[k - 1].time_ns > o.time_ns; k--)
			s->order[k] = s->order[k - 1];
		s->order[k] = o;
	}
}

static int give_ordered(struct sampler *s, struct sampler_ring *ring, struct perfrec_ring v, size_t n, ev_sink_fn *sink, void *arg)
{
	const void *rec;
	size_t len;
	int r = order_fill(s, v, n);

	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct perfrec_ring one = v;
		one.tail = s->order[i].at;
		if (perfrec_ring_next(&one, &rec, &len) == 1)
			r = give_record(s, ring, rec, len, sink, arg);
	}
	return r;
}

static int drain_ring(struct sampler *s, struct sampler_ring *ring, ev_sink_fn *sink, void *arg)
{
	struct perf_event_mmap_page *pg = ring->base;
	struct perfrec_ring v = ring_view(s, ring, ring->head);
	const void *rec;
	size_t len, n;
	int r = 0, got;

	if (v.head == v.tail)
		return 0;
	if (!ring_ordered(v, &n)) {
		r = give_ordered(s, ring, v, n, sink, arg);
	} else {
		while (r >= 0 && (got = perfrec_ring_next(&v, &rec, &len)) != 0) {
			if (got < 0)
				s->stats.bad_records++;
			else
				r = give_record(s, ring, rec, len, sink, arg);
		}
	}
	__atomic_store_n(&pg->data_tail, v.head, __ATOMIC_RELEASE);
	return r;
}

/*
 * With the events stopped nothing more is written, so neither is the count of what was lost last. The kernel's own
 * counters of lost records (PERF_FORMAT_LOST, Linux 6.0) have it.
 */
static int settle_lost(struct sampler *s, uint64_t t, ev_sink_fn *sink, void *arg)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && s->sideband.read_format && i < s->n_rings; i++) {
		struct sampler_ring *ring = &s->rings[i];
		struct ev e = { .type = EV_LOST, .cpu = ring->cpu, .time_ns = MAX(t, ring->last_ns), .pid = -1, .tid = -1 };
		uint64_t total = 0, v[2];
		for (size_t k = 0; k < s->n_fds; k++)
			if (s->fds[k].cpu == ring->cpu && read(s->fds[k].fd, v, sizeof(v)) == sizeof(v))
				total += v[1];
		if (total <= ring->lost_told)
			continue;
		e.u.lost.count = total - ring->lost_told;
		ring->lost_told = total;
		ring->lost_early += e.u.lost.count;
		s->stats.lost += e.u.lost.count;
		r = sink(arg, &e);
	}
	s->settled = true;
	return r;
}

/* Who is of a late thread's line, before any record is given out: the fork may stand in another CPU's ring. This looks
 * further than what will be given out, so the fork of each task that wrote a record there is seen. */
static int learn_late(struct sampler *s)
{
	const struct sampler_fd *owner;
	struct perfrec rec;
	const void *raw;
	size_t len;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < s->n_rings; i++) {
		struct perfrec_ring v = ring_view(s, &s->rings[i], ring_head(&s->rings[i]));
		while (r >= 0 && perfrec_ring_next(&v, &raw, &len) == 1) {
			struct perf_event_header h;
			memcpy(&h, raw, sizeof(h));
			if (h.type != PERF_RECORD_FORK || perfrec_parse(&s->parser, raw, len, &rec) != 1)
				continue;
			owner = owner_of(s, rec.id);
			r = owner ? late_fork(s, &rec, owner) : 0;
		}
	}
	return r;
}

int sampler_drain(struct sampler *s, ev_sink_fn *sink, void *arg)
{
	struct epoll_event woken[64];
	uint64_t t = util_now_ns();
	bool settle = s->disabled && !s->settled;
	int r = 0;

	/* Taken first: what is written from here on makes the descriptor readable again. */
	while (epoll_wait(s->epfd, woken, ARRAY_SIZE(woken), 0) == (int)ARRAY_SIZE(woken))
		;
	for (size_t i = 0; i < s->n_rings; i++)
		s->rings[i].head = ring_head(&s->rings[i]);
	if (s->any_late)
		r = learn_late(s);
	for (size_t i = 0; r >= 0 && i < s->n_rings; i++)
		r = drain_ring(s, &s->rings[i], sink, arg);
	if (r >= 0)
		r = track_pending(s, t, sink, arg);
	if (r >= 0)
		track_forget(s);
	if (r >= 0 && settle)
		r = settle_lost(s, t, sink, arg);
	for (size_t i = 0; r >= 0 && i < s->n_rings; i++) {
		struct ev e = { .type = EV_SYNC, .cpu = s->rings[i].cpu, .time_ns = t, .pid = -1, .tid = -1 };
		/* A record stamped before t and written after it is moved up to t. */
		s->rings[i].last_ns = MAX(s->rings[i].last_ns, t);
		r = sink(arg, &e);
	}
	if (r >= 0) {
		struct ev e = { .type = EV_SYNC, .cpu = UINT32_MAX, .time_ns = t, .pid = -1, .tid = -1 };
		r = sink(arg, &e);
	}
	return MIN(r, 0);
}
