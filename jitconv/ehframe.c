/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "format/jit/tables.h"
#include "jitconv/dwarf.h"
#include "lib/reader.h"

#define ENC (DW_EH_PE_pcrel | DW_EH_PE_sdata4)

struct machine {
	uint16_t machine;
	uint8_t ra, sp, fp; /* DWARF register numbers */
	uint8_t word;
	uint8_t entry_cfa;  /* CFA = sp + this at the entry */
	bool ra_on_stack;
};

static const struct machine *machine_of(uint16_t m)
{
	static const struct machine all[] = {
		{ EM_X86_64, 16, 7, 6, 8, 8, true },
		{ EM_386, 8, 4, 5, 4, 4, true },
		{ EM_AARCH64, 30, 31, 29, 8, 0, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i].machine == m)
			return &all[i];
	return NULL;
}

static void pad_to(struct strbuf *sb, size_t align)
{
	while (sb->len % align && !sb->error)
		dwarf_u8(sb, DW_CFA_nop);
}

static void patch_u32(struct strbuf *sb, size_t at, uint32_t v)
{
	if (!sb->error)
		memcpy(sb->buf + at, &v, 4);
}

void ehframe_gen_init(struct ehframe_gen *g, uint16_t machine)
{
	const struct machine *m = machine_of(machine);
	struct strbuf *sb = &g->frames;

	*g = (struct ehframe_gen){ .machine = machine, .frames = STRBUF_INIT_CAP((size_t)1 << 30),
				   .table = STRBUF_INIT_CAP((size_t)1 << 30) };
	if (!m)
		return;
	dwarf_u32(sb, 0);               /* length, patched */
	dwarf_u32(sb, 0);               /* CIE */
	dwarf_u8(sb, 1);
	strbuf_add(sb, "zR", 3);
	dwarf_uleb(sb, 1);              /* code alignment */
	dwarf_sleb(sb, -(int)m->word);  /* data alignment */
	dwarf_uleb(sb, m->ra);
	dwarf_uleb(sb, 1);
	dwarf_u8(sb, ENC);
	dwarf_u8(sb, DW_CFA_def_cfa);
	dwarf_uleb(sb, m->sp);
	dwarf_uleb(sb, m->entry_cfa);
	if (m->ra_on_stack) {
		dwarf_u8(sb, DW_CFA_offset | m->ra);
		dwarf_uleb(sb, 1);
	}
	pad_to(sb, 8);
	patch_u32(sb, 0, (uint32_t)sb->len - 4);
}

void ehframe_gen_done(struct ehframe_gen *g)
{
	strbuf_done(&g->frames);
	strbuf_done(&g->table);
}

/* "register reg is saved at CFA + offset" */
static void saved(struct strbuf *sb, const struct machine *m, unsigned int reg, int offset)
{
	if (offset < 0) {
		dwarf_u8(sb, (uint8_t)(DW_CFA_offset | reg));
		dwarf_uleb(sb, (uint64_t)(-offset / (int)m->word));
	} else {
		dwarf_u8(sb, DW_CFA_offset_extended_sf);
		dwarf_uleb(sb, reg);
		dwarf_sleb(sb, -offset / (int)m->word);
	}
}

static void advance(struct strbuf *sb, uint32_t by)
{
	if (!by)
		return;
	if (by < 64) {
		dwarf_u8(sb, (uint8_t)(DW_CFA_advance_loc | by));
	} else if (by < 256) {
		dwarf_u8(sb, DW_CFA_advance_loc1);
		dwarf_u8(sb, (uint8_t)by);
	} else if (by < 65536) {
		dwarf_u8(sb, DW_CFA_advance_loc2);
		dwarf_u16(sb, (uint16_t)by);
	} else {
		dwarf_u8(sb, DW_CFA_advance_loc4);
		dwarf_u32(sb, by);
	}
}

