/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The log `opel` read record by record, in the order of the file. Events are given as soon as their bytes are there. */
#include "format/evlog/pmclog-private.h"

#include <errno.h>

#include "lib/strbuf.h"

struct opel_stream {
	uint64_t next_seq, lost;
};

struct opel_parser {
	bool swap, have_prefix, in_page;
	size_t prefix_len;
	struct evlog_page pg;
	struct evlog_meta meta;
	struct evlog_cursor cur;
	struct evlog_scratch scratch;
	struct ev ev;
	uint64_t lost_due;       /* told before the page's first event */
	bool init_due, close_due, skipping;
	uint32_t init_at, init_len;
	struct opel_stream *s;
	uint32_t n_streams;
	struct strbuf names[2];   /* of JIT code: copied, so that they end in NUL */
};

struct opel_parser *pmc_opel_new(void)
{
	return calloc(1, sizeof(struct opel_parser));
}

void pmc_opel_free(struct opel_parser *o)
{
	if (!o)
		return;
	evlog_meta_done(&o->meta);
	strbuf_done(&o->names[0]);
	strbuf_done(&o->names[1]);
	free(o->s);
	free(o);
}

static void stamp(const struct opel_parser *o, uint64_t ns, struct timespec *ts)
{
	uint64_t real = evlog_meta_realtime(&o->meta, ns);

	ts->tv_sec = (time_t)(real / NSEC_PER_SEC);
	ts->tv_nsec = (long)(real % NSEC_PER_SEC);
}

static void copy_str(char *to, size_t room, const char *s)
{
	size_t n = s ? strnlen(s, room - 1) : 0;

	if (n)
		memcpy(to, s, n);
	to[n] = 0;
}

/* --- one event as a record ----------------------------------------------------------------------------- */
static void out_sample(const struct ev *e, struct pmclog_ev *ev)
{
	struct pmclog_ev_callchain *cc = &ev->pl_u.pl_cc;

	if (!e->u.sample.n_chain) {
		ev->pl_type = PMCLOG_TYPE_PCSAMPLE;
		ev->pl_u.pl_s = (struct pmclog_ev_pcsample){ e->pid, e->tid, e->u.sample.event,
			e->u.sample.mode == EV_USER, e->cpu, e->u.sample.ip, e->u.sample.period };
		return;
	}
	ev->pl_type = PMCLOG_TYPE_CALLCHAIN;
	cc->pl_pid = e->pid;
	cc->pl_tid = e->tid;
	cc->pl_pmcid = e->u.sample.event;
	cc->pl_cpuflags = (e->cpu & 0xffff) << 16 | (e->u.sample.mode == EV_USER);
	cc->pl_npc = e->u.sample.n_chain;
	cc->pl_nparts = 0;
	cc->pl_period = e->u.sample.period;
	memcpy(cc->pl_pc, e->u.sample.chain, e->u.sample.n_chain * sizeof(uint64_t));
}

/* Names in the log may hold any byte; here they become strings. */
static const char *jit_str(struct strbuf *room, const char *s, size_t len)
{
	if (!s)
		return NULL;
	room->cap = EVLOG_MAX_STRING + 1;
	strbuf_reset(room);
	strbuf_add(room, s, len);
	return strbuf_str(room);
}

static void out_jit(struct opel_parser *o, const struct ev *e, struct pmclog_ev *ev)
{
	const struct jit_event *j = &e->u.jit.e;

	ev->pl_type = PMCLOG_TYPE_JIT;
	ev->pl_u.pl_jit = (struct pmclog_ev_jit){ .pl_pid = e->pid, .pl_source = e->u.jit.source, .pl_what = j->type,
		.pl_kind = j->kind, .pl_flags = j->flags, .pl_segment = j->segment, .pl_tier = j->tier,
		.pl_osr_bci = j->osr_bci, .pl_time_ns = j->time_ns, .pl_addr = j->addr, .pl_size = j->size,
		.pl_old_addr = j->old_addr, .pl_id = j->id, .pl_image_offset = j->image_offset,
		.pl_name = jit_str(&o->names[0], j->name, j->name_len),
		.pl_source_file = jit_str(&o->names[1], j->source_file, j->source_file_len) };
}

