/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ring: writers that are interrupted by writers, a reader that is slow, in both modes: written = read + counted.
 * The same with either side killed at any instant. OPJIT_TEST_SECONDS: how long the loads run (default 5 in all;
 * fewer: fewer kills as well).
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "format/evlog/evlog.h"
#include "format/evlog/merge.h"
#include "format/evlog/ring.h"
#include "format/evlog/wire.h"
#include "lib/io.h"
#include "lib/tap.h"

struct payload {
	uint64_t serial, check;
};

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static struct opevlog_ring *ring_new(uint32_t pages, bool overwrite, uint32_t stream, bool tsc)
{
	struct opevlog_ring_opts o = { .size = sizeof(o), .page_size = 4096, .n_pages = pages, .stream = stream,
				       .overwrite = overwrite, .tsc = tsc, .words = { 4 } };
	size_t n = opevlog_ring_bytes(&o);
	return opevlog_ring_make(map(n), n, &o);
}

/* Who wrote an event stands in the two upper bits of its serial: the thread (0), the handler that interrupted it (1), the
 * one that interrupted that (2). The serials of each ascend; between a handler's and those of what it interrupts there
 * is no order: it may come between the choice of a serial and the reservation. */
#define LEVELS 3
#define SERIAL(level, n) ((uint64_t)(level) << 62 | (n))
struct seen {
	uint64_t n, last[LEVELS], time;
	bool torn, order, backwards;
};
static void block_check(const void *page, size_t bytes, struct seen *s)
{
	static __thread struct evlog_cursor c;
	static const struct evlog_meta meta = { .user_words = { [18] = 4 } };
	struct evlog_page pg;
	int ret;

	if (bytes < EVLOG_PAGE_HEADER || evlog_page_parse(page, false, &pg) || pg.block_len != bytes) {
		s->torn = true;
		return;
	}
	evlog_cursor_init(&c, &meta, &pg, (const char *)page + EVLOG_PAGE_HEADER, false);
	while ((ret = evlog_cursor_next(&c)) > 0) {
		struct payload p;
		unsigned int who;
		memcpy(&p, c.body, sizeof(p));
		who = p.serial >> 62;
		if (p.check != ~p.serial || who >= LEVELS) {
			s->torn = true;
			return;
		}
		p.serial &= (1ULL << 62) - 1;
		s->order |= p.serial <= s->last[who];
		s->last[who] = p.serial;
		s->backwards |= c.time_ns < s->time;
		s->time = c.time_ns;
		s->n++;
	}
	s->torn |= ret < 0 || c.clock > pg.end;
}

/* --- one thread ---------------------------------------------------------------------------------------- */
static void put(struct opevlog_ring *r, uint64_t serial)
{
	struct payload p = { serial, ~serial };
	opevlog_write(r, 18, &p, sizeof(p));
}

