/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast samples are resolved, and resolved and counted, on one core: resolve REGIONS PROCESSES SAMPLES DIR skewed|flat. Makes events
 * in memory: every process has its mappings and a JIT source with REGIONS regions in a shuffled order; of the samples 80 % go
 * to JIT code, 10 % to a library, 10 % to the kernel; 16 in a row are of one process, then comes the next. skewed: the n-th
 * hottest region gets a share like 1/n, as in profiles; flat: each the same, which is the worst case for caches. What making
 * the samples takes is not counted. Prints one line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/account.h"

#define CODE UINT64_C(0x7f0000000000)
#define STEP 1536

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static void check(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "resolve: %s: %s\n", what, strerror(-r));
	exit(1);
}

static uint64_t number(const char *s)
{
	uint64_t v;

	check(util_parse_u64(s, 10, UINT64_C(1) << 32, &v), s);
	return v;
}

static uint64_t heap_of(uint64_t pid) { return CODE + pid * (UINT64_C(1) << 30); }

/* The i-th of n in an order that looks like chance: n need not be a power of two. */
static uint64_t shuffled(uint64_t i, uint64_t n)
{
	uint64_t bits = 64 - (uint64_t)__builtin_clzll(n | 1), mask = (UINT64_C(1) << bits) - 1;

	do
		i = (i * 2654435761u + 12345) & mask;
	while (i >= n);
	return i;
}

static void process(struct resolver *r, uint64_t pid, uint64_t regions)
{
	struct ev e = { .type = EV_MMAP, .time_ns = 1, .pid = (int32_t)pid, .tid = (int32_t)pid };
	char name[64], path[128];

	e.u.mmap.addr = 0x400000;
	e.u.mmap.len = 0x100000;
	e.u.mmap.path = "/usr/bin/vm";
	check(resolver_event(r, &e), "map");
	e.u.mmap.addr = heap_of(pid);
	e.u.mmap.len = regions * STEP + 4096;
	e.u.mmap.path = "//anon";
	check(resolver_event(r, &e), "map");
	snprintf(name, sizeof(name), "%" PRIu64 "-%016" PRIx64, pid, util_hash_u64(pid));
	e.type = EV_JITSRC;
	e.u.jitsrc.source = (uint32_t)pid;
	e.u.jitsrc.kind = JIT_SOURCE_HOTSPOT;
	e.u.jitsrc.lag_ns = 200 * NSEC_PER_MSEC;
	e.u.jitsrc.instance = name;
	check(resolver_early(r, &e), "source");
	snprintf(path, sizeof(path), "/tmp/%s/ring", name);
	e.type = EV_MMAP;
	e.u.mmap.addr = 0x10000;
	e.u.mmap.len = 4096;
	e.u.mmap.path = path;
	check(resolver_event(r, &e), "marker");
	for (uint64_t i = 0; i < regions; i++) {
		uint64_t at = shuffled(i, regions);

		e.type = EV_JIT;
		e.u.jit.source = (uint32_t)pid;
		e.u.jit.e = (struct jit_event){
			.type = JIT_EVENT_LOAD, .time_ns = 10 + i, .addr = heap_of(pid) + at * STEP, .size = STEP - 64, .id = i + 1,
			.segment = (uint32_t)(i >> 16), .image_offset = at * STEP, .tier = -1,
		};
		check(resolver_early(r, &e), "load");
	}
}

/* Log-uniform: the chance of rank n is like 1/n. 2^(u * log2(regions)) by a table of powers. */
static uint32_t ranks[65536];

static void ranks_fill(uint64_t regions, bool skewed)
{
	for (size_t i = 0; i < ARRAY_SIZE(ranks); i++) {
		double n = 1, step = (double)regions;

		if (!skewed) {
			ranks[i] = UINT32_MAX;
			continue;
		}
		/* regions^(i / 65536), bit by bit with square roots */
		for (uint32_t bit = 0x8000; bit; bit >>= 1) {
			double r = step;

			for (int k = 0; k < 60; k++)
				r = (r + step / r) / 2;
			step = r;
			if (i & bit)
				n *= step;
		}
		ranks[i] = (uint32_t)(n - 1);
	}
}

static uint64_t seed = 1, made;

