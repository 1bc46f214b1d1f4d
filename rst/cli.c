/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "lib/io.h"
#include "rst/cli.h"

static ssize_t read_fd(void *arg, void *buf, size_t len)
{
	const struct cli_in *ci = arg;
	ssize_t n;

	do
		n = read(ci->fd, buf, len);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

int cli_open(struct cli_in *ci, const char *name)
{
	const char *why = "";
	int rc;

	memset(ci, 0, sizeof(*ci));
	ci->fd = -1;
	ci->version = RST_VERSION;
	ci->name = !name || !strcmp(name, "-") ? "stdin" : name;
	ci->fd = !name || !strcmp(name, "-") ? dup(STDIN_FILENO) : open(name, O_RDONLY | O_CLOEXEC);
	if (ci->fd < 0)
		return ci->error = msg_errno(errno, "%s: cannot be opened", ci->name);
	ci->buf = malloc(CLI_BUF_RECS * RST_REC_SIZE);
	if (!ci->buf)
		return ci->error = msg_errno(ENOMEM, "%s", ci->name);
	rc = rst_in_new(&ci->in, read_fd, ci, &why);
	if (rc == -EBADMSG || rc == -EPROTONOSUPPORT || rc == -ENODATA)
		msg_error("%s: %s", ci->name, why);
	else if (rc)
		msg_errno(rc, "%s: cannot be read", ci->name);
	return ci->error = rc;
}

static void say_damage(struct cli_in *ci)
{
	struct rst_in_info i;

	rst_in_info(ci->in, &i);
	if (ci->error != -EBADMSG && ci->error != -EPROTONOSUPPORT) {
		msg_errno(ci->error, "%s: reading stopped after %" PRIu64 " records", ci->name, i.n_recs);
		return;
	}
	msg_error("%s: %s: %s form%s, whole up to offset %" PRIu64 "%s (%" PRIu64 " sections, %" PRIu64
		  " records), %" PRIu64 " bytes of the file read", ci->name, i.fault ? i.fault : "damaged",
		  rst_container_name(i.container), i.gzip ? " in gzip" : "", i.data_offset,
		  i.gzip ? " of the gunzipped data" : "", i.n_sections, i.n_recs, i.in_offset);
}

const uint8_t *cli_next(struct cli_in *ci)
{
	if (ci->pos == ci->n) {
		ssize_t n = ci->error ? 0 : rst_in_read(ci->in, ci->buf, CLI_BUF_RECS);

		ci->pos = ci->n = 0;
		if (n < 0) {
			ci->error = (int)n;
			say_damage(ci);
		}
		if (n <= 0)
			return NULL;
		ci->n = (size_t)n;
		if (!ci->recno) {
			int v = rst_header_version(ci->buf);

			ci->version = v < 0 ? RST_VERSION : (unsigned int)v;
		}
	}
	ci->recno++;
	return ci->buf + ci->pos++ * RST_REC_SIZE;
}

void cli_close(struct cli_in *ci)
{
	rst_in_free(ci->in);
	free(ci->buf);
	if (ci->fd >= 0)
		close(ci->fd);
	ci->in = NULL;
	ci->buf = NULL;
	ci->fd = -1;
}

static int write_fd(void *arg, const void *buf, size_t len)
{
	return io_write_full(((struct cli_out *)arg)->fd, buf, len);
}

int cli_out_open(struct cli_out *co, const char *name, const struct rst_out_opts *o)
{
	int rc;

	memset(co, 0, sizeof(*co));
	co->is_stdout = !name || !strcmp(name, "-");
	co->name = co->is_stdout ? "stdout" : name;
	if (co->is_stdout) {
		if (isatty(STDOUT_FILENO)) {
			msg_error("the output is binary and stdout is a terminal; redirect it or use -o FILE");
			co->fd = -1;
			return -ENOTTY;
		}
		co->fd = dup(STDOUT_FILENO);
	} else {
		struct stat st;

		/* Not over a device or pipe: that is written in place. */
		if (stat(name, &st) == 0 && !S_ISREG(st.st_mode)) {
			co->fd = open(name, O_WRONLY | O_CLOEXEC);
		} else if (asprintf(&co->tmp, "%s.tmp-%d", name, (int)getpid()) >= 0) {
			co->fd = open(co->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		} else {
			co->tmp = NULL;
			co->fd = -1;
			errno = ENOMEM;
		}
	}
	if (co->fd < 0)
		return msg_errno(errno, "%s: cannot be written", co->name);
	rc = rst_out_new(&co->out, o, write_fd, co);
	return rc ? msg_errno(rc, "%s", co->name) : 0;
}

static int say_write(struct cli_out *co, int rc)
{
	struct rst_out_info i;

	rst_out_info(co->out, &i);
	if (rc == -EILSEQ)
		msg_error("%s: record %" PRIu64 ": %s; use rzx, or --lossy", co->name, i.bad_rec,
			  i.fault ? i.fault : "refused");
	else
		msg_errno(rc, "%s: writing failed", co->name);
	return rc;
}

int cli_out_write(struct cli_out *co, const uint8_t *recs, size_t n)
{
	return rst_out_write(co->out, recs, n); /* said once, in finish */
}

int cli_out_finish(struct cli_out *co, bool good, const uint8_t *tail, size_t n_tail)
{
	int rc = 0;

	if (co->out) {
		rc = rst_out_finish(co->out, tail, n_tail);
		if (rc)
			say_write(co, rc);
	}
	rst_out_free(co->out);
	if (co->fd >= 0 && close(co->fd) && !rc)
		rc = msg_errno(errno, "%s: closing failed", co->name);
	if (co->tmp && good && !rc && rename(co->tmp, co->name))
		rc = msg_errno(errno, "%s: cannot be put in place", co->name);
	if (co->tmp && (!good || rc))
		unlink(co->tmp);
	free(co->tmp);
	memset(co, 0, sizeof(*co));
	co->fd = -1;
	return rc;
}

static bool ends(const char *s, size_t *len, const char *suffix)
{
	size_t n = strlen(suffix);

	if (*len < n || memcmp(s + *len - n, suffix, n))
		return false;
	*len -= n;
	return true;
}

enum rst_container cli_container_of(const char *name, bool *gzip)
{
	size_t len = strlen(name);

	*gzip = ends(name, &len, ".gz");
	if (ends(name, &len, ".rz2"))
		return RST_RZ2;
	if (ends(name, &len, ".rz3"))
		return RST_RZ3;
	return ends(name, &len, ".rzx") ? RST_RZX : RST_RAW;
}

int cli_parse_count(const char *s, uint64_t *n, bool *instrs)
{
	char digits[24];
	size_t len = strlen(s);

	*instrs = len && s[len - 1] == 'i';
	if (len >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, s, len + 1);
	if (*instrs)
		digits[len - 1] = 0;
	return util_parse_u64(digits, 10, UINT64_MAX, n);
}
