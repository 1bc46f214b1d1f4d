/* SPDX-License-Identifier: GPL-3.0-or-later */
/* opd: the pipeline of operf for the whole machine, always on, under a control socket. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "daemon/cleanup.h"
#include "daemon/ctl.h"
#include "daemon/live.h"
#include "lib/io.h"
#include "lib/msg.h"

#define ROUND_MS 100
#define STORE_BYTES ((size_t)256 << 20) /* flush at once beyond this */
#define RETENTION_DAYS 7

struct opd {
	/* options */
	char *session_dir;
	const char *log, *jit_dir;
	const char *events[32];
	size_t n_events;
	uint64_t freq, flush_s, retention_s;
	bool callgraph, separate_tgid, separate_tid, separate_cpu, foreground, stopped, no_agents, verbose;
	/* running */
	struct ctl *ctl;
	int signal_fd;
	struct agents *agents;
	struct sampler *sampler;     /* NULL = not sampling */
	struct pipeline *pipeline;
	struct live *live;
	struct strbuf registry;
	uint64_t began_ns, next_flush_ns, n_flushes;
	int flush_error;
	bool end, kallsyms_saved;
};

static void notice(void *arg, const char *line)
{
	msg_info("%s", line);
}

/* --- start and stop ------------------------------------------------------------------------------------ */

static void sampling_drop(struct opd *d)
{
	live_free(d->live);
	pipeline_free(d->pipeline);
	sampler_free(d->sampler);
	agents_free(d->agents);
	d->live = NULL;
	d->pipeline = NULL;
	d->sampler = NULL;
	d->agents = NULL;
}

static int flush(struct opd *d)
{
	int r;

	if (!d->pipeline)
		return 0;
	(void)live_save_images(d->live);
	(void)live_save_vdso(d->session_dir);
	/* Reading the kernel's symbols takes it a tenth of a second: not at each flush. */
	if (pipeline_totals(d->pipeline)->kernel && !d->kallsyms_saved)
		d->kallsyms_saved = live_save_kallsyms(NULL, d->session_dir) != -ENOSPC;
	r = pipeline_flush(d->pipeline);
	d->next_flush_ns = util_now_ns() + d->flush_s * NSEC_PER_SEC;
	d->n_flushes += r >= 0;
	if (r < 0 && r != d->flush_error) /* a full disk is said once, not each minute */
		msg_errno(r, "cannot write the session in %s; the samples are kept in memory", d->session_dir);
	d->flush_error = r;
	return r;
}

static int pipeline_begin(struct opd *d)
{
	AUTO_STRBUF cpu = STRBUF_INIT;
	struct sampler_stats ss;
	struct pipeline_opts po = {
		.session_dir = d->session_dir, .append = true, .n_cpus = (uint32_t)MAX(sysconf(_SC_NPROCESSORS_CONF), 1L),
		.account = { .callgraph = d->callgraph, .separate_tgid = d->separate_tgid, .separate_tid = d->separate_tid,
			     .separate_cpu = d->separate_cpu },
	};

	sampler_stats(d->sampler, &ss);
	pipeline_cpu(NULL, &cpu, &po.mhz);
	po.cpu_type = ss.fallback || pipeline_is_timer(d->events, d->n_events) ? NULL : strbuf_str(&cpu);
	return pipeline_new(&d->pipeline, &po);
}

static int sampling_start(struct opd *d, struct strbuf *why)
{
	struct sampler_opts so = {
		.target = SAMPLER_SYSTEM, .events = d->events, .n_events = d->n_events, .freq = d->freq, .callgraph = d->callgraph,
		.notice = notice,
	};
	struct agents_opts ao = { .size = sizeof(ao), .off = d->no_agents, .jit_dir = d->jit_dir };
	struct live_opts lo;
	int r;

	if (d->sampler)
		return 0;
	if ((r = agents_new(&d->agents, &ao)) < 0 || (r = sampler_open(&d->sampler, &so, why)) < 0)
		goto fail;
	if ((r = pipeline_begin(d)) < 0) {
		strbuf_addf(why, "cannot use the session directory %s: %s", d->session_dir, strerror(-r));
		goto fail;
	}
	lo = (struct live_opts){ .pipeline = d->pipeline, .sampler = d->sampler, .agents = d->agents, .session_dir = d->session_dir,
				 .registry = strbuf_str(&d->registry) };
	if ((r = live_new(&d->live, &lo)) < 0 || (r = live_start(d->live)) < 0 || (r = sampler_enable(d->sampler)) < 0) {
		strbuf_addf(why, "cannot begin: %s", strerror(-r));
		goto fail;
	}
	d->began_ns = util_now_ns();
	d->next_flush_ns = d->began_ns + d->flush_s * NSEC_PER_SEC;
	return 0;
fail:
	sampling_drop(d);
	return r;
}

