/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The event log's writer, merge and replay against a plain sort of the same events. */
#include <errno.h>
#include <stdio.h>

#include "format/evlog/merge.h"
#include "lib/tap.h"
#include "tests/unit/evlog-gen.h"

static struct blocks *blocks_new(void)
{
	struct blocks *b = calloc(1, sizeof(*b));
	b->bytes.cap = (size_t)1 << 30;
	return b;
}
static void blocks_free(struct blocks *b)
{
	strbuf_done(&b->bytes);
	free(b);
}

struct sink {
	struct strbuf late, early;
	uint64_t events, last;
	bool backwards;
};
static int sink_fn(void *arg, const struct ev *e)
{
	struct sink *s = arg;
	s->events++;
	s->backwards |= e->time_ns < s->last;
	s->last = e->time_ns;
	return lines_add(&s->late, e);
}
static int sink_early(void *arg, const struct ev *e)
{
	struct sink *s = arg;
	return lines_add(&s->early, e);
}
static void sink_init(struct sink *s)
{
	*s = (struct sink){ .late = STRBUF_INIT_CAP((size_t)1 << 30), .early = STRBUF_INIT_CAP((size_t)1 << 30) };
}
static void sink_done(struct sink *s)
{
	strbuf_done(&s->late);
	strbuf_done(&s->early);
}

static struct evlog_writer *writer(struct blocks *b, uint32_t page, uint32_t streams, bool other)
{
	struct evlog_writer *w = NULL;
	struct evlog_writer_opts o = { .page_size = page, .n_streams = streams, .page = blocks_add, .arg = b,
				       .anchor_mono_ns = 5, .anchor_real_ns = 1000, .machine = "m", .other_order = other };
	is_int(0, evlog_writer_new(&w, &o), "writer for pages of %u", page);
	return w;
}

/* Every type, every field, there and back. */
static void test_round_trip(uint32_t page, bool other, uint32_t frames, bool early)
{
	struct blocks *b = blocks_new();
	struct gen *g = calloc(1, sizeof(*g));
	struct evlog_writer *w = writer(b, page, 1, other);
	struct evlog_merge *m = NULL;
	struct evlog_merge_stats st;
	struct strbuf want = STRBUF_INIT_CAP((size_t)1 << 30), want_early = STRBUF_INIT_CAP((size_t)1 << 30);
	struct sink s;
	uint64_t t = 1000;
	int bad = 0;

	sink_init(&s);
	g->seed = page + other;
	for (int i = 0; i < 20000; i++) {
		struct ev e;
		bool is_early;
		gen_event(g, &e, 0, frames);
		t += gen_below(g, 10) ? gen_below(g, 3000) : gen_below(g, 100) ? 0 : gen_u64(g) >> 30;
		e.time_ns = t;
		bad += evlog_write(w, 1, &e) != 0;
		is_early = early && (e.type == EV_JIT || e.type == EV_JITSRC || e.type == EV_PROC || e.type == EV_EVENTDESC);
		lines_add(is_early ? &want_early : &want, &e);
	}
	is_int(0, bad, "all were taken");
	is_int(0, evlog_writer_finish(w), "finished");
	is_int(0, evlog_merge_new(&m, 0, sink_fn, early ? sink_early : NULL, &s), "merge");
	bad = 0;
	for (size_t i = 0; i < b->n; i++)
		bad += evlog_merge_feed(m, b->bytes.buf + b->at[i], blocks_len(b, i)) != 0;
	is_int(0, bad, "every block was taken");
	is_int(0, evlog_merge_finish(m), "merge finished");
	evlog_merge_stats(m, &st);
	ok(st.closed && !st.bad_pages && !st.bad_meta && !st.late, "nothing was refused, the end was seen");
	ok(!s.late.error && want.len == s.late.len && !memcmp(want.buf, s.late.buf, want.len),
	   "20000 events of all types, pages of %u, %s order: same fields", page, other ? "other" : "own");
	ok(want_early.len == s.early.len && (!want_early.len || !memcmp(want_early.buf, s.early.buf, want_early.len)),
	   "early ones too");
	evlog_merge_free(m);
	evlog_writer_free(w);
	strbuf_done(&want);
	strbuf_done(&want_early);
	sink_done(&s);
	free(g);
	blocks_free(b);
}

struct key {
	uint64_t time;
	uint32_t stream, pos;
	char *line;
};
static int key_cmp(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return x->pos < y->pos ? -1 : x->pos > y->pos;
}

