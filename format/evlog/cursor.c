/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/evlog/cursor.h"

#include <errno.h>

#include "lib/reader.h"

void evlog_cursor_init(struct evlog_cursor *c, const struct evlog_meta *meta, const struct evlog_page *pg,
		       const void *data, bool swap)
{
	c->meta = meta;
	c->data = c->p = c->at = c->body = data;
	c->end = c->data + pg->used;
	c->swap = swap;
	c->skip_early = false;
	c->ticks = meta->clock_kind == EVLOG_CLOCK_TSC;
	c->id = 0;
	c->body_len = 0;
	c->clock = pg->base;
	c->time_ns = evlog_meta_ns(meta, pg->base);
	memset(c->valid, 0, sizeof(c->valid));
}

static void cursor_context(struct evlog_cursor *c)
{
	const uint8_t *b = c->body;
	uint32_t w = wire_ld32(b, c->swap);
	struct evlog_slot *s = &c->slots[w & 0xff];

	s->mode = (uint8_t)(w >> 8);
	s->truncated = (uint8_t)(w >> 16);
	s->cpu = wire_ld32(b + 4, c->swap);
	s->pid = (int32_t)wire_ld32(b + 8, c->swap);
	s->tid = (int32_t)wire_ld32(b + 12, c->swap);
	s->event = wire_ld32(b + 16, c->swap);
	s->period = wire_ld64(b + 20, c->swap);
	c->valid[(w & 0xff) >> 6] |= 1ULL << (w & 63);
}

/* The id and the payload's length when they stand in a word of their own. */
static int cursor_long(struct evlog_cursor *c, uint32_t form, const uint8_t **q, size_t *words)
{
	uint32_t w;
	uint64_t t;

	if (c->end - *q < (form == ID_FULL ? 12 : 4))
		return -EBADMSG;
	w = wire_ld32(*q, c->swap);
	*words = w >> 16;
	c->id = form == ID_DISCARDED ? ID_DISCARDED : w & 0xffff;
	*q += 4;
	if (form == ID_FULL) {
		t = wire_ld64(*q, c->swap);
		*q += 8;
		c->clock = MAX(c->clock, t); /* time does not go back in a stream */
	}
	/* The payload must be what the id asks for, whatever form it came in. */
	if (c->id < ID_USER) {
		size_t want = evlog_id_words[c->id];
		if (want == EVLOG_VARIABLE) {
			if (c->end - *q < 4)
				return -EBADMSG;
			want = wire_ld32(*q, c->swap);
		}
		if (want != *words)
			return -EBADMSG;
	}
	return 0;
}

int evlog_cursor_next(struct evlog_cursor *c)
{
	for (;;) {
		const uint8_t *q = c->p;
		size_t words;
		uint32_t w;

		c->at = q;
		if (q == c->end)
			return 0;
		w = wire_ld32(q, c->swap); /* `used` is a multiple of 4 */
		q += 4;
		c->id = w & 31;
		c->clock += w >> 5;
		if (c->id < ID_LONG) {
			words = evlog_id_words[c->id];
			if (c->id >= ID_USER && c->meta->user_words[c->id])
				words = c->meta->user_words[c->id];
			else if (words == EVLOG_VARIABLE) {
				if (q == c->end)
					return -EBADMSG;
				words = wire_ld32(q, c->swap);
				if (!words)
					return -EBADMSG;
			}
		} else if (c->id == ID_TIMESYNC || cursor_long(c, c->id, &q, &words) < 0) {
			return -EBADMSG;
		}
		if (words > (size_t)(c->end - q) / 4)
			return -EBADMSG;
		c->body = q;
		c->body_len = (uint32_t)words * 4;
		c->p = q + words * 4;
		if (c->id == ID_CTX) {
			cursor_context(c);
			continue;
		}
		if (c->id == ID_DISCARDED || (c->skip_early && evlog_id_is_early(c->id)))
			continue;
		c->time_ns = c->ticks ? evlog_meta_ns(c->meta, c->clock) : c->clock;
		return 1;
	}
}

