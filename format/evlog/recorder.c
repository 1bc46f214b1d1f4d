/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/evlog/recorder.h"

#include <errno.h>

#include "format/evlog/cursor.h"
#include "lib/io.h"

struct rpage {
	struct rpage *next;
	struct evlog_page pg;
	uint8_t data[];
};
struct rlist {
	struct rpage *head, *tail;
	uint64_t bytes;
};

struct evlog_recorder {
	uint64_t max, history_max;
	struct evlog_meta meta;       /* of the writer that feeds us */
	bool swap, have_prefix;
	struct rlist pages;
	/* What outlives its page goes through a writer of our own into pages again. */
	struct evlog_writer *hist_writer;
	struct evlog_meta hist_meta;
	bool hist_prefix;
	struct rlist history;
	struct evlog_recorder_stats st;
	struct evlog_cursor cur;
	struct evlog_scratch scratch;
};

int evlog_recorder_new(struct evlog_recorder **ret, uint64_t max_bytes, uint64_t history_bytes)
{
	struct evlog_recorder *r;

	if (!max_bytes)
		return -EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->max = max_bytes;
	r->history_max = history_bytes ? history_bytes : max_bytes;
	*ret = r;
	return 0;
}

static void list_drop(struct rlist *l)
{
	struct rpage *p = l->head;

	l->head = p->next;
	if (!l->head)
		l->tail = NULL;
	l->bytes -= sizeof(*p) + p->pg.used;
	free(p);
}

static int list_add(struct rlist *l, const struct evlog_page *pg, const uint8_t *data)
{
	struct rpage *p = malloc(sizeof(*p) + pg->used);

	if (!p)
		return -ENOMEM;
	p->next = NULL;
	p->pg = *pg;
	memcpy(p->data, data, pg->used);
	if (l->tail)
		l->tail->next = p;
	else
		l->head = p;
	l->tail = p;
	l->bytes += sizeof(*p) + pg->used;
	return 0;
}

void evlog_recorder_free(struct evlog_recorder *r)
{
	if (!r)
		return;
	while (r->pages.head)
		list_drop(&r->pages);
	while (r->history.head)
		list_drop(&r->history);
	evlog_writer_free(r->hist_writer);
	evlog_meta_done(&r->meta);
	evlog_meta_done(&r->hist_meta);
	free(r);
}

/* Pages of the history writer. */
static int history_page(void *arg, const void *page, size_t len)
{
	struct evlog_recorder *r = arg;
	struct evlog_page pg;
	const uint8_t *data = (const uint8_t *)page + EVLOG_PAGE_HEADER;
	int ret;

	if (!r->hist_prefix) {
		r->hist_prefix = true;
		return 0;
	}
	if (evlog_page_parse(page, false, &pg) < 0)
		return -EBADMSG;
	if (!pg.stream)
		return evlog_meta_feed(&r->hist_meta, data, pg.used, false, false);
	ret = list_add(&r->history, &pg, data);
	while (!ret && r->history.bytes > r->history_max && r->history.head != r->history.tail) {
		struct rpage *p = r->history.head;
		evlog_cursor_init(&r->cur, &r->hist_meta, &p->pg, p->data, false);
		while (evlog_cursor_next(&r->cur) > 0)
			r->st.history_dropped++;
		list_drop(&r->history);
	}
	return ret;
}

/* The oldest page goes: what is not a sample in it is written to the history. */
static int recorder_forget(struct evlog_recorder *r)
{
	struct rpage *p = r->pages.head;
	struct evlog_cursor *c = calloc(1, sizeof(*c));
	struct ev e;
	int ret = 0;

	if (!c)
		return -ENOMEM;
	evlog_cursor_init(c, &r->meta, &p->pg, p->data, r->swap);
	while (!ret && evlog_cursor_next(c) > 0) {
		if (evlog_cursor_decode(c, &e, &r->scratch) < 0)
			continue;
		if (e.type == EV_SAMPLE || e.type == EV_SYNC || e.type == EV_THROTTLE || e.type == EV_LOST)
			r->st.overwritten += e.type == EV_SAMPLE;
		else
			ret = evlog_write(r->hist_writer, p->pg.stream, &e);
	}
	free(c);
	list_drop(&r->pages);
	return ret == -E2BIG ? 0 : ret;
}