#define STREAMS 9
/* Rounds as the pipeline makes them: each cpu is drained, then synced. */
static struct key *make_log(struct blocks *b, size_t n, uint32_t page, bool finish)
{
	struct key *keys = calloc(n, sizeof(*keys));
	struct gen *g = calloc(1, sizeof(*g));
	struct evlog_writer *w = writer(b, page, STREAMS, false);
	uint64_t last[STREAMS + 1] = { 0 }, round = 1000;
	AUTO_STRBUF sb = STRBUF_INIT;
	size_t i = 0;

	g->seed = n;
	while (i < n) {
		uint64_t next = round + 100000;
		for (uint32_t s = 1; s <= STREAMS; s++) {
			uint32_t some = gen_below(g, 60);
			last[s] = MAX(last[s], round);
			while (some-- && i < n) {
				struct ev e;
				gen_event(g, &e, gen_below(g, 3) ? EV_SAMPLE : 0, 12);
				if (e.type == EV_JIT || e.type == EV_JITSRC || e.type == EV_PROC || e.type == EV_EVENTDESC)
					e.type = EV_EXIT;
				last[s] += gen_below(g, 4000);
				last[s] = MIN(next - 1, last[s]);
				e.time_ns = last[s];
				evlog_write(w, s, &e);
				strbuf_reset(&sb);
				lines_add(&sb, &e);
				keys[i] = (struct key){ e.time_ns, s, (uint32_t)i, strdup(sb.buf) };
				i++;
			}
			evlog_writer_sync(w, s, next);
		}
		round = next;
	}
	if (finish)
		evlog_writer_finish(w);
	evlog_writer_free(w);
	free(g);
	return keys;
}
static void keys_free(struct key *k, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(k[i].line);
	free(k);
}

static void test_merge(uint64_t lag)
{
	const size_t n = 30000;
	struct blocks *b = blocks_new();
	struct key *k = make_log(b, n, 4096, true);
	struct evlog_merge *m = NULL;
	struct evlog_merge_stats st;
	struct strbuf want = STRBUF_INIT_CAP((size_t)1 << 30);
	struct sink s;
	uint64_t before_end, bad_blocks = 9, cut = 9;
	char name[] = "/tmp/test-evlog-XXXXXX";
	int fd;

	qsort(k, n, sizeof(*k), key_cmp);
	for (size_t i = 0; i < n; i++)
		strbuf_addstr(&want, k[i].line);
	sink_init(&s);
	evlog_merge_new(&m, lag, sink_fn, NULL, &s);
	for (size_t i = 0; i < b->n; i++)
		if (evlog_merge_feed(m, b->bytes.buf + b->at[i], blocks_len(b, i)))
			ok(false, "block %zu refused", i);
	before_end = s.events;
	evlog_merge_finish(m);
	evlog_merge_stats(m, &st);
	ok(!s.backwards && !st.late, "time never goes back");
	ok(want.len == s.late.len && !memcmp(want.buf, s.late.buf, want.len), "%zu events of %d streams, lag %llu: in order of (time, stream, position)",
	   n, STREAMS, (unsigned long long)lag);
	ok(lag ? before_end < n : before_end == n, "the watermark holds back %zu", n - (size_t)before_end);
	ok(st.most_held < (16 + lag / 100000) * 100000, "holds pages of a few rounds only: %llu bytes", (unsigned long long)st.most_held);
	evlog_merge_free(m);
	/* the file gives the same */
	fd = mkstemp(name);
	unlink(name);
	ok(write(fd, b->bytes.buf, b->bytes.len) == (ssize_t)b->bytes.len, "wrote %zu bytes, %.1f an event", b->bytes.len, (double)b->bytes.len / (double)n);
	lseek(fd, 0, SEEK_SET);
	struct sink r;
	sink_init(&r);
	evlog_merge_new(&m, lag, sink_fn, NULL, &r);
	is_int(0, evlog_replay_fd(fd, m, &bad_blocks, &cut), "replayed");
	evlog_merge_finish(m);
	ok(!bad_blocks && cut == UINT64_MAX, "whole");
	ok(r.late.len == s.late.len && !memcmp(r.late.buf, s.late.buf, r.late.len), "replay gives what the live run gave");
	evlog_merge_free(m);
	close(fd);
	sink_done(&r);
	sink_done(&s);
	strbuf_done(&want);
	keys_free(k, n);
	blocks_free(b);
}