static void out_task(const struct ev *e, struct pmclog_ev *ev)
{
	switch (e->type) {
	case EV_COMM:
		ev->pl_type = e->pid == e->tid ? PMCLOG_TYPE_PROC_CREATE : PMCLOG_TYPE_THR_CREATE;
		if (e->pid == e->tid) {
			ev->pl_u.pl_pc.pl_pid = e->pid;
			ev->pl_u.pl_pc.pl_flags = e->u.comm.flags;
			copy_str(ev->pl_u.pl_pc.pl_pcomm, sizeof(ev->pl_u.pl_pc.pl_pcomm), e->u.comm.comm);
			break;
		}
		ev->pl_u.pl_tc.pl_tid = e->tid;
		ev->pl_u.pl_tc.pl_pid = e->pid;
		ev->pl_u.pl_tc.pl_flags = e->u.comm.flags;
		copy_str(ev->pl_u.pl_tc.pl_tdname, sizeof(ev->pl_u.pl_tc.pl_tdname), e->u.comm.comm);
		break;
	case EV_FORK:
		if (e->pid == e->u.fork.ppid) {
			ev->pl_type = PMCLOG_TYPE_THR_CREATE;
			ev->pl_u.pl_tc.pl_tid = e->tid;
			ev->pl_u.pl_tc.pl_pid = e->pid;
			ev->pl_u.pl_tc.pl_flags = 0;
			ev->pl_u.pl_tc.pl_tdname[0] = 0;
			break;
		}
		ev->pl_type = PMCLOG_TYPE_PROCFORK;
		ev->pl_u.pl_f = (struct pmclog_ev_procfork){ e->u.fork.ppid, e->pid };
		break;
	case EV_EXIT:
		if (e->pid != e->tid) {
			ev->pl_type = PMCLOG_TYPE_THR_EXIT;
			ev->pl_u.pl_te.pl_tid = e->tid;
			break;
		}
		ev->pl_type = PMCLOG_TYPE_SYSEXIT;
		ev->pl_u.pl_se.pl_pid = e->pid;
		break;
	case EV_PROC:
		ev->pl_type = PMCLOG_TYPE_PROCEXEC;
		ev->pl_u.pl_x.pl_pid = e->pid;
		ev->pl_u.pl_x.pl_pmcid = 0;
		ev->pl_u.pl_x.pl_baseaddr = ev->pl_u.pl_x.pl_dynaddr = 0;
		copy_str(ev->pl_u.pl_x.pl_pathname, PMCLOG_PATH_MAX, e->u.proc.exe);
		break;
	}
}

static void out_other(const struct ev *e, struct pmclog_ev *ev)
{
	switch (e->type) {
	case EV_MMAP:
		ev->pl_type = PMCLOG_TYPE_MAP_IN;
		ev->pl_u.pl_mi.pl_pid = e->pid;
		ev->pl_u.pl_mi.pl_start = e->u.mmap.addr;
		ev->pl_u.pl_mi.pl_size = e->u.mmap.len;
		ev->pl_u.pl_mi.pl_pgoff = e->u.mmap.pgoff;
		copy_str(ev->pl_u.pl_mi.pl_pathname, PMCLOG_PATH_MAX, e->u.mmap.path);
		break;
	case EV_MUNMAP:
		ev->pl_type = PMCLOG_TYPE_MAP_OUT;
		ev->pl_u.pl_mo = (struct pmclog_ev_map_out){ e->pid, e->u.mmap.addr, e->u.mmap.addr + e->u.mmap.len };
		break;
	case EV_LOST:
		ev->pl_type = PMCLOG_TYPE_DROPNOTIFY;
		ev->pl_u.pl_dn.pl_lost = e->u.lost.count;
		break;
	case EV_KSYMBOL:
		ev->pl_type = PMCLOG_TYPE_KSYMBOL;
		ev->pl_u.pl_ksymbol = (struct pmclog_ev_ksymbol){ e->u.ksymbol.addr, e->u.ksymbol.len,
								  e->u.ksymbol.unregister, e->u.ksymbol.name };
		break;
	case EV_JITSRC:
		ev->pl_type = PMCLOG_TYPE_JITSRC;
		ev->pl_u.pl_jitsrc = (struct pmclog_ev_jitsrc){ e->pid, e->u.jitsrc.source, e->u.jitsrc.kind,
								e->u.jitsrc.lag_ns, e->u.jitsrc.instance };
		break;
	case EV_EVENTDESC:
		ev->pl_type = PMCLOG_TYPE_PMCALLOCATEDYN;
		ev->pl_u.pl_ad = (struct pmclog_ev_pmcallocatedyn){ e->u.desc.index, e->u.desc.um, e->u.desc.flags,
								    e->u.desc.count, e->u.desc.freq };
		copy_str(ev->pl_u.pl_ad.pl_evname, sizeof(ev->pl_u.pl_ad.pl_evname), e->u.desc.name);
		break;
	case EV_SYNC:
		ev->pl_type = PMCLOG_TYPE_SYNC;
		break;
	case EV_THROTTLE:
		ev->pl_type = PMCLOG_TYPE_THROTTLE;
		break;
	default:
		out_task(e, ev);
	}
}

