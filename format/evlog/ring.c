/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One word, `pos`, says it all: the page being written, how much of it is reserved, and how much of the page before it
 * was used. A writer reserves with one compare-and-swap of it; whoever closes a page does so with another. A signal
 * handler that writes in between makes the outer one's swap fail, which then begins anew: so times, taken
 * between the load and the swap, have the order of the reservations.
 *
 * A page is complete when as many words were committed as were reserved. What depends on two stores (the time of the last
 * event, opening a page) is either checked or done by whoever comes first.
 *
 * n slots, n + 1 pages: a slot names the page that serves a place of the ring now; the reader puts its spare page
 * there and has the full one for itself.
 */
#include "format/evlog/ring.h"

#include <errno.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#define HAVE_TSC 1
#else
#define HAVE_TSC 0
#endif

#include "format/evlog/wire.h"

#define RING_MAGIC 0x676e69726c65706fULL /* "opelring" */

#define ld(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define ld_relaxed(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define st(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define st_relaxed(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define swap_if(p, old, new) ({ uint64_t o_ = (old); \
	__atomic_compare_exchange_n(p, &o_, new, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE); })

/* pos: page number, words used of the page before, words reserved of this one (0: not begun). */
#define POS(page, prev, off) ((uint64_t)(page) << 30 | (uint64_t)(prev) << 15 | (off))
#define POS_PAGE(pos) ((pos) >> 30)
#define POS_PREV(pos) ((uint32_t)((pos) >> 15 & 0x7fff))
#define POS_OFF(pos) ((uint32_t)((pos) & 0x7fff))
/*
 * last: where an event ends (as in pos: page and words) and the lower half of its time. A writer stores last_time, then
 * last; handlers that interrupt it between its swap of pos and these two stores leave theirs, so the words may be of
 * different events, and of older ones. They are believed only if they agree with one another and with pos.
 */
#define LAST(pos, time) ((uint64_t)(time) << 30 | ((pos) >> 15 & 0x3fff8000) | POS_OFF(pos))
/* slot word: page number, taken by the reader, which memory page */
#define SLOT(page, taken, mem) ((uint64_t)(page) << 17 | (uint64_t)(taken) << 16 | (mem))
#define SLOT_PAGE(s) ((s) >> 17)
#define SLOT_TAKEN(s) ((s) >> 16 & 1)
#define SLOT_MEM(s) ((uint32_t)((s) & 0xffff))
/* commit: low half of the page number, events, words */
#define COMMIT(page, n, words) ((uint64_t)(uint32_t)(page) << 32 | (uint64_t)(n) << 16 | (words))
#define COMMIT_PAGE(c) ((uint32_t)((c) >> 32))
#define COMMIT_N(c) ((uint32_t)((c) >> 16 & 0xffff))
#define COMMIT_WORDS(c) ((uint32_t)((c) & 0xffff))

#define HEADER_WORDS (EVLOG_PAGE_HEADER / 4)

struct slot {
	uint64_t word, commit, final; /* final: as commit, the words a closed page has */
};

struct opevlog_ring {
	uint64_t magic;
	uint32_t page_size, n, stream, overwrite, tsc, pages_at;
	uint32_t mask;          /* n - 1 if that is a mask, else 0: no division then */
	uint16_t words[10];
	/* the writer's */
	uint64_t pos __attribute__((aligned(64)));
	uint64_t last_time, last; /* of the newest event; see LAST */
	uint64_t dropped, overwritten;
	/* the reader's */
	uint64_t read_seq __attribute__((aligned(64)));
	struct slot slots[] __attribute__((aligned(64)));
};

static inline struct slot *slot_of(struct opevlog_ring *r, uint64_t page)
{
	return &r->slots[r->mask ? page & r->mask : page % r->n];
}

