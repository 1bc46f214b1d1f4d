/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/agents.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "control/attach.h"
#include "lib/io.h"
#include "lib/msg.h"
#include "lib/util.h"

#define JAVA_AGENT "libjvmti_oprofile.so"
#define MONO_AGENT "libmono-profiler-oprofile.so"
#define MAX_WAITING 4096 /* a build with more JVMs at a time than this has most of them unnamed */
#ifndef AGENTDIR
#define AGENTDIR "/usr/local/lib"
#endif

struct waiting {
	struct waiting *next;
	pid_t tgid;
	uint64_t due_ns;
	bool at_once;          /* asked for: no grace, and a refusal is worth a word */
	bool gone;             /* it ended meanwhile, and that is to be said */
	struct attach *attach; /* under way */
};

struct agents {
	struct agents_opts o;
	char *jit_dir;
	char *java_path, *mono_dir;
	bool java_sought, mono_sought;
	struct waiting *list;
	size_t n, n_running;
};

int agents_new(struct agents **ret, const struct agents_opts *o)
{
	struct agents *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	if (o && (o->size < sizeof(size_t) + 1 || o->size > sizeof(*o) + 4096)) {
		free(a);
		return -EINVAL;
	}
	if (o)
		memcpy(&a->o, o, MIN(o->size, sizeof(a->o)));
	if (a->o.jit_dir && !(a->jit_dir = strdup(a->o.jit_dir))) {
		free(a);
		return -ENOMEM;
	}
	if (!a->o.grace_ms)
		a->o.grace_ms = 300;
	if (!a->o.timeout_ms)
		a->o.timeout_ms = 10000;
	if (!a->o.max_parallel)
		a->o.max_parallel = 4;
	*ret = a;
	return 0;
}

static void waiting_free(struct agents *a, struct waiting **at)
{
	struct waiting *w = *at;
	*at = w->next;
	if (w->attach) {
		attach_free(w->attach);
		a->n_running--;
	}
	free(w);
	a->n--;
}

void agents_free(struct agents *a)
{
	if (!a)
		return;
	while (a->list)
		waiting_free(a, &a->list);
	free(a->jit_dir);
	free(a->java_path);
	free(a->mono_dir);
	free(a);
}

/* --- where the agents are ---------------------------------------------------------------------------------- */
static bool is_file(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The directory that has `file`: $OPJIT_AGENT_DIR, the build tree we run from, where it was installed. malloc'd or NULL. */
static char *agent_dir(const char *subdir, const char *file)
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP(3 * PATH_MAX);
	const char *env = getenv("OPJIT_AGENT_DIR");
	char exe[PATH_MAX], *slash;
	ssize_t n;

	if (env && *env == '/') {
		strbuf_addf(&sb, "%s/%s", env, file);
		if (is_file(strbuf_str(&sb)))
			return strdup(env);
	}
	n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	for (int up = 0; n > 0 && up < 3; up++) {
		/* BUILD/control/operf, or libtool's BUILD/control/.libs/operf */
		exe[n] = 0;
		slash = strrchr(exe, '/');
		if (!slash)
			break;
		*slash = 0;
		n = slash - exe;
		strbuf_reset(&sb);
		strbuf_addf(&sb, "%s/agents/%s/.libs/%s", exe, subdir, file);
		if (is_file(strbuf_str(&sb))) {
			sb.len -= strlen(file) + 1;
			sb.buf[sb.len] = 0;
			return strbuf_steal(&sb);
		}
	}
	strbuf_reset(&sb);
	strbuf_addf(&sb, "%s/%s", AGENTDIR, file);
	return is_file(strbuf_str(&sb)) ? strdup(AGENTDIR) : NULL;
}

char *agents_find(const char *subdir, const char *file)
{
	AUTO_STRBUF sb = STRBUF_INIT;
	AUTO_FREE char *dir = agent_dir(subdir, file);

	strbuf_addf(&sb, "%s/%s", dir ? dir : "", file);
	return dir ? realpath(strbuf_str(&sb), NULL) : NULL;
}

const char *agents_java_path(struct agents *a)
{
	if (!a->java_sought) {
		AUTO_STRBUF sb = STRBUF_INIT;
		AUTO_FREE char *dir = agent_dir("jvmti", JAVA_AGENT);
		a->java_sought = true;
		if (dir) {
			strbuf_addf(&sb, "%s/%s", dir, JAVA_AGENT);
			a->java_path = realpath(strbuf_str(&sb), NULL);
		}
	}
	return a->java_path;
}

