/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sampler/evspec.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "lib/io.h"

#define MIN_TIMER 10000u   /* ns: the kernel's hrtimer takes no less */
#define MIN_CYCLES 6000u
#define MIN_HW 500u

static const struct known {
	const char *name;
	uint32_t type;
	uint64_t config;
	uint32_t min_count;
	const char *desc;
} known[] = {
	{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, MIN_TIMER, "Time on the CPU by its clock, in nanoseconds" },
	{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, MIN_TIMER, "Time the task ran, in nanoseconds" },
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 1, "Page faults" },
	{ "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 1, "Page faults" },
	{ "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, 1, "Page faults served without disk" },
	{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1, "Page faults that waited for disk" },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1, "Context switches" },
	{ "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1, "Context switches" },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, 1, "Moves to another CPU" },
	{ "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, 1, "Moves to another CPU" },
	{ "alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, 1, "Unaligned accesses the kernel mended" },
	{ "emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS, 1, "Instructions the kernel emulated" },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, MIN_CYCLES, "CPU cycles while not halted" },
	{ "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, MIN_CYCLES, "CPU cycles while not halted" },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, MIN_CYCLES, "Instructions retired" },
	{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, MIN_HW, "Last-level cache references" },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, MIN_HW, "Last-level cache misses" },
	{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, MIN_HW, "Branch instructions retired" },
	{ "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, MIN_HW, "Branch instructions retired" },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, MIN_HW, "Mispredicted branches" },
	{ "bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, MIN_HW, "Bus cycles" },
	{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, MIN_CYCLES, "Cycles of the reference clock" },
	{ "stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, MIN_HW, "Cycles without instructions issued" },
	{ "stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, MIN_HW, "Cycles without instructions retired" },
	/* upstream's names for them, used when libpfm4 has no event of that name for this CPU */
	{ "CPU_CLK_UNHALTED", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, MIN_CYCLES, "CPU cycles while not halted" },
	{ "INST_RETIRED", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, MIN_CYCLES, "Instructions retired" },
	{ "INST_RETIRED_ANY_P", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, MIN_CYCLES, "Instructions retired" },
	{ "RETIRED_INSTRUCTIONS", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, MIN_CYCLES, "Instructions retired" },
	{ "LLC_REFS", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, MIN_CYCLES, "Last-level cache references" },
	{ "LLC_MISSES", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, MIN_CYCLES, "Last-level cache misses" },
	{ "BR_INST_RETIRED", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, MIN_HW, "Branch instructions retired" },
	{ "BR_MISS_PRED_RETIRED", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, MIN_HW, "Mispredicted branches" },
};

static void take_known(struct evspec *ret, const struct known *k)
{
	ret->type = k->type;
	ret->config = k->config;
	ret->min_count = k->min_count;
	ret->hardware = k->type == PERF_TYPE_HARDWARE;
	ret->timer = k->min_count == MIN_TIMER;
	snprintf(ret->desc, sizeof(ret->desc), "%s", k->desc);
}

static int known_find(struct evspec *ret, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcasecmp(known[i].name, name)) {
			take_known(ret, &known[i]);
			return 0;
		}
	return -ENOENT;
}

void evspec_cycles(struct evspec *ret)
{
	*ret = (struct evspec){ .name = "cycles" };
	known_find(ret, "cycles");
}

void evspec_cpu_clock(struct evspec *ret)
{
	*ret = (struct evspec){ .name = "cpu-clock" };
	known_find(ret, "cpu-clock");
}

static int raw_find(struct evspec *ret, const char *name)
{
	uint64_t v;

	if (name[0] != 'r' || util_parse_u64(name + 1, 16, UINT64_MAX, &v) < 0)
		return -ENOENT;
	ret->type = PERF_TYPE_RAW;
	ret->config = v;
	ret->hardware = true;
	ret->min_count = MIN_HW;
	snprintf(ret->desc, sizeof(ret->desc), "Raw hardware event");
	return 0;
}

/* -ENOENT: no such tracepoint, or no tracefs at all; -EACCES. */
static int tracepoint_find(struct evspec *ret, const char *sys, const char *name, const char *tracefs)
{
	const char *const usual[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	AUTO_STRBUF path = STRBUF_INIT_CAP(4096), text = STRBUF_INIT_CAP(64);
	int err = -ENOENT, r;
	uint64_t id;

	if (strchr(sys, '/') || strchr(name, '/') || sys[0] == '.' || name[0] == '.')
		return -ENOENT;
	for (size_t i = 0; i < (tracefs ? 1 : ARRAY_SIZE(usual)); i++) {
		strbuf_reset(&path);
		strbuf_reset(&text);
		strbuf_addf(&path, "%s/events/%s/%s/id", tracefs ? tracefs : usual[i], sys, name);
		r = path.error ? path.error : io_slurp(AT_FDCWD, strbuf_str(&path), &text);
		if (r == -EACCES || r == -EPERM)
			err = -EACCES;
		if (r < 0)
			continue;
		if (text.len && text.buf[text.len - 1] == '\n')
			text.buf[text.len - 1] = '\0';
		if (util_parse_u64(strbuf_str(&text), 10, UINT32_MAX, &id) < 0)
			continue;
		ret->type = PERF_TYPE_TRACEPOINT;
		ret->config = id;
		ret->min_count = 1;
		snprintf(ret->desc, sizeof(ret->desc), "Tracepoint");
		return 0;
	}
	return err;
}

static int flag_take(bool *off, const char *text, const char *which, const char *spec, struct strbuf *why)
{
	if (strcmp(text, "0") && strcmp(text, "1")) {
		strbuf_addf(why, "event '%s': the %s field is '%s', write 0 or 1", spec, which, text);
		return -EINVAL;
	}
	*off = text[0] == '0';
	return 0;
}

static bool is_number(const char *s)
{
	return s[0] >= '0' && s[0] <= '9';
}

static int unknown(const char *spec, const char *name, int err, struct strbuf *why)
{
	if (err == -EACCES)
		strbuf_addf(why, "event '%s': the tracepoints below /sys/kernel/tracing cannot be read by this user; run as root, or "
			    "remount tracefs with a gid of yours", spec);
	else if (strchr(name, ':'))
		strbuf_addf(why, "event '%s': no such tracepoint or unit mask; is tracefs mounted (mount -t tracefs tracefs "
			    "/sys/kernel/tracing)? operf --list shows the events", spec);
	else
		strbuf_addf(why, "event '%s': not known for this CPU; operf --list shows the events", spec);
	return -EINVAL;
}

/* Number fields behind the name: f[0] count, f[1] unit mask, f[2] kernel, f[3] user. */
static int fields_take(struct evspec *e, char *const f[], size_t n, const char *spec, struct strbuf *why)
{
	uint64_t v;
	int r;

	if (n > 0 && util_parse_u64(f[0], 0, INT64_MAX, &e->count) < 0) {
		strbuf_addf(why, "event '%s': the count '%s' is not a number", spec, f[0]);
		return -EINVAL;
	}
	if (n > 1 && f[1][0]) {
		if (util_parse_u64(f[1], 0, UINT32_MAX, &v) < 0) {
			strbuf_addf(why, "event '%s': the unit mask '%s' is not a number", spec, f[1]);
			return -EINVAL;
		}
		e->um = (uint32_t)v;
	}
	if (n > 2 && (r = flag_take(&e->no_kernel, f[2], "kernel", spec, why)) < 0)
		return r;
	if (n > 3 && (r = flag_take(&e->no_user, f[3], "user", spec, why)) < 0)
		return r;
	if (e->no_kernel && e->no_user) {
		strbuf_addf(why, "event '%s': with kernel 0 and user 0 nothing is left to count", spec);
		return -EINVAL;
	}
	return 0;
}

static int name_find(struct evspec *e, const char *name, const char *tracefs)
{
	char sys[sizeof(e->name)];
	const char *colon = strchr(name, ':');
	int r = -ENOENT, t;

	if (colon) {
		snprintf(sys, sizeof(sys), "%.*s", (int)(colon - name), name);
		r = tracepoint_find(e, sys, colon + 1, tracefs);
	} else if (!raw_find(e, name) || (name[0] >= 'a' && !known_find(e, name))) {
		return 0;
	}
	if (!r)
		return 0;
	/* In capitals it is upstream's name: an event of this very CPU goes before the generic one. */
	t = evspec_pfm_find(e, name);
	if (!t)
		return 0;
	return colon ? r : known_find(e, name);
}

/* The name that the first parts make, in name; the number fields begin at the part returned. 0: it is no spec. */
static size_t name_take(char *name, size_t size, char *part[], size_t n)
{
	/* sys:name of a tracepoint, or EVENT:UMASK of libpfm4: no number behind the first colon. */
	bool two = n > 1 && part[1][0] && !is_number(part[1]);
	size_t at = two ? 2 : 1, len;

	if (n - at > 4 || (size_t)snprintf(name, size, "%s%s%s", part[0], two ? ":" : "", two ? part[1] : "") >= size)
		return 0;
	/* A unit mask by its name is libpfm4's business too. */
	if (!two && n > 2 && part[2][0] && !is_number(part[2])) {
		len = strlen(name);
		snprintf(name + len, size - len, ":%s", part[2]);
		part[2] += strlen(part[2]);
	}
	return at;
}

int evspec_parse(struct evspec *ret, const char *spec, const char *tracefs, struct strbuf *why)
{
	struct evspec e = { .name = "" };
	AUTO_FREE char *copy = strdup(spec);
	char *part[8], *rest = copy;
	size_t n = 0, at = 0;
	int r;

	if (!copy)
		return -ENOMEM;
	while (rest && n < ARRAY_SIZE(part))
		part[n++] = strsep(&rest, ":");
	if (!rest && n && part[0][0] && n <= 6)
		at = name_take(e.name, sizeof(e.name), part, n);
	if (!at) {
		strbuf_addf(why, "event '%s': write NAME[:COUNT[:UNITMASK[:KERNEL[:USER]]]]", spec);
		return -EINVAL;
	}
	r = name_find(&e, e.name, tracefs);
	if (r < 0)
		return unknown(spec, e.name, r, why);
	r = fields_take(&e, part + at, n - at, spec, why);
	if (r < 0)
		return r;
	if (e.um && (e.type == PERF_TYPE_RAW || e.type > 5) && !(e.config & 0xff00))
		e.config |= (uint64_t)(e.um & 0xff) << 8;
	if (e.count && e.count < e.min_count) {
		strbuf_addf(why, "event '%s': the count is below the least allowed for it, %llu", spec, (unsigned long long)e.min_count);
		return -EINVAL;
	}
	*ret = e;
	return 0;
}

int evspec_list(evspec_list_fn *fn, void *arg)
{
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		r = fn(arg, known[i].name, known[i].desc, known[i].min_count);
		if (r)
			return r;
	}
	return evspec_pfm_list(fn, arg);
}
