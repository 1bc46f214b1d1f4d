/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * resolve-dump LOG SCRATCH-DIR: a kept event log through the pipeline; what the sources told, and what each user sample came to:
 *	L SOURCE ID TIME ADDR SIZE KIND NAME      (KIND: 0 method, else a stub)
 *	U SOURCE ID TIME
 *	S TIME PID IP CLASS QUALITY SOURCE ID     CLASS as in enum hit_class by name; SOURCE and ID 0 if not code of a JIT
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/pipeline.h"

static int told(void *arg, const struct ev *e)
{
	const struct jit_event *j = &e->u.jit.e;

	if (e->type != EV_JIT)
		return 0;
	if (j->type == JIT_EVENT_LOAD)
		printf("L %" PRIu32 " %" PRIu64 " %" PRIu64 " %#" PRIx64 " %#" PRIx64 " %d %.*s\n", e->u.jit.source, j->id, j->time_ns, j->addr,
		       j->size, j->kind, (int)j->name_len, j->name);
	else if (j->type == JIT_EVENT_UNLOAD)
		printf("U %" PRIu32 " %" PRIu64 " %" PRIu64 "\n", e->u.jit.source, j->id, j->time_ns);
	return 0;
}

static int skip(void *arg, const struct ev *e)
{
	return 0;
}

static void traced(void *arg, const struct ev *e, const struct hit *h)
{
	static const char *const classes[] = { "kernel", "native", "method", "stub", "interpreter", "gap", "anon", "unknown" };
	static const char *const qualities[] = { "plain", "exact", "backdated", "ambiguous" };

	if (e->type == EV_SAMPLE && e->u.sample.mode != EV_KERNEL)
		printf("S %" PRIu64 " %d %#" PRIx64 " %s %s %" PRIu32 " %" PRIu64 "\n", e->time_ns, e->pid, e->u.sample.ip, classes[h->class],
		       qualities[h->quality], h->image == HIT_JIT ? jitsrc_number(h->source) : 0, h->region_id);
}

static int failed(const char *what, int r)
{
	fprintf(stderr, "resolve-dump: %s: %s\n", what, strerror(-r));
	return 2;
}

int main(int argc, char **argv)
{
	struct pipeline_opts o = { .no_sync = true, .account = { .separate_tgid = true, .trace = traced } };
	AUTO_CLOSE int fd = argc == 3 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	struct evlog_merge *m;
	struct pipeline *p;
	int r;

	if (fd < 0)
		return fprintf(stderr, "usage: resolve-dump LOG SCRATCH-DIR\n"), 2;
	if ((r = evlog_merge_new(&m, 0, skip, told, NULL)) < 0)
		return failed("merge", r);
	if ((r = evlog_replay_fd(fd, m, NULL, NULL)) < 0 || (r = evlog_merge_finish(m)) < 0)
		return failed(argv[1], r);
	evlog_merge_free(m);
	o.session_dir = argv[2];
	if (lseek(fd, 0, SEEK_SET) < 0 || (r = pipeline_new(&p, &o)) < 0)
		return failed(argv[2], r);
	if ((r = pipeline_replay(p, fd, NULL, NULL)) < 0 || (r = account_settle(pipeline_account(p))) < 0)
		return failed("replay", r);
	pipeline_free(p);
	return 0;
}