/* --- making -------------------------------------------------------------------------------------------- */
static int opts_read(struct opevlog_ring_opts *o, const struct opevlog_ring_opts *from)
{
	memset(o, 0, sizeof(*o));
	if (!from || from->size < sizeof(size_t))
		return -EINVAL;
	memcpy(o, from, MIN(from->size, sizeof(*o)));
	o->page_size = o->page_size ? o->page_size : 16384;
	o->n_pages = o->n_pages ? o->n_pages : 8;
	if (o->page_size < EVLOG_PAGE_MIN || o->page_size > EVLOG_PAGE_MAX || o->page_size & (o->page_size - 1) ||
	    o->n_pages < 2 || o->n_pages > 4096 || !o->stream || o->stream > EVLOG_MAX_STREAMS)
		return -EINVAL;
	return 0;
}

static uint32_t mask_of(uint32_t n)
{
	return n & (n - 1) ? 0 : n - 1;
}

static size_t pages_offset(uint32_t n)
{
	return ALIGN_UP(sizeof(struct opevlog_ring) + n * sizeof(struct slot), (size_t)4096);
}

size_t opevlog_ring_bytes(const struct opevlog_ring_opts *from)
{
	struct opevlog_ring_opts o;

	if (opts_read(&o, from) < 0)
		return 0;
	return pages_offset(o.n_pages) + (o.n_pages + (size_t)1) * o.page_size;
}

struct opevlog_ring *opevlog_ring_make(void *mem, size_t bytes, const struct opevlog_ring_opts *from)
{
	struct opevlog_ring *r = mem;
	struct opevlog_ring_opts o;

	if (opts_read(&o, from) < 0 || !mem || (uintptr_t)mem % 64 || bytes < opevlog_ring_bytes(from))
		return NULL;
	memset(r, 0, pages_offset(o.n_pages));
	r->page_size = o.page_size;
	r->n = o.n_pages;
	r->mask = mask_of(r->n);
	r->stream = o.stream;
	r->overwrite = !!o.overwrite;
	r->tsc = o.tsc && HAVE_TSC;
	r->pages_at = (uint32_t)pages_offset(o.n_pages);
	memcpy(r->words, o.words, sizeof(r->words));
	for (uint32_t i = 0; i < r->n; i++) {
		r->slots[i].word = SLOT(i, 1, i); /* as if the reader had taken a page there already */
		r->slots[i].commit = r->slots[i].final = COMMIT(i - r->n, 0, 0);
	}
	r->last = UINT64_MAX; /* no page has that many words */
	st(&r->magic, RING_MAGIC);
	return r;
}

struct opevlog_ring *opevlog_ring_attach(void *mem, size_t bytes)
{
	struct opevlog_ring *r = mem;
	struct opevlog_ring_opts o = { .size = sizeof(o) };

	if (!mem || (uintptr_t)mem % 64 || bytes < sizeof(*r) || ld(&r->magic) != RING_MAGIC)
		return NULL;
	o.page_size = r->page_size;
	o.n_pages = r->n;
	o.stream = r->stream;
	if (!o.page_size || !o.n_pages || !opevlog_ring_bytes(&o) || bytes < opevlog_ring_bytes(&o) ||
	    r->pages_at != pages_offset(r->n) || r->mask != mask_of(r->n))
		return NULL;
	return r;
}

static inline uint64_t ring_clock(const struct opevlog_ring *r)
{
#if defined(__x86_64__) || defined(__i386__)
	if (r->tsc) {
		unsigned int aux;
		return __rdtscp(&aux); /* waits for what is before it: the stamp is not taken ahead of the load of pos */
	}
#endif
	return util_now_ns();
}

/* Adds to a commit word. The writer's thread alone does so, but for its own signal handlers: one instruction that is
 * not interrupted is enough where there is one, and on x86 every store is a release. */
static inline void commit_add(uint64_t *c, uint64_t v)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	__asm__ __volatile__("addq %1, %0" : "+m"(*c) : "r"(v) : "memory", "cc");
#else
	__atomic_fetch_add(c, v, __ATOMIC_RELEASE);
#endif
}

/* --- writing ------------------------------------------------------------------------------------------- */
static inline uint8_t *page_mem(const struct opevlog_ring *r, uint32_t mem)
{
	return (uint8_t *)r + r->pages_at + (size_t)mem * r->page_size;
}

