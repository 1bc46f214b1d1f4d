/* SPDX-License-Identifier: GPL-3.0-or-later */
/* opcontrol: starts, asks and ends the daemon, in the words of old. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "control/attach.h"
#include "control/agents.h"
#include "control/doctor.h"
#include "control/symbolize.h"
#include "daemon/cleanup.h"
#include "daemon/ctl.h"
#include "lib/io.h"
#include "lib/msg.h"
#include "sampler/sampler.h"
#include "session/session.h"

#ifndef SBINDIR
#define SBINDIR "/usr/sbin"
#endif

#define ASK_MS 60000u

enum action { NONE, SETUP, STATUS, START_DAEMON, START, STOP, DUMP, RESET, SAVE, SHUTDOWN, LIST, ATTACH, DOCTOR, SYMBOLIZE };

struct setup { /* what --setup keeps for later starts */
	char *session_dir, *separate, *flush, *freq;
	struct strbuf events;
	bool callgraph, no_agents;
};

struct opcontrol {
	struct setup set;
	bool given;               /* options to remember were given */
	enum action actions[16];
	size_t n_actions;
	const char *save_name, *attach_pid, *doctor_pid, *symbolize_pid;
	bool verbose;
	struct strbuf run_dir;
};

/* --- settings ------------------------------------------------------------------------------------------ */

static void settings_path(struct strbuf *ret)
{
	const char *run = getenv("OPJIT_RUN_DIR"), *home = getenv("HOME");

	if (run && *run)
		strbuf_addf(ret, "%s/daemonrc", run);
	else
		strbuf_addf(ret, "%s/.oprofile/daemonrc", home ? home : "/root");
}

static void set_string(char **what, const char *to)
{
	free(*what);
	*what = *to ? strdup(to) : NULL;
}

static void settings_line(struct setup *s, const char *key, const char *value)
{
	if (!strcmp(key, "session_dir"))
		set_string(&s->session_dir, value);
	else if (!strcmp(key, "separate"))
		set_string(&s->separate, value);
	else if (!strcmp(key, "flush"))
		set_string(&s->flush, value);
	else if (!strcmp(key, "freq"))
		set_string(&s->freq, value);
	else if (!strcmp(key, "callgraph"))
		s->callgraph = *value == '1';
	else if (!strcmp(key, "no_agents"))
		s->no_agents = *value == '1';
	else if (!strcmp(key, "events")) {
		strbuf_reset(&s->events);
		strbuf_addstr(&s->events, value);
	}
}

static void settings_read(struct setup *s)
{
	AUTO_STRBUF path = STRBUF_INIT, text = STRBUF_INIT_CAP(65536);
	char *rest, *line;

	settings_path(&path);
	if (io_slurp(AT_FDCWD, strbuf_str(&path), &text) < 0 || !text.len)
		return;
	rest = text.buf;
	while ((line = strsep(&rest, "\n"))) {
		char *eq = strchr(line, '=');

		if (!eq)
			continue;
		*eq = '\0';
		settings_line(s, line, eq + 1);
	}
}

static int settings_write(const struct setup *s)
{
	AUTO_STRBUF path = STRBUF_INIT, text = STRBUF_INIT;
	char *slash;
	int r;

	settings_path(&path);
	strbuf_addf(&text, "session_dir=%s\nseparate=%s\nflush=%s\nfreq=%s\ncallgraph=%d\nno_agents=%d\nevents=%s\n",
		    s->session_dir ? s->session_dir : "", s->separate ? s->separate : "", s->flush ? s->flush : "",
		    s->freq ? s->freq : "", s->callgraph, s->no_agents, strbuf_str(&s->events));
	if (path.error || text.error)
		return -ENOMEM;
	slash = strrchr(path.buf, '/');
	*slash = '\0';
	r = io_mkdirs(path.buf, 0755);
	*slash = '/';
	if (r >= 0)
		r = io_replace(path.buf, text.buf, text.len, 0644);
	return r < 0 ? msg_errno(r, "cannot write the settings to %s", path.buf) : 0;
}

static const char *dir_of(const struct opcontrol *c)
{
	return c->set.session_dir ? c->set.session_dir : "/var/lib/oprofile";
}

/* --- the daemon ---------------------------------------------------------------------------------------- */

