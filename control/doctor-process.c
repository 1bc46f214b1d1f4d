/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "control/doctor.h"
#include "jitconv/foreign.h"
#include "jitconv/gdbjit.h"
#include "jitconv/source.h"
#include "lib/io.h"
#include "sampler/procinfo.h"

/* --- facts ---------------------------------------------------------------------------------------------- */

void doctor_facts_done(struct doctor_facts *f)
{
	strbuf_done(&f->cmdline);
	strbuf_done(&f->environ);
	strbuf_done(&f->libs);
	strbuf_done(&f->markers);
	strbuf_done(&f->dumps);
}

bool doctor_has_word(const struct strbuf *strings, const char *word)
{
	return strings->len && memmem(strings->buf, strings->len, word, strlen(word));
}

bool doctor_has_lib(const struct doctor_facts *f, const char *prefix)
{
	char want[128];

	snprintf(want, sizeof(want), "\n%s", prefix);
	return doctor_has_word(&f->libs, want);
}

static void facts_mapping(struct doctor_facts *f, char *line)
{
	uint64_t start, end;
	const char *path, *slash;
	char perms[8];
	int32_t named;
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*x %*x:%*x %*u %n", &start, &end, perms, &at) != 3 || perms[2] != 'x')
		return;
	path = at ? line + at : "";
	if (jit_source_is_marker(path)) {
		strbuf_add(&f->markers, path, strlen(path) + 1);
	} else if (jit_foreign_name(path, &named) == JIT_FORMAT_JITDUMP) {
		strbuf_add(&f->dumps, path, strlen(path) + 1);
	} else if (!*path || !strncmp(path, "/memfd:", 7) || !strncmp(path, "//anon", 6) || !strncmp(path, "[anon:", 6) ||
		   !strncmp(path, "/dev/zero", 9)) {
		f->n_anon++;
		f->anon_bytes += end - start;
	} else if (*path == '/') {
		slash = strrchr(path, '/');
		strbuf_addf(&f->libs, "%s\n", slash + 1);
	}
}

static bool same_ns(const char *proc_root, int32_t pid, const char *kind)
{
	char path[256];
	struct stat a, b;

	snprintf(path, sizeof(path), "%s/%d/ns/%s", proc_root, pid, kind);
	if (stat(path, &a) < 0)
		return true;
	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	return stat(path, &b) < 0 || a.st_ino == b.st_ino;
}

int doctor_facts_read(struct doctor_facts *f, const char *proc_root, int32_t pid)
{
	AUTO_STRBUF path = STRBUF_INIT_CAP(4096), maps = STRBUF_INIT_CAP(64 << 20);
	struct procinfo info = { 0 };
	char exe[4096], *rest, *line;
	ssize_t n;
	int r;

	*f = (struct doctor_facts){ .pid = pid, .cmdline = STRBUF_INIT_CAP(1 << 20), .environ = STRBUF_INIT_CAP(4 << 20),
				    .libs = STRBUF_INIT_CAP(16 << 20), .markers = STRBUF_INIT_CAP(1 << 20), .dumps = STRBUF_INIT_CAP(1 << 20) };
	if (procinfo_read_ids(&info, proc_root, pid) < 0)
		return -ESRCH;
	f->uid = info.uid;
	f->nspid = info.nspid ? info.nspid : pid;
	f->state = info.state;
	snprintf(f->exe, sizeof(f->exe), "%s", info.comm);
	f->other_ns = !same_ns(proc_root, pid, "mnt") || !same_ns(proc_root, pid, "pid");
	if (f->state == 'Z')
		return 0;
	strbuf_addf(&path, "%s/%d/maps", proc_root, pid);
	r = io_slurp(AT_FDCWD, strbuf_str(&path), &maps);
	if (r < 0)
		return r == -EPERM ? -EACCES : r;
	strbuf_addch(&f->libs, '\n');
	rest = maps.len ? maps.buf : NULL;
	while (rest && (line = strsep(&rest, "\n")))
		facts_mapping(f, line);
	path.len = path.len - 4;
	strbuf_addstr(&path, "exe");
	n = readlink(path.buf, exe, sizeof(exe) - 1);
	if (n > 0) {
		exe[n] = '\0';
		snprintf(f->exe, sizeof(f->exe), "%.255s", strrchr(exe, '/') ? strrchr(exe, '/') + 1 : exe);
	}
	path.len -= 3;
	strbuf_addstr(&path, "cmdline");
	(void)io_slurp(AT_FDCWD, path.buf, &f->cmdline);
	path.len -= 7;
	strbuf_addstr(&path, "environ");
	(void)io_slurp(AT_FDCWD, path.buf, &f->environ);
	for (size_t i = 0; i + 1 < f->cmdline.len; i++)
		if (!f->cmdline.buf[i])
			f->cmdline.buf[i] = ' ';
	return 0;
}