static int replay_bytes(const char *data, size_t len, struct sink *s, uint64_t *bad, uint64_t *cut)
{
	static int fd = -1;
	struct evlog_merge *m = NULL;
	int ret;

	if (fd < 0) {
		char name[] = "/tmp/test-evlog-XXXXXX";
		fd = mkstemp(name);
		unlink(name);
	}
	if (ftruncate(fd, 0) || pwrite(fd, data, len, 0) != (ssize_t)len)
		return -EIO;
	lseek(fd, 0, SEEK_SET);
	evlog_merge_new(&m, 0, sink_fn, NULL, s);
	ret = evlog_replay_fd(fd, m, bad, cut);
	evlog_merge_finish(m);
	evlog_merge_free(m);
	return ret;
}

static int plain_event(struct evlog_writer *w, uint32_t stream, uint64_t t, uint64_t ip)
{
	struct ev e = { .type = EV_SAMPLE, .cpu = stream - 1, .time_ns = t, .pid = 7, .tid = 8 };
	e.u.sample.ip = ip;
	e.u.sample.period = 1000;
	e.u.sample.mode = EV_USER;
	return evlog_write(w, stream, &e);
}

static void test_truncation(void)
{
	struct blocks *b = blocks_new();
	struct evlog_writer *w = writer(b, 4096, 1, false);
	size_t ends[60], n = 0, n_ends = 0, data_page = 0;
	int wrong = 0;

	for (uint64_t i = 0; i < 40; i++) {
		plain_event(w, 1, 100 + i, 0x1000 + i);
		if (i % 10 == 9)
			evlog_writer_sync(w, 1, 100 + i);
	}
	evlog_writer_finish(w);
	evlog_writer_free(w);
	/* where each sample ends: 48 + 32 (context) + 12 each */
	for (size_t i = 0; i < b->n; i++) {
		if (blocks_len(b, i) != ALIGN_UP(48 + 32 + 10 * 12, 8))
			continue;
		data_page++;
		for (size_t k = 1; k <= 10; k++)
			ends[n_ends++] = b->at[i] + 48 + 32 + 12 * k;
	}
	is_int(4, data_page, "four pages of ten samples");
	for (size_t len = 0; len <= b->bytes.len; len++) {
		struct sink s;
		uint64_t bad = 0, cut = 0;
		int ret;
		sink_init(&s);
		ret = replay_bytes(b->bytes.buf, len, &s, &bad, &cut);
		for (n = 0; n < n_ends && ends[n] <= len; n++)
			;
		if (len < 16) {
			wrong += ret != -EBADMSG || s.events;
		} else if (ret || bad || s.events != n || cut != (len == b->bytes.len ? UINT64_MAX : len)) {
			if (!wrong++)
				printf("# at %zu: ret %d bad %llu events %llu (want %zu) cut %lld\n", len, ret, (unsigned long long)bad,
				       (unsigned long long)s.events, n, (long long)cut);
		}
		sink_done(&s);
	}
	is_int(0, wrong, "cut at each of %zu bytes: all whole events before it, and its offset", b->bytes.len);
	/* every byte spoilt in turn: at most one page is missing, never silently */
	wrong = 0;
	for (size_t at = 16; at < b->bytes.len; at++) {
		struct sink s;
		uint64_t bad = 0, cut = 0;
		size_t lines;
		sink_init(&s);
		b->bytes.buf[at] ^= 0x5a;
		replay_bytes(b->bytes.buf, b->bytes.len, &s, &bad, &cut);
		b->bytes.buf[at] ^= 0x5a;
		lines = (size_t)s.events;
		if (lines < 30 || lines > 41) {
			if (!wrong++)
				printf("# spoilt at %zu: %zu events, %llu bad\n%s", at, lines, (unsigned long long)bad, strbuf_str(&s.late));
		}
		sink_done(&s);
	}
	is_int(0, wrong, "each byte spoilt in turn: three of four pages come out at least");
	blocks_free(b);
}

