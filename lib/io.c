/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

int io_write_full(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int io_pwrite_full(int fd, const void *data, size_t len, off_t at)
{
	const char *p = data;

	while (len) {
		ssize_t n = pwrite(fd, p, len, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t io_read_full(int fd, void *data, size_t len)
{
	char *p = data;
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(fd, p + got, len - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

int io_read_all(int fd, struct strbuf *sb)
{
	for (;;) {
		ssize_t n;
		size_t want = MIN((size_t)65536, sb->cap - MIN(sb->cap, sb->len) + 1);
		char chunk[65536];

		n = io_read_full(fd, chunk, want);
		if (n < 0)
			return (int)n;
		if (n == 0)
			return strbuf_reserve(sb, 0);
		int r = strbuf_add(sb, chunk, (size_t)n);
		if (r < 0)
			return r;
	}
}

int io_slurp(int dirfd, const char *path, struct strbuf *sb)
{
	AUTO_CLOSE int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return io_read_all(fd, sb);
}

int io_write_file(const char *path, const void *data, size_t len, mode_t mode)
{
	struct stat st;
	AUTO_CLOSE int fd = -1;

	if (stat(path, &st) < 0 || S_ISREG(st.st_mode))
		return io_replace(path, data, len, mode);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : io_write_full(fd, data, len);
}

int io_replace(const char *path, const void *data, size_t len, mode_t mode)
{
	AUTO_STRBUF tmp = STRBUF_INIT;
	AUTO_CLOSE int fd = -1;
	struct stat st;
	int r;

	/* A rename would put a file where a device or pipe was. */
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EEXIST;
	strbuf_addf(&tmp, "%s.tmp-%ld", path, (long)getpid());
	if (tmp.error)
		return tmp.error;
	fd = open(tmp.buf, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);
	if (fd < 0)
		return -errno;
	r = io_write_full(fd, data, len);
	if (!r && fsync(fd) < 0)
		r = -errno;
	if (!r && rename(tmp.buf, path) < 0)
		r = -errno;
	if (r < 0)
		unlink(tmp.buf);
	return r;
}

int io_beside_open(int dirfd, const char *path, mode_t mode, struct strbuf *tmp)
{
	struct stat st;
	int fd;

	if (fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EEXIST;
	strbuf_addf(tmp, "%s.tmp-%ld", path, (long)getpid());
	if (tmp->error)
		return tmp->error;
	(void)unlinkat(dirfd, tmp->buf, 0); /* of a writer with our pid that was killed */
	fd = openat(dirfd, tmp->buf, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	return fd < 0 ? -errno : fd;
}

int io_beside_commit(int dirfd, const char *path, const struct strbuf *tmp, int r)
{
	if (r >= 0 && renameat(dirfd, tmp->buf, dirfd, path) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dirfd, tmp->buf, 0);
	return MIN(r, 0);
}

int io_mkdirs(const char *path, mode_t mode)
{
	AUTO_FREE char *copy = strdup(path);

	if (!copy)
		return -ENOMEM;
	for (char *p = copy + 1; *p; p++)
		if (*p == '/') {
			*p = '\0';
			if (mkdir(copy, mode) < 0 && errno != EEXIST)
				return -errno;
			*p = '/';
		}
	if (mkdir(copy, mode) < 0) {
		struct stat st;
		if (errno != EEXIST)
			return -errno;
		if (stat(copy, &st) < 0)
			return -errno;
		if (!S_ISDIR(st.st_mode))
			return -ENOTDIR;
	}
	return 0;
}

static int remove_tree(int dirfd, const char *path, uint64_t *bytes, uint64_t *files, unsigned int depth)
{
	struct stat st;
	DIR *dir;
	int fd, r = 0;

	if (fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode)) {
		if (unlinkat(dirfd, path, 0) < 0)
			return -errno;
		if (bytes)
			*bytes += (uint64_t)st.st_blocks * 512;
		if (files)
			++*files;
		return 0;
	}
	if (depth > 256)
		return -ELOOP;
	fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		r = -errno;
		close(fd);
		return r;
	}
	for (struct dirent *e; (e = readdir(dir));) {
		int q;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		q = remove_tree(fd, e->d_name, bytes, files, depth + 1);
		if (q < 0 && q != -ENOENT && !r)
			r = q;
	}
	closedir(dir);
	if (!r && unlinkat(dirfd, path, AT_REMOVEDIR) < 0)
		r = -errno;
	return r;
}

int io_remove_tree(int dirfd, const char *path, uint64_t *bytes, uint64_t *files)
{
	return remove_tree(dirfd, path, bytes, files, 0);
}

int io_slurp_regular(int dirfd, const char *path, struct strbuf *sb)
{
	AUTO_CLOSE int fd = io_open_regular(dirfd, path, O_RDONLY);

	return fd < 0 ? fd : io_read_all(fd, sb);
}

int io_open_regular(int dirfd, const char *path, int flags)
{
	struct stat st;
	AUTO_CLOSE int fd = openat(dirfd, path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENXIO;
	return TAKE_FD(fd);
}

int io_open_regular_in_root(int rootfd, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY), .resolve = RESOLVE_IN_ROOT };
	AUTO_CLOSE int fd = (int)syscall(SYS_openat2, rootfd, path, &how, sizeof(how));
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? TAKE_FD(fd) : -ENXIO;
}

bool io_clock_is_tsc(void)
{
	AUTO_STRBUF text = STRBUF_INIT_CAP(64);

	return !io_slurp(AT_FDCWD, "/sys/devices/system/clocksource/clocksource0/current_clocksource", &text) &&
	       !strcmp(strbuf_str(&text), "tsc\n");
}
