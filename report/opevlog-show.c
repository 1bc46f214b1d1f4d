/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dump, stat, check, follow. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "format/evlog/ftracepage.h"
#include "format/evlog/text.h"
#include "lib/msg.h"
#include "report/opevlog.h"

/* --- dump ---------------------------------------------------------------------------------------------- */
struct dump {
	const struct options *o;
	struct evlog_merge *m;
	struct strbuf line;
};

static int put_line(struct strbuf *line)
{
	int ret = strbuf_addch(line, '\n');

	if (ret < 0)
		return ret;
	if (fwrite(line->buf, 1, line->len, stdout) != line->len)
		return -EPIPE;
	strbuf_reset(line);
	return 0;
}

static int dump_event(void *arg, const struct ev *e)
{
	struct dump *d = arg;

	if (!filter_takes(&d->o->filter, evlog_merge_meta(d->m), e))
		return 0;
	if (d->o->json)
		evlog_json(&d->line, e);
	else
		evlog_text(&d->line, e);
	return put_line(&d->line);
}

static int dump_user(void *arg, const struct evlog_meta *meta, uint32_t stream, const struct evlog_cursor *c)
{
	struct dump *d = arg;
	struct pmclog_ev *ev = calloc(1, sizeof(*ev));
	const struct evlog_user_event *u = c->id < ARRAY_SIZE(meta->user) ? &meta->user[c->id] : NULL;
	uint64_t real = evlog_meta_realtime(meta, c->time_ns);

	if (!ev)
		return -ENOMEM;
	*ev = (struct pmclog_ev){ .pl_type = PMCLOG_TYPE_USER, .pl_abi = PMCLOG_ABI_OPEL, .pl_tsc = c->clock };
	ev->pl_ts.tv_sec = (time_t)(real / NSEC_PER_SEC);
	ev->pl_ts.tv_nsec = (long)(real % NSEC_PER_SEC);
	ev->pl_u.pl_user = (struct pmclog_ev_user){ c->id, u ? u->name : NULL, u ? u->fields : NULL, c->body, c->body_len, c->swap };
	if (d->o->json)
		pmclog_json(&d->line, ev);
	else
		pmclog_text(&d->line, ev);
	free(ev);
	return put_line(&d->line);
}

static const char *why(int err)
{
	switch (err) {
	case EBADMSG:
		return "malformed";
	case ENOTSUP:
		return "a type or format that is not known";
	case EPROTO:
		return "does not begin with INITIALIZE";
	}
	return strerror(err);
}

/* All records by the record-wise reader. The state it ended with, or -errno of the output. */
static int each_record(const struct options *o, const struct evfile *f, int (*fn)(void *, const struct pmclog_ev *), void *arg,
		       struct pmclog_ev *ev, int *err)
{
	struct pmclog_options po = { .size = sizeof(po), .lenient = o->lenient };
	void *p = pmclog_open_opts(PMCLOG_FD_NONE, &po);
	size_t pos = 0;
	int ret = 0;

	if (!p)
		return -ENOMEM;
	for (;;) {
		while (!pmclog_read(p, ev)) {
			ret = fn ? fn(arg, ev) : 0;
			if (ret < 0)
				goto out;
		}
		*err = errno;
		if (ev->pl_state == PMCLOG_ERROR || pos == f->len)
			break;
		size_t n = MIN(f->len - pos, (size_t)1 << 30);
		pmclog_feed(p, (const char *)f->data + pos, (int)n);
		pos += n;
	}
	ret = (int)ev->pl_state;
out:
	pmclog_close(p);
	return ret;
}

static int dump_record(void *arg, const struct pmclog_ev *ev)
{
	struct dump *d = arg;

	if (d->o->json)
		pmclog_json(&d->line, ev);
	else
		pmclog_text(&d->line, ev);
	return put_line(&d->line);
}

/* What the state at the end of a log means. closed: CLOSELOG was the last record. 0 or -EBADMSG; said. */
static int tell_end(const struct evfile *f, const struct pmclog_ev *ev, int state, int err, bool closed, bool quiet)
{
	if (state == PMCLOG_ERROR) {
		msg_error("%s: offset %lld: %s", f->name, (long long)ev->pl_offset, why(err));
		return -EBADMSG;
	}
	if (closed)
		return 0;
	if (!quiet)
		msg_warn("%s: offset %lld: the log ends here without being closed%s", f->name, (long long)ev->pl_offset,
			 (uint64_t)ev->pl_offset < f->len ? ", inside a record" : "");
	return -EBADMSG;
}

