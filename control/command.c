/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "control/operf.h"

static void child(char **argv, int go, int err, void (*setup)(void *), void *arg)
{
	sigset_t none;
	char c;
	int e;

	sigemptyset(&none);
	if (read(go, &c, 1) != 1)
		_exit(127); /* operf gave up */
	if (setup)
		setup(arg);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(argv[0], argv);
	e = errno;
	if (write(err, &e, sizeof(e)) < 0)
		_exit(126);
	_exit(e == ENOENT ? 127 : 126);
}

int command_start(struct command *c, char **argv, void (*setup)(void *), void *arg)
{
	int go[2], err[2];

	*c = (struct command){ .pid = -1, .go_fd = -1, .error_fd = -1 };
	if (pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(err, O_CLOEXEC) < 0) {
		close(go[0]);
		close(go[1]);
		return -errno;
	}
	c->pid = fork();
	if (c->pid == 0) {
		close(go[1]);
		close(err[0]);
		child(argv, go[0], err[1], setup, arg);
	}
	close(go[0]);
	close(err[1]);
	c->go_fd = go[1];
	c->error_fd = err[0];
	return c->pid < 0 ? -errno : 0;
}

int command_go(struct command *c)
{
	int e = 0;
	ssize_t n;

	n = write(c->go_fd, "", 1);
	close(c->go_fd);
	c->go_fd = -1;
	if (n == 1)
		do
			n = read(c->error_fd, &e, sizeof(e));
		while (n < 0 && errno == EINTR);
	close(c->error_fd);
	c->error_fd = -1;
	if (n != sizeof(e))
		return 0; /* the pipe closed at its exec */
	waitpid(c->pid, &c->status, 0);
	c->done = true;
	return -e;
}

void command_reap(struct command *c)
{
	if (!c->done && c->pid > 0 && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->done = true;
}

void command_kill(struct command *c)
{
	if (c->go_fd >= 0)
		close(c->go_fd);
	if (c->error_fd >= 0)
		close(c->error_fd);
	c->go_fd = c->error_fd = -1;
	if (c->pid > 0 && !c->done) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, &c->status, 0);
		c->done = true;
	}
}

int command_exit_status(const struct command *c)
{
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}
