/* SPDX-License-Identifier: GPL-3.0-or-later */
/* convert: text in the manner of perf script, to and fro. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/map.h"
#include "lib/msg.h"
#include "report/opevlog.h"

struct script {
	FILE *f;
	struct u64map comms;   /* tid -> id in pool */
	struct strpool pool;
	struct u64map events;  /* index -> id in pool */
};

static int script_event(void *arg, const struct ev *e)
{
	struct script *s = arg;
	const uint64_t *comm, *event;
	int64_t id;

	if (e->type == EV_COMM || e->type == EV_EVENTDESC) {
		const char *name = e->type == EV_COMM ? e->u.comm.comm : e->u.desc.name;
		char plain[64] = "";
		/* One line a sample: what would break it is replaced. */
		for (size_t i = 0; name && name[i] && i < sizeof(plain) - 1; i++)
			plain[i] = (unsigned char)name[i] <= ' ' || name[i] == 0x7f ? '_' : name[i];
		id = strpool_id(&s->pool, plain, strlen(plain));
		if (id < 0)
			return (int)id;
		return e->type == EV_COMM ? u64map_put(&s->comms, (uint32_t)e->tid, (uint64_t)id) :
		       u64map_put(&s->events, e->u.desc.index, (uint64_t)id);
	}
	if (e->type != EV_SAMPLE)
		return 0;
	comm = u64map_get(&s->comms, (uint32_t)e->tid);
	if (!comm)
		comm = u64map_get(&s->comms, (uint32_t)e->pid);
	event = u64map_get(&s->events, e->u.sample.event);
	fprintf(s->f, "%s %d/%d [%03u] %" PRIu64 ".%09" PRIu64 ": %10" PRIu64 " %s: ", comm ? strpool_str(&s->pool, (uint32_t)*comm) : ":-1",
		e->pid, e->tid, e->cpu == UINT32_MAX ? 0 : e->cpu, (uint64_t)(e->time_ns / NSEC_PER_SEC), (uint64_t)(e->time_ns % NSEC_PER_SEC),
		e->u.sample.period, event ? strpool_str(&s->pool, (uint32_t)*event) : "event");
	if (!e->u.sample.n_chain)
		fprintf(s->f, "%16" PRIx64 " [unknown] ([unknown])\n", e->u.sample.ip);
	else {
		fprintf(s->f, "\n");
		for (uint32_t i = 0; i < e->u.sample.n_chain; i++)
			fprintf(s->f, "\t%16" PRIx64 " [unknown] (%s)\n", e->u.sample.chain[i], i < e->u.sample.n_kernel ? "[kernel.kallsyms]" : "[unknown]");
		fprintf(s->f, "\n");
	}
	return ferror(s->f) ? -EIO : 0;
}

int convert_script(const struct evfile *f, FILE *out)
{
	struct script s = { .f = out };
	struct evlog_merge *m = NULL;
	int ret = evfile_merge(f, script_event, NULL, &s, &m);

	evlog_merge_free(m);
	u64map_done(&s.comms);
	u64map_done(&s.events);
	strpool_done(&s.pool);
	return ret;
}

/*
 * From text: COMM [PID/]TID [CPU] SECONDS.FRACTION: [PERIOD] EVENT: and the address, on the same line or one a line behind it, up to
 * an empty line. Names of functions are left out: the log has addresses.
 */
struct from_script {
	struct evout out;
	struct strpool events;
	struct u64map comms;     /* tid -> hash of the name it was told by */
	struct ev e;             /* the sample that is being read */
	bool open;
	uint64_t chain[EV_MAX_FRAMES];
	uint64_t line, other;
};

static const char *skip(const char *s, const char *end, char c)
{
	while (s < end && *s == c)
		s++;
	return s;
}

/* Digits of a base at *s, at least one; *s behind them. */
static bool digits(const char **s, const char *end, int base, uint64_t max, uint64_t *ret)
{
	AUTO_FREE char *copy = NULL;
	const char *p = *s;

	while (p < end && strchr(base == 16 ? "0123456789abcdef" : "0123456789", *p) && *p)
		p++;
	copy = p > *s ? strndup(*s, (size_t)(p - *s)) : NULL;
	if (!copy || util_parse_u64(copy, base, max, ret) < 0)
		return false;
	*s = p;
	return true;
}