static int recorder_begin(struct evlog_recorder *r)
{
	struct evlog_writer_opts o = { .page_size = r->meta.page_size, .n_streams = r->meta.n_streams,
				       .page = history_page, .arg = r, .anchor_mono_ns = r->meta.anchor_mono,
				       .anchor_real_ns = r->meta.anchor_real, .machine = r->meta.machine };
	if (r->hist_writer || !r->meta.have_init)
		return 0;
	return evlog_writer_new(&r->hist_writer, &o);
}

int evlog_recorder_page(void *arg, const void *page, size_t len)
{
	struct evlog_recorder *r = arg;
	const uint8_t *data = (const uint8_t *)page + EVLOG_PAGE_HEADER;
	struct evlog_page pg;
	size_t prefix;
	int ret;

	if (!r->have_prefix) {
		ret = evlog_prefix_parse(page, len, &prefix, &r->swap);
		r->have_prefix = !ret;
		return ret;
	}
	if (len < EVLOG_PAGE_HEADER || evlog_page_parse(page, r->swap, &pg) < 0 || len < EVLOG_PAGE_HEADER + pg.used)
		return -EBADMSG;
	if (!pg.stream) {
		ret = evlog_meta_feed(&r->meta, data, pg.used, r->swap, pg.flags & PGF_LAST);
		return ret ? ret : recorder_begin(r);
	}
	if (!r->hist_writer || pg.stream > r->meta.n_streams) /* no first record, or one that no writer could take */
		return -EBADMSG;
	if (!pg.used)
		return 0;
	ret = list_add(&r->pages, &pg, data);
	while (!ret && r->pages.bytes > r->max)
		ret = recorder_forget(r);
	return ret;
}

static int save_list(struct evlog_recorder *r, struct rlist *l, const struct evlog_meta *meta, bool swap,
		     struct evlog_writer *w)
{
	int ret = 0;

	for (struct rpage *p = l->head; p && !ret; p = p->next) {
		struct ev e;
		evlog_cursor_init(&r->cur, meta, &p->pg, p->data, swap);
		while (!ret && evlog_cursor_next(&r->cur) > 0)
			if (!evlog_cursor_decode(&r->cur, &e, &r->scratch))
				ret = evlog_write(w, p->pg.stream, &e);
		if (!ret)
			ret = evlog_writer_sync(w, p->pg.stream, evlog_meta_ns(meta, p->pg.end));
	}
	return ret;
}

int evlog_recorder_save(struct evlog_recorder *r, evlog_page_fn *fn, void *arg)
{
	struct evlog_writer_opts o = { .page_size = r->meta.page_size, .n_streams = r->meta.n_streams, .page = fn,
				       .arg = arg, .anchor_mono_ns = r->meta.anchor_mono,
				       .anchor_real_ns = r->meta.anchor_real, .machine = r->meta.machine };
	struct evlog_writer *w = NULL;
	uint32_t syncs = 0;
	uint64_t end = 0;
	int ret;

	if (!r->hist_writer)
		return -ENODATA;
	/* The history's open pages come out too. */
	for (uint32_t i = 1; i <= r->meta.n_streams; i++) {
		ret = evlog_writer_sync(r->hist_writer, i, 0);
		if (ret < 0)
			return ret;
	}
	ret = evlog_writer_new(&w, &o);
	if (ret < 0)
		return ret;
	ret = evlog_meta_copy_syncs(&r->meta, &syncs, w);
	if (!ret)
		ret = save_list(r, &r->history, &r->hist_meta, false, w);
	if (!ret)
		ret = save_list(r, &r->pages, &r->meta, r->swap, w);
	for (struct rpage *p = r->pages.head; p; p = p->next)
		end = MAX(end, evlog_meta_ns(&r->meta, p->pg.end));
	for (uint32_t i = 1; i <= r->meta.n_streams && !ret; i++)
		ret = evlog_writer_sync(w, i, end);
	if (!ret)
		ret = evlog_writer_finish(w);
	evlog_writer_free(w);
	return ret;
}

void evlog_recorder_stats(const struct evlog_recorder *r, struct evlog_recorder_stats *ret)
{
	*ret = r->st;
	ret->held_bytes = r->pages.bytes;
	ret->history_bytes = r->history.bytes;
}

int evlog_fd_page(void *fd, const void *page, size_t len)
{
	return io_write_full(*(int *)fd, page, len);
}
