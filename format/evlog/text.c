/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/evlog/text.h"

#include <inttypes.h>
#include <string.h>

static const char *const type_names[EV_TYPE_MAX] = {
	[EV_SAMPLE] = "sample", [EV_MMAP] = "mmap", [EV_COMM] = "comm", [EV_FORK] = "fork", [EV_EXIT] = "exit",
	[EV_LOST] = "lost", [EV_KSYMBOL] = "ksymbol", [EV_JIT] = "jit", [EV_JITSRC] = "jitsrc", [EV_PROC] = "proc",
	[EV_SYNC] = "sync", [EV_MUNMAP] = "munmap", [EV_EVENTDESC] = "eventdesc", [EV_THROTTLE] = "throttle",
};

const char *evlog_type_name(uint32_t type)
{
	return type < EV_TYPE_MAX && type_names[type] ? type_names[type] : "?";
}

/* Length of the UTF-8 sequence at s, 0 if it is none. */
static size_t utf8_len(const unsigned char *s, size_t left)
{
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 :
		   s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;

	if (!n || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return n;
}

int evlog_quote(struct strbuf *sb, const char *str, size_t len)
{
	const unsigned char *s = (const unsigned char *)str;

	if (!s)
		return strbuf_addstr(sb, "null");
	strbuf_addch(sb, '"');
	for (size_t i = 0; i < len;) {
		size_t n = utf8_len(s + i, len - i);
		if (!n || s[i] < 0x20 || s[i] == 0x7f) {
			strbuf_addf(sb, "\\u%04x", s[i++]);
			continue;
		}
		if (s[i] == '"' || s[i] == '\\')
			strbuf_addch(sb, '\\');
		strbuf_add(sb, s + i, n);
		i += n;
	}
	return strbuf_addch(sb, '"');
}

/* One writer for both shapes: "name=value" or "\"name\":value". */
struct out {
	struct strbuf *sb;
	bool json;
};

static void key(const struct out *o, const char *name)
{
	if (o->json)
		strbuf_addf(o->sb, ",\"%s\":", name);
	else
		strbuf_addf(o->sb, " %s=", name);
}
static void num(const struct out *o, const char *name, uint64_t v)
{
	key(o, name);
	strbuf_addf(o->sb, "%" PRIu64, v);
}
static void snum(const struct out *o, const char *name, int64_t v)
{
	key(o, name);
	strbuf_addf(o->sb, "%" PRId64, v);
}
static void hex(const struct out *o, const char *name, uint64_t v)
{
	key(o, name);
	strbuf_addf(o->sb, o->json ? "\"0x%" PRIx64 "\"" : "0x%" PRIx64, v);
}
static void str(const struct out *o, const char *name, const char *s, size_t len)
{
	key(o, name);
	evlog_quote(o->sb, s, len);
}
static void cstr(const struct out *o, const char *name, const char *s)
{
	str(o, name, s, s ? strlen(s) : 0);
}

static void body_sample(const struct out *o, const struct ev *e)
{
	static const char *const modes[] = { "unknown", "kernel", "user", "hypervisor" };

	hex(o, "ip", e->u.sample.ip);
	num(o, "period", e->u.sample.period);
	num(o, "event", e->u.sample.event);
	cstr(o, "mode", e->u.sample.mode < ARRAY_SIZE(modes) ? modes[e->u.sample.mode] : "?");
	if (e->u.sample.truncated)
		num(o, "truncated", e->u.sample.truncated);
	if (!e->u.sample.n_chain)
		return;
	num(o, "n_kernel", e->u.sample.n_kernel);
	key(o, "chain");
	strbuf_addch(o->sb, '[');
	for (uint32_t i = 0; i < e->u.sample.n_chain; i++)
		strbuf_addf(o->sb, o->json ? "%s\"0x%" PRIx64 "\"" : "%s0x%" PRIx64, i ? "," : "",
			    e->u.sample.chain[i]);
	strbuf_addch(o->sb, ']');
}

static void body_jit(const struct out *o, const struct ev *e)
{
	static const char *const types[] = { "?", "load", "unload", "move", "amend", "heap", "close" };
	const struct jit_event *j = &e->u.jit.e;

	num(o, "source", e->u.jit.source);
	cstr(o, "what", j->type < ARRAY_SIZE(types) ? types[j->type] : "?");
	num(o, "kind", j->kind);
	snum(o, "tier", j->tier);
	hex(o, "flags", j->flags);
	snum(o, "osr_bci", j->osr_bci);
	num(o, "jit_time", j->time_ns);
	hex(o, "addr", j->addr);
	num(o, "size", j->size);
	if (j->old_addr)
		hex(o, "old_addr", j->old_addr);
	num(o, "id", j->id);
	num(o, "segment", j->segment);
	hex(o, "image_offset", j->image_offset);
	str(o, "name", j->name, j->name_len);
	str(o, "source_file", j->source_file, j->source_file_len);
}

static void body_desc(const struct out *o, const struct ev *e)
{
	num(o, "index", e->u.desc.index);
	cstr(o, "name", e->u.desc.name);
	cstr(o, "desc", e->u.desc.desc);
	num(o, "count", e->u.desc.count);
	num(o, "freq", e->u.desc.freq);
	num(o, "um", e->u.desc.um);
	num(o, "flags", e->u.desc.flags);
}

static void body(const struct out *o, const struct ev *e)
{
	switch (e->type) {
	case EV_SAMPLE:
		body_sample(o, e);
		break;
	case EV_MMAP:
		hex(o, "addr", e->u.mmap.addr);
		hex(o, "len", e->u.mmap.len);
		hex(o, "pgoff", e->u.mmap.pgoff);
		hex(o, "dev", e->u.mmap.dev);
		num(o, "ino", e->u.mmap.ino);
		num(o, "ino_gen", e->u.mmap.ino_gen);
		hex(o, "prot", e->u.mmap.prot);
		hex(o, "flags", e->u.mmap.flags);
		cstr(o, "path", e->u.mmap.path);
		break;
	case EV_MUNMAP:
		hex(o, "addr", e->u.mmap.addr);
		hex(o, "len", e->u.mmap.len);
		break;
	case EV_COMM:
		cstr(o, "comm", e->u.comm.comm);
		num(o, "exec", e->u.comm.flags);
		break;
	case EV_FORK:
		snum(o, "ppid", e->u.fork.ppid);
		snum(o, "ptid", e->u.fork.ptid);
		break;
	case EV_LOST:
		num(o, "count", e->u.lost.count);
		break;
	case EV_KSYMBOL:
		hex(o, "addr", e->u.ksymbol.addr);
		hex(o, "len", e->u.ksymbol.len);
		num(o, "unregister", e->u.ksymbol.unregister);
		cstr(o, "name", e->u.ksymbol.name);
		break;
	case EV_JIT:
		body_jit(o, e);
		break;
	case EV_JITSRC:
		num(o, "source", e->u.jitsrc.source);
		num(o, "kind", e->u.jitsrc.kind);
		num(o, "lag", e->u.jitsrc.lag_ns);
		cstr(o, "instance", e->u.jitsrc.instance);
		break;
	case EV_PROC:
		num(o, "start_time", e->u.proc.start_time);
		snum(o, "ppid", e->u.proc.ppid);
		snum(o, "nspid", e->u.proc.nspid);
		num(o, "uid", e->u.proc.uid);
		num(o, "exec_count", e->u.proc.exec_count);
		cstr(o, "exe", e->u.proc.exe);
		cstr(o, "app", e->u.proc.app);
		break;
	case EV_EVENTDESC:
		body_desc(o, e);
		break;
	}
}

int evlog_text(struct strbuf *sb, const struct ev *e)
{
	struct out o = { sb, false };

	strbuf_addf(sb, "%" PRIu64 ".%09" PRIu64 " %s", (uint64_t)(e->time_ns / NSEC_PER_SEC),
		    (uint64_t)(e->time_ns % NSEC_PER_SEC), evlog_type_name(e->type));
	snum(&o, "cpu", e->cpu == UINT32_MAX ? -1 : (int64_t)e->cpu);
	snum(&o, "pid", e->pid);
	snum(&o, "tid", e->tid);
	body(&o, e);
	return sb->error;
}

int evlog_json(struct strbuf *sb, const struct ev *e)
{
	struct out o = { sb, true };

	strbuf_addf(sb, "{\"time\":%" PRIu64 ",\"type\":\"%s\"", e->time_ns, evlog_type_name(e->type));
	snum(&o, "cpu", e->cpu == UINT32_MAX ? -1 : (int64_t)e->cpu);
	snum(&o, "pid", e->pid);
	snum(&o, "tid", e->tid);
	body(&o, e);
	return strbuf_addch(sb, '}');
}
