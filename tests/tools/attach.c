/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * attach PID AGENT [OPTIONS [TIMEOUT-MS]]: what control/attach.h does, for the tests. Prints the result's name and the line.
 * attach --command PROGRAM ARGS…: prints what agents_prepare_command makes of it, an argument a line.
 * attach --watch SECONDS PID: as operf does for a process seen mapping libjvm.so; prints each outcome.
 */
#include <stdio.h>
#include <string.h>

#include "control/agents.h"
#include "control/attach.h"
#include "lib/util.h"

static void said(void *arg, pid_t pid, int result, const char *text)
{
	printf("%d %s\n", result, text);
	fflush(stdout);
}

static int watch(struct agents *a, char **argv)
{
	uint64_t end = util_now_ns() + strtoull(argv[0], NULL, 10) * NSEC_PER_SEC;

	if (!agents_on_mmap(a, (pid_t)strtol(argv[1], NULL, 10), "/some/where/libjvm.so"))
		return 1;
	while (agents_pending(a) && util_now_ns() < end) {
		agents_tick(a, said, NULL);
		usleep(20000);
	}
	printf("pending %zu\n", agents_pending(a));
	return 0;
}

int main(int argc, char **argv)
{
	AUTO_STRBUF why = STRBUF_INIT;
	struct agents_opts o = { .size = sizeof(o), .jit_dir = getenv("OPJIT_DIR"), .grace_ms = 100 };
	struct agents *a = NULL;
	char **new;
	int r = 0;

	if (argc > 2 && argv[1][0] == '-') {
		if (agents_new(&a, &o) < 0)
			return 1;
		if (!strcmp(argv[1], "--watch") && argc > 3) {
			r = watch(a, argv + 2);
		} else {
			r = agents_prepare_command(a, argv + 2, &new);
			for (size_t i = 0; r >= 0 && new[i]; i++)
				printf("%s\n", new[i]);
			if (r >= 0)
				agents_argv_free(new);
			r = r < 0;
		}
		agents_free(a);
		return r;
	}
	if (argc < 3)
		return 2;
	r = attach_jvm((pid_t)strtol(argv[1], NULL, 10), argv[2], argc > 3 ? argv[3] : "",
		       argc > 4 ? (unsigned int)strtoul(argv[4], NULL, 10) : 10000, &why);
	printf("%s: %s\n", r ? strerrorname_np(-r) : "loaded", strbuf_str(&why));
	return r != 0;
}
