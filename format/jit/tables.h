/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_JIT_TABLES_H
#define OPJIT_FORMAT_JIT_TABLES_H
/*
 * The tables of a region, packed: lines, inlines, unwind rows. Numbers are LEB128 (z = zigzag signed, d = difference to
 * the entry before). Strings stand outside, in a string section (.strtab of an image, or whatever buffer a converter
 * gives in jit_event.strings); a table names them by offset, 0 = none.
 *
 *	lines    n, then n × { d offset << 1 | file follows, zd line, [file] }     file 0 = the region's own
 *	inlines  n frames, then { caller + 1, name, file, call line } each, n ranges, then { d offset, frame + 1, line } each
 *	unwind   n, then n × { d offset, cfa_reg, z cfa_offset, z ra_offset, z fp_offset, flags }
 *
 * Decoders believe nothing: 1, 0 (end) or -EBADMSG. Offsets ascend (equal ones are allowed), counts never make them
 * allocate more than a small multiple of the packed bytes.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JIT_NO_FRAME UINT32_MAX

struct jit_line {
	uint32_t offset; /* from the start of the region; holds up to the next one's */
	uint32_t line;   /* 1-based, 0 = none known */
	uint32_t file;   /* string offset, 0 = the region's source_file */
};
struct jit_frame {
	uint32_t caller;    /* index, or JIT_NO_FRAME = inlined into the region's own method */
	uint32_t name;      /* string offset */
	uint32_t file;      /* string offset, 0 = unknown */
	uint32_t call_line; /* in the caller; 0 = unknown */
};
struct jit_inline_range {
	uint32_t offset;
	uint32_t frame;     /* innermost, or JIT_NO_FRAME = the region's own method */
	uint32_t line;      /* in the innermost frame; 0 = unknown */
};
struct jit_unwind_row {
	uint32_t offset;
	int32_t cfa_offset;
	uint16_t cfa_reg;
	int16_t ra_offset;
	int16_t fp_offset;
	uint16_t flags;
};

/* --- packing: into room that the caller made ------------------------------------------------------------ */
/* Enough bytes for n entries each. */
static inline size_t jit_lines_bound(size_t n) { return 5 + n * 15; }
static inline size_t jit_inlines_bound(size_t n_frames, size_t n_ranges) { return 10 + n_frames * 20 + n_ranges * 15; }
static inline size_t jit_unwind_bound(size_t n) { return 5 + n * 22; }

struct jit_pack {
	uint8_t *at;
	uint32_t offset, line, file;
};
static inline struct jit_pack jit_pack_into(void *room) { return (struct jit_pack){ .at = room }; }
void jit_pack_count(struct jit_pack *p, uint32_t n); /* before the entries of each list */
void jit_pack_line(struct jit_pack *p, const struct jit_line *l);
void jit_pack_frame(struct jit_pack *p, const struct jit_frame *f);
void jit_pack_range(struct jit_pack *p, const struct jit_inline_range *r);
void jit_pack_unwind(struct jit_pack *p, const struct jit_unwind_row *u);

/* --- unpacking ------------------------------------------------------------------------------------------- */
struct jit_unpack {
	const uint8_t *at, *end;
	uint32_t left;  /* entries to come */
	uint32_t offset, line, file;
	bool begun;
};
static inline struct jit_unpack jit_unpack_of(const void *data, size_t len)
{
	return (struct jit_unpack){ .at = data, .end = len ? (const uint8_t *)data + len : data };
}
/* 1: *ret is the next entry; 0: end; -EBADMSG. An empty table (0 bytes) has no entries. */
int jit_unpack_line(struct jit_unpack *u, struct jit_line *ret);
int jit_unpack_unwind(struct jit_unpack *u, struct jit_unwind_row *ret);

struct jit_inlines {
	struct jit_frame *frames;
	struct jit_inline_range *ranges;
	uint32_t n_frames, n_ranges;
};
/* Whole table at once. Callers of frames are checked to end (no cycles). 0, -EBADMSG or -ENOMEM. */
int jit_inlines_unpack(struct jit_inlines *ret, const void *data, size_t len);
void jit_inlines_done(struct jit_inlines *i);

/* The string at an offset of a string section; NULL for 0, for one outside, and without a NUL. */
const char *jit_string(const char *strings, size_t strings_len, uint32_t offset);

#endif