/* SECONDS.FRACTION: */
static bool stamp(const char **s, const char *end, uint64_t *ns)
{
	uint64_t seconds, fraction = 0, unit = NSEC_PER_SEC;
	const char *p = *s;

	if (!digits(&p, end, 10, UINT64_MAX / NSEC_PER_SEC - 1, &seconds) || p == end || *p++ != '.')
		return false;
	for (; p < end && *p >= '0' && *p <= '9'; p++)
		if (unit > 1) {
			unit /= 10;
			fraction += (uint64_t)(*p - '0') * unit;
		}
	if (p == end || *p++ != ':')
		return false;
	*ns = seconds * NSEC_PER_SEC + fraction;
	*s = p;
	return true;
}

/* A number of a process or thread; -1 where there is none. */
static bool task(const char **s, const char *end, int32_t *ret)
{
	bool none = *s < end && **s == '-';
	uint64_t v;

	*s += none;
	if (!digits(s, end, 10, INT32_MAX, &v))
		return false;
	*ret = none ? -1 : (int32_t)v;
	return true;
}

/* Is an address the kernel's? What stands in parentheses at the end tells, or its top bit. */
static bool is_kernel(uint64_t ip, const char *s, const char *end)
{
	static const char mark[] = "([kernel";

	return ip >> 63 || memmem(s, (size_t)(end - s), mark, sizeof(mark) - 1);
}

/* " [CPU] SECONDS.FRACTION:" at s, the CPU where it was recorded: what stands before is the thread, and before it the name. */
static bool head_at(const char *line, const char *s, const char *end, struct ev *e, const char **comm_end, const char **rest)
{
	const char *p = s + 1, *id;
	uint64_t cpu = UINT32_MAX, ns;
	int32_t pid, tid;

	if (*p == '[') {
		if (p++, !digits(&p, end, 10, UINT32_MAX - 1, &cpu) || end - p < 2 || p[0] != ']')
			return false;
		p = skip(p + 1, end, ' ');
	}
	while (s > line && s[-1] == ' ')
		s--;
	id = s;
	if (!stamp(&p, end, &ns))
		return false;
	while (id > line && id[-1] != ' ')
		id--;
	*comm_end = id;
	if (!task(&id, s, &pid))
		return false;
	tid = pid;
	if (id < s && *id == '/' && (id++, !task(&id, s, &tid)))
		return false;
	*e = (struct ev){ .type = EV_SAMPLE, .cpu = (uint32_t)cpu, .time_ns = ns, .pid = pid, .tid = tid };
	*rest = p;
	return id == s;
}

static int tell_comm(struct from_script *s, const char *comm, size_t len)
{
	AUTO_FREE char *name = strndup(comm, len);
	uint64_t hash = util_hash_bytes(comm, len);
	const uint64_t *have = u64map_get(&s->comms, (uint32_t)s->e.tid);
	struct ev e = { .type = EV_COMM, .cpu = s->e.cpu, .time_ns = s->e.time_ns, .pid = s->e.pid, .tid = s->e.tid, .u.comm.comm = name };
	int ret;

	if (!name)
		return -ENOMEM;
	if (have && *have == hash)
		return 0;
	ret = u64map_put(&s->comms, (uint32_t)s->e.tid, hash);
	return ret < 0 ? ret : evlog_write(s->out.w, 1, &e);
}

static int tell_event(struct from_script *s, const char *event, size_t len)
{
	uint32_t before = s->events.n;
	int64_t id = strpool_id(&s->events, event, len);
	struct ev e = { .type = EV_EVENTDESC, .cpu = UINT32_MAX, .time_ns = s->e.time_ns, .pid = -1, .tid = -1 };

	if (id < 0)
		return (int)id;
	s->e.u.sample.event = e.u.desc.index = (uint32_t)id;
	e.u.desc.name = e.u.desc.desc = strpool_str(&s->events, (uint32_t)id);
	e.u.desc.flags = strstr(e.u.desc.name, "-clock") != NULL;
	return (uint32_t)id < before ? 0 : evlog_write(s->out.w, 1, &e);
}

