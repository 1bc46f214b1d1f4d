/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Call stacks while they are gathered: a tree of frames, parent = caller, each (parent, file, key) once. */
#include <errno.h>
#include <string.h>

#include "session/store.h"

void store_stacks_done(struct store_stacks *t)
{
	free(t->nodes);
	free(t->slots);
	*t = (struct store_stacks){ 0 };
}

static inline uint32_t place(const struct store_stacks *t, uint32_t parent, uint32_t file, uint64_t key)
{
	return (uint32_t)util_hash_u64(key + ((uint64_t)parent << 32 | file) * UINT64_C(0x9e3779b97f4a7c15)) & (t->n_slots - 1);
}

static int grow_slots(struct store_stacks *t)
{
	uint32_t n = t->n_slots ? t->n_slots * 2 : 1024, *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(t->slots);
	t->slots = slots;
	t->n_slots = n;
	for (uint32_t i = 1; i <= t->n; i++) {
		const struct store_node *x = &t->nodes[i];
		uint32_t at = place(t, x->parent, x->file, x->key);
		while (slots[at])
			at = (at + 1) & (n - 1);
		slots[at] = i;
	}
	return 0;
}

int64_t store_stacks_node(struct store_stacks *t, uint32_t parent, uint32_t file, uint64_t key)
{
	uint32_t at;
	int r;

	if (t->n >= t->n_slots / 2) {
		r = t->n_slots >= UINT32_C(1) << 31 ? -E2BIG : grow_slots(t);
		if (r < 0)
			return r;
	}
	for (at = place(t, parent, file, key); t->slots[at]; at = (at + 1) & (t->n_slots - 1)) {
		const struct store_node *x = &t->nodes[t->slots[at]];
		if (x->key == key && x->parent == parent && x->file == file)
			return t->slots[at];
	}
	if (t->n + 1 >= t->room) {
		uint32_t room = t->room ? t->room * 2 : 1024;
		struct store_node *nodes = realloc(t->nodes, room * sizeof(*nodes));
		if (!nodes)
			return -ENOMEM;
		t->nodes = nodes;
		t->room = room;
	}
	t->nodes[++t->n] = (struct store_node){ .key = key, .parent = parent, .file = file };
	t->slots[at] = t->n;
	return t->n;
}

int64_t session_store_frame(struct session_store *s, uint64_t parent, uint32_t file, uint64_t key)
{
	if (file >= s->paths.n || parent > s->tree.n)
		return -EINVAL;
	return store_stacks_node(&s->tree, (uint32_t)parent, file, key);
}

int session_store_stack_add(struct session_store *s, uint64_t node, uint64_t count)
{
	if (!node || node > s->tree.n)
		return -EINVAL;
	s->tree.nodes[node].count = opdb_add(s->tree.nodes[node].count, count);
	return 0;
}
