/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of other JITs are found also when events of two CPUs come in another order than they happened. */
#include <stdio.h>
#include <sys/mman.h>

#include "daemon/found.h"
#include "lib/tap.h"

static int count(void *arg, struct jit_source *s, int32_t pid, uint64_t time_ns, const char *path)
{
	++*(int *)arg;
	jit_source_free(s);
	return 0;
}

static int found_with(uint64_t mmap_ns, uint64_t exec_ns)
{
	struct ev map = { .type = EV_MMAP, .pid = getpid(), .tid = getpid(), .time_ns = mmap_ns };
	struct ev exec = { .type = EV_COMM, .pid = getpid(), .tid = getpid(), .time_ns = exec_ns };
	struct found *f;
	int n = 0;

	map.u.mmap.prot = PROT_READ | PROT_EXEC;
	map.u.mmap.path = "//anon";
	exec.u.comm.flags = EV_COMM_EXEC;
	exec.u.comm.comm = "x";
	if (found_new(&f, NULL, count, NULL, &n) < 0)
		return -1;
	if (found_event(f, &map) < 0 || found_event(f, &exec) < 0 || found_tick(f, util_now_ns()) < 0)
		n = -1;
	found_free(f);
	return n;
}

int main(void)
{
	char name[64];
	FILE *map;

	snprintf(name, sizeof(name), "/tmp/perf-%d.map", getpid());
	map = fopen(name, "wxe");
	if (!map)
		return 1;
	fputs("1000 40 f\n", map);
	fclose(map);
	ok(found_with(200, 100) == 1, "an exec that happened before the mapping and is told after it");
	ok(found_with(100, 200) == 0, "an exec after the mapping: its memory is gone");
	unlink(name);
	return done_testing();
}