static void out_user(const struct opel_parser *o, struct pmclog_ev *ev)
{
	const struct evlog_user_event *u = o->cur.id < ARRAY_SIZE(o->meta.user) ? &o->meta.user[o->cur.id] : NULL;

	ev->pl_type = PMCLOG_TYPE_USER;
	ev->pl_u.pl_user = (struct pmclog_ev_user){ o->cur.id, u ? u->name : NULL, u ? u->fields : NULL, o->cur.body,
						    o->cur.body_len, o->cur.swap };
}

static void out_event(struct opel_parser *o, const struct ev *e, struct pmclog_ev *ev)
{
	if (e->type == EV_SAMPLE)
		out_sample(e, ev);
	else if (e->type == EV_JIT)
		out_jit(o, e, ev);
	else
		out_other(e, ev);
}

/* --- merged by time ------------------------------------------------------------------------------------ */
struct merged {
	struct opel_parser *o;
	struct evlog_merge *m;
	struct pmclog_ev ev;
	int (*fn)(void *arg, const struct pmclog_ev *ev);
	void *arg;
};

static int merged_give(struct merged *g, uint64_t ns)
{
	uint64_t real = evlog_merge_realtime(g->m, ns);

	g->ev.pl_state = PMCLOG_OK;
	g->ev.pl_abi = PMCLOG_ABI_OPEL;
	g->ev.pl_offset = -1;
	g->ev.pl_count++;
	g->ev.pl_tsc = ns;
	g->ev.pl_ts.tv_sec = (time_t)(real / NSEC_PER_SEC);
	g->ev.pl_ts.tv_nsec = (long)(real % NSEC_PER_SEC);
	return g->fn(g->arg, &g->ev);
}

static int merged_event(void *arg, const struct ev *e)
{
	struct merged *g = arg;

	out_event(g->o, e, &g->ev);
	return merged_give(g, e->time_ns);
}

static int merged_user(void *arg, const struct evlog_meta *meta, uint32_t stream, const struct evlog_cursor *c)
{
	struct merged *g = arg;

	g->ev.pl_type = PMCLOG_TYPE_USER;
	g->ev.pl_u.pl_user = (struct pmclog_ev_user){ c->id, meta->user[c->id & 31].name, meta->user[c->id & 31].fields, c->body,
						      c->body_len, c->swap };
	return merged_give(g, c->time_ns);
}

int pmclog_each_merged(int fd, int (*fn)(void *arg, const struct pmclog_ev *ev), void *arg)
{
	struct merged *g = fn ? calloc(1, sizeof(*g)) : NULL;
	int ret = fn ? -ENOMEM : -EINVAL;
	uint64_t bad = 0, cut;

	if (g)
		g->o = pmc_opel_new();
	if (g && g->o) {
		g->fn = fn;
		g->arg = arg;
		ret = evlog_merge_new(&g->m, 0, merged_event, NULL, g);
	}
	if (!ret) {
		evlog_merge_set_user(g->m, merged_user);
		ret = evlog_replay_fd(fd, g->m, &bad, &cut);
	}
	if (!ret)
		ret = evlog_merge_finish(g->m);
	if (!ret && bad)
		ret = 1;
	if (g) {
		evlog_merge_free(g->m);
		pmc_opel_free(g->o);
	}
	free(g);
	return ret;
}

/* --- blocks -------------------------------------------------------------------------------------------- */
/* Brings one prefix or page header in. 0, 1 (state told) or -errno. */
static int need(struct pmc_parser *p, struct pmclog_ev *ev, size_t n)
{
	int state = pmc_want(p, n);

	if (!state)
		return 0;
	ev->pl_state = (enum pmclog_state)state;
	ev->pl_partial = p->have;
	return 1;
}

static void drop(struct pmc_parser *p, size_t n)
{
	p->offset += n;
	p->have -= n;
	memmove(p->scratch, p->scratch + n, p->have);
}

static int read_prefix(struct pmc_parser *p, struct pmclog_ev *ev)
{
	struct opel_parser *o = p->opel;
	size_t len = 8;
	int ret = need(p, ev, 8);

	if (ret)
		return ret;
	if (p->scratch[4] != 1)
		return -ENOTSUP;
	ret = need(p, ev, 8 + (size_t)p->scratch[6]);
	if (ret)
		return ret;
	ret = evlog_prefix_parse(p->scratch, p->have, &len, &o->swap);
	if (ret < 0)
		return ret;
	evlog_meta_done(&o->meta);
	free(o->s);
	o->s = NULL;
	o->n_streams = 0;
	o->have_prefix = true;
	o->in_page = o->skipping = o->close_due = o->init_due = false;
	drop(p, len);
	return 0;
}

