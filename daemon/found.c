/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "daemon/found.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "jitconv/foreign.h"
#include "jitconv/gdbjit.h"
#include "lib/io.h"
#include "lib/map.h"
#include "sampler/procinfo.h"

#define MAX_WATCHES 8192
#define FIRST_LOOK_NS (50 * NSEC_PER_MSEC)
#define EARLY_LOOK_NS (200 * NSEC_PER_MSEC) /* less than samples wait for late names */
#define EARLY_LOOKS 100
#define LAST_LOOK_NS (2 * NSEC_PER_SEC)
#define MAX_DUMPS 16 /* jitdumps of one process instance */
#define MAX_MAPS 64  /* files that stood under the name of its map, one after the other */

struct watch { /* a process with memory that looks like a JIT's */
	int32_t pid, nspid;
	uint32_t uid;
	int rootfd;            /* its /proc/PID/root, kept so that its files are found after its exit */
	uint64_t since_ns;     /* of the event that it was made for */
	uint64_t next_ns, wait_ns;
	bool map_found, opdump_found, log_found, refused;
	bool gdb_found, gdb_due; /* due: a file was mapped since the last look that may export the interface */
	bool asked, is_pypy;   /* a runtime that operf asks for a map; the one with a log */
	const char *map_dir;   /* where the map was */
	unsigned int n_maps;
	dev_t map_dev;         /* which file it was */
	ino_t map_ino;
	unsigned int n_dumps, n_looks;
	uint64_t dumps[MAX_DUMPS]; /* inodes */
	char *tmpdir;
};

struct found {
	const char *proc_root;
	found_fn *fn;
	found_refused_fn *refused;
	void *arg;
	const char *const *remove_maps_of;
	struct watch **w;
	size_t n, room;
	struct u64map by_pid;  /* pid -> index + 1 */
};

int found_new(struct found **ret, const char *proc_root, found_fn *fn, found_refused_fn *refused, void *arg)
{
	struct found *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->proc_root = proc_root ? proc_root : "/proc";
	f->fn = fn;
	f->refused = refused;
	f->arg = arg;
	*ret = f;
	return 0;
}

static void watch_free(struct watch *w)
{
	if (w->rootfd >= 0)
		close(w->rootfd);
	free(w->tmpdir);
	free(w);
}

void found_free(struct found *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n; i++)
		watch_free(f->w[i]);
	free(f->w);
	u64map_done(&f->by_pid);
	free(f);
}

static struct watch *watch_of(struct found *f, int32_t pid)
{
	uint64_t *at = u64map_get(&f->by_pid, (uint32_t)pid);

	return at ? f->w[*at - 1] : NULL;
}

/* $TMPDIR of the process, for runtimes that write their map there. */
static char *read_tmpdir(const struct found *f, int32_t pid)
{
	AUTO_STRBUF path = STRBUF_INIT_CAP(4096), env = STRBUF_INIT_CAP(1 << 20);

	strbuf_addf(&path, "%s/%d/environ", f->proc_root, pid);
	if (io_slurp(AT_FDCWD, strbuf_str(&path), &env) < 0)
		return NULL;
	for (size_t at = 0; at < env.len; at += strlen(env.buf + at) + 1)
		if (!strncmp(env.buf + at, "TMPDIR=/", 8))
			return strdup(env.buf + at + 7);
	return NULL;
}

/* Programs with maps of their own accord keep them. */
static void read_runtime(const struct found *f, struct watch *w)
{
	char path[256], exe[4096];
	const char *base;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%d/exe", f->proc_root, w->pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	exe[MAX(n, (ssize_t)0)] = '\0';
	base = strrchr(exe, '/');
	for (const char *const *name = f->remove_maps_of; base && name && *name; name++)
		w->asked |= !strncmp(base + 1, *name, strlen(*name));
	w->is_pypy = base && !strncmp(base + 1, "pypy", 4);
}

static struct watch *watch_new(struct found *f, int32_t pid, uint64_t time_ns)
{
	AUTO_STRBUF root = STRBUF_INIT_CAP(4096);
	struct procinfo info = { 0 };
	struct watch *w;

	if (f->n >= MAX_WATCHES || procinfo_read_ids(&info, f->proc_root, pid) < 0)
		return NULL;
	if (f->n == f->room) {
		size_t room = f->room * 2 + 16;
		struct watch **more = realloc(f->w, room * sizeof(*more));
		if (!more)
			return NULL;
		f->w = more;
		f->room = room;
	}
	w = calloc(1, sizeof(*w));
	if (!w || u64map_put(&f->by_pid, (uint32_t)pid, f->n + 1) < 0) {
		free(w);
		return NULL;
	}
	strbuf_addf(&root, "%s/%d/root", f->proc_root, pid);
	*w = (struct watch){ .pid = pid, .nspid = info.nspid ? info.nspid : pid, .uid = info.uid, .since_ns = time_ns,
			     .wait_ns = FIRST_LOOK_NS, .gdb_due = true };
	w->rootfd = open(strbuf_str(&root), O_PATH | O_DIRECTORY | O_CLOEXEC);
	w->tmpdir = read_tmpdir(f, pid);
	read_runtime(f, w);
	f->w[f->n++] = w;
	return w;
}