static int sampling_stop(struct opd *d)
{
	int r;

	if (!d->sampler)
		return 0;
	sampler_disable(d->sampler);
	d->kallsyms_saved = false; /* modules may have come since */
	r = live_finish(d->live);
	if (r >= 0)
		r = flush(d);
	if (r < 0)
		msg_errno(r, "the last samples are not whole");
	sampling_drop(d);
	return r;
}

/* --- requests ------------------------------------------------------------------------------------------ */

static uint64_t n_samples(const struct session_totals *t)
{
	return t->kernel + t->native + t->jit_method + t->jit_stub + t->jit_interpreter + t->gap + t->anon + t->unknown;
}

static int status(struct opd *d, struct strbuf *reply)
{
	const struct session_totals *t;
	struct live_stats ls;
	struct pipeline_stats ps;
	uint64_t n;

	strbuf_addf(reply, "pid=%d\nsession=%s\nstate=%s\n", (int)getpid(), d->session_dir, d->sampler ? "running" : "stopped");
	if (!d->sampler)
		return 0;
	t = pipeline_totals(d->pipeline);
	n = n_samples(t);
	live_stats(d->live, &ls);
	pipeline_stats(d->pipeline, &ps);
	strbuf_addf(reply, "seconds=%.1f\nsamples=%" PRIu64 "\nlost=%" PRIu64 "\nnamed=%.2f\nflushes=%" PRIu64 "\n",
		    (double)(util_now_ns() - d->began_ns) / 1e9, n, t->lost,
		    n ? 100.0 * (double)(n - t->gap - t->anon - t->unknown) / (double)n : 0.0, d->n_flushes);
	strbuf_addf(reply, "processes=%" PRIu64 "\njit_sources=%zu\njit_regions=%" PRIu64 "\njit_refused=%" PRIu64 "\n",
		    ps.resolver.n_procs, ls.open_sources, ps.resolver.n_regions, ls.n_refused);
	live_describe(d->live, reply);
	return 0;
}

/* Who asks means all samples up to now: we go on until none of them is held any more, two seconds and a quarter at most. */
static int settle(struct opd *d)
{
	static const struct timespec nap = { .tv_nsec = ROUND_MS * NSEC_PER_MSEC / 2 };
	uint64_t from = util_now_ns();
	int r = 0;

	while (d->live && (r = live_round(d->live)) >= 0 && util_now_ns() < from + pipeline_lag_ns(d->pipeline))
		nanosleep(&nap, NULL);
	return d->live && r >= 0 ? live_round(d->live) : r;
}

static int reset(struct opd *d, struct strbuf *reply)
{
	struct jit_removal sum = { 0 };
	uint64_t bytes = 0, files = 0;
	int r = d->pipeline ? pipeline_reset(d->pipeline) : session_reset(d->session_dir, &bytes, &files);

	if (r == -ENOENT)
		r = 0;
	if (r >= 0 && d->pipeline)
		r = session_sweep_images(d->session_dir, &bytes, &files);
	if (r >= 0)
		r = cleanup_instances(strbuf_str(&d->registry), 0, &sum);
	if (r < 0)
		return r;
	strbuf_addf(reply, "samples removed; %" PRIu64 " images of JIT code, %.1f MB freed in the session\n", files, (double)bytes / 1e6);
	cleanup_describe(&sum, reply);
	strbuf_addch(reply, '\n');
	return 0;
}

