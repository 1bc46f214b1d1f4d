/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libpfm4 brings a copy of linux/perf_event.h of its own; so it is used in this file only. */
#include <perfmon/pfmlib_perf_event.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sampler/evspec.h"

static bool pfm_ready(void)
{
	/* Repeated calls are cheap and allowed. */
	return pfm_initialize() == PFM_SUCCESS;
}

int evspec_pfm_find(struct evspec *ret, const char *name)
{
	struct perf_event_attr attr;
	pfm_perf_encode_arg_t arg = { .attr = &attr, .size = sizeof(arg) };
	pfm_event_info_t info = { .size = sizeof(info) };

	if (!pfm_ready())
		return -ENOENT;
	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	if (pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg) != PFM_SUCCESS)
		return -ENOENT;
	ret->type = attr.type;
	ret->config = attr.config;
	ret->config1 = attr.config1;
	ret->config2 = attr.config2;
	ret->hardware = attr.type != PERF_TYPE_SOFTWARE && attr.type != PERF_TYPE_TRACEPOINT;
	ret->min_count = ret->hardware ? 500 : 1;
	if (pfm_get_event_info(arg.idx, PFM_OS_PERF_EVENT, &info) == PFM_SUCCESS && info.desc)
		snprintf(ret->desc, sizeof(ret->desc), "%s", info.desc);
	return 0;
}

static int list_pmu(pfm_pmu_t pmu, const pfm_pmu_info_t *pi, evspec_list_fn *fn, void *arg)
{
	pfm_event_info_t info;
	int i, r;

	(void)pmu;
	for (i = pi->first_event; i != -1; i = pfm_get_event_next(i)) {
		memset(&info, 0, sizeof(info));
		info.size = sizeof(info);
		if (pfm_get_event_info(i, PFM_OS_NONE, &info) != PFM_SUCCESS)
			continue;
		r = fn(arg, info.name, info.desc ? info.desc : "", 500);
		if (r)
			return r;
	}
	return 0;
}

int evspec_pfm_list(evspec_list_fn *fn, void *arg)
{
	pfm_pmu_info_t pi;
	int pmu, r;

	if (!pfm_ready())
		return 0;
	for (pmu = PFM_PMU_NONE; pmu < PFM_PMU_MAX; pmu++) {
		memset(&pi, 0, sizeof(pi));
		pi.size = sizeof(pi);
		if (pfm_get_pmu_info((pfm_pmu_t)pmu, &pi) != PFM_SUCCESS || !pi.is_present)
			continue;
		/* The kernel's generic events and tracepoints are listed by evspec.c. */
		if (pmu == PFM_PMU_PERF_EVENT || pmu == PFM_PMU_PERF_EVENT_RAW)
			continue;
		r = list_pmu((pfm_pmu_t)pmu, &pi, fn, arg);
		if (r)
			return r;
	}
	return 0;
}