static int dump_raw(const struct options *o, const struct evfile *f, struct dump *d)
{
	struct pmclog_ev *ev = calloc(1, sizeof(*ev));
	int state, err = 0, ret;

	if (!ev)
		return -ENOMEM;
	state = each_record(o, f, dump_record, d, ev, &err);
	ret = state < 0 ? state : tell_end(f, ev, state, err, state == PMCLOG_EOF, false);
	/* A log that was cut has been shown as far as it goes. */
	ret = state == PMCLOG_ERROR || state < 0 ? ret : 0;
	free(ev);
	return ret;
}

static int dump_ftrace(const struct options *o, const struct evfile *f)
{
	bool big = strstr(o->ftrace, "be"), old = strstr(o->ftrace, "old");
	unsigned int lsize = 8;
	uint64_t size = 4096, v;
	AUTO_FREE char *spec = strdup(o->ftrace);
	char *rest = spec;

	for (char *word; spec && (word = strsep(&rest, ","));) {
		if (!util_parse_u64(word, 10, 1 << 20, &v)) {
			if (v == 4 || v == 8)
				lsize = (unsigned int)v;
			else
				size = v;
		} else if (strcmp(word, "le") && strcmp(word, "be") && strcmp(word, "old")) {
			msg_error("--ftrace=%s: %s is none of le, be, 4, 8, old or a page size", o->ftrace, word);
			return -EINVAL;
		}
	}
	if (size < 64) {
		msg_error("--ftrace=%s: pages that small do not exist", o->ftrace);
		return -EINVAL;
	}
	for (size_t at = 0; at < f->len; at += size) {
		struct ftrace_page pg;
		struct ftrace_event e;
		int ret = ftrace_page_open(&pg, f->data + at, MIN(f->len - at, size), big, lsize, old);
		if (ret < 0) {
			msg_error("%s: offset %zu: not a page of a trace buffer", f->name, at);
			return ret;
		}
		if (pg.lost)
			printf("%" PRIu64 ".%09" PRIu64 " lost count=%" PRId64 "\n", (uint64_t)(pg.time / NSEC_PER_SEC),
			       (uint64_t)(pg.time % NSEC_PER_SEC), pg.lost);
		while ((ret = ftrace_page_next(&pg, &e)) > 0) {
			printf("%" PRIu64 ".%09" PRIu64 " event offset=%zu len=%u data=", (uint64_t)(e.time / NSEC_PER_SEC),
			       (uint64_t)(e.time % NSEC_PER_SEC), at + e.offset, e.len);
			for (uint32_t i = 0; i < e.len; i++)
				printf("%02x", ((const uint8_t *)e.data)[i]);
			printf("\n");
		}
		if (ret < 0) {
			msg_error("%s: offset %zu: malformed event", f->name, at + (size_t)(pg.p - pg.data));
			return ret;
		}
	}
	return 0;
}

static int dump_one(const struct options *o, const char *name)
{
	struct dump d = { .o = o, .line = STRBUF_INIT };
	struct evfile f;
	int ret = evfile_open(&f, name);

	if (ret < 0)
		return ret;
	if (o->ftrace)
		ret = dump_ftrace(o, &f);
	else if (o->raw || !evfile_is_opel(&f))
		ret = dump_raw(o, &f, &d);
	else
		ret = evfile_merge(&f, dump_event, dump_user, &d, &d.m);
	evlog_merge_free(d.m);
	strbuf_done(&d.line);
	evfile_close(&f);
	if (ret == -EPIPE || fflush(stdout))
		return -EPIPE;
	return ret;
}

static int each_file(const struct options *o, char **files, int (*fn)(const struct options *, const char *))
{
	int ret = 0;

	for (; files && *files; files++) {
		int one = fn(o, *files);
		ret = one < 0 ? one : ret;
	}
	return ret;
}

int cmd_dump(const struct options *o, char **files)
{
	return each_file(o, files, dump_one);
}

/* --- stat ---------------------------------------------------------------------------------------------- */
struct stat_ {
	uint64_t n[EV_TYPE_MAX], user, lost, first, last, frames;
	uint64_t rec[0x120], records, rec_lost;
	struct timespec ts_first, ts_last;
	enum pmclog_abi abi;
	bool closed;
};