static void test_simple(void)
{
	struct opevlog_ring_opts bad = { .size = sizeof(bad), .n_pages = 1, .stream = 1 };
	struct opevlog_ring *r = ring_new(4, false, 1, false);
	struct opevlog_ring_stats st;
	struct opevlog_reader rd;
	struct seen s = { 0 };
	const void *page;
	size_t bytes;
	char big[5000] = { 0 };

	is_int(0, opevlog_ring_bytes(&bad), "one page is no ring");
	ok(r && opevlog_ring_attach(r, 1 << 20) == r, "made and attached");
	is_int(0, opevlog_reader_init(&rd, r), "reader");
	is_int(0, opevlog_reader_take(&rd, 0, &page, &bytes), "nothing yet");
	is_int(-EINVAL, opevlog_write(r, 3, "", 0), "an id that is not one's own");
	is_int(-EINVAL, opevlog_write(r, 18, "abcd", 4), "16 bytes were promised");
	is_int(-E2BIG, opevlog_write(r, 19, big, 5000), "more than a page");
	for (uint64_t i = 1; i <= 10; i++)
		put(r, i);
	is_int(0, opevlog_reader_take(&rd, 0, &page, &bytes), "not before the page is closed");
	opevlog_ring_flush(r);
	is_int(1, opevlog_reader_take(&rd, 0, &page, &bytes), "then it is there");
	block_check(page, bytes, &s);
	ok(s.n == 10 && !s.torn && !s.order && !s.backwards, "with its ten events");
	is_int(ALIGN_UP(48 + 10 * 20, 8), bytes, "20 bytes each");
	/* fill it: 4 pages, then the newest are dropped */
	for (uint64_t i = 11; i <= 2000; i++)
		put(r, i);
	opevlog_ring_stats(r, &st);
	opevlog_ring_flush(r);
	while (opevlog_reader_take(&rd, 0, &page, &bytes))
		block_check(page, bytes, &s);
	ok(st.dropped > 0 && s.n + st.dropped == 2000 && s.last[0] < 1000, "read %llu, dropped the newest %llu", (unsigned long long)s.n,
	   (unsigned long long)st.dropped);
	put(r, 3000);
	opevlog_ring_flush(r);
	ok(opevlog_reader_take(&rd, 0, &page, &bytes) == 1 && wire_ld64((const char *)page + PG_LOST, false) == st.dropped,
	   "the next page's header tells how many");
	/* flight recorder */
	r = ring_new(4, true, 1, false);
	opevlog_reader_init(&rd, r);
	s = (struct seen){ 0 };
	for (uint64_t i = 1; i <= 5000; i++)
		put(r, i);
	opevlog_ring_flush(r);
	while (opevlog_reader_take(&rd, 0, &page, &bytes))
		block_check(page, bytes, &s);
	opevlog_ring_stats(r, &st);
	ok(s.last[0] == 5000 && s.n > 600 && s.n + st.overwritten == 5000 && !st.dropped && !s.torn, "flight recorder: read the newest %llu, %llu overwritten",
	   (unsigned long long)s.n, (unsigned long long)st.overwritten);
}

/* --- memory that somebody spoilt ------------------------------------------------------------------------ */
#define POS_AT 8    /* words: of the position, of the first slot; a slot has three */
#define SLOTS_AT 24
#define CONTROL_END 40

struct spoilt {
	size_t taken, ends, refused;
};

static void read_spoilt(const void *ring, struct spoilt *n)
{
	struct opevlog_reader rd;
	const void *page;
	size_t bytes;
	int ret = opevlog_reader_init(&rd, (void *)(uintptr_t)ring);

	n->refused += ret == -EBADMSG;
	for (int i = 0; !ret && i < 20; i++) {
		int got = opevlog_reader_take(&rd, 1, &page, &bytes);
		n->taken += got == 1;
		n->ends += got == 0;
		n->refused += got == -EBADMSG;
		if (got <= 0)
			break;
	}
}

/* Each word that attach does not look at, and the position together with the pages of all slots, is not what a writer makes. */
static void test_spoilt(bool overwrite)
{
	static const uint64_t odd[] = { 0, 1, 5ull << 30, 1ull << 40, UINT64_MAX, UINT64_MAX >> 1, UINT64_MAX << 30, 0x7fffull << 15 };
	struct opevlog_ring_opts o = { .size = sizeof(o), .page_size = 4096, .n_pages = 4, .stream = 1 };
	struct opevlog_ring *r = ring_new(4, overwrite, 1, false);
	size_t bytes = opevlog_ring_bytes(&o), n_odd = sizeof(odd) / sizeof(odd[0]);
	uint64_t *copy = aligned_alloc(64, bytes);
	struct spoilt n = { 0 };

	for (uint64_t i = 1; i <= 2000; i++)
		put(r, i);
	opevlog_ring_flush(r);
	alarm(120); /* who walks to a page far ahead does not come back */
	for (size_t at = POS_AT; at < CONTROL_END; at++) {
		for (size_t v = 0; v < n_odd; v++) {
			memcpy(copy, r, bytes);
			copy[at] = odd[v];
			read_spoilt(copy, &n);
		}
	}
	for (size_t v = 0; v < n_odd * n_odd; v++) {
		memcpy(copy, r, bytes);
		copy[POS_AT] = odd[v % n_odd];
		for (uint64_t i = 0; i < 4; i++)
			copy[SLOTS_AT + 3 * i] = (odd[v / n_odd] & UINT64_MAX << 17) | i;
		read_spoilt(copy, &n);
	}
	alarm(0);
	free(copy);
	ok(n.refused > 0 && n.ends > 0 && n.taken > 0, "%s: spoilt: %zu pages taken, %zu rings read to their end, %zu refused",
	   overwrite ? "flight recorder" : "ring", n.taken, n.ends, n.refused);
}

