/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What becomes of a process must not depend on which CPU's ring its records stood in, nor on where one drain ended and the next began:
 * a life is told in all ways of sharing it out between two rings, with each cut into two drains, and comes out the same.
 */
#include "lib/tap.h"
#include "sampler/priv.h"

#define N_STEPS 10
#define RINGS 2

struct told {
	char text[512];
	size_t len;
};

static int sink(void *arg, const struct ev *e)
{
	struct told *t = arg;

	if (e->type == EV_PROC && t->len < sizeof(t->text) - 64)
		t->len += (size_t)snprintf(t->text + t->len, sizeof(t->text) - t->len, "%d<%d exec %u at %llu; ", e->pid, e->u.proc.ppid,
					   e->u.proc.exec_count, (unsigned long long)e->time_ns);
	return 0;
}

static struct ev step(uint32_t type, uint64_t t, int32_t pid, int32_t ppid)
{
	struct ev e = { .type = type, .time_ns = t, .pid = pid, .tid = pid };

	if (type == EV_FORK)
		e.u.fork.ppid = ppid;
	else if (type == EV_COMM)
		e.u.comm.flags = EV_COMM_EXEC;
	return e;
}

/* ring_of: of each step, a digit of base RINGS; first: how many of them the first of two drains finds. */
static void tell(const struct ev *steps, unsigned int ring_of, unsigned int first, struct told *ret, uint32_t *setuid)
{
	struct sampler s = { .proc_root = (char *)"/nonexistent", .o = { .target = SAMPLER_PIDS } };
	int r = 0;

	*ret = (struct told){ .len = 0 };
	for (unsigned int drain = 0; drain < 2 && r >= 0; drain++) {
		unsigned int from = drain ? first : 0, to = drain ? N_STEPS : first;
		for (unsigned int ring = 0; ring < RINGS; ring++)
			for (unsigned int i = 0, left = ring_of; i < to && r >= 0; i++, left /= RINGS)
				if (i >= from && left % RINGS == ring)
					r = steps[i].type == EV_SAMPLE ? track_sample(&s, &steps[i]) : track_event(&s, &steps[i], sink, ret);
		if (r >= 0)
			r = track_pending(&s, drain ? 1000 : first ? steps[first - 1].time_ns : 0, sink, ret);
		track_forget(&s);
	}
	if (r < 0)
		ret->len += (size_t)snprintf(ret->text + ret->len, sizeof(ret->text) - ret->len, "error %d", r);
	*setuid = (uint32_t)s.stats.setuid_exec;
	track_done(&s);
}

/* Tells the life in all ways; returns in how many it comes out otherwise than by one ring in one drain. */
static unsigned int ways(const struct ev *steps, const char *what, struct told *plain, uint32_t *setuid)
{
	unsigned int all = 1, wrong = 0, n = 0;
	struct told t;
	uint32_t u;

	for (unsigned int i = 0; i < N_STEPS; i++)
		all *= RINGS;
	tell(steps, 0, N_STEPS, plain, setuid);
	for (unsigned int ring_of = 0; ring_of < all; ring_of++)
		for (unsigned int first = 0; first < N_STEPS; first++) {
			tell(steps, ring_of, first, &t, &u);
			n++;
			if ((strcmp(t.text, plain->text) || u != *setuid) && !wrong++)
				printf("# %s, way %u, %u in the first drain: %s(%u)\n# plain: %s(%u)\n", what, ring_of, first, t.text, u, plain->text,
				       *setuid);
		}
	printf("# %s: %u ways\n", what, n);
	return wrong;
}

int main(void)
{
	/* A parent that forks, the child maps, executes, maps, is sampled and ends; the parent executes. */
	const struct ev life[N_STEPS] = {
		step(EV_COMM, 10, 7, 0), step(EV_MMAP, 20, 7, 0), step(EV_FORK, 30, 8, 7), step(EV_MMAP, 40, 8, 0), step(EV_COMM, 50, 8, 0),
		step(EV_MMAP, 60, 8, 0), step(EV_SAMPLE, 70, 8, 0), step(EV_COMM, 80, 7, 0), step(EV_EXIT, 90, 8, 0), step(EV_MMAP, 100, 7, 0),
	};
	/* A process that maps much, executes, maps again and ends; then its number is another's. */
	const struct ev mapper[N_STEPS] = {
		step(EV_FORK, 10, 8, 7), step(EV_MMAP, 20, 8, 0), step(EV_MMAP, 30, 8, 0), step(EV_MMAP, 40, 8, 0), step(EV_COMM, 50, 8, 0),
		step(EV_MMAP, 60, 8, 0), step(EV_MMAP, 70, 8, 0), step(EV_EXIT, 80, 8, 0), step(EV_FORK, 90, 8, 9), step(EV_MMAP, 100, 8, 0),
	};
	/* The kernel takes the events off at the exec: nothing is mapped any more. */
	const struct ev setuid_program[N_STEPS] = {
		step(EV_FORK, 10, 8, 7), step(EV_MMAP, 20, 8, 0), step(EV_MMAP, 30, 8, 0), step(EV_MMAP, 40, 8, 0), step(EV_MMAP, 50, 8, 0),
		step(EV_SAMPLE, 60, 8, 0), step(EV_COMM, 70, 8, 0), step(EV_EXIT, 80, 8, 0), step(EV_FORK, 90, 9, 7), step(EV_EXIT, 100, 9, 0),
	};
	struct told t;
	uint32_t setuid;

	is_int(0, ways(life, "a life", &t, &setuid), "a parent and its child: the same in all ways");
	is_str("7<0 exec 0 at 10; 8<7 exec 0 at 30; 8<7 exec 1 at 50; 7<0 exec 1 at 80; ", t.text, "and as it was");
	is_int(0, setuid, "nobody executed a set-uid program");
	is_int(0, ways(mapper, "mappings", &t, &setuid), "mappings before and after an exec: the same in all ways");
	is_str("8<7 exec 0 at 10; 8<7 exec 1 at 50; 8<9 exec 0 at 90; ", t.text, "and as it was");
	is_int(0, setuid, "here neither");
	is_int(0, ways(setuid_program, "set-uid", &t, &setuid), "an exec after which nothing is mapped: the same in all ways");
	is_int(1, setuid, "that was a set-uid program");
	return done_testing();
}
