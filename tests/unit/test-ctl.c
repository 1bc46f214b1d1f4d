/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The control socket: requests, garbage, floods, stale files. */
#include "daemon/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "lib/io.h"
#include "lib/tap.h"

static char dir[] = "/tmp/opjit-test-ctl-XXXXXX";
static unsigned int n_requests;

static int request(void *arg, const char *verb, const char *operand, struct strbuf *reply, struct strbuf *why)
{
	n_requests++;
	if (!strcmp(verb, "reset")) {
		strbuf_addf(why, "not today");
		return -EPERM;
	}
	if (!strcmp(verb, "dump"))
		return -ENOSPC;
	strbuf_addf(reply, "did %s %s\n", verb, operand ? operand : "-");
	return 0;
}

static void parse(const char *text, size_t len, int want, const char *what)
{
	char line[256];
	const char *verb, *operand;

	memcpy(line, text, len);
	line[len] = '\0';
	is_int(want, ctl_parse(line, len, &verb, &operand), "%s", what);
}

static void test_parse(void)
{
	static const char *const bad[] = { "", " ", "star", "starts", "start now", "START", "save", "save ", "attach", "stop\t", "\x7f" };
	char line[] = "save a name\r";
	const char *verb, *operand;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		parse(bad[i], strlen(bad[i]), -EBADMSG, "refused");
	parse("start\0x", 7, -EBADMSG, "a NUL inside");
	parse("status", 6, 0, "status");
	is_int(0, ctl_parse(line, strlen(line), &verb, &operand), "save with a name, line end of a terminal");
	is_str("a name", operand, "its operand");
}

static int client_socket(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); /* a full backlog must not block us */

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/opd.sock", dir);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 && errno != EAGAIN)
		perror("connect");
	return fd;
}

/* Sends bytes, lets the daemon work, gives its answer. */
static void talk(struct ctl *c, const void *bytes, size_t len, char *answer, size_t room)
{
	int fd = client_socket();
	size_t got = 0;

	(void)!send(fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	for (int i = 0; i < 100; i++) {
		ssize_t n;

		ctl_serve(c);
		n = recv(fd, answer + got, room - 1 - got, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			break;
		if (n > 0)
			got += (size_t)n;
		else
			poll(NULL, 0, 1);
	}
	answer[got] = '\0';
	close(fd);
}

static void test_socket(void)
{
	static char big[CTL_MAX_LINE * 3];
	char answer[1024];
	struct ctl *c, *second;
	int other = 0, fds[40];

	is_int(0, ctl_open(&c, dir, request, NULL, &other), "open");
	is_int(-EBUSY, ctl_open(&second, dir, request, NULL, &other), "a second one is refused");
	is_int(getpid(), other, "and told who runs");
	talk(c, "status\n", 7, answer, sizeof(answer));
	is_str("did status -\nok\n", answer, "request");
	talk(c, "attach 12\nstop\n", 15, answer, sizeof(answer));
	is_str("did attach 12\nok\n", answer, "one request a connection");
	talk(c, "reset\n", 6, answer, sizeof(answer));
	is_str("error not today\n", answer, "refused with a reason");
	talk(c, "dump\n", 5, answer, sizeof(answer));
	is_str("error No space left on device\n", answer, "refused with an errno");
	memset(big, 'x', sizeof(big));
	talk(c, big, sizeof(big), answer, sizeof(answer));
	is_str("error the request is too long\n", answer, "a line without end");
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)(i * 7 + i / 256);
	talk(c, big, 1000, answer, sizeof(answer));
	is_str("error no such request\n", answer, "bytes of any kind");
	n_requests = 0;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = client_socket();
	for (size_t i = 0; i < 100; i++)
		ctl_serve(c);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	for (size_t i = 0; i < 100; i++)
		ctl_serve(c);
	is_int(0, n_requests, "clients that say nothing are nobody");
	talk(c, "status\n", 7, answer, sizeof(answer));
	is_str("did status -\nok\n", answer, "and hold nobody up");
	ctl_close(c);
	ok(access(dir, F_OK) == 0 && ctl_running(dir) == 0, "closed: none runs");
}

static void test_stale(void)
{
	AUTO_STRBUF reply = STRBUF_INIT;
	struct ctl *c;
	int other = 0, status;
	pid_t pid = fork();

	if (pid == 0) { /* a daemon that is killed */
		if (ctl_open(&c, dir, request, NULL, &other) < 0)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, &status, 0);
	ok(WIFSIGNALED(status), "a daemon was killed");
	is_int(0, ctl_running(dir), "its pid file is stale");
	is_int(-ECONNREFUSED, ctl_call(dir, "status", 1000, &reply), "its socket is dead");
	is_int(0, ctl_open(&c, dir, request, NULL, &other), "the next one takes its place");
	pid = fork();
	if (pid == 0) {
		int r = ctl_running(dir) == getppid() ? ctl_call(dir, "save x", 5000, &reply) : -1;
		_exit(r == 0 && !strcmp(strbuf_str(&reply), "did save x\n") ? 0 : 1);
	}
	for (int i = 0; i < 500 && waitpid(pid, &status, WNOHANG) == 0; i++) {
		ctl_serve(c);
		poll(NULL, 0, 10);
	}
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a client finds it, asks and is answered");
	ctl_close(c);
}

/* A server in our place that answers with `bytes`, `times` over, and then closes or not. */
struct server { const char *bytes; size_t len; unsigned int times; bool closes, accepts; };
static int against(const struct server *s, const char *what, unsigned int timeout_ms, struct strbuf *reply)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r, status;
	pid_t pid;

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/opd.sock", dir);
	unlink(a.sun_path);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 0) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		int c = s->accepts ? accept(fd, NULL, NULL) : -1;
		for (char byte = 0; s->accepts && byte != '\n' && recv(c, &byte, 1, 0) == 1;)
			;
		for (unsigned int i = 0; s->accepts && i < s->times; i++)
			if (send(c, s->bytes, s->len, MSG_NOSIGNAL) < 0)
				break;
		if (s->closes)
			_exit(0);
		for (;;)
			pause();
	}
	close(fd);
	strbuf_reset(reply);
	r = ctl_call(dir, what, timeout_ms, reply);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	unlink(a.sun_path);
	return r;
}