static int stat_event(void *arg, const struct ev *e)
{
	struct stat_ *s = arg;

	s->n[e->type < EV_TYPE_MAX ? e->type : 0]++;
	if (e->type == EV_LOST)
		s->lost += e->u.lost.count;
	if (e->type == EV_SAMPLE) {
		s->frames += e->u.sample.n_chain;
		if (!s->first)
			s->first = e->time_ns;
		s->last = e->time_ns;
	}
	return 0;
}
static int stat_user(void *arg, const struct evlog_meta *meta, uint32_t stream, const struct evlog_cursor *c)
{
	((struct stat_ *)arg)->user++;
	return 0;
}
static int stat_record(void *arg, const struct pmclog_ev *ev)
{
	struct stat_ *s = arg;

	s->rec[(unsigned int)ev->pl_type < ARRAY_SIZE(s->rec) ? ev->pl_type : 0]++;
	if (!s->records++)
		s->ts_first = ev->pl_ts;
	s->ts_last = ev->pl_ts;
	s->abi = ev->pl_abi;
	s->closed = ev->pl_type == PMCLOG_TYPE_CLOSELOG;
	return 0;
}

static int stat_hwpmc(const struct options *o, const struct evfile *f)
{
	struct stat_ *s = calloc(1, sizeof(*s));
	struct pmclog_ev *ev = calloc(1, sizeof(*ev));
	int state, err = 0, ret = -ENOMEM;

	if (s && ev) {
		state = each_record(o, f, stat_record, s, ev, &err);
		printf(o->json ? "{\"file\":" : "file ");
		AUTO_STRBUF q = STRBUF_INIT;
		evlog_quote(&q, f->name, strlen(f->name));
		printf(o->json ? "%s,\"format\":\"%s\",\"bytes\":%zu,\"records\":%" PRIu64 : "%s format %s bytes %zu records %" PRIu64 "\n",
		       strbuf_str(&q), pmclog_abi_name(s->abi), f->len, s->records);
		for (unsigned int i = 0; i < ARRAY_SIZE(s->rec); i++)
			if (s->rec[i])
				printf(o->json ? ",\"%s\":%" PRIu64 : "  %-16s %12" PRIu64 "\n", pmclog_type_name((enum pmclog_type)i), s->rec[i]);
		printf(o->json ? ",\"seconds\":%.9f}\n" : "seconds %.9f\n", (double)(s->ts_last.tv_sec - s->ts_first.tv_sec) +
		       (double)(s->ts_last.tv_nsec - s->ts_first.tv_nsec) / 1e9);
		ret = tell_end(f, ev, state, err, state == PMCLOG_EOF, false);
	}
	free(s);
	free(ev);
	return ret;
}

static void stat_streams(const struct options *o, const struct evfile *f)
{
	struct { uint64_t pages, bytes, lost; } *st = calloc(EVLOG_MAX_STREAMS + 1, sizeof(*st));
	struct evwalk w;

	if (!st)
		return;
	evwalk_begin(&w, f);
	while (evwalk_next(&w) > 0) {
		st[w.pg.stream].pages++;
		st[w.pg.stream].bytes += w.pg.used;
		st[w.pg.stream].lost = MAX(st[w.pg.stream].lost, w.pg.lost);
	}
	evwalk_end(&w);
	for (uint32_t i = 1; i <= EVLOG_MAX_STREAMS; i++)
		if (st[i].bytes || st[i].lost)
			printf("  stream %-5u pages %8" PRIu64 "  bytes %10" PRIu64 "  lost %" PRIu64 "\n", i, st[i].pages, st[i].bytes, st[i].lost);
	free(st);
}

