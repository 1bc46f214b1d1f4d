/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jitconv/instances.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "format/jit/ring.h"
#include "lib/io.h"

bool jit_instance_is_name(const char *name, size_t len)
{
	size_t i = 0;

	while (i < len && name[i] >= '0' && name[i] <= '9')
		i++;
	if (!i || i > 10 || len - i != 17 || name[i] != '-')
		return false;
	for (i++; i < len; i++)
		if (!((name[i] >= '0' && name[i] <= '9') || (name[i] >= 'a' && name[i] <= 'f')))
			return false;
	return true;
}

static void boot_id(uint8_t id[16])
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP(4096);
	unsigned int n = 0;

	memset(id, 0, 16);
	if (io_slurp(AT_FDCWD, "/proc/sys/kernel/random/boot_id", &sb) < 0)
		return;
	for (const char *p = strbuf_str(&sb); *p && n < 32; p++) {
		int d = *p >= '0' && *p <= '9' ? *p - '0' : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10 : -1;
		if (d < 0)
			continue;
		id[n / 2] = (uint8_t)(id[n / 2] << 4 | d);
		n++;
	}
}

static bool other_boot(const struct jit_identity *who)
{
	static const uint8_t none[16];
	uint8_t id[16];

	boot_id(id);
	return memcmp(who->boot_id, none, 16) && memcmp(id, none, 16) && memcmp(who->boot_id, id, 16);
}

/* What tells a process from another: 0, or -errno when it is gone. */
struct proc {
	int32_t pid, inner;
	uint64_t start_time;
};

static int proc_read(int32_t pid, struct proc *ret)
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP(65536);
	char path[64];
	const char *p;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	r = io_slurp(AT_FDCWD, path, &sb);
	if (r < 0)
		return r;
	p = strrchr(strbuf_str(&sb), ')');
	if (!p || strlen(p) < 4)
		return -ESRCH;
	if (p[2] == 'Z' || p[2] == 'X')
		return -ESRCH;
	*ret = (struct proc){ .pid = pid, .inner = pid };
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	ret->start_time = p ? strtoull(p + 1, NULL, 10) : 0;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	strbuf_reset(&sb);
	r = io_slurp(AT_FDCWD, path, &sb);
	if (r < 0)
		return r;
	p = strstr(strbuf_str(&sb), "\nNSpid:");
	for (p = p ? p + 7 : ""; *p == '\t' || *p == ' ';) {
		char *end;
		ret->inner = (int32_t)strtol(p, &end, 10);
		p = end;
	}
	return 0;
}

/* The writer's start time in our clock ticks; clocks of time namespaces differ by whole seconds and nanoseconds. */
static bool same_start(const struct jit_identity *who, const struct proc *p)
{
	long hz = sysconf(_SC_CLK_TCK);
	int64_t ticks = (int64_t)who->start_time - who->boot_offset_ns / (int64_t)(NSEC_PER_SEC / (uint64_t)(hz > 0 ? hz : 100));
	int64_t d = ticks - (int64_t)p->start_time;

	return !who->start_time || !p->start_time || (d >= -1 && d <= 1);
}

static bool same_process(const struct jit_identity *who, const struct proc *p)
{
	return who->pid == p->inner && same_start(who, p);
}

bool jit_instance_of_process(const struct jit_identity *who, int32_t pid)
{
	struct proc p;

	if (other_boot(who))
		return false;
	return proc_read(pid, &p) < 0 || same_process(who, &p);
}

/* After an exec the process is the same and the instance is over: its ring is no longer mapped. */
static bool still_mapped(int32_t pid, const char *name)
{
	AUTO_STRBUF sb = STRBUF_INIT;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	if (io_slurp(AT_FDCWD, path, &sb) < 0 || !sb.len)
		return true; /* not ours to look at: nothing speaks against it */
	return strstr(sb.buf, name) != NULL;
}

struct procs {
	struct proc *p;
	size_t n;
};

static void procs_done(struct procs *all) { free(all->p); }

static int procs_read(struct procs *all)
{
	DIR *dir = opendir("/proc");
	size_t room = 0;

	if (!dir)
		return -errno;
	for (struct dirent *e; (e = readdir(dir));) {
		uint64_t pid;
		if (util_parse_u64(e->d_name, 10, INT32_MAX, &pid) < 0)
			continue;
		if (all->n == room) {
			struct proc *more = realloc(all->p, (room = room ? room * 2 : 256) * sizeof(*more));
			if (!more) {
				closedir(dir);
				return -ENOMEM;
			}
			all->p = more;
		}
		if (proc_read((int32_t)pid, &all->p[all->n]) == 0)
			all->n++;
	}
	closedir(dir);
	return 0;
}

