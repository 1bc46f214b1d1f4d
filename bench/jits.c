/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * jits map|mixed N FILE: writes a perf map of N lines, by address or not. jits run N: a process with a jitdump of N functions in the working directory, mapped as
 * perf wants it, that runs one of them for a second. jits self N: a process with a perf map of N functions, of which it runs a thousand for
 * two seconds of CPU time; says "ready" before. jits read FILE: reads a file as the daemon does, into its timeline, and
 * looks names up; prints seconds, memory and the share of addresses found.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "daemon/jittl.h"
#include "jitconv/foreign.h"

static int usage(void)
{
	fputs("jits map|mixed N FILE | jits run N | jits self N | jits read FILE\n", stderr);
	return 2;
}

#define PAGE_LINES 32ul /* code of one 4 KiB page */

/* mixed: as V8 does it, page by page, the pages in no order. */
static int write_map(unsigned long n, const char *path, bool mixed)
{
	FILE *f = fopen(path, "w");
	unsigned long pages = n / PAGE_LINES;

	if (!f)
		return 1;
	for (unsigned long i = 0; i < n; i++) {
		unsigned long page = i / PAGE_LINES, at = mixed && page < pages ? page * 7919 % pages * PAGE_LINES + i % PAGE_LINES : i;

		fprintf(f, "%lx 60 JS:*function_%lu /srv/app/lib/module_%lu.js:%lu:10\n", 0x7f0000000000ul + at * 128, i, i % 977, i % 5000);
	}
	return fclose(f) != 0;
}

#pragma pack(push, 1)
struct load {
	uint32_t id, bytes;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t vma, addr, size, index;
};
#pragma pack(pop)

static int run(unsigned long n)
{
	static const uint8_t code[64] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
	uint32_t head[10] = { 0x4A695444, 1, 40, 62, 0, (uint32_t)getpid() };
	uint8_t *area = mmap(NULL, n * 64, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t until;
	char name[96];
	FILE *f;

	snprintf(name, sizeof(name), "jit-%d.dump", getpid());
	f = fopen(name, "w+");
	if (!f || area == MAP_FAILED)
		return 1;
	fwrite(head, 1, sizeof(head), f);
	for (unsigned long i = 0; i < n; i++) {
		int len = snprintf(name, sizeof(name), "com.acme.Class%lu.method%lu(int)", i / 20, i);
		struct load l = { 0, (uint32_t)(sizeof(l) + (size_t)len + 1 + sizeof(code)), util_now_ns(), head[5], head[5],
				  (uintptr_t)area + i * 64, (uintptr_t)area + i * 64, sizeof(code), i };
		memcpy(area + i * 64, code, sizeof(code));
		fwrite(&l, 1, sizeof(l), f);
		fwrite(name, 1, (size_t)len + 1, f);
		fwrite(code, 1, sizeof(code), f);
	}
	fflush(f);
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) == MAP_FAILED)
		return 1;
	until = util_now_ns() + NSEC_PER_SEC;
	for (unsigned long i = 0; util_now_ns() < until; i++)
		((void (*)(uint64_t))(uintptr_t)(area + i * 7919 % n * 64))(100000);
	return fclose(f) != 0;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static int self(unsigned long n)
{
	static const uint8_t code[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
	uint8_t *area = mmap(NULL, n * 64, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long step = MAX(n / 1000, 1ul);
	uint64_t until;
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "/tmp/perf-%d.map", getpid());
	f = fopen(name, "wxe");
	if (!f || area == MAP_FAILED)
		return 1;
	for (unsigned long i = 0; i < n; i++)
		fprintf(f, "%lx 40 JS:*function_%lu /srv/app/lib/module_%lu.js:%lu:10\n", (unsigned long)(uintptr_t)area + i * 64, i, i % 977, i % 5000);
	for (unsigned long i = 0; i < n; i += step)
		memcpy(area + i * 64, code, sizeof(code));
	if (fclose(f) != 0)
		return 1;
	puts("ready");
	fflush(stdout);
	until = cpu_ns() + 2 * NSEC_PER_SEC;
	for (unsigned long i = 0; cpu_ns() < until; i = (i + step) % (n / step * step))
		((void (*)(uint64_t))(uintptr_t)(area + i * 64))(100000);
	return 0;
}

static int event(void *arg, const struct jit_event *e)
{
	(void)jittl_event(arg, e);
	return 0;
}

static int read_file(const char *path)
{
	struct jit_parser_stats st;
	struct jittl_stats ts;
	struct jit_foreign *f;
	struct jittl *tl;
	struct rusage ru;
	const char *why = "";
	uint64_t start = util_now_ns(), cpu, hits = 0;
	int32_t pid;

	if (jittl_new(&tl) < 0 || jit_foreign_open(&f, jit_foreign_name(path, &pid) == JIT_FORMAT_JITDUMP ? JIT_FORMAT_JITDUMP : JIT_FORMAT_PERFMAP,
						   -1, 0, UINT32_MAX, path, &why) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	(void)jit_foreign_finish(f, event, tl);
	start = util_now_ns() - start;
	getrusage(RUSAGE_SELF, &ru);
	cpu = (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * NSEC_PER_SEC + (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1000;
	jit_foreign_stats(f, &st);
	jittl_stats(tl, &ts);
	for (uint64_t i = 0; i < 100000; i++) {
		struct jittl_find found;
		jittl_find(tl, 0x7f0000000000ul + i * 20 % st.loads * 128 + 5, util_now_ns(), &found);
		hits += found.has_live || found.has_next;
	}
	printf("%" PRIu64 " records, %.1f MB: %.2f s (%.2f s of CPU), %.0f MB of memory at most, %.1f bytes a region in the timeline; %.1f %% found\n",
	       st.events, (double)st.bytes / 1e6, (double)start / 1e9, (double)cpu / 1e9, (double)ru.ru_maxrss / 1e3,
	       (double)ts.bytes / (double)MAX(ts.n_regions, (uint64_t)1), (double)hits / 1e3);
	jit_foreign_free(f);
	jittl_free(tl);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && (!strcmp(argv[1], "map") || !strcmp(argv[1], "mixed")))
		return write_map(strtoul(argv[2], NULL, 10), argv[3], argv[1][1] == 'i');
	if (argc == 3 && !strcmp(argv[1], "run"))
		return run(strtoul(argv[2], NULL, 10));
	if (argc == 3 && !strcmp(argv[1], "self"))
		return self(strtoul(argv[2], NULL, 10));
	if (argc == 3 && !strcmp(argv[1], "read"))
		return read_file(argv[2]);
	return usage();
}
