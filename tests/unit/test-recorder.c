/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The flight recorder of pages: the newest samples, and what names them however old it is. */
#include <errno.h>

#include "format/evlog/wire.h"
#include "format/evlog/recorder.h"
#include "lib/tap.h"
#include "tests/unit/evlog-gen.h"

struct got {
	uint64_t samples, first, last, mmaps, jits, bad, back, time;
	struct strbuf bytes;
};
static int got_event(void *arg, const struct ev *e)
{
	struct got *g = arg;

	g->back += e->time_ns < g->time;
	g->time = e->time_ns;
	if (e->type == EV_SAMPLE) {
		if (!g->samples++)
			g->first = e->u.sample.ip;
		g->last = e->u.sample.ip;
	}
	if (e->type == EV_MMAP) {
		char want[40];
		snprintf(want, sizeof(want), "/lib/%llu", (unsigned long long)e->u.mmap.addr);
		g->bad += !e->u.mmap.path || strcmp(want, e->u.mmap.path);
		g->mmaps++;
	}
	g->jits += e->type == EV_JIT && e->u.jit.e.name_len == 3;
	return 0;
}
static int to_bytes(void *arg, const void *page, size_t len)
{
	return strbuf_add(arg, page, len);
}

static void saved(struct evlog_recorder *r, struct got *g)
{
	struct evlog_merge *m = NULL;
	FILE *f = tmpfile();
	uint64_t bad, cut;

	*g = (struct got){ .bytes = STRBUF_INIT_CAP((size_t)1 << 30) };
	is_int(0, evlog_recorder_save(r, to_bytes, &g->bytes), "saved");
	fwrite(g->bytes.buf, 1, g->bytes.len, f);
	rewind(f);
	evlog_merge_new(&m, 0, got_event, NULL, g);
	is_int(0, evlog_replay_fd(fileno(f), m, &bad, &cut), "reads back");
	evlog_merge_finish(m);
	ok(!bad && cut == UINT64_MAX, "whole and closed");
	evlog_merge_free(m);
	fclose(f);
	strbuf_done(&g->bytes);
}

/* A first record whose size of a page no writer takes: it is refused, and so is all that follows. */
struct odd { struct evlog_recorder *r; unsigned int pages, taken; };
static int odd_page(void *arg, const void *page, size_t len)
{
	struct odd *odd = arg;
	uint8_t copy[4096];
	const uint32_t size = 4096, none = 5000;

	if (odd->pages && len <= sizeof(copy)) {
		memcpy(copy, page, len);
		uint8_t *at = memmem(copy + EVLOG_PAGE_HEADER, len - EVLOG_PAGE_HEADER, &size, 4);
		if (odd->pages == 1 && at)
			memcpy(at, &none, 4);
		odd->taken += !evlog_recorder_page(odd->r, copy, len);
	} else {
		odd->taken += !evlog_recorder_page(odd->r, page, len); /* the prefix */
	}
	odd->pages++;
	return 0;
}

static void test_odd_page_size(void)
{
	struct odd odd = { 0 };
	struct evlog_writer_opts o = { .page_size = 4096, .n_streams = 1, .page = odd_page, .arg = &odd };
	struct evlog_writer *w = NULL;

	evlog_recorder_new(&odd.r, 1, 1); /* each page drives out the one before */
	is_int(0, evlog_writer_new(&w, &o), "a log with pages of 5000 bytes");
	for (uint64_t i = 0; i < 3000; i++) {
		struct ev e = { .type = EV_FORK, .pid = 7, .tid = (int32_t)i, .time_ns = i };
		evlog_write(w, 1, &e);
	}
	evlog_writer_finish(w);
	ok(odd.pages > 10 && odd.taken == 1, "its prefix is taken, none of its %u pages", odd.pages - 1);
	is_int(-ENODATA, evlog_recorder_save(odd.r, to_bytes, NULL), "nothing to save");
	evlog_writer_free(w);
	evlog_recorder_free(odd.r);
}

int main(void)
{
	test_odd_page_size();
	struct evlog_recorder *r = NULL;
	struct evlog_recorder_stats st;
	struct evlog_writer *w = NULL;
	struct got g;
	uint64_t t = 0, samples = 0;

	is_int(-EINVAL, evlog_recorder_new(&r, 0, 0), "no room is none");
	is_int(0, evlog_recorder_new(&r, 1 << 20, 0), "one MiB");
	is_int(-ENODATA, evlog_recorder_save(r, to_bytes, NULL), "nothing to save yet");
	struct evlog_writer_opts o = { .page_size = 4096, .n_streams = 3, .page = evlog_recorder_page, .arg = r };
	is_int(0, evlog_writer_new(&w, &o), "writer");
	for (int round = 0; round < 3000; round++) {
		for (uint32_t s = 1; s <= 3; s++) {
			struct ev e = { .type = EV_SAMPLE, .cpu = s - 1, .pid = 7, .tid = 8 };
			for (int i = 0; i < 100; i++) {
				e.time_ns = t + (uint64_t)i * 10;
				e.u.sample.ip = ++samples;
				evlog_write(w, s, &e);
			}
			if (round % 100 == 0) {
				struct ev m = { .type = EV_MMAP, .pid = 7, .time_ns = e.time_ns }, j = { .type = EV_JIT, .pid = 7, .time_ns = e.time_ns };
				char path[40];
				m.u.mmap.addr = (uint64_t)round * 3 + s;
				snprintf(path, sizeof(path), "/lib/%llu", (unsigned long long)m.u.mmap.addr);
				m.u.mmap.path = path;
				evlog_write(w, s, &m);
				j.u.jit.e.name = "abc";
				j.u.jit.e.name_len = 3;
				evlog_write(w, s, &j);
			}
		}
		t += 1000;
		for (uint32_t s = 1; s <= 3; s++)
			evlog_writer_sync(w, s, t);
		if (round == 10) {
			saved(r, &g);
			ok(g.samples == samples && g.first == 1, "all that there was, before it is full");
		}
	}
	saved(r, &g);
	evlog_recorder_stats(r, &st);
	ok(g.last == samples && g.samples > 50000 && g.samples < samples, "the newest %llu samples of %llu", (unsigned long long)g.samples, (unsigned long long)samples);
	is_int(samples, g.samples + st.overwritten, "the others are counted");
	ok(g.mmaps == 90 && !g.bad && g.jits == 90, "every mapping and JIT event, with its strings");
	ok(!g.back, "in order of time");
	ok(st.held_bytes <= 1 << 20, "within its room");
	evlog_writer_finish(w);
	saved(r, &g);
	ok(g.last == samples, "also after the writer's end");
	evlog_writer_free(w);
	evlog_recorder_free(r);
	/* a history that is too small for what happens: old events go, and are counted */
	evlog_recorder_new(&r, 20000, 20000);
	o.arg = r;
	evlog_writer_new(&w, &o);
	for (uint64_t i = 0; i < 20000; i++) {
		struct ev e = { .type = EV_COMM, .pid = 7, .tid = (int32_t)i, .time_ns = i };
		e.u.comm.comm = "name";
		evlog_write(w, 1, &e);
	}
	evlog_writer_sync(w, 1, 20000);
	evlog_recorder_stats(r, &st);
	ok(st.history_dropped > 10000 && st.history_bytes <= 25000, "history keeps its limit");
	saved(r, &g);
	evlog_writer_free(w);
	evlog_recorder_free(r);
	return done_testing();
}
