/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "daemon/pipeline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/io.h"

/*
 * Beyond the sources' lags: how long after its stamp a record may arrive. Some VMs tell from a thread of their own, which a
 * loaded machine lets wait; what it costs is memory for the samples of that time.
 */
#define SLACK_NS (250 * NSEC_PER_MSEC)
/* From when a Java VM is mapped until its agent, attached, has told what code there is. */
#define ATTACH_NS NSEC_PER_SEC

struct kept_page {
	size_t len;
	bool sample;     /* of a stream with samples alone: may go */
	uint8_t *bytes;
};

struct pipeline {
	struct resolver *resolver;
	struct session_store *store;
	struct account *account;
	struct evlog_merge *merge;
	struct evlog_writer *writer;
	uint64_t synced_ns;          /* when the log was told the clocks */
	struct pipeline_opts o;
	char *cpu_type;
	uint64_t lag_ns;
	int log_fd;
	uint64_t log_bytes;
	int log_error;
	/* flight recorder */
	struct kept_page *kept;
	size_t n_kept, kept_room, first_sample;
	uint64_t kept_sample_bytes;
	bool page_is_sample;
};

/* --- out of the merge ---------------------------------------------------------------------------------- */

static void raise_lag(struct pipeline *p, uint64_t lag_ns)
{
	/* Events alone set the lag, so a replay changes it at the same place. */
	if (MIN(lag_ns, RESOLVER_MAX_LAG_NS) + SLACK_NS > p->lag_ns) {
		p->lag_ns = MIN(lag_ns, RESOLVER_MAX_LAG_NS) + SLACK_NS;
		evlog_merge_set_lag(p->merge, p->lag_ns);
	}
}

static bool is_java_vm(const struct ev *e)
{
	const char *slash = e->type == EV_MMAP && e->u.mmap.path ? strrchr(e->u.mmap.path, '/') : NULL;

	return slash && !strcmp(slash, "/libjvm.so");
}

static int merged(void *arg, const struct ev *e)
{
	struct pipeline *p = arg;
	int r = e->type == EV_SAMPLE ? 0 : account_run(p->account);

	/* An agent may be on its way into it, and tells the code that was there before. */
	if (is_java_vm(e))
		raise_lag(p, ATTACH_NS);
	if (r >= 0)
		r = resolver_event(p->resolver, e);
	return r < 0 ? r : account_event(p->account, e);
}

static int merged_early(void *arg, const struct ev *e)
{
	struct pipeline *p = arg;
	int r;

	if (e->type == EV_EVENTDESC)
		return account_event(p->account, e);
	if ((r = account_run(p->account)) < 0 || (r = resolver_early(p->resolver, e)) < 0 || e->type != EV_JITSRC)
		return r;
	raise_lag(p, e->u.jitsrc.lag_ns);
	return 0;
}

/* --- pages --------------------------------------------------------------------------------------------- */

static int flight_keep(struct pipeline *p, const void *page, size_t len)
{
	struct kept_page *k;

	if (p->n_kept == p->kept_room) {
		size_t room = p->kept_room ? p->kept_room * 2 : 64;
		void *n = realloc(p->kept, room * sizeof(*p->kept));

		if (!n)
			return -ENOMEM;
		p->kept = n;
		p->kept_room = room;
	}
	k = &p->kept[p->n_kept];
	*k = (struct kept_page){ .len = len, .sample = p->page_is_sample, .bytes = malloc(len) };
	if (!k->bytes)
		return -ENOMEM;
	memcpy(k->bytes, page, len);
	p->n_kept++;
	p->kept_sample_bytes += k->sample ? len : 0;
	while (p->kept_sample_bytes > p->o.flight_bytes && p->first_sample < p->n_kept) {
		k = &p->kept[p->first_sample++];
		if (!k->sample || !k->bytes)
			continue;
		p->kept_sample_bytes -= k->len;
		free(k->bytes);
		k->bytes = NULL;
	}
	if (p->first_sample > 4096) { /* close the holes now and then */
		size_t n = 0;

		for (size_t i = 0; i < p->n_kept; i++)
			if (p->kept[i].bytes)
				p->kept[n++] = p->kept[i];
		p->n_kept = n;
		p->first_sample = 0;
	}
	return 0;
}