/* Was page q closed, and are all events in it that it has room for? *words: what it has. */
static bool page_complete(struct opevlog_ring *r, uint64_t q, uint32_t *words)
{
	struct slot *s = slot_of(r, q);
	uint64_t pos = ld(&r->pos), c, f;
	uint32_t final;

	if (POS_PAGE(pos) <= q)
		return false;
	c = ld(&s->commit);
	if (POS_PAGE(pos) == q + 1) {
		final = POS_PREV(pos);
	} else {
		f = ld(&s->final);
		if (COMMIT_PAGE(f) != (uint32_t)q)
			return false;
		final = COMMIT_WORDS(f);
	}
	if (COMMIT_PAGE(c) != (uint32_t)q || COMMIT_WORDS(c) != final)
		return false;
	*words = final;
	return true;
}

/* May page p be begun? Once yes, it stays so until it is. */
static bool page_free(struct opevlog_ring *r, uint64_t p)
{
	uint32_t words;

	if (!r->overwrite)
		return p - ld(&r->read_seq) < r->n;
	return SLOT_TAKEN(ld(&slot_of(r, p)->word)) || page_complete(r, p - r->n, &words);
}

/* Makes the slot page p's, whoever comes first: the one who reserved its beginning or a handler that interrupted that
 * one. The memory page. */
static uint32_t page_enter(struct opevlog_ring *r, uint64_t p)
{
	struct slot *s = slot_of(r, p);

	for (;;) {
		uint64_t c = ld(&s->commit), w = ld(&s->word);
		if (SLOT_PAGE(w) == p && !SLOT_TAKEN(w) && COMMIT_PAGE(c) == (uint32_t)p)
			return SLOT_MEM(w);
		if (SLOT_PAGE(w) != p || SLOT_TAKEN(w)) {
			/* The reader may be swapping this very page; it does so once, then this succeeds. */
			if (!swap_if(&s->word, w, SLOT(p, 0, SLOT_MEM(w))))
				continue;
			if (!SLOT_TAKEN(w))
				__atomic_fetch_add(&r->overwritten, COMMIT_N(c), __ATOMIC_RELAXED);
		}
		if (COMMIT_PAGE(c) != (uint32_t)p)
			swap_if(&s->commit, c, COMMIT(p, 0, 0));
	}
}

/* Closes the page that pos stands in. */
static void page_switch(struct opevlog_ring *r, uint64_t old)
{
	uint64_t page = POS_PAGE(old), f, mine = COMMIT(page - 1, 0, POS_PREV(old));
	struct slot *before = slot_of(r, page - 1);

	/* The length of the page before stands in pos alone so far: it is put down before pos forgets it. */
	f = ld(&before->final);
	if (page && (int32_t)(COMMIT_PAGE(f) - (uint32_t)(page - 1)) < 0)
		swap_if(&before->final, f, mine);
	swap_if(&r->pos, old, POS(page + 1, POS_OFF(old), 0));
}

void opevlog_ring_flush(struct opevlog_ring *r)
{
	uint64_t pos = ld(&r->pos);

	if (POS_OFF(pos))
		page_switch(r, pos);
}

struct place {
	uint64_t page, time;
	uint32_t off, need, delta;
	bool full;
};

/* 0, -ENOBUFS, -E2BIG. */
static inline int reserve(struct opevlog_ring *r, uint32_t words, struct place *at)
{
	const uint32_t room = r->page_size / 4;

	if (HEADER_WORDS + 4 + words > room)
		return -E2BIG;
	for (;;) {
		uint64_t old = ld(&r->pos), mark = ld_relaxed(&r->last), last = ld_relaxed(&r->last_time);
		uint64_t t = ring_clock(r), next;

		at->page = POS_PAGE(old);
		at->off = POS_OFF(old);
		at->full = false;
		at->delta = 0;
		if (!at->off) {
			at->need = HEADER_WORDS + 1 + words;
			if (!page_free(r, at->page)) {
				if (ld(&r->pos) != old)
					continue;
				return -ENOBUFS;
			}
		} else {
			bool sure = mark == LAST(old, last);
			if (sure && t < last)
				t = last;
			at->full = !sure || t - last >= 1u << 27;
			at->delta = at->full ? 0 : (uint32_t)(t - last);
			at->need = (at->full ? 4 : 1) + words;
			if (at->off + at->need > room) {
				page_switch(r, old);
				continue;
			}
		}
		next = old + at->need;
		at->time = t;
		if (swap_if(&r->pos, old, next)) {
			st_relaxed(&r->last_time, t);
			__atomic_signal_fence(__ATOMIC_SEQ_CST);
			st_relaxed(&r->last, LAST(next, t));
			return 0;
		}
	}
}

