/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * PyPy's log of its JIT's addresses (PYPYLOG=jit-backend-addr:FILE): a section for each loop or bridge,
 *
 *	[stamp] {jit-backend-addr
 *	Loop 1 (twice;/a/hot.py:2-5~#8 LOAD_FAST) has address 0xA to 0xB (bootstrap 0xC)
 *	      function: 0xC
 *	           end: 0xD
 *	[stamp] jit-backend-addr}
 *
 * "bridge out of Guard 0xG has address 0xA to 0xB" likewise. Stamps are the CPU's counter: code counts from when it was read.
 */
#include <errno.h>
#include <string.h>

#include "format/jit/parser-impl.h"

#define LINE_MAX_BYTES (JIT_PARSER_NAME_MAX + 256u)

static int64_t frame(struct jit_parser *p, const uint8_t *data, size_t len, size_t *need)
{
	const uint8_t *nl = memchr(data, '\n', MIN(len, (size_t)LINE_MAX_BYTES));

	if (nl)
		return nl - data + 1;
	*need = LINE_MAX_BYTES;
	return len < LINE_MAX_BYTES ? 0 : LINE_MAX_BYTES;
}

/* The hexadecimal number behind `word` in [s, end). */
static bool number_after(const char *s, const char *end, const char *word, uint64_t *ret)
{
	const char *at = memmem(s, (size_t)(end - s), word, strlen(word));
	unsigned int digits = 0;
	uint64_t v = 0;

	if (!at)
		return false;
	for (at += strlen(word); at < end && digits < 16; at++, digits++) {
		unsigned int c = (unsigned char)*at;
		if (c - '0' < 10)
			v = v << 4 | (c - '0');
		else if ((c | 0x20) - 'a' < 6)
			v = v << 4 | ((c | 0x20) - 'a' + 10);
		else
			break;
	}
	*ret = v;
	return digits > 0;
}

/* "twice;/a/hot.py:2-5~#8 LOAD_FAST" as "twice /a/hot.py:2 [loop 1]"; what looks otherwise stays as it is. */
static void loop_name(struct strbuf *sb, const char *s, const char *end)
{
	const char *digits = s + 5, *open = memchr(s, '(', (size_t)(end - s)), *semi, *dash, *close = end;
	size_t n = strspn(digits, "0123456789");

	while (open && close > open && *close != ')')
		close--;
	if (!open || close <= open) {
		strbuf_addf(sb, "loop %.*s", (int)n, digits);
		return;
	}
	open++;
	semi = memchr(open, ';', (size_t)(close - open));
	dash = memmem(open, (size_t)(close - open), "~#", 2);
	if (semi && dash && dash > semi) {
		while (dash > semi && *dash != '-')
			dash--;
		strbuf_add(sb, open, (size_t)(semi - open));
		strbuf_addch(sb, ' ');
		strbuf_add(sb, semi + 1, dash > semi ? (size_t)(dash - semi) - 1 : (size_t)(close - semi) - 1);
	} else {
		strbuf_add(sb, open, (size_t)(close - open));
	}
	strbuf_addf(sb, " [loop %.*s]", (int)n, digits);
}

static int flush(struct jit_parser *p, uint64_t at)
{
	struct jit_event e = { .type = JIT_EVENT_LOAD, .tier = -1, .flags = JIT_NO_BYTES | JIT_TIME_UNKNOWN, .time_ns = p->now_ns,
			       .addr = p->log_start, .size = p->log_end - p->log_start };

	if (!p->strings.len)
		return 0;
	if (p->log_end <= p->log_start || e.size > UINT32_MAX) {
		jit_parser_bad(p, "addresses out of range", at);
		strbuf_reset(&p->strings);
		return 0;
	}
	e.name = p->strings.buf;
	e.name_len = MIN(p->strings.len, (size_t)JIT_PARSER_NAME_MAX);
	e.id = ++p->next_id;
	int r = jit_parser_emit(p, &e);
	strbuf_reset(&p->strings);
	return r;
}

static int record(struct jit_parser *p, const uint8_t *data, size_t len, uint64_t at)
{
	const char *s = (const char *)data, *end = s + len, *what;
	uint64_t from, to;
	bool loop;

	while (end > s && (end[-1] == '\n' || end[-1] == '\r'))
		end--;
	loop = end - s > 6 && !memcmp(s, "Loop ", 5);
	what = loop || (end - s > 8 && !memcmp(s, "bridge o", 8)) ? memmem(s, (size_t)(end - s), " has address 0x", 15) : NULL;
	if (what) {
		int r = flush(p, at);
		if (!number_after(what, end, " address 0x", &from) || !number_after(what, end, " to 0x", &to)) {
			jit_parser_bad(p, "a loop without addresses", at);
			return r;
		}
		p->log_start = from;
		p->log_end = to;
		if (loop)
			loop_name(&p->strings, s, what);
		else
			strbuf_add(&p->strings, s, (size_t)(what - s));
		return r;
	}
	if (p->strings.len && number_after(s, end, "function: 0x", &from))
		p->log_start = from;
	else if (p->strings.len && number_after(s, end, " end: 0x", &to))
		p->log_end = to;
	else if (memmem(s, (size_t)(end - s), "jit-backend-addr}", 17))
		return flush(p, at);
	return 0;
}

const struct jit_format_ops jit_pypylog_ops = { .frame = frame, .record = record, .lines = true };