static void watch_drop(struct found *f, int32_t pid)
{
	uint64_t *at = u64map_get(&f->by_pid, (uint32_t)pid);
	size_t i;

	if (!at)
		return;
	i = *at - 1;
	watch_free(f->w[i]);
	u64map_del(&f->by_pid, (uint32_t)pid);
	if (i != --f->n) {
		f->w[i] = f->w[f->n];
		u64map_put(&f->by_pid, (uint32_t)f->w[i]->pid, i + 1);
	}
}

static int take(struct found *f, struct watch *w, enum jit_format format, const char *path, uint64_t time_ns)
{
	struct jit_foreign *file;
	struct jit_source *src;
	const char *why = NULL;
	int r = w->rootfd < 0 ? -ENOENT : jit_foreign_open(&file, format, w->rootfd, w->pid, w->uid, path, &why);

	if (r < 0) {
		if (r != -ENOENT && why && f->refused && !w->refused) {
			f->refused(f->arg, w->pid, why);
			w->refused = true;
		}
		return r == -ENOMEM ? r : 1;
	}
	r = jit_foreign_source(&src, file);
	return r < 0 ? r : f->fn(f->arg, src, w->pid, time_ns, path);
}

/* Whether there is a file, and it is another one than what was taken; it is the one from now on. */
static bool is_new_map(struct watch *w, const char *path)
{
	AUTO_CLOSE int fd = io_open_regular_in_root(w->rootfd, path, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || (w->map_found && st.st_dev == w->map_dev && st.st_ino == w->map_ino))
		return false;
	w->map_dev = st.st_dev;
	w->map_ino = st.st_ino;
	return true;
}

/* A writer may have put a new file in its place. 1: not there (yet). */
static int look_for_map(struct found *f, struct watch *w, uint64_t now_ns)
{
	const char *dirs[] = { w->map_found ? w->map_dir : "/tmp", w->map_found ? NULL : w->tmpdir };

	if (w->n_maps == MAX_MAPS)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		AUTO_STRBUF path = STRBUF_INIT_CAP(4096);
		int r;
		if (!dirs[i])
			continue;
		strbuf_addf(&path, "%s/perf-%d.map", dirs[i], w->nspid);
		if (path.error || (w->map_found && !is_new_map(w, path.buf)))
			continue;
		r = take(f, w, JIT_FORMAT_PERFMAP, path.buf, now_ns);
		if (r <= 0) {
			if (!w->map_found)
				(void)is_new_map(w, path.buf);
			w->map_found = true;
			w->map_dir = dirs[i];
			w->n_maps++;
			return r;
		}
	}
	return w->map_found ? 0 : 1;
}

/* What a JIT linked with OProfile's own libopagent writes. */
static int look_for_opdump(struct found *f, struct watch *w, uint64_t now_ns)
{
	char path[64];
	int r;

	if (w->opdump_found)
		return 0;
	snprintf(path, sizeof(path), "/tmp/.oprofile/jitdump/%d.dump", w->nspid);
	r = take(f, w, JIT_FORMAT_OPDUMP, path, now_ns);
	w->opdump_found = r <= 0;
	return r;
}

/* What operf asks PyPy for. */
static int look_for_log(struct found *f, struct watch *w, uint64_t now_ns)
{
	char path[64];
	int r;

	if (w->log_found || !w->is_pypy)
		return 0;
	snprintf(path, sizeof(path), "/tmp/opjit-pypy-%d.log", w->nspid);
	r = take(f, w, JIT_FORMAT_PYPYLOG, path, now_ns);
	w->log_found = r <= 0;
	return r;
}

static int look_for_gdb(struct found *f, struct watch *w, uint64_t now_ns)
{
	struct jit_source *src;
	const char *why = NULL;
	int r;

	if (w->gdb_found || !w->gdb_due || w->rootfd < 0)
		return 0;
	w->gdb_due = false;
	r = gdbjit_open(&src, f->proc_root, w->rootfd, w->pid, w->uid, &why);
	if (r < 0) {
		if (why && f->refused && !w->refused) {
			f->refused(f->arg, w->pid, why);
			w->refused = true;
		}
		return r == -ENOMEM ? r : 0;
	}
	w->gdb_found = true;
	return f->fn(f->arg, src, w->pid, now_ns, "__jit_debug_descriptor");
}