static struct opel_stream *stream_of(struct opel_parser *o, uint32_t n)
{
	if (n >= o->n_streams) {
		uint32_t room = MAX(16u, n + 1);
		struct opel_stream *s = realloc(o->s, room * sizeof(*s));
		if (!s)
			return NULL;
		memset(s + o->n_streams, 0, (room - o->n_streams) * sizeof(*s));
		o->s = s;
		o->n_streams = room;
	}
	return &o->s[n];
}

/* Whole in scratch: takes the metadata in. */
static int read_meta(struct pmc_parser *p)
{
	struct opel_parser *o = p->opel;
	bool had = o->meta.have_init, closed = o->meta.closed;
	uint64_t bad = o->meta.bad;
	int ret = evlog_meta_feed(&o->meta, p->scratch + EVLOG_PAGE_HEADER, o->pg.used, o->swap, o->pg.flags & PGF_LAST);

	if (ret == -ENOMEM)
		return ret;
	o->init_due = !had && o->meta.have_init;
	o->close_due = !closed && o->meta.closed;
	return (ret < 0 || o->meta.bad != bad) && !p->o.lenient ? -EBADMSG : 0;
}

/* Where the next page begins, in a log whose last one could not be read. 0, 1 (state told). */
static int resync(struct pmc_parser *p, struct pmclog_ev *ev)
{
	struct opel_parser *o = p->opel;

	o->skipping = true;
	for (;;) {
		struct evlog_page pg;
		int ret = need(p, ev, EVLOG_PAGE_HEADER);
		if (ret)
			return ret;
		if (!memcmp(p->scratch, "opel", 4)) {
			o->have_prefix = false;
			break;
		}
		if (!evlog_page_parse(p->scratch, o->swap, &pg))
			break;
		drop(p, 4);
	}
	o->skipping = false;
	return 0;
}

/* Where the page stands in its stream: what is missing before it, or that it came already (then it has no events). */
static int page_in_stream(struct pmc_parser *p)
{
	struct opel_parser *o = p->opel;
	struct opel_stream *s = stream_of(o, o->pg.stream);

	if (!s)
		return -ENOMEM;
	if (o->pg.seq < s->next_seq) {
		if (!p->o.lenient)
			return -EBADMSG;
		o->pg.used = 0; /* a page twice */
	} else {
		o->lost_due = MAX(o->pg.lost > s->lost ? o->pg.lost - s->lost : 0, o->pg.seq - s->next_seq);
		s->next_seq = o->pg.seq + 1;
		s->lost = MAX(s->lost, o->pg.lost);
	}
	return 0;
}

/* Brings the next page's header in. */
static int read_header(struct pmc_parser *p, struct pmclog_ev *ev)
{
	struct opel_parser *o = p->opel;
	int ret = need(p, ev, 4);

	if (ret)
		return ret;
	if (o->skipping) {
		ret = resync(p, ev);
		if (ret)
			return ret;
	}
	if (!memcmp(p->scratch, "opel", 4)) {
		/* a log behind another that was not closed */
		o->have_prefix = false;
		return p->o.lenient ? 0 : -EBADMSG;
	}
	if (wire_ld32(p->scratch, o->swap) == EVLOG_PAGE_MAGIC || p->o.lenient) {
		ret = need(p, ev, EVLOG_PAGE_HEADER);
		if (ret)
			return ret;
	}
	if (p->have < EVLOG_PAGE_HEADER || evlog_page_parse(p->scratch, o->swap, &o->pg) < 0) {
		if (!p->o.lenient)
			return -EBADMSG;
		o->skipping = true;
		return 0;
	}
	if (!o->pg.stream) {
		ret = need(p, ev, o->pg.block_len);
		if (ret)
			return ret;
	}
	ret = page_in_stream(p);
	if (ret)
		return ret;
	if (!o->pg.stream) {
		ret = o->pg.used ? read_meta(p) : 0;
		if (ret < 0)
			return ret;
		o->pg.used = 0;
	}
	o->in_page = true;
	evlog_cursor_init(&o->cur, &o->meta, &o->pg, p->scratch + EVLOG_PAGE_HEADER, o->swap);
	return 0;
}

/* --- what the caller gets ------------------------------------------------------------------------------ */
static void record_at(struct pmc_parser *p, struct pmclog_ev *ev, size_t at, size_t len)
{
	ev->pl_abi = PMCLOG_ABI_OPEL;
	ev->pl_offset = (off_t)(p->offset + at);
	ev->pl_data = p->scratch + at;
	ev->pl_len = len;
}

