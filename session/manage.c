/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whole sessions: saving under a name, forgetting, and the images that nobody names any more. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "lib/io.h"
#include "session/gen.h"
#include "session/manage.h"
#include "session/read.h"
#include "session/store.h"

static bool is_saved_name(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/') && strcmp(name, "current") != 0 && strcmp(name, "previous") != 0 &&
	       strncmp(name, "gen-", 4) != 0 && strlen(name) < 200;
}

static int open_dir(const char *dir, const char *below)
{
	AUTO_STRBUF path = STRBUF_INIT;
	int fd;

	if (strbuf_addf(&path, "%s/%s", dir, below) < 0)
		return -ENOMEM;
	fd = open(path.buf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Keeps a store out for as long as the descriptor is open. */
static int open_locked(const char *dir)
{
	AUTO_CLOSE int fd = open_dir(dir, "samples");

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return -EBUSY;
	return TAKE_FD(fd);
}

/* --- saving -------------------------------------------------------------------------------------------- */
/* Files of a generation never change, so a saved session may share them. */
static int link_tree(int from, int to, unsigned int depth)
{
	int fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	for (struct dirent *e; r >= 0 && (e = readdir(d));) {
		AUTO_CLOSE int sub = -1, made = -1;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		sub = openat(from, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub < 0) {
			r = linkat(from, e->d_name, to, e->d_name, 0) < 0 ? -errno : 0;
			continue;
		}
		if (mkdirat(to, e->d_name, 0755) < 0 || (made = openat(to, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
			r = -errno;
		else
			r = depth > 200 ? -ELOOP : link_tree(sub, made, depth + 1);
	}
	closedir(d);
	return r;
}

static int save_current(int samples, const char *name)
{
	static const char tmp[] = ".save.tmp";
	AUTO_CLOSE int from = -1, to = -1;
	struct stat st;
	int r;

	if (!is_saved_name(name))
		return -EINVAL;
	if (fstatat(samples, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	from = gen_open(samples, "current");
	if (from < 0)
		return from;
	r = io_remove_tree(samples, tmp, NULL, NULL);
	if (r < 0 && r != -ENOENT)
		return r;
	if (mkdirat(samples, tmp, 0755) < 0 || (to = openat(samples, tmp, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return -errno;
	r = link_tree(from, to, 0);
	if (r >= 0 && renameat(samples, tmp, samples, name) < 0)
		r = -errno;
	if (r < 0)
		(void)io_remove_tree(samples, tmp, NULL, NULL);
	else if (fsync(samples) < 0)
		r = -errno;
	return r;
}

int session_save(const char *dir, const char *name)
{
	AUTO_CLOSE int samples = open_locked(dir);
	int r;

	if (samples < 0)
		return samples;
	r = gen_adopt(samples);
	if (r >= 0)
		r = save_current(samples, name);
	if (r < 0)
		return r;
	if (unlinkat(samples, "current", 0) < 0)
		return -errno;
	return gen_sweep(samples, NULL, NULL);
}

int session_store_reset(struct session_store *s)
{
	store_clear(s);
	s->base = s->old = 0;
	s->info.totals = (struct session_totals){ 0 };
	strbuf_reset(&s->written);
	if (unlinkat(s->samples_fd, "previous", 0) < 0 && errno != ENOENT)
		return -errno;
	return session_store_flush(s);
}

int session_store_save(struct session_store *s, const char *name)
{
	int r;

	if (!is_saved_name(name))
		return -EINVAL;
	r = session_store_flush(s);
	if (r >= 0)
		r = save_current(s->samples_fd, name);
	if (r < 0)
		return r;
	store_clear(s);
	s->base = 0;
	s->info.totals = (struct session_totals){ 0 };
	strbuf_reset(&s->written);
	return session_store_flush(s);
}

/* --- images -------------------------------------------------------------------------------------------- */
int images_of(const char *dir, const char *name, struct strpool *ret)
{
	struct session *s;
	char *why = NULL;
	int r = session_open_named(&s, dir, name, &why);

	free(why);
	if (r < 0)
		return r;
	for (size_t i = 0; i < s->n_entries && r >= 0; i++)
		if (s->entries[i].file.kind == SESSION_JIT) {
			const char *image = s->entries[i].file.image;
			int64_t id = strpool_id(ret, image, strcspn(image, "/"));
			r = id < 0 ? (int)id : 0;
		}
	session_free(s);
	return r;
}

/* What all sessions of a directory name. Any that cannot be read fails the whole: better too much kept than too little. */
static int images_named(const char *dir, int samples, struct strpool *ret)
{
	int fd = openat(samples, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	for (struct dirent *e; r >= 0 && (e = readdir(d));)
		if (*e->d_name != '.' && strncmp(e->d_name, "gen-", 4) != 0)
			r = images_of(dir, e->d_name, ret);
	closedir(d);
	return r;
}

static bool has(const struct strpool *p, const char *name)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (!strcmp(strpool_str(p, i), name))
			return true;
	return false;
}

/* Removes directories of jit/ that `named` does not have; with `only`, of those in it. */
static int remove_images(const char *dir, const struct strpool *named, const struct strpool *only, uint64_t *bytes,
			 uint64_t *files)
{
	int fd = open_dir(dir, "jit"), r = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		r = fd < 0 ? fd : -errno;
		if (fd >= 0)
			close(fd);
		return r == -ENOENT ? 0 : r;
	}
	for (struct dirent *e; (e = readdir(d));) {
		int q = 0;
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") && !has(named, e->d_name) && (!only || has(only, e->d_name)))
			q = io_remove_tree(dirfd(d), e->d_name, bytes, files);
		r = q < 0 && !r ? q : r;
	}
	closedir(d);
	return r;
}

int images_drop(const char *dir, int samples, const struct strpool *only)
{
	AUTO(strpool_done) struct strpool named = { 0 };
	int r = only->n ? images_named(dir, samples, &named) : 0;

	return r < 0 || !only->n ? r : remove_images(dir, &named, only, NULL, NULL);
}

int session_sweep_images(const char *dir, uint64_t *bytes, uint64_t *files)
{
	AUTO(strpool_done) struct strpool named = { 0 };
	AUTO_CLOSE int samples = open_dir(dir, "samples");
	int r = samples < 0 ? samples : images_named(dir, samples, &named);

	return r < 0 ? r : remove_images(dir, &named, NULL, bytes, files);
}

int session_reset(const char *dir, uint64_t *bytes, uint64_t *files)
{
	AUTO_CLOSE int samples = open_locked(dir);
	int r;

	if (samples < 0)
		return samples;
	r = gen_adopt(samples);
	if (r < 0)
		return r;
	if ((unlinkat(samples, "current", 0) < 0 && errno != ENOENT) || (unlinkat(samples, "previous", 0) < 0 && errno != ENOENT))
		return -errno;
	r = gen_sweep(samples, bytes, files);
	return r < 0 ? r : session_sweep_images(dir, bytes, files);
}
