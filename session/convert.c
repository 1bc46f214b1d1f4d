/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session as a machine of another word size and byte order would have written it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "format/abi/file.h"
#include "lib/io.h"
#include "session/convert.h"

#define FILE_MAX ((size_t)1 << 33)
#define DEPTH_MAX 256

struct walk {
	const struct abi_format *fmt;
	struct strbuf *why;
	struct strbuf path;      /* below the session, for messages */
};

static bool is_abi(const struct strbuf *sb)
{
	return sb->len >= 4 && (!memcmp(sb->buf, "opnd", 4) || !memcmp(sb->buf, "opsd", 4) || !memcmp(sb->buf, "ophd", 4) ||
				!memcmp(sb->buf, "opdb", 4));
}

static int one_file(struct walk *w, int from, int to, const char *name, mode_t mode, bool samples)
{
	AUTO_CLOSE int in = io_open_regular(from, name, O_RDONLY), out = -1;
	AUTO_STRBUF sb = STRBUF_INIT_CAP(FILE_MAX), conv = STRBUF_INIT_CAP(FILE_MAX);
	const struct strbuf *bytes = &sb;
	struct abi_fault fault = { 0 };
	int r = in < 0 ? in : io_read_all(in, &sb);

	if (r >= 0 && samples && is_abi(&sb)) {
		r = abi_file_convert(sb.buf, sb.len, w->fmt, &conv, &fault);
		bytes = &conv;
	}
	if (r >= 0) {
		out = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode & 0777);
		r = out < 0 ? -errno : io_write_full(out, strbuf_str(bytes), bytes->len);
	}
	if (r < 0) {
		strbuf_addf(w->why, "%s/%s: ", strbuf_str(&w->path), name);
		if (fault.rule)
			strbuf_addf(w->why, "offset 0x%" PRIx64 ": %s", fault.at, fault.rule);
		else
			strbuf_addstr(w->why, strerror(-r));
		if (r == -ERANGE && fault.rule)
			strbuf_addf(w->why, " (0x%" PRIx64 ")", fault.value);
	}
	return r;
}

static int one_link(int from, int to, const char *name)
{
	char target[4096];
	ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = '\0';
	return symlinkat(target, to, name) < 0 ? -errno : 0;
}

static int walk(struct walk *w, int from, int to, unsigned int depth, bool samples);

static int one_entry(struct walk *w, int from, int to, const char *name, unsigned int depth, bool samples)
{
	AUTO_CLOSE int sub = -1, made = -1;
	size_t len = w->path.len;
	struct stat st;
	int r;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISREG(st.st_mode))
		return one_file(w, from, to, name, st.st_mode, samples);
	if (S_ISLNK(st.st_mode))
		return one_link(from, to, name);
	if (!S_ISDIR(st.st_mode))
		return 0;
	sub = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (sub < 0 || mkdirat(to, name, 0755) < 0 || (made = openat(to, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return -errno;
	r = strbuf_addf(&w->path, "/%s", name);
	if (r >= 0)
		r = walk(w, sub, made, depth + 1, samples || (!depth && !strcmp(name, "samples")));
	if (r >= 0) {
		w->path.len = len;
		w->path.buf[len] = '\0';
	}
	return r;
}

static int walk(struct walk *w, int from, int to, unsigned int depth, bool samples)
{
	int fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	if (depth > DEPTH_MAX)
		r = -ELOOP;
	for (struct dirent *e; r >= 0 && (e = readdir(d));)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			r = one_entry(w, from, to, e->d_name, depth, samples);
	closedir(d);
	return r;
}

int session_convert(const char *from, const char *to, const struct abi_format *fmt, struct strbuf *why)
{
	struct walk w = { .fmt = fmt, .why = why, .path = STRBUF_INIT };
	AUTO_CLOSE int in = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC), out = -1;
	int r = 0;

	if (in < 0)
		r = -errno;
	else if (faccessat(in, "samples", F_OK, 0) < 0)
		r = -ENOENT;
	else if (mkdir(to, 0755) < 0 || (out = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		r = -errno;
	if (r < 0) {
		strbuf_addf(why, "%s: %s", out < 0 && in >= 0 && r != -ENOENT ? to : from, strerror(-r));
		return r;
	}
	r = strbuf_addstr(&w.path, from);
	if (r >= 0)
		r = walk(&w, in, out, 0, false);
	if (r < 0 && !why->len)
		strbuf_addf(why, "%s: %s", strbuf_str(&w.path), strerror(-r));
	strbuf_done(&w.path);
	return r;
}
