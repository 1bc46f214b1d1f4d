/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * judge [OPTION…] TRUTH LOG SCRATCH-DIR   replays a kept event log through the pipeline and holds each sample's name
 *                                         against what fakejit says ran on that thread at that time
 * judge [OPTION…] --perf TRUTH SCRIPT     the same with the output of perf script -F pid,tid,time,ip,sym --ns
 *	--min PERCENT    of the samples outside 1 ms around a change that must be right (99.9)
 *	--ambiguous      samples counted as ambiguous need not be right, but no other may be wrong
 *	--share          the table of shares must be within 5 sigma of the CPU times
 *	--dump           a line a sample;  --counts  a line a version: samples given to it, name
 * Prints one line of numbers; status 1 when what was asked does not hold.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "daemon/pipeline.h"
#include "lib/map.h"

#define NEAR_NS NSEC_PER_MSEC

struct run {
	int pid, tid;
	uint32_t name; /* in the pool */
	uint64_t addr, size, start, end, cpu;
};

struct change {
	int pid;
	uint64_t addr, size, time;
};

struct tally {
	uint64_t samples, right, wrong, ambiguous, ambiguous_right, unresolved, near, stray, backdated;
};

static struct run *runs;
static struct change *changes;
static size_t n_runs, n_changes;
static struct strpool names;
static uint64_t *counted; /* samples by name, those of other names in the last */
static struct tally tally;
static struct u64map regions; /* source << 32 | id -> name */
static bool dump, counts, want_share, may_be_ambiguous;
static double min_right = 99.9;

static void die(const char *what)
{
	fprintf(stderr, "judge: %s: %s\n", what, strerror(errno));
	exit(2);
}

static uint32_t name_id(const char *s, size_t len)
{
	int64_t id = strpool_id(&names, s, len);

	if (id < 0)
		die("names");
	return (uint32_t)id;
}

/* --- truth ------------------------------------------------------------------------------------------------ */

static void read_truth(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[512], name[256];
	size_t room = 1 << 17;

	runs = calloc(room, sizeof(*runs));
	changes = calloc(room, sizeof(*changes));
	if (!f || !runs || !changes)
		die(path);
	name_id("", 0);
	while (fgets(line, sizeof(line), f)) {
		struct run r = { 0 };
		struct change c = { 0 };

		if (n_runs == room || n_changes == room)
			die("too much truth");
		if (sscanf(line, "R %d %d %255s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &r.pid, &r.tid, name, &r.addr,
			   &r.size, &r.start, &r.end, &r.cpu) == 8) {
			r.name = name_id(name, strlen(name));
			runs[n_runs++] = r;
		} else if (sscanf(line, "C %d %" SCNu64 " %" SCNu64 " %" SCNu64, &c.pid, &c.addr, &c.size, &c.time) == 4) {
			changes[n_changes++] = c;
		}
	}
	fclose(f);
	if (!n_runs)
		errno = ENODATA, die(path);
}

/* The run that the sample fell into; *inside: the address is code of some run, whenever. */
static const struct run *run_of(int pid, int tid, uint64_t t, uint64_t ip, bool *inside)
{
	*inside = false;
	for (size_t i = 0; i < n_runs; i++) {
		const struct run *r = &runs[i];

		if (r->pid != pid || ip < r->addr || ip - r->addr >= r->size)
			continue;
		*inside = true;
		if (r->tid == tid && t >= r->start && t <= r->end)
			return r;
	}
	return NULL;
}

static bool near_change(int pid, uint64_t t, uint64_t ip)
{
	for (size_t i = 0; i < n_changes; i++)
		if (changes[i].pid == pid && ip >= changes[i].addr && ip - changes[i].addr < changes[i].size &&
		    (t > changes[i].time ? t - changes[i].time : changes[i].time - t) < NEAR_NS)
			return true;
	return false;
}

/* --- one sample ------------------------------------------------------------------------------------------- */

static const char *const qualities[] = { "plain", "exact", "backdated", "ambiguous" };

static void judge(int pid, int tid, uint64_t t, uint64_t ip, uint32_t got, enum hit_quality q)
{
	bool inside;
	const struct run *r = run_of(pid, tid, t, ip, &inside);
	const char *verdict;

	if (!inside)
		return;
	tally.samples++;
	if (got < names.n && counted)
		counted[got]++;
	if (!r) {
		tally.stray++;
		verdict = "stray";
	} else if (near_change(pid, t, ip)) {
		tally.near++;
		verdict = "near";
	} else if (q == HIT_AMBIGUOUS) {
		tally.ambiguous++;
		tally.ambiguous_right += got == r->name;
		verdict = "ambiguous";
	} else if (!got) {
		tally.unresolved++;
		verdict = "unresolved";
	} else if (got != r->name) {
		tally.wrong++;
		verdict = "WRONG";
	} else {
		tally.right++;
		verdict = "right";
	}
	tally.backdated += q == HIT_BACKDATED;
	if (dump)
		printf("%" PRIu64 " %d/%d %#" PRIx64 " %s %s %s truth %s\n", t, pid, tid, ip, got ? strpool_str(&names, got) : "-",
		       qualities[q], verdict, r ? strpool_str(&names, r->name) : "-");
}

/* --- from an event log ------------------------------------------------------------------------------------ */

static int learn(void *arg, const struct ev *e)
{
	const struct jit_event *j = &e->u.jit.e;

	if (e->type != EV_JIT || j->type != JIT_EVENT_LOAD)
		return 0;
	return u64map_put(&regions, (uint64_t)e->u.jit.source << 32 | j->id, name_id(j->name, j->name_len));
}

static int skip(void *arg, const struct ev *e)
{
	return 0;
}

