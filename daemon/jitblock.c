/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "daemon/jitblock.h"

#include <sys/mman.h>

#define CHUNK ((size_t)2 << 20)

struct jitblock_chunk { /* stands at its begin; chunks are aligned to their size */
	struct jitblock_chunk *next, *prev; /* on the list of those with room */
	void *free;                         /* given back, each with a pointer to the next */
	size_t live, touched;               /* blocks; what lies behind the touched ones has never been used */
};

static size_t in_one(const struct jitblock_pool *p) { return (CHUNK - sizeof(struct jitblock_chunk)) / p->bytes; }

static void link_in(struct jitblock_pool *p, struct jitblock_chunk *c)
{
	c->prev = NULL;
	c->next = p->rooms;
	if (c->next)
		c->next->prev = c;
	p->rooms = c;
}

static void link_out(struct jitblock_pool *p, struct jitblock_chunk *c)
{
	if (c->next)
		c->next->prev = c->prev;
	if (c->prev)
		c->prev->next = c->next;
	else
		p->rooms = c->next;
}

static struct jitblock_chunk *chunk_new(struct jitblock_pool *p)
{
	char *map = mmap(NULL, 2 * CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *at;

	if (map == MAP_FAILED)
		return NULL;
	at = (char *)ALIGN_UP((uintptr_t)map, (uintptr_t)CHUNK);
	if (at != map)
		munmap(map, (size_t)(at - map));
	munmap(at + CHUNK, (size_t)(map + 2 * CHUNK - (at + CHUNK)));
	madvise(at, CHUNK, MADV_HUGEPAGE);
	p->n_chunks++;
	link_in(p, (struct jitblock_chunk *)(void *)at);
	return p->rooms;
}

void *jitblock_get(struct jitblock_pool *p, bool *in_chunk)
{
	struct jitblock_chunk *c = p->rooms;
	void *block;

	*in_chunk = c || p->n_single >= JITBLOCK_SINGLE;
	if (!*in_chunk) {
		block = malloc(p->bytes);
		p->n_single += block != NULL;
		return block;
	}
	if (!c && !(c = chunk_new(p)))
		return NULL;
	if (c->free) {
		block = c->free;
		c->free = *(void **)block;
	} else {
		block = (char *)(c + 1) + c->touched++ * p->bytes;
	}
	if (++c->live == in_one(p))
		link_out(p, c);
	return block;
}

void jitblock_put(struct jitblock_pool *p, void *block, bool in_chunk)
{
	struct jitblock_chunk *c;

	if (!in_chunk) {
		free(block);
		p->n_single--;
		return;
	}
	c = (struct jitblock_chunk *)((uintptr_t)block & ~(uintptr_t)(CHUNK - 1));
	*(void **)block = c->free;
	c->free = block;
	if (c->live-- == in_one(p))
		link_in(p, c);
	if (!c->live) {
		link_out(p, c);
		p->n_chunks--;
		munmap(c, CHUNK);
	}
}

void jitblock_join(struct jitblock_pool *p, struct jitblock_pool *from)
{
	for (struct jitblock_chunk *c; (c = from->rooms); link_in(p, c))
		link_out(from, c);
	p->n_single += from->n_single;
	p->n_chunks += from->n_chunks;
	from->n_single = from->n_chunks = 0;
}

size_t jitblock_bytes(const struct jitblock_pool *p)
{
	return p->n_single * p->bytes + p->n_chunks * CHUNK;
}
