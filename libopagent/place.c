/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The directory of the instance, and the identity that its header holds. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/util.h"
#include "libopagent/core.h"

#define DEFAULT_ROOT "/var/lib/oprofile/jit"
/* We keep two. From a program that has next to none left nothing is taken: it may fail for want of one that it had without us. */
#define FDS_LEFT 8

/* Environment of a program that runs with another user's rights is not believed. */
static const char *env(const char *name)
{
	const char *v = getauxval(AT_SECURE) ? NULL : getenv(name);

	return v && *v ? v : NULL;
}

/*
 * Opens a root, making its last component if `make`. Somebody else's directory is taken only if the sticky bit keeps what
 * we make there ours, or if it was asked for by name.
 */
static int root_open(const char *path, bool make, bool asked)
{
	uint32_t uid, mode;
	int fd, r;

	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (asked ? 0 : O_NOFOLLOW));
	if (fd < 0)
		return -errno;
	r = (uint64_t)fd + FDS_LEFT > sys_fd_limit() ? -EMFILE : sys_stat(fd, &uid, &mode);
	if (!r && !asked && uid != geteuid() && !(uid == 0 && (!(mode & 022) || mode & S_ISVTX)))
		r = -EPERM;
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

/* An exclusive directory <pid>-<random> below rootfd; its descriptor. */
static int instance_make(struct core *c, int rootfd, const char *root)
{
	for (int tries = 0; tries < 16; tries++) {
		struct text name = TEXT_IN(c->name), dir = TEXT_IN(c->dir);
		uint32_t uid, mode;
		int fd;

		sys_random(&c->who.random, sizeof(c->who.random));
		text_u64(&name, (uint64_t)c->who.pid);
		text_str(&name, "-");
		text_hex(&name, c->who.random, 16);
		text_str(&dir, root);
		text_str(&dir, "/");
		text_str(&dir, c->name);
		if (dir.cut)
			return -ENAMETOOLONG;
		if (mkdirat(rootfd, c->name, 0700) < 0) {
			if (errno == EEXIST)
				continue;
			return -errno;
		}
		fd = openat(rootfd, c->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && sys_stat(fd, &uid, &mode) == 0 && uid == geteuid())
			return fd;
		if (fd < 0) {
			int r = -errno;
			unlinkat(rootfd, c->name, AT_REMOVEDIR);
			return r;
		}
		close(fd); /* not the one we made */
		return -EPERM;
	}
	return -EEXIST;
}

static int try_root(struct core *c, const char *root, bool make, bool asked)
{
	int rootfd = root_open(root, make, asked);
	int r = rootfd;

	if (rootfd >= 0) {
		r = instance_make(c, rootfd, root);
		close(rootfd);
	}
	if (r >= 0)
		c->dirfd = r;
	return r < 0 ? r : 0;
}

/* Relative roots are made absolute once: the process may change its directory. */
static int try_asked(struct core *c, const char *root)
{
	char path[4096];
	struct text t = TEXT_IN(path);

	if (*root != '/') {
		if (!getcwd(path, sizeof(path)))
			return -errno;
		t.len = strlen(path);
		text_str(&t, "/");
	}
	text_str(&t, root);
	if (t.cut)
		return -ENAMETOOLONG;
	while (t.len > 1 && path[t.len - 1] == '/')
		path[--t.len] = '\0';
	return try_root(c, path, true, true);
}

int place_make(struct core *c)
{
	const char *asked[2] = { c->opts.dir, env("OPJIT_DIR") };
	const char *run = env("XDG_RUNTIME_DIR");
	char path[4096];
	struct text t = TEXT_IN(path);
	int r;

	/* Not there at all: the process lives in another root than who asked. */
	for (unsigned int i = 0; i < 2; i++) {
		if (!asked[i])
			continue;
		r = try_asked(c, asked[i]);
		if (r != -ENOENT && r != -ENOTDIR)
			return r;
		log_failure(c, LOG_ASKED, "the directory asked for is not there, so another is taken", r);
	}
	r = try_root(c, DEFAULT_ROOT, false, false);
	if (r < 0 && run && *run == '/') {
		text_str(&t, run);
		text_str(&t, "/opjit");
		if (!t.cut)
			r = try_root(c, path, true, false);
	}
	if (r < 0) {
		t = TEXT_IN(path);
		text_str(&t, "/tmp/opjit-");
		text_u64(&t, geteuid());
		r = try_root(c, path, true, false);
	}
	return r;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void read_boot_id(struct jit_identity *w)
{
	char buf[64];
	unsigned int n = 0;

	if (sys_slurp("/proc/sys/kernel/random/boot_id", buf, sizeof(buf)) < 0)
		return;
	for (const char *p = buf; *p && n < 32; p++) {
		int d = hex_digit(*p);
		if (d < 0)
			continue;
		w->boot_id[n / 2] = (uint8_t)(w->boot_id[n / 2] << 4 | d);
		n++;
	}
}

static void read_nspid(struct jit_identity *w)
{
	char buf[4096];
	const char *p;

	if (sys_slurp("/proc/self/status", buf, sizeof(buf)) < 0 || !(p = strstr(buf, "\nNSpid:")))
		return;
	for (p += 7; w->n_nspid < JIT_MAX_NSPID;) {
		int32_t pid = (int32_t)scan_u64(&p);
		if (!pid)
			break;
		w->nspid[w->n_nspid++] = pid;
	}
}

static void read_start_time(struct jit_identity *w)
{
	char buf[1024];
	const char *p;

	if (sys_slurp("/proc/self/stat", buf, sizeof(buf)) < 0 || !(p = strrchr(buf, ')')) || !p[1] || !p[2])
		return;
	p += 3; /* behind the state, field 3 */
	for (int field = 4; field < 22; field++)
		scan_i64(&p);
	w->start_time = scan_u64(&p);
}

/* "monotonic  SECONDS  NANOSECONDS" and "boottime …" */
static void read_time_namespace(struct jit_identity *w)
{
	char buf[256];
	const char *p;

	if (sys_slurp("/proc/self/timens_offsets", buf, sizeof(buf)) < 0)
		return;
	if ((p = strstr(buf, "monotonic"))) {
		p += strlen("monotonic");
		w->mono_offset_ns = scan_i64(&p) * (int64_t)NSEC_PER_SEC;
		w->mono_offset_ns += scan_i64(&p);
	}
	if ((p = strstr(buf, "boottime"))) {
		p += strlen("boottime");
		w->boot_offset_ns = scan_i64(&p) * (int64_t)NSEC_PER_SEC;
		w->boot_offset_ns += scan_i64(&p);
	}
}

void place_identity(struct core *c)
{
	struct jit_identity *w = &c->who;
	const char *source = c->opts.source ? c->opts.source : "opagent";
	const void *random = (const void *)getauxval(AT_RANDOM);
	struct text t;

	*w = (struct jit_identity){ 0 };
	w->pid = getpid();
	w->uid = geteuid();
	w->open_ns = util_now_ns();
	w->word_bits = __SIZEOF_POINTER__ * 8;
	w->lag_us = c->opts.lag_us ? c->opts.lag_us : 1000;
	w->clk_tck = (uint32_t)sysconf(_SC_CLK_TCK);
	if (random)
		w->exec_id = util_hash_bytes(random, 16);
	t = TEXT_IN(w->source);
	text_str(&t, source);
	t = TEXT_IN(w->parent);
	text_str(&t, c->parent);
	read_boot_id(w);
	read_nspid(w);
	read_start_time(w);
	read_time_namespace(w);
}
