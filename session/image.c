/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "session/archive.h"
#include "session/read.h"

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* ".." must not lead out of the session. */
static bool is_inside(const char *path)
{
	for (const char *p = path; *p;) {
		size_t len = strcspn(p, "/");
		if (len == 2 && !strncmp(p, "..", 2))
			return false;
		p += len + (p[len] == '/');
	}
	return true;
}

static int try_path(struct strbuf *ret, const char *a, const char *b, const char *c)
{
	strbuf_reset(ret);
	strbuf_addf(ret, "%s%s%s", a, b, c);
	if (ret->error)
		return ret->error;
	return is_file(ret->buf) ? 0 : -ENOENT;
}

static int kernel_path(const struct session *s, const char *name, struct strbuf *ret)
{
	static const char *const places[] = { "/usr/lib/debug/boot/vmlinux-", "/boot/vmlinux-", "/usr/lib/debug/lib/modules/" };
	const char *release = session_note(s, "kernel_release");
	struct utsname u;

	if (try_path(ret, s->dir, "/archive/{kern}/", name) == 0)
		return 0;
	if (session_archive_is(s->dir) || strcmp(name, "vmlinux") != 0 || uname(&u) < 0 || (release && strcmp(release, u.release) != 0))
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (try_path(ret, places[i], u.release, i == 2 ? "/vmlinux" : "") == 0)
			return 0;
	return -ENOENT;
}

int session_image_path(const struct session *s, const struct session_file *f, struct strbuf *ret)
{
	switch (f->kind) {
	case SESSION_JIT:
		if (!is_inside(f->image))
			return -ENOENT;
		return try_path(ret, s->dir, "/jit/", f->image);
	case SESSION_FILE:
		if (*f->image != '/')
			return -ENOENT;
		/* An archive never falls back on this machine's file, which may be another one. */
		if (session_archive_is(s->dir))
			return is_inside(f->image) ? try_path(ret, s->dir, "", f->image) : -ENOENT;
		return try_path(ret, "", f->image, "");
	case SESSION_KERNEL:
		return is_inside(f->image) && !strchr(f->image, '/') ? kernel_path(s, f->image, ret) : -ENOENT;
	case SESSION_ANON:
		break;
	}
	return -ENOENT;
}
