/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which method lives at which address, as far as events told. HotSpot's events are late and come from several
 * threads, so an unload may arrive when its address is already someone else's, and a load that GenerateEvents repeats may arrive after
 * its unload. Both are recognised by the method's id, which is only compared.
 *
 * The thread of the VM that tells an end may wait long for its turn, and then the room can have the code of the next method, running,
 * before anything was told of either. So the agent looks from time to time whose room the VM has given away, and ends those itself,
 * with the time since it looked last, for which it is not known who ran; it looks once more when an end is told.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agents/jvmti/agent.h"

struct stale { /* a method that was superseded at its address, and whose unload is still to come */
	struct stale *next;
	const void *id;
};
struct place {
	uint64_t addr;      /* 0 = free slot */
	const void *id;     /* who lives here, NULL = nobody */
	const void *gone;   /* who was unloaded here since the replay began */
	struct stale *stale;
	uint64_t own_ns;    /* when it was told, and had its room */
	struct vm_blob blob;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct place *places;
static size_t n_slots, n_used;
static bool replaying;
static uint64_t look_ns, next_look_ns; /* when the last look began; when the next may */
#define LOOK_EVERY_NS 20000000u
#define LOOK_SHARE 500                 /* and it takes at most one part in so many of a CPU */
#define LOOK_AHEAD 16                  /* places: what is read of one lies anywhere in the code heap */

void live_lock(void)
{
	pthread_mutex_lock(&lock);
}

void live_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static size_t slot_of(uint64_t addr)
{
	return (size_t)((addr >> 3) * 0x9e3779b97f4a7c15ULL >> 32) & (n_slots - 1);
}

static struct place *find(uint64_t addr)
{
	if (!n_slots)
		return NULL;
	for (size_t i = slot_of(addr);; i = (i + 1) & (n_slots - 1))
		if (places[i].addr == addr || !places[i].addr)
			return &places[i];
}

static bool grow(void)
{
	size_t old_n = n_slots, n = n_slots ? n_slots * 2 : 4096;
	struct place *old = places, *new = calloc(n, sizeof(*new));

	if (!new)
		return false;
	places = new;
	n_slots = n;
	n_used = 0;
	for (size_t i = 0; i < old_n; i++) {
		/* Addresses where nobody lives and nothing is awaited are forgotten here. */
		if (old[i].addr && (old[i].id || old[i].stale || (replaying && old[i].gone))) {
			*find(old[i].addr) = old[i];
			n_used++;
		}
	}
	free(old);
	return true;
}

static struct place *place_at(uint64_t addr)
{
	struct place *p;

	if (n_used >= n_slots / 4 * 3 && !grow() && n_used + 1 >= n_slots)
		return NULL;
	p = find(addr);
	if (p && !p->addr) {
		p->addr = addr;
		n_used++;
	}
	return p;
}

enum live_answer live_load(uint64_t addr, const void *id, bool replay, const struct vm_blob *b, uint64_t now_ns)
{
	struct place *p = addr ? place_at(addr) : NULL;

	if (!p)
		return LIVE_POST;
	if (replay && (p->id || p->gone == id))
		return LIVE_DROP; /* the event of its own time has told about it already, or it is gone again */
	if (p->id) {
		struct stale *s = malloc(sizeof(*s));
		if (s) {
			struct stale **end = &p->stale;
			*s = (struct stale){ NULL, p->id };
			while (*end)
				end = &(*end)->next;
			*end = s;
		}
	}
	p->id = id;
	p->own_ns = now_ns;
	p->blob = b ? *b : (struct vm_blob){ .compile_id = UINT64_MAX };
	return LIVE_POST;
}

static uint64_t thread_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* How long before now_ns the room of p may have been another's, who has it now. */
static uint32_t lateness(const struct place *p, uint64_t now_ns)
{
	uint64_t own = p->own_ns > look_ns ? p->own_ns : look_ns, us = now_ns > own ? (now_ns - own) / 1000 + 1 : 1;

	return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

void live_look(uint64_t now_ns, void (*gone)(uint64_t addr, uint64_t now_ns, uint32_t late_us))
{
	uint64_t from;

	live_lock();
	if (now_ns >= next_look_ns) {
		from = thread_ns();
		for (size_t i = 0; i < n_slots; i++) {
			struct place *p = &places[i];

			if (i + LOOK_AHEAD < n_slots && places[i + LOOK_AHEAD].id)
				vm_room_soon(&places[i + LOOK_AHEAD].blob);
			if (!p->id || !vm_room_taken(&p->blob, p->addr, false))
				continue;
			gone(p->addr, now_ns, lateness(p, now_ns));
			if (replaying)
				p->gone = p->id;
			p->id = NULL;
		}
		look_ns = now_ns;
		next_look_ns = now_ns + LOOK_EVERY_NS + (thread_ns() - from) * LOOK_SHARE;
	}
	live_unlock();
}

enum live_answer live_unload(uint64_t addr, const void *id, uint64_t now_ns, uint32_t *late_us)
{
	struct place *p = n_slots && addr ? find(addr) : NULL;

	if (p && p->addr) {
		for (struct stale **s = &p->stale; *s; s = &(*s)->next) {
			if ((*s)->id == id) {
				struct stale *dead = *s;
				*s = dead->next;
				free(dead);
				return LIVE_DROP;
			}
		}
		if (p->id == id) {
			*late_us = vm_room_taken(&p->blob, p->addr, true) ? lateness(p, now_ns) : 0;
			p->id = NULL;
			if (replaying)
				p->gone = id;
			return LIVE_POST;
		}
	}
	if (replaying && addr && (p = place_at(addr)))
		p->gone = id;
	return LIVE_DROP; /* nobody told of its load */
}

void live_replay(bool on)
{
	live_lock();
	replaying = on;
	if (!on)
		for (size_t i = 0; i < n_slots; i++)
			places[i].gone = NULL;
	live_unlock();
}
