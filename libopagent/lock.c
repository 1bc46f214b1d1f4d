/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "libopagent/lock.h"

#include "lib/util.h"
#include "libopagent/sys.h"

#define SPINS 100
#define WAIT_MS 50
#define REUSE_NS NSEC_PER_SEC
#define TICK_NS (20 * NSEC_PER_MSEC) /* a thread's start time is that coarse, twice over */

static bool cas(uint32_t *word, uint32_t *seen, uint32_t to)
{
	return __atomic_compare_exchange_n(word, seen, to, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* What a waiter has seen, to tell a holder that works from one that is gone. */
struct watch {
	uint32_t word;
	uint64_t taken_ns, since_ns;
};

static bool holder_gone(struct watch *w, uint32_t word, uint64_t taken_ns, uint32_t tid)
{
	uint32_t holder = word & ~LOCK_WAITERS;
	uint64_t now, start;

	if (holder == tid || !sys_thread_exists((int32_t)holder))
		return true;
	now = util_now_ns();
	if ((w->word & ~LOCK_WAITERS) != holder || w->taken_ns != taken_ns) {
		*w = (struct watch){ .word = word, .taken_ns = taken_ns, .since_ns = now };
		return false;
	}
	if (now - w->since_ns < REUSE_NS)
		return false;
	w->since_ns = now;
	start = sys_thread_start_ns((int32_t)holder);
	return start > taken_ns + TICK_NS;
}

static int take_slowly(uint32_t *word, uint64_t *taken_ns, uint32_t tid)
{
	struct watch watch = { 0 };
	bool late = false;
	uint32_t seen;

	for (int i = 0; i < SPINS; i++) {
		seen = __atomic_load_n(word, __ATOMIC_RELAXED);
		if (!seen && cas(word, &seen, tid))
			return 0;
		if ((seen & ~LOCK_WAITERS) == tid)
			break;
	}
	for (;;) {
		seen = __atomic_load_n(word, __ATOMIC_RELAXED);
		/* From here on nobody knows whether others wait, so whoever gets it says they do. */
		if (!seen) {
			if (cas(word, &seen, tid | LOCK_WAITERS))
				return 0;
			continue;
		}
		if (((seen & ~LOCK_WAITERS) == tid || late) &&
		    holder_gone(&watch, seen, __atomic_load_n(taken_ns, __ATOMIC_RELAXED), tid)) {
			if (cas(word, &seen, tid | LOCK_WAITERS))
				return 1;
			continue;
		}
		if (!(seen & LOCK_WAITERS) && !cas(word, &seen, seen | LOCK_WAITERS))
			continue;
		late = sys_futex_wait(word, seen | LOCK_WAITERS, WAIT_MS);
	}
}

int lock_take(uint32_t *word, uint64_t *taken_ns, uint32_t tid)
{
	uint32_t seen = 0;
	int r = cas(word, &seen, tid) ? 0 : take_slowly(word, taken_ns, tid);

	__atomic_store_n(taken_ns, util_now_ns(), __ATOMIC_RELAXED);
	return r;
}

void lock_drop(uint32_t *word)
{
	if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) & LOCK_WAITERS)
		sys_futex_wake(word);
}
