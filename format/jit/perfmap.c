/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Perf maps: "START SIZE name" a line, hexadecimal with or without 0x, blanks or tabs between, any bytes in the name.
 * Lines have no time: an event carries the time at which it was read, and the later line wins from then on.
 */
#include <errno.h>
#include <string.h>

#include "format/jit/parser-impl.h"

#define LINE_MAX_BYTES (JIT_PARSER_NAME_MAX + 64u)

static int64_t frame(struct jit_parser *p, const uint8_t *data, size_t len, size_t *need)
{
	const uint8_t *nl = memchr(data, '\n', MIN(len, (size_t)LINE_MAX_BYTES));

	if (nl)
		return nl - data + 1;
	*need = LINE_MAX_BYTES;
	return len < LINE_MAX_BYTES ? 0 : LINE_MAX_BYTES; /* a longer line is torn apart and refused piece by piece */
}

static bool hex(const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	const uint8_t *s = *at;
	unsigned int digits = 0;
	uint64_t v = 0;

	if (end - s > 2 && s[0] == '0' && (s[1] | 0x20) == 'x')
		s += 2;
	for (; s < end; s++, digits++) {
		unsigned int c = *s, d;
		if (c - '0' < 10)
			d = c - '0';
		else if ((c | 0x20) - 'a' < 6)
			d = (c | 0x20) - 'a' + 10;
		else
			break;
		if (v >> 60)
			return false;
		v = v << 4 | d;
	}
	if (!digits || s == end || (*s != ' ' && *s != '\t'))
		return false;
	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	*at = s;
	*ret = v;
	return true;
}

static int record(struct jit_parser *p, const uint8_t *data, size_t len, uint64_t at)
{
	struct jit_event e = { .type = JIT_EVENT_LOAD, .tier = -1, .flags = JIT_NO_BYTES | JIT_TIME_UNKNOWN };
	const uint8_t *s = data, *end = data + len, *nul;

	while (end > s && (end[-1] == '\n' || end[-1] == '\r'))
		end--;
	while (s < end && (*s == ' ' || *s == '\t'))
		s++;
	if (s == end)
		return 0;
	if (!hex(&s, end, &e.addr) || !hex(&s, end, &e.size)) {
		jit_parser_bad(p, "not START SIZE name", at);
		return 0;
	}
	if (!e.size || e.size > UINT32_MAX || e.addr + e.size < e.addr) {
		jit_parser_bad(p, "size out of range", at);
		return 0;
	}
	nul = memchr(s, 0, (size_t)(end - s));
	if (nul)
		end = nul;
	if (s == end) {
		jit_parser_bad(p, "no name", at);
		return 0;
	}
	e.name = (const char *)s;
	e.name_len = MIN((size_t)(end - s), (size_t)JIT_PARSER_NAME_MAX);
	e.time_ns = p->now_ns;
	e.id = ++p->next_id; /* a map has no unloads and moves that would have to find it */
	return jit_parser_emit(p, &e);
}

const struct jit_format_ops jit_perfmap_ops = { .frame = frame, .record = record, .lines = true };
