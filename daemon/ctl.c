/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "daemon/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "lib/io.h"

#define ANSWER_PATIENCE_MS 2000

int ctl_run_dir(struct strbuf *ret, const char *session_dir, bool make)
{
	const char *env = getenv("OPJIT_RUN_DIR");
	int r;

	if (env && *env)
		strbuf_addstr(ret, env);
	else if (geteuid() == 0)
		strbuf_addstr(ret, "/run/opjit");
	else
		strbuf_addstr(ret, session_dir);
	if (ret->error || !make)
		return ret->error;
	r = io_mkdirs(strbuf_str(ret), 0755);
	return r;
}

static int socket_address(struct sockaddr_un *a, const char *run_dir)
{
	int n;

	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(a->sun_path, sizeof(a->sun_path), "%s/opd.sock", run_dir);
	return n < 0 || (size_t)n >= sizeof(a->sun_path) ? -ENAMETOOLONG : 0;
}

static int pid_file_open(const char *run_dir, int flags)
{
	AUTO_STRBUF path = STRBUF_INIT;
	int fd;

	strbuf_addf(&path, "%s/opd.pid", run_dir);
	if (path.error)
		return path.error;
	fd = open(path.buf, flags | O_CLOEXEC | O_NOFOLLOW, 0644);
	return fd < 0 ? -errno : fd;
}

static int pid_file_read(int fd)
{
	char text[32] = "";
	uint64_t pid;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	return util_parse_u64(text, 10, INT32_MAX, &pid) < 0 ? 0 : (int)pid;
}

/* --- requests ------------------------------------------------------------------------------------------ */

int ctl_parse(char *line, size_t len, const char **verb, const char **operand)
{
	static const char *const plain[] = { "start", "stop", "dump", "reset", "status", "shutdown" };
	static const char *const with[] = { "save", "attach" };
	char *space;

	if (len && line[len - 1] == '\r')
		line[--len] = '\0';
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			return -EBADMSG;
	space = memchr(line, ' ', len);
	if (space)
		*space++ = '\0';
	*verb = line;
	*operand = space;
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		if (!strcmp(line, plain[i]))
			return space ? -EBADMSG : 0;
	for (size_t i = 0; i < ARRAY_SIZE(with); i++)
		if (!strcmp(line, with[i]))
			return space && *space ? 0 : -EBADMSG;
	return -EBADMSG;
}

/* --- server -------------------------------------------------------------------------------------------- */

struct client {
	int fd;
	uint64_t since_ns;
	size_t len;
	char line[CTL_MAX_LINE];
};

struct ctl {
	int lock_fd, listen_fd;
	ctl_request_fn *fn;
	void *arg;
	char *run_dir;
	size_t n_clients;
	struct client clients[CTL_MAX_CLIENTS];
};

int ctl_write_pid(struct ctl *c)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	if (ftruncate(c->lock_fd, 0) < 0)
		return -errno;
	return io_pwrite_full(c->lock_fd, text, (size_t)n, 0);
}

static int listen_at(const char *run_dir)
{
	struct sockaddr_un a;
	int r = socket_address(&a, run_dir), fd;
	mode_t mask;

	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	unlink(a.sun_path); /* we have the lock: whoever made it is gone */
	mask = umask(0177);
	r = bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, CTL_MAX_CLIENTS) < 0 ? -errno : 0;
	umask(mask);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

int ctl_open(struct ctl **ret, const char *run_dir, ctl_request_fn *fn, void *arg, int *other)
{
	struct ctl *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->lock_fd = c->listen_fd = -1;
	c->fn = fn;
	c->arg = arg;
	c->run_dir = strdup(run_dir);
	r = c->lock_fd = pid_file_open(run_dir, O_RDWR | O_CREAT);
	if (r >= 0 && flock(c->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		r = errno == EWOULDBLOCK ? -EBUSY : -errno;
		*other = pid_file_read(c->lock_fd);
	}
	if (r >= 0)
		r = ctl_write_pid(c);
	if (r >= 0)
		r = c->listen_fd = listen_at(run_dir);
	if (r >= 0 && c->run_dir) {
		*ret = c;
		return 0;
	}
	if (c->lock_fd >= 0)
		close(c->lock_fd);
	free(c->run_dir);
	free(c);
	return r < 0 ? r : -ENOMEM;
}

void ctl_close(struct ctl *c)
{
	struct sockaddr_un a;
	AUTO_STRBUF path = STRBUF_INIT;

	if (!c)
		return;
	for (size_t i = 0; i < c->n_clients; i++)
		close(c->clients[i].fd);
	close(c->listen_fd);
	if (socket_address(&a, c->run_dir) == 0)
		unlink(a.sun_path);
	strbuf_addf(&path, "%s/opd.pid", c->run_dir);
	if (!path.error)
		unlink(path.buf);
	close(c->lock_fd);
	free(c->run_dir);
	free(c);
}

size_t ctl_pollfds(const struct ctl *c, struct pollfd *fds)
{
	fds[0] = (struct pollfd){ .fd = c->listen_fd, .events = POLLIN };
	for (size_t i = 0; i < c->n_clients; i++)
		fds[i + 1] = (struct pollfd){ .fd = c->clients[i].fd, .events = POLLIN };
	return c->n_clients + 1;
}

static bool is_friend(int fd)
{
	struct ucred u;
	socklen_t len = sizeof(u);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &len) == 0 && (u.uid == 0 || u.uid == geteuid());
}