/* --- sources -------------------------------------------------------------------------------------------- */

static int count_event(void *arg, const struct jit_event *e)
{
	struct doctor_sources *s = arg;

	s->records++;
	s->methods += e->type == JIT_EVENT_LOAD && e->kind == JIT_METHOD;
	return 0;
}

static void refused(struct doctor *d, struct doctor_sources *s, const char *why)
{
	doctor_mend(d, "source", strstr(why, "owned by uid") ? "remove it, or give it to the process's user (chown)" : NULL, "%s", why);
	s->n_refused++;
}

static void look_markers(struct doctor *d, const struct doctor_facts *f, struct doctor_sources *s)
{
	const char *end = f->markers.buf + f->markers.len;

	for (const char *path = f->markers.buf; f->markers.len && path < end; path += strlen(path) + 1) {
		struct doctor_sources one = { 0 };
		struct jit_source_info info;
		struct jit_source *src;
		const char *why = NULL;
		int r = jit_source_open(&src, f->pid, f->uid, path, 0, 0, &why);

		if (r < 0) {
			refused(d, s, why ? why : strerror(-r));
			continue;
		}
		r = jit_source_poll(src, count_event, &one);
		jit_source_info(src, &info);
		doctor_ok("marker", "%s", path);
		if (r < 0)
			doctor_mend(d, "source", NULL, "%s: %s", info.name, jit_source_why(src));
		doctor_ok("source", "%s: %" PRIu64 " records, %" PRIu64 " methods, %" PRIu64 " refused", info.name, one.records, one.methods, info.n_bad);
		s->n++;
		s->records += one.records;
		s->methods += one.methods;
		jit_source_free(src);
	}
}

static void tell_file(struct doctor *d, const char *what, const char *path, const struct jit_parser_stats *st)
{
	doctor_ok("source", "%s %s: %" PRIu64 " records, %" PRIu64 " of code", what, path, st->events, st->loads);
	if (st->bad)
		doctor_mend(d, "source", NULL, "%s: %" PRIu64 " records refused, the first at offset %" PRIu64 ": %s%s", path, st->bad,
			    st->first_bad_at, st->first_bad, st->stopped ? "; nothing behind it can be read" : "");
	if (st->loads && st->stubs == st->loads)
		doctor_mend(d, "source", ".NET: DOTNET_PerfMapStubGranularity=2; others: their switch for whole maps",
			    "%s has stubs alone and no method: the runtime was told to leave methods out", path);
	if (!st->loads)
		doctor_note("source", "%s names no code yet (a writer with a buffer tells late)", path);
}

static void look_file(struct doctor *d, const struct doctor_facts *f, struct doctor_sources *s, int rootfd, enum jit_format format,
		      const char *path)
{
	static const char *const names[] = { [JIT_FORMAT_JITDUMP] = "jitdump", [JIT_FORMAT_PERFMAP] = "perf map",
					     [JIT_FORMAT_OPDUMP] = "OProfile dump", [JIT_FORMAT_PYPYLOG] = "PyPy log" };
	struct jit_parser_stats st;
	struct jit_foreign *file;
	const char *why = NULL;
	int r = rootfd < 0 ? -ENOENT : jit_foreign_open(&file, format, rootfd, f->pid, f->uid, path, &why);

	if (r == -ENOENT)
		return;
	if (r < 0) {
		refused(d, s, why ? why : strerror(-r));
		return;
	}
	(void)jit_foreign_poll(file, 1ull << 30, count_event, s);
	jit_foreign_stats(file, &st);
	tell_file(d, names[format], path, &st);
	s->n++;
	jit_foreign_free(file);
}

static const char *environment(const struct doctor_facts *f, const char *name)
{
	size_t len = strlen(name);

	for (size_t at = 0; at < f->environ.len; at += strlen(f->environ.buf + at) + 1)
		if (!strncmp(f->environ.buf + at, name, len) && f->environ.buf[at + len] == '=')
			return f->environ.buf + at + len + 1;
	return NULL;
}

