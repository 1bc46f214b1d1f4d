/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the event log costs, in one process and one run: the clock read, a plain memcpy ring, our ring, LTTng-UST if it
 * was built in and traces are on; then the single-threaded writer, the merge and the record-wise reader.
 * evlog MILLIONS THREADS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "format/evlog/evlog.h"
#include "format/evlog/pmclog.h"
#include "format/evlog/ring.h"
#include "lib/io.h"
#include "lib/strbuf.h"

#ifdef BENCH_LTTNG
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "bench/evlog-lttng.h"
#endif

struct payload {
	uint64_t a, b;
};
struct job {
	const char *what;
	void (*fn)(struct job *j);
	uint64_t n, sum;
	double ns;
	struct opevlog_ring *ring;
	uint8_t *plain;
	bool tsc;
} __attribute__((aligned(128))); /* of one thread each: no cache line of two */

static double cpu_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void do_clock(struct job *j)
{
	for (uint64_t i = 0; i < j->n; i++)
		j->sum += util_now_ns();
}
#define PLAIN_SIZE (1u << 20)
static void do_plain(struct job *j)
{
	uint32_t at = 0;

	for (uint64_t i = 0; i < j->n; i++) {
		struct { uint64_t time; struct payload p; } e = { util_now_ns(), { i, i } };
		memcpy(j->plain + at, &e, sizeof(e));
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		at = at + 2 * sizeof(e) > PLAIN_SIZE ? 0 : at + (uint32_t)sizeof(e);
	}
}
static void do_ring(struct job *j)
{
	for (uint64_t i = 0; i < j->n; i++) {
		struct payload p = { i, i };
		j->sum += (uint64_t)opevlog_write(j->ring, 18, &p, sizeof(p));
	}
}
#ifdef BENCH_LTTNG
static void do_lttng(struct job *j)
{
	for (uint64_t i = 0; i < j->n; i++)
		lttng_ust_tracepoint(opjit_bench, tick, i, i);
}
#endif

static void *job_main(void *arg)
{
	struct job *j = arg;
	double t = cpu_ns();

	j->fn(j);
	j->ns = (cpu_ns() - t) / (double)j->n;
	return NULL;
}

/* What is compared takes turns: a machine that is slower for a while is so for all. The median of the rounds counts. */
#define ROUNDS 31
struct cost {
	const char *what;
	void (*fn)(struct job *);
	bool tsc;
	struct job j[16];
	double ns[ROUNDS];
};

