/* SPDX-License-Identifier: GPL-3.0-or-later */
/* opevlog: looks at event logs, checks, cuts, merges and converts them. */
#include <argp.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "lib/msg.h"
#include "report/opevlog.h"

enum { OPT_RAW = 256, OPT_LENIENT, OPT_FROM, OPT_TO, OPT_PID, OPT_CPU, OPT_FORMAT, OPT_NOTES, OPT_SAMPLES, OPT_NAMES,
       OPT_FTRACE, OPT_IDLE, OPT_RST };

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "dump, stat, follow: one JSON object a line", 1 },
	{ "raw", OPT_RAW, NULL, 0, "dump: records in the order of the file, with their offsets", 1 },
	{ "lenient", OPT_LENIENT, NULL, 0, "pass over what is unknown or spoilt, and count it", 1 },
	{ "from", OPT_FROM, "SECONDS", 0, "dump, cut: only what happened from this time on, counted from the log's beginning", 2 },
	{ "to", OPT_TO, "SECONDS", 0, "dump, cut: only what happened before this time", 2 },
	{ "pid", OPT_PID, "PID", 0, "dump, cut: only this process", 2 },
	{ "cpu", OPT_CPU, "CPU", 0, "dump, cut: only this CPU", 2 },
	{ "output", 'o', "FILE", 0, "cut, merge, convert: where to; - is standard output", 3 },
	{ "format", OPT_FORMAT, "FORMAT", 0, "convert: opel, pmclog, ctf, script, json, abi or rst", 3 },
	{ "rst", OPT_RST, NULL, 0, "convert: as --format=rst", 3 },
	{ "notes", OPT_NOTES, "FILE", 0, "convert: the opnd file of the format abi", 3 },
	{ "samples", OPT_SAMPLES, "FILE", 0, "convert: the opsd file of the format abi", 3 },
	{ "names", OPT_NAMES, "FILE", 0, "convert: the ophd file of the format abi", 3 },
	{ "ftrace", OPT_FTRACE, "LAYOUT", 0, "dump: the file holds pages of trace_pipe_raw; le or be, 4 or 8 bytes a long, old: "
	  "heads of 2.6.28, and the page's size: le,8,4096", 3 },
	{ "idle", OPT_IDLE, "SECONDS", 0, "follow: end when nothing came for so long", 3 },
	{ 0 }
};

struct state {
	struct options o;
	const char *command;
	char **files;
	int n_files;
};

static double number(struct argp_state *st, const char *what, const char *arg)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || *end || !(v >= 0) || isinf(v))
		argp_error(st, "--%s=%s: not a number ≥ 0", what, arg);
	return v;
}

static error_t parse(int key, char *arg, struct argp_state *st)
{
	struct state *s = st->input;
	uint64_t v = 0;

	switch (key) {
	case 'j':
		s->o.json = true;
		break;
	case OPT_RAW:
		s->o.raw = true;
		break;
	case OPT_LENIENT:
		s->o.lenient = true;
		break;
	case OPT_FROM:
		s->o.filter.from = number(st, "from", arg);
		break;
	case OPT_TO:
		s->o.filter.to = number(st, "to", arg);
		break;
	case OPT_IDLE:
		s->o.idle = number(st, "idle", arg);
		break;
	case OPT_PID:
	case OPT_CPU:
		if (util_parse_u64(arg, 10, INT32_MAX, &v) < 0)
			argp_error(st, "%s: not a number", arg);
		if (key == OPT_PID)
			s->o.filter.pid = (int64_t)v;
		else
			s->o.filter.cpu = (int64_t)v;
		break;
	case 'o':
		s->o.output = arg;
		break;
	case OPT_FORMAT:
		s->o.format = arg;
		break;
	case OPT_RST:
		s->o.format = "rst";
		break;
	case OPT_NOTES:
		s->o.notes = arg;
		break;
	case OPT_SAMPLES:
		s->o.samples = arg;
		break;
	case OPT_NAMES:
		s->o.names = arg;
		break;
	case OPT_FTRACE:
		s->o.ftrace = arg;
		break;
	case ARGP_KEY_ARG:
		if (!s->command) {
			s->command = arg;
			break;
		}
		s->files = st->argv + st->next - 1;
		s->n_files = st->argc - st->next + 1;
		st->next = st->argc;
		break;
	case ARGP_KEY_END:
		if (!s->command)
			argp_error(st, "no command: dump, stat, check, cut, merge, convert or follow");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options, .parser = parse, .args_doc = "COMMAND FILE…",
	.doc = "Looks at event logs: opel, the log of opjit, and those of FreeBSD's hwpmc(4), told apart by themselves.\v"
	       "Commands:\n"
	       "  dump FILE…                  one line an event, in order of time\n"
	       "  stat FILE…                  events, rates, losses, time, streams\n"
	       "  check FILE…                 is it whole and well-formed? Status 1 if not, and where\n"
	       "  cut -o OUT FILE             a part, by time, process, CPU; what names its samples stays\n"
	       "  merge -o OUT FILE…          several logs into one\n"
	       "  convert --format=F -o OUT FILE   to or from another format\n"
	       "  follow FILE                 dump a log while it is being written\n",
};

static const struct {
	const char *name;
	int (*fn)(const struct options *o, char **files);
} commands[] = {
	{ "dump", cmd_dump }, { "stat", cmd_stat }, { "check", cmd_check }, { "cut", cmd_cut }, { "merge", cmd_merge },
	{ "convert", cmd_convert }, { "follow", cmd_follow },
};

const char *argp_program_version = "opevlog (" PACKAGE_NAME ") " PACKAGE_VERSION;

/* Logs are mapped: one that is cut meanwhile ends the program where its bytes were. */
static void was_cut(int sig)
{
	static const char text[] = "opevlog: error: a file that was read became shorter, or its disk cannot be read\n";

	if (write(2, text, sizeof(text) - 1) < 0)
		_exit(2);
	_exit(1);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = was_cut };
	int ret;
	struct state s = { .o.filter = { -1, -1, -1, -1 } };

	setlocale(LC_CTYPE, "");
	sigaction(SIGBUS, &sa, NULL);
	msg_init("opevlog");
	argp_parse(&argp, argc, argv, 0, NULL, &s);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(s.command, commands[i].name)) {
			if (!s.n_files && !(s.o.notes || s.o.samples)) {
				msg_error("%s: no file given", s.command);
				return 2;
			}
			ret = commands[i].fn(&s.o, s.n_files ? s.files : NULL);
			if (fflush(stdout) || ferror(stdout)) {
				msg_error("standard output: cannot write: is the disk full?");
				ret = -EIO;
			}
			return ret < 0 ? 1 : 0;
		}
	msg_error("%s: no such command; try --help", s.command);
	return 2;
}
