/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * instance-dump DIR: what an instance of libopagent has told, as text, through the reader that the tools use.
 *
 *	load ID kind=K tier=T flags=F osr=B addr=A size=N [SOURCE] NAME
 *	 line OFFSET LINE FILE        frame N CALLER NAME FILE call LINE        range OFFSET FRAME LINE        unwind OFFSET …
 *	unload ID addr=A · heap addr=A size=N NAME · close
 *	live N regions, M overlapping      at the end: regions without an unload
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format/jit/tables.h"
#include "jitconv/source.h"
#include "lib/map.h"
#include "lib/util.h"

struct live {
	uint64_t addr, size, id;
};
static struct live *live;
static size_t n_live, room_live;

static void live_add(const struct jit_event *e)
{
	/* A load ends what it overlaps: the rule of the readers. */
	for (size_t i = 0; i < n_live;) {
		if (live[i].addr < e->addr + e->size && e->addr < live[i].addr + live[i].size) {
			printf("superseded %" PRIu64 "\n", live[i].id);
			live[i] = live[--n_live];
		} else {
			i++;
		}
	}
	if (n_live == room_live) {
		room_live = room_live ? 2 * room_live : 1024;
		live = realloc(live, room_live * sizeof(*live));
		if (!live)
			exit(1);
	}
	live[n_live++] = (struct live){ e->addr, e->size, e->id };
}

static bool live_del(uint64_t id)
{
	for (size_t i = 0; i < n_live; i++) {
		if (live[i].id == id) {
			live[i] = live[--n_live];
			return true;
		}
	}
	return false;
}

static const char *str(const struct jit_event *e, uint32_t offset)
{
	const char *s = jit_string(e->strings, e->strings_len, offset);
	return s ? s : "-";
}

static void tables(const struct jit_event *e)
{
	struct jit_unpack u = jit_unpack_of(e->lines, e->lines_len);
	struct jit_unwind_row row;
	struct jit_inlines in;
	struct jit_line l;

	while (jit_unpack_line(&u, &l) > 0)
		printf(" line %" PRIu32 " %" PRIu32 " %s\n", l.offset, l.line, str(e, l.file));
	if (e->inlines_len && jit_inlines_unpack(&in, e->inlines, e->inlines_len) == 0) {
		for (uint32_t i = 0; i < in.n_frames; i++)
			printf(" frame %" PRIu32 " %" PRId32 " %s %s call %" PRIu32 "\n", i, (int32_t)in.frames[i].caller,
			       str(e, in.frames[i].name), str(e, in.frames[i].file), in.frames[i].call_line);
		for (uint32_t i = 0; i < in.n_ranges; i++)
			printf(" range %" PRIu32 " %" PRId32 " %" PRIu32 "\n", in.ranges[i].offset, (int32_t)in.ranges[i].frame,
			       in.ranges[i].line);
		jit_inlines_done(&in);
	}
	u = jit_unpack_of(e->unwind, e->unwind_len);
	while (jit_unpack_unwind(&u, &row) > 0)
		printf(" unwind %" PRIu32 " cfa=r%u%+d ra=%d fp=%d\n", row.offset, row.cfa_reg, row.cfa_offset, row.ra_offset, row.fp_offset);
}

static int show(void *arg, const struct jit_event *e)
{
	switch (e->type) {
	case JIT_EVENT_LOAD:
		live_add(e);
		printf("load %" PRIu64 " kind=%u tier=%d flags=%" PRIu32 " osr=%" PRId32 " addr=%" PRIx64 " size=%" PRIu64 " [%.*s] %.*s\n", e->id,
		       e->kind, e->tier, e->flags, e->flags & JIT_OSR ? e->osr_bci : -1, e->addr, e->size, (int)e->source_file_len,
		       e->source_file ? e->source_file : "", (int)e->name_len, e->name ? e->name : "");
		tables(e);
		break;
	case JIT_EVENT_UNLOAD:
		printf("unload %" PRIu64 " addr=%" PRIx64 "%s\n", e->id, e->addr, live_del(e->id) ? "" : " of nothing live");
		break;
	case JIT_EVENT_HEAP:
		printf("heap addr=%" PRIx64 " size=%" PRIu64 " %.*s\n", e->addr, e->size, (int)e->name_len, e->name ? e->name : "");
		break;
	case JIT_EVENT_CLOSE:
		printf("close\n");
		break;
	default:
		printf("event %u\n", e->type);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct jit_source_info info;
	struct jit_source *s;
	const char *why = "";
	char path[4096];
	int r;

	if (argc != 2)
		return 2;
	snprintf(path, sizeof(path), "%s/ring", argv[1]);
	r = jit_source_open(&s, 0, getuid(), path, 0, 0, &why);
	if (r < 0) {
		fprintf(stderr, "%s: %s (%s)\n", path, why, strerror(-r));
		return 1;
	}
	jit_source_want_tables(s, true);
	do {
		r = jit_source_poll(s, show, NULL);
	} while (r > 0);
	jit_source_info(s, &info);
	if (r < 0)
		printf("broken: %s\n", jit_source_why(s));
	printf("source %s lag=%" PRIu64 " events=%" PRIu64 " bad=%" PRIu64 "\n", info.name, info.lag_ns, info.n_events, info.n_bad);
	printf("live %zu regions\n", n_live);
	jit_source_free(s);
	free(live);
	return r < 0;
}