/* Behind the end of one log a page of another one's last stream, cut in turn at each byte: the stream does not exist here. */
static void test_cut_after_end(void)
{
	enum { LAST = 4000 };
	struct blocks *b = blocks_new(), *other = blocks_new();
	struct evlog_writer *w = writer(b, 4096, 1, false), *o = writer(other, 4096, LAST, false);
	size_t end, page = 0;
	int wrong = 0;

	plain_event(w, 1, 100, 0x1000);
	evlog_writer_finish(w);
	evlog_writer_free(w);
	plain_event(o, LAST, 100, 0x1000);
	evlog_writer_sync(o, LAST, 100);
	for (size_t i = 0; i < other->n; i++)
		if (blocks_len(other, i) == ALIGN_UP(48 + 32 + 12, 8))
			page = i;
	evlog_writer_finish(o);
	evlog_writer_free(o);
	end = b->bytes.len;
	strbuf_add(&b->bytes, other->bytes.buf + other->at[page], blocks_len(other, page));
	for (size_t len = end; len < b->bytes.len; len++) {
		uint64_t bad = 0, cut = 0;
		struct sink s;

		sink_init(&s);
		wrong += replay_bytes(b->bytes.buf, len, &s, &bad, &cut) || s.events != 1 || cut != (len == end ? UINT64_MAX : len);
		sink_done(&s);
	}
	ok(page && !wrong, "a page cut after the end of the log, of a stream that it does not have: nothing but the place of the cut");
	blocks_free(other);
	blocks_free(b);
}

static void test_bad_page(void)
{
	struct blocks *b = blocks_new();
	struct evlog_writer *w = writer(b, 4096, 2, false);
	struct sink s;
	uint64_t bad, cut;
	size_t victim = 0;

	for (uint64_t i = 0; i < 50; i++) {
		plain_event(w, 1, 100 + i, 0x1000 + i);
		evlog_writer_sync(w, 1, 100 + i);
		evlog_writer_sync(w, 2, 100 + i);
	}
	evlog_writer_finish(w);
	evlog_writer_free(w);
	for (size_t i = 0; i < b->n; i++)
		if (blocks_len(b, i) > 48 && i > b->n / 2 && !victim)
			victim = i;
	/* header spoilt: the page is found missing by its sequence number */
	b->bytes.buf[b->at[victim] + 32] ^= 1;
	sink_init(&s);
	is_int(0, replay_bytes(b->bytes.buf, b->bytes.len, &s, &bad, &cut), "a spoilt header");
	is_int(1, bad, "costs one block");
	is_int(50, s.events, "49 samples and a loss");
	ok(strstr(strbuf_str(&s.late), " lost cpu=-1 pid=-1 tid=-1 count=1\n") != NULL, "the loss is told");
	sink_done(&s);
	b->bytes.buf[b->at[victim] + 32] ^= 1;
	/* body spoilt: a sample of a slot that nobody told */
	memset(b->bytes.buf + b->at[victim] + 48 + 4, 0xff, 1);
	sink_init(&s);
	is_int(0, replay_bytes(b->bytes.buf, b->bytes.len, &s, &bad, &cut), "a spoilt body");
	is_int(1, bad, "costs one page");
	is_int(49, s.events, "49 samples come");
	sink_done(&s);
	blocks_free(b);
}

static void test_lost(void)
{
	struct blocks *b = blocks_new();
	struct evlog_writer *w = writer(b, 4096, 1, false);
	struct ev e = { .type = EV_LOST, .time_ns = 5 };
	struct sink s;
	uint64_t bad, cut;

	plain_event(w, 1, 10, 1);
	evlog_writer_lost(w, 1, 5);
	evlog_writer_sync(w, 1, 20);
	evlog_writer_sync(w, 1, 30);
	evlog_writer_lost(w, 1, 2);
	evlog_writer_sync(w, 1, 30);
	e.time_ns = 25; /* back: raised to 30 */
	e.u.lost.count = 77;
	is_int(0, evlog_write(w, 1, &e), "a time that goes back is taken");
	is_int(-EINVAL, evlog_write(w, 2, &e), "no such stream");
	is_int(-EINVAL, evlog_write(w, 0, &e), "not stream 0");
	evlog_writer_finish(w);
	is_int(-EINVAL, evlog_write(w, 1, &e), "nothing after the end");
	evlog_writer_free(w);
	sink_init(&s);
	replay_bytes(b->bytes.buf, b->bytes.len, &s, &bad, &cut);
	is_str("0.000000010 lost cpu=-1 pid=-1 tid=-1 count=5\n"
	       "0.000000010 sample cpu=0 pid=7 tid=8 ip=0x1 period=1000 event=0 mode=\"user\"\n"
	       "0.000000030 lost cpu=-1 pid=-1 tid=-1 count=2\n"
	       "0.000000030 lost cpu=0 pid=0 tid=0 count=77\n", strbuf_str(&s.late), "losses come in their place");
	sink_done(&s);
	blocks_free(b);
}

