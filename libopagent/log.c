/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "libopagent/core.h"

static const char *reason(int err)
{
	switch (err) {
	case ENOSPC: return "no space left on device";
	case EDQUOT: return "disk quota exceeded";
	case EROFS: return "read-only file system";
	case EACCES: return "permission denied";
	case EPERM: return "operation not permitted";
	case EMFILE: return "too many open files";
	case ENFILE: return "too many open files in the system";
	case ENOMEM: return "out of memory";
	case ENOENT: return "no such file or directory";
	case ENOTDIR: return "not a directory";
	case EFBIG: return "over the size limit";
	case ELOOP: return "a symbolic link where none is allowed";
	default: return NULL;
	}
}

/* The standard streams are open already: also a process with no descriptor left can be heard. */
static int log_open(const char *path, bool *ours)
{
	*ours = false;
	if (!strcmp(path, "/dev/stderr") || !strcmp(path, "-"))
		return 2;
	if (!strcmp(path, "/dev/stdout"))
		return 1;
	*ours = true;
	return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
}

void log_failure(struct core *c, enum log_kind kind, const char *what, int err)
{
	const char *path = c->opts.log;
	char line[5000];
	struct text t = TEXT_IN(line);
	bool ours;
	int fd;

	if (!path && !getauxval(AT_SECURE))
		path = getenv("OPJIT_LOG");
	if (!path || !*path || c->logged & 1u << kind)
		return;
	c->logged |= 1u << kind;
	fd = log_open(path, &ours);
	if (fd < 0)
		return;
	text_str(&t, "opjit[");
	text_u64(&t, (uint64_t)getpid());
	text_str(&t, "]: ");
	if (*c->dir) {
		text_str(&t, c->dir);
		text_str(&t, ": ");
	}
	text_str(&t, what);
	if (err) {
		err = err < 0 ? -err : err;
		text_str(&t, ": ");
		if (reason(err))
			text_str(&t, reason(err));
		else {
			text_str(&t, "error ");
			text_u64(&t, (uint64_t)err);
		}
	}
	if (t.len >= sizeof(line) - 1)
		t.len--;
	line[t.len++] = '\n';
	if (write(fd, line, t.len) < 0)
		errno = 0;
	if (ours)
		close(fd);
}
