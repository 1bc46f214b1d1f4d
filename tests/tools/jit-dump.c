/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * jit-dump RING [OPTION…]: reads the instance whose ring file is named.
 *	follow=N   polls until N loads have come (or the source is closed)    names   prints "load NAME" lines
 *	pid=PID    as seen by that process     save=FILE   saves segment 0
 *	slow=US    sleeps between polls        tables      with tables, from the journals
 * Prints one line of counts at the end. Status 1 if the source is refused, with the reason on stderr.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jitconv/source.h"

static uint64_t last_ns;
static unsigned long loads, unloads, others, no_bytes, with_lines, n_names;
static int print_names;

static int take(void *arg, const struct jit_event *e)
{
	last_ns = e->time_ns;
	loads += e->type == JIT_EVENT_LOAD;
	unloads += e->type == JIT_EVENT_UNLOAD;
	others += e->type != JIT_EVENT_LOAD && e->type != JIT_EVENT_UNLOAD;
	no_bytes += e->type == JIT_EVENT_LOAD && e->flags & JIT_NO_BYTES;
	with_lines += e->lines_len > 0;
	n_names += e->type == JIT_EVENT_LOAD && e->name_len > 0;
	if (print_names && e->type == JIT_EVENT_LOAD)
		printf("load %.*s\n", (int)e->name_len, e->name);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long follow = 0, slow = 0;
	const char *why = "", *save = NULL;
	struct jit_source_info info;
	struct jit_source *s;
	int32_t pid = 0;
	int r, tables = 0;

	if (argc < 2)
		return 2;
	for (int i = 2; i < argc; i++) {
		if (!strncmp(argv[i], "follow=", 7)) follow = strtoul(argv[i] + 7, NULL, 10);
		else if (!strncmp(argv[i], "slow=", 5)) slow = strtoul(argv[i] + 5, NULL, 10);
		else if (!strncmp(argv[i], "pid=", 4)) pid = (int32_t)strtol(argv[i] + 4, NULL, 10);
		else if (!strncmp(argv[i], "save=", 5)) save = argv[i] + 5;
		else if (!strcmp(argv[i], "names")) print_names = 1;
		else if (!strcmp(argv[i], "tables")) tables = 1;
		else return 2;
	}
	r = jit_source_open(&s, pid, UINT32_MAX, argv[1], 0, 0, &why);
	if (r < 0) {
		fprintf(stderr, "jit-dump: %s\n", why);
		return 1;
	}
	jit_source_want_tables(s, tables);
	do {
		r = jit_source_poll(s, take, NULL);
		jit_source_info(s, &info);
		if (slow)
			usleep((useconds_t)slow);
	} while (r >= 0 && loads < follow && !info.closed);
	if (r >= 0)
		r = jit_source_poll(s, take, NULL);
	if (r < 0) {
		fprintf(stderr, "jit-dump: %s\n", jit_source_why(s));
		return 1;
	}
	if (save && (r = jit_source_save_image(s, 0, AT_FDCWD, save)) < 0) {
		fprintf(stderr, "jit-dump: cannot save: %s\n", strerror(-r));
		return 1;
	}
	jit_source_info(s, &info);
	printf("age %lld s\n", (long long)(util_now_ns() - last_ns) / 1000000000);
	printf("loads %lu names %lu unloads %lu others %lu nobytes %lu lines %lu segments %u overruns %llu bad %llu closed %d source %s pid %d\n",
	       loads, n_names, unloads, others, no_bytes, with_lines, jit_source_n_segments(s), (unsigned long long)info.n_overruns,
	       (unsigned long long)info.n_bad, info.closed, info.name, info.nspid);
	jit_source_free(s);
	return 0;
}