static int count_fn(void *arg, const struct ev *e)
{
	++*(uint64_t *)arg;
	return 0;
}
static int merge_page(void *arg, const void *page, size_t len)
{
	return evlog_merge_feed(arg, page, len);
}
/* One stream that is never synced holds nobody back forever, and memory has a bound. */
static void test_stuck(void)
{
	uint64_t n = 0;
	struct evlog_merge *m = NULL;
	struct evlog_merge_stats st;
	struct evlog_writer *w = NULL;

	evlog_merge_new(&m, 0, count_fn, NULL, &n);
	struct evlog_writer_opts o = { .page_size = 65536, .n_streams = 2, .page = merge_page, .arg = m };
	evlog_writer_new(&w, &o);
	for (uint64_t i = 0; i < 8000000; i++)
		plain_event(w, 1, i, i);
	evlog_merge_stats(m, &st);
	ok(n > 1000000, "%llu came out although stream 2 says nothing", (unsigned long long)n);
	ok(st.most_held <= (64 << 20) + 70000, "held at most 64 MiB");
	evlog_writer_finish(w);
	evlog_merge_finish(m);
	is_int(8000000, n, "and the rest at the end");
	evlog_writer_free(w);
	evlog_merge_free(m);
}

static int stop_fn(void *arg, const struct ev *e)
{
	return ++*(int *)arg == 3 ? -ECANCELED : 0;
}
static void test_sink_error(void)
{
	struct evlog_merge *m = NULL;
	struct evlog_writer *w = NULL;
	int n = 0;

	evlog_merge_new(&m, 0, stop_fn, NULL, &n);
	struct evlog_writer_opts o = { .n_streams = 1, .page = merge_page, .arg = m };
	evlog_writer_new(&w, &o);
	for (uint64_t i = 0; i < 5; i++)
		plain_event(w, 1, i, i);
	is_int(-ECANCELED, evlog_writer_sync(w, 1, 10), "the sink's error comes back through merge and writer");
	is_int(3, n, "at the third");
	is_int(-ECANCELED, plain_event(w, 1, 11, 1), "and stays");
	evlog_writer_free(w);
	evlog_merge_free(m);
}

/* A wall clock that was set on the way, and a copy of the log that says the same. */
static void test_timesync_wall(bool other)
{
	struct blocks *b = blocks_new(), *copy = blocks_new();
	struct evlog_writer *w = writer(b, 4096, 1, other), *to;
	struct evlog_merge *m = NULL;
	struct sink s;
	uint32_t done = 0;

	sink_init(&s);
	plain_event(w, 1, 100, 1);
	is_int(0, evlog_writer_timesync(w, 200, 5000), "told what the clocks say");
	plain_event(w, 1, 300, 2);
	is_int(0, evlog_writer_timesync(w, 400, 100), "and again: the wall clock was set back");
	is_int(0, evlog_writer_timesync(w, 350, 1), "one from the past");
	evlog_writer_finish(w);
	evlog_merge_new(&m, 0, sink_fn, NULL, &s);
	for (size_t i = 0; i < b->n; i++)
		evlog_merge_feed(m, b->bytes.buf + b->at[i], blocks_len(b, i));
	is_int(0, evlog_merge_finish(m), "read");
	is_int(2, s.events, "events as before");
	ok(evlog_merge_realtime(m, 100) == 1095 && evlog_merge_realtime(m, 199) == 1194, "before the sync by INIT");
	ok(evlog_merge_realtime(m, 200) == 5000 && evlog_merge_realtime(m, 399) == 5199, "then by the sync");
	ok(evlog_merge_realtime(m, 400) == 100 && evlog_merge_realtime(m, 1400) == 1100, "then by the next");
	is_int(2, evlog_merge_meta(m)->n_syncs, "the one from the past was refused");
	to = writer(copy, 4096, 1, !other);
	is_int(0, evlog_meta_copy_syncs(evlog_merge_meta(m), &done, to), "copied");
	is_int(0, evlog_meta_copy_syncs(evlog_merge_meta(m), &done, to), "once");
	evlog_writer_finish(to);
	evlog_merge_free(m);
	evlog_merge_new(&m, 0, sink_fn, NULL, &s);
	for (size_t i = 0; i < copy->n; i++)
		evlog_merge_feed(m, copy->bytes.buf + copy->at[i], blocks_len(copy, i));
	ok(evlog_merge_realtime(m, 250) == 5050 && evlog_merge_meta(m)->n_syncs == 2, "the copy says the same");
	evlog_merge_free(m);
	evlog_writer_free(w);
	evlog_writer_free(to);
	sink_done(&s);
	blocks_free(b);
	blocks_free(copy);
}

