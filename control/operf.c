/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "control/operf.h"
#include "control/runtimes.h"
#include "lib/msg.h"

enum { KEY_NO_AGENTS = 256, KEY_AGENTS, KEY_REPLAY, KEY_FROM, KEY_TO, KEY_KEEP_LOG, KEY_FLIGHT, KEY_JIT_DIR, KEY_FREQ, KEY_LIST, KEY_USAGE };

static const struct argp_option options[] = {
	{ 0, 0, 0, 0, "What to watch (one of them, or a command):", 1 },
	{ "pid", 'p', "PID[,PID…]", 0, "processes that run already, with their threads and children", 1 },
	{ "system-wide", 's', 0, 0, "the whole machine, until SIGINT", 1 },
	{ "replay", KEY_REPLAY, "LOG", 0, "make the session again from a kept event log", 1 },
	{ 0, 0, 0, 0, "How:", 2 },
	{ "events", 'e', "SPEC[,SPEC…]", 0, "events to count, NAME[:COUNT[:UMASK[:KERNEL[:USER]]]]; see --list", 2 },
	{ "event", 'e', 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 2 },
	{ "freq", KEY_FREQ, "N", 0, "samples a second and CPU for events without a count (default 997)", 2 },
	{ "callgraph", 'g', 0, 0, "keep call stacks", 2 },
	{ "separate-thread", 't', 0, 0, "separate samples by thread", 2 },
	{ "separate-cpu", 'c', 0, 0, "separate samples by CPU", 2 },
	{ "vmlinux", 'k', "FILE", 0, "kernel image; accepted for old scripts (symbols come from /proc/kallsyms)", 2 },
	{ "lazy-conversion", 'l', 0, 0, "accepted for old scripts: nothing is converted after the run", 2 },
	{ 0, 0, 0, 0, "Where to:", 3 },
	{ "session-dir", 'd', "DIR", 0, "session directory (default ./oprofile_data)", 3 },
	{ "append", 'a', 0, 0, "add to the session that is there", 3 },
	{ "keep-log", KEY_KEEP_LOG, 0, 0, "keep the event log in DIR/log/events.opel", 3 },
	{ "flight-recorder", KEY_FLIGHT, "SIZE", OPTION_ARG_OPTIONAL,
	  "keep the last SIZE bytes of samples (default 64m) and save them to DIR/log/events.opel at the end and on SIGUSR2", 3 },
	{ "from", KEY_FROM, "SECONDS", 0, "with --replay: only samples so long after the first one", 3 },
	{ "to", KEY_TO, "SECONDS", 0, "with --replay: only samples before that", 3 },
	{ 0, 0, 0, 0, "Virtual machines:", 4 },
	{ "no-agents", KEY_NO_AGENTS, "VM[,VM…]", OPTION_ARG_OPTIONAL,
	  "do not give agents and switches to virtual machines, or to these: java, mono, node, php, erlang, lua, pypy, dotnet, python, jitapi", 4 },
	{ "agents", KEY_AGENTS, "HOW", 0, "env: also through JAVA_TOOL_OPTIONS, of which Java tells on stderr; none: as --no-agents", 4 },
	{ "jit-dir", KEY_JIT_DIR, "DIR", 0, "where agents keep images of JIT code while the program runs", 4 },
	{ 0, 0, 0, 0, "Other:", 5 },
	{ "list", KEY_LIST, 0, 0, "list the events of this machine", 5 },
	{ "verbose", 'V', "WHAT", OPTION_ARG_OPTIONAL, "say more", 5 },
	{ "version", 'v', 0, 0, "print the version", 5 },
	{ 0 },
};

static bool flag_number(const char *s, uint64_t max, uint64_t *ret, const char *what, struct argp_state *state)
{
	if (util_parse_u64(s, 10, max, ret) == 0)
		return true;
	argp_error(state, "%s: not a number (1 to %llu): %s", what, (unsigned long long)max, s);
	return false;
}

static void add_pids(struct operf *o, const char *list, struct argp_state *state)
{
	AUTO_FREE char *copy = strdup(list);
	char *rest = copy, *one;

	while (copy && (one = strsep(&rest, ","))) {
		uint64_t n;

		if (util_parse_u64(one, 10, INT32_MAX, &n) < 0 || n == 0)
			argp_error(state, "--pid: not a process number: '%s'", one);
		else if (o->n_pids == OPERF_MAX_PIDS)
			argp_error(state, "--pid: more than %d processes; use --system-wide", OPERF_MAX_PIDS);
		else
			o->pids[o->n_pids++] = (int32_t)n;
	}
}