/* --- threads, each interrupted by a signal handler that writes too ------------------------------------- */
#ifdef __SANITIZE_THREAD__
#define HANDLERS_NEST 0 /* TSan puts a signal off while a handler runs */
#else
#define HANDLERS_NEST 1
#endif
#define WRITERS 8
static volatile bool stop, done;
static __thread struct opevlog_ring *my_ring;
static __thread uint64_t my_serial[LEVELS], my_kicks;
static __thread bool *my_kicked; /* set by a handler that interrupted it */
static __thread unsigned int my_level;

static void handler(int sig)
{
	int e = errno;
	if (!my_ring)
		return;
	my_level++;
	for (int i = 0; i < 3; i++)
		put(my_ring, SERIAL(my_level, ++my_serial[my_level]));
	/* and one more level */
	if (sig == SIGUSR1 && my_kicks++ % 4 == 0)
		raise(SIGUSR2);
	if (my_kicked)
		__atomic_store_n(my_kicked, true, __ATOMIC_RELAXED);
	my_level--;
	errno = e;
}

struct writer {
	pthread_t t;
	struct opevlog_ring *r;
	uint64_t produced;
	bool ready, kicked, tsc;
};

/* Of each thread some events of handlers are read, whatever comes of the kicks: the first of a ring that drops, and the
 * last of a flight recorder. */
static void by_a_handler(void)
{
	my_kicks = 0;
	raise(SIGUSR1);
}
static void *writer_main(void *arg)
{
	struct writer *w = arg;
	uint64_t i = 0;

	my_ring = w->r;
	by_a_handler();
	my_kicked = &w->kicked;
	__atomic_store_n(&w->ready, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		put(w->r, ++i);
	my_kicked = NULL;
	by_a_handler();
	my_ring = NULL;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	opevlog_ring_flush(w->r);
	w->produced = i + my_serial[1] + my_serial[2];
	return NULL;
}
static void *kicker_main(void *arg)
{
	struct writer *w = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		for (int i = 0; i < WRITERS; i++) {
			pthread_kill(w[i].t, SIGUSR1);
			pthread_kill(w[i].t, SIGUSR2);
		}
	return NULL;
}

struct rjob {
	struct writer *w;
	struct opevlog_reader rd[WRITERS];
	struct seen s[WRITERS];
};
static void drain(struct rjob *j)
{
	const void *page;
	size_t bytes;

	for (int i = 0; i < WRITERS; i++)
		while (opevlog_reader_take(&j->rd[i], 0, &page, &bytes) > 0)
			block_check(page, bytes, &j->s[i]);
}
static void *reader_main(void *arg)
{
	struct rjob *j = arg;

	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
		drain(j);
		usleep(2000);
	}
	drain(j);
	return NULL;
}