static int meta_put(struct evlog_meta *m, uint32_t id, const uint64_t *v, size_t n, uint32_t head)
{
	uint8_t rec[256] = { 0 };
	size_t at = 4;

	wire_st32(rec, id, false);
	if (id == META_INIT) { /* words, version, streams, page size, clock; behind the numbers an empty name */
		uint32_t init[5] = { 5 + 2 * (uint32_t)n + 1, 1, 1, 4096, head };
		memcpy(rec + at, init, sizeof(init));
		at += sizeof(init);
	}
	memcpy(rec + at, v, n * 8);
	at += n * 8 + (id == META_INIT ? 4 : 0);
	return evlog_meta_feed(m, rec, at, false, false);
}

/* Ticks whose frequency was measured in a hurry. */
static void test_timesync_ticks(void)
{
	const uint64_t s = NSEC_PER_SEC;
	struct evlog_meta m = { 0 };
	uint64_t before, last = 0;
	int back = 0;

	is_int(0, meta_put(&m, ID_TIMESYNC, (uint64_t[]){ 1, 1, 1 }, 3, 0), "a sync before INIT");
	is_int(1, m.bad, "is refused");
	is_int(0, meta_put(&m, META_INIT, (uint64_t[]){ 2 * s, 1000, 50, 7000 }, 4, EVLOG_CLOCK_TSC), "INIT: 2 GHz");
	is_int(50 + 10 * s, evlog_meta_ns(&m, 1000 + 20 * s), "ticks by INIT");
	meta_put(&m, ID_TIMESYNC, (uint64_t[]){ 1000 + 20 * s, 50 + 10 * s + 10000000, 9 }, 3, 0);
	is_int(1, m.n_syncs, "a sync: the clock was a thousandth slow");
	is_int(50 + 5 * s, evlog_meta_ns(&m, 1000 + 10 * s), "what was before stays");
	is_int(50 + 10 * s + 10000000, evlog_meta_ns(&m, 1000 + 20 * s), "from then on it is right");
	before = evlog_meta_ns(&m, 1000 + 40 * s) - evlog_meta_ns(&m, 1000 + 20 * s);
	ok(before > 10 * s + 9999000 && before < 10 * s + 10001000, "and goes at the measured speed");
	meta_put(&m, ID_TIMESYNC, (uint64_t[]){ 1000 + 40 * s, 50 + 20 * s, 9 }, 3, 0);
	is_int(2, m.n_syncs, "a sync that finds it ahead");
	for (uint64_t i = 0; i < 600; i++) {
		uint64_t ns = evlog_meta_ns(&m, 1000 + i * s / 10);
		back += ns < last;
		last = ns;
	}
	is_int(0, back, "time does not go back");
	m.bad = 0;
	meta_put(&m, ID_TIMESYNC, (uint64_t[]){ 1000 + 60 * s, 50 + 40 * s, 9 }, 3, 0);
	meta_put(&m, ID_TIMESYNC, (uint64_t[]){ 1000 + 30 * s, 50 + 41 * s, 9 }, 3, 0);
	meta_put(&m, ID_TIMESYNC, (uint64_t[]){ 1000 + 70 * s, 50 + 2 * s, 9 }, 3, 0);
	ok(m.bad == 3 && m.n_syncs == 2, "another speed, and clocks that go back: refused");
	evlog_meta_done(&m);
}

int main(void)
{
	test_timesync_wall(false);
	test_timesync_wall(true);
	test_timesync_ticks();
	test_round_trip(0, false, 1024, true);
	test_round_trip(4096, false, 200, false);
	test_round_trip(65536, true, 60, true);
	test_round_trip(8192, true, 60, false);
	test_merge(0);
	test_merge(300000);
	test_truncation();
	test_cut_after_end();
	test_bad_page();
	test_lost();
	test_stuck();
	test_sink_error();
	return done_testing();
}