const char *agents_mono_dir(struct agents *a)
{
	if (!a->mono_sought) {
		a->mono_sought = true;
		a->mono_dir = agent_dir("mono", MONO_AGENT);
	}
	return a->mono_dir;
}

/* Mono takes a name, no path: whether its dlopen will find the module. */
bool agents_mono_finds_it(void)
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP(64 << 20);
	const char *path = getenv("LD_LIBRARY_PATH");

	for (const char *p = path; p && *p;) {
		size_t n = strcspn(p, ":");
		AUTO_STRBUF file = STRBUF_INIT;
		strbuf_add(&file, p, n);
		strbuf_addf(&file, "/%s", MONO_AGENT);
		if (n && is_file(strbuf_str(&file)))
			return true;
		p += n + (p[n] == ':');
	}
	if (is_file("/usr/lib/" MONO_AGENT))
		return true;
	return io_slurp(AT_FDCWD, "/etc/ld.so.cache", &sb) == 0 && memmem(sb.buf, sb.len, MONO_AGENT, strlen(MONO_AGENT));
}

/* --- what a command is --------------------------------------------------------------------------------------- */
static char *find_program(const char *program)
{
	const char *path = getenv("PATH");

	if (strchr(program, '/'))
		return access(program, X_OK) == 0 ? realpath(program, NULL) : NULL;
	for (const char *p = path ? path : "/usr/local/bin:/usr/bin:/bin"; *p;) {
		size_t n = strcspn(p, ":");
		AUTO_STRBUF sb = STRBUF_INIT;
		strbuf_add(&sb, n ? p : ".", n ? n : 1);
		strbuf_addf(&sb, "/%s", program);
		if (is_file(strbuf_str(&sb)) && access(strbuf_str(&sb), X_OK) == 0)
			return realpath(strbuf_str(&sb), NULL);
		p += n + (p[n] == ':');
	}
	return NULL;
}

static bool is_elf(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char magic[4];
	return fd >= 0 && io_read_full(fd, magic, 4) == 4 && !memcmp(magic, "\177ELF", 4);
}

/* A JDK's or JRE's launcher stands in HOME/bin beside HOME/lib with HotSpot in it. */
static bool in_java_home(const char *path)
{
	static const char *const libs[] = { "lib/server/libjvm.so", "lib/amd64/server/libjvm.so", "jre/lib/amd64/server/libjvm.so",
					    "lib/aarch64/server/libjvm.so", "jre/lib/aarch64/server/libjvm.so",
					    "lib/i386/server/libjvm.so", "lib/client/libjvm.so" };
	const char *bin = strrchr(path, '/');

	if (!bin || bin - path < 4 || strncmp(bin - 4, "/bin", 4))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(libs); i++) {
		AUTO_STRBUF sb = STRBUF_INIT;
		strbuf_add(&sb, path, (size_t)(bin - path) - 3);
		strbuf_addstr(&sb, libs[i]);
		if (is_file(strbuf_str(&sb)))
			return true;
	}
	return false;
}

enum command { COMMAND_OTHER, COMMAND_JAVA, COMMAND_JAVA_TOOL, COMMAND_MONO };

/* Tools that are the same launcher and take a VM option behind -J. */
static bool is_java_tool(const char *name)
{
	static const char *const tools[] = { "javac", "javadoc", "javap", "jar", "jarsigner", "jdeps", "jlink", "jmod", "keytool", "jpackage" };
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (!strcmp(name, tools[i]))
			return true;
	return false;
}

static enum command command_of(const char *program)
{
	AUTO_FREE char *path = find_program(program);
	const char *name;

	if (!path || !is_elf(path))
		return COMMAND_OTHER;
	name = strrchr(path, '/') + 1;
	if (!strcmp(name, "java") && in_java_home(path))
		return COMMAND_JAVA;
	if (is_java_tool(name) && in_java_home(path))
		return COMMAND_JAVA_TOOL;
	if (!strcmp(name, "mono") || !strncmp(name, "mono-sgen", 9) || !strncmp(name, "mono-boehm", 10))
		return COMMAND_MONO;
	return COMMAND_OTHER;
}