static void test_threads(bool overwrite, double seconds)
{
	static struct writer w[WRITERS];
	static struct rjob j;
	pthread_t reader, kicker;
	uint64_t produced = 0, read = 0, lost = 0;
	int handled = 0, kicked = 0;
	bool exact = true, torn = false, order = false, backwards = false, comparable = io_clock_is_tsc();

	memset(w, 0, sizeof(w));
	memset(&j, 0, sizeof(j));
	stop = done = false;
	for (int i = 0; i < WRITERS; i++) {
		w[i].tsc = i % 2;
		w[i].r = ring_new(8, overwrite, (uint32_t)i + 1, w[i].tsc);
		opevlog_reader_init(&j.rd[i], w[i].r);
	}
	pthread_create(&reader, NULL, reader_main, &j);
	for (int i = 0; i < WRITERS; i++)
		pthread_create(&w[i].t, NULL, writer_main, &w[i]);
	for (int i = 0; i < WRITERS; i++)
		while (!__atomic_load_n(&w[i].ready, __ATOMIC_ACQUIRE))
			usleep(100);
	pthread_create(&kicker, NULL, kicker_main, w);
	usleep((useconds_t)(seconds * 1e6));
	/* Where the CPUs are busy a thread may not have run since; nor may the one that kicks. */
	for (int i = 0, ms = 0; i < WRITERS && ms < 60000;) {
		if (__atomic_load_n(&w[i].kicked, __ATOMIC_RELAXED)) {
			i++;
		} else {
			usleep(1000);
			ms++;
		}
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(kicker, NULL);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(w[i].t, NULL);
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	pthread_join(reader, NULL);
	for (int i = 0; i < WRITERS; i++) {
		struct opevlog_ring_stats st;
		opevlog_ring_stats(w[i].r, &st);
		exact &= w[i].produced == j.s[i].n + st.dropped + st.overwritten && j.rd[i].bad == 0;
		produced += w[i].produced;
		read += j.s[i].n;
		lost += st.dropped + st.overwritten;
		torn |= j.s[i].torn;
		order |= j.s[i].order;
		backwards |= j.s[i].backwards && (!w[i].tsc || comparable);
		handled += j.s[i].last[1] > 0 && (HANDLERS_NEST ? j.s[i].last[2] > 0 : true);
		kicked += w[i].kicked;
	}
	ok(exact, "%s: written %llu = read %llu + counted %llu, for each of %d writers", overwrite ? "flight recorder" : "dropping",
	   (unsigned long long)produced, (unsigned long long)read, (unsigned long long)lost, WRITERS);
	is_int(WRITERS, handled, "handlers wrote as well%s", HANDLERS_NEST ? ", and handlers of handlers" : "");
	is_int(WRITERS, kicked, "and interrupted each writer");
	ok(!torn, "no event torn");
	ok(!order, "in order");
	ok(!backwards, "time never back%s", comparable ? "" : " (where the counter is no clock, of the rings stamped with the clock)");
}

/* --- interrupted between any two instructions, and twice ------------------------------------------------ */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define HAVE_STEPS 1
static struct {
	struct opevlog_ring *r;
	unsigned int step, first, second;
} stepping;

/* Counts the instructions of opevlog_write and what is inlined there, not those of the clock read. */
static void step_handler(int sig, siginfo_t *si, void *uctx)
{
	uintptr_t ip = (uintptr_t)((ucontext_t *)uctx)->uc_mcontext.gregs[REG_RIP];

	if (ip - (uintptr_t)opevlog_write >= 4096)
		return;
	stepping.step++;
	if (stepping.second && stepping.step >= stepping.second)
		((ucontext_t *)uctx)->uc_mcontext.gregs[REG_EFL] &= ~0x100; /* the rest at full speed */
	if (stepping.step == stepping.first)
		put(stepping.r, SERIAL(1, ++my_serial[1]));
	if (stepping.step == stepping.second)
		put(stepping.r, SERIAL(1, ++my_serial[1]));
}
/* The trap flag: a SIGTRAP after each instruction, from the one after the next. */
#define trap_flag(op) __asm__ __volatile__("sub $128, %%rsp; pushfq; " op ", (%%rsp); popfq; add $128, %%rsp" ::: "memory", "cc")

/* Writes one event and is interrupted after instructions `first` and `second` by a handler that writes. Instructions. */
static unsigned int step_write(struct opevlog_ring *r, unsigned int first, unsigned int second)
{
	stepping.r = r;
	stepping.step = 0;
	stepping.first = first;
	stepping.second = second;
	my_serial[0]++;
	trap_flag("orq $0x100");
	put(r, my_serial[0]);
	trap_flag("andq $~0x100");
	return stepping.step;
}

/* before: events put into the page before the one that is interrupted. reach: how far apart the two interruptions are at most. */
static void test_steps(unsigned int before, bool overwrite, unsigned int reach, const char *where)
{
	struct sigaction sa = { .sa_sigaction = step_handler, .sa_flags = SA_SIGINFO }, old;
	struct opevlog_ring *r = ring_new(4, overwrite, 1, false);
	struct opevlog_reader rd;
	struct opevlog_ring_stats st;
	struct seen s = { 0 };
	unsigned int n, pairs = 0, missing = 0;
	const void *page;
	size_t bytes;

	sigaction(SIGTRAP, &sa, &old);
	opevlog_reader_init(&rd, r);
	memset(my_serial, 0, sizeof(my_serial));
	for (unsigned int i = 0; i < before; i++)
		put(r, ++my_serial[0]);
	n = step_write(r, 0, 0);
	opevlog_ring_flush(r);
	for (unsigned int first = 1; first <= n; first++)
		for (unsigned int second = first; second <= first + reach; second++, pairs++) {
			for (unsigned int i = 0; i < before; i++)
				put(r, ++my_serial[0]);
			step_write(r, first, second);
			put(r, ++my_serial[0]);
			uint64_t now = util_now_ns();
			opevlog_ring_flush(r);
			while (opevlog_reader_take(&rd, 0, &page, &bytes) > 0)
				block_check(page, bytes, &s);
			s.backwards |= s.time > now; /* ahead of the clock: what comes next would be back */
			missing += s.last[0] != my_serial[0] || s.last[1] != my_serial[1];
		}
	sigaction(SIGTRAP, &old, NULL);
	opevlog_ring_stats(r, &st);
	ok(pairs > 50 && my_serial[1] >= pairs && !missing && !st.dropped && !st.overwritten,
	   "%s, %s: interrupted after any of %u instructions, and of the %u that follow, all events came", where, overwrite ? "flight recorder" : "dropping", n, reach);
	ok(!s.torn && !s.order && !s.backwards, "whole, in order, time never back nor ahead (%d%d%d)", s.torn, s.order, s.backwards);
}
#else
#define HAVE_STEPS 0
#endif

/* --- killed at any instant ----------------------------------------------------------------------------- */
static void child_handler(int sig)
{
	put(my_ring, SERIAL(1, ++my_serial[1]));
}
static pid_t fork_writer(struct opevlog_ring *r, uint64_t from)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	struct sigaction sa = { .sa_handler = child_handler };
	my_ring = r;
	my_serial[1] = from;
	sigaction(SIGALRM, &sa, NULL);
	timer_t t;
	struct sigevent se = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	timer_create(CLOCK_MONOTONIC, &se, &t);
	struct itimerspec ts = { { 0, 50000 }, { 0, 50000 } };
	timer_settime(t, 0, &ts, NULL);
	for (uint64_t i = from;;)
		put(r, ++i);
}

