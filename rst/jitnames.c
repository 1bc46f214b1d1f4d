/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include "rst/jitnames.h"

static void on_load(struct jitnames *j, const struct jit_event *e)
{
	AUTO_FREE char *name = strndup(e->name ? e->name : "?", e->name ? e->name_len : 1);

	record_code(j->rec, e->addr, e->size, e->name ? e->name : "?", e->name ? e->name_len : 1);
	if (e->kind == JIT_METHOD)
		syms_add(&j->regions, e->addr, e->size, name ? name : "?");
}

static int on_jit(void *arg, const struct jit_event *e)
{
	struct jitnames *j = arg;

	switch (e->type) {
	case JIT_EVENT_LOAD:
		on_load(j, e);
		break;
	case JIT_EVENT_UNLOAD:
		record_code(j->rec, e->addr, 0, NULL, 0);
		syms_remove(&j->regions, e->addr);
		break;
	case JIT_EVENT_MOVE:
		syms_remove(&j->regions, e->old_addr);
		record_code(j->rec, e->old_addr, 0, NULL, 0);
		on_load(j, e);
		break;
	}
	return 0;
}

/* Rings of libopagent among the mappings. */
static void scan_sources(struct jitnames *j, pid_t pid)
{
	char path[64], line[4400];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && j->n_sources < JITNAMES_SOURCES) {
		unsigned int major, minor;
		unsigned long long ino;
		const char *why = "";
		size_t i = 0;
		int at = 0;

		if (sscanf(line, "%*x-%*x %*s %*x %x:%x %llu %n", &major, &minor, &ino, &at) < 3 || !at)
			continue;
		line[strcspn(line, "\n")] = 0;
		while (i < j->n_sources && strcmp(j->source_paths[i], line + at))
			i++;
		if (i < j->n_sources || !jit_source_is_marker(line + at))
			continue;
		if (jit_source_open(&j->sources[i], pid, UINT32_MAX, line + at, makedev(major, minor), ino, &why))
			continue;
		j->source_paths[i] = strdup(line + at);
		if (j->source_paths[i])
			j->n_sources++;
		else
			jit_source_free(j->sources[i]);
	}
	if (f)
		fclose(f);
}

void jitnames_poll(struct jitnames *j, pid_t pid)
{
	uint64_t now = util_now_ns();

	if (now - j->last_scan_ns > 50 * NSEC_PER_MSEC) {
		j->last_scan_ns = now;
		scan_sources(j, pid);
	}
	for (size_t i = 0; i < j->n_sources; i++)
		if (jit_source_pending(j->sources[i]))
			jit_source_poll(j->sources[i], on_jit, j);
}

void jitnames_done(struct jitnames *j)
{
	for (size_t i = 0; i < j->n_sources; i++) {
		jit_source_free(j->sources[i]);
		free(j->source_paths[i]);
	}
	j->n_sources = 0;
	syms_done(&j->regions);
}

void jitnames_forget(struct jitnames *j)
{
	for (size_t i = 0; i < j->regions.n; i++)
		record_code(j->rec, j->regions.v[i].addr, 0, NULL, 0);
	jitnames_done(j);
}
