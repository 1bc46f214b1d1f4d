/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cut and merge: logs into logs, stream by stream. */
#include <errno.h>
#include <string.h>

#include "lib/msg.h"
#include "report/opevlog.h"

/* --- cut ----------------------------------------------------------------------------------------------- */
static int cut_page(struct evwalk *w, const struct options *o, struct evout *out)
{
	static struct evlog_cursor c;
	static struct evlog_scratch s;
	struct ev e;
	int ret = 0;

	evlog_cursor_init(&c, &w->meta, &w->pg, w->body, w->blocks.swap);
	while (!ret && evlog_cursor_next(&c) > 0) {
		if (evlog_cursor_decode(&c, &e, &s) < 0)
			continue;
		if (event_is_state(&e) ? o->filter.to < 0 || ((double)e.time_ns - (double)w->meta.anchor_mono) / 1e9 < o->filter.to :
		    filter_takes(&o->filter, &w->meta, &e))
			ret = evlog_write(out->w, w->pg.stream, &e);
	}
	return ret ? ret : evlog_writer_sync(out->w, w->pg.stream, evlog_meta_ns(&w->meta, w->pg.end));
}

int cmd_cut(const struct options *o, char **files)
{
	struct evout out = { 0 };
	struct evfile f;
	struct evwalk w;
	int ret;

	if (files[1]) {
		msg_error("cut takes one log; merge comes first");
		return -EINVAL;
	}
	ret = evfile_open(&f, files[0]);
	if (ret < 0)
		return ret;
	evwalk_begin(&w, &f);
	ret = evwalk_next(&w);
	if (ret < 0 || !w.meta.have_init) {
		msg_error("%s: offset %zu: not an opel log (hwpmc logs are converted first)", f.name, w.pos);
		ret = -EBADMSG;
	} else {
		uint32_t syncs = 0;
		int err = evout_open(&out, o->output, w.meta.n_streams, &w.meta);
		while (!err && ret > 0) {
			err = evlog_meta_copy_syncs(&w.meta, &syncs, out.w);
			if (err)
				break;
			if (w.pg.stream <= w.meta.n_streams)
				err = cut_page(&w, o, &out);
			ret = err ? err : evwalk_next(&w);
		}
		ret = evout_close(&out, err ? err : ret);
	}
	evwalk_end(&w);
	evfile_close(&f);
	return ret;
}

/* --- merge --------------------------------------------------------------------------------------------- */
struct input {
	struct evfile f;
	struct evwalk w;
	int state;              /* of evwalk_next */
	uint32_t first_stream;  /* its stream 1 becomes this */
	uint32_t sources, events;
	int64_t shift;          /* nanoseconds added to its times */
};

/* Numbers that logs give out for themselves must not meet. */
static int count_numbers(void *arg, const struct ev *e)
{
	struct input *in = arg;

	if (e->type == EV_JITSRC)
		in->sources = MAX(in->sources, e->u.jitsrc.source);
	if (e->type == EV_EVENTDESC)
		in->events = MAX(in->events, e->u.desc.index + 1);
	return 0;
}

static void renumber(struct ev *e, uint32_t sources, uint32_t events, int64_t shift)
{
	e->time_ns = (uint64_t)((int64_t)e->time_ns + shift);
	switch (e->type) {
	case EV_JITSRC:
		e->u.jitsrc.source += sources;
		break;
	case EV_JIT:
		e->u.jit.source += sources;
		e->u.jit.e.time_ns = (uint64_t)((int64_t)e->u.jit.e.time_ns + shift);
		break;
	case EV_EVENTDESC:
		e->u.desc.index += events;
		break;
	case EV_SAMPLE:
		e->u.sample.event += events;
		break;
	}
}

