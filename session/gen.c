/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/gen.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "lib/io.h"

void gen_name(char name[GEN_NAME_MAX], uint64_t n)
{
	snprintf(name, GEN_NAME_MAX, "gen-%" PRIu64, n);
}

static bool gen_number(const char *name, uint64_t *n)
{
	return !strncmp(name, "gen-", 4) && name[4] != '0' && util_parse_u64(name + 4, 10, UINT64_MAX - 1, n) == 0;
}

int gen_of_link(int samples_fd, const char *link, uint64_t *n)
{
	char to[GEN_NAME_MAX + 2];
	ssize_t len = readlinkat(samples_fd, link, to, sizeof(to) - 1);

	*n = 0;
	if (len < 0)
		return errno == ENOENT ? 0 : errno == EINVAL ? -EBADMSG : -errno;
	to[len] = '\0';
	if (len > 0 && to[len - 1] == '/')
		to[len - 1] = '\0';
	return gen_number(to, n) ? 0 : -EBADMSG;
}

static DIR *list(int samples_fd)
{
	int fd = openat(samples_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

int gen_last(int samples_fd, uint64_t *n)
{
	DIR *d = list(samples_fd);

	if (!d)
		return -errno;
	*n = 0;
	for (struct dirent *e; (e = readdir(d));) {
		uint64_t got;
		if (gen_number(e->d_name, &got))
			*n = MAX(*n, got);
	}
	closedir(d);
	return 0;
}

int gen_point(int samples_fd, const char *link, uint64_t n)
{
	char to[GEN_NAME_MAX], tmp[64];

	gen_name(to, n);
	snprintf(tmp, sizeof(tmp), ".%s.tmp", link);
	if (unlinkat(samples_fd, tmp, 0) < 0 && errno != ENOENT)
		return -errno;
	if (symlinkat(to, samples_fd, tmp) < 0)
		return -errno;
	return renameat(samples_fd, tmp, samples_fd, link) < 0 ? -errno : 0;
}

int gen_open(int samples_fd, const char *link)
{
	for (int tries = 0; tries < 100; tries++) {
		struct stat held, now;
		AUTO_CLOSE int fd = openat(samples_fd, link, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		/* Filesystems without locks lose only the hold, not the session. */
		(void)flock(fd, LOCK_SH | LOCK_NB);
		if (fstat(fd, &held) < 0)
			return -errno;
		if (fstatat(samples_fd, link, &now, 0) == 0 && held.st_ino == now.st_ino && held.st_dev == now.st_dev)
			return TAKE_FD(fd);
	}
	return -EAGAIN;
}

int gen_remove(int samples_fd, const char *name, uint64_t *bytes, uint64_t *files)
{
	AUTO_CLOSE int fd = openat(samples_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return -EBUSY;
	return io_remove_tree(samples_fd, name, bytes, files);
}

int gen_sweep(int samples_fd, uint64_t *bytes, uint64_t *files)
{
	uint64_t current, previous, n;
	DIR *d;

	/* A link that cannot be understood may mean any of them: then nothing is garbage. */
	if (gen_of_link(samples_fd, "current", &current) < 0 || gen_of_link(samples_fd, "previous", &previous) < 0)
		return 0;
	d = list(samples_fd);
	if (!d)
		return -errno;
	for (struct dirent *e; (e = readdir(d));)
		if (gen_number(e->d_name, &n) && n != current && n != previous)
			(void)gen_remove(samples_fd, e->d_name, bytes, files);
	closedir(d);
	return 0;
}

int gen_adopt(int samples_fd)
{
	struct stat st;
	char name[GEN_NAME_MAX];
	uint64_t n;
	int r;

	if (fstatat(samples_fd, "current", &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	r = gen_last(samples_fd, &n);
	if (r < 0)
		return r;
	gen_name(name, n + 1);
	if (renameat(samples_fd, "current", samples_fd, name) < 0)
		return -errno;
	return gen_point(samples_fd, "current", n + 1);
}

int gen_writer_init(struct gen_writer *w, int samples_fd, uint64_t n, bool no_sync)
{
	char name[GEN_NAME_MAX];
	int r;

	*w = (struct gen_writer){ .fd = -1, .no_sync = no_sync };
	gen_name(name, n);
	r = io_remove_tree(samples_fd, name, NULL, NULL);
	if (r < 0 && r != -ENOENT)
		return r;
	w->fds = malloc(GEN_SYNC_EACH * sizeof(*w->fds));
	if (!w->fds)
		return -ENOMEM;
	if (mkdirat(samples_fd, name, 0755) < 0)
		return -errno;
	w->fd = openat(samples_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return w->fd < 0 ? -errno : 0;
}

void gen_writer_done(struct gen_writer *w)
{
	for (unsigned int i = 0; i < MIN(w->written, (unsigned int)GEN_SYNC_EACH); i++)
		close(w->fds[i]);
	free(w->fds);
	if (w->fd >= 0)
		close(w->fd);
	*w = (struct gen_writer){ .fd = -1 };
}

/* Keeps fd for gen_sync, or closes it when there are too many to sync one by one. */
static void keep(struct gen_writer *w, int fd)
{
	if (w->written < GEN_SYNC_EACH && !w->no_sync)
		w->fds[w->written++] = fd;
	else {
		close(fd);
		w->written += !w->no_sync;
	}
}

static int make_parents(struct gen_writer *w, const char *path)
{
	AUTO_FREE char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	for (char *p = strchr(copy, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdirat(w->fd, copy, 0755) == 0) {
			int fd = openat(w->fd, copy, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (fd < 0)
				return -errno;
			keep(w, fd);
		} else if (errno != EEXIST) {
			return -errno;
		}
		*p = '/';
	}
	return 0;
}

int gen_write(struct gen_writer *w, const char *path, const void *data, size_t len)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, r;
	AUTO_CLOSE int fd = openat(w->fd, path, flags, 0644);

	if (fd < 0 && errno == ENOENT) {
		r = make_parents(w, path);
		if (r < 0)
			return r;
		fd = openat(w->fd, path, flags, 0644);
	}
	if (fd < 0)
		return -errno;
	r = io_write_full(fd, data, len);
	if (r < 0)
		return r;
	keep(w, TAKE_FD(fd));
	return 0;
}

int gen_link(struct gen_writer *w, const char *path, int from_fd, const char *from)
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP((size_t)1 << 34);
	int r;

	if (linkat(from_fd, from, w->fd, path, 0) == 0)
		return 0;
	if (errno == ENOENT) {
		r = make_parents(w, path);
		if (r < 0)
			return r;
		if (linkat(from_fd, from, w->fd, path, 0) == 0)
			return 0;
	}
	r = io_slurp(from_fd, from, &sb);
	return r < 0 ? r : gen_write(w, path, strbuf_str(&sb), sb.len);
}

int gen_sync(struct gen_writer *w)
{
	if (w->no_sync)
		return 0;
	if (w->written > GEN_SYNC_EACH)
		return syncfs(w->fd) < 0 ? -errno : 0;
	for (unsigned int i = 0; i < w->written; i++)
		if (fsync(w->fds[i]) < 0)
			return -errno;
	return fsync(w->fd) < 0 ? -errno : 0;
}
