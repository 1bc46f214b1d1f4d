/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "format/jit/parser-impl.h"

int jit_parser_new(struct jit_parser **ret, enum jit_format format, const struct jit_parser_opts *o)
{
	static const struct jit_format_ops *const ops[] = { [JIT_FORMAT_JITDUMP] = &jit_jitdump_ops,
							    [JIT_FORMAT_PERFMAP] = &jit_perfmap_ops,
							    [JIT_FORMAT_OPDUMP] = &jit_opdump_ops,
							    [JIT_FORMAT_PYPYLOG] = &jit_pypylog_ops };
	struct jit_parser *p;

	if (format < JIT_FORMAT_JITDUMP || format > JIT_FORMAT_PYPYLOG || !o->fn)
		return -EINVAL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->o = *o;
	p->ops = ops[format];
	p->pending.cap = p->lines.cap = p->strings.cap = p->unwind.cap = JIT_PARSER_RECORD_MAX + 4096;
	*ret = p;
	return 0;
}

void jit_parser_free(struct jit_parser *p)
{
	if (!p)
		return;
	strbuf_done(&p->pending);
	strbuf_done(&p->lines);
	strbuf_done(&p->strings);
	strbuf_done(&p->unwind);
	u64map_done(&p->by_addr);
	free(p);
}

void jit_parser_bad(struct jit_parser *p, const char *what, uint64_t at)
{
	if (!p->st.bad++) {
		p->st.first_bad = what;
		p->st.first_bad_at = at;
	}
}

void jit_parser_id(struct jit_parser *p, struct jit_event *e)
{
	uint64_t *at;

	if (e->type == JIT_EVENT_LOAD) {
		e->id = ++p->next_id;
		u64map_put(&p->by_addr, e->addr, e->id);
		return;
	}
	at = u64map_get(&p->by_addr, e->type == JIT_EVENT_MOVE ? e->old_addr : e->addr);
	e->id = at ? *at : 0;
	if (e->type == JIT_EVENT_MOVE && e->id) {
		u64map_del(&p->by_addr, e->old_addr);
		u64map_put(&p->by_addr, e->addr, e->id);
	} else if (e->type == JIT_EVENT_UNLOAD && e->id) {
		u64map_del(&p->by_addr, e->addr);
	}
}

/* "stub12 …", "PreStub", "JumpStub": as .NET names them. */
static bool looks_like_stub(const struct jit_event *e)
{
	return e->name_len >= 4 && (!memcmp(e->name, "stub", 4) || memmem(e->name, MIN(e->name_len, (size_t)64), "Stub", 4));
}

int jit_parser_emit(struct jit_parser *p, struct jit_event *e)
{
	p->st.events++;
	if (e->type == JIT_EVENT_LOAD && e->name && p->st.stubs == p->st.loads) /* of interest only as long as all are */
		p->st.stubs += looks_like_stub(e);
	p->st.loads += e->type == JIT_EVENT_LOAD;
	return p->o.fn(p->o.arg, e);
}

/* Takes whole records off data; *used tells how far. */
static int take(struct jit_parser *p, const uint8_t *data, size_t len, uint64_t at, size_t *used, size_t *need)
{
	size_t pos = 0;

	*need = 0;
	while (pos < len) {
		int64_t n = p->ops->frame(p, data + pos, len - pos, need);
		int r;
		if (n < 0) {
			p->st.stopped = true;
			*used = len;
			return (int)n;
		}
		if (n == 0)
			break;
		r = p->ops->record(p, data + pos, (size_t)n, at + pos);
		pos += (size_t)n;
		if (p->skip) { /* the record goes on beyond what is kept of it */
			uint64_t now = MIN(p->skip, (uint64_t)(len - pos));
			p->skip -= now;
			pos += now;
		}
		if (r < 0) {
			*used = pos;
			return r;
		}
	}
	*used = pos;
	return 0;
}

int jit_parser_feed(struct jit_parser *p, const void *data, size_t len, uint64_t now_ns)
{
	const uint8_t *d = data;
	size_t used, need;
	int r;

	if (p->st.stopped)
		return -EBADMSG;
	p->now_ns = now_ns;
	while (len) {
		uint64_t at = p->st.bytes;
		if (p->skip) {
			size_t n = (size_t)MIN(p->skip, (uint64_t)len);
			p->skip -= n;
			p->st.bytes += n;
			d += n;
			len -= n;
			continue;
		}
		if (p->pending.len) {
			/* Bytes join the pending record until frame() is content, no more than it asked for. */
			size_t want;
			(void)p->ops->frame(p, (uint8_t *)p->pending.buf, p->pending.len, &need);
			want = need > p->pending.len ? MIN(need - p->pending.len, len) : MIN((size_t)1, len);
			if (strbuf_add(&p->pending, d, want) < 0)
				return p->pending.error;
			p->st.bytes += want;
			d += want;
			len -= want;
			r = take(p, (uint8_t *)p->pending.buf, p->pending.len, p->pending_at, &used, &need);
			memmove(p->pending.buf, p->pending.buf + used, p->pending.len - used);
			p->pending.len -= used;
			p->pending_at += used;
			if (r < 0)
				return r;
			continue;
		}
		r = take(p, d, len, at, &used, &need);
		if (r < 0) {
			p->st.bytes += used;
			return r;
		}
		if (used < len) {
			p->pending_at = at + used;
			if (strbuf_add(&p->pending, d + used, len - used) < 0)
				return p->pending.error;
		}
		p->st.bytes += len;
		return 0;
	}
	return 0;
}

int jit_parser_finish(struct jit_parser *p, uint64_t now_ns)
{
	int r = 0;

	if (p->st.stopped)
		return -EBADMSG;
	p->now_ns = now_ns;
	if (p->pending.len && p->ops->lines) {
		r = p->ops->record(p, (uint8_t *)p->pending.buf, p->pending.len, p->pending_at);
	} else if (p->lost) {
		if (p->lost_why)
			jit_parser_bad(p, p->lost_why, p->pending_at);
	} else if (p->pending.len || p->skip) {
		p->st.partial = p->pending.len;
		jit_parser_bad(p, "the last record is cut", p->pending.len ? p->pending_at : p->st.bytes);
	}
	strbuf_reset(&p->pending);
	return r;
}

void jit_parser_stats(const struct jit_parser *p, struct jit_parser_stats *ret) { *ret = p->st; }
size_t jit_parser_unfinished(const struct jit_parser *p) { return p->pending.len; }
