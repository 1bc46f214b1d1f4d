/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attempts to attach, as their caller sees them. */
#include "control/attach-impl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct attach {
	pid_t pid, child;
	int fd;
	bool done;
	struct verdict verdict;
};

int attach_start(struct attach **ret, pid_t pid, const char *agent_path, const char *options, unsigned int timeout_ms, bool quiet_only)
{
	struct attach *a = calloc(1, sizeof(*a));
	int p[2], err;

	if (!a)
		return -ENOMEM;
	if (pid <= 0 || !agent_path || agent_path[0] != '/' || pipe2(p, O_CLOEXEC) < 0) {
		err = pid <= 0 || !agent_path || agent_path[0] != '/' ? -EINVAL : -errno;
		free(a);
		return err;
	}
	a->pid = pid;
	a->child = fork();
	if (a->child == 0) {
		close(p[0]);
		attach_child(p[1], pid, agent_path, options ? options : "", timeout_ms, quiet_only);
	}
	err = -errno;
	close(p[1]);
	if (a->child < 0) {
		close(p[0]);
		free(a);
		return err;
	}
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	a->fd = p[0];
	*ret = a;
	return 0;
}

int attach_fd(const struct attach *a)
{
	return a->fd;
}

pid_t attach_pid(const struct attach *a)
{
	return a->pid;
}

static void reap(struct attach *a, int flags)
{
	if (a->child > 0 && (waitpid(a->child, NULL, flags) != 0 || errno == ECHILD))
		a->child = 0;
}

int attach_poll(struct attach *a, struct strbuf *why)
{
	if (!a->done) {
		ssize_t n = read(a->fd, &a->verdict, sizeof(a->verdict));
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return -EAGAIN;
		if (n != (ssize_t)sizeof(a->verdict))
			verdict_set(&a->verdict, -EIO, "the helper that attaches to %d ended without a word", (int)a->pid);
		a->verdict.why[sizeof(a->verdict.why) - 1] = 0;
		a->done = true;
		reap(a, 0);
	}
	if (why)
		strbuf_addstr(why, a->verdict.why);
	return a->verdict.result;
}

void attach_free(struct attach *a)
{
	if (!a)
		return;
	if (!a->done && a->child > 0) {
		struct pollfd p = { .fd = a->fd, .events = POLLIN };
		kill(a->child, SIGTERM);
		/* It has files to remove; more than a moment it does not get. */
		if (poll(&p, 1, 500) <= 0)
			kill(a->child, SIGKILL);
	}
	reap(a, 0);
	close(a->fd);
	free(a);
}

int attach_jvm(pid_t pid, const char *agent_path, const char *options, unsigned int timeout_ms, struct strbuf *why)
{
	struct attach *a;
	int r = attach_start(&a, pid, agent_path, options, timeout_ms, false);

	if (r < 0) {
		if (why)
			strbuf_addf(why, "cannot attach to process %d: %s", (int)pid, strerror(-r));
		return r;
	}
	do {
		struct pollfd p = { .fd = attach_fd(a), .events = POLLIN };
		poll(&p, 1, -1);
		r = attach_poll(a, why);
	} while (r == -EAGAIN);
	attach_free(a);
	return r;
}