/* --- bodies -------------------------------------------------------------------------------------------- */
#define CHAIN_N(w) ((w) & 0x7ff)
#define CHAIN_KERNEL(w) ((w) >> 11 & 0x7ff)

static int decode_frames(struct reader *r, uint32_t w, uint64_t ip, uint32_t n, uint64_t *chain)
{
	uint64_t last = ip;
	uint32_t i = 0;

	if (w & 1u << 22 && n)
		chain[i++] = ip;
	if (w & 1u << 23) {
		for (; i < n; i++)
			chain[i] = reader_u64(r);
		return r->bad ? -EBADMSG : 0;
	}
	for (; i < n; i++) {
		uint32_t f = reader_u32(r);
		if (f & 1)
			/* 31 low bits here, the rest in the next word; the top bit repeats bit 62 */
			last = (uint64_t)((int64_t)((uint64_t)reader_u32(r) << 32 | (f & ~1u)) >> 1);
		else
			last += (uint64_t)(int64_t)((int32_t)f >> 1);
		chain[i] = last;
	}
	return r->bad ? -EBADMSG : 0;
}

static int decode_slot(const struct evlog_cursor *c, uint32_t slot, struct ev *e)
{
	const struct evlog_slot *s = &c->slots[slot];

	if (!(c->valid[slot >> 6] >> (slot & 63) & 1))
		return -EBADMSG;
	e->type = EV_SAMPLE;
	e->cpu = s->cpu;
	e->time_ns = c->time_ns;
	e->pid = s->pid;
	e->tid = s->tid;
	e->u.sample.period = s->period;
	e->u.sample.event = s->event;
	e->u.sample.mode = s->mode;
	e->u.sample.truncated = s->truncated;
	e->u.sample.n_chain = e->u.sample.n_kernel = 0;
	e->u.sample.chain = NULL;
	return 0;
}

static inline uint64_t slot_ip(uint64_t v)
{
	return (uint64_t)((int64_t)(v << 8) >> 8);
}

static int decode_chain(const struct evlog_cursor *c, struct ev *e, struct evlog_scratch *s)
{
	struct reader r = reader_of(c->body + 4, c->body_len - 4);
	uint64_t v;
	uint32_t w, n;
	int ret;

	r.swap = c->swap;
	v = reader_u64(&r);
	w = reader_u32(&r);
	n = CHAIN_N(w);
	ret = decode_slot(c, (uint32_t)(v >> 56), e);
	if (ret < 0)
		return ret;
	e->u.sample.ip = w & 1u << 26 ? reader_u64(&r) : slot_ip(v);
	if (w & 1u << 25)
		e->u.sample.period = reader_u64(&r);
	if (r.bad || n > EV_MAX_FRAMES || CHAIN_KERNEL(w) > n)
		return -EBADMSG;
	e->u.sample.truncated = w >> 24 & 1;
	e->u.sample.n_chain = n;
	e->u.sample.n_kernel = CHAIN_KERNEL(w);
	e->u.sample.chain = n ? s->chain : NULL;
	return decode_frames(&r, w, e->u.sample.ip, n, s->chain);
}

static int decode_sample(const struct evlog_cursor *c, struct ev *e, struct evlog_scratch *s)
{
	uint64_t v;
	int ret;

	if (c->id == ID_SAMPLE_CHAIN)
		return decode_chain(c, e, s);
	if (c->id == ID_SAMPLE_WIDE) {
		ret = decode_slot(c, wire_ld32(c->body, c->swap) & 0xff, e);
		e->u.sample.ip = wire_ld64(c->body + 4, c->swap);
		e->u.sample.period = wire_ld64(c->body + 12, c->swap);
		return ret;
	}
	v = wire_ld64(c->body, c->swap);
	ret = decode_slot(c, (uint32_t)(v >> 56), e);
	e->u.sample.ip = slot_ip(v);
	if (c->id == ID_SAMPLE_PERIOD)
		e->u.sample.period = wire_ld32(c->body + 8, c->swap);
	return ret;
}