static void cost_init(struct cost *c, int threads)
{
	for (int i = 0; i < threads; i++) {
		struct opevlog_ring_opts o = { .size = sizeof(o), .n_pages = 64, .stream = (uint32_t)i + 1, .overwrite = 1, .tsc = c->tsc, .words = { 4 } };
		size_t bytes = opevlog_ring_bytes(&o);
		void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		c->j[i] = (struct job){ .fn = c->fn, .ring = opevlog_ring_make(mem, bytes, &o) };
		c->j[i].plain = mmap(NULL, PLAIN_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	}
}

/* Nanoseconds of CPU an event, the mean of the threads. */
static double cost_round(struct cost *c, uint64_t n, int threads)
{
	pthread_t t[16];
	double ns = 0;

	for (int i = 0; i < threads; i++) {
		c->j[i].n = n;
		pthread_create(&t[i], NULL, job_main, &c->j[i]);
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(t[i], NULL);
		ns += c->j[i].ns;
	}
	return ns / threads;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double cost_print(struct cost *c, int threads)
{
	qsort(c->ns, ROUNDS, sizeof(c->ns[0]), by_value);
	printf("%-34s %d thread%s %8.1f ns an event (half of the rounds %.1f to %.1f)\n", c->what, threads, threads == 1 ? " " : "s",
	       c->ns[ROUNDS / 2], c->ns[ROUNDS / 4], c->ns[ROUNDS * 3 / 4]);
	return c->ns[ROUNDS / 2];
}

/* --- the log of samples -------------------------------------------------------------------------------- */
static int to_buf(void *arg, const void *page, size_t len)
{
	return strbuf_add(arg, page, len);
}
static int count(void *arg, const struct ev *e)
{
	*(uint64_t *)arg += e->u.sample.ip | 1;
	return 0;
}

static void log_rates(uint64_t n)
{
	struct strbuf sb = STRBUF_INIT_CAP((size_t)2 << 30);
	struct evlog_writer_opts o = { .n_streams = 2, .page = to_buf, .arg = &sb };
	struct evlog_writer *w = NULL;
	struct evlog_merge *m = NULL;
	static struct pmclog_ev ev;
	uint64_t sum = 0, seen = 0;
	FILE *f;
	double t;
	void *p;

	strbuf_reserve(&sb, n * 14);
	memset(sb.buf, 0, n * 14); /* so that no page fault is measured */
	evlog_writer_new(&w, &o);
	t = cpu_ns();
	for (uint64_t i = 0; i < n; i++) {
		struct ev e = { .type = EV_SAMPLE, .cpu = i & 1, .time_ns = i * 1000, .pid = 100, .tid = (int32_t)(100 + (i >> 6) % 20) };
		e.u.sample.ip = 0x7f0000000000 + (i * 7919 & 0xffffff);
		e.u.sample.period = 1000000;
		e.u.sample.mode = EV_USER;
		evlog_write(w, 1 + (i & 1), &e);
		if (i % 100000 == 99999) {
			evlog_writer_sync(w, 1, e.time_ns);
			evlog_writer_sync(w, 2, e.time_ns);
		}
	}
	evlog_writer_finish(w);
	t = cpu_ns() - t;
	printf("%-34s %8.1f M samples/s, %.1f bytes a sample\n", "single-threaded writer", (double)n / t * 1e3, (double)sb.len / (double)n);
	f = tmpfile();
	fwrite(sb.buf, 1, sb.len, f);
	rewind(f);
	t = cpu_ns();
	evlog_merge_new(&m, 0, count, NULL, &sum);
	evlog_replay_fd(fileno(f), m, NULL, NULL);
	evlog_merge_finish(m);
	t = cpu_ns() - t;
	struct evlog_merge_stats st;
	evlog_merge_stats(m, &st);
	printf("%-34s %8.1f M samples/s, file read, merge of 2 streams and decoding\n", "replay", (double)st.events / t * 1e3);
	rewind(f);
	t = cpu_ns();
	p = pmclog_open(fileno(f));
	while (!pmclog_read(p, &ev))
		seen++;
	t = cpu_ns() - t;
	printf("%-34s %8.1f M records/s\n", "pmclog_read", (double)seen / t * 1e3);
	pmclog_close(p);
	fclose(f);
	evlog_merge_free(m);
	evlog_writer_free(w);
	strbuf_done(&sb);
}

int main(int argc, char **argv)
{
	uint64_t n = 5, threads = 1;
	static struct cost costs[] = {
		{ .what = "clock read", .fn = do_clock },
		{ .what = "clock read + memcpy into a ring", .fn = do_plain },
		{ .what = "our ring, 16 bytes, 20 in the log", .fn = do_ring },
#ifdef BENCH_LTTNG
		{ .what = "LTTng-UST", .fn = do_lttng },
#endif
		{ .what = "our ring, stamped by the counter", .fn = do_ring, .tsc = true },
	};
	size_t n_costs = ARRAY_SIZE(costs) - !io_clock_is_tsc();
	double over[ROUNDS], ns[ARRAY_SIZE(costs)];

	if (argc > 2 && (util_parse_u64(argv[1], 10, 1000, &n) || util_parse_u64(argv[2], 10, 16, &threads)))
		return 2;
	n *= 1000000;
	for (size_t i = 0; i < n_costs; i++)
		cost_init(&costs[i], (int)threads);
	for (unsigned int r = 0; r < ROUNDS; r++) {
		for (size_t i = 0; i < n_costs; i++)
			costs[i].ns[r] = cost_round(&costs[i], n / ROUNDS, (int)threads);
		over[r] = costs[2].ns[r] - costs[0].ns[r];
	}
	for (size_t i = 0; i < n_costs; i++)
		ns[i] = cost_print(&costs[i], (int)threads);
	qsort(over, ROUNDS, sizeof(over[0]), by_value);
	printf("%-34s %18.1f ns over the clock read (aim: 15; half of the rounds %.1f to %.1f)\n", "our ring", over[ROUNDS / 2], over[ROUNDS / 4],
	       over[ROUNDS * 3 / 4]);
#ifdef BENCH_LTTNG
	printf("%-34s %18.2f times our ring's\n", "LTTng-UST", ns[3] / ns[2]);
#else
	(void)ns;
#endif
	if (threads == 1)
		log_rates(n);
	return 0;
}