static void traced(void *arg, const struct ev *e, const struct hit *h)
{
	uint64_t *name = NULL;

	if (e->u.sample.mode == EV_KERNEL)
		return;
	if (h->image == HIT_JIT)
		name = u64map_get(&regions, (uint64_t)jitsrc_number(h->source) << 32 | h->region_id);
	judge(e->pid, e->tid, e->time_ns, e->u.sample.ip, name ? (uint32_t)*name : 0, h->quality);
}

static void read_log(const char *path, const char *scratch)
{
	struct pipeline_opts o = { .session_dir = scratch, .no_sync = true, .account = { .separate_tgid = true, .trace = traced } };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct evlog_merge *m;
	struct pipeline *p = NULL;

	if (fd < 0)
		die(path);
	if (evlog_merge_new(&m, 0, skip, learn, NULL) < 0 || evlog_replay_fd(fd, m, NULL, NULL) < 0 || evlog_merge_finish(m) < 0)
		die("names of the log");
	evlog_merge_free(m);
	counted = calloc(names.n, sizeof(*counted));
	if (!counted || lseek(fd, 0, SEEK_SET) < 0 || pipeline_new(&p, &o) < 0)
		die(scratch);
	if (pipeline_replay(p, fd, NULL, NULL) < 0 || account_settle(pipeline_account(p)) < 0)
		die("replay");
	pipeline_free(p);
	close(fd);
}

/* --- from perf -------------------------------------------------------------------------------------------- */

static void read_script(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[1024];

	if (!f)
		die(path);
	counted = calloc(names.n, sizeof(*counted));
	if (!counted)
		die("memory");
	while (fgets(line, sizeof(line), f)) {
		int pid, tid;
		unsigned long long s, ns, ip;
		char sym[256] = "";
		uint32_t got = 0;

		if (sscanf(line, " %d/%d %llu.%llu: %llx %255s", &pid, &tid, &s, &ns, &ip, sym) < 5)
			continue;
		for (uint32_t i = 1; i < names.n && !got; i++)
			if (!strcmp(strpool_str(&names, i), sym))
				got = i;
		judge(pid, tid, s * NSEC_PER_SEC + ns, ip, got, got ? HIT_EXACT : HIT_PLAIN);
	}
	fclose(f);
}

/* --- verdict ---------------------------------------------------------------------------------------------- */

/* The worst distance of a version's share from its share of the CPU time, in standard deviations. */
static double worst_share(void)
{
	size_t n = names.n;
	AUTO_FREE uint64_t *cpu = calloc(n, sizeof(*cpu));
	double total_cpu = 0, total = 0, worst = 0;

	if (!cpu)
		die("memory");
	for (size_t i = 0; i < n_runs; i++) {
		cpu[runs[i].name] += runs[i].cpu;
		total_cpu += (double)runs[i].cpu;
	}
	for (size_t i = 1; i < n; i++)
		total += cpu[i] ? (double)counted[i] : 0;
	for (size_t i = 1; i < n; i++) {
		double p = (double)cpu[i] / total_cpu, sigma = sqrt(total * p * (1 - p));
		double off = fabs((double)counted[i] - total * p) / (sigma > 1 ? sigma : 1);

		if (cpu[i] && off > worst)
			worst = off;
	}
	return worst;
}

static int verdict(void)
{
	const struct tally *t = &tally;
	uint64_t far = t->samples - t->near - t->stray;
	uint64_t good = t->right + (may_be_ambiguous ? t->ambiguous : t->ambiguous_right);
	double percent = far ? 100.0 * (double)good / (double)far : 0, sigma = worst_share();
	bool fine = far >= 50 && percent >= min_right && t->stray * 100 <= t->samples;

	if (may_be_ambiguous)
		fine = fine && (double)t->wrong * 1000 <= (double)far;
	if (want_share)
		fine = fine && sigma <= 5;
	printf("samples %" PRIu64 ", near a change %" PRIu64 ", judged %" PRIu64 ": right %" PRIu64 ", wrong %" PRIu64 ", ambiguous %" PRIu64
	       " (right %" PRIu64 "), unresolved %" PRIu64 ", backdated %" PRIu64 ", of no run %" PRIu64 "; right %.3f %%; worst share %.1f sigma\n",
	       t->samples, t->near, far, t->right, t->wrong, t->ambiguous, t->ambiguous_right, t->unresolved, t->backdated, t->stray,
	       far ? 100.0 * (double)(t->right + t->ambiguous_right) / (double)far : 0.0, sigma);
	return fine ? 0 : 1;
}

int main(int argc, char **argv)
{
	bool perf = false;
	int i = 1;

	for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
		if (!strcmp(argv[i], "--perf"))
			perf = true;
		else if (!strcmp(argv[i], "--dump"))
			dump = true;
		else if (!strcmp(argv[i], "--counts"))
			counts = true;
		else if (!strcmp(argv[i], "--share"))
			want_share = true;
		else if (!strcmp(argv[i], "--ambiguous"))
			may_be_ambiguous = true;
		else if (!strcmp(argv[i], "--min") && i + 1 < argc)
			min_right = strtod(argv[++i], NULL);
	}
	if (argc - i != (perf ? 2 : 3)) {
		fprintf(stderr, "usage: judge [OPTION…] TRUTH LOG SCRATCH-DIR | judge --perf TRUTH SCRIPT\n");
		return 2;
	}
	read_truth(argv[i]);
	if (perf)
		read_script(argv[i + 1]);
	else
		read_log(argv[i + 1], argv[i + 2]);
	for (uint32_t k = 1; counts && k < names.n; k++)
		if (counted[k])
			printf("%" PRIu64 " %s\n", counted[k], strpool_str(&names, k));
	return counts ? 0 : verdict();
}
