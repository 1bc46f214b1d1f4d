/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/doctor.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/ctl.h"
#include "jitconv/instances.h"
#include "lib/io.h"
#include "sampler/procinfo.h"
#include "sampler/sampler.h"
#include "session/session.h"

#define MAX_SAID 200u /* processes */

/* --- lines ---------------------------------------------------------------------------------------------- */

static void line(const char *word, const char *topic, const char *fmt, va_list ap)
{
	printf("  %-5s %-8s ", word, topic);
	vprintf(fmt, ap);
	putchar('\n');
}

void doctor_ok(const char *topic, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line("ok", topic, fmt, ap);
	va_end(ap);
}

void doctor_note(const char *topic, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line("note", topic, fmt, ap);
	va_end(ap);
}

void doctor_mend(struct doctor *d, const char *topic, const char *mend, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	line("MEND", topic, fmt, ap);
	va_end(ap);
	if (mend)
		printf("  %-5s %-8s %s\n", "", "->", mend);
	d->n_mend++;
}

/* --- sampling ------------------------------------------------------------------------------------------- */

struct noticed {
	struct strbuf text;
};

static void notice(void *arg, const char *text)
{
	struct noticed *n = arg;

	strbuf_addf(&n->text, "%s%s", n->text.len ? "; " : "", text);
}

/* Tries it for real. pid 0 = the whole machine. */
static void check_sampling(struct doctor *d, int32_t pid)
{
	AUTO_STRBUF why = STRBUF_INIT_CAP(65536);
	struct noticed n = { STRBUF_INIT_CAP(65536) };
	struct sampler_opts so = { .target = pid ? SAMPLER_PIDS : SAMPLER_SYSTEM, .pids = &pid, .n_pids = pid ? 1 : 0, .notice = notice,
				   .arg = &n };
	struct sampler *s;
	int r = sampler_open(&s, &so, &why);

	if (r < 0) {
		doctor_mend(d, "sampling", NULL, "refused: %s", why.len ? strbuf_str(&why) : strerror(-r));
	} else {
		if (n.text.len)
			doctor_note("sampling", "works, but: %s", strbuf_str(&n.text));
		else
			doctor_ok("sampling", "works");
		sampler_free(s);
	}
	strbuf_done(&n.text);
}

/* --- what a session knows ------------------------------------------------------------------------------- */

struct share {
	uint64_t all, unnamed, now;
};

static int add_count(void *arg, uint64_t key, uint64_t count)
{
	*(uint64_t *)arg += count;
	return 0;
}

/* Samples of the process in the session: how many have a name. */
static void check_share(struct doctor *d, int32_t pid)
{
	struct share sh = { 0 };
	struct session *s;
	char *why = NULL;
	bool separated = false;

	if (session_open(&s, d->session_dir, &why) < 0) {
		free(why);
		doctor_note("samples", "no session in %s yet", d->session_dir);
		return;
	}
	for (size_t i = 0; i < session_n_files(s); i++) {
		const struct session_file *f = session_file(s, i);
		uint64_t n = 0;

		separated |= f->tgid >= 0;
		if (f->tgid != pid || session_file_each(s, i, add_count, &n) < 0)
			continue;
		sh.all += n;
		if (f->kind == SESSION_ANON && strcmp(f->image, "[vdso]") != 0)
			sh.unnamed += n;
	}
	if (sh.all)
		(sh.unnamed * 10 > sh.all ? doctor_note : doctor_ok)("samples", "%" PRIu64 " in %s, %.1f %% of them named", sh.all, d->session_dir,
								     100.0 * (double)(sh.all - sh.unnamed) / (double)sh.all);
	else if (session_n_files(s) && !separated)
		doctor_note("samples", "the session in %s does not tell processes apart (opcontrol --separate=process)", d->session_dir);
	else
		doctor_note("samples", "none of this process in %s", d->session_dir);
	session_free(s);
}

/* The daemon's own words about the process. */
static void check_daemon(struct doctor *d, int32_t pid)
{
	AUTO_STRBUF reply = STRBUF_INIT_CAP(CTL_MAX_REPLY);
	bool any = false;
	char want[32], *rest, *one;
	int running = ctl_running(d->run_dir);

	if (running <= 0) {
		doctor_note("daemon", "not running (opcontrol --start, or use operf)");
		return;
	}
	if (ctl_call(d->run_dir, "status", 5000, &reply) < 0) {
		doctor_note("daemon", "process %d does not answer us", running);
		return;
	}
	snprintf(want, sizeof(want), "jit pid=%d ", pid);
	rest = reply.buf;
	while (rest && (one = strsep(&rest, "\n"))) {
		if (pid && !strncmp(one, want, strlen(want))) {
			doctor_ok("daemon", "reads it: %s", one + strlen(want));
			any = true;
		} else if (!pid && (!strncmp(one, "state=", 6) || !strncmp(one, "samples=", 8) || !strncmp(one, "named=", 6) ||
				    !strncmp(one, "jit_", 4))) {
			doctor_ok("daemon", "%s", one);
		}
	}
	if (pid && !any)
		doctor_note("daemon", "process %d runs, and has met no code source of this process (yet)", running);
}

/* --- one process ---------------------------------------------------------------------------------------- */