static int merge_page(struct input *in, uint32_t sources, uint32_t events, struct evout *out)
{
	static struct evlog_cursor c;
	static struct evlog_scratch s;
	uint32_t stream = in->first_stream + in->w.pg.stream - 1;
	struct ev e;
	int ret = 0;

	if (in->w.pg.stream > in->w.meta.n_streams)
		return 0;
	evlog_cursor_init(&c, &in->w.meta, &in->w.pg, in->w.body, in->w.blocks.swap);
	while (!ret && evlog_cursor_next(&c) > 0) {
		if (evlog_cursor_decode(&c, &e, &s) < 0)
			continue;
		renumber(&e, sources, events, in->shift);
		ret = evlog_write(out->w, stream, &e);
	}
	return ret ? ret : evlog_writer_sync(out->w, stream, (uint64_t)((int64_t)evlog_meta_ns(&in->w.meta, in->w.pg.end) + in->shift));
}

static int merge_open(struct input *in, const char *name, uint32_t first_stream)
{
	struct evlog_merge *m = NULL;
	int ret = evfile_open(&in->f, name);

	if (ret < 0)
		return ret;
	in->first_stream = first_stream;
	ret = evfile_is_opel(&in->f) ? evfile_merge(&in->f, count_numbers, NULL, in, &m) : -EBADMSG;
	evlog_merge_free(m);
	evwalk_begin(&in->w, &in->f);
	in->state = ret < 0 ? ret : evwalk_next(&in->w);
	if (in->state < 0 || !in->w.meta.have_init) {
		msg_error("%s: not an opel log", name);
		return -EBADMSG;
	}
	return 0;
}

static int merge_run(struct input *in, size_t n, const char *output)
{
	struct evout out;
	uint32_t streams = in[n - 1].first_stream + in[n - 1].w.meta.n_streams - 1;
	uint32_t syncs = 0;
	int ret = evout_open(&out, output, streams, &in[0].w.meta);

	/* Pages go out by the time they begin, so that whoever reads need not hold much. */
	while (!ret) {
		struct input *best = NULL;
		uint64_t best_time = UINT64_MAX;
		uint32_t sources = 0, events = 0, best_sources = 0, best_events = 0;
		for (size_t i = 0; i < n; i++) {
			uint64_t t;
			if (in[i].state > 0) {
				t = (uint64_t)((int64_t)evlog_meta_ns(&in[i].w.meta, in[i].w.pg.base) + in[i].shift);
				if (!best || t < best_time) {
					best = &in[i];
					best_time = t;
					best_sources = sources;
					best_events = events;
				}
			}
			sources += in[i].sources;
			events += in[i].events;
		}
		if (!best)
			break;
		ret = evlog_meta_copy_syncs(&in[0].w.meta, &syncs, out.w); /* of the others the clock may be another */
		if (!ret)
			ret = merge_page(best, best_sources, best_events, &out);
		if (!ret) {
			best->state = evwalk_next(&best->w);
			ret = best->state < 0 ? best->state : 0;
		}
	}
	return evout_close(&out, ret);
}

int cmd_merge(const struct options *o, char **files)
{
	struct input *in;
	size_t n = 0, opened = 0;
	uint32_t stream = 1;
	int ret = 0;

	while (files[n])
		n++;
	in = calloc(n, sizeof(*in));
	if (!in)
		return -ENOMEM;
	for (; opened < n && !ret; opened++) {
		struct input *i = &in[opened];
		ret = merge_open(i, files[opened], stream);
		if (ret < 0)
			continue;
		stream += i->w.meta.n_streams;
		/* Logs of other boots and machines meet by the wall clock; of this boot the shift is next to nothing and
		 * the clock is better than that. */
		i->shift = (int64_t)((i->w.meta.anchor_real - i->w.meta.anchor_mono) - (in[0].w.meta.anchor_real - in[0].w.meta.anchor_mono));
		if (i->shift > -1000000000 && i->shift < 1000000000)
			i->shift = 0;
		if (stream > EVLOG_MAX_STREAMS)
			ret = msg_errno(E2BIG, "%s: too many streams", files[opened]);
	}
	if (!ret)
		ret = merge_run(in, n, o->output);
	for (size_t i = 0; i < opened; i++) {
		evwalk_end(&in[i].w);
		evfile_close(&in[i].f);
	}
	free(in);
	return ret;
}
