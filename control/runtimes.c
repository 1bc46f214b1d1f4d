/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/runtimes.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/msg.h"

#define NODE_SWITCH "--perf-basic-prof-only-functions" /* unlike --perf-basic-prof it leaves no V8 log behind */
#define OTP_MIN 25

static const struct {
	const char *name;
	unsigned int bit;
	const char *programs[2];    /* write a map where we ask for it */
} known[] = {
	{ "java", RUNTIMES_JAVA, { 0 } },
	{ "mono", RUNTIMES_MONO, { 0 } },
	{ "node", RUNTIMES_NODE, { "node" } },
	{ "php", RUNTIMES_PHP, { "php" } },
	{ "erlang", RUNTIMES_ERLANG, { "beam", "erl" } },
	{ "lua", RUNTIMES_LUA, { 0 } },
	{ "pypy", RUNTIMES_PYPY, { "pypy" } },
	{ "dotnet", RUNTIMES_DOTNET, { "dotnet" } },
	{ "python", RUNTIMES_PYTHON, { "python" } },
	{ "jitapi", RUNTIMES_JITAPI, { 0 } },
};

struct runtime {
	unsigned int bit;
	const char *prefix;         /* of the base name; what follows may be digits, dots and dashes */
	const char *const *args;    /* put in behind argv[0] */
	const char *already;        /* an argument that begins so: the user has decided */
	bool (*understands)(const char *program);
};

static const char *base_of(const char *program)
{
	const char *slash = strrchr(program, '/');

	return slash ? slash + 1 : program;
}

static bool is_called(const char *program, const char *prefix)
{
	const char *base = base_of(program);
	size_t n = strlen(prefix);

	return !strncmp(base, prefix, n) && base[n + strspn(base + n, "0123456789.-")] == '\0';
}

/* The newest release below an Erlang installation. */
static unsigned int otp_release(const char *dir)
{
	unsigned int newest = 0;
	struct dirent *e;
	DIR *d = opendir(dir);

	if (!d)
		return 0;
	while ((e = readdir(d))) {
		uint64_t v;
		if (util_parse_u64(e->d_name, 10, 1000, &v) == 0)
			newest = MAX(newest, (unsigned int)v);
	}
	closedir(d);
	return newest;
}

static bool otp_has_jit(const char *program)
{
	AUTO_STRBUF dir = STRBUF_INIT_CAP(4096);
	AUTO_FREE char *real = strchr(program, '/') ? realpath(program, NULL) : NULL;
	char *slash = real ? strrchr(real, '/') : NULL;

	if (slash) { /* …/lib/erlang/bin/erl */
		*slash = '\0';
		strbuf_addf(&dir, "%s/../releases", real);
		if (otp_release(strbuf_str(&dir)) >= OTP_MIN)
			return true;
	}
	return otp_release("/usr/lib/erlang/releases") >= OTP_MIN || otp_release("/usr/local/lib/erlang/releases") >= OTP_MIN;
}

static const char *const node_args[] = { NODE_SWITCH, NULL };
static const char *const php_args[] = { "-d", "opcache.jit_debug=16", NULL };
static const char *const erl_args[] = { "+JPperf", "map", NULL };

static const struct runtime runtimes[] = {
	{ RUNTIMES_NODE, "node", node_args, "--perf-", NULL },
	{ RUNTIMES_NODE, "nodejs", node_args, "--perf-", NULL },
	{ RUNTIMES_PHP, "php", php_args, "opcache.jit_debug", NULL },
	{ RUNTIMES_ERLANG, "erl", erl_args, "+JPperf", otp_has_jit },
};

int runtimes_parse(const char *list, unsigned int *off, const char **bad, size_t *bad_len)
{
	unsigned int found = 0;

	for (const char *s = list;; s++) {
		size_t n = strcspn(s, ","), i;

		for (i = 0; i < ARRAY_SIZE(known); i++)
			if (strlen(known[i].name) == n && !memcmp(known[i].name, s, n))
				break;
		if (i == ARRAY_SIZE(known)) {
			*bad = s;
			*bad_len = n;
			return -EINVAL;
		}
		found |= known[i].bit;
		s += n;
		if (!*s)
			break;
	}
	*off |= found;
	return 0;
}

const char *runtimes_known(void)
{
	static char text[128];

	text[0] = '\0';
	for (size_t i = 0, n = 0; i < ARRAY_SIZE(known) && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? "," : "", known[i].name);
	return text;
}

const char *const *runtimes_asked(unsigned int off)
{
	static const char *asked[2 * ARRAY_SIZE(known) + 1];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		for (size_t k = 0; k < ARRAY_SIZE(known[i].programs); k++)
			if (known[i].programs[k] && !(off & known[i].bit))
				asked[n++] = known[i].programs[k];
	asked[n] = NULL;
	return asked;
}

static const struct runtime *runtime_of(char **argv, unsigned int off)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		const struct runtime *rt = &runtimes[i];
		if (rt->bit & off || !is_called(argv[0], rt->prefix) || (rt->understands && !rt->understands(argv[0])))
			continue;
		for (size_t k = 1; argv[k]; k++)
			if (!strncmp(argv[k], rt->already, strlen(rt->already)))
				return NULL;
		return rt;
	}
	return NULL;
}