static void row_out(struct strbuf *sb, const struct machine *m, const struct jit_unwind_row *row)
{
	if (row->cfa_offset >= 0) {
		dwarf_u8(sb, DW_CFA_def_cfa);
		dwarf_uleb(sb, row->cfa_reg);
		dwarf_uleb(sb, (uint64_t)row->cfa_offset);
	} else {
		dwarf_u8(sb, DW_CFA_def_cfa_sf);
		dwarf_uleb(sb, row->cfa_reg);
		dwarf_sleb(sb, row->cfa_offset / -(int)m->word);
	}
	if (row->ra_offset)
		saved(sb, m, m->ra, row->ra_offset);
	if (row->fp_offset) {
		saved(sb, m, m->fp, row->fp_offset);
	} else {
		dwarf_u8(sb, DW_CFA_same_value);
		dwarf_uleb(sb, m->fp);
	}
}

static bool row_is_good(const struct machine *m, const struct jit_unwind_row *row)
{
	return row->ra_offset % (int)m->word == 0 && row->fp_offset % (int)m->word == 0 && row->cfa_reg < 64 &&
	       (row->cfa_offset >= 0 || row->cfa_offset % (int)m->word == 0);
}

/* --- taken over from a jitdump ---------------------------------------------------------------------------- */

/* How the addresses of a CIE's FDEs are written; -1: in a way that is not understood. */
static int cie_encoding(struct reader r)
{
	uint8_t version = reader_u8(&r);
	const char *aug = reader_str(&r);
	int enc = DW_EH_PE_absptr;

	if (r.bad || (version != 1 && version != 3) || *aug != 'z')
		return -1;
	for (int leb = 0; leb < 4; leb++) { /* alignments, return address, length of the augmentation */
		if (leb == 2 && version == 1) {
			reader_u8(&r);
			continue;
		}
		while (reader_u8(&r) & 0x80)
			;
	}
	for (aug++; *aug; aug++) {
		if (*aug == 'R')
			enc = reader_u8(&r);
		else if (*aug == 'L')
			reader_u8(&r);
		else if (*aug != 'S')
			return -1;
	}
	return r.bad ? -1 : enc;
}

static size_t raw_record(struct strbuf *sb, uint32_t id, const void *body, size_t len)
{
	size_t start = sb->len;

	dwarf_u32(sb, 0);
	dwarf_u32(sb, id);
	strbuf_add(sb, body, len);
	pad_to(sb, 8);
	patch_u32(sb, start, (uint32_t)(sb->len - start) - 4);
	return start;
}

static void raw_cie(struct ehframe_gen *g, const void *body, size_t len)
{
	if (g->raw_cie && g->raw_cie_len == len && !memcmp(g->frames.buf + g->raw_cie + 8, body, len))
		return;
	g->raw_cie = raw_record(&g->frames, 0, body, len);
	g->raw_cie_len = len;
}

/* body: the record behind its CIE pointer, which stands at `at` of the input. */
static int raw_fde(struct ehframe_gen *g, const struct seal_region *r, const uint8_t *body, size_t len, size_t at, uint64_t *low)
{
	int32_t rel;
	uint32_t range;
	uint64_t off;
	size_t start;

	if (len < 8)
		return 1;
	memcpy(&rel, body, 4);
	memcpy(&range, body + 4, 4);
	off = ALIGN_UP(r->size, (uint64_t)8) + at + (uint64_t)(int64_t)rel;
	if (off >= r->size || off < *low)
		return 1;
	*low = off + 1;
	range = (uint32_t)MIN(MIN(range ? (uint64_t)range : r->size, r->size - off), (uint64_t)UINT32_MAX);
	start = raw_record(&g->frames, (uint32_t)(g->frames.len + 4 - g->raw_cie), body, len);
	patch_u32(&g->frames, start + 8, 0);
	patch_u32(&g->frames, start + 12, range);
	dwarf_u64(&g->table, r->offset + off);
	dwarf_u64(&g->table, start);
	return g->frames.error ? g->frames.error : g->table.error;
}