static int stat_one(const struct options *o, const char *name)
{
	struct stat_ *s;
	struct evlog_merge *m = NULL;
	struct evlog_merge_stats st = { 0 };
	uint64_t total = 0;
	struct evfile f;
	double seconds;
	int ret = evfile_open(&f, name);

	if (ret < 0)
		return ret;
	if (!evfile_is_opel(&f)) {
		ret = stat_hwpmc(o, &f);
		evfile_close(&f);
		return ret;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	ret = evfile_merge(&f, stat_event, stat_user, s, &m);
	if (m)
		evlog_merge_stats(m, &st);
	for (uint32_t i = 0; i < EV_TYPE_MAX; i++)
		total += s->n[i];
	total += s->user;
	seconds = (double)(s->last - s->first) / 1e9;
	AUTO_STRBUF q = STRBUF_INIT;
	evlog_quote(&q, f.name, strlen(f.name));
	printf(o->json ? "{\"file\":%s,\"format\":\"opel\",\"bytes\":%zu,\"events\":%" PRIu64 ",\"lost_records\":%" PRIu64 ",\"seconds\":%.9f,\"closed\":%s"
	       : "file %s format opel\nbytes %zu\nevents %" PRIu64 "\nlost %" PRIu64 "\nseconds %.9f\nclosed %s\n",
	       strbuf_str(&q), f.len, total, s->lost, seconds, st.closed ? "true" : "false");
	for (uint32_t i = 1; i < EV_TYPE_MAX; i++)
		if (s->n[i])
			printf(o->json ? ",\"%s\":%" PRIu64 : "  %-10s %12" PRIu64 "\n", evlog_type_name(i), s->n[i]);
	if (s->user)
		printf(o->json ? ",\"user\":%" PRIu64 : "  user       %12" PRIu64 "\n", s->user);
	if (o->json)
		printf(",\"bad_pages\":%" PRIu64 "}\n", st.bad_pages);
	else {
		if (seconds > 0)
			printf("samples a second %.1f, frames a sample %.1f, bytes an event %.1f\n", (double)s->n[EV_SAMPLE] / seconds,
			       s->n[EV_SAMPLE] ? (double)s->frames / (double)s->n[EV_SAMPLE] : 0.0, total ? (double)f.len / (double)total : 0.0);
		stat_streams(o, &f);
	}
	evlog_merge_free(m);
	free(s);
	evfile_close(&f);
	return ret;
}

int cmd_stat(const struct options *o, char **files)
{
	return each_file(o, files, stat_one);
}

/* --- check --------------------------------------------------------------------------------------------- */
static int check_one(const struct options *o, const char *name)
{
	struct pmclog_ev *ev = calloc(1, sizeof(*ev));
	struct stat_ *s = calloc(1, sizeof(*s));
	struct evfile f;
	int state, err = 0, ret = evfile_open(&f, name);

	if (ret < 0 || !ev || !s) {
		free(ev);
		free(s);
		return ret < 0 ? ret : -ENOMEM;
	}
	state = each_record(o, &f, stat_record, s, ev, &err);
	ret = state < 0 ? state : tell_end(&f, ev, state, err, s->closed && state == PMCLOG_EOF, false);
	if (!ret)
		printf("%s: %s, %" PRIu64 " records, well-formed\n", name, pmclog_abi_name(s->abi), s->records);
	free(ev);
	free(s);
	evfile_close(&f);
	return ret;
}

int cmd_check(const struct options *o, char **files)
{
	return each_file(o, files, check_one);
}

/* --- follow -------------------------------------------------------------------------------------------- */
int cmd_follow(const struct options *o, char **files)
{
	struct pmclog_options po = { .size = sizeof(po), .lenient = o->lenient };
	AUTO_CLOSE int fd = strcmp(files[0], "-") ? open(files[0], O_RDONLY | O_CLOEXEC) : dup(0);
	struct dump d = { .o = o, .line = STRBUF_INIT };
	struct pmclog_ev *ev = calloc(1, sizeof(*ev));
	struct evfile f = { .name = files[0] };
	bool closed = false;
	double waited = 0;
	int ret = 0, err;
	void *p;

	if (fd < 0) {
		free(ev);
		return msg_errno(errno, "%s", files[0]);
	}
	p = pmclog_open_opts(fd, &po);
	while (p && ev && !ret && !closed) {
		if (!pmclog_read(p, ev)) {
			closed = ev->pl_type == PMCLOG_TYPE_CLOSELOG;
			ret = dump_record(&d, ev);
			waited = 0;
			continue;
		}
		err = errno;
		fflush(stdout);
		if (ev->pl_state == PMCLOG_ERROR)
			ret = tell_end(&f, ev, PMCLOG_ERROR, err, false, false);
		else if (o->idle > 0 && waited >= o->idle)
			break;
		else
			usleep(50000);
		waited += 0.05;
	}
	pmclog_close(p);
	free(ev);
	strbuf_done(&d.line);
	return fflush(stdout) ? -EPIPE : ret;
}