static void test_hostile_server(void)
{
	static char line[1 << 16], none[8];
	AUTO_STRBUF reply = STRBUF_INIT, half = STRBUF_INIT;
	int held;

	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\n';
	is_int(-ETIMEDOUT, against(&(struct server){ .accepts = true }, "status", 300, &reply), "a server that never answers");
	is_int(-EPROTO, against(&(struct server){ .accepts = true, .closes = true }, "status", 5000, &reply), "one that closes at once");
	is_int(-EPROTO, against(&(struct server){ .bytes = line, .len = 5, .times = 1, .accepts = true, .closes = true }, "status", 5000, &reply),
	       "no last line");
	is_int(-EPROTO, against(&(struct server){ .bytes = none, .len = 8, .times = 1, .accepts = true, .closes = true }, "status", 5000, &reply),
	       "zeros");
	is_int(-E2BIG, against(&(struct server){ .bytes = line, .len = sizeof(line), .times = 1000, .accepts = true }, "status", 20000, &reply),
	       "an answer without end");
	ok(reply.len <= CTL_MAX_REPLY, "is not kept");
	for (size_t n = 0; n < 3; n++) /* of "ok\n" */
		is_int(-EPROTO, against(&(struct server){ .bytes = "ok\n", .len = n, .times = 1, .accepts = true, .closes = true },
						     "status", 5000, &half), "the last line cut at %zu", n);
	is_int(0, against(&(struct server){ .bytes = "ok\n", .len = 3, .times = 1, .accepts = true, .closes = true }, "status", 5000, &half), "whole");

	/* a daemon that is stopped: its queue takes one, the next would wait for ever */
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/opd.sock", dir);
	is_int(0, bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 0), "a server with a queue of one");
	held = client_socket();
	is_int(-ETIMEDOUT, ctl_call(dir, "status", 300, &reply), "nobody takes from its queue");
	close(held);
	close(fd);
	unlink(a.sun_path);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_parse();
	test_socket();
	test_stale();
	test_hostile_server();
	io_remove_tree(AT_FDCWD, dir, NULL, NULL);
	return done_testing();
}