static int raw_region(struct ehframe_gen *g, const struct seal_region *r)
{
	struct reader in = reader_of(r->eh_frame, r->eh_frame_len);
	size_t cie = SIZE_MAX;
	uint64_t low = 0;

	while (reader_left(&in) >= 8) {
		uint32_t len = reader_u32(&in), id;
		size_t at = in.pos;
		const uint8_t *body;
		int ret;

		if (!len)
			return 0;
		id = reader_u32(&in);
		body = len >= 4 ? reader_take(&in, len - 4) : NULL;
		if (!body)
			return 1;
		if (!id) {
			cie = at - 4;
			if (cie_encoding(reader_of(body, len - 4)) != ENC)
				return 1;
			raw_cie(g, body, len - 4);
			continue;
		}
		if (at - id != cie)
			return 1;
		ret = raw_fde(g, r, body, len - 4, at + 4, &low);
		if (ret)
			return ret;
	}
	return 0;
}

int ehframe_gen_region(struct ehframe_gen *g, const struct seal_region *r)
{
	const struct machine *m = machine_of(g->machine);
	struct jit_unpack u = jit_unpack_of(r->unwind, r->unwind_len);
	struct strbuf *sb = &g->frames;
	struct jit_unwind_row row;
	size_t start = sb->len;
	uint32_t at = 0;
	int more;

	if (m && !r->unwind_len && r->eh_frame_len && r->size)
		return raw_region(g, r);
	if (!m || !r->unwind_len || !r->size)
		return 0;
	dwarf_u32(sb, 0);                        /* length */
	dwarf_u32(sb, (uint32_t)sb->len);        /* back to the CIE at 0 */
	dwarf_u32(sb, 0);                        /* initial location, set by finish */
	dwarf_u32(sb, (uint32_t)MIN(r->size, (uint64_t)UINT32_MAX));
	dwarf_uleb(sb, 0);
	while ((more = jit_unpack_unwind(&u, &row)) == 1 && row.offset < r->size) {
		if (!row_is_good(m, &row)) {
			more = -EBADMSG;
			break;
		}
		advance(sb, row.offset - at);
		row_out(sb, m, &row);
		at = row.offset;
	}
	if (more < 0) {
		if (!sb->error)
			sb->len = start;
		return 1;
	}
	pad_to(sb, 8);
	patch_u32(sb, start, (uint32_t)(sb->len - start) - 4);
	dwarf_u64(&g->table, r->offset);
	dwarf_u64(&g->table, start);
	return sb->error ? sb->error : g->table.error;
}

static int rel32(uint64_t to, uint64_t from, uint32_t *ret)
{
	int64_t d = (int64_t)(to - from);

	if (d != (int32_t)d)
		return -E2BIG;
	*ret = (uint32_t)d;
	return 0;
}

int ehframe_gen_finish(struct ehframe_gen *g, uint64_t frame_addr, uint64_t hdr_addr, struct strbuf *hdr)
{
	size_t n = g->table.len / 16;
	uint32_t v;
	int r;

	dwarf_u32(&g->frames, 0); /* terminator */
	if (g->frames.error || g->table.error)
		return -E2BIG;
	dwarf_u8(hdr, 1);
	dwarf_u8(hdr, ENC);
	dwarf_u8(hdr, DW_EH_PE_udata4);
	dwarf_u8(hdr, DW_EH_PE_datarel | DW_EH_PE_sdata4);
	if ((r = rel32(frame_addr, hdr_addr + 4, &v)) < 0)
		return r;
	dwarf_u32(hdr, v);
	dwarf_u32(hdr, (uint32_t)n);
	for (size_t i = 0; i < n; i++) { /* regions come in ascending order: the table is sorted */
		uint64_t addr, at;
		memcpy(&addr, g->table.buf + i * 16, 8);
		memcpy(&at, g->table.buf + i * 16 + 8, 8);
		if ((r = rel32(addr, frame_addr + at + 8, &v)) < 0)
			return r;
		patch_u32(&g->frames, at + 8, v);
		if ((r = rel32(addr, hdr_addr, &v)) < 0)
			return r;
		dwarf_u32(hdr, v);
		if ((r = rel32(frame_addr + at, hdr_addr, &v)) < 0)
			return r;
		dwarf_u32(hdr, v);
	}
	return hdr->error;
}