static int page_closed(void *arg, const void *page, size_t len)
{
	struct pipeline *p = arg;
	int r;

	p->log_bytes += len;
	if (p->o.flight_bytes)
		r = flight_keep(p, page, len);
	else
		r = p->log_fd >= 0 ? io_write_full(p->log_fd, page, len) : 0;
	if (r < 0 && !p->o.flight_bytes) { /* a full disk costs the log, not the profile */
		p->log_error = r;
		close(TAKE_FD(p->log_fd));
	} else if (r < 0) {
		return r;
	}
	r = evlog_merge_feed(p->merge, page, len);
	return r == -EBADMSG ? 0 : r;
}

int pipeline_save_log(struct pipeline *p, const char *path)
{
	AUTO_STRBUF tmp = STRBUF_INIT;
	AUTO_CLOSE int fd = -1;

	strbuf_addf(&tmp, "%s.tmp", path);
	if (tmp.error)
		return tmp.error;
	fd = open(tmp.buf, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < p->n_kept; i++) {
		int r = p->kept[i].bytes ? io_write_full(fd, p->kept[i].bytes, p->kept[i].len) : 0;

		if (r < 0)
			return r;
	}
	return rename(tmp.buf, path) < 0 ? -errno : 0;
}

/* --- in ------------------------------------------------------------------------------------------------ */

/*
 * Stream of an event. With the flight recorder samples go to streams of their own behind the others, since only
 * their pages may be thrown away: without mappings and code, samples have no names.
 */
static uint32_t stream_of(const struct pipeline *p, const struct ev *e)
{
	if (p->o.flight_bytes && e->type == EV_SAMPLE)
		return p->o.n_cpus + 2 + (e->cpu < p->o.n_cpus ? e->cpu : 0);
	return e->cpu < p->o.n_cpus ? e->cpu + 1 : p->o.n_cpus + 1;
}

int pipeline_event(struct pipeline *p, const struct ev *e)
{
	uint32_t stream = stream_of(p, e);
	int r;

	p->page_is_sample = stream > p->o.n_cpus + 1;
	r = evlog_write(p->writer, stream, e);
	p->page_is_sample = false;
	return r == -EINVAL || r == -E2BIG ? 0 : r;
}

int pipeline_sync(struct pipeline *p, uint64_t cpu_ns, uint64_t front_ns)
{
	uint32_t n = p->o.n_cpus + 1 + (p->o.flight_bytes ? p->o.n_cpus : 0);
	int r = 0;

	/* The wall clock may be set while a log of days is written. */
	if (front_ns - p->synced_ns >= 10 * NSEC_PER_SEC) {
		if (p->synced_ns && (r = evlog_writer_timesync(p->writer, 0, 0)) < 0)
			return r;
		p->synced_ns = front_ns;
	}
	/* The front first: code must be known before the samples are let go. */
	r = evlog_writer_sync(p->writer, p->o.n_cpus + 1, front_ns);
	for (uint32_t i = 1; i <= n && r >= 0; i++) {
		if (i == p->o.n_cpus + 1)
			continue;
		p->page_is_sample = i > p->o.n_cpus + 1;
		r = evlog_writer_sync(p->writer, i, cpu_ns);
		p->page_is_sample = false;
	}
	return r < 0 ? r : account_run(p->account);
}

int pipeline_finish(struct pipeline *p)
{
	int r = p->writer ? evlog_writer_finish(p->writer) : 0;

	if (r >= 0)
		r = evlog_merge_finish(p->merge);
	return r < 0 ? r : account_run(p->account);
}

int pipeline_replay(struct pipeline *p, int fd, uint64_t *bad_blocks, uint64_t *cut_at)
{
	int r = evlog_replay_fd(fd, p->merge, bad_blocks, cut_at);

	if (r >= 0)
		r = evlog_merge_finish(p->merge);
	return r < 0 ? r : account_run(p->account);
}

uint64_t pipeline_lag_ns(const struct pipeline *p) { return p->lag_ns; }

int pipeline_flush(struct pipeline *p)
{
	int r = account_settle(p->account);

	if (r >= 0)
		r = account_notes(p->account);
	return r < 0 ? r : session_store_flush(p->store);
}

/* --- life ---------------------------------------------------------------------------------------------- */