static void test_kill_writer(bool overwrite, int rounds)
{
	struct seen s = { 0 };
	uint64_t bad = 0;
	const void *page;
	size_t bytes;

	for (int i = 0; i < rounds; i++) {
		struct opevlog_ring *r = ring_new(8, overwrite, 1, false);
		struct opevlog_reader rd;
		pid_t pid = fork_writer(r, 0);
		opevlog_reader_init(&rd, r);
		memset(s.last, 0, sizeof(s.last));
		s.time = 0;
		uint64_t before = s.n;
		for (int k = 0; k < 1 + i % 5 || (s.n == before && k < 10000); k++) {
			usleep(300);
			while (opevlog_reader_take(&rd, 0, &page, &bytes) > 0)
				block_check(page, bytes, &s);
		}
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		opevlog_ring_flush(r);
		while (opevlog_reader_take(&rd, 1, &page, &bytes) > 0)
			block_check(page, bytes, &s);
		bad += rd.bad;
		munmap(r, 4096);
	}
	ok(s.n > 0 && !s.torn && !s.order && !s.backwards, "%s: writer killed %d times: %llu events came, none torn; %llu pages discarded",
	   overwrite ? "flight recorder" : "dropping", rounds, (unsigned long long)s.n, (unsigned long long)bad);
	ok(bad <= (uint64_t)rounds, "at most one page a kill");
}