static void look_gdb(struct doctor *d, const struct doctor_facts *f, struct doctor_sources *s, int rootfd)
{
	struct doctor_sources one = { 0 };
	struct jit_source *src;
	const char *why = NULL;
	int r = rootfd < 0 ? -ENOENT : gdbjit_open(&src, d->proc_root, rootfd, f->pid, f->uid, &why);

	if (r < 0) {
		if (why)
			refused(d, s, why);
		return;
	}
	(void)jit_source_poll(src, count_event, &one);
	if (one.records) {
		doctor_ok("source", "GDB JIT interface: %" PRIu64 " functions", one.records);
		s->n++;
		s->records += one.records;
		s->methods += one.methods;
	} else {
		doctor_note("source", "it exports GDB's JIT interface, and has registered nothing with it");
	}
	jit_source_free(src);
}

void doctor_look_for_sources(struct doctor *d, const struct doctor_facts *f, struct doctor_sources *ret)
{
	const char *tmpdir = environment(f, "TMPDIR"), *end = f->dumps.buf + f->dumps.len;
	char path[4200];
	AUTO_CLOSE int rootfd = -1;

	snprintf(path, sizeof(path), "%s/%d/root", d->proc_root, f->pid);
	rootfd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (rootfd < 0)
		doctor_mend(d, "source", "run as root", "its root directory cannot be opened (%s): files of it are not found", strerror(errno));
	look_markers(d, f, ret);
	for (const char *p = f->dumps.buf; f->dumps.len && p < end; p += strlen(p) + 1)
		look_file(d, f, ret, rootfd, JIT_FORMAT_JITDUMP, p);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", f->nspid);
	look_file(d, f, ret, rootfd, JIT_FORMAT_PERFMAP, path);
	if (tmpdir && *tmpdir == '/' && strcmp(tmpdir, "/tmp") != 0 && strlen(tmpdir) < 4096) {
		snprintf(path, sizeof(path), "%s/perf-%d.map", tmpdir, f->nspid);
		look_file(d, f, ret, rootfd, JIT_FORMAT_PERFMAP, path);
	}
	snprintf(path, sizeof(path), "/tmp/.oprofile/jitdump/%d.dump", f->nspid);
	look_file(d, f, ret, rootfd, JIT_FORMAT_OPDUMP, path);
	snprintf(path, sizeof(path), "/tmp/opjit-pypy-%d.log", f->nspid);
	look_file(d, f, ret, rootfd, JIT_FORMAT_PYPYLOG, path);
	look_gdb(d, f, ret, rootfd);
	if (!ret->n && f->n_anon && !ret->n_refused)
		doctor_note("source", "none: no marker, jitdump, perf map or list of its own");
}

/* --- runtimes ------------------------------------------------------------------------------------------- */

struct runtime {
	const char *name, *exe, *lib;     /* prefixes; NULL = by the other alone */
	const char *asked[4];             /* words in its arguments or environment */
	const char *mend;
};

static const struct runtime runtimes[] = {
	{ "Node.js (V8)", "node", NULL, { "--perf-basic-prof", "--perf-prof", "--perf_basic", "--perf_prof" },
	  "start it under operf, or with --perf-basic-prof-only-functions (or so in NODE_OPTIONS)" },
	{ "PHP", "php", "libphp", { "opcache.jit_debug", "opjit-php" },
	  "start it under operf, or with -d opcache.jit_debug=16 (OPcache's JIT has to be on)" },
	{ "Erlang", "beam", NULL, { "JPperf" }, "start it under operf, or with +JPperf map (ERL_FLAGS for tools that start it)" },
	{ "LuaJIT", "luajit", "libluajit", { "opjit.lua", "libopagent" }, "start it under operf, which sets LUA_INIT" },
	{ "PyPy", "pypy", "libpypy", { "PYPYLOG=" }, "start it under operf, or with PYPYLOG=jit-backend-addr:/tmp/opjit-pypy-%d.log" },
	{ ".NET", "dotnet", "libcoreclr.so", { "DOTNET_PerfMapEnabled=1", "COMPlus_PerfMapEnabled=1" },
	  "start it under operf, or with DOTNET_PerfMapEnabled=1" },
	{ "LLVM's JIT", "lli", "libLLVM", { "INTEL_JIT_PROFILER64=/" }, "start it under operf, which sets INTEL_JIT_PROFILER64" },
	{ "CPython", "python", "libpython", { "PYTHONPERFSUPPORT=1", "-X perf" },
	  "3.12 and later: start it under operf --callgraph, or with -X perf (its functions show in call stacks alone)" },
};

static bool starts(const char *s, const char *prefix)
{
	return prefix && !strncmp(s, prefix, strlen(prefix));
}

