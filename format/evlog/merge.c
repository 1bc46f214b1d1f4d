/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "format/evlog/cursor.h"
#include "format/evlog/evlog.h"
#include "format/evlog/merge.h"

#define HELD_MAX ((uint64_t)64 << 20)

struct mpage {
	struct mpage *next;
	struct evlog_page pg;
	uint64_t lost;      /* records missing before this page */
	bool counted_bad;
	uint8_t data[];
};

struct mstream {
	uint64_t end, next_seq, lost;
	struct mpage *head, *tail;
	struct evlog_cursor *cur; /* over head; NULL until the stream's first held page */
	bool lost_due;            /* head's loss comes before its first event */
};

struct mkey {
	uint64_t time;
	uint32_t stream;
};

struct evlog_merge {
	uint64_t lag;
	ev_sink_fn *fn, *early;
	evlog_user_fn *user;
	void *arg;
	struct evlog_meta meta;
	uint64_t meta_seq;
	bool have_prefix, swap;
	struct mstream *s;        /* [0] unused */
	uint32_t n_streams;
	struct mkey *heap;        /* streams that hold events, the earliest first */
	uint32_t n_heap;
	uint32_t slowest;         /* the stream whose end is the smallest */
	uint64_t newest;          /* time of the last event that came out */
	struct evlog_merge_stats st;
	struct evlog_cursor early_cur;
	struct evlog_scratch scratch;
};

int evlog_merge_new(struct evlog_merge **ret, uint64_t lag_ns, ev_sink_fn *fn, ev_sink_fn *early, void *arg)
{
	struct evlog_merge *m;

	if (!fn)
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->lag = lag_ns;
	m->fn = fn;
	m->early = early;
	m->arg = arg;
	*ret = m;
	return 0;
}

void evlog_merge_set_user(struct evlog_merge *m, evlog_user_fn *user)
{
	m->user = user;
}

static void streams_done(struct evlog_merge *m)
{
	for (uint32_t i = 0; i <= m->n_streams && m->s; i++) {
		struct mpage *p = m->s[i].head, *next;
		for (; p; p = next) {
			next = p->next;
			free(p);
		}
		free(m->s[i].cur);
	}
	free(m->s);
	free(m->heap);
	m->s = NULL;
	m->heap = NULL;
	m->n_streams = m->n_heap = m->slowest = 0;
	m->st.held_bytes = 0;
}

void evlog_merge_free(struct evlog_merge *m)
{
	if (!m)
		return;
	streams_done(m);
	evlog_meta_done(&m->meta);
	free(m);
}

/* --- heap of streams ----------------------------------------------------------------------------------- */
static inline bool key_before(const struct mkey *a, const struct mkey *b)
{
	return a->time < b->time || (a->time == b->time && a->stream < b->stream);
}

static void heap_down(struct evlog_merge *m, uint32_t i)
{
	struct mkey k = m->heap[i];

	for (;;) {
		uint32_t c = 2 * i + 1;
		if (c >= m->n_heap)
			break;
		if (c + 1 < m->n_heap && key_before(&m->heap[c + 1], &m->heap[c]))
			c++;
		if (!key_before(&m->heap[c], &k))
			break;
		m->heap[i] = m->heap[c];
		i = c;
	}
	m->heap[i] = k;
}