enum agents_vm agents_identify(const char *program)
{
	switch (command_of(program)) {
	case COMMAND_JAVA:
	case COMMAND_JAVA_TOOL:
		return AGENTS_VM_JAVA;
	case COMMAND_MONO:
		return AGENTS_VM_MONO;
	default:
		return AGENTS_VM_NONE;
	}
}

/* --- the option ------------------------------------------------------------------------------------------------ */
static void add_options(const struct agents *a, struct strbuf *sb)
{
	const char *sep = "";

	if (a->jit_dir) {
		strbuf_addstr(sb, "dir=");
		for (const char *p = a->jit_dir; *p; p++) {
			if (*p == ',')
				strbuf_addch(sb, '\\');
			strbuf_addch(sb, *p);
		}
		sep = ",";
	}
	if (a->o.max_bytes)
		strbuf_addf(sb, "%smax=%llu", sep, (unsigned long long)a->o.max_bytes);
}

static void add_agentpath(struct agents *a, struct strbuf *sb)
{
	size_t before;

	strbuf_addf(sb, "-agentpath:%s=", agents_java_path(a));
	before = sb->len;
	add_options(a, sb);
	if (sb->len == before && !sb->error)
		sb->buf[--sb->len] = 0; /* no options: no = */
}

static bool names_an_agent(const char *text)
{
	return strstr(text, "jvmti_oprofile") || strstr(text, "libperf-jvmti");
}

/* The option for this command; malloc'd, NULL for none. */
static char *option_for(struct agents *a, char *const argv[])
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP(64 << 10);
	enum command c = argv[0] ? command_of(argv[0]) : COMMAND_OTHER;

	if (a->o.off)
		return NULL;
	switch (c) {
	case COMMAND_JAVA:
	case COMMAND_JAVA_TOOL:
		/* A path with = in it would be cut there by the VM. */
		if (a->o.no_java || a->o.env || !agents_java_path(a) || strchr(agents_java_path(a), '='))
			return NULL;
		for (size_t i = 1; argv[i]; i++)
			if (argv[i][0] == '-' && names_an_agent(argv[i]))
				return NULL;
		if (c == COMMAND_JAVA_TOOL)
			strbuf_addstr(&sb, "-J");
		add_agentpath(a, &sb);
		break;
	case COMMAND_MONO:
		if (a->o.no_mono || !agents_mono_finds_it())
			return NULL;
		for (size_t i = 1; argv[i]; i++)
			if (!strncmp(argv[i], "--profile", 9))
				return NULL; /* theirs */
		strbuf_addstr(&sb, "--profile=oprofile");
		if (a->jit_dir || a->o.max_bytes) {
			strbuf_addch(&sb, ':');
			add_options(a, &sb);
		}
		break;
	default:
		return NULL;
	}
	return strbuf_steal(&sb);
}

void agents_argv_free(char **argv)
{
	if (!argv)
		return;
	for (size_t i = 0; argv[i]; i++)
		free(argv[i]);
	free(argv);
}

int agents_prepare_command(struct agents *a, char *const argv[], char ***ret)
{
	AUTO_FREE char *option = option_for(a, argv);
	size_t n = 0, to = 0;
	char **copy;

	while (argv[n])
		n++;
	copy = calloc(n + 2, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (i == 1 && option)
			copy[to++] = TAKE_PTR(option);
		copy[to] = strdup(argv[i]);
		if (!copy[to++]) {
			agents_argv_free(copy);
			return -ENOMEM;
		}
	}
	if (option && n == 1)
		copy[to++] = TAKE_PTR(option);
	*ret = copy;
	return to > n;
}

int agents_environment(struct agents *a)
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP(256 << 10);
	const char *was = getenv("JAVA_TOOL_OPTIONS");

	if (a->o.off || !a->o.env || a->o.no_java || !agents_java_path(a) || (was && names_an_agent(was)))
		return 0;
	add_agentpath(a, &sb);
	if (was && *was)
		strbuf_addf(&sb, " %s", was);
	if (sb.error)
		return sb.error;
	if (setenv("JAVA_TOOL_OPTIONS", strbuf_str(&sb), 1) < 0)
		return -errno;
	msg_debug("gave the command JAVA_TOOL_OPTIONS=%s", strbuf_str(&sb));
	return 0;
}

/* --- VMs that appear later -------------------------------------------------------------------------------------- */
static struct waiting **find_waiting(struct agents *a, pid_t tgid)
{
	struct waiting **at = &a->list;
	while (*at && (*at)->tgid != tgid)
		at = &(*at)->next;
	return at;
}

