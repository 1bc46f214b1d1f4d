/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/map.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

void u64map_done(struct u64map *m)
{
	free(m->slots);
	*m = (struct u64map){ 0 };
}

static struct u64map_slot *slot_of(const struct u64map *m, uint64_t key)
{
	size_t i = util_hash_u64(key) & (m->n_slots - 1);

	while (m->slots[i].key && m->slots[i].key != key)
		i = (i + 1) & (m->n_slots - 1);
	return &m->slots[i];
}

uint64_t *u64map_get(const struct u64map *m, uint64_t key)
{
	struct u64map_slot *s;

	if (!key)
		return m->has_zero ? (uint64_t *)&m->zero_value : NULL;
	if (!m->n_slots)
		return NULL;
	s = slot_of(m, key);
	return s->key ? &s->value : NULL;
}

static int grow(struct u64map *m)
{
	struct u64map bigger = { .n_slots = m->n_slots ? m->n_slots * 2 : 16 };

	bigger.slots = calloc(bigger.n_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_slots; i++)
		if (m->slots[i].key)
			*slot_of(&bigger, m->slots[i].key) = m->slots[i];
	free(m->slots);
	m->slots = bigger.slots;
	m->n_slots = bigger.n_slots;
	return 0;
}

uint64_t *u64map_at(struct u64map *m, uint64_t key)
{
	struct u64map_slot *s;

	if (!key) {
		if (!m->has_zero) {
			m->has_zero = true;
			m->zero_value = 0;
		}
		return &m->zero_value;
	}
	if (m->used + 1 > m->n_slots / 4 * 3 && grow(m) < 0)
		return NULL;
	s = slot_of(m, key);
	if (!s->key) {
		*s = (struct u64map_slot){ .key = key };
		m->used++;
	}
	return &s->value;
}

int u64map_put(struct u64map *m, uint64_t key, uint64_t value)
{
	uint64_t *v = u64map_at(m, key);

	if (!v)
		return -ENOMEM;
	*v = value;
	return 0;
}

bool u64map_del(struct u64map *m, uint64_t key)
{
	size_t i, j;

	if (!key) {
		bool had = m->has_zero;
		m->has_zero = false;
		return had;
	}
	if (!m->n_slots || !slot_of(m, key)->key)
		return false;
	i = (size_t)(slot_of(m, key) - m->slots);
	/* Close the gap: pull back each follower that may stand here. */
	for (j = (i + 1) & (m->n_slots - 1); m->slots[j].key; j = (j + 1) & (m->n_slots - 1)) {
		size_t home = util_hash_u64(m->slots[j].key) & (m->n_slots - 1);
		if (((j - home) & (m->n_slots - 1)) >= ((j - i) & (m->n_slots - 1))) {
			m->slots[i] = m->slots[j];
			i = j;
		}
	}
	m->slots[i] = (struct u64map_slot){ 0 };
	m->used--;
	return true;
}

bool u64map_next(const struct u64map *m, size_t *it, uint64_t *key, uint64_t **value)
{
	if (*it == 0) {
		*it = 1;
		if (m->has_zero) {
			*key = 0;
			*value = (uint64_t *)&m->zero_value;
			return true;
		}
	}
	for (; *it - 1 < m->n_slots; ++*it) {
		struct u64map_slot *s = &m->slots[*it - 1];
		if (s->key) {
			*key = s->key;
			*value = &s->value;
			++*it;
			return true;
		}
	}
	return false;
}

void strpool_done(struct strpool *p)
{
	free(p->bytes);
	free(p->offsets);
	free(p->slots);
	*p = (struct strpool){ 0 };
}

static int pool_rehash(struct strpool *p)
{
	uint32_t n_slots = p->n_slots ? p->n_slots * 2 : 64;
	uint32_t *slots = calloc(n_slots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t id = 0; id < p->n; id++) {
		const char *s = p->bytes + p->offsets[id];
		uint32_t i = (uint32_t)util_hash_bytes(s, strlen(s)) & (n_slots - 1);
		while (slots[i])
			i = (i + 1) & (n_slots - 1);
		slots[i] = id + 1;
	}
	free(p->slots);
	p->slots = slots;
	p->n_slots = n_slots;
	return 0;
}

static int pool_room(struct strpool *p, size_t more)
{
	if (p->len + more > p->room) {
		size_t room = MAX(p->room * 2, p->len + more + 4096);
		char *b = realloc(p->bytes, room);
		if (!b)
			return -ENOMEM;
		p->bytes = b;
		p->room = room;
	}
	if (p->n == p->n_room) {
		uint32_t n_room = p->n_room ? p->n_room * 2 : 64;
		uint64_t *o = realloc(p->offsets, n_room * sizeof(*o));
		if (!o)
			return -ENOMEM;
		p->offsets = o;
		p->n_room = n_room;
	}
	return 0;
}

int64_t strpool_id(struct strpool *p, const char *s, size_t len)
{
	uint32_t i;
	int r;

	assert(!memchr(s, 0, len));
	if (p->n + 1 > p->n_slots / 4 * 3) {
		if (p->n >= (uint32_t)INT32_MAX / 2)
			return -E2BIG;
		r = pool_rehash(p);
		if (r < 0)
			return r;
	}
	i = (uint32_t)util_hash_bytes(s, len) & (p->n_slots - 1);
	for (; p->slots[i]; i = (i + 1) & (p->n_slots - 1)) {
		const char *have = p->bytes + p->offsets[p->slots[i] - 1];
		if (!strncmp(have, s, len) && !have[len])
			return p->slots[i] - 1;
	}
	r = pool_room(p, len + 1);
	if (r < 0)
		return r;
	memcpy(p->bytes + p->len, s, len);
	p->bytes[p->len + len] = '\0';
	p->offsets[p->n] = p->len;
	p->len += len + 1;
	p->slots[i] = ++p->n;
	return p->n - 1;
}

const char *strpool_str(const struct strpool *p, uint32_t id)
{
	assert(id < p->n);
	return p->bytes + p->offsets[id];
}
