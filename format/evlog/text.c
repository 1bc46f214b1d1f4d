/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/evlog/fields.h"
#include "format/evlog/text-out.h"

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

static void field(const struct out *o, const struct ev *e, const struct evlog_field *f)
{
	uint64_t v;

	if (f->show & EVF_CHAINED && !e->u.sample.n_chain)
		return;
	switch (f->kind) {
	case EVF_STR:
		str(o, f->name, evlog_field_str(e, f));
		return;
	case EVF_BYTES:
		bytes(o, f->name, evlog_field_str(e, f), evlog_field_len(e, f));
		return;
	case EVF_CHAIN:
		words(o, f->name, e->u.sample.chain, e->u.sample.n_chain);
		return;
	}
	v = evlog_field_get(e, f);
	if (f->show & EVF_NOT_0 && !v)
		return;
	if (f->show & EVF_NAMED)
		str(o, f->name, v < f->n_words ? f->words[v] : "?");
	else if (f->show & EVF_HEX)
		hex(o, f->name, v);
	else if (f->kind == EVF_I8 || f->kind == EVF_I32)
		snum(o, f->name, (int64_t)v);
	else
		num(o, f->name, v);
}

static void body(const struct out *o, const struct ev *e)
{
	size_t n;
	const struct evlog_field *f = evlog_fields(e->type, &n);

	snum(o, "cpu", e->cpu == UINT32_MAX ? -1 : (int64_t)e->cpu);
	snum(o, "pid", e->pid);
	snum(o, "tid", e->tid);
	for (size_t i = 0; i < n; i++)
		field(o, e, &f[i]);
}

int evlog_text(struct strbuf *sb, const struct ev *e)
{
	struct out o = { sb, false };

	strbuf_addf(sb, "%" PRIu64 ".%09" PRIu64 " %s", (uint64_t)(e->time_ns / NSEC_PER_SEC),
		    (uint64_t)(e->time_ns % NSEC_PER_SEC), evlog_type_name(e->type));
	body(&o, e);
	return sb->error;
}

int evlog_json(struct strbuf *sb, const struct ev *e)
{
	struct out o = { sb, true };

	strbuf_addf(sb, "{\"time\":%" PRIu64 ",\"type\":\"%s\"", e->time_ns, evlog_type_name(e->type));
	body(&o, e);
	return strbuf_addch(sb, '}');
}
