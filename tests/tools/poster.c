/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * poster N [OPTION…]: plays a JIT: posts N methods "void pkg.ClassK.methodI(int)" of 48 to 175 bytes through libopagent.
 * Uses opagent.h and nothing else of the tree, so that it builds with -m32 and with musl.
 *	size=BYTES    of each method instead        ring=ENTRIES
 *	max=BYTES     size cap                      dir=PATH
 *	unload        each method again, one behind lines   with a line and an inline table each
 *	keep          stay until killed             quiet   print nothing
 *	forever       post without end              noclose exit without saying goodbye
 *	threads=T     N by each of T threads        v1      through the drop-in interface
 *	dry           make code and names, post nothing
 *	rest=MS       sleep after each 500 of thread 0; then prints "rested N waited W": its voluntary context switches
 * Prints the instance's directory, then "posted N failed M" and after SIGTERM-less work ends.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RUSAGE_THREAD */
#endif
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "libopagent/opagent.h"

static struct opagent_open_opts open_opts = { .size = sizeof(open_opts) };
static unsigned long n = 1000, size, threads = 1, rest, rests;
static int unload, lines, keep, quiet, forever, noclose, v1, dry;
static struct opagent *agent;
static op_agent_t agent1;
static unsigned long failed;

static unsigned int make_code(uint8_t *code, unsigned long i)
{
	unsigned int len = size ? (unsigned int)size : 48 + (unsigned int)(i * 37 % 128);

	/* push %rbp; mov %rsp,%rbp; nops; pop %rbp; ret: the same bytes are code on i386, too */
	memset(code, 0x90, len);
	memcpy(code, "\x55\x48\x89\xe5", len < 4 ? len : 4);
	if (len > 8)
		memcpy(code + len - 2, "\x5d\xc3", 2);
	return len;
}

static int post(unsigned long i, unsigned long thread, uint8_t *code)
{
	static const char *const names[] = { "int pkg.Inner.get()", "void pkg.Inner.put(int)" };
	static const char *const files[] = { "pkg/Outer.java", "pkg/Inner.java" };
	static const struct opagent_line ls[] = { { 0, 10, 0 }, { 8, 12, 1 }, { 20, 14, 0 }, { 32, 15, 0 } };
	static const struct opagent_frame frames[] = { { UINT32_MAX, 0, 1, 12 }, { 0, 1, 1, 13 } };
	static const struct opagent_inline_range ranges[] = { { 0, UINT32_MAX, 10 }, { 8, 1, 12 }, { 20, UINT32_MAX, 14 } };
	char name[128];
	unsigned int len = make_code(code, i);
	uint64_t addr = 0x10000000 + ((uint64_t)thread << 24) + (i & 0xffff) * 256;

	snprintf(name, sizeof(name), "void pkg.Class%lu.method%lu(int)", thread, i);
	if (dry)
		return 0;
	if (v1)
		return op_write_native_code(agent1, name, addr, code, len) < 0 ? -errno : 0;
	struct opagent_region r = { .size = sizeof(r), .addr = addr, .code_size = len, .code = code, .name = name, .tier = 4 };
	if (lines) {
		r.names = names, r.files = files, r.n_names = r.n_files = 2;
		r.lines = ls, r.frames = frames, r.inlines = ranges;
		r.n_lines = 4, r.n_frames = 2, r.n_inlines = 3;
		r.source_file = files[0];
	}
	int q = opagent_load(agent, &r, NULL);
	if (unload && i) {
		addr = 0x10000000 + ((uint64_t)thread << 24) + ((i - 1) & 0xffff) * 256;
		opagent_unload(agent, addr, 0);
	}
	return q;
}

static void *work(void *arg)
{
	unsigned long thread = (unsigned long)(uintptr_t)arg;
	uint8_t *code = malloc(size > 256 ? size : 256);
	struct rusage before, after;

	getrusage(RUSAGE_THREAD, &before);
	for (unsigned long i = 0; code && (forever || i < n); i++) {
		if (post(i, thread, code) < 0)
			__atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
		if (rest && !thread && i % 500 == 499) {
			usleep((useconds_t)rest * 1000);
			rests++;
		}
	}
	getrusage(RUSAGE_THREAD, &after);
	if (rest && !thread)
		printf("rested %lu waited %ld\n", rests, after.ru_nvcsw - before.ru_nvcsw);
	free(code);
	return NULL;
}

static int option(char *o)
{
	char *eq = strchr(o, '=');
	unsigned long v = eq ? strtoul(eq + 1, NULL, 0) : 0;

	if (!strncmp(o, "size=", 5)) size = v;
	else if (!strncmp(o, "ring=", 5)) open_opts.ring_entries = (uint32_t)v;
	else if (!strncmp(o, "max=", 4)) open_opts.max_bytes = v;
	else if (!strncmp(o, "dir=", 4)) open_opts.dir = eq + 1;
	else if (!strncmp(o, "threads=", 8)) threads = v;
	else if (!strncmp(o, "rest=", 5)) rest = v;
	else if (!strcmp(o, "unload")) unload = 1;
	else if (!strcmp(o, "lines")) lines = 1;
	else if (!strcmp(o, "keep")) keep = 1;
	else if (!strcmp(o, "quiet")) quiet = 1;
	else if (!strcmp(o, "forever")) forever = 1;
	else if (!strcmp(o, "noclose")) noclose = 1;
	else if (!strcmp(o, "v1")) v1 = 1;
	else if (!strcmp(o, "dry")) dry = 1;
	else return -1;
	return 0;
}

static int open_agent(void)
{
	if (v1) {
		agent1 = op_open_agent();
		return agent1 ? 0 : -errno;
	}
	return opagent_open(&agent, &open_opts);
}

int main(int argc, char **argv)
{
	pthread_t t[64];
	int r;

	if (argc > 1)
		n = strtoul(argv[1], NULL, 0);
	for (int i = 2; i < argc; i++)
		if (option(argv[i]) < 0) {
			fprintf(stderr, "poster: unknown option %s\n", argv[i]);
			return 2;
		}
	r = open_agent();
	if (r < 0) {
		if (!quiet)
			printf("open failed %d\n", -r);
		return 3;
	}
	if (!quiet && !v1) {
		printf("%s\n", opagent_dir(agent));
		fflush(stdout);
	}
	for (unsigned long i = 1; i < threads && i < 64; i++)
		pthread_create(&t[i], NULL, work, (void *)(uintptr_t)i);
	work(NULL);
	for (unsigned long i = 1; i < threads && i < 64; i++)
		pthread_join(t[i], NULL);
	if (!quiet) {
		printf("posted %lu failed %lu\n", n * threads, failed);
		fflush(stdout);
	}
	while (keep)
		pause();
	if (noclose)
		_exit(0);
	return (v1 ? op_close_agent(agent1) : opagent_close(agent)) ? 4 : 0;
}
