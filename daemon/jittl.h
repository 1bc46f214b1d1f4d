/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_DAEMON_JITTL_H
#define OPJIT_DAEMON_JITTL_H
/*
 * The timeline of one JIT source: which region stood at an address at a time. Regions are kept in blocks of
 * arrays in order of (address, time of load), 40 bytes a region; a table of the blocks' first addresses
 * (jittable.h) is searched first. Regions whose end lies behind every question still to come are dropped by jittl_prune.
 *
 * What comes in may be forged: sizes are clipped, ends before starts, backward clocks and overlaps are legal input
 * and give an answer; what is refused is counted in n_bad. Not thread-safe.
 */
#include "format/jit/event.h"
#include "lib/util.h"

struct jittl;

struct jittl_region {
	uint64_t addr, size;
	uint64_t load_ns, unload_ns; /* live in [load_ns, unload_ns); UINT64_MAX = not unloaded */
	uint64_t late_ns;            /* for so long before unload_ns other code may have had the room already; rounded up by a quarter at most */
	uint64_t image_offset;
	uint32_t segment;
	uint32_t id;
	uint8_t kind;                /* enum jit_region_kind */
	bool since_unknown;          /* existed before load_ns, since when is not known */
};

/* What the timeline knows of (addr, t). */
struct jittl_find {
	bool has_live, has_next;
	struct jittl_region live;    /* newest load at or before t, if it is not unloaded at t */
	struct jittl_region next;    /* the first load after t that took the address */
	bool overwritten;            /* live was not unloaded when next took its address */
	bool doubtful;               /* other code may have had the room of live at t already */
};

struct jittl_heap {
	uint64_t start, end;
};

struct jittl_stats {
	uint64_t n_regions, n_loads, n_bad, n_pruned, bytes;
};

#define JITTL_MAX_REGIONS (16u << 20) /* in one source; further loads are refused and counted */
#define JITTL_MAX_SEGMENT ((1u << 17) - 1)
#define JITTL_MAX_OFFSET ((UINT64_C(1) << 40) - 1)

int jittl_new(struct jittl **ret);
void jittl_free(struct jittl *j);
/* Takes LOAD, UNLOAD, MOVE and HEAP; ignores the rest. 0, -ENOMEM, -EBADMSG (refused), -E2BIG (too many). */
int jittl_event(struct jittl *j, const struct jit_event *e);
/* False: the timeline has nothing within [lowest, highest) around addr. */
bool jittl_covers(const struct jittl *j, uint64_t addr);
void jittl_find(const struct jittl *j, uint64_t addr, uint64_t t, struct jittl_find *ret);
/*
 * Ahead of jittl_find, for many addresses in turn: each step asks for the memory that the next one reads, so that the waits
 * of many look-ups overlap. Steps 0 (j itself), 1, 2, 3; no step changes anything.
 */
#define JITTL_STEPS 4
void jittl_prefetch(const struct jittl *j, uint64_t addr, unsigned int step);
/* The code heap that has addr, or NULL. */
const struct jittl_heap *jittl_heap(const struct jittl *j, uint64_t addr);
/* Whether enough died since the last prune to make one worth it. */
bool jittl_wants_prune(const struct jittl *j);
/* No question before now_ns will come any more, but for exactly the times in pins (forks of the process). */
void jittl_prune(struct jittl *j, uint64_t now_ns, const uint64_t *pins, size_t n_pins);
void jittl_stats(const struct jittl *j, struct jittl_stats *ret);

#endif
