/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "lib/io.h"
#include "session/path.h"
#include "session/tar.h"

int session_archive_info(struct strbuf *ret, const char *from)
{
	strbuf_addstr(ret, "opjit_archive=1\nsession=");
	session_escape(ret, from, strlen(from), "");
	return strbuf_addch(ret, '\n');
}

bool session_archive_is(const char *dir)
{
	AUTO_STRBUF path = STRBUF_INIT;

	return strbuf_addf(&path, "%s/" SESSION_ARCHIVE_INFO, dir) == 0 && access(path.buf, F_OK) == 0;
}

int session_archive_unpack(const char *tar, char **dir, struct strbuf *why)
{
	const char *tmp = getenv("TMPDIR");
	AUTO_STRBUF name = STRBUF_INIT, text = STRBUF_INIT;
	AUTO_CLOSE int in = open(tar, O_RDONLY | O_CLOEXEC), out = -1;
	int r;

	if (in < 0) {
		r = -errno;
		strbuf_addf(why, "%s: %s", tar, strerror(-r));
		return r;
	}
	strbuf_addf(&name, "%s/opjit-archive-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (name.error)
		return name.error;
	if (!mkdtemp(name.buf)) {
		r = -errno;
		strbuf_addf(why, "%s: %s", name.buf, strerror(-r));
		return r;
	}
	out = open(name.buf, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = out < 0 ? -errno : tar_unpack(in, out, &text);
	if (r < 0) {
		strbuf_addf(why, "%s: %s", tar, text.len ? text.buf : strerror(-r));
		session_archive_remove(name.buf);
		return r;
	}
	*dir = strbuf_steal(&name);
	return *dir ? 0 : -ENOMEM;
}

void session_archive_remove(const char *dir)
{
	(void)io_remove_tree(AT_FDCWD, dir, NULL, NULL);
}
