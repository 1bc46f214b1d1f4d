/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_LIB_MAP_H
#define OPJIT_LIB_MAP_H
/*
 * Two maps and an interning string pool. All grow by doubling, none shrinks, none is thread-safe.
 * Zero-initialised objects are valid and empty. Functions that can fail return 0 or -ENOMEM.
 */
#include "lib/util.h"

/* --- uint64_t -> uint64_t, open addressing ------------------------------------------------------------- */
struct u64map_slot {
	uint64_t key;
	uint64_t value;
};
struct u64map {
	struct u64map_slot *slots; /* key 0 marks a free one */
	size_t n_slots;            /* a power of two, or 0 */
	size_t used;
	bool has_zero;             /* key 0 is kept beside the table */
	uint64_t zero_value;
};
void u64map_done(struct u64map *m);
/* Pointer to the value, NULL if the key is not there; valid until the next insertion. */
uint64_t *u64map_get(const struct u64map *m, uint64_t key);
/* Pointer to the value, made as 0 if the key was not there; NULL when memory ends. */
uint64_t *u64map_at(struct u64map *m, uint64_t key);
int u64map_put(struct u64map *m, uint64_t key, uint64_t value);
bool u64map_del(struct u64map *m, uint64_t key);
/* Walk: start with *it = 0; false at the end. Do not change the map meanwhile. */
bool u64map_next(const struct u64map *m, size_t *it, uint64_t *key, uint64_t **value);
static inline size_t u64map_size(const struct u64map *m) { return m->used + m->has_zero; }

/* --- strings, each kept once --------------------------------------------------------------------------- */
struct strpool {
	char *bytes;        /* NUL-terminated strings one after the other */
	size_t len, room;
	uint64_t *offsets;  /* id -> offset */
	uint32_t n, n_room;
	uint32_t *slots;    /* hash table of id + 1 */
	uint32_t n_slots;
};
void strpool_done(struct strpool *p);
/* The id (0, 1, 2, …) of a string of len bytes without NUL in it; -ENOMEM; -E2BIG above 2^31 - 1 ids. */
int64_t strpool_id(struct strpool *p, const char *s, size_t len);
/* The string of an id that strpool_id gave; valid until the next strpool_id. */
const char *strpool_str(const struct strpool *p, uint32_t id);

#endif
