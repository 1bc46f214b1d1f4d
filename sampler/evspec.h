/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_SAMPLER_EVSPEC_H
#define OPJIT_SAMPLER_EVSPEC_H
/*
 * What the user wrote after -e, understood:
 *
 *	NAME[:COUNT[:UM[:KERNEL[:USER]]]]
 *
 * NAME is a software event of the kernel (cpu-clock, page-faults, …), a generic hardware event (cycles, …) or upstream's
 * name for it (CPU_CLK_UNHALTED, …), rHEX, a tracepoint (system:name), or whatever libpfm4 knows for this CPU; UM may then be
 * a unit mask's number or name. COUNT 0 or none: by frequency. KERNEL and USER are 0 or 1.
 */
#include "lib/strbuf.h"

struct evspec {
	char name[128];       /* as written, without the numbers */
	char desc[256];
	uint32_t type;        /* PERF_TYPE_* or a PMU's number */
	uint64_t config, config1, config2;
	uint64_t count;       /* 0 = by frequency */
	uint64_t min_count;
	uint32_t um;
	bool no_kernel, no_user;
	bool hardware;        /* needs a PMU */
	bool timer;           /* counts nanoseconds */
};

/* 0; -EINVAL bad syntax, unknown name or a count below the minimum; -EACCES tracefs cannot be read. `why` says it.
 * tracefs: NULL for the usual places. */
int evspec_parse(struct evspec *ret, const char *spec, const char *tracefs, struct strbuf *why);
/* cycles, and cpu-clock, without reading a spec. */
void evspec_cycles(struct evspec *ret);
void evspec_cpu_clock(struct evspec *ret);

/* One line an event for a list: libpfm4's of the present CPU come last. Non-zero from fn ends it and is returned. */
typedef int evspec_list_fn(void *arg, const char *name, const char *desc, uint64_t min_count);
int evspec_list(evspec_list_fn *fn, void *arg);

/* evspec_pfm.c: libpfm4 alone; its headers cannot be used beside the kernel's. -ENOENT: not known. */
int evspec_pfm_find(struct evspec *ret, const char *name);
int evspec_pfm_list(evspec_list_fn *fn, void *arg);

#endif