static void heap_push(struct evlog_merge *m, uint64_t time, uint32_t stream)
{
	struct mkey k = { time, stream };
	uint32_t i = m->n_heap++;

	while (i && key_before(&k, &m->heap[(i - 1) / 2])) {
		m->heap[i] = m->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	m->heap[i] = k;
}

/* --- what one stream holds ----------------------------------------------------------------------------- */
static void page_drop(struct evlog_merge *m, struct mstream *s)
{
	struct mpage *p = s->head;

	s->head = p->next;
	if (!s->head)
		s->tail = NULL;
	m->st.held_bytes -= sizeof(*p) + p->pg.used;
	free(p);
}

static void page_bad(struct evlog_merge *m, struct mpage *p)
{
	if (!p->counted_bad)
		m->st.bad_pages++;
	p->counted_bad = true;
}

static void page_open(struct evlog_merge *m, struct mstream *s)
{
	evlog_cursor_init(s->cur, &m->meta, &s->head->pg, s->head->data, m->swap);
	s->cur->skip_early = m->early && s->head->pg.flags & PGF_EARLY;
	s->lost_due = s->head->lost != 0;
}

/* Puts the stream's cursor on its next event, over page borders. False: it holds none. */
static bool stream_step(struct evlog_merge *m, struct mstream *s)
{
	while (s->head) {
		int ret;
		if (s->lost_due)
			return true;
		ret = evlog_cursor_next(s->cur);
		if (ret > 0)
			return true;
		if (ret < 0)
			page_bad(m, s->head);
		page_drop(m, s);
		if (s->head)
			page_open(m, s);
	}
	return false;
}

static inline uint64_t stream_time(const struct mstream *s)
{
	return s->cur->time_ns; /* of a page just opened: its base */
}

/* Gives out the event the cursor stands on. */
static int stream_emit(struct evlog_merge *m, uint32_t stream)
{
	struct mstream *s = &m->s[stream];
	struct ev e;
	int ret;

	if (s->lost_due) {
		s->lost_due = false;
		e = (struct ev){ .type = EV_LOST, .cpu = UINT32_MAX, .time_ns = stream_time(s), .pid = -1, .tid = -1 };
		e.u.lost.count = s->head->lost;
	} else {
		ret = evlog_cursor_decode(s->cur, &e, &m->scratch);
		if (ret == -ENOENT)
			return m->user ? m->user(m->arg, &m->meta, stream, s->cur) : 0;
		if (ret < 0) {
			page_bad(m, s->head);
			s->cur->p = s->cur->end;
			return 0;
		}
	}
	m->st.events++;
	if (e.time_ns < m->newest)
		m->st.late++;
	else
		m->newest = e.time_ns;
	return m->fn(m->arg, &e);
}

/* Everything before `limit`, and beyond it while more than `held` bytes are held. */
static int release(struct evlog_merge *m, uint64_t limit, uint64_t held)
{
	while (m->n_heap) {
		struct mkey *top = &m->heap[0];
		struct mkey second = { UINT64_MAX, UINT32_MAX };
		struct mstream *s = &m->s[top->stream];
		bool more;
		int ret;

		for (uint32_t i = 1; i <= 2 && i < m->n_heap; i++)
			if (key_before(&m->heap[i], &second))
				second = m->heap[i];
		if (top->time >= limit && m->st.held_bytes <= held)
			return 0;
		do {
			if (top->time >= limit)
				m->st.forced++;
			ret = stream_emit(m, top->stream);
			more = stream_step(m, s);
			if (more)
				top->time = stream_time(s);
		} while (!ret && more && key_before(top, &second) && top->time < limit);
		if (!more)
			*top = m->heap[--m->n_heap];
		if (m->n_heap)
			heap_down(m, 0);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static uint64_t watermark(struct evlog_merge *m)
{
	uint64_t end = UINT64_MAX;

	for (uint32_t i = 1; i <= m->n_streams; i++)
		if (m->s[i].end < end) {
			end = m->s[i].end;
			m->slowest = i;
		}
	if (end == UINT64_MAX)
		end = 0;
	end = evlog_meta_ns(&m->meta, end);
	return end > m->lag ? end - m->lag : 0;
}

static int release_ready(struct evlog_merge *m)
{
	uint64_t limit = watermark(m);

	m->st.watermark_ns = MAX(m->st.watermark_ns, limit);
	return release(m, limit, m->st.held_bytes > HELD_MAX ? HELD_MAX / 2 : UINT64_MAX);
}

/* --- what is fed --------------------------------------------------------------------------------------- */
static int streams_grow(struct evlog_merge *m, uint32_t n)
{
	struct mstream *s;
	struct mkey *h;

	if (n <= m->n_streams && m->s)
		return 0;
	s = realloc(m->s, (n + (size_t)1) * sizeof(*s));
	if (!s)
		return -ENOMEM;
	memset(s + (m->s ? m->n_streams + 1 : 0), 0, (n - (m->s ? m->n_streams : (uint32_t)-1)) * sizeof(*s));
	m->s = s;
	h = realloc(m->heap, (n + (size_t)1) * sizeof(*h));
	if (!h)
		return -ENOMEM;
	m->heap = h;
	m->n_streams = n;
	return 0;
}

static int feed_prefix(struct evlog_merge *m, const void *data, size_t len)
{
	size_t n;
	bool swap;
	int ret = evlog_prefix_parse(data, len, &n, &swap);

	if (ret < 0)
		return ret == -EAGAIN ? -EBADMSG : ret;
	ret = evlog_merge_finish(m); /* of the log before, if one was */
	streams_done(m);
	evlog_meta_done(&m->meta);
	m->meta_seq = 0;
	m->swap = swap;
	m->have_prefix = true;
	m->st.closed = false;
	return ret;
}

static int feed_meta(struct evlog_merge *m, const struct evlog_page *pg, const uint8_t *data)
{
	uint64_t bad = m->meta.bad;
	int ret;

	if (pg->seq < m->meta_seq)
		goto refuse;
	if (pg->seq != m->meta_seq)
		m->st.bad_meta += pg->seq - m->meta_seq;
	m->meta_seq = pg->seq + 1;
	ret = evlog_meta_feed(&m->meta, data, pg->used, m->swap, pg->flags & PGF_LAST);
	m->st.bad_meta += m->meta.bad - bad;
	m->st.closed = m->meta.closed;
	if (ret == -EBADMSG)
		m->st.bad_pages++;
	if (ret < 0)
		return ret;
	return m->meta.n_streams ? streams_grow(m, m->meta.n_streams) : 0;
refuse:
	m->st.bad_pages++;
	return -EBADMSG;
}

/* The events that the caller wants at once. *others: how many the page has besides. */
static int page_early(struct evlog_merge *m, struct mpage *p, uint64_t *others)
{
	struct evlog_cursor *c = &m->early_cur;
	struct ev e;
	int ret;

	evlog_cursor_init(c, &m->meta, &p->pg, p->data, m->swap);
	while ((ret = evlog_cursor_next(c)) > 0) {
		if (!evlog_id_is_early(c->id)) {
			++*others;
			continue;
		}
		ret = evlog_cursor_decode(c, &e, &m->scratch);
		if (ret < 0)
			break;
		m->st.early++;
		ret = m->early(m->arg, &e);
		if (ret < 0)
			return ret;
	}
	if (ret < 0)
		page_bad(m, p);
	return 0;
}

/* How many records are missing between the stream's last page and this one. */
static uint64_t page_lost(struct mstream *s, const struct evlog_page *pg)
{
	uint64_t lost = pg->lost > s->lost ? pg->lost - s->lost : 0;
	uint64_t pages = pg->seq - s->next_seq;

	s->lost = MAX(s->lost, pg->lost);
	s->next_seq = pg->seq + 1;
	return MAX(lost, pages);
}

static int feed_data(struct evlog_merge *m, const struct evlog_page *pg, const uint8_t *data)
{
	struct mstream *s = &m->s[pg->stream];
	uint64_t others = 0;
	struct mpage *p;
	int ret = 0;

	if (!s->cur) {
		s->cur = malloc(sizeof(*s->cur));
		if (!s->cur)
			return -ENOMEM;
	}
	p = malloc(sizeof(*p) + pg->used);
	if (!p)
		return -ENOMEM;
	*p = (struct mpage){ .pg = *pg, .lost = page_lost(s, pg) };
	memcpy(p->data, data, pg->used);
	s->end = MAX(s->end, pg->end);
	if (m->early && pg->flags & PGF_EARLY)
		ret = page_early(m, p, &others);
	else
		others = pg->used;
	if (!others && !p->lost) {
		free(p);
		return ret;
	}
	m->st.held_bytes += sizeof(*p) + pg->used;
	m->st.most_held = MAX(m->st.most_held, m->st.held_bytes);
	if (s->tail) {
		s->tail->next = p;
		s->tail = p;
		return ret;
	}
	s->head = s->tail = p;
	page_open(m, s);
	if (stream_step(m, s))
		heap_push(m, stream_time(s), pg->stream);
	return ret;
}

static int feed_page(struct evlog_merge *m, const struct evlog_page *pg, const uint8_t *data)
{
	int ret, err;

	if (m->st.closed)
		goto refuse; /* after the end of the log */
	m->st.pages++;
	if (!pg->stream)
		return feed_meta(m, pg, data);
	ret = streams_grow(m, MAX(pg->stream, m->n_streams));
	if (ret < 0)
		return ret;
	if (pg->seq < m->s[pg->stream].next_seq)
		goto refuse; /* the same page twice */
	ret = feed_data(m, pg, data);
	err = release_ready(m);
	return ret < 0 ? ret : err;
refuse:
	m->st.bad_pages++;
	return -EBADMSG;
}

int evlog_merge_feed(struct evlog_merge *m, const void *page, size_t len)
{
	struct evlog_page pg;

	if (len >= 4 && !memcmp(page, "opel", 4))
		return feed_prefix(m, page, len);
	if (!m->have_prefix || len < EVLOG_PAGE_HEADER || evlog_page_parse(page, m->swap, &pg) < 0 ||
	    len < EVLOG_PAGE_HEADER + pg.used) {
		m->st.bad_pages++;
		return -EBADMSG;
	}
	return feed_page(m, &pg, (const uint8_t *)page + EVLOG_PAGE_HEADER);
}

static struct mpage *last_page(const struct evlog_merge *m, uint32_t stream)
{
	return m->s && stream <= m->n_streams ? m->s[stream].tail : NULL;
}

int evlog_merge_feed_cut(struct evlog_merge *m, const void *page, size_t len)
{
	struct evlog_page pg;
	struct mpage *before, *after;
	uint64_t bad = m->st.bad_pages, meta = m->st.bad_meta;
	int ret;

	if (!m->have_prefix || len < EVLOG_PAGE_HEADER || evlog_page_parse(page, m->swap, &pg) < 0)
		return 0;
	pg.used = (uint32_t)MIN(pg.used, (len - EVLOG_PAGE_HEADER) & ~(size_t)3);
	pg.end = pg.base; /* what it promised is not here */
	before = last_page(m, pg.stream);
	ret = feed_page(m, &pg, (const uint8_t *)page + EVLOG_PAGE_HEADER);
	/* Its ragged end is the cut, not a fault of its own. */
	m->st.bad_pages = bad;
	m->st.bad_meta = meta;
	after = last_page(m, pg.stream);
	if (pg.stream && after && after != before)
		after->counted_bad = true;
	return ret == -EBADMSG ? 0 : ret;
}

void evlog_merge_set_lag(struct evlog_merge *m, uint64_t lag_ns)
{
	m->lag = lag_ns;
}

int evlog_merge_finish(struct evlog_merge *m)
{
	int ret = release(m, UINT64_MAX, UINT64_MAX);

	/* An event stamped with the very last time there is: not before any limit. */
	return ret ? ret : release(m, UINT64_MAX, 0);
}

void evlog_merge_stats(const struct evlog_merge *m, struct evlog_merge_stats *ret)
{
	*ret = m->st;
}

const struct evlog_meta *evlog_merge_meta(const struct evlog_merge *m)
{
	return &m->meta;
}

bool evlog_merge_swap(const struct evlog_merge *m)
{
	return m->swap;
}

uint64_t evlog_merge_realtime(const struct evlog_merge *m, uint64_t time_ns)
{
	return m->meta.have_init ? evlog_meta_realtime(&m->meta, time_ns) : 0;
}