static int save(struct opd *d, const char *name, struct strbuf *why)
{
	int r;

	if (d->pipeline) {
		(void)live_save_images(d->live);
		r = pipeline_save(d->pipeline, name);
	} else {
		r = session_save(d->session_dir, name);
	}
	if (r == -EEXIST)
		strbuf_addf(why, "a saved session '%s' is there already", name);
	else if (r == -EINVAL)
		strbuf_addf(why, "'%s' cannot be the name of a session", name);
	return r;
}

static int attach_pid_to(struct opd *d, const char *operand, struct strbuf *why)
{
	uint64_t pid;

	if (util_parse_u64(operand, 10, INT32_MAX, &pid) < 0 || !pid) {
		strbuf_addf(why, "not a process number: %s", operand);
		return -EINVAL;
	}
	if (!d->agents) {
		strbuf_addstr(why, "not sampling: start first");
		return -EINVAL;
	}
	if (agents_attach_now(d->agents, (pid_t)pid))
		return 0;
	strbuf_addf(why, "process %d is no JVM, or has an agent already", (int)pid);
	return -ENOEXEC;
}

static int request(void *arg, const char *verb, const char *operand, struct strbuf *reply, struct strbuf *why)
{
	struct opd *d = arg;

	msg_debug("request: %s%s%s", verb, operand ? " " : "", operand ? operand : "");
	if (!strcmp(verb, "status"))
		return status(d, reply);
	if (!strcmp(verb, "start"))
		return sampling_start(d, why);
	if (!strcmp(verb, "stop"))
		return sampling_stop(d);
	if (!strcmp(verb, "dump") || !strcmp(verb, "reset") || !strcmp(verb, "save")) {
		int r = settle(d);

		if (r < 0)
			return r;
	}
	if (!strcmp(verb, "dump"))
		return flush(d);
	if (!strcmp(verb, "reset"))
		return reset(d, reply);
	if (!strcmp(verb, "save"))
		return save(d, operand, why);
	if (!strcmp(verb, "attach"))
		return attach_pid_to(d, operand, why);
	d->end = true; /* shutdown; the samples are committed before the answer */
	return sampling_stop(d);
}

/* --- running ------------------------------------------------------------------------------------------- */

static int log_open(struct opd *d)
{
	int fd;

	if (!d->log)
		return 0;
	fd = open(d->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return msg_errno(errno, "cannot open the log %s", d->log);
	fflush(stderr);
	dup2(fd, STDERR_FILENO);
	close(fd);
	return 0;
}

static void read_signals(struct opd *d)
{
	struct signalfd_siginfo si;

	while (read(d->signal_fd, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGHUP)
			(void)log_open(d);
		else if (si.ssi_signo == SIGUSR1)
			(void)flush(d);
		else
			d->end = true;
	}
}

static int round_of(struct opd *d)
{
	int r;

	if (!d->live)
		return 0;
	if ((r = live_round(d->live)) < 0)
		return msg_errno(r, "sampling ends");
	if (util_now_ns() >= d->next_flush_ns || pipeline_store_bytes(d->pipeline) > STORE_BYTES)
		(void)flush(d); /* said once; we go on */
	return 0;
}

static int loop(struct opd *d)
{
	struct pollfd fds[CTL_MAX_POLL + 2];

	while (!d->end) {
		size_t n = ctl_pollfds(d->ctl, fds);

		fds[n++] = (struct pollfd){ .fd = d->signal_fd, .events = POLLIN };
		if (d->sampler)
			fds[n++] = (struct pollfd){ .fd = sampler_fd(d->sampler), .events = POLLIN };
		if (poll(fds, n, d->sampler ? ROUND_MS : 1000) < 0 && errno != EINTR)
			return -errno;
		read_signals(d);
		ctl_serve(d->ctl);
		if (!d->end && round_of(d) < 0)
			sampling_stop(d);
	}
	return sampling_stop(d);
}

/* --- beginning ----------------------------------------------------------------------------------------- */

static int signals_open(struct opd *d)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	d->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return d->signal_fd < 0 ? -errno : 0;
}

/* Into the background. The parent waits until it is known whether sampling works, and exits with that. */
static int background(int *ready_fd)
{
	int p[2], status = 1;
	pid_t pid;

	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid > 0) {
		char c;

		close(p[1]);
		if (read(p[0], &c, 1) == 1)
			_exit(c);
		waitpid(pid, &status, 0);
		_exit(WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : 1);
	}
	close(p[0]);
	setsid();
	*ready_fd = p[1];
	return 0;
}