static int look(struct found *f, struct watch *w, uint64_t now_ns)
{
	int r = look_for_map(f, w, now_ns);

	if (r >= 0)
		r = look_for_opdump(f, w, now_ns);
	if (r >= 0)
		r = look_for_log(f, w, now_ns);
	if (r >= 0)
		r = look_for_gdb(f, w, now_ns);
	return MIN(r, 0);
}

static bool anonymous(const char *path)
{
	return !*path || !strcmp(path, "//anon") || !strncmp(path, "/memfd:", 7) || !strncmp(path, "/dev/zero", 9) ||
	       !strncmp(path, "/SYSV", 5) || !strncmp(path, "/anon_hugepage", 14) || !strncmp(path, "[anon:", 6);
}

static int on_dump(struct found *f, struct watch *w, const struct ev *e)
{
	int r;

	for (unsigned int i = 0; i < w->n_dumps; i++)
		if (w->dumps[i] == e->u.mmap.ino)
			return 0;
	if (w->n_dumps == MAX_DUMPS)
		return 0;
	r = take(f, w, JIT_FORMAT_JITDUMP, e->u.mmap.path, e->time_ns);
	if (r == 0)
		w->dumps[w->n_dumps++] = e->u.mmap.ino;
	return r < 0 ? r : 0;
}

static int on_mmap(struct found *f, const struct ev *e)
{
	int32_t named;
	bool dump = jit_foreign_name(e->u.mmap.path, &named) == JIT_FORMAT_JITDUMP;
	struct watch *w;

	if (!(e->u.mmap.prot & PROT_EXEC))
		return 0;
	w = watch_of(f, e->pid);
	if (!dump && !anonymous(e->u.mmap.path)) {
		if (w)
			w->gdb_due = true;
		return 0;
	}
	if (!w)
		w = watch_new(f, e->pid, e->time_ns);
	if (!w)
		return 0;
	return dump ? on_dump(f, w, e) : 0;
}

/* A child has its parent's code memory without mapping any, and may write a map of its own. */
static void on_fork(struct found *f, const struct ev *e)
{
	const struct watch *parent = e->pid == e->u.fork.ppid ? NULL : watch_of(f, e->u.fork.ppid);
	bool gdb = parent && parent->gdb_found;
	struct watch *w = parent && !watch_of(f, e->pid) ? watch_new(f, e->pid, e->time_ns) : NULL;

	if (w)
		w->gdb_due = gdb;
}

void found_remove_maps_of(struct found *f, const char *const *programs) { f->remove_maps_of = programs; }

/* The file stays open in its source: only the name goes. */
static void remove_file(const struct watch *w, const char *in, const char *name)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	AUTO_CLOSE int dir = (int)syscall(SYS_openat2, w->rootfd, in, &how, sizeof(how));

	if (dir >= 0)
		unlinkat(dir, name, 0);
}

static void remove_asked_for(const struct watch *w)
{
	char name[32];

	if (!w->asked)
		return;
	if (w->map_dir) {
		snprintf(name, sizeof(name), "perf-%d.map", w->nspid);
		remove_file(w, w->map_dir, name);
	}
	if (w->log_found && w->is_pypy) {
		snprintf(name, sizeof(name), "opjit-pypy-%d.log", w->nspid);
		remove_file(w, "/tmp", name);
	}
}

int found_event(struct found *f, const struct ev *e)
{
	struct watch *w;
	int r = 0;

	if (e->pid <= 0)
		return 0;
	switch (e->type) {
	case EV_MMAP:
		return on_mmap(f, e);
	case EV_FORK:
		on_fork(f, e);
		return 0;
	case EV_COMM:
		/* Events come CPU by CPU: the exec of a process that was moved may come behind a mapping that it made after it. */
		w = watch_of(f, e->pid);
		if (w && e->u.comm.flags & EV_COMM_EXEC && e->time_ns >= w->since_ns)
			watch_drop(f, e->pid);
		return 0;
	case EV_EXIT:
		if (e->pid != e->tid)
			return 0;
		w = watch_of(f, e->pid);
		if (w)
			r = look(f, w, e->time_ns);
		if (w)
			remove_asked_for(w);
		watch_drop(f, e->pid);
		return r;
	default:
		return 0;
	}
}

int found_tick(struct found *f, uint64_t now_ns)
{
	for (size_t i = 0; i < f->n; i++) {
		struct watch *w = f->w[i];
		int r;
		if (w->next_ns > now_ns)
			continue;
		r = look(f, w, now_ns);
		if (r < 0)
			return r;
		w->next_ns = now_ns + w->wait_ns;
		w->wait_ns = MIN(w->wait_ns * 2, w->n_looks < EARLY_LOOKS ? EARLY_LOOK_NS : LAST_LOOK_NS);
		w->n_looks++;
	}
	return 0;
}