/* A string field: an id, or bytes at the tail of the body (their NUL included), where *tail goes on. */
static const char *decode_string(const struct evlog_cursor *c, struct reader *r, struct reader *tail, size_t *len)
{
	uint32_t ref = reader_u32(r), n = ref & ~EVLOG_STR_INLINE;
	const char *s;

	if (len)
		*len = 0;
	if (ref == EVLOG_NO_STRING)
		return NULL;
	if (ref & EVLOG_STR_INLINE) {
		s = reader_take(tail, n);
		reader_align(tail, 4);
		if (!s || !n || s[n - 1]) {
			r->bad = true;
			return NULL;
		}
		if (len)
			*len = n - 1;
		return s;
	}
	s = evlog_meta_string(c->meta, ref);
	if (!s)
		s = "?"; /* its definition was lost; the event is still worth having */
	if (len)
		*len = strlen(s);
	return s;
}

static void decode_jit(const struct evlog_cursor *c, struct reader *r, struct reader *tail, struct ev *e)
{
	struct jit_event *j = &e->u.jit.e;
	uint32_t w;

	memset(j, 0, sizeof(*j));
	e->u.jit.source = reader_u32(r);
	w = reader_u32(r);
	j->type = (uint8_t)w;
	j->kind = (uint8_t)(w >> 8);
	j->tier = (int8_t)(w >> 16);
	j->flags = reader_u32(r);
	j->osr_bci = (int32_t)reader_u32(r);
	j->segment = reader_u32(r);
	j->time_ns = reader_u64(r);
	j->addr = reader_u64(r);
	j->size = reader_u64(r);
	j->old_addr = reader_u64(r);
	j->id = reader_u64(r);
	j->image_offset = reader_u64(r);
	j->name = decode_string(c, r, tail, &j->name_len);
	j->source_file = decode_string(c, r, tail, &j->source_file_len);
}

/* Words of the fixed part of each variable event, its count and cpu, pid, tid included: there the strings start. */
static const uint8_t fixed_words[ID_USER] = {
	[ID_MMAP] = 4 + 15, [ID_COMM] = 4 + 2, [ID_KSYMBOL] = 4 + 6, [ID_JIT] = 4 + 19, [ID_JITSRC] = 4 + 5,
	[ID_PROC] = 4 + 8, [ID_EVENTDESC] = 4 + 9,
};