/* A client that does not take its answer cannot hold us up for long. */
static void answer(int fd, const struct strbuf *sb)
{
	size_t done = 0;
	uint64_t end = util_now_ns() + ANSWER_PATIENCE_MS * NSEC_PER_MSEC;

	while (done < sb->len && util_now_ns() < end) {
		ssize_t n = send(fd, sb->buf + done, sb->len - done, MSG_NOSIGNAL | MSG_DONTWAIT);
		struct pollfd p = { .fd = fd, .events = POLLOUT };

		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && (errno == EAGAIN || errno == EINTR))
			poll(&p, 1, 100);
		else
			return;
	}
}

static void refuse(int fd, const char *text)
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP(4096);

	strbuf_addf(&sb, "error %s\n", text);
	answer(fd, &sb);
}

static void serve_line(struct ctl *c, int fd, char *line, size_t len)
{
	AUTO_STRBUF reply = STRBUF_INIT_CAP(CTL_MAX_REPLY), why = STRBUF_INIT_CAP(4096);
	const char *verb, *operand;
	int r = ctl_parse(line, len, &verb, &operand);

	if (r < 0) {
		refuse(fd, "no such request");
		return;
	}
	r = c->fn(c->arg, verb, operand, &reply, &why);
	if (r < 0)
		strbuf_addf(&reply, "error %s\n", why.len ? strbuf_str(&why) : strerror(-r));
	else
		strbuf_addstr(&reply, "ok\n");
	if (reply.error)
		refuse(fd, "the answer is too long");
	else
		answer(fd, &reply);
}

/* True when the client is done with. */
static bool serve_client(struct ctl *c, struct client *k)
{
	ssize_t n = recv(k->fd, k->line + k->len, sizeof(k->line) - k->len, MSG_DONTWAIT);
	char *nl;

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		if (util_now_ns() - k->since_ns < CTL_PATIENCE_NS)
			return false;
		refuse(k->fd, "no request came");
		return true;
	}
	if (n <= 0)
		return true;
	k->len += (size_t)n;
	nl = memchr(k->line, '\n', k->len);
	if (nl) {
		*nl = '\0';
		serve_line(c, k->fd, k->line, (size_t)(nl - k->line));
		return true;
	}
	if (k->len < sizeof(k->line))
		return false;
	refuse(k->fd, "the request is too long");
	return true;
}

void ctl_serve(struct ctl *c)
{
	size_t kept = 0;
	int fd;

	while (c->n_clients < CTL_MAX_CLIENTS && (fd = accept4(c->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		if (!is_friend(fd)) {
			refuse(fd, "only root and the daemon's own user may ask");
			close(fd);
			continue;
		}
		c->clients[c->n_clients] = (struct client){ .fd = fd, .since_ns = util_now_ns() };
		c->n_clients++;
	}
	for (size_t i = 0; i < c->n_clients; i++) {
		if (serve_client(c, &c->clients[i])) {
			close(c->clients[i].fd);
			continue;
		}
		if (kept != i)
			c->clients[kept] = c->clients[i];
		kept++;
	}
	c->n_clients = kept;
}

/* --- client -------------------------------------------------------------------------------------------- */

int ctl_running(const char *run_dir)
{
	AUTO_CLOSE int fd = pid_file_open(run_dir, O_RDONLY);
	int pid;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (flock(fd, LOCK_SH | LOCK_NB) == 0)
		return 0; /* nobody holds it: stale */
	pid = pid_file_read(fd);
	return pid > 0 ? pid : -EPROTO;
}

/* Takes "ok" or "error …" off the end. */
static int last_line(struct strbuf *reply)
{
	char *s = reply->buf, *line;

	if (!reply->len || s[reply->len - 1] != '\n')
		return -EPROTO;
	s[--reply->len] = '\0';
	line = strrchr(s, '\n');
	line = line ? line + 1 : s;
	if (!strcmp(line, "ok")) {
		reply->len = (size_t)(line - s);
		*line = '\0';
		return 0;
	}
	if (strncmp(line, "error ", 6))
		return -EPROTO;
	reply->len -= (size_t)(line + 6 - s);
	memmove(s, line + 6, reply->len + 1);
	return -EREMOTEIO;
}

int ctl_call(const char *run_dir, const char *line, unsigned int timeout_ms, struct strbuf *reply)
{
	struct sockaddr_un a;
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t end = util_now_ns() + timeout_ms * NSEC_PER_MSEC;
	struct timeval patience = { .tv_sec = timeout_ms / 1000, .tv_usec = (suseconds_t)(timeout_ms % 1000) * 1000 };
	char buf[4096];
	int r = socket_address(&a, run_dir);

	if (fd < 0)
		return -errno;
	if (r < 0)
		return r;
	/* Of a daemon that is stopped the queue may be full: connecting and sending have the same patience. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	if (send(fd, line, strlen(line), MSG_NOSIGNAL) != (ssize_t)strlen(line) || send(fd, "\n", 1, MSG_NOSIGNAL) != 1)
		return -EPROTO;
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now = util_now_ns();
		ssize_t n;

		if (now >= end)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)MIN((end - now) / NSEC_PER_MSEC + 1, UINT64_C(1000))) <= 0)
			continue;
		n = recv(fd, buf, sizeof(buf), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return last_line(reply);
		if (reply->len + (size_t)n > CTL_MAX_REPLY || strbuf_add(reply, buf, (size_t)n) < 0)
			return -E2BIG;
	}
}
