/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_DAEMON_CTL_H
#define OPJIT_DAEMON_CTL_H
/*
 * How opd is spoken to. A stream socket RUN/opd.sock; one line a request (at most CTL_MAX_LINE bytes with its newline),
 * answered by lines of text and a last one "ok" or "error TEXT"; then the daemon closes. A client that sends anything
 * else, too much, or nothing for CTL_PATIENCE_NS is told so and dropped. Only root and the daemon's own user are heard.
 *
 *	start | stop | dump | reset | status | shutdown | save NAME | attach PID
 *
 * RUN is $OPJIT_RUN_DIR, else /run/opjit for root, else the session directory. RUN/opd.pid holds the number of the
 * daemon's process and is locked while it lives: a lock that can be had means that pid file and socket are stale.
 */
#include "lib/strbuf.h"
#include "lib/util.h"

#define CTL_MAX_LINE 4096
#define CTL_MAX_REPLY ((size_t)4 << 20)
#define CTL_MAX_CLIENTS 16
#define CTL_PATIENCE_NS (5 * NSEC_PER_SEC)

/* The run directory; made if make. 0 or -errno. */
int ctl_run_dir(struct strbuf *ret, const char *session_dir, bool make);

/* --- server -------------------------------------------------------------------------------------------- */
struct ctl;
/* Called with the words of a good request; adds to reply. 0: "ok" follows; -errno: "error " and its text, or what was
 * added to why. */
typedef int ctl_request_fn(void *arg, const char *verb, const char *operand, struct strbuf *reply, struct strbuf *why);

/* Takes the lock and opens the socket. -EBUSY: a daemon runs, *other is its pid. */
int ctl_open(struct ctl **ret, const char *run_dir, ctl_request_fn *fn, void *arg, int *other);
/* Closes, and removes socket and pid file. */
void ctl_close(struct ctl *c);
/* After fork: the pid in the file becomes ours. */
int ctl_write_pid(struct ctl *c);
#define CTL_MAX_POLL (CTL_MAX_CLIENTS + 1)
struct pollfd;
size_t ctl_pollfds(const struct ctl *c, struct pollfd *fds);
/* Serves what is there; never blocks. */
void ctl_serve(struct ctl *c);
/* Splits a request line in place. 0, or -EBADMSG for control characters, empty lines, unknown verbs, wrong operands. */
int ctl_parse(char *line, size_t len, const char **verb, const char **operand);

/* --- client -------------------------------------------------------------------------------------------- */
/* The daemon's pid if one runs, 0 if not, -errno. */
int ctl_running(const char *run_dir);
/* Sends a request and takes the answer without its last line. 0; -ENOENT or -ECONNREFUSED: no daemon; -EREMOTEIO: it
 * answered with an error, which is in reply; -ETIMEDOUT, -EPROTO. */
int ctl_call(const char *run_dir, const char *line, unsigned int timeout_ms, struct strbuf *reply);

#endif
