/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* perf's jitdump, after jitdump-specification.txt of the Linux documentation. */
#include <errno.h>
#include <string.h>

#include "format/jit/parser-impl.h"
#include "format/jit/tables.h"

#define MAGIC 0x4A695444u
#define MAGIC_SWAPPED 0x4454694Au
#define HEADER_BYTES 40u
#define HEADER_MAX 65536u
#define PREFIX_BYTES 16u
#define LOAD_BYTES 56u   /* of a load, in front of its name */
#define SCAN_BYTES 4096u /* looked through at once for the next good record */
#define KINDS_MAX 256u   /* room for kinds to come; a number above is none */
#define NAME_ROOM (2 * JIT_PARSER_NAME_MAX) /* that a load may have for its name and what fills it up */
#define FLAG_ARCH_TIME 1u
#define V8_SHIFT 0x40u /* V8 counts line addresses from an ELF header that it expects in front of the code */

enum { CODE_LOAD = 0, CODE_MOVE = 1, DEBUG_INFO = 2, CODE_CLOSE = 3, UNWINDING_INFO = 4 };

static int64_t header_frame(struct jit_parser *p, const uint8_t *data, size_t len, size_t *need)
{
	struct reader r = reader_of(data, len);
	uint32_t magic, bytes;

	if (len < HEADER_BYTES) {
		*need = HEADER_BYTES;
		magic = len >= 4 ? reader_u32(&r) : MAGIC;
		if (magic == MAGIC || magic == MAGIC_SWAPPED)
			return 0;
	} else {
		magic = reader_u32(&r);
	}
	if (magic != MAGIC && magic != MAGIC_SWAPPED) {
		jit_parser_bad(p, "not a jitdump (magic)", 0);
		return -EBADMSG;
	}
	p->swap = r.swap = magic == MAGIC_SWAPPED;
	reader_u32(&r);
	bytes = reader_u32(&r);
	if (bytes < HEADER_BYTES || bytes > HEADER_MAX) {
		jit_parser_bad(p, "header size out of range", 8);
		bytes = HEADER_BYTES;
	}
	*need = bytes;
	return len < bytes ? 0 : bytes;
}

/* What makes the start of a record that is all there unbelievable. NULL = nothing. */
static const char *damage(uint32_t id, uint32_t bytes, uint64_t code_size)
{
	static const uint8_t least[] = { [CODE_LOAD] = LOAD_BYTES + 1, [CODE_MOVE] = 56, [DEBUG_INFO] = 32, [CODE_CLOSE] = PREFIX_BYTES,
					 [UNWINDING_INFO] = 40 };

	if (bytes < PREFIX_BYTES)
		return "record shorter than its prefix";
	if (id >= KINDS_MAX)
		return "no record begins here";
	if (id < ARRAY_SIZE(least) && bytes < least[id])
		return "record shorter than its kind";
	if (id == CODE_LOAD ? bytes > NAME_ROOM && bytes - NAME_ROOM > code_size : bytes > JIT_PARSER_RECORD_MAX)
		return "record longer than what it holds";
	return NULL;
}

/*
 * Behind a record whose length cannot be trusted: how far the next load is that can be believed, by its kind, its sizes, which must
 * agree, and the process's number. 0 = here; len - LOAD_BYTES + 1 = not in these bytes. At least LOAD_BYTES are there.
 */
static size_t next_load(const struct jit_parser *p, const uint8_t *data, size_t len)
{
	size_t i;

	for (i = 0; i + LOAD_BYTES <= len; i++) {
		struct reader r = reader_of(data + i, LOAD_BYTES);
		uint64_t bytes, code_size;
		r.swap = p->swap;
		if (reader_u32(&r) != CODE_LOAD)
			continue;
		bytes = reader_u32(&r);
		reader_u64(&r);
		if (reader_u32(&r) != p->st.pid)
			continue;
		reader_u32(&r);
		reader_u64(&r);
		reader_u64(&r);
		code_size = reader_u64(&r);
		if (code_size && code_size < bytes && bytes - code_size > LOAD_BYTES && bytes - code_size <= NAME_ROOM)
			break;
	}
	return i;
}