int runtimes_prepare_command(char ***argv, const struct runtimes_opts *o, struct strbuf *said)
{
	const struct runtime *rt = (*argv)[0] ? runtime_of(*argv, o->off) : NULL;
	size_t n = 0, extra = 0;
	char **out;

	if (!rt)
		return 0;
	while ((*argv)[n])
		n++;
	while (rt->args[extra])
		extra++;
	out = calloc(n + extra + 1, sizeof(*out));
	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < extra; i++) {
		out[1 + i] = strdup(rt->args[i]);
		if (!out[1 + i]) {
			for (size_t k = 0; k < i; k++)
				free(out[1 + k]);
			free(out);
			return -ENOMEM;
		}
		strbuf_addf(said, "%s%s", said->len ? " " : "", rt->args[i]);
	}
	out[0] = (*argv)[0];
	memcpy(out + 1 + extra, *argv + 1, (n - 1) * sizeof(*out));
	free(*argv);
	*argv = out;
	return 1;
}

/* What the user has set himself stays, unless it is to be replaced. */
static int env_set(const char *name, const char *value, bool replace)
{
	if (!replace && getenv(name))
		return 0;
	if (setenv(name, value, 1) < 0)
		return -errno;
	msg_debug("gave the command %s=%s", name, value);
	return 0;
}

/* Appends a switch to a variable that holds several, unless `already` stands in it. */
static int env_add(const char *name, const char *value, const char *already)
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP(1 << 20);
	const char *was = getenv(name);
	int r;

	if (was && strstr(was, already))
		return 0;
	strbuf_addf(&sb, "%s%s%s", was ? was : "", was && *was ? " " : "", value);
	if (sb.error)
		return sb.error;
	r = env_set(name, sb.buf, true);
	return r < 0 ? r : 1;
}

/* LUA_INIT holds Lua: the interpreters without a JIT pass it over. */
static int lua_environment(const struct runtimes_opts *o)
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP(16384);

	if (o->off & RUNTIMES_LUA || !o->lua || !o->libopagent || strpbrk(o->lua, "'\\\n") || strpbrk(o->libopagent, "'\\\n"))
		return 0;
	strbuf_addf(&sb, "if jit then local f = loadfile('%s') if f then pcall(f, '%s') end end", o->lua, o->libopagent);
	if (sb.error)
		return sb.error;
	return env_set("LUA_INIT", sb.buf, false);
}

/* An empty first part stands for the directory that PHP was built with. */
static int php_environment(const struct runtimes_opts *o)
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP(16384);
	const char *was = getenv("PHP_INI_SCAN_DIR");

	if (o->off & RUNTIMES_PHP || !o->php_dir || strchr(o->php_dir, ':'))
		return 0;
	strbuf_addf(&sb, "%s:%s", was ? was : "", o->php_dir);
	if (sb.error)
		return sb.error;
	return env_set("PHP_INI_SCAN_DIR", sb.buf, true);
}

static int erlang_environment(const char *program, const struct runtimes_opts *o)
{
	static const char *const tools[] = { "elixir", "mix", "iex", "rebar3", "escript" };

	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (!(o->off & RUNTIMES_ERLANG) && is_called(program, tools[i]) && otp_has_jit("erl"))
			return env_add("ERL_FLAGS", "+JPperf map", "+JPperf");
	return 0;
}

/* Quiet, and without meaning to everybody else. */
static int quiet_environment(const struct runtimes_opts *o)
{
	int r = o->off & RUNTIMES_DOTNET ? 0 : env_set("DOTNET_PerfMapEnabled", "1", false);

	return r < 0 || !o->callgraph || o->off & RUNTIMES_PYTHON ? r : env_set("PYTHONPERFSUPPORT", "1", false);
}

int runtimes_environment(const char *program, const struct runtimes_opts *o)
{
	int r;

	if (!(o->off & RUNTIMES_NODE) && (r = env_add("NODE_OPTIONS", NODE_SWITCH, "--perf-")) < 0)
		return r;
	if ((r = erlang_environment(program, o)) < 0)
		return r;
	if (!(o->off & RUNTIMES_MONO) && o->mono && (r = env_add("MONO_ENV_OPTIONS", "--profile=oprofile", "--profile")) < 0)
		return r;
	if ((r = lua_environment(o)) < 0 || (r = php_environment(o)) < 0)
		return r;
	if (!(o->off & RUNTIMES_JITAPI) && o->jitapi && (r = env_set("INTEL_JIT_PROFILER64", o->jitapi, false)) < 0)
		return r;
	/* PyPy logs to stderr where the file cannot be made: only for the command itself, whose /tmp is ours. */
	if (!(o->off & RUNTIMES_PYPY) && (o->env || (is_called(program, "pypy") && access("/tmp", W_OK) == 0)) &&
	    (r = env_set("PYPYLOG", "jit-backend-addr:/tmp/opjit-pypy-%d.log", false)) < 0)
		return r;
	return (r = quiet_environment(o)) < 0 ? r : 0;
}

bool runtimes_asked_already(char *const argv[])
{
	static const char *const words[] = { "--perf-", "+JPperf", "opcache.jit_debug", "-Xperf" };
	static const char *const vars[] = { "NODE_OPTIONS", "ERL_FLAGS", "DOTNET_PerfMapEnabled", "PYTHONPERFSUPPORT", "PYPYLOG" };

	for (size_t i = 0; argv[i]; i++)
		for (size_t k = 0; k < ARRAY_SIZE(words); k++)
			if (strstr(argv[i], words[k]))
				return true;
	for (size_t k = 0; k < ARRAY_SIZE(vars); k++)
		if (getenv(vars[k]) && (k > 1 || strstr(getenv(vars[k]), "erf")))
			return true;
	return false;
}