/* Commas separate events, but for those inside of a tracepoint's or PMU's slashes. */
static void add_events(struct operf *o, char *list, struct argp_state *state)
{
	char *one = list;
	bool inside = false;

	for (char *s = list;; s++) {
		if (*s == '/')
			inside = !inside;
		if (*s && (*s != ',' || inside))
			continue;
		bool last = !*s;

		*s = '\0';
		if (!*one)
			argp_error(state, "--events: an empty event");
		else if (o->n_events == OPERF_MAX_EVENTS)
			argp_error(state, "--events: more than %d", OPERF_MAX_EVENTS);
		else
			o->events[o->n_events++] = one;
		one = s + 1;
		if (last)
			return;
	}
}

static void no_agents(struct operf *o, const char *list, struct argp_state *state)
{
	const char *bad;
	size_t len;

	if (!list)
		o->no_agents = RUNTIMES_ALL;
	else if (runtimes_parse(list, &o->no_agents, &bad, &len) < 0)
		argp_error(state, "--no-agents: there is no '%.*s' among %s", (int)len, bad, runtimes_known());
}

static double seconds(const char *s, const char *what, struct argp_state *state)
{
	char *end;
	double v = strtod(s, &end);

	if (end == s || (*end && strcmp(end, "s")) || !(v >= 0) || v > 1e9)
		argp_error(state, "%s: not a number of seconds: %s", what, s);
	return v;
}

static void check(struct operf *o, struct argp_state *state)
{
	int n = (o->command != NULL) + (o->n_pids > 0) + o->system_wide + (o->replay != NULL);

	if (o->list)
		return;
	if (n == 0)
		argp_error(state, "give a command, --pid, --system-wide or --replay");
	else if (n > 1)
		argp_error(state, "a command, --pid, --system-wide and --replay exclude each other");
	if ((o->from_s || o->to_s) && !o->replay)
		argp_error(state, "--from and --to go with --replay");
	if (o->to_s && o->to_s <= o->from_s)
		argp_error(state, "--to is not after --from");
	if (o->replay && (o->keep_log || o->flight_bytes))
		argp_error(state, "--replay reads a log and keeps none");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct operf *o = state->input;

	switch (key) {
	case 'p': add_pids(o, arg, state); break;
	case 's': o->system_wide = true; break;
	case 'e': add_events(o, arg, state); break;
	case 'g': o->callgraph = true; break;
	case 't': o->separate_thread = true; break;
	case 'c': o->separate_cpu = true; break;
	case 'k': o->vmlinux = arg; break;
	case 'l': break;
	case 'd': o->session_dir = arg; break;
	case 'a': o->append = true; break;
	case 'V': o->verbose = true; break;
	case KEY_FREQ:
		if (flag_number(arg, 100000, &o->freq, "--freq", state) && !o->freq)
			argp_error(state, "--freq: not a number (1 to 100000): %s", arg);
		break;
	case KEY_KEEP_LOG: o->keep_log = true; break;
	case KEY_FLIGHT:
		o->flight_bytes = UINT64_C(64) << 20;
		if (arg && (util_parse_size(arg, UINT64_C(1) << 40, &o->flight_bytes) < 0 || !o->flight_bytes))
			argp_error(state, "--flight-recorder: not a size: %s", arg);
		break;
	case KEY_REPLAY: o->replay = arg; break;
	case KEY_FROM: o->from_s = seconds(arg, "--from", state); break;
	case KEY_TO: o->to_s = seconds(arg, "--to", state); break;
	case KEY_NO_AGENTS: no_agents(o, arg, state); break;
	case KEY_AGENTS:
		if (!strcmp(arg, "env"))
			o->agents_env = true;
		else if (!strcmp(arg, "none"))
			o->no_agents = RUNTIMES_ALL;
		else if (strcmp(arg, "auto"))
			argp_error(state, "--agents: env, auto or none, not '%s'", arg);
		break;
	case KEY_JIT_DIR: o->jit_dir = arg; break;
	case 'v':
		printf("operf (opjit) %s\n", PACKAGE_VERSION);
		exit(0);
	case KEY_LIST: o->list = true; break;
	case ARGP_KEY_ARG: /* the command, and all that follows belongs to it */
		o->command = &state->argv[state->next - 1];
		state->next = state->argc;
		break;
	case ARGP_KEY_END: check(o, state); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int list_one(void *arg, const char *name, const char *desc, uint64_t min_count)
{
	printf("%-40s %s\n", name, desc ? desc : "");
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "COMMAND [ARG…]\n--pid PID[,PID…]\n--system-wide\n--replay LOG",
		.doc = "Profile a program, processes or the machine, with names for code that virtual machines make at run time."
		       "\vThe result is a session directory: opreport -l prints it by symbol. The command's output and exit status stay "
		       "what they were.",
	};
	static struct operf o = { .session_dir = "oprofile_data" };

	msg_init("operf");
	argp_err_exit_status = 2;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o) != 0)
		return 2;
	msg_verbose = o.verbose;
	if (o.list)
		return sampler_list_events(list_one, NULL) < 0;
	return o.replay ? operf_replay(&o) : operf_run(&o);
}
