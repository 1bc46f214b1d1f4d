/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_JITCONV_DWARF_H
#define OPJIT_JITCONV_DWARF_H
/*
 * The DWARF 5 of a sealed image: one compilation unit; a subprogram a region; inlined subroutines with their call file
 * and line; one line sequence a region. And .eh_frame with its search table. Byte order is the host's.
 */
#include "jitconv/seal.h"
#include "lib/map.h"
#include "lib/strbuf.h"

struct dwarf_gen {
	uint8_t addr_size;
	uint16_t language;
	const char *name;
	struct strpool str;        /* .debug_str */
	struct strpool files;      /* whole paths; file number = id + 1 */
	struct u64map abstracts;   /* str id -> offset in the unit of the abstract subprogram */
	struct u64map name_cache;  /* offset in `strings` -> str id */
	struct u64map file_cache;  /* offset in `strings` -> file number */
	const char *strings;       /* what the caches are for */
	struct strbuf abstract_dies, dies, rnglists, line_program;
	uint64_t low, high;        /* of the regions with bytes */
	uint64_t nobits_low, nobits_high;
	int error;
};

struct dwarf_sections { /* owned by the caller after dwarf_gen_finish */
	struct strbuf abbrev, info, line, line_str, str, rnglists, aranges;
};
void dwarf_sections_done(struct dwarf_sections *s);

void dwarf_gen_init(struct dwarf_gen *g, uint8_t addr_size, uint16_t language, const char *name);
void dwarf_gen_done(struct dwarf_gen *g);
/* 0; 1 if a table was damaged and left out; -errno. */
int dwarf_gen_region(struct dwarf_gen *g, const struct seal_region *r);
int dwarf_gen_finish(struct dwarf_gen *g, struct dwarf_sections *ret);

/* --- .eh_frame ------------------------------------------------------------------------------------------ */
struct ehframe_gen {
	uint16_t machine;
	struct strbuf frames;      /* CIE and FDEs; initial locations hold the region's address until finish */
	struct strbuf table;       /* {u64 address, u64 offset of the FDE in frames} */
	size_t raw_cie, raw_cie_len; /* the CIE taken over last: place in frames; 0 = none */
};
void ehframe_gen_init(struct ehframe_gen *g, uint16_t machine);
void ehframe_gen_done(struct ehframe_gen *g);
/* As dwarf_gen_region. A region without rows gets no FDE. */
int ehframe_gen_region(struct ehframe_gen *g, const struct seal_region *r);
/* Relocates to the addresses of the two sections; hdr becomes .eh_frame_hdr. -E2BIG if they are 2 GiB apart. */
int ehframe_gen_finish(struct ehframe_gen *g, uint64_t frame_addr, uint64_t hdr_addr, struct strbuf *hdr);
static inline uint64_t ehframe_hdr_bytes(const struct ehframe_gen *g) { return 12 + g->table.len / 16 * 8; }

/* LEB128 and fixed-size numbers in the host's order, appended. */
void dwarf_uleb(struct strbuf *sb, uint64_t v);
void dwarf_sleb(struct strbuf *sb, int64_t v);
static inline void dwarf_u8(struct strbuf *sb, uint8_t v) { strbuf_add(sb, &v, 1); }
static inline void dwarf_u16(struct strbuf *sb, uint16_t v) { strbuf_add(sb, &v, 2); }
static inline void dwarf_u32(struct strbuf *sb, uint32_t v) { strbuf_add(sb, &v, 4); }
static inline void dwarf_u64(struct strbuf *sb, uint64_t v) { strbuf_add(sb, &v, 8); }

#endif