static void header_begin(const struct opevlog_ring *r, uint8_t *p, const struct place *at)
{
	struct evlog_page pg = { .stream = r->stream, .seq = at->page, .base = at->time, .end = at->time };

	evlog_page_make(p, false, &pg);
}

int opevlog_write(struct opevlog_ring *r, uint32_t id, const void *payload, uint32_t bytes)
{
	uint32_t words = ALIGN_UP(bytes, 4u) / 4, fixed, extra, tail = 0;
	struct place at;
	uint8_t *p;
	int ret;

	if (id < OPEVLOG_FIRST_ID || id > OPEVLOG_LAST_ID)
		return -EINVAL;
	fixed = r->words[id - OPEVLOG_FIRST_ID];
	if ((fixed && words != fixed) || bytes > EVLOG_PAGE_MAX)
		return -EINVAL;
	extra = fixed ? 0 : 1;
	ret = reserve(r, words + extra, &at);
	if (ret < 0) {
		if (ret == -ENOBUFS)
			__atomic_fetch_add(&r->dropped, 1, __ATOMIC_RELAXED);
		return ret;
	}
	p = page_mem(r, page_enter(r, at.page)) + at.off * 4u;
	if (!at.off) {
		header_begin(r, p, &at);
		p += EVLOG_PAGE_HEADER;
	}
	if (at.full) {
		wire_st32(p, ID_FULL, false);
		wire_st32(p + 4, id | (words + extra) << 16, false);
		wire_st64(p + 8, at.time, false);
		p += 16;
	} else {
		wire_st32(p, id | at.delta << 5, false);
		p += 4;
	}
	if (extra) {
		wire_st32(p, words + 1, false);
		p += 4;
	}
	if (bytes % 4) {
		memcpy(&tail, (const uint8_t *)payload + (words - 1) * 4, bytes % 4);
		memcpy(p + (words - 1) * 4, &tail, 4);
	}
	if (bytes == 16) /* the commonest, without a call */
		memcpy(p, payload, 16);
	else if (bytes)
		memcpy(p, payload, bytes & ~3u);
	commit_add(&slot_of(r, at.page)->commit, COMMIT(0, 1, at.need));
	return 0;
}

void opevlog_ring_stats(const struct opevlog_ring *r, struct opevlog_ring_stats *ret)
{
	ret->dropped = ld(&r->dropped);
	ret->overwritten = ld(&r->overwritten);
}

/* --- reading ------------------------------------------------------------------------------------------- */
int opevlog_reader_init(struct opevlog_reader *rd, struct opevlog_ring *r)
{
	uint64_t seq = ld(&r->read_seq);

	*rd = (struct opevlog_reader){ .ring = r };
	/* The page that no slot names is the reader's. A reader that was killed may have taken one more page than it
	 * could put down. */
	for (;;) {
		bool used[4097] = { false };
		uint64_t w = ld(&slot_of(r, seq)->word);
		if (SLOT_TAKEN(w) && SLOT_PAGE(w) == seq && POS_PAGE(ld(&r->pos)) > seq) {
			st(&r->read_seq, ++seq);
			continue;
		}
		for (uint32_t i = 0; i < r->n; i++) {
			uint32_t mem = SLOT_MEM(ld(&r->slots[i].word));
			if (mem > r->n || used[mem])
				return -EBADMSG;
			used[mem] = true;
		}
		while (used[rd->spare])
			rd->spare++;
		return 0;
	}
}

