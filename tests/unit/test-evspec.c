/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/stat.h>

#include "lib/io.h"
#include "lib/tap.h"
#include "sampler/evspec.h"

static char dir[] = "/tmp/opjit-evspec-XXXXXX";

static const struct {
	const char *spec, *name;
	uint32_t type;
	uint64_t config, count;
	uint32_t um;
	bool no_kernel, no_user, timer;
} good[] = {
	{ "cpu-clock", "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0, 0, false, false, true },
	{ "cpu-clock:1000000", "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1000000, 0, false, false, true },
	{ "task-clock:20000:0:1:0", "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 20000, 0, false, true, true },
	{ "page-faults:1", "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 1, 0, false, false, false },
	{ "faults", "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, 0, false, false, false },
	{ "cs:5", "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 5, 0, false, false, false },
	{ "migrations", "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, 0, 0, false, false, false },
	{ "cycles:100000:0:0:1", "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 100000, 0, true, false, false },
	{ "r1a8", "r1a8", PERF_TYPE_RAW, 0x1a8, 0, 0, false, false, false },
	{ "r3c:6000:0x02", "r3c", PERF_TYPE_RAW, 0x23c, 6000, 2, false, false, false },
	{ "r0x1a8", "r0x1a8", PERF_TYPE_RAW, 0x1a8, 0, 0, false, false, false },
	{ "rFF:0x10000::1:1", "rFF", PERF_TYPE_RAW, 0xff, 0x10000, 0, false, false, false },
	{ "sched:sched_switch", "sched:sched_switch", PERF_TYPE_TRACEPOINT, 316, 0, 0, false, false, false },
	{ "sched:sched_switch:10:0:1:1", "sched:sched_switch", PERF_TYPE_TRACEPOINT, 316, 10, 0, false, false, false },
};

static const struct { const char *spec, *says; } bad[] = {
	{ "", "NAME[:COUNT" }, { ":100", "NAME[:COUNT" }, { "cycles:1:2:3:4:5:6:7:8", "NAME[:COUNT" },
	{ "no-such-event", "operf --list" }, { "cpu-clock:abc", "tracepoint or unit mask" }, { "cpu-clock:9999", "least allowed for it, 10000" },
	{ "cycles:5999", "6000" }, { "cycles:-5", "tracepoint or unit mask" }, { "cycles:18446744073709551616", "is not a number" },
	{ "cycles:100000:0:2", "kernel field" }, { "cycles:100000:0:1:x", "user field" }, { "cycles:100000:0:0:0", "nothing is left" },
	{ "cycles:100000:99999999999", "unit mask" }, { "sched:no_such", "tracepoint" }, { "../x:y", "tracepoint" }, { "r", "operf --list" },
	{ "r12345678901234567890", "operf --list" }, { "cycles:1x", "is not a number" },
};

static void make_tracefs(void)
{
	char path[256];

	if (!mkdtemp(dir))
		exit(99);
	snprintf(path, sizeof(path), "%s/events/sched/sched_switch", dir);
	io_mkdirs(path, 0755);
	snprintf(path, sizeof(path), "%s/events/sched/sched_switch/id", dir);
	io_replace(path, "316\n", 4, 0644);
}

static int count_one(void *arg, const char *name, const char *desc, uint64_t min_count)
{
	unsigned int *n = arg;
	ok(name[0] && desc && min_count, "listed: %s", name);
	return ++*n >= 40 ? 7 : 0;
}

int main(void)
{
	char longname[400];
	struct evspec e;
	unsigned int n = 0;

	make_tracefs();
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		AUTO_STRBUF why = STRBUF_INIT;
		memset(&e, 0, sizeof(e));
		is_int(0, evspec_parse(&e, good[i].spec, dir, &why), "%s is taken", good[i].spec);
		if (why.len)
			printf("# %s\n", why.buf);
		is_str(good[i].name, e.name, "its name");
		ok(e.type == good[i].type && e.config == good[i].config && e.count == good[i].count && e.um == good[i].um &&
		   e.no_kernel == good[i].no_kernel && e.no_user == good[i].no_user && e.timer == good[i].timer && e.desc[0], "its fields");
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		AUTO_STRBUF why = STRBUF_INIT;
		is_int(-EINVAL, evspec_parse(&e, bad[i].spec, dir, &why), "'%s' is refused", bad[i].spec);
		ok(strstr(strbuf_str(&why), bad[i].says) && !strchr(strbuf_str(&why), '\n'), "and says why: %s", strbuf_str(&why));
	}
	memset(longname, 'a', sizeof(longname) - 1);
	longname[sizeof(longname) - 1] = '\0';
	AUTO_STRBUF why = STRBUF_INIT;
	is_int(-EINVAL, evspec_parse(&e, longname, dir, &why), "a name of 399 letters is refused");
	is_int(0, evspec_parse(&e, "CPU_CLK_UNHALTED:100000", dir, &why), "upstream's name for cycles is known on every CPU");
	ok(e.hardware && e.count == 100000 && !strcmp(e.name, "CPU_CLK_UNHALTED"), "and needs a PMU");
	int r = evspec_list(count_one, &n);
	ok(r == 7 || (r == 0 && n < 40), "the list ends when it is told to");
	ok(n >= 30, "the list has the generic events (%u)", n);
	io_remove_tree(-100, dir, NULL, NULL);
	return done_testing();
}