static int close_sample(struct from_script *s)
{
	struct ev *e = &s->e;

	if (!s->open)
		return 0;
	s->open = false;
	e->u.sample.chain = s->chain;
	if (e->u.sample.n_chain)
		e->u.sample.ip = s->chain[0];
	return evlog_write(s->out.w, 1, e);
}

static int take_head(struct from_script *s, const char *line, const char *comm_end, const char *p, const char *end)
{
	const char *event = skip(p, end, ' '), *colon;
	uint64_t period = 1, ip;
	int ret;

	line = skip(line, comm_end, ' ');
	while (comm_end > line && comm_end[-1] == ' ')
		comm_end--;
	ret = tell_comm(s, line, (size_t)(comm_end - line));
	if (digits(&event, end, 10, UINT64_MAX, &period) && event < end && *event != ' ') {
		event = skip(p, end, ' '); /* a name that begins with a digit */
		period = 1;
	}
	event = skip(event, end, ' ');
	/* the name ends at a colon before a space or the end: it may have others in it */
	for (colon = event; colon < end && !(*colon == ':' && (colon + 1 == end || colon[1] == ' ')); colon++)
		;
	if (!ret)
		ret = tell_event(s, event, (size_t)(colon - event));
	s->e.u.sample.period = period;
	p = skip(colon < end ? colon + 1 : end, end, ' ');
	if (digits(&p, end, 16, UINT64_MAX, &ip)) {
		s->e.u.sample.ip = ip;
		s->e.u.sample.mode = is_kernel(ip, p, end) ? EV_KERNEL : EV_USER;
	}
	s->open = true;
	return ret;
}

/* A line of the call chain; false: it is none. */
static bool take_frame(struct from_script *s, const char *line, const char *end)
{
	struct ev *e = &s->e;
	const char *p = line;
	uint64_t ip;
	bool kernel;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (p == line || !digits(&p, end, 16, UINT64_MAX, &ip) || (p < end && *p != ' '))
		return false;
	if (e->u.sample.n_chain == EV_MAX_FRAMES) {
		e->u.sample.truncated = 1;
		return true;
	}
	kernel = is_kernel(ip, p, end);
	if (!e->u.sample.n_chain)
		e->u.sample.mode = kernel ? EV_KERNEL : EV_USER;
	if (kernel && e->u.sample.n_kernel == e->u.sample.n_chain)
		e->u.sample.n_kernel++;
	s->chain[e->u.sample.n_chain++] = ip;
	return true;
}

static bool may_be_stamp(const char *p)
{
	return p[0] == ' ' && (p[1] == '[' || (p[1] >= '0' && p[1] <= '9'));
}

static int take_line(struct from_script *s, const char *line, const char *end)
{
	const char *comm_end, *rest;
	struct ev e;
	int ret;

	while (end > line && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	if (line == end)
		return close_sample(s);
	if (memchr(line, 0, (size_t)(end - line))) {
		s->other++;
		return 0;
	}
	if (s->open && take_frame(s, line, end))
		return 0;
	for (const char *p = line; *line != '#' && end - p > 2; p++)
		if (may_be_stamp(p) && head_at(line, p, end, &e, &comm_end, &rest)) {
			ret = close_sample(s);
			s->e = e;
			return ret ? ret : take_head(s, line, comm_end, rest, end);
		}
	s->other += *line != '#';
	return 0;
}

int convert_from_script(const struct evfile *f, const char *output)
{
	struct evlog_meta anchor = { .have_init = true, .anchor_real = 1, .machine = "script" };
	struct from_script *s = calloc(1, sizeof(*s));
	const char *p = (const char *)f->data, *end = p + f->len;
	int ret = s ? evout_open(&s->out, output, 1, &anchor) : -ENOMEM;

	while (!ret && p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		s->line++;
		ret = take_line(s, p, nl ? nl : end);
		p = nl ? nl + 1 : end;
	}
	if (!ret)
		ret = close_sample(s);
	if (!ret && !s->events.n) {
		msg_error("%s: neither a log nor text as perf script writes it", f->name);
		ret = -EBADMSG;
	}
	if (!s)
		return ret;
	ret = evout_close(&s->out, ret);
	if (!ret && s->other)
		msg_warn("%s: %" PRIu64 " lines are no samples and were left out", f->name, s->other);
	strpool_done(&s->events);
	u64map_done(&s->comms);
	free(s);
	return ret;
}
