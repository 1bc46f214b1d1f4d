/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run of operf: a command, processes, or the machine, until it ends. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "control/operf.h"
#include "control/runtimes.h"
#include "lib/io.h"
#include "lib/msg.h"

#define ROUND_MS 50
#define FLUSH_FIRST_NS (5 * NSEC_PER_SEC)
#define FLUSH_LATER_NS (60 * NSEC_PER_SEC)

struct run {
	struct operf *o;
	struct agents *agents;
	struct sampler *sampler;
	struct pipeline *pipeline;
	struct live *live;
	struct command command;
	char **argv;
	int signal_fd;
	int end_signal;            /* that told us to stop; 0 = none */
	bool tty, stop;
	uint64_t start_ns, next_flush_ns, next_progress_ns;
	struct strbuf log_path;
};

static void notice(void *arg, const char *line)
{
	msg_info("%s", line);
}

static void run_done(struct run *r)
{
	live_free(r->live);
	pipeline_free(r->pipeline);
	sampler_free(r->sampler);
	agents_free(r->agents);
	if (r->argv)
		agents_argv_free(r->argv);
	if (r->signal_fd >= 0)
		close(r->signal_fd);
	strbuf_done(&r->log_path);
}

/* --- setting up ---------------------------------------------------------------------------------------- */

static int signals_open(struct run *r)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGUSR2);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->signal_fd < 0 ? -errno : 0;
}

static int agents_open(struct run *r)
{
	struct agents_opts ao = {
		.size = sizeof(ao), .off = r->o->no_agents == RUNTIMES_ALL, .no_java = r->o->no_agents & RUNTIMES_JAVA,
		.no_mono = r->o->no_agents & RUNTIMES_MONO, .env = r->o->agents_env, .jit_dir = r->o->jit_dir,
	};

	return agents_new(&r->agents, &ao);
}

static void in_child(void *arg)
{
	struct run *r = arg;

	AUTO_FREE char *jitapi = agents_find("jitapi", "libopagent-ittjit.so"), *lua = agents_find("luajit", "opjit.lua");
	AUTO_FREE char *libopagent = agents_find("../libopagent", "libopagent.so.1"), *ini = agents_find("php", "opjit-php/opjit.ini");
	char *slash = ini ? strrchr(ini, '/') : NULL;
	struct runtimes_opts ro = { .off = r->o->no_agents, .callgraph = r->o->callgraph, .env = r->o->agents_env, .jitapi = jitapi,
				    .mono = agents_identify(r->argv[0]) != AGENTS_VM_MONO && agents_mono_finds_it(),
				    .lua = lua, .libopagent = libopagent, .php_dir = ini };

	if (slash)
		*slash = '\0';
	if (r->o->agents_env)
		agents_environment(r->agents);
	(void)runtimes_environment(r->argv[0], &ro);
	if (r->o->jit_dir)
		setenv("OPJIT_DIR", r->o->jit_dir, 1);
}

static int command_open(struct run *r)
{
	struct runtimes_opts ro = { .off = r->o->no_agents, .callgraph = r->o->callgraph };
	AUTO_STRBUF said = STRBUF_INIT;
	int e = agents_prepare_command(r->agents, r->o->command, &r->argv);

	if (e > 0)
		msg_debug("gave the command %s", r->argv[1]);
	if (e == 0)
		e = runtimes_prepare_command(&r->argv, &ro, &said);
	if (e < 0)
		return msg_errno(e, "cannot prepare the command");
	if (said.len)
		msg_debug("gave the command %s", said.buf);
	e = command_start(&r->command, r->argv, in_child, r);
	return e < 0 ? msg_errno(e, "cannot start a process") : 0;
}

static int sampler_open_for(struct run *r)
{
	AUTO_STRBUF why = STRBUF_INIT;
	int32_t child = r->command.pid;
	struct sampler_opts so = {
		.target = r->o->command ? SAMPLER_COMMAND : r->o->system_wide ? SAMPLER_SYSTEM : SAMPLER_PIDS,
		.pids = r->o->command ? &child : r->o->pids, .n_pids = r->o->command ? 1 : r->o->n_pids,
		.events = r->o->events, .n_events = r->o->n_events, .freq = r->o->freq, .callgraph = r->o->callgraph,
		.notice = notice,
	};
	int e = sampler_open(&r->sampler, &so, &why);

	if (e < 0)
		msg_error("%s", why.len ? strbuf_str(&why) : strerror(-e));
	return e;
}

/* What a replay must know to give the same store; beside the log. */
static void write_log_options(const struct run *r, const struct pipeline_opts *po, const char *dir)
{
	AUTO_STRBUF sb = STRBUF_INIT, path = STRBUF_INIT;

	strbuf_addf(&sb, "cpu_type=%s\nmhz=%.1f\ncallgraph=%d\nseparate_tgid=%d\nseparate_tid=%d\nseparate_cpu=%d\n",
		    po->cpu_type ? po->cpu_type : "", po->mhz, po->account.callgraph, po->account.separate_tgid,
		    po->account.separate_tid, po->account.separate_cpu);
	strbuf_addf(&path, "%s/log/options", dir);
	if (!sb.error && !path.error)
		(void)io_replace(path.buf, sb.buf, sb.len, 0644);
}

