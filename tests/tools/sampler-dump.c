/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Samples a command, processes or the machine and prints what the sampler gives: one line an event, or with -s the
 * counts only. For tests; not installed.
 *
 *	sampler-dump [-e EVENT]… [-F FREQ] [-g] [-m PAGES] [-s] [-u] [-S SECONDS] (COMMAND… | -p PID,… | -a)
 *
 * -H PATH: before the first drain wait until PATH exists (to let the rings run over).
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/map.h"
#include "sampler/sampler.h"

struct dump {
	bool brief;
	uint64_t per_type[EV_TYPE_MAX], user, kernel, chain_frames, lost, back;
	uint64_t sync[4096];
	struct u64map per_task; /* pid << 32 | tid -> samples */
};

static void print_event(const struct ev *e)
{
	printf("%" PRIu64 " cpu%d %d/%d ", e->time_ns, (int)e->cpu, e->pid, e->tid);
	switch (e->type) {
	case EV_SAMPLE:
		printf("SAMPLE ip=%" PRIx64 " period=%" PRIu64 " event=%u mode=%u chain=%u kernel=%u", e->u.sample.ip, e->u.sample.period,
		       e->u.sample.event, e->u.sample.mode, e->u.sample.n_chain, e->u.sample.n_kernel);
		break;
	case EV_MMAP:
		printf("MMAP %" PRIx64 "+%" PRIx64 " off=%" PRIx64 " dev=%" PRIx64 " ino=%" PRIu64 " prot=%u flags=%u %s", e->u.mmap.addr,
		       e->u.mmap.len, e->u.mmap.pgoff, e->u.mmap.dev, e->u.mmap.ino, e->u.mmap.prot, e->u.mmap.flags, e->u.mmap.path);
		break;
	case EV_COMM: printf("COMM %s%s", e->u.comm.comm, e->u.comm.flags & EV_COMM_EXEC ? " exec" : ""); break;
	case EV_FORK: printf("FORK from %d/%d", e->u.fork.ppid, e->u.fork.ptid); break;
	case EV_EXIT: printf("EXIT"); break;
	case EV_LOST: printf("LOST %" PRIu64, e->u.lost.count); break;
	case EV_PROC:
		printf("PROC start=%" PRIu64 " ppid=%d nspid=%d uid=%u exec=%u exe=%s app=%s", e->u.proc.start_time, e->u.proc.ppid,
		       e->u.proc.nspid, e->u.proc.uid, e->u.proc.exec_count, e->u.proc.exe, e->u.proc.app);
		break;
	case EV_EVENTDESC:
		printf("EVENT %u %s count=%" PRIu64 " freq=%" PRIu64 " um=%u flags=%u", e->u.desc.index, e->u.desc.name, e->u.desc.count,
		       e->u.desc.freq, e->u.desc.um, e->u.desc.flags);
		break;
	default: printf("TYPE%u", e->type);
	}
	putchar('\n');
}

static int take(void *arg, const struct ev *e)
{
	struct dump *d = arg;
	uint64_t *n;

	d->per_type[e->type]++;
	if (e->cpu < ARRAY_SIZE(d->sync)) {
		d->back += e->time_ns < d->sync[e->cpu];
		d->sync[e->cpu] = e->time_ns;
	}
	if (e->type == EV_LOST)
		d->lost += e->u.lost.count;
	if (e->type == EV_SAMPLE) {
		d->user += e->u.sample.mode == EV_USER;
		d->kernel += e->u.sample.mode == EV_KERNEL;
		d->chain_frames += e->u.sample.n_chain;
		n = u64map_at(&d->per_task, (uint64_t)(uint32_t)e->pid << 32 | (uint32_t)e->tid);
		if (n)
			++*n;
	}
	if (!d->brief && e->type != EV_SYNC)
		print_event(e);
	return 0;
}

static void notice(void *arg, const char *line)
{
	(void)arg;
	fprintf(stderr, "notice: %s\n", line);
}