/* Records that stand for the page as a whole. 0: one was given; 1: none was due. */
static int read_due(struct pmc_parser *p, struct pmclog_ev *ev)
{
	struct opel_parser *o = p->opel;

	record_at(p, ev, 0, EVLOG_PAGE_HEADER);
	ev->pl_tsc = o->pg.base;
	stamp(o, evlog_meta_ns(&o->meta, o->pg.base), &ev->pl_ts);
	if (o->init_due) {
		o->init_due = false;
		ev->pl_type = PMCLOG_TYPE_INITIALIZE;
		ev->pl_tsc = o->meta.anchor_clock;
		stamp(o, o->meta.anchor_mono, &ev->pl_ts);
		ev->pl_u.pl_i = (struct pmclog_ev_initialize){ .pl_version = o->meta.version,
			.pl_tsc_freq = o->meta.freq_hz, .pl_start = ev->pl_ts };
		copy_str(ev->pl_u.pl_i.pl_cpuid, sizeof(ev->pl_u.pl_i.pl_cpuid), o->meta.machine);
		return 0;
	}
	if (o->lost_due) {
		ev->pl_type = PMCLOG_TYPE_DROPNOTIFY;
		ev->pl_u.pl_dn.pl_lost = o->lost_due;
		o->lost_due = 0;
		return 0;
	}
	if (o->close_due) {
		o->close_due = false;
		ev->pl_type = PMCLOG_TYPE_CLOSELOG;
		ev->pl_u.pl_cl.pl_unused = 0;
		return 0;
	}
	return 1;
}

/* The next event of the page, as far as it is there. 0, 1 (state told), 2: the page is used up, -errno. */
static int read_event(struct pmc_parser *p, struct pmclog_ev *ev)
{
	struct opel_parser *o = p->opel;
	struct evlog_cursor *c = &o->cur;
	size_t total = EVLOG_PAGE_HEADER + o->pg.used;

	for (;;) {
		const uint8_t *at = c->p;
		uint64_t clock = c->clock;
		size_t there = MIN(p->have, total) & ~(size_t)3, pos;
		int ret;

		c->end = p->scratch + MAX(there, (size_t)EVLOG_PAGE_HEADER);
		ret = evlog_cursor_next(c);
		pos = (size_t)(c->at - p->scratch);
		if (ret > 0) {
			ret = evlog_cursor_decode(c, &o->ev, &o->scratch);
			if (ret == -EBADMSG)
				return ret;
			record_at(p, ev, pos, (size_t)(c->p - c->at));
			ev->pl_rawtype = c->id;
			ev->pl_tsc = c->clock;
			stamp(o, c->time_ns, &ev->pl_ts);
			if (ret == -ENOENT)
				out_user(o, ev);
			else
				out_event(o, &o->ev, ev);
			return 0;
		}
		if (there >= total)
			return ret ? -EBADMSG : 2;
		/* The rest of the page is not there yet: back to before what was looked at. Contexts told twice are
		 * the same twice. */
		c->p = at;
		c->clock = clock;
		ret = need(p, ev, there + 4);
		if (ret) {
			ev->pl_partial = p->have - (size_t)(at - p->scratch);
			return ret;
		}
		pmc_want_some(p, total);
	}
}

int pmc_opel_read(struct pmc_parser *p, struct pmclog_ev *ev)
{
	struct opel_parser *o = p->opel;

	for (;;) {
		int ret;
		if (!o->have_prefix) {
			ret = read_prefix(p, ev);
			if (ret)
				return ret;
		}
		if (o->in_page) {
			if (!read_due(p, ev)) {
				if (ev->pl_type == PMCLOG_TYPE_CLOSELOG) {
					p->used = o->pg.block_len;
					o->in_page = o->have_prefix = false;
				}
				return 0;
			}
			ret = read_event(p, ev);
			if (ret == -EBADMSG && p->o.lenient) {
				ret = 2; /* the rest of this page is left out, however many reads it takes to get past it */
				o->pg.used = 0;
				o->cur.p = o->cur.data;
			}
			if (ret != 2) {
				if (ret == -EBADMSG)
					p->error_at = p->offset + (size_t)(o->cur.at - p->scratch);
				return ret;
			}
			ret = need(p, ev, o->pg.block_len);
			if (ret)
				return ret;
			drop(p, o->pg.block_len);
			o->in_page = false;
		}
		ret = read_header(p, ev);
		if (ret)
			return ret;
	}
}
