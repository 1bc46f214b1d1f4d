/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Live regions by start address (and by where their bytes were copied from): constant time. */
#include <errno.h>
#include <string.h>

#include "libopagent/core.h"

static struct region *by(const struct core *c, const struct u64map *m, uint64_t key)
{
	uint64_t *v = u64map_get(m, key);

	return v && *v && *v <= c->n_regions ? &c->regions[*v - 1] : NULL;
}

struct region *regions_find(struct core *c, uint64_t addr) { return by(c, &c->by_addr, addr); }

struct region *regions_by_code(struct core *c, uint64_t code)
{
	struct region *r = by(c, &c->by_code, code);

	return r ? r : regions_find(c, code);
}

static void forget_code(struct core *c, const struct region *r)
{
	uint64_t *v = r->code ? u64map_get(&c->by_code, r->code) : NULL;

	if (v && *v == (uint64_t)(r - c->regions) + 1)
		u64map_del(&c->by_code, r->code);
}

/* The newest region at an address is the live one: an older one there loses its place. */
int regions_add(struct core *c, const struct region *r)
{
	struct region *slot = regions_find(c, r->addr);
	uint64_t index;

	if (slot) {
		forget_code(c, slot);
		index = (uint64_t)(slot - c->regions);
	} else if (c->free_region) {
		index = c->free_region - 1;
		c->free_region = c->regions[index].next_free;
	} else {
		if (c->n_regions == c->room_regions) {
			uint32_t room = c->room_regions ? c->room_regions * 2 : 1024;
			struct region *more = realloc(c->regions, room * sizeof(*more));
			if (!more)
				return -ENOMEM;
			c->regions = more;
			c->room_regions = room;
		}
		index = c->n_regions++;
	}
	c->regions[index] = *r;
	if (r->code && u64map_put(&c->by_code, r->code, index + 1) < 0)
		c->regions[index].code = 0;
	return u64map_put(&c->by_addr, r->addr, index + 1);
}

void regions_del(struct core *c, struct region *r)
{
	u64map_del(&c->by_addr, r->addr);
	forget_code(c, r);
	r->next_free = c->free_region;
	c->free_region = (uint32_t)(r - c->regions) + 1;
}

int regions_move(struct core *c, struct region *r, uint64_t to)
{
	struct region moved = *r;

	regions_del(c, r);
	moved.addr = to;
	return regions_add(c, &moved);
}

void regions_forget(struct core *c)
{
	c->by_addr = c->by_code = (struct u64map){ 0 };
	c->regions = NULL;
	c->n_regions = c->room_regions = c->free_region = 0;
	c->refs = NULL;
	c->n_refs = 0;
}

void regions_free(struct core *c)
{
	u64map_done(&c->by_addr);
	u64map_done(&c->by_code);
	free(c->regions);
	free(c->refs);
	regions_forget(c);
}