static void next_sample(struct ev *e, uint64_t regions, uint64_t processes)
{
	uint64_t x, where;

	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	x = seed >> 33;
	where = x % 10;
	*e = (struct ev){ .type = EV_SAMPLE, .tid = 1, .time_ns = NSEC_PER_SEC + made };
	/* a process runs for a while, as one does */
	e->pid = (int32_t)(1 + (made >> 4) % processes);
	made++;
	e->u.sample.mode = where == 0 ? EV_KERNEL : EV_USER;
	if (where == 0) {
		e->u.sample.ip = UINT64_C(0xffffffff81000000) + (x >> 8) % 65536;
	} else if (where == 1) {
		e->u.sample.ip = 0x400000 + (x >> 8) % 0x10000;
	} else {
		uint32_t rank = ranks[x >> 4 & 65535];
		uint64_t region = rank == UINT32_MAX ? (x >> 4) % regions : (rank * UINT64_C(2654435761)) % regions;

		e->u.sample.ip = heap_of((uint64_t)e->pid) + region * STEP + (x >> 24) % 8 * 64;
	}
}

/* As account.c does it, without the store. */
static uint64_t resolve_only(struct resolver *r, const struct ev *evs, size_t n)
{
	struct resolver_ask asks[RESOLVER_MAX_ASK];
	uint64_t found = 0;

	for (size_t i = 0; i < n; i += ARRAY_SIZE(asks)) {
		size_t k = MIN(n - i, ARRAY_SIZE(asks));

		for (size_t m = 0; m < k; m++)
			asks[m] = (struct resolver_ask){ evs[i + m].u.sample.ip, evs[i + m].pid, (enum ev_cpumode)evs[i + m].u.sample.mode };
		resolver_prefetch(r, asks, k);
		for (size_t m = 0; m < k; m++) {
			struct proc *p = resolver_proc(r, asks[m].pid, evs[i + m].time_ns);
			struct hit h;

			resolver_find(r, p, evs[i + m].time_ns, asks[m].ip, asks[m].mode, &h);
			found += h.class == HIT_JIT_METHOD;
		}
	}
	return found;
}

static uint64_t count_all(struct resolver *r, struct account *a, const struct ev *evs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		check(resolver_event(r, &evs[i]), "sample");
		check(account_event(a, &evs[i]), "sample");
	}
	check(account_run(a), "samples");
	return 0;
}

int main(int argc, char **argv)
{
	static struct ev evs[2048];
	struct session_store_opts so = { .cpu_type = "bench", .no_sync = true };
	struct account_opts ao = { .separate_tgid = true };
	struct session_event se = { .name = "cpu-clock", .desc = "", .freq = 997, .timer = true };
	struct session_store *store;
	struct resolver_stats st;
	struct resolver *r;
	struct account *a;
	uint64_t regions, processes, samples, t0, t1, found = 0, ns[2] = { 0, 0 };

	if (argc != 6)
		return fprintf(stderr, "usage: resolve REGIONS PROCESSES SAMPLES DIR skewed|flat\n"), 2;
	regions = number(argv[1]);
	processes = number(argv[2]);
	samples = number(argv[3]);
	so.dir = argv[4];
	check(session_store_new(&store, &so), argv[4]);
	check(session_store_event(store, 0, &se), "event");
	check(resolver_new(&r), "resolver");
	check(account_new(&a, r, store, &ao), "account");
	ranks_fill(regions, !strcmp(argv[5], "skewed"));
	t0 = cpu_ns();
	for (uint64_t p = 1; p <= processes; p++)
		process(r, p, regions);
	t1 = cpu_ns();
	for (int pass = 0; pass < 2; pass++)
		for (uint64_t i = 0; i < samples; i += ARRAY_SIZE(evs)) {
			uint64_t from;

			for (size_t k = 0; k < ARRAY_SIZE(evs); k++)
				next_sample(&evs[k], regions, processes);
			from = cpu_ns();
			found += pass ? count_all(r, a, evs, ARRAY_SIZE(evs)) : resolve_only(r, evs, ARRAY_SIZE(evs));
			ns[pass] += cpu_ns() - from;
		}
	resolver_stats(r, &st);
	printf("%" PRIu64 " regions in %" PRIu64 " processes, %s: %.2f M samples/s resolved, %.2f resolved and counted, %.1f bytes a region, "
	       "%.2f M loads/s\n", st.n_regions, processes, argv[5], (double)samples * 1e3 / (double)ns[0],
	       (double)samples * 1e3 / (double)ns[1], (double)st.region_bytes / (double)st.n_regions,
	       (double)(regions * processes) * 1e3 / (double)(t1 - t0));
	account_free(a);
	resolver_free(r);
	session_store_free(store);
	return found == 0;
}