static int log_dir(struct run *r)
{
	AUTO_STRBUF dir = STRBUF_INIT;
	int e;

	strbuf_addf(&dir, "%s/log", r->o->session_dir);
	strbuf_addf(&r->log_path, "%s/log/events.opel", r->o->session_dir);
	if (!r->o->keep_log && !r->o->flight_bytes) { /* the log of the run before would belong to other samples */
		unlink(strbuf_str(&r->log_path));
		return 0;
	}
	e = io_mkdirs(strbuf_str(&dir), 0755);
	return e < 0 ? msg_errno(e, "cannot make %s", strbuf_str(&dir)) : 0;
}

static int pipeline_open_for(struct run *r)
{
	AUTO_STRBUF cpu = STRBUF_INIT;
	struct sampler_stats ss;
	struct pipeline_opts po = {
		.session_dir = r->o->session_dir, .append = r->o->append,
		.n_cpus = (uint32_t)MAX(sysconf(_SC_NPROCESSORS_CONF), 1L),
		.account = { .callgraph = r->o->callgraph, .separate_tgid = true, .separate_tid = r->o->separate_thread,
			     .separate_cpu = r->o->separate_cpu },
		.flight_bytes = r->o->flight_bytes,
	};
	int e = io_mkdirs(r->o->session_dir, 0755);

	if (e < 0)
		return msg_errno(e, "cannot make the session directory %s", r->o->session_dir);
	if ((e = log_dir(r)) < 0)
		return e;
	sampler_stats(r->sampler, &ss);
	pipeline_cpu(NULL, &cpu, &po.mhz);
	if (!ss.fallback && !pipeline_is_timer(r->o->events, r->o->n_events))
		po.cpu_type = strbuf_str(&cpu);
	if (r->o->keep_log)
		po.log_path = strbuf_str(&r->log_path);
	if (r->o->keep_log || r->o->flight_bytes)
		write_log_options(r, &po, r->o->session_dir);
	e = pipeline_new(&r->pipeline, &po);
	if (e == -EBUSY)
		return msg_error("another run is writing to %s; give one of them another --session-dir", r->o->session_dir), e;
	return e < 0 ? msg_errno(e, "cannot use the session directory %s", r->o->session_dir) : 0;
}

static int live_open_for(struct run *r)
{
	struct live_opts lo = {
		.pipeline = r->pipeline, .sampler = r->sampler, .agents = r->agents, .session_dir = r->o->session_dir,
		.attach_at_start = r->o->n_pids > 0,
		.remove_maps_of = r->o->command && !runtimes_asked_already(r->o->command) ? runtimes_asked(r->o->no_agents) : NULL,
	};
	int e = live_new(&r->live, &lo);

	if (e >= 0)
		e = live_start(r->live);
	if (e >= 0)
		e = sampler_enable(r->sampler);
	return e < 0 ? msg_errno(e, "cannot begin") : 0;
}

/* --- running ------------------------------------------------------------------------------------------- */

static void on_signal(struct run *r, const struct signalfd_siginfo *si)
{
	int sig = (int)si->ssi_signo;

	switch (sig) {
	case SIGCHLD:
		command_reap(&r->command);
		return;
	case SIGUSR2:
		if (r->o->flight_bytes) {
			int e = pipeline_save_log(r->pipeline, strbuf_str(&r->log_path));

			if (e < 0)
				msg_errno(e, "cannot save %s", strbuf_str(&r->log_path));
		}
		return;
	default:
		if (!r->o->command) {
			r->end_signal = sig;
			r->stop = true;
			return;
		}
		/* A key on the terminal reaches the command by itself; what was sent to us alone is passed on. */
		if (si->ssi_code != SI_KERNEL && !r->command.done)
			kill(r->command.pid, sig);
	}
}

static void read_signals(struct run *r)
{
	struct signalfd_siginfo si;

	while (read(r->signal_fd, &si, sizeof(si)) == sizeof(si))
		on_signal(r, &si);
}

static int flush(struct run *r)
{
	int e;

	(void)live_save_images(r->live);
	(void)live_save_vdso(r->o->session_dir);
	if (pipeline_totals(r->pipeline)->kernel) {
		e = live_save_kallsyms(NULL, r->o->session_dir);
		if (e < 0 && e != -EPERM)
			msg_debug("kallsyms: %s", strerror(-e));
	}
	e = pipeline_flush(r->pipeline);
	return e < 0 ? msg_errno(e, "cannot write the session in %s", r->o->session_dir) : 0;
}

