/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Handles, the life of the instance, and fork. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/util.h"
#include "libopagent/core.h"
#include "libopagent/lock.h"

#define MAX_HANDLES 256
#define DEFAULT_MAX_BYTES ((uint64_t)1 << 30)
#define WIPE_ON_FORK 18 /* MADV_WIPEONFORK, Linux 4.14 */

static struct core the_core = { .dirfd = -1, .seg.fd = -1, .state = -ESHUTDOWN };
static struct opagent handles[MAX_HANDLES];
static unsigned int n_open;
/* In a child of fork the holder is a thread it does not have, which the lock sees. */
static uint32_t open_lock;
static uint64_t open_lock_ns;

static void fork_mark_make(struct core *c)
{
	uint32_t *p = c->fork_mark;

	c->pid = getpid();
	if (!p) {
		p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return;
		if (madvise(p, 4096, WIPE_ON_FORK) < 0) {
			munmap(p, 4096);
			return;
		}
	}
	__atomic_store_n(p, 1, __ATOMIC_RELAXED);
	c->fork_mark = p;
}

static void instance_drop(struct core *c, bool trim)
{
	segment_leave(c, trim);
	if (c->old_ring)
		munmap(c->old_ring, c->old_ring_bytes);
	c->old_ring = c->ring;
	c->old_ring_bytes = c->ring_bytes;
	c->ring = NULL;
	ring_unmap(c);
	if (c->dirfd >= 0)
		close(c->dirfd);
	c->dirfd = -1;
}

/* Removes what a failed start left. */
static void instance_abandon(struct core *c)
{
	if (c->dirfd >= 0) {
		unlinkat(c->dirfd, "ring", 0);
		unlinkat(c->dirfd, "0.jo", 0);
		rmdir(c->dir);
	}
}

static int instance_start(struct core *c)
{
	int r;

	c->dir[0] = '\0';
	c->seq = c->bytes_before = c->retry_text_ns = c->retry_segment_ns = 0;
	c->next_id = 1;
	c->n_segments = 0;
	c->logged = 0;
	place_identity(c);
	r = place_make(c);
	if (r < 0) {
		log_failure(c, LOG_PLACE, "no directory can be made for the code of this process", r);
	} else {
		r = ring_make(c);
		if (r < 0)
			log_failure(c, LOG_RING, "the ring cannot be made", r);
		else if ((r = segment_make(c)) < 0)
			log_failure(c, LOG_SEGMENT, "the image cannot be made", r);
	}
	if (r < 0) {
		instance_abandon(c);
		instance_drop(c, false);
	}
	fork_mark_make(c);
	__atomic_store_n(&c->state, r < 0 ? -ESHUTDOWN : 0, __ATOMIC_RELEASE);
	return r < 0 ? -ESHUTDOWN : 0;
}

static void opts_free(struct opagent_open_opts *o)
{
	free((void *)o->dir);
	free((void *)o->source);
	free((void *)o->log);
	*o = (struct opagent_open_opts){ 0 };
}

static int opts_copy(struct opagent_open_opts *to, const struct opagent_open_opts *o)
{
	opts_free(to);
	*to = (struct opagent_open_opts){ .max_bytes = o->max_bytes ? o->max_bytes : DEFAULT_MAX_BYTES,
					  .ring_entries = o->ring_entries, .lag_us = o->lag_us };
	if ((o->dir && !(to->dir = strdup(o->dir))) || (o->source && !(to->source = strdup(o->source))) ||
	    (o->log && !(to->log = strdup(o->log)))) {
		opts_free(to);
		return -ENOMEM;
	}
	return 0;
}

static void core_detach(struct core *c)
{
	/* The parent's: unmapped here, untouched there. */
	c->old_ring = NULL;
	c->seg.intern = (struct intern){ 0 };
	instance_drop(c, false);
	munmap(c->old_ring, c->old_ring_bytes);
	c->old_ring = NULL;
	regions_forget(c);
}

void core_after_fork(struct core *c)
{
	if (lock_take(&open_lock, &open_lock_ns, (uint32_t)sys_gettid()) < 0)
		return;
	if (core_forked(c)) {
		bool usable = c->state == 0;
		c->forks++;
		memcpy(c->parent, c->name, sizeof(c->parent));
		c->forked = true;
		c->state = -ESHUTDOWN;
		core_detach(c);
		if (usable)
			instance_start(c);
		else
			fork_mark_make(c);
	}
	lock_drop(&open_lock);
}

static bool opts_good(const struct opagent_open_opts *o)
{
	return !(o->ring_entries & (o->ring_entries - 1)) && o->ring_entries <= JIT_RING_MAX_ENTRIES && o->ring_entries != 1;
}

static int open_locked(struct opagent **ret, const struct opagent_open_opts *o)
{
	struct opagent *a = NULL;
	int r;

	for (unsigned int i = 0; !a && i < MAX_HANDLES; i++)
		if (!handles[i].open)
			a = &handles[i];
	if (!a)
		return -EMFILE;
	if (!n_open) {
		r = opts_copy(&the_core.opts, o);
		if (!r)
			r = instance_start(&the_core);
		if (r < 0)
			return r;
	}
	n_open++;
	a->open = true;
	*ret = a;
	return 0;
}

int handle_open(struct opagent **ret, const struct opagent_open_opts *o)
{
	struct opagent_open_opts opts = { 0 };
	int r;

	if (!ret)
		return -EINVAL;
	if (o) {
		if (o->size < sizeof(o->size))
			return -EINVAL;
		memcpy(&opts, o, MIN(o->size, sizeof(opts)));
	}
	if (!opts_good(&opts))
		return -EINVAL;
	if (n_open && core_forked(&the_core))
		core_after_fork(&the_core);
	lock_take(&open_lock, &open_lock_ns, (uint32_t)sys_gettid());
	r = open_locked(ret, &opts);
	lock_drop(&open_lock);
	return r;
}

/* The last handle goes: says goodbye, unless this is a child that never said anything. */
static void core_shut(struct core *c)
{
	if (core_forked(c)) {
		c->forks++;
		c->state = -ESHUTDOWN;
		core_detach(c);
		c->parent[0] = '\0';
		c->forked = false;
		fork_mark_make(c);
		return;
	}
	if (core_enter(c) < 0)
		return;
	core_close_event(c);
	__atomic_store_n(&c->state, -ESHUTDOWN, __ATOMIC_RELEASE);
	core_leave(c);
	instance_drop(c, true);
	regions_free(c);
	c->forked = false;
	c->parent[0] = '\0';
}

int handle_close(struct opagent *a)
{
	int r = 0;

	lock_take(&open_lock, &open_lock_ns, (uint32_t)sys_gettid());
	if (!handle_core(a))
		r = -EINVAL;
	else {
		a->open = false;
		if (!--n_open)
			core_shut(&the_core);
	}
	lock_drop(&open_lock);
	return r;
}

struct core *handle_core(const struct opagent *a)
{
	for (unsigned int i = 0; i < MAX_HANDLES; i++)
		if (a == &handles[i])
			return a->open ? &the_core : NULL;
	return NULL;
}