/* Walks a page that is ours: end of its time and number of its events. False: it is not made of events. */
static bool page_walk(const struct opevlog_ring *r, const uint8_t *data, uint32_t len, uint64_t base, uint64_t *end, uint64_t *n)
{
	uint32_t pos = 0;
	uint64_t t = base;

	*n = 0;
	while (pos < len) {
		uint32_t w = wire_ld32(data + pos, false), id = w & 31, words;
		pos += 4;
		t += w >> 5;
		if (id == ID_FULL) {
			if (len - pos < 12)
				return false;
			words = wire_ld32(data + pos, false) >> 16;
			t = MAX(t, wire_ld64(data + pos + 4, false));
			pos += 12;
		} else {
			if (id < OPEVLOG_FIRST_ID || id > OPEVLOG_LAST_ID)
				return false;
			words = r->words[id - OPEVLOG_FIRST_ID];
			if (!words)
				words = len - pos >= 4 ? wire_ld32(data + pos, false) : 0;
			if (!words)
				return false;
		}
		if (words > (len - pos) / 4)
			return false;
		pos += words * 4;
		++*n;
	}
	*end = t;
	return true;
}

/* Makes a block of the page that is ours now. */
static bool page_finish(struct opevlog_reader *rd, uint8_t *p, uint64_t seq, uint32_t words, uint64_t lost, size_t *bytes)
{
	struct opevlog_ring *r = rd->ring;
	struct evlog_page pg = { .stream = r->stream, .seq = seq, .lost = lost };
	uint64_t n;

	if (words < HEADER_WORDS || words > r->page_size / 4)
		return false;
	pg.used = (words - HEADER_WORDS) * 4;
	pg.base = wire_ld64(p + PG_BASE, false);
	if (!page_walk(r, p + EVLOG_PAGE_HEADER, pg.used, pg.base, &pg.end, &n))
		return false;
	if (lost != rd->told_lost)
		pg.flags = PGF_MISSED;
	rd->told_lost = lost;
	rd->events += n;
	evlog_page_make(p, false, &pg);
	*bytes = EVLOG_PAGE_HEADER + pg.used;
	if (*bytes % 8) {
		/* The page's size is a multiple of 8, so there is room for the padding. */
		memset(p + *bytes, 0, 4);
		*bytes += 4;
	}
	return true;
}

int opevlog_reader_take(struct opevlog_reader *rd, int dead, const void **page, size_t *bytes)
{
	struct opevlog_ring *r = rd->ring;
	uint64_t seq = ld(&r->read_seq);

	/* Only a writer that laps us all the time brings it to the end: there will be a page at the next call. */
	for (uint64_t left = 4 * (uint64_t)r->n + 64; left; left--) {
		uint64_t pos = ld(&r->pos), top = POS_PAGE(pos), w, lost;
		struct slot *s;
		uint32_t words, mem;

		if (r->overwrite && top > r->n && seq < top - r->n)
			seq = top - r->n;
		if (seq >= top)
			return 0;
		if (top - seq > r->n) /* no writer goes further: whoever walked there would walk for ever */
			return -EBADMSG;
		s = slot_of(r, seq);
		w = ld(&s->word);
		if (SLOT_PAGE(w) != seq || SLOT_TAKEN(w)) {
			if (!r->overwrite && SLOT_PAGE(w) < seq)
				return 0; /* its writer is about to enter it */
			seq++; /* overwritten meanwhile */
			continue;
		}
		lost = ld(&r->dropped) + ld(&r->overwritten);
		if (!page_complete(r, seq, &words)) {
			if (ld(&s->word) != w)
				continue;
			if (!dead)
				return 0;
			words = 0;
		}
		mem = SLOT_MEM(w);
		if (mem > r->n)
			return -EBADMSG;
		if (!swap_if(&s->word, w, SLOT(seq, 1, rd->spare)))
			continue;
		rd->spare = mem;
		st(&r->read_seq, seq + 1);
		seq++;
		if (page_finish(rd, page_mem(r, mem), seq - 1, words, lost, bytes)) {
			*page = page_mem(r, mem);
			return 1;
		}
		rd->bad++;
	}
	return 0;
}