static void leave_terminal(struct opd *d)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		if (!d->log)
			dup2(null, STDERR_FILENO);
		close(null);
	}
	if (chdir("/") < 0)
		msg_debug("cannot leave the directory");
}

static int open_all(struct opd *d)
{
	AUTO_STRBUF run = STRBUF_INIT, why = STRBUF_INIT;
	struct jit_removal sum = { 0 };
	int other = 0, r;

	if ((r = io_mkdirs(d->session_dir, 0755)) < 0)
		return msg_errno(r, "cannot make the session directory %s", d->session_dir);
	strbuf_addf(&d->registry, "%s/instances", d->session_dir);
	if ((r = ctl_run_dir(&run, d->session_dir, true)) < 0)
		return msg_errno(r, "cannot make the run directory %s; set OPJIT_RUN_DIR to one that you may write", strbuf_str(&run));
	r = ctl_open(&d->ctl, strbuf_str(&run), request, d, &other);
	if (r == -EBUSY)
		return msg_error("a daemon runs already (process %d); end it with opcontrol --shutdown", other), r;
	if (r < 0)
		return msg_errno(r, "cannot open the control socket in %s", strbuf_str(&run));
	if ((r = cleanup_instances(strbuf_str(&d->registry), d->retention_s, &sum)) < 0)
		msg_errno(r, "cannot clean up after processes that are gone");
	else if (sum.instances)
		msg_info("%" PRIu64 " old JIT directories removed, %.1f MB freed", sum.instances, (double)sum.bytes / 1e6);
	if (!d->stopped && (r = sampling_start(d, &why)) < 0)
		return msg_error("%s", why.len ? strbuf_str(&why) : strerror(-r)), r;
	return 0;
}

static int run(struct opd *d)
{
	int ready = -1, r;

	if (!d->foreground && (r = background(&ready)) < 0)
		return msg_errno(r, "cannot go into the background");
	if ((r = signals_open(d)) < 0)
		return msg_errno(r, "cannot begin");
	if ((r = open_all(d)) < 0 || (r = log_open(d)) < 0) {
		ctl_close(d->ctl);
		return r;
	}
	if (ready >= 0) {
		leave_terminal(d);
		if (write(ready, "", 1) < 0)
			msg_debug("nobody waited");
		close(ready);
	}
	r = loop(d);
	ctl_close(d->ctl);
	return r;
}

enum { KEY_FLUSH = 256, KEY_FOREGROUND, KEY_LOG, KEY_STOPPED, KEY_NO_AGENTS, KEY_JIT_DIR, KEY_FREQ, KEY_RETENTION };

static const struct argp_option options[] = {
	{ "session-dir", 'd', "DIR", 0, "session directory (default /var/lib/oprofile)", 0 },
	{ "events", 'e', "SPEC[,SPEC…]", 0, "events to count, as operf's", 0 },
	{ "event", 'e', 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 0 },
	{ "freq", KEY_FREQ, "N", 0, "samples a second and CPU for events without a count (default 99)", 0 },
	{ "callgraph", 'g', 0, 0, "keep call stacks", 0 },
	{ "separate", 'p', "WHAT", 0, "none, process, thread, cpu or all (default none)", 0 },
	{ "flush", KEY_FLUSH, "SECONDS", 0, "commit the samples so often (default 60)", 0 },
	{ "retention", KEY_RETENTION, "DAYS", 0, "remove JIT directories of processes gone that long, at start (default 7)", 0 },
	{ "foreground", KEY_FOREGROUND, 0, 0, "stay in the foreground", 0 },
	{ "stopped", KEY_STOPPED, 0, 0, "wait for opcontrol --start", 0 },
	{ "log", KEY_LOG, "FILE", 0, "messages go there; reopened at SIGHUP", 0 },
	{ "no-agents", KEY_NO_AGENTS, 0, 0, "do not attach agents to virtual machines", 0 },
	{ "jit-dir", KEY_JIT_DIR, "DIR", 0, "where agents keep images of JIT code", 0 },
	{ "verbose", 'V', "WHAT", OPTION_ARG_OPTIONAL, "say more", 0 },
	{ "version", 'v', 0, 0, "print the version", 0 },
	{ 0 },
};

