/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_SESSION_STORE_H
#define OPJIT_SESSION_STORE_H
/* What store.c (gathering), stacks.c and flush.c share. */
#include "format/abi/opdb.h"
#include "format/abi/ophd.h"
#include "lib/map.h"
#include "session/info.h"
#include "session/session.h"

/* One distinct (file, key). 16 bytes, four a cache line. count 0 = free. */
struct store_cell {
	uint64_t key;
	uint32_t file;
	uint32_t count;
};

/* A sample on its way into its cell, whose cache line has been asked for. count 0 = none. */
#define STORE_PENDING 16u
struct store_pending {
	uint64_t key, count, hash;
	uint32_t file;
};

/* A count that a cell has no room for, and the form that is sorted and written. */
struct store_record {
	uint64_t key;
	uint64_t count;
	uint32_t file;
};

struct store_node {
	uint64_t key, count;
	uint32_t parent;  /* index, less than its own; 0 = none */
	uint32_t file;
};

struct store_stacks {
	struct store_node *nodes; /* 1 … n; 0 is nobody */
	uint32_t n, room;
	uint32_t *slots;          /* index of a node, 0 = free */
	uint32_t n_slots;
};
void store_stacks_done(struct store_stacks *t);
int64_t store_stacks_node(struct store_stacks *t, uint32_t parent, uint32_t file, uint64_t key);

struct session_store {
	char *dir;
	int samples_fd;           /* DIR/samples; carries the lock that keeps a second writer out */
	bool stacks, no_sync;
	struct session_info info;
	uint32_t *event_map;      /* the caller's index -> info.events + 1 */
	uint32_t n_event_map;
	struct strpool paths;     /* id = number of the file */

	struct store_cell *cells;
	size_t n_cells, used;     /* n_cells a power of two */
	unsigned int shift;       /* 64 - log2(n_cells) */
	struct store_pending pending[STORE_PENDING];
	unsigned int pending_at;  /* where the oldest is */
	struct store_record *extra;
	size_t n_extra, extra_room;
	struct store_stacks tree;

	uint64_t base;            /* generation that the next flush adds to; 0 = none */
	uint64_t old;             /* generation that the first flush makes `previous`; 0 = none */
	struct strbuf written;    /* info as last flushed */
};

/* store.c */
int store_settle(struct session_store *s); /* what is pending goes into its cells */
/* flush.c */
int store_sort(struct store_record **records, size_t *n); /* by file and key; equal ones are summed */
int store_collect(const struct session_store *s, struct store_record **ret, size_t *n);
void store_clear(struct session_store *s);

#endif