static int now_and_then(struct run *r)
{
	uint64_t now = util_now_ns();

	if (r->tty && now >= r->next_progress_ns) {
		operf_progress(pipeline_totals(r->pipeline), (double)(now - r->start_ns) / 1e9);
		r->next_progress_ns = now + NSEC_PER_SEC / 2;
	}
	if (now >= r->next_flush_ns && totals_samples(pipeline_totals(r->pipeline))) {
		int e = flush(r);

		now = util_now_ns();
		r->next_flush_ns = now + FLUSH_LATER_NS;
		return e;
	}
	return 0;
}

static int loop(struct run *r)
{
	struct pollfd fds[2] = {
		{ .fd = r->signal_fd, .events = POLLIN }, { .fd = sampler_fd(r->sampler), .events = POLLIN },
	};

	while (!r->stop) {
		int e;

		if (poll(fds, ARRAY_SIZE(fds), ROUND_MS) < 0 && errno != EINTR)
			return -errno;
		read_signals(r);
		if (r->o->command) {
			command_reap(&r->command);
			if (r->command.done)
				return 0;
		}
		if (r->o->n_pids && !sampler_alive(r->sampler))
			return 0;
		if ((e = live_round(r->live)) < 0)
			return msg_errno(e, "cannot go on");
		if ((e = now_and_then(r)) < 0)
			return e;
	}
	return 0;
}

/* Why there are none, as far as we can tell. */
static void say_no_samples(const struct run *r, const struct sampler_stats *ss)
{
	double s = (double)(util_now_ns() - r->start_ns) / 1e9;

	if (ss->lost)
		msg_error("no samples: the kernel lost all %" PRIu64 " records; the machine is too busy to read them, use a lower --freq", ss->lost);
	else if (r->o->command && s < 0.5)
		msg_error("no samples: the command ended after %.3f s, too soon for one; give --freq a higher number or let it run longer", s);
	else if (ss->user_only)
		msg_error("no samples: only user space may be watched here, and none was used; run as root to see the kernel");
	else
		msg_error("no samples: what is watched used no CPU time in %.1f s", s);
}

static int finish(struct run *r)
{
	struct sampler_stats ss;
	struct pipeline_stats st;
	int e;

	sampler_disable(r->sampler);
	if (r->tty)
		operf_progress_end();
	if ((e = live_finish(r->live)) < 0)
		return msg_errno(e, "cannot take in the last samples");
	sampler_stats(r->sampler, &ss);
	if (r->o->flight_bytes && (e = pipeline_save_log(r->pipeline, strbuf_str(&r->log_path))) < 0)
		return msg_errno(e, "cannot save %s", strbuf_str(&r->log_path));
	if (!totals_samples(pipeline_totals(r->pipeline))) {
		say_no_samples(r, &ss);
		return -ENODATA;
	}
	if ((e = flush(r)) < 0)
		return e;
	pipeline_stats(r->pipeline, &st);
	if (st.log_error)
		msg_errno(st.log_error, "the event log %s is not whole", strbuf_str(&r->log_path));
	if (!r->o->quiet)
		operf_summary(r->o, pipeline_totals(r->pipeline), &st, ss.user_only);
	return 0;
}

/* As if we were the command: its exit status, or its signal. */
static int end_as_command(const struct command *c, int our)
{
	int status = command_exit_status(c);

	if (WIFSIGNALED(c->status)) {
		struct rlimit no_core = { 0, 0 };
		sigset_t set;
		int sig = WTERMSIG(c->status);

		setrlimit(RLIMIT_CORE, &no_core);
		fflush(NULL);
		signal(sig, SIG_DFL);
		sigemptyset(&set);
		sigaddset(&set, sig);
		raise(sig);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		return status;
	}
	return status ? status : our < 0 ? 1 : 0;
}

static int go(struct run *r)
{
	int e;

	r->start_ns = util_now_ns();
	r->next_flush_ns = r->start_ns + FLUSH_FIRST_NS;
	r->tty = isatty(STDERR_FILENO) && !r->o->quiet;
	if (r->o->command && (e = command_go(&r->command)) < 0) {
		msg_error("%s: %s", r->o->command[0], e == -ENOENT ? "command not found" : strerror(-e));
		return e;
	}
	e = loop(r);
	return e < 0 ? e : finish(r);
}

int operf_run(struct operf *o)
{
	AUTO(run_done) struct run r = { .o = o, .signal_fd = -1, .command = { .pid = -1, .go_fd = -1, .error_fd = -1 },
					.log_path = STRBUF_INIT };
	int e;

	if ((e = signals_open(&r)) < 0 || (e = agents_open(&r)) < 0)
		return msg_errno(e, "cannot begin"), 1;
	if ((o->command && command_open(&r) < 0) || sampler_open_for(&r) < 0 || pipeline_open_for(&r) < 0 || live_open_for(&r) < 0) {
		command_kill(&r.command);
		return 1;
	}
	e = go(&r);
	if (o->command && !r.command.done) { /* our own failure does not end the command */
		waitpid(r.command.pid, &r.command.status, 0);
		r.command.done = true;
	}
	return o->command ? end_as_command(&r.command, e) : e < 0 ? 1 : 0;
}