static void add_events(struct opd *d, char *list, struct argp_state *state)
{
	char *one;

	while ((one = strsep(&list, ","))) {
		if (!*one || d->n_events == ARRAY_SIZE(d->events))
			argp_error(state, "--events: an empty event, or too many");
		else
			d->events[d->n_events++] = one;
	}
}

static void number(const char *s, uint64_t min, uint64_t max, uint64_t *ret, const char *what, struct argp_state *state)
{
	if (util_parse_u64(s, 10, max, ret) < 0 || *ret < min)
		argp_error(state, "%s: not a number from %" PRIu64 " to %" PRIu64 ": %s", what, min, max, s);
}

static void separate(struct opd *d, const char *what, struct argp_state *state)
{
	bool all = !strcmp(what, "all");

	if (all || !strcmp(what, "process") || !strcmp(what, "thread") || !strcmp(what, "cpu")) {
		d->separate_tgid |= all || !strcmp(what, "process") || !strcmp(what, "thread");
		d->separate_tid |= all || !strcmp(what, "thread");
		d->separate_cpu |= all || !strcmp(what, "cpu");
	} else if (strcmp(what, "none") && strcmp(what, "library") && strcmp(what, "lib") && strcmp(what, "kernel")) {
		argp_error(state, "--separate: none, process, thread, cpu or all, not '%s'", what);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct opd *d = state->input;
	uint64_t days;

	switch (key) {
	case 'd': free(d->session_dir); d->session_dir = strdup(arg); break;
	case 'e': add_events(d, arg, state); break;
	case 'g': d->callgraph = true; break;
	case 'p': separate(d, arg, state); break;
	case 'V': d->verbose = true; break;
	case 'v':
		printf("opd (opjit) %s\n", PACKAGE_VERSION);
		exit(0);
	case KEY_FREQ: number(arg, 1, 100000, &d->freq, "--freq", state); break;
	case KEY_FLUSH: number(arg, 1, 86400, &d->flush_s, "--flush", state); break;
	case KEY_RETENTION:
		number(arg, 0, 36500, &days, "--retention", state);
		d->retention_s = days * 86400;
		break;
	case KEY_FOREGROUND: d->foreground = true; break;
	case KEY_STOPPED: d->stopped = true; break;
	case KEY_LOG: d->log = arg; break;
	case KEY_NO_AGENTS: d->no_agents = true; break;
	case KEY_JIT_DIR: d->jit_dir = arg; break;
	case ARGP_KEY_ARG: argp_error(state, "no operands: '%s'", arg); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* We leave the working directory, so names are made absolute. */
static char *absolute(const char *path)
{
	AUTO_FREE char *cwd = NULL;
	AUTO_STRBUF sb = STRBUF_INIT;

	if (*path == '/')
		return strdup(path);
	cwd = getcwd(NULL, 0);
	strbuf_addf(&sb, "%s/%s", cwd ? cwd : "", path);
	return strbuf_steal(&sb);
}

int main(int argc, char **argv)
{
	static const struct argp argp = { .options = options, .parser = parse,
		.doc = "Profile the whole machine all the time. opcontrol speaks to it; opreport reads its session." };
	static struct opd d = { .signal_fd = -1, .flush_s = 60, .freq = 99, .retention_s = RETENTION_DAYS * 86400, .registry = STRBUF_INIT };
	char *dir;
	int r;

	msg_init("opd");
	argp_err_exit_status = 2;
	d.session_dir = strdup("/var/lib/oprofile");
	if (!d.session_dir || argp_parse(&argp, argc, argv, 0, NULL, &d) != 0)
		return 2;
	msg_verbose = d.verbose;
	dir = absolute(d.session_dir);
	if (d.log)
		d.log = absolute(d.log);
	free(d.session_dir);
	d.session_dir = dir;
	if (!dir)
		return 1;
	r = run(&d);
	strbuf_done(&d.registry);
	free(d.session_dir);
	return r < 0 ? 1 : 0;
}
