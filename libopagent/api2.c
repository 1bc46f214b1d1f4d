/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* OPAGENT_2.0: checks the arguments, keeps errno, hands on to the core. */
#include <errno.h>
#include <string.h>

#include "lib/util.h"
#include "libopagent/core.h"

#ifdef OPAGENT_STATIC
#define PUBLIC
#define CORE_ONLY
#else
#define PUBLIC __attribute__((visibility("default")))
#define CORE_ONLY static
#endif

PUBLIC int opagent_open(struct opagent **ret, const struct opagent_open_opts *o)
{
	int saved = errno, r = handle_open(ret, o);

	errno = saved;
	return r;
}

PUBLIC int opagent_close(struct opagent *a)
{
	int saved = errno, r = a ? handle_close(a) : 0;

	errno = saved;
	return r;
}

/* What a caller of an older version did not have is zero. */
static int region_take(struct opagent_region *to, const struct opagent_region *from)
{
	if (!from || from->size < offsetof(struct opagent_region, name))
		return -EINVAL;
	memset(to, 0, sizeof(*to));
	memcpy(to, from, MIN(from->size, sizeof(*to)));
	return 0;
}

PUBLIC int opagent_load(struct opagent *a, const struct opagent_region *r, uint64_t *id)
{
	struct core *c = handle_core(a);
	struct opagent_region region;
	int saved = errno, q = !c ? -ESHUTDOWN : region_take(&region, r);

	if (!q)
		q = core_enter(c);
	if (!q) {
		q = core_load(c, &region, id);
		core_leave(c);
	}
	errno = saved;
	return q;
}

PUBLIC int opagent_amend(struct opagent *a, const struct opagent_region *r)
{
	struct core *c = handle_core(a);
	struct opagent_region region;
	int saved = errno, q = !c ? -ESHUTDOWN : region_take(&region, r);

	if (!q)
		q = core_enter(c);
	if (!q) {
		q = core_amend(c, &region);
		core_leave(c);
	}
	errno = saved;
	return q;
}

CORE_ONLY int opagent_unload_late(struct opagent *a, uint64_t addr, uint64_t time_ns, uint32_t late_us)
{
	struct core *c = handle_core(a);
	int saved = errno, q = !c ? -ESHUTDOWN : core_enter(c);

	if (!q) {
		q = core_unload(c, addr, time_ns, late_us);
		core_leave(c);
	}
	errno = saved;
	return q;
}

PUBLIC int opagent_unload(struct opagent *a, uint64_t addr, uint64_t time_ns)
{
	return opagent_unload_late(a, addr, time_ns, 0);
}

PUBLIC int opagent_move(struct opagent *a, uint64_t from, uint64_t to, uint64_t time_ns)
{
	struct core *c = handle_core(a);
	int saved = errno, q = !c ? -ESHUTDOWN : core_enter(c);

	if (!q) {
		q = core_move(c, from, to, time_ns);
		core_leave(c);
	}
	errno = saved;
	return q;
}

PUBLIC int opagent_heap(struct opagent *a, const char *name, uint64_t addr, uint64_t size)
{
	struct core *c = handle_core(a);
	int saved = errno, q = !c ? -ESHUTDOWN : core_enter(c);

	if (!q) {
		q = core_heap(c, name, addr, size);
		core_leave(c);
	}
	errno = saved;
	return q;
}

PUBLIC const char *opagent_dir(struct opagent *a)
{
	struct core *c = handle_core(a);

	return c ? c->dir : NULL;
}