static void runtime_jvm(struct doctor *d, const struct doctor_facts *f)
{
	const char *agent = agents_java_path(d->agents);
	char mend[4500];

	if (f->markers.len)
		return;
	if (doctor_has_word(&f->cmdline, "+DisableAttachMechanism") || doctor_has_word(&f->environ, "+DisableAttachMechanism")) {
		snprintf(mend, sizeof(mend), "start it under operf, or with -agentpath:%s; or without -XX:+DisableAttachMechanism", agent ? agent : "…");
		doctor_mend(d, "runtime", mend, "Java VM without our agent, started with -XX:+DisableAttachMechanism: none can be loaded any more");
	} else if (doctor_has_word(&f->cmdline, "-XX:-EnableDynamicAgentLoading")) {
		snprintf(mend, sizeof(mend), "start it under operf, or with -agentpath:%s", agent ? agent : "…");
		doctor_mend(d, "runtime", mend, "Java VM without our agent, started with -XX:-EnableDynamicAgentLoading: it loads none while it runs");
	} else {
		snprintf(mend, sizeof(mend), "opcontrol --attach=%d (operf --pid and the daemon do so by themselves)", f->pid);
		doctor_mend(d, "runtime", mend, "Java VM without our agent%s", f->state == 'T' ? ", and stopped: no attach goes through" : "");
	}
}

static void runtime_mono(struct doctor *d, const struct doctor_facts *f)
{
	const char *dir = agents_mono_dir(d->agents);
	char mend[4500];

	if (f->markers.len)
		return;
	if (agents_mono_finds_it() || !dir)
		snprintf(mend, sizeof(mend), "start it under operf, or with mono --profile=oprofile");
	else
		snprintf(mend, sizeof(mend), "LD_LIBRARY_PATH=%s mono --profile=oprofile … (it takes no agent while it runs)", dir);
	doctor_mend(d, "runtime", mend, "Mono without our module");
}

/* PHP without OPcache, or with its JIT switched off, generates nothing: that is no fault. */
static bool is_idle(const struct runtime *rt, const struct doctor_facts *f)
{
	return !f->n_anon || (starts(rt->name, "PHP") && !doctor_has_lib(f, "opcache.so"));
}

static bool is_asked(const struct runtime *rt, const struct doctor_facts *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(rt->asked) && rt->asked[i]; i++)
		if (doctor_has_word(&f->cmdline, rt->asked[i]) || doctor_has_word(&f->environ, rt->asked[i]))
			return true;
	return false;
}

static void runtime_other(struct doctor *d, const struct doctor_facts *f, const struct runtime *rt, const struct doctor_sources *s)
{
	if (s->n)
		doctor_ok("runtime", "%s, and it tells its code", rt->name);
	else if (is_idle(rt, f))
		doctor_note("runtime", "%s, which generates no code now", rt->name);
	else if (s->n_refused)
		doctor_note("runtime", "%s, whose file is refused as said above", rt->name);
	else if (is_asked(rt, f))
		doctor_mend(d, "runtime", "look for its file: is its /tmp writable, and not full?", "%s, told to tell its code, but nothing of it was found", rt->name);
	else
		doctor_mend(d, "runtime", rt->mend, "%s, which was not told to tell its code", rt->name);
	if (starts(rt->name, "Node") && s->n && !doctor_has_word(&f->cmdline, "interpreted-frames-native-stack") &&
	    !doctor_has_word(&f->environ, "interpreted-frames-native-stack"))
		doctor_note("runtime", "functions that V8 interprets share one name; --interpreted-frames-native-stack gives each its own");
}

void doctor_runtime(struct doctor *d, const struct doctor_facts *f, const struct doctor_sources *s)
{
	if (doctor_has_lib(f, "libjvm.so")) {
		if (f->markers.len)
			doctor_ok("runtime", "Java VM with our agent, %" PRIu64 " methods", s->methods);
		runtime_jvm(d, f);
		return;
	}
	if (starts(f->exe, "mono") || doctor_has_lib(f, "libmonosgen")) {
		if (f->markers.len)
			doctor_ok("runtime", "Mono with our module, %" PRIu64 " methods", s->methods);
		runtime_mono(d, f);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++)
		if (starts(f->exe, runtimes[i].exe) || (runtimes[i].lib && doctor_has_lib(f, runtimes[i].lib))) {
			runtime_other(d, f, &runtimes[i], s);
			return;
		}
	if (s->n)
		doctor_ok("runtime", "not one that is known here, and it tells its code");
	else if (f->n_anon)
		doctor_mend(d, "runtime", "a JIT can post with libopagent (opagent(3)), write a jitdump or a perf map, or have GDB's JIT interface",
			    "not one that is known here: its code stays without names");
}