static int64_t frame(struct jit_parser *p, const uint8_t *data, size_t len, size_t *need)
{
	struct reader r = reader_of(data, len);
	uint64_t code_size = UINT64_MAX;
	const char *what;
	uint32_t id, bytes;

	if (!p->have_header)
		return header_frame(p, data, len, need);
	if (p->lost) {
		*need = SCAN_BYTES;
		if (len < LOAD_BYTES)
			return 0;
		size_t away = next_load(p, data, len);
		if (away)
			return (int64_t)away;
		p->lost = false;
	}
	*need = PREFIX_BYTES;
	if (len < PREFIX_BYTES)
		return 0;
	r.swap = p->swap;
	id = reader_u32(&r);
	bytes = reader_u32(&r);
	if (id == CODE_LOAD && bytes > NAME_ROOM) {
		*need = LOAD_BYTES;
		if (len < LOAD_BYTES)
			return 0;
		r.pos = 40;
		code_size = reader_u64(&r);
	}
	what = damage(id, bytes, code_size);
	if (what) {
		p->lost = true;
		p->lost_why = what;
		return frame(p, data, len, need);
	}
	*need = MIN((size_t)bytes, JIT_PARSER_RECORD_MAX);
	return len < *need ? 0 : (int64_t)*need;
}

static uint64_t stamp(struct jit_parser *p, uint64_t t, uint32_t *flags)
{
	/* The flag for another clock is also set by writers that stamp with CLOCK_MONOTONIC: a stamp of the last day is one. */
	bool plausible = t <= p->now_ns && p->now_ns - t < 86400 * NSEC_PER_SEC;

	if (!p->st.arch_clock || plausible)
		return t;
	if (p->o.arch_time)
		return p->o.arch_time(p->o.arg, t);
	*flags |= JIT_TIME_UNKNOWN;
	return p->now_ns;
}

static int header(struct jit_parser *p, const uint8_t *data, size_t len)
{
	struct reader r = reader_of(data, len);

	r.swap = p->swap;
	p->have_header = true;
	reader_u32(&r);
	p->st.version = reader_u32(&r);
	reader_u32(&r);
	p->st.machine = (uint16_t)reader_u32(&r);
	reader_u32(&r);
	p->st.pid = reader_u32(&r);
	reader_u64(&r);
	p->st.arch_clock = reader_u64(&r) & FLAG_ARCH_TIME;
	if (p->st.version != 1)
		jit_parser_bad(p, "version is not 1; read as if it were", 4);
	return 0;
}

static void drop_tables(struct jit_parser *p)
{
	strbuf_reset(&p->lines);
	strbuf_reset(&p->strings);
	strbuf_reset(&p->unwind);
}

static int load(struct jit_parser *p, struct reader *r, uint64_t time, uint64_t at)
{
	struct jit_event e = { .type = JIT_EVENT_LOAD, .kind = JIT_METHOD, .tier = -1 };
	uint64_t code_size;

	e.time_ns = stamp(p, time, &e.flags);
	reader_u32(r);
	reader_u32(r);
	reader_u64(r); /* vma: where the dump thinks the code is; code_addr is where it runs */
	e.addr = reader_u64(r);
	code_size = reader_u64(r);
	reader_u64(r);
	e.name = reader_str(r);
	if (r->bad || !e.name) {
		jit_parser_bad(p, "load record is cut", at + r->bad_at);
		return 0;
	}
	e.name_len = MIN(strlen(e.name), (size_t)JIT_PARSER_NAME_MAX);
	e.size = code_size;
	if (!code_size || code_size > UINT32_MAX || e.addr + code_size < e.addr) {
		jit_parser_bad(p, "code size out of range", at + 40);
		drop_tables(p);
		return 0;
	}
	if (code_size <= reader_left(r)) {
		e.code = reader_take(r, (size_t)code_size);
		e.code_len = (size_t)code_size;
	} else {
		e.flags |= JIT_NO_BYTES;
		p->st.skipped++;
	}
	if (p->lines.len && p->lines_addr == e.addr) {
		e.lines = p->lines.buf;
		e.lines_len = p->lines.len;
		e.strings = p->strings.buf;
		e.strings_len = p->strings.len;
	}
	if (p->unwind.len) {
		e.eh_frame = p->unwind.buf;
		e.eh_frame_len = p->unwind.len;
	}
	jit_parser_id(p, &e);
	int ret = jit_parser_emit(p, &e);
	drop_tables(p);
	return ret;
}

static int move(struct jit_parser *p, struct reader *r, uint64_t time, uint64_t at)
{
	struct jit_event e = { .type = JIT_EVENT_MOVE, .tier = -1 };

	e.time_ns = stamp(p, time, &e.flags);
	reader_u64(r);
	reader_u64(r);
	e.old_addr = reader_u64(r);
	e.addr = reader_u64(r);
	e.size = reader_u64(r);
	if (r->bad) {
		jit_parser_bad(p, "move record is cut", at + r->bad_at);
		return 0;
	}
	jit_parser_id(p, &e);
	if (!e.id) {
		jit_parser_bad(p, "move of code that was not loaded", at);
		return 0;
	}
	return jit_parser_emit(p, &e);
}

struct entry {
	uint64_t addr;
	uint32_t line;
	const char *file;
};