void pipeline_cpu(const char *proc_root, struct strbuf *name, double *mhz)
{
	AUTO_STRBUF path = STRBUF_INIT, text = STRBUF_INIT_CAP(1 << 20);
	const char *s;

	*mhz = 0;
	strbuf_addf(&path, "%s/cpuinfo", proc_root ? proc_root : "/proc");
	(void)io_slurp(AT_FDCWD, strbuf_str(&path), &text);
	s = strstr(strbuf_str(&text), "model name");
	if (s && (s = strchr(s, ':')))
		strbuf_add(name, s + 2, strcspn(s + 2, "\n"));
	else
		strbuf_addstr(name, "unknown CPU");
	s = strstr(strbuf_str(&text), "cpu MHz");
	if (s && (s = strchr(s, ':')))
		*mhz = (double)(int)(strtod(s + 1, NULL) * 10) / 10;
}

bool pipeline_is_timer(const char *const *events, size_t n)
{
	return n && (!strncmp(events[0], "cpu-clock", 9) || !strncmp(events[0], "task-clock", 10));
}

static int store_new(struct pipeline *p, const char *dir)
{
	struct session_store_opts so = {
		.dir = dir, .cpu_type = p->cpu_type, .mhz = p->o.mhz, .stacks = p->o.account.callgraph, .append = p->o.append,
		.no_sync = p->o.no_sync,
	};

	return session_store_new(&p->store, &so);
}

static int log_open(struct pipeline *p)
{
	if (!p->o.log_path || p->o.flight_bytes)
		return 0;
	p->log_fd = open(p->o.log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	return p->log_fd < 0 ? -errno : 0;
}

int pipeline_new(struct pipeline **ret, const struct pipeline_opts *o)
{
	struct pipeline *p = calloc(1, sizeof(*p));
	struct evlog_writer_opts wo = {
		.n_streams = o->n_cpus + 1 + (o->flight_bytes ? o->n_cpus : 0), .page = page_closed, .arg = p,
	};
	int r;

	if (!p)
		return -ENOMEM;
	p->o = *o;
	p->log_fd = -1;
	p->lag_ns = SLACK_NS;
	p->cpu_type = strdup(o->cpu_type ? o->cpu_type : "CPU with timer interrupt");
	if (!p->cpu_type) {
		free(p);
		return -ENOMEM;
	}
	if ((r = store_new(p, o->session_dir)) < 0 || (r = resolver_new(&p->resolver)) < 0 ||
	    (r = account_new(&p->account, p->resolver, p->store, &o->account)) < 0 ||
	    (r = evlog_merge_new(&p->merge, p->lag_ns, merged, merged_early, p)) < 0 || (r = log_open(p)) < 0 ||
	    (o->n_cpus && (r = evlog_writer_new(&p->writer, &wo)) < 0)) {
		pipeline_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

void pipeline_free(struct pipeline *p)
{
	if (!p)
		return;
	evlog_writer_free(p->writer);
	evlog_merge_free(p->merge);
	account_free(p->account);
	resolver_free(p->resolver);
	session_store_free(p->store);
	for (size_t i = 0; i < p->n_kept; i++)
		free(p->kept[i].bytes);
	free(p->kept);
	free(p->cpu_type);
	if (p->log_fd >= 0)
		close(p->log_fd);
	free(p);
}

int pipeline_reset(struct pipeline *p)
{
	int r = account_run(p->account);

	return r < 0 ? r : session_store_reset(p->store); /* numbers of files hold */
}

int pipeline_save(struct pipeline *p, const char *name)
{
	int r = account_run(p->account);

	if (r >= 0)
		r = account_notes(p->account);
	return r < 0 ? r : session_store_save(p->store, name);
}

size_t pipeline_store_bytes(const struct pipeline *p)
{
	return session_store_bytes(p->store);
}

struct account *pipeline_account(struct pipeline *p) { return p->account; }
struct resolver *pipeline_resolver(struct pipeline *p) { return p->resolver; }
const struct session_totals *pipeline_totals(struct pipeline *p) { return session_store_totals(p->store); }

void pipeline_stats(const struct pipeline *p, struct pipeline_stats *ret)
{
	ret->log_bytes = p->log_bytes;
	ret->log_error = p->log_error;
	evlog_merge_stats(p->merge, &ret->merge);
	resolver_stats(p->resolver, &ret->resolver);
}