static void test_kill_reader(bool overwrite, int rounds)
{
	struct opevlog_ring *r = ring_new(8, overwrite, 1, false);
	struct {
		struct seen s;
		uint64_t errors;
	} *shared = map(sizeof(*shared));
	pid_t writer = fork_writer(r, 0);
	struct opevlog_reader rd;
	struct seen s;
	const void *page;
	size_t bytes;
	int ret;

	for (int i = 0; i < rounds; i++) {
		pid_t pid = fork();
		if (!pid) {
			struct opevlog_reader mine;
			if (opevlog_reader_init(&mine, r))
				shared->errors++;
			for (;;)
				while (opevlog_reader_take(&mine, 0, &page, &bytes) > 0)
					block_check(page, bytes, &shared->s);
		}
		uint64_t before = __atomic_load_n(&shared->s.n, __ATOMIC_RELAXED);
		for (int k = 0; k < 10000 && __atomic_load_n(&shared->s.n, __ATOMIC_RELAXED) == before; k++)
			usleep(100);
		usleep((useconds_t)(i % 7) * 300);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	opevlog_ring_flush(r);
	ret = opevlog_reader_init(&rd, r);
	s = shared->s;
	while (!ret && opevlog_reader_take(&rd, 1, &page, &bytes) > 0)
		block_check(page, bytes, &s);
	ok(!ret && !shared->errors && s.n > 0, "%s: reader killed %d times, its successor goes on: %llu events", overwrite ? "flight recorder" : "dropping",
	   rounds, (unsigned long long)s.n);
	ok(!s.torn && !s.order, "no page torn, none twice");
	ok(rd.bad <= 1, "at most the page of the killed writer discarded");
}

/* --- into a file and back ------------------------------------------------------------------------------ */
struct user_count {
	uint64_t n, first, last;
	char name[32];
};
static int on_user(void *arg, const struct evlog_meta *meta, uint32_t stream, const struct evlog_cursor *c)
{
	struct user_count *u = arg;

	u->n++;
	if (!u->first)
		u->first = c->time_ns;
	u->last = c->time_ns;
	snprintf(u->name, sizeof(u->name), "%s", meta->user[c->id].name);
	return 0;
}
static int on_other(void *arg, const struct ev *e)
{
	return 0;
}
static void test_file(bool tsc)
{
	struct opevlog_ring *r = ring_new(8, false, 1, tsc);
	char name[] = "/tmp/test-ring-XXXXXX";
	int fd = mkstemp(name);
	struct opevlog_reader rd;
	struct opevlog_file *f = NULL;
	struct evlog_merge *m = NULL;
	struct user_count u = { 0 };
	uint64_t bad, cut, before, after;

	unlink(name);
	opevlog_reader_init(&rd, r);
	is_int(0, opevlog_file_new(&f, fd, 1, tsc), "log begun");
	is_int(0, opevlog_file_event(f, 18, "tick", "u64 serial; u64 check", 4), "event told");
	is_int(-EINVAL, opevlog_file_event(f, 18, "tick", "", 4), "not twice");
	before = util_now_ns();
	for (uint64_t i = 1; i <= 1000; i++) {
		put(r, i);
		if (i % 100 == 0)
			opevlog_file_drain(f, &rd, 0);
	}
	after = util_now_ns();
	opevlog_ring_flush(r);
	ok(opevlog_file_drain(f, &rd, 0) > 0, "the last page");
	is_int(0, opevlog_file_finish(f), "finished");
	lseek(fd, 0, SEEK_SET);
	evlog_merge_new(&m, 0, on_other, NULL, &u);
	evlog_merge_set_user(m, on_user);
	is_int(0, evlog_replay_fd(fd, m, &bad, &cut), "read back");
	evlog_merge_finish(m);
	evlog_merge_free(m);
	ok(u.n == 1000 && !bad && cut == UINT64_MAX && !strcmp(u.name, "tick"), "1000 events by their name");
	ok(u.first + 1000000 >= before && u.last <= after + 1000000, "%s: times are those of CLOCK_MONOTONIC", tsc ? "counter" : "clock");
	close(fd);
}

int main(void)
{
	const char *env = getenv("OPJIT_TEST_SECONDS");
	double seconds = env ? strtod(env, NULL) : 5;
	int kills = seconds < 5 ? 20 : 60;
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };

	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	test_simple();
	test_spoilt(false);
	test_spoilt(true);
#if HAVE_STEPS
	for (int overwrite = 0; overwrite < 2; overwrite++) {
		test_steps(0, overwrite, 0, "first of a page");
		test_steps(3, overwrite, overwrite ? 0 : 8, "within a page");
		test_steps((4096 - EVLOG_PAGE_HEADER) / 20, overwrite, 0, "page full");
		test_steps((4096 - EVLOG_PAGE_HEADER) / 20 - 2, overwrite, 0, "page nearly full");
	}
#else
	skip("no single steps with a handler of one's own: not x86-64, or TSan, which puts signals off");
#endif
	test_threads(false, seconds / 2);
	test_threads(true, seconds / 2);
	test_kill_writer(false, kills);
	test_kill_writer(true, kills);
	test_kill_reader(false, kills);
	test_kill_reader(true, kills);
	test_file(false);
	if (io_clock_is_tsc())
		test_file(true);
	else
		skip("the clock source is not the TSC");
	return done_testing();
}
