/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_DAEMON_JITBLOCK_H
#define OPJIT_DAEMON_JITBLOCK_H
/*
 * Memory of one timeline's blocks. The first JITBLOCK_SINGLE come from malloc, so that a small timeline has no more than it needs;
 * those of a large one lie in chunks of 2 MiB for which huge pages are asked, since with small ones half of the time of reading a
 * large perf map went into the faults of touching this memory first. A chunk goes back to the system once nothing of it is in use.
 */
#include "lib/util.h"

#define JITBLOCK_SINGLE 4096

struct jitblock_pool {
	size_t bytes;                 /* of a block; set before the first is taken */
	size_t n_single;
	size_t n_chunks;
	struct jitblock_chunk *rooms; /* chunks with room */
};

/* Not cleared. *in_chunk has to be given back with it. NULL: no memory. */
void *jitblock_get(struct jitblock_pool *p, bool *in_chunk);
void jitblock_put(struct jitblock_pool *p, void *block, bool in_chunk);
/* What `from` still has belongs to p. */
void jitblock_join(struct jitblock_pool *p, struct jitblock_pool *from);
/* What the pool has from the system. */
size_t jitblock_bytes(const struct jitblock_pool *p);

#endif