static pid_t start_stopped(char **argv, int *go)
{
	int p[2];
	pid_t pid;
	char c;

	if (pipe(p) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		close(p[1]);
		if (read(p[0], &c, 1) != 1)
			_exit(126);
		close(p[0]);
		execvp(argv[0], argv);
		fprintf(stderr, "sampler-dump: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	close(p[0]);
	*go = p[1];
	return pid;
}

static void summary(struct dump *d, struct sampler *s, size_t n_events)
{
	struct sampler_stats st;
	uint64_t key, *n, count, lost;
	size_t it = 0;

	sampler_stats(s, &st);
	while (u64map_next(&d->per_task, &it, &key, &n))
		printf("task %" PRIu64 "/%" PRIu64 " samples %" PRIu64 "\n", key >> 32, key & UINT32_MAX, *n);
	for (size_t i = 0; i < n_events; i++)
		if (sampler_event_totals(s, (uint32_t)i, &count, &lost) == 0)
			printf("event %zu count %" PRIu64 " lost %" PRIu64 "\n", i, count, lost);
	printf("samples %" PRIu64 " user %" PRIu64 " kernel %" PRIu64 " frames %" PRIu64 "\n", d->per_type[EV_SAMPLE], d->user, d->kernel,
	       d->chain_frames);
	printf("mmap %" PRIu64 " comm %" PRIu64 " fork %" PRIu64 " exit %" PRIu64 " proc %" PRIu64 " throttle %" PRIu64 "\n",
	       d->per_type[EV_MMAP], d->per_type[EV_COMM], d->per_type[EV_FORK], d->per_type[EV_EXIT], d->per_type[EV_PROC],
	       d->per_type[EV_THROTTLE]);
	printf("lost %" PRIu64 " stats.samples %" PRIu64 " stats.lost %" PRIu64 " bad %" PRIu64 " back %" PRIu64 "\n", d->lost, st.samples, st.lost,
	       st.bad_records, d->back);
	printf("fds %u rings %u pages %u user_only %d fallback %d setuid %" PRIu64 "\n", st.n_fds, st.n_rings, st.ring_pages, st.user_only,
	       st.fallback, st.setuid_exec);
}

static volatile sig_atomic_t stop;
static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

int main(int argc, char **argv)
{
	static const char *events[16];
	static int32_t pids[64];
	static struct dump d;
	AUTO_STRBUF why = STRBUF_INIT;
	struct sampler_opts o = { .target = SAMPLER_COMMAND, .pids = pids, .events = events, .notice = notice };
	const char *hold = NULL;
	struct sampler *s = NULL;
	uint64_t end = UINT64_MAX, v;
	int c, go = -1, status = 0, r;
	pid_t child = -1;
	char *tok;

	while ((c = getopt(argc, argv, "+e:F:gm:sup:aS:H:")) != -1) {
		switch (c) {
		case 'e': events[o.n_events++ % 16] = optarg; break;
		case 'F': o.freq = strtoull(optarg, NULL, 10); break;
		case 'g': o.callgraph = true; break;
		case 'm': o.ring_pages = (uint32_t)strtoul(optarg, NULL, 10); break;
		case 's': d.brief = true; break;
		case 'u': o.user_only = true; break;
		case 'a': o.target = SAMPLER_SYSTEM; break;
		case 'H': hold = optarg; break;
		case 'S': end = util_now_ns() + strtoull(optarg, NULL, 10) * NSEC_PER_SEC; break;
		case 'p':
			o.target = SAMPLER_PIDS;
			while ((tok = strsep(&optarg, ",")) && o.n_pids < ARRAY_SIZE(pids))
				if (!util_parse_u64(tok, 10, INT32_MAX, &v))
					pids[o.n_pids++] = (int32_t)v;
			break;
		default: return 2;
		}
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	if (optind < argc) {
		child = start_stopped(argv + optind, &go);
		if (o.target == SAMPLER_COMMAND) {
			pids[0] = child;
			o.n_pids = 1;
		}
	}
	r = sampler_open(&s, &o, &why);
	if (r < 0) {
		fprintf(stderr, "sampler-dump: %s\n", strbuf_str(&why));
		util_close_fd(&go);
		if (child > 0)
			waitpid(child, NULL, 0);
		return 1;
	}
	r = sampler_synthesize(s, take, &d);
	if (r >= 0)
		r = sampler_enable(s);
	fprintf(stderr, "ready\n");
	if (go >= 0)
		(void)!write(go, "", 1);
	while (hold && access(hold, F_OK) && !stop)
		usleep(10000);
	while (r >= 0 && !stop && util_now_ns() < end) {
		struct pollfd p = { .fd = sampler_fd(s), .events = POLLIN };
		poll(&p, 1, 50);
		r = sampler_drain(s, take, &d);
		if (child > 0 && waitpid(child, &status, WNOHANG) == child) {
			child = -1;
			break;
		}
		if (child < 0 && !sampler_alive(s))
			break;
	}
	sampler_disable(s);
	if (r >= 0)
		r = sampler_drain(s, take, &d);
	if (r >= 0)
		summary(&d, s, o.n_events ? o.n_events : 1);
	sampler_free(s);
	u64map_done(&d.per_task);
	return r < 0 ? 1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
