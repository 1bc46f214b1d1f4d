/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * seal DIR N             posts N regions (256 bytes of code, 12 lines, three inlined frames) through libopagent into DIR, and writes the
 *                        same code, names and lines as a jitdump there, mapped as perf wants it; prints the image's directory
 * seal run COMMAND…      runs it and prints its CPU seconds and the largest resident size in MB
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libopagent/opagent.h"

#define CODE 0x7f0000000000ull
#define BYTES 256
#define LINES 12

static void die(const char *what)
{
	fprintf(stderr, "seal: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void put(FILE *f, const void *p, size_t n)
{
	if (fwrite(p, 1, n, f) != n)
		die("writing the jitdump");
}

static void put_u32(FILE *f, uint32_t v) { put(f, &v, sizeof(v)); }
static void put_u64(FILE *f, uint64_t v) { put(f, &v, sizeof(v)); }

static FILE *dump_open(const char *dir)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/jit-%ld.dump", dir, (long)getpid());
	f = fopen(path, "w+");
	if (!f)
		die(path);
	put_u32(f, 0x4a695444);
	put_u32(f, 1);
	put_u32(f, 40);
	put_u32(f, EM_X86_64);
	put_u32(f, 0);
	put_u32(f, (uint32_t)getpid());
	put_u64(f, now());
	put_u64(f, 0);
	fflush(f);
	if (mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) == MAP_FAILED)
		die("mapping the jitdump");
	return f;
}

static void dump_region(FILE *f, const struct opagent_region *r, uint64_t index)
{
	uint32_t name = (uint32_t)strlen(r->name) + 1, file = (uint32_t)strlen(r->source_file) + 1;

	put_u32(f, 2);
	put_u32(f, 32 + r->n_lines * (16 + file));
	put_u64(f, now());
	put_u64(f, r->addr);
	put_u64(f, r->n_lines);
	for (uint32_t i = 0; i < r->n_lines; i++) {
		put_u64(f, r->addr + r->lines[i].offset);
		put_u32(f, r->lines[i].line);
		put_u32(f, 0);
		put(f, r->source_file, file);
	}
	put_u32(f, 0);
	put_u32(f, 56 + name + (uint32_t)r->code_size);
	put_u64(f, now());
	put_u32(f, (uint32_t)getpid());
	put_u32(f, (uint32_t)syscall(SYS_gettid));
	put_u64(f, r->addr);
	put_u64(f, r->addr);
	put_u64(f, r->code_size);
	put_u64(f, index);
	put(f, r->name, name);
	put(f, r->code, r->code_size);
}

static void post(struct opagent *a, FILE *dump, uint64_t i)
{
	static uint8_t code[BYTES];
	char name[96], file[64], inner[3][64];
	const char *names[3] = { inner[0], inner[1], inner[2] };
	struct opagent_line lines[LINES];
	struct opagent_frame frames[3];
	struct opagent_inline_range ranges[4] = { { 0, UINT32_MAX, 10 }, { 50, 2, 20 }, { 90, 1, 30 }, { 150, UINT32_MAX, 22 } };
	struct opagent_region r = { .size = sizeof(r), .addr = CODE + i * BYTES, .code_size = BYTES, .code = code, .name = name,
				    .source_file = file, .names = names, .n_names = 3, .lines = lines, .n_lines = LINES, .frames = frames,
				    .n_frames = 3, .inlines = ranges, .n_inlines = 4, .tier = -1 };

	memset(code, 0x90, sizeof(code));
	memcpy(code, &i, sizeof(i));
	snprintf(name, sizeof(name), "com.acme.pkg%lu.Class%lu.method%lu(int)", (unsigned long)i % 100, (unsigned long)i % 5000, (unsigned long)i);
	snprintf(file, sizeof(file), "com/acme/pkg%lu/Class%lu.java", (unsigned long)i % 100, (unsigned long)i % 5000);
	for (uint32_t k = 0; k < 3; k++) {
		snprintf(inner[k], sizeof(inner[k]), "com.acme.Util%lu.inner%u(int)", (unsigned long)i % 1000, k);
		frames[k] = (struct opagent_frame){ k ? k - 1 : UINT32_MAX, k, UINT32_MAX, 11 + k };
	}
	for (uint32_t k = 0; k < LINES; k++)
		lines[k] = (struct opagent_line){ k * 20, 10 + k * 3 % 7, UINT32_MAX };
	if (opagent_load(a, &r, NULL) < 0)
		die("opagent_load");
	dump_region(dump, &r, i);
}

static int measured(char **argv)
{
	struct rusage u;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		execvp(argv[0], argv);
		die(argv[0]);
	}
	if (pid < 0 || wait4(pid, &status, 0, &u) < 0)
		die("wait");
	printf("%.2f s CPU, %ld MB\n", (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6, u.ru_maxrss / 1024);
	return status != 0;
}

int main(int argc, char **argv)
{
	struct opagent_open_opts opts = { .size = sizeof(opts), .dir = argc > 1 ? argv[1] : NULL };
	struct opagent *a;
	uint64_t n;
	FILE *dump;

	if (argc > 2 && !strcmp(argv[1], "run"))
		return measured(argv + 2);
	if (argc != 3)
		return fprintf(stderr, "usage: seal DIR N | seal run COMMAND…\n"), 2;
	n = strtoull(argv[2], NULL, 10);
	if (opagent_open(&a, &opts) < 0)
		die(argv[1]);
	puts(opagent_dir(a));
	dump = dump_open(argv[1]);
	for (uint64_t i = 0; i < n; i++)
		post(a, dump, i);
	opagent_close(a);
	return fclose(dump) != 0;
}