/* Entries are read twice: once to learn whether addresses are V8's, once to pack them. */
static bool next_entry(struct reader *r, struct entry *e)
{
	const char *name;

	e->addr = reader_u64(r);
	e->line = reader_u32(r);
	reader_u32(r);
	name = reader_str(r);
	if (name && !((uint8_t)name[0] == 0xff && !name[1])) /* "\xff": the same file again */
		e->file = name;
	return !r->bad;
}

static int pack_lines(struct jit_parser *p, struct reader r, uint64_t base, uint64_t n, uint64_t at)
{
	struct entry e = { 0 };
	struct jit_line l = { 0 };
	struct jit_pack pack;
	const char *last_file = NULL;
	uint32_t count = 0, low = 0;
	uint8_t *room;

	room = malloc(jit_lines_bound((size_t)n));
	if (!room)
		return -ENOMEM;
	pack = jit_pack_into(room);
	jit_pack_count(&pack, (uint32_t)n);
	strbuf_addch(&p->strings, '\0');
	for (uint64_t i = 0; i < n && next_entry(&r, &e); i++) {
		uint64_t off = e.addr - base;
		if (e.file && e.file != last_file) {
			l.file = (uint32_t)p->strings.len;
			strbuf_add(&p->strings, e.file, strlen(e.file) + 1);
			last_file = e.file;
		}
		if (!p->low_offset_seen && off >= V8_SHIFT)
			off -= V8_SHIFT;
		if (off > UINT32_MAX || off < low)
			off = low; /* out of order: kept where the one before stands */
		low = l.offset = (uint32_t)off;
		l.line = e.line;
		jit_pack_line(&pack, &l);
		count++;
	}
	if (r.bad)
		jit_parser_bad(p, "line entries are cut", at + r.bad_at);
	if (count == n && !p->strings.error)
		strbuf_add(&p->lines, room, (size_t)(pack.at - room));
	free(room);
	return 0;
}

static int debug_info(struct jit_parser *p, struct reader *r, uint64_t at)
{
	uint64_t addr = reader_u64(r), n = reader_u64(r), good = 0;
	struct reader scan = *r;
	struct entry e = { 0 };

	strbuf_reset(&p->lines);
	strbuf_reset(&p->strings);
	if (r->bad) {
		jit_parser_bad(p, "line record is cut", at + r->bad_at);
		return 0;
	}
	while (good < n && next_entry(&scan, &e)) {
		good++;
		if (e.addr - addr < V8_SHIFT)
			p->low_offset_seen = true;
	}
	if (good < n)
		jit_parser_bad(p, "fewer line entries than said", at + PREFIX_BYTES + 8);
	p->lines_addr = addr;
	return good ? pack_lines(p, *r, addr, good, at) : 0;
}

static int unwinding(struct jit_parser *p, struct reader *r, uint64_t at)
{
	uint64_t total = reader_u64(r), hdr = reader_u64(r);
	const void *bytes;

	reader_u64(r);
	strbuf_reset(&p->unwind);
	if (r->bad || hdr > total || total > reader_left(r)) {
		jit_parser_bad(p, "unwinding record is cut", at + (r->bad ? r->bad_at : PREFIX_BYTES));
		return 0;
	}
	bytes = reader_take(r, (size_t)(total - hdr)); /* .eh_frame; its header, which follows, can be made again */
	if (total > hdr)
		strbuf_add(&p->unwind, bytes, (size_t)(total - hdr));
	return 0;
}

static int record(struct jit_parser *p, const uint8_t *data, size_t len, uint64_t at)
{
	struct reader r = reader_of(data, len);
	uint32_t id, bytes;
	uint64_t time;

	if (!p->have_header)
		return header(p, data, len);
	if (p->lost) {
		if (p->lost_why)
			jit_parser_bad(p, p->lost_why, at);
		p->lost_why = NULL;
		drop_tables(p);
		return 0;
	}
	r.swap = p->swap;
	id = reader_u32(&r);
	bytes = reader_u32(&r);
	time = reader_u64(&r);
	if (bytes > len)
		p->skip = bytes - len;
	switch (id) {
	case CODE_LOAD: return load(p, &r, time, at);
	case CODE_MOVE: return move(p, &r, time, at);
	case DEBUG_INFO: return debug_info(p, &r, at);
	case CODE_CLOSE: {
		struct jit_event e = { .type = JIT_EVENT_CLOSE, .tier = -1 };
		e.time_ns = stamp(p, time, &e.flags);
		return jit_parser_emit(p, &e);
	}
	case UNWINDING_INFO: return unwinding(p, &r, at);
	default: p->st.skipped++; return 0;
	}
}

const struct jit_format_ops jit_jitdump_ops = { .frame = frame, .record = record };
