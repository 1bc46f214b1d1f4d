/* SPDX-License-Identifier: GPL-3.0-or-later */
/* operf --replay LOG: the same session again from a kept event log. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "control/operf.h"
#include "lib/io.h"
#include "lib/msg.h"

/* The value of KEY= in text, as a new string; NULL if absent. */
static char *option_of(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *s = text; s && *s; s = strchr(s, '\n'), s += s != NULL)
		if (!strncmp(s, key, len) && s[len] == '=')
			return strndup(s + len + 1, strcspn(s + len + 1, "\n"));
	return NULL;
}

static bool flag_of(const char *text, const char *key, bool otherwise)
{
	AUTO_FREE char *v = option_of(text, key);

	return v ? *v == '1' : otherwise;
}

static int copy_file(int from_dir, const char *from, int to_dir, const char *to)
{
	AUTO_STRBUF sb = STRBUF_INIT_CAP((size_t)2 << 30);
	AUTO_CLOSE int fd = -1;
	int r = io_slurp_regular(from_dir, from, &sb);

	if (r < 0)
		return r;
	fd = openat(to_dir, to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	return fd < 0 ? -errno : io_write_full(fd, sb.buf ? sb.buf : "", sb.len);
}

struct copying {
	int from, to;
	uint64_t missing;
};

static int copy_image(void *arg, const char *instance, uint32_t source, uint32_t segment)
{
	struct copying *c = arg;
	char dir[300], name[320];

	snprintf(dir, sizeof(dir), "jit/%s", instance);
	snprintf(name, sizeof(name), "jit/%s/%u.jo", instance, segment);
	mkdirat(c->to, "jit", 0755);
	mkdirat(c->to, dir, 0755);
	if (copy_file(c->from, name, c->to, name) < 0)
		c->missing++;
	return 0;
}

/* The log lies in SESSION/log: the images and the kernel's symbols of that session serve the new one. */
static void copy_images(struct pipeline *p, const char *log, const char *session_dir)
{
	AUTO_STRBUF from = STRBUF_INIT;
	const char *slash = strrchr(log, '/');
	struct copying c = { -1, -1, 0 };
	struct stat a, b;

	strbuf_addf(&from, "%.*s/..", slash ? (int)(slash - log) : 1, slash ? log : ".");
	c.from = open(strbuf_str(&from), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	c.to = open(session_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c.from >= 0 && c.to >= 0 && fstat(c.from, &a) == 0 && fstat(c.to, &b) == 0 &&
	    (a.st_dev != b.st_dev || a.st_ino != b.st_ino)) {
		account_each_image(pipeline_account(p), copy_image, &c);
		(void)copy_file(c.from, "kallsyms", c.to, "kallsyms");
		(void)copy_file(c.from, "vdso", c.to, "vdso");
	}
	if (c.missing)
		msg_warn("%" PRIu64 " images of JIT code are not beside the log; their samples have no names", c.missing);
	if (c.from >= 0)
		close(c.from);
	if (c.to >= 0)
		close(c.to);
}

/* --from and --to count from the first sample: it has to be found first. */
static int first_sample(void *arg, const struct ev *e)
{
	uint64_t *first = arg;

	if (e->type == EV_SAMPLE && (!*first || e->time_ns < *first))
		*first = e->time_ns;
	return *first ? -ECANCELED : 0;
}

static int window(const struct operf *o, int fd, struct account_opts *a)
{
	struct evlog_merge *m;
	uint64_t first = 0;
	int r;

	if (!o->from_s && !o->to_s)
		return 0;
	if ((r = evlog_merge_new(&m, 0, first_sample, NULL, &first)) < 0)
		return r;
	r = evlog_replay_fd(fd, m, NULL, NULL);
	if (r >= 0)
		r = evlog_merge_finish(m);
	evlog_merge_free(m);
	if (r < 0 && r != -ECANCELED)
		return r;
	a->from_ns = first + (uint64_t)(o->from_s * 1e9);
	a->to_ns = o->to_s > 0 ? first + (uint64_t)(o->to_s * 1e9) : 0;
	return lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

static void options_beside(const char *log, struct strbuf *text)
{
	AUTO_STRBUF path = STRBUF_INIT;
	const char *slash = strrchr(log, '/');

	strbuf_addf(&path, "%.*s/options", slash ? (int)(slash - log) : 1, slash ? log : ".");
	(void)io_slurp_regular(AT_FDCWD, strbuf_str(&path), text);
}

static int replay(struct operf *o, struct pipeline *p, int fd)
{
	uint64_t bad = 0, cut = UINT64_MAX;
	struct pipeline_stats st;
	int e = pipeline_replay(p, fd, &bad, &cut);

	if (e == -EBADMSG || e == -EPROTONOSUPPORT || e == -ENOTSUP)
		return msg_error("%s: not an event log that this version can read", o->replay), e;
	if (e < 0)
		return msg_errno(e, "cannot replay %s", o->replay);
	if (bad)
		msg_warn("%s: %" PRIu64 " damaged blocks were left out", o->replay, bad);
	if (cut != UINT64_MAX)
		msg_warn("%s: ends at offset %" PRIu64 " without its closing record", o->replay, cut);
	if (!totals_samples(pipeline_totals(p)))
		return msg_error("%s: no samples in it%s", o->replay, o->from_s || o->to_s ? " between --from and --to" : ""), -ENODATA;
	copy_images(p, o->replay, o->session_dir);
	if ((e = pipeline_flush(p)) < 0)
		return msg_errno(e, "cannot write the session in %s", o->session_dir);
	pipeline_stats(p, &st);
	if (!o->quiet)
		operf_summary(o, pipeline_totals(p), &st, false);
	return 0;
}

int operf_replay(struct operf *o)
{
	AUTO_CLOSE int fd = open(o->replay, O_RDONLY | O_CLOEXEC);
	AUTO_STRBUF text = STRBUF_INIT_CAP(65536);
	AUTO_FREE char *cpu = NULL, *mhz = NULL;
	struct pipeline_opts po = { .session_dir = o->session_dir, .append = o->append };
	struct pipeline *p;
	int e;

	if (fd < 0)
		return msg_errno(errno, "cannot open %s", o->replay), 1;
	options_beside(o->replay, &text);
	cpu = option_of(strbuf_str(&text), "cpu_type");
	mhz = option_of(strbuf_str(&text), "mhz");
	po.cpu_type = cpu && *cpu ? cpu : NULL;
	po.mhz = mhz ? strtod(mhz, NULL) : 0;
	po.account.callgraph = o->callgraph || flag_of(strbuf_str(&text), "callgraph", false);
	po.account.separate_tgid = flag_of(strbuf_str(&text), "separate_tgid", true);
	po.account.separate_tid = o->separate_thread || flag_of(strbuf_str(&text), "separate_tid", false);
	po.account.separate_cpu = o->separate_cpu || flag_of(strbuf_str(&text), "separate_cpu", false);
	if ((e = window(o, fd, &po.account)) < 0)
		return msg_errno(e, "cannot read %s", o->replay), 1;
	if ((e = io_mkdirs(o->session_dir, 0755)) < 0 || (e = pipeline_new(&p, &po)) < 0)
		return msg_errno(e, "cannot use the session directory %s", o->session_dir), 1;
	e = replay(o, p, fd);
	pipeline_free(p);
	return e < 0 ? 1 : 0;
}