static int decode_variable(const struct evlog_cursor *c, struct ev *e)
{
	size_t fixed = fixed_words[c->id] * 4u;
	struct reader r = reader_of(c->body, fixed), tail;

	if (!fixed || c->body_len < fixed)
		return -EBADMSG;
	tail = reader_of(c->body + fixed, c->body_len - fixed);
	r.swap = c->swap;
	r.pos = 4;
	e->cpu = reader_u32(&r);
	e->pid = (int32_t)reader_u32(&r);
	e->tid = (int32_t)reader_u32(&r);
	switch (c->id) {
	case ID_MMAP:
		e->type = EV_MMAP;
		e->u.mmap.addr = reader_u64(&r);
		e->u.mmap.len = reader_u64(&r);
		e->u.mmap.pgoff = reader_u64(&r);
		e->u.mmap.dev = reader_u64(&r);
		e->u.mmap.ino = reader_u64(&r);
		e->u.mmap.ino_gen = reader_u64(&r);
		e->u.mmap.prot = reader_u32(&r);
		e->u.mmap.flags = reader_u32(&r);
		e->u.mmap.path = decode_string(c, &r, &tail, NULL);
		break;
	case ID_COMM:
		e->type = EV_COMM;
		e->u.comm.flags = reader_u32(&r);
		e->u.comm.comm = decode_string(c, &r, &tail, NULL);
		break;
	case ID_KSYMBOL:
		e->type = EV_KSYMBOL;
		e->u.ksymbol.addr = reader_u64(&r);
		e->u.ksymbol.len = reader_u64(&r);
		e->u.ksymbol.unregister = reader_u32(&r);
		e->u.ksymbol.name = decode_string(c, &r, &tail, NULL);
		break;
	case ID_JIT:
		e->type = EV_JIT;
		decode_jit(c, &r, &tail, e);
		break;
	case ID_JITSRC:
		e->type = EV_JITSRC;
		e->u.jitsrc.source = reader_u32(&r);
		e->u.jitsrc.kind = reader_u32(&r);
		e->u.jitsrc.lag_ns = reader_u64(&r);
		e->u.jitsrc.instance = decode_string(c, &r, &tail, NULL);
		break;
	case ID_PROC:
		e->type = EV_PROC;
		e->u.proc.start_time = reader_u64(&r);
		e->u.proc.ppid = (int32_t)reader_u32(&r);
		e->u.proc.nspid = (int32_t)reader_u32(&r);
		e->u.proc.uid = reader_u32(&r);
		e->u.proc.exec_count = reader_u32(&r);
		e->u.proc.exe = decode_string(c, &r, &tail, NULL);
		e->u.proc.app = decode_string(c, &r, &tail, NULL);
		break;
	case ID_EVENTDESC:
		e->type = EV_EVENTDESC;
		e->u.desc.index = reader_u32(&r);
		e->u.desc.um = reader_u32(&r);
		e->u.desc.flags = reader_u32(&r);
		e->u.desc.count = reader_u64(&r);
		e->u.desc.freq = reader_u64(&r);
		e->u.desc.name = decode_string(c, &r, &tail, NULL);
		e->u.desc.desc = decode_string(c, &r, &tail, NULL);
		break;
	}
	return r.bad ? -EBADMSG : 0;
}

static int decode_fixed(const struct evlog_cursor *c, struct ev *e)
{
	const uint8_t *b = c->body;
	bool swap = c->swap;

	e->cpu = wire_ld32(b, swap);
	e->pid = (int32_t)wire_ld32(b + 4, swap);
	e->tid = (int32_t)wire_ld32(b + 8, swap);
	switch (c->id) {
	case ID_FORK:
		e->type = EV_FORK;
		e->u.fork.ppid = (int32_t)wire_ld32(b + 12, swap);
		e->u.fork.ptid = (int32_t)wire_ld32(b + 16, swap);
		break;
	case ID_LOST:
		e->type = EV_LOST;
		e->u.lost.count = wire_ld64(b + 12, swap);
		break;
	case ID_MUNMAP:
		e->type = EV_MUNMAP;
		memset(&e->u.mmap, 0, sizeof(e->u.mmap));
		e->u.mmap.addr = wire_ld64(b + 12, swap);
		e->u.mmap.len = wire_ld64(b + 20, swap);
		break;
	case ID_EXIT:
		e->type = EV_EXIT;
		break;
	case ID_SYNC:
		e->type = EV_SYNC;
		break;
	case ID_THROTTLE:
		e->type = EV_THROTTLE;
		break;
	}
	return 0;
}

int evlog_cursor_decode(struct evlog_cursor *c, struct ev *e, struct evlog_scratch *s)
{
	if (c->id >= ID_USER)
		return -ENOENT;
	if ((c->id >= ID_SAMPLE && c->id <= ID_SAMPLE_CHAIN) || c->id == ID_SAMPLE_WIDE) {
		if (c->id == ID_SAMPLE_CHAIN && c->body_len < 16)
			return -EBADMSG;
		return decode_sample(c, e, s);
	}
	e->time_ns = c->time_ns;
	if (evlog_id_words[c->id] == EVLOG_VARIABLE)
		return decode_variable(c, e);
	return decode_fixed(c, e);
}