static bool add_waiting(struct agents *a, pid_t tgid, uint64_t grace_ns, bool at_once)
{
	struct waiting **at = find_waiting(a, tgid);

	if (!*at) {
		if (a->n >= MAX_WAITING)
			return false;
		*at = calloc(1, sizeof(**at));
		if (!*at)
			return false;
		a->n++;
		(*at)->tgid = tgid;
		(*at)->due_ns = util_now_ns() + grace_ns;
	}
	(*at)->at_once |= at_once;
	if (at_once)
		(*at)->due_ns = 0;
	return true;
}

bool agents_on_mmap(struct agents *a, pid_t tgid, const char *path)
{
	const char *name = path ? strrchr(path, '/') : NULL;

	if (a->o.off || a->o.no_java || !name || strcmp(name, "/libjvm.so") || !agents_java_path(a))
		return false;
	return add_waiting(a, tgid, a->o.grace_ms * NSEC_PER_MSEC, false);
}

void agents_on_exit(struct agents *a, pid_t tgid)
{
	struct waiting **at = find_waiting(a, tgid);
	if (*at && (*at)->at_once && (*at)->attach)
		(*at)->gone = true;
	else if (*at)
		waiting_free(a, at);
}

void agents_on_exec(struct agents *a, pid_t tgid)
{
	struct waiting **at = find_waiting(a, tgid);
	/* One that only waits is looked at before it is attached to; its mapping may be of after the exec, since events come CPU by CPU. */
	if (*at && (*at)->attach)
		waiting_free(a, at);
}

void agents_on_ring(struct agents *a, pid_t tgid)
{
	struct waiting **at = find_waiting(a, tgid);
	/* One that is loading right now has its ring before the answer: let it end by itself. */
	if (*at && !(*at)->attach)
		waiting_free(a, at);
}

bool agents_attach_now(struct agents *a, pid_t tgid)
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP(16 << 20);
	char path[64];

	if (a->o.off || a->o.no_java || !agents_java_path(a))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)tgid);
	if (io_slurp(AT_FDCWD, path, &sb) < 0 || !strstr(strbuf_str(&sb), "/libjvm.so") || names_an_agent(strbuf_str(&sb)))
		return false;
	return add_waiting(a, tgid, 0, true);
}

size_t agents_pending(const struct agents *a)
{
	return a->n;
}

/* Whether it still needs an agent: it lives, is a JVM, and has neither ours nor perf's. */
static bool still_wanted(pid_t tgid)
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP(16 << 20);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)tgid);
	return io_slurp(AT_FDCWD, path, &sb) == 0 && strstr(strbuf_str(&sb), "/libjvm.so") && !names_an_agent(strbuf_str(&sb)) &&
	       !strstr(strbuf_str(&sb), "memfd:opjit:");
}

static int start_attach(struct agents *a, struct waiting *w)
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP(64 << 10);
	int err;

	add_options(a, &sb);
	err = sb.error ? sb.error : attach_start(&w->attach, w->tgid, agents_java_path(a), strbuf_str(&sb), a->o.timeout_ms,
						 !w->at_once);
	if (!err)
		a->n_running++;
	return err;
}

void agents_tick(struct agents *a, agents_said_fn *said, void *arg)
{
	uint64_t now = a->list ? util_now_ns() : 0;

	for (struct waiting **at = &a->list; *at;) {
		struct waiting *w = *at;
		if (w->attach) {
			AUTO_STRBUF why = STRBUF_INIT;
			int r = attach_poll(w->attach, &why);
			if (r == -EAGAIN && w->gone) {
				strbuf_addstr(&why, "it ended before its agent was loaded");
				r = -ESRCH;
			}
			if (r != -EAGAIN) {
				if (said)
					said(arg, w->tgid, r, strbuf_str(&why));
				waiting_free(a, at);
				continue;
			}
		} else if (w->due_ns <= now && a->n_running < a->o.max_parallel) {
			int err = still_wanted(w->tgid) ? start_attach(a, w) : -ESRCH;
			if (err) {
				if (said && err != -ESRCH)
					said(arg, w->tgid, err, "no helper could be started to attach with");
				waiting_free(a, at);
				continue;
			}
		}
		at = &w->next;
	}
}