static int32_t live_pid(const struct procs *all, const struct jit_instance *i)
{
	for (size_t k = 0; k < all->n; k++)
		if (same_process(&i->who, &all->p[k]) && still_mapped(all->p[k].pid, i->name))
			return all->p[k].pid;
	return 0;
}

/* Size and time of what lies in the directory; the ring's header. */
static void instance_files(int dirfd, struct jit_instance *i)
{
	DIR *dir = fdopendir(dup(dirfd));

	if (!dir)
		return;
	rewinddir(dir);
	for (struct dirent *e; (e = readdir(dir));) {
		struct stat st;
		if (*e->d_name == '.' || fstatat(dirfd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		i->bytes += (uint64_t)st.st_blocks * 512;
		i->mtime_ns = MAX(i->mtime_ns, (uint64_t)st.st_mtim.tv_sec * NSEC_PER_SEC + (uint64_t)st.st_mtim.tv_nsec);
	}
	closedir(dir);
}

static void instance_read(int rootfd, const struct procs *all, struct jit_instance *i)
{
	AUTO_CLOSE int dirfd = openat(rootfd, i->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_CLOSE int fd = -1;
	struct jit_ring_header h;
	struct jit_fault f;
	struct stat st;

	i->bad = true;
	if (dirfd < 0)
		return;
	if (fstat(dirfd, &st) == 0)
		i->mtime_ns = (uint64_t)st.st_mtim.tv_sec * NSEC_PER_SEC + (uint64_t)st.st_mtim.tv_nsec;
	instance_files(dirfd, i);
	fd = io_open_regular(dirfd, "ring", O_RDONLY);
	if (fd < 0 || fstat(fd, &st) < 0 || io_read_full(fd, &h, sizeof(h)) != (ssize_t)sizeof(h) ||
	    jit_ring_parse(&h, &h, sizeof(h), (uint64_t)st.st_size, &f) < 0)
		return;
	i->bad = false;
	i->who = h.who;
	i->closed = h.closed != 0;
	i->pid = other_boot(&i->who) ? 0 : live_pid(all, i);
	i->live = i->pid && !i->closed;
}

int jit_instances_each(const char *root, jit_instance_fn *fn, void *arg)
{
	AUTO(procs_done) struct procs all = { 0 };
	AUTO_FREE struct jit_instance *i = malloc(sizeof(*i));
	DIR *dir = opendir(root);
	int r;

	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	r = i ? procs_read(&all) : -ENOMEM;
	for (struct dirent *e; r >= 0 && (e = readdir(dir));) {
		if (!jit_instance_is_name(e->d_name, strlen(e->d_name)))
			continue;
		memset(i, 0, sizeof(*i));
		snprintf(i->root, sizeof(i->root), "%s", root);
		snprintf(i->name, sizeof(i->name), "%.63s", e->d_name);
		instance_read(dirfd(dir), &all, i);
		r = fn(arg, i);
	}
	closedir(dir);
	return r < 0 ? r : 0;
}

static int roots_add(char ***roots, size_t *n, const char *path)
{
	char **more;

	for (size_t i = 0; i < *n; i++)
		if (!strcmp((*roots)[i], path))
			return 0;
	more = realloc(*roots, (*n + 2) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	*roots = more;
	more[*n] = strdup(path);
	if (!more[*n])
		return -ENOMEM;
	more[++*n] = NULL;
	return 0;
}

/* Names below dir that fn's pattern makes roots. */
static int roots_scan(char ***roots, size_t *n, const char *dirname, const char *prefix, const char *suffix)
{
	DIR *dir = opendir(dirname);
	int r = 0;

	if (!dir)
		return 0;
	for (struct dirent *e; !r && (e = readdir(dir));) {
		AUTO_STRBUF path = STRBUF_INIT_CAP(4096);
		uint64_t uid;
		struct stat st;
		if (strncmp(e->d_name, prefix, strlen(prefix)) ||
		    util_parse_u64(e->d_name + strlen(prefix), 10, UINT32_MAX, &uid) < 0)
			continue;
		strbuf_addf(&path, "%s/%s%s", dirname, e->d_name, suffix);
		if (path.error || lstat(path.buf, &st) < 0 || !S_ISDIR(st.st_mode))
			continue;
		r = roots_add(roots, n, path.buf);
	}
	closedir(dir);
	return r;
}

int jit_instances_roots(char ***ret)
{
	const char *asked = getenv("OPJIT_DIR");
	char **roots = NULL;
	size_t n = 0;
	int r = asked && *asked ? roots_add(&roots, &n, asked) : 0;

	if (!r)
		r = roots_add(&roots, &n, "/var/lib/oprofile/jit");
	if (!r)
		r = roots_scan(&roots, &n, "/run/user", "", "/opjit");
	if (!r)
		r = roots_scan(&roots, &n, "/tmp", "opjit-", "");
	if (r < 0)
		jit_instances_roots_free(roots);
	else
		*ret = roots;
	return r;
}

void jit_instances_roots_free(char **roots)
{
	for (char **p = roots; p && *p; p++)
		free(*p);
	free(roots);
}

static int find_in(const char *root, const char *name, int32_t pid, struct stat *st, int *dirfd, int *ringfd, uint64_t *bytes)
{
	AUTO_STRBUF path = STRBUF_INIT_CAP(8192);
	AUTO_CLOSE int dir = -1, fd = -1;

	if (pid)
		strbuf_addf(&path, "/proc/%d/root", (int)pid);
	strbuf_addf(&path, "%s/%s", root, name);
	if (path.error)
		return path.error;
	dir = open(path.buf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	fd = io_open_regular(dir, "ring", O_RDONLY);
	if (fd < 0)
		return fd;
	if (fstat(fd, st) < 0)
		return -errno;
	*bytes = (uint64_t)st->st_size;
	*dirfd = TAKE_FD(dir);
	*ringfd = TAKE_FD(fd);
	return 0;
}

/* OPJIT_DIR of another process. */
static void env_root(int32_t pid, struct strbuf *ret)
{
	AUTO_STRBUF env = STRBUF_INIT_CAP(1 << 20);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	if (!pid || io_slurp(AT_FDCWD, path, &env) < 0)
		return;
	for (size_t at = 0; at < env.len; at += strlen(env.buf + at) + 1)
		if (!strncmp(env.buf + at, "OPJIT_DIR=/", 11))
			strbuf_addstr(ret, env.buf + at + 10);
}

int jit_instance_find(const char *name, int32_t pid, struct stat *st, int *dirfd, int *ringfd, uint64_t *ring_bytes)
{
	AUTO_STRBUF own = STRBUF_INIT_CAP(4096);
	char **roots;
	int r;

	env_root(pid, &own);
	if (own.len && find_in(own.buf, name, pid, st, dirfd, ringfd, ring_bytes) == 0)
		return 0;
	r = jit_instances_roots(&roots);
	if (r < 0)
		return r;
	r = -ENOENT;
	for (char **p = roots; *p && r < 0; p++)
		r = find_in(*p, name, pid, st, dirfd, ringfd, ring_bytes);
	jit_instances_roots_free(roots);
	return r < 0 ? -ENOENT : 0;
}

struct removing {
	int rootfd;
	uint64_t min_age_ns;
	bool (*keep)(void *arg, const struct jit_instance *i);
	void *arg;
	struct jit_removal *sum;
};

static int remove_one(void *arg, const struct jit_instance *i)
{
	struct removing *rm = arg;
	struct timespec now;
	uint64_t now_ns;

	clock_gettime(CLOCK_REALTIME, &now);
	now_ns = (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
	/* One without a ring may be about to be made: it gets a minute. */
	if (i->live || (now_ns >= i->mtime_ns && now_ns - i->mtime_ns < MAX(rm->min_age_ns, i->bad ? 60 * NSEC_PER_SEC : 0)) ||
	    (rm->keep && rm->keep(rm->arg, i))) {
		rm->sum->kept++;
		return 0;
	}
	if (io_remove_tree(rm->rootfd, i->name, &rm->sum->bytes, &rm->sum->files) < 0)
		rm->sum->failed++;
	else
		rm->sum->instances++;
	return 0;
}

int jit_instances_remove_dead(const char *root, uint64_t min_age_s, bool (*keep)(void *arg, const struct jit_instance *i),
			      void *arg, struct jit_removal *sum)
{
	AUTO_CLOSE int rootfd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct removing rm = { .rootfd = rootfd, .min_age_ns = min_age_s * NSEC_PER_SEC, .keep = keep, .arg = arg, .sum = sum };

	if (rootfd < 0)
		return errno == ENOENT ? 0 : -errno;
	return jit_instances_each(root, remove_one, &rm);
}