static int examine(struct doctor *d, struct doctor_facts *f, bool alone)
{
	struct doctor_sources src = { 0 };

	printf("process %d: %.*s\n", f->pid, 200, f->cmdline.len ? strbuf_str(&f->cmdline) : f->exe);
	if (f->state == 'Z') {
		doctor_note("process", "has ended (a zombie): nothing can be read of it any more");
		return 0;
	}
	if (f->state == 'T' || f->state == 't')
		doctor_mend(d, "process", "kill -CONT it", "is stopped: it answers no attach, and takes no CPU time");
	if (f->other_ns)
		doctor_note("process", "is in a container of its own (pid %d in there): its files are read through /proc/%d/root", f->nspid, f->pid);
	if (alone)
		check_sampling(d, f->pid);
	if (f->n_anon)
		doctor_ok("code", "%u ranges of executable memory without a file, %.1f MB", f->n_anon, (double)f->anon_bytes / 1e6);
	else
		doctor_note("code", "no executable memory without a file: nothing was generated (yet)");
	doctor_look_for_sources(d, f, &src);
	doctor_runtime(d, f, &src);
	if (alone)
		check_daemon(d, f->pid);
	check_share(d, f->pid);
	return 0;
}

int doctor_process(struct doctor *d, int32_t pid)
{
	AUTO(doctor_facts_done) struct doctor_facts f = { 0 };
	int r = doctor_facts_read(&f, d->proc_root, pid);

	if (r == -ESRCH) {
		doctor_mend(d, "process", NULL, "%d: there is no such process", pid);
		return r;
	}
	if (r < 0) {
		printf("process %d\n", pid);
		doctor_mend(d, "process", "run as root, or as its user", "its memory map may not be read (it belongs to uid %u)", f.uid);
		return 0;
	}
	return examine(d, &f, true);
}

/* --- the machine ---------------------------------------------------------------------------------------- */

static void check_roots(struct doctor *d)
{
	const char *dir = getenv("OPJIT_DIR");
	struct stat st;

	if (!dir || !*dir)
		dir = "/var/lib/oprofile/jit";
	if (stat(dir, &st) < 0)
		doctor_note("agents", "%s is not there: agents write below $XDG_RUNTIME_DIR or /tmp", dir);
	else if (!S_ISDIR(st.st_mode) || (st.st_mode & 01777) != 01777)
		doctor_mend(d, "agents", "chmod 1777 it", "%s is not open to all users: their agents write below $XDG_RUNTIME_DIR or /tmp", dir);
	else
		doctor_ok("agents", "write to %s", dir);
}

static void check_installed(struct doctor *d)
{
	AUTO_FREE char *jitapi = agents_find("jitapi", "libopagent-ittjit.so"), *lua = agents_find("luajit", "opjit.lua");
	const char *java = agents_java_path(d->agents), *mono = agents_mono_dir(d->agents);

	if (java)
		doctor_ok("agents", "for Java: %s", java);
	else
		doctor_mend(d, "agents", "install libjvmti_oprofile.so, or set OPJIT_AGENT_DIR", "none for Java");
	if (!mono)
		doctor_note("agents", "none for Mono");
	else if (agents_mono_finds_it())
		doctor_ok("agents", "for Mono: %s", mono);
	else
		doctor_note("agents", "for Mono: %s, where Mono does not look: LD_LIBRARY_PATH=%s, or ldconfig", mono, mono);
	if (jitapi)
		doctor_ok("agents", "for Intel's JIT API: %s", jitapi);
	if (lua)
		doctor_ok("agents", "for LuaJIT: %s", lua);
}

static int by_number(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return x < y ? -1 : x > y;
}

static int each_process(struct doctor *d)
{
	AUTO_STRBUF pids = STRBUF_INIT_CAP(64 << 20);
	unsigned int said = 0, closed = 0;
	struct dirent *e;
	DIR *dir = opendir(d->proc_root);

	if (!dir)
		return -errno;
	while ((e = readdir(dir))) {
		uint64_t pid;
		int32_t p;
		if (util_parse_u64(e->d_name, 10, INT32_MAX, &pid) < 0)
			continue;
		p = (int32_t)pid;
		strbuf_add(&pids, (char *)&p, sizeof(p));
	}
	closedir(dir);
	if (pids.len)
		qsort(pids.buf, pids.len / sizeof(int32_t), sizeof(int32_t), by_number);
	for (size_t i = 0; i < pids.len / sizeof(int32_t); i++) {
		AUTO(doctor_facts_done) struct doctor_facts f = { 0 };
		int32_t pid;
		int r;

		memcpy(&pid, pids.buf + i * sizeof(pid), sizeof(pid));
		r = doctor_facts_read(&f, d->proc_root, pid);
		closed += r == -EACCES;
		if (r < 0 || (!f.n_anon && !f.markers.len && !f.dumps.len))
			continue;
		if (++said <= MAX_SAID)
			examine(d, &f, false);
	}
	if (!said)
		printf("no process here has generated code\n");
	if (said > MAX_SAID)
		printf("and %u more; ask for them by number\n", said - MAX_SAID);
	if (closed)
		printf("%u processes of others were not looked at; run as root\n", closed);
	return 0;
}

int doctor_machine(struct doctor *d)
{
	printf("this machine\n");
	check_sampling(d, 0);
	if (!procinfo_first_pid_ns())
		doctor_mend(d, "machine", "run on the host, or in a container with the host's pids (--pid=host)",
			    "we are in a container of our own: processes outside of it have no names for us");
	check_installed(d);
	check_roots(d);
	check_daemon(d, 0);
	return each_process(d);
}
