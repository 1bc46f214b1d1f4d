/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * OProfile's own dump (/tmp/.oprofile/jitdump/PID.dump): host order, records padded to 8, times in whole seconds of wall
 * time. The header of 32-bit writers has its time 4 bytes earlier; both layouts are told apart by what stands there.
 */
#include <errno.h>
#include <string.h>

#include "format/jit/parser-impl.h"
#include "format/jit/tables.h"

#define MAGIC "jItO"
#define HEADER_MIN 28u
#define HEADER_MAX 65536u
#define PREFIX_BYTES 16u

enum { CODE_LOAD = 0, CODE_UNLOAD = 1, CODE_CLOSE = 2, DEBUG_INFO = 3 };

static int64_t frame(struct jit_parser *p, const uint8_t *data, size_t len, size_t *need)
{
	struct reader r = reader_of(data, len);
	uint32_t bytes;

	if (!p->have_header) {
		*need = 12;
		if (memcmp(data, MAGIC, MIN(len, (size_t)4)) != 0) {
			jit_parser_bad(p, "not an OProfile dump (magic)", 0);
			return -EBADMSG;
		}
		if (len < 12)
			return 0;
		memcpy(&bytes, data + 8, 4);
		if (bytes < HEADER_MIN || bytes > HEADER_MAX) {
			jit_parser_bad(p, "header size out of range", 8);
			return -EBADMSG;
		}
		*need = bytes;
		return len < bytes ? 0 : bytes;
	}
	*need = PREFIX_BYTES;
	if (len < PREFIX_BYTES)
		return 0;
	reader_u32(&r);
	bytes = reader_u32(&r);
	if (bytes < PREFIX_BYTES) {
		jit_parser_bad(p, "record shorter than its prefix", p->st.bytes);
		return -EBADMSG;
	}
	*need = MIN((size_t)bytes, JIT_PARSER_RECORD_MAX);
	return len < *need ? 0 : (int64_t)*need;
}

static int header(struct jit_parser *p, const uint8_t *data, size_t len)
{
	uint64_t narrow = 0, wide = 0;

	p->have_header = true;
	memcpy(&p->st.version, data + 4, 4);
	if (p->st.version != 1)
		jit_parser_bad(p, "version is not 1; read as if it were", 4);
	memcpy(&narrow, data + 20, 8);
	if (len >= 32)
		memcpy(&wide, data + 24, 8);
	/* A wall time of this century tells which of the two it is. */
	p->wide_header = !(narrow >> 32 == 0 && narrow > 946684800) || (wide >> 32 == 0 && wide > 946684800);
	return 0;
}

static uint64_t stamp(const struct jit_parser *p, uint64_t seconds)
{
	uint64_t ns;

	if (seconds > UINT64_MAX / NSEC_PER_SEC)
		return p->now_ns;
	ns = seconds * NSEC_PER_SEC;
	return ns > p->o.realtime_offset_ns ? ns - p->o.realtime_offset_ns : 0;
}

static int load(struct jit_parser *p, struct reader *r, uint64_t time, uint64_t at)
{
	struct jit_event e = { .type = JIT_EVENT_LOAD, .tier = -1, .time_ns = stamp(p, time) };
	uint32_t size;

	e.addr = reader_u64(r);
	reader_u64(r);
	size = reader_u32(r);
	reader_u32(r);
	e.name = reader_str(r);
	if (r->bad || !e.name) {
		jit_parser_bad(p, "load record is cut", at + r->bad_at);
		return 0;
	}
	if (!size || e.addr + size < e.addr) {
		jit_parser_bad(p, "code size out of range", at + 32);
		return 0;
	}
	e.name_len = MIN(strlen(e.name), (size_t)JIT_PARSER_NAME_MAX);
	e.size = size;
	if (size <= reader_left(r)) {
		e.code = reader_take(r, size);
		e.code_len = size;
	} else {
		e.flags |= JIT_NO_BYTES; /* also what a NULL code was written as */
	}
	jit_parser_id(p, &e);
	return jit_parser_emit(p, &e);
}

/* Lines come after their load; the struct that holds them has an unsigned long: 8 or 4 bytes, as the header tells. */
static int debug_info(struct jit_parser *p, struct reader *r, uint64_t time, uint64_t at)
{
	struct jit_event e = { .type = JIT_EVENT_AMEND, .tier = -1, .time_ns = stamp(p, time) };
	uint32_t n, last = 0;
	AUTO_FREE uint8_t *room = NULL;
	struct jit_pack pack;
	struct jit_line l = { 0 };

	e.addr = reader_u64(r);
	n = reader_u32(r);
	reader_u32(r);
	jit_parser_id(p, &e);
	if (r->bad || n > reader_left(r) / 9 || !e.id) {
		jit_parser_bad(p, e.id ? "line record is cut" : "lines of code that was not loaded", at);
		return 0;
	}
	room = malloc(jit_lines_bound(n));
	if (!room)
		return -ENOMEM;
	pack = jit_pack_into(room);
	jit_pack_count(&pack, n);
	strbuf_reset(&p->strings);
	strbuf_addch(&p->strings, '\0');
	for (uint32_t i = 0; i < n; i++) {
		uint64_t vma = p->wide_header ? reader_u64(r) : reader_u32(r);
		const char *file;
		l.line = reader_u32(r);
		file = reader_str(r);
		if (!file) {
			jit_parser_bad(p, "line record is cut", at + r->bad_at);
			return 0;
		}
		l.file = (uint32_t)p->strings.len;
		strbuf_add(&p->strings, file, strlen(file) + 1);
		l.offset = vma >= e.addr && vma - e.addr <= UINT32_MAX ? (uint32_t)(vma - e.addr) : last;
		l.offset = last = MAX(last, l.offset);
		jit_pack_line(&pack, &l);
	}
	if (p->strings.error)
		return 0;
	e.lines = room;
	e.lines_len = (size_t)(pack.at - room);
	e.strings = p->strings.buf;
	e.strings_len = p->strings.len;
	return jit_parser_emit(p, &e);
}

static int record(struct jit_parser *p, const uint8_t *data, size_t len, uint64_t at)
{
	struct reader r = reader_of(data, len);
	struct jit_event e = { .tier = -1 };
	uint32_t id, bytes;
	uint64_t time;

	if (!p->have_header)
		return header(p, data, len);
	id = reader_u32(&r);
	bytes = reader_u32(&r);
	time = reader_u64(&r);
	if (bytes > len)
		p->skip = bytes - len;
	switch (id) {
	case CODE_LOAD: return load(p, &r, time, at);
	case DEBUG_INFO: return debug_info(p, &r, time, at);
	case CODE_CLOSE:
		e.type = JIT_EVENT_CLOSE;
		e.time_ns = stamp(p, time);
		return jit_parser_emit(p, &e);
	case CODE_UNLOAD:
		e.type = JIT_EVENT_UNLOAD;
		e.time_ns = stamp(p, time);
		e.addr = reader_u64(&r);
		jit_parser_id(p, &e);
		return r.bad || !e.id ? 0 : jit_parser_emit(p, &e);
	default: p->st.skipped++; return 0;
	}
}

const struct jit_format_ops jit_opdump_ops = { .frame = frame, .record = record };