/* Beside us, in the build tree, or where it was installed. */
static bool opd_path(struct strbuf *ret)
{
	static const char *const beside[] = { "opd", "../daemon/opd", "../sbin/opd" };
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[n < 0 ? 0 : n] = '\0';
	slash = strrchr(self, '/');
	/* libtool runs programs of the build tree from .libs */
	if (slash && slash - self > 6 && !strncmp(slash - 6, "/.libs", 6))
		slash -= 6;
	for (size_t i = 0; slash && i < ARRAY_SIZE(beside); i++) {
		strbuf_reset(ret);
		strbuf_addf(ret, "%.*s/%s", (int)(slash - self), self, beside[i]);
		if (access(strbuf_str(ret), X_OK) == 0)
			return true;
	}
	strbuf_reset(ret);
	strbuf_addstr(ret, SBINDIR "/opd");
	return access(strbuf_str(ret), X_OK) == 0;
}

static int start_daemon(struct opcontrol *c)
{
	AUTO_STRBUF path = STRBUF_INIT, log = STRBUF_INIT;
	const char *argv[32];
	size_t n = 0;
	pid_t pid;
	int status;

	if (ctl_running(strbuf_str(&c->run_dir)) > 0)
		return 0;
	if (!opd_path(&path))
		return msg_error("the daemon opd is neither beside opcontrol nor in %s", SBINDIR), -ENOENT;
	if (io_mkdirs(dir_of(c), 0755) < 0)
		return msg_errno(errno, "cannot make the session directory %s", dir_of(c));
	strbuf_addf(&log, "%s/opd.log", dir_of(c));
	argv[n++] = strbuf_str(&path);
	argv[n++] = "--stopped";
	argv[n++] = "--session-dir";
	argv[n++] = dir_of(c);
	argv[n++] = "--log";
	argv[n++] = strbuf_str(&log);
	const struct { const char *option, *value; } with[] = {
		{ "--separate", c->set.separate }, { "--flush", c->set.flush }, { "--freq", c->set.freq },
		{ "--events", c->set.events.len ? strbuf_str(&c->set.events) : NULL },
	};
	for (size_t i = 0; i < ARRAY_SIZE(with); i++)
		if (with[i].value) {
			argv[n++] = with[i].option;
			argv[n++] = with[i].value;
		}
	if (c->set.callgraph)
		argv[n++] = "--callgraph";
	if (c->set.no_agents)
		argv[n++] = "--no-agents";
	argv[n] = NULL;
	pid = fork();
	if (pid == 0) {
		execv(argv[0], (char **)argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return msg_errno(errno, "cannot start %s", argv[0]);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return msg_error("the daemon did not start"), -ECHILD;
	return 0;
}

/* Asks; prints what it answers. */
static int ask(struct opcontrol *c, const char *line)
{
	AUTO_STRBUF reply = STRBUF_INIT_CAP(CTL_MAX_REPLY);
	int r = ctl_call(strbuf_str(&c->run_dir), line, ASK_MS, &reply);

	if (r == -EREMOTEIO)
		return msg_error("%s", strbuf_str(&reply)), r;
	if (r == -ENOENT || r == -ECONNREFUSED)
		return msg_error("the daemon is not running; start it with opcontrol --start"), r;
	if (r == -EACCES)
		return msg_error("the daemon's socket in %s is not ours to use; run as root", strbuf_str(&c->run_dir)), r;
	if (r < 0)
		return msg_errno(r, "the daemon does not answer");
	fputs(strbuf_str(&reply), stdout);
	return 0;
}

static bool runs(const struct opcontrol *c)
{
	return ctl_running(strbuf_str(&c->run_dir)) > 0;
}

static int reset_alone(struct opcontrol *c)
{
	AUTO_STRBUF registry = STRBUF_INIT, text = STRBUF_INIT;
	struct jit_removal sum = { 0 };
	uint64_t bytes = 0, files = 0;
	int r = session_reset(dir_of(c), &bytes, &files);

	if (r < 0 && r != -ENOENT)
		return msg_errno(r, "cannot remove the samples in %s", dir_of(c));
	strbuf_addf(&registry, "%s/instances", dir_of(c));
	if ((r = cleanup_instances(strbuf_str(&registry), 0, &sum)) < 0)
		return msg_errno(r, "cannot remove the JIT directories");
	printf("samples removed; %" PRIu64 " files, %.1f MB freed in the session\n", files, (double)bytes / 1e6);
	cleanup_describe(&sum, &text);
	printf("%s\n", strbuf_str(&text));
	return 0;
}

static int save(struct opcontrol *c)
{
	AUTO_STRBUF line = STRBUF_INIT_CAP(CTL_MAX_LINE - 1);
	int r;

	strbuf_addf(&line, "save %s", c->save_name);
	if (line.error)
		return msg_error("the name of the session is too long"), line.error;
	if (runs(c))
		return ask(c, strbuf_str(&line));
	r = session_save(dir_of(c), c->save_name);
	return r < 0 ? msg_errno(r, "cannot save the session as '%s'", c->save_name) : 0;
}

static int attach(struct opcontrol *c)
{
	AUTO_STRBUF why = STRBUF_INIT;
	struct agents_opts ao = { .size = sizeof(ao) };
	struct agents *a;
	const char *path;
	uint64_t pid;
	int r;

	if (util_parse_u64(c->attach_pid, 10, INT32_MAX, &pid) < 0 || !pid)
		return msg_error("--attach: not a process number: %s", c->attach_pid), -EINVAL;
	if ((r = agents_new(&a, &ao)) < 0)
		return msg_errno(r, "cannot begin");
	path = agents_java_path(a);
	if (!path)
		r = (msg_error("libjvmti_oprofile.so is not installed"), -ENOENT);
	else if ((r = attach_jvm((pid_t)pid, path, NULL, 10000, &why)) < 0)
		msg_error("%s", why.len ? strbuf_str(&why) : strerror(-r));
	agents_free(a);
	return r;
}

/* 1 as exit status: there is something to mend. */
static int doctor(struct opcontrol *c)
{
	struct doctor d = { .session_dir = dir_of(c), .run_dir = strbuf_str(&c->run_dir), .proc_root = "/proc" };
	struct agents_opts ao = { .size = sizeof(ao) };
	uint64_t pid = 0;
	int r;

	if (c->doctor_pid && (util_parse_u64(c->doctor_pid, 10, INT32_MAX, &pid) < 0 || !pid))
		return msg_error("--doctor: not a process number: %s", c->doctor_pid), -EINVAL;
	if ((r = agents_new(&d.agents, &ao)) < 0)
		return msg_errno(r, "cannot begin");
	r = pid ? doctor_process(&d, (int32_t)pid) : doctor_machine(&d);
	agents_free(d.agents);
	if (r < 0 && r != -ESRCH)
		msg_errno(r, "cannot look at the processes");
	printf(d.n_mend ? "%u to mend\n" : "nothing to mend\n", d.n_mend);
	return r < 0 ? r : d.n_mend ? -ENOMSG : 0;
}

static int symbolize(struct opcontrol *c)
{
	uint64_t pid;

	if (util_parse_u64(c->symbolize_pid, 10, INT32_MAX, &pid) < 0 || !pid)
		return msg_error("--symbolize: not a process number: %s", c->symbolize_pid), -EINVAL;
	return symbolize_stream("/proc", (int32_t)pid, stdin, stdout);
}

static int list_one(void *arg, const char *name, const char *desc, uint64_t min_count)
{
	printf("%-40s %s\n", name, desc ? desc : "");
	return 0;
}

static int status(struct opcontrol *c)
{
	if (runs(c))
		return ask(c, "status");
	printf("state=not running\nsession=%s\n", dir_of(c));
	return 0;
}

static int act(struct opcontrol *c, enum action what)
{
	int r;

	switch (what) {
	case SETUP: return settings_write(&c->set);
	case STATUS: return status(c);
	case START_DAEMON: return start_daemon(c);
	case START:
		r = start_daemon(c);
		return r < 0 ? r : ask(c, "start");
	case STOP: return ask(c, "stop");
	case DUMP: return ask(c, "dump");
	case RESET: return runs(c) ? ask(c, "reset") : reset_alone(c);
	case SAVE: return save(c);
	case SHUTDOWN: return ask(c, "shutdown");
	case LIST: return sampler_list_events(list_one, NULL);
	case ATTACH: return attach(c);
	case DOCTOR: return doctor(c);
	case SYMBOLIZE: return symbolize(c);
	default: return 0;
	}
}

/* --- options ------------------------------------------------------------------------------------------- */

enum { KEY_SETUP = 256, KEY_STATUS, KEY_START_DAEMON, KEY_RESET, KEY_SAVE, KEY_ATTACH, KEY_SESSION, KEY_FLUSH, KEY_FREQ, KEY_NO_AGENTS,
       KEY_OLD, KEY_OLD_ARG, KEY_DOCTOR, KEY_SYMBOLIZE };

static const struct argp_option options[] = {
	{ 0, 0, 0, 0, "What to do (several are done in this order):", 1 },
	{ "setup", KEY_SETUP, 0, 0, "remember the options given", 1 },
	{ "status", KEY_STATUS, 0, 0, "what the daemon does", 1 },
	{ "start-daemon", KEY_START_DAEMON, 0, 0, "start the daemon, without sampling", 1 },
	{ "start", 's', 0, 0, "start sampling, and the daemon if need be", 1 },
	{ "stop", 't', 0, 0, "stop sampling", 1 },
	{ "dump", 'd', 0, 0, "commit what was sampled so far", 1 },
	{ "reset", KEY_RESET, 0, 0, "remove the samples, and the JIT directories of processes that are gone", 1 },
	{ "save", KEY_SAVE, "NAME", 0, "keep the samples as session NAME and begin anew", 1 },
	{ "shutdown", 'h', 0, 0, "stop sampling and end the daemon", 1 },
	{ "list-events", 'l', 0, 0, "list the events of this machine", 1 },
	{ "attach", KEY_ATTACH, "PID", 0, "give an agent to a running JVM", 1 },
	{ "doctor", KEY_DOCTOR, "PID", OPTION_ARG_OPTIONAL, "say why code of this process (of all) has no names, and what mends it", 1 },
	{ "symbolize", KEY_SYMBOLIZE, "PID", 0, "copy standard input to standard output, addresses of this process replaced by names", 1 },
	{ 0, 0, 0, 0, "How (used when the daemon starts):", 2 },
	{ "session-dir", KEY_SESSION, "DIR", 0, "session directory (default /var/lib/oprofile)", 2 },
	{ "event", 'e', "SPEC", 0, "an event to count; may be repeated; 'default' forgets all", 2 },
	{ "separate", 'p', "WHAT", 0, "none, library, kernel, process, thread, cpu or all", 2 },
	{ "callgraph", 'c', "DEPTH", 0, "keep call stacks; 0 = no", 2 },
	{ "freq", KEY_FREQ, "N", 0, "samples a second and CPU", 2 },
	{ "flush", KEY_FLUSH, "SECONDS", 0, "commit so often", 2 },
	{ "no-agents", KEY_NO_AGENTS, 0, 0, "do not attach agents to virtual machines", 2 },
	{ 0, 0, 0, 0, "Other:", 3 },
	{ "verbose", 'V', "WHAT", OPTION_ARG_OPTIONAL, "say more", 3 },
	{ "version", 'v', 0, 0, "print the version", 3 },
	/* words of old that have nothing to do any more */
	{ "init", KEY_OLD, 0, OPTION_HIDDEN, 0, 4 },
	{ "deinit", KEY_OLD, 0, OPTION_HIDDEN, 0, 4 },
	{ "no-vmlinux", KEY_OLD, 0, OPTION_HIDDEN, 0, 4 },
	{ "vmlinux", KEY_OLD_ARG, "FILE", OPTION_HIDDEN, 0, 4 },
	{ "image", 'i', "NAME", OPTION_HIDDEN, 0, 4 },
	{ "buffer-size", KEY_OLD_ARG, "N", OPTION_HIDDEN, 0, 4 },
	{ "buffer-watershed", KEY_OLD_ARG, "N", OPTION_HIDDEN, 0, 4 },
	{ "cpu-buffer-size", KEY_OLD_ARG, "N", OPTION_HIDDEN, 0, 4 },
	{ "note-table-size", KEY_OLD_ARG, "N", OPTION_HIDDEN, 0, 4 },
	{ "kernel-range", KEY_OLD_ARG, "N", OPTION_HIDDEN, 0, 4 },
	{ "xen", KEY_OLD_ARG, "FILE", OPTION_HIDDEN, 0, 4 },
	{ 0 },
};

static void add_action(struct opcontrol *c, enum action a, struct argp_state *state)
{
	if (c->n_actions == ARRAY_SIZE(c->actions))
		argp_error(state, "too many things to do");
	else
		c->actions[c->n_actions++] = a;
}

static void remember(struct opcontrol *c, char **what, const char *arg, struct argp_state *state)
{
	if (strpbrk(arg, "\n\r"))
		argp_error(state, "a line break in '%s'", arg);
	set_string(what, arg);
	c->given = true;
}

static void add_event(struct opcontrol *c, const char *arg, struct argp_state *state)
{
	static bool first = true;

	if (strpbrk(arg, "\n\r"))
		argp_error(state, "a line break in '%s'", arg);
	if (first || !strcmp(arg, "default"))
		strbuf_reset(&c->set.events);
	first = false;
	c->given = true;
	if (strcmp(arg, "default"))
		strbuf_addf(&c->set.events, "%s%s", c->set.events.len ? "," : "", arg);
}

static error_t parse_option(int key, char *arg, struct opcontrol *c, struct argp_state *state)
{
	uint64_t n;

	switch (key) {
	case KEY_SESSION:
		if (*arg != '/') {
			argp_error(state, "--session-dir: not an absolute path: %s", arg);
			break;
		}
		remember(c, &c->set.session_dir, arg, state);
		break;
	case 'e': add_event(c, arg, state); break;
	case 'p': remember(c, &c->set.separate, arg, state); break;
	case 'c':
		if (util_parse_u64(arg, 10, 1024, &n) < 0)
			argp_error(state, "--callgraph: not a depth (0 to 1024): %s", arg);
		c->set.callgraph = n > 0;
		c->given = true;
		break;
	case KEY_FREQ:
	case KEY_FLUSH:
		if (util_parse_u64(arg, 10, 100000, &n) < 0 || !n)
			argp_error(state, "not a number (1 to 100000): %s", arg);
		remember(c, key == KEY_FREQ ? &c->set.freq : &c->set.flush, arg, state);
		break;
	case KEY_NO_AGENTS: c->set.no_agents = c->given = true; break;
	case 'V': c->verbose = true; break;
	case 'v':
		printf("opcontrol (opjit) %s\n", PACKAGE_VERSION);
		exit(0);
	case 'i':
	case KEY_OLD:
	case KEY_OLD_ARG: break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct opcontrol *c = state->input;

	switch (key) {
	case KEY_SETUP: add_action(c, SETUP, state); break;
	case KEY_STATUS: add_action(c, STATUS, state); break;
	case KEY_START_DAEMON: add_action(c, START_DAEMON, state); break;
	case 's': add_action(c, START, state); break;
	case 't': add_action(c, STOP, state); break;
	case 'd': add_action(c, DUMP, state); break;
	case KEY_RESET: add_action(c, RESET, state); break;
	case KEY_SAVE: c->save_name = arg; add_action(c, SAVE, state); break;
	case 'h': add_action(c, SHUTDOWN, state); break;
	case 'l': add_action(c, LIST, state); break;
	case KEY_ATTACH: c->attach_pid = arg; add_action(c, ATTACH, state); break;
	case KEY_DOCTOR: c->doctor_pid = arg; add_action(c, DOCTOR, state); break;
	case KEY_SYMBOLIZE: c->symbolize_pid = arg; add_action(c, SYMBOLIZE, state); break;
	case ARGP_KEY_ARG:
		if (c->n_actions && c->actions[c->n_actions - 1] == DOCTOR && !c->doctor_pid) { /* --doctor PID, with a blank */
			c->doctor_pid = arg;
			break;
		}
		argp_error(state, "no operands: '%s'", arg); break;
	case ARGP_KEY_END:
		if (!c->n_actions && c->given) /* as upstream: options alone are set up */
			add_action(c, SETUP, state);
		if (!c->n_actions)
			argp_error(state, "give something to do");
		break;
	default: return parse_option(key, arg, c, state);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = { .options = options, .parser = parse, .doc = "Control the profiling daemon." };
	static struct opcontrol c = { .run_dir = STRBUF_INIT, .set.events = STRBUF_INIT_CAP(4096) };
	int r = 0;

	msg_init("opcontrol");
	argp_err_exit_status = 2;
	settings_read(&c.set);
	if (argp_parse(&argp, argc, argv, 0, NULL, &c) != 0)
		return 2;
	msg_verbose = c.verbose;
	if ((r = ctl_run_dir(&c.run_dir, dir_of(&c), false)) < 0)
		return msg_errno(r, "cannot begin"), 1;
	for (size_t i = 0; i < c.n_actions && r >= 0; i++)
		r = act(&c, c.actions[i]);
	if (fflush(stdout) != 0)
		r = msg_errno(errno, "cannot write");
	return r < 0 ? 1 : 0;
}
