/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jitconv/dwarf.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#include "format/jit/tables.h"

#define SECTION_CAP ((size_t)3 << 30) /* offsets are 32 bits wide */
#define MAX_DEPTH 200                 /* of inlining; deeper frames are folded into the last */
#define LINE_BASE (-5)
#define LINE_RANGE 14
#define OPCODE_BASE 13

enum { /* abbreviations */
	AB_UNIT = 1,
	AB_SUB, AB_SUB_C,             /* region; _C with children */
	AB_ABSTRACT,
	AB_INL, AB_INL_C,             /* inlined, one range */
	AB_INL_R, AB_INL_RC,          /* inlined, list of ranges */
};

void dwarf_uleb(struct strbuf *sb, uint64_t v)
{
	do {
		dwarf_u8(sb, (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0)));
		v >>= 7;
	} while (v);
}

void dwarf_sleb(struct strbuf *sb, int64_t v)
{
	for (;;) {
		uint8_t b = v & 0x7f;
		v >>= 7;
		if ((v == 0 && !(b & 0x40)) || (v == -1 && (b & 0x40))) {
			dwarf_u8(sb, b);
			return;
		}
		dwarf_u8(sb, b | 0x80);
	}
}

static void addr_out(const struct dwarf_gen *g, struct strbuf *sb, uint64_t v)
{
	if (g->addr_size == 8)
		dwarf_u64(sb, v);
	else
		dwarf_u32(sb, (uint32_t)v);
}

void dwarf_gen_init(struct dwarf_gen *g, uint8_t addr_size, uint16_t language, const char *name)
{
	*g = (struct dwarf_gen){
		.addr_size = addr_size,
		.language = language,
		.name = name,
		.abstract_dies = STRBUF_INIT_CAP(SECTION_CAP),
		.dies = STRBUF_INIT_CAP(SECTION_CAP),
		.rnglists = STRBUF_INIT_CAP(SECTION_CAP),
		.line_program = STRBUF_INIT_CAP(SECTION_CAP),
		.low = UINT64_MAX,
		.nobits_low = UINT64_MAX,
	};
	strpool_id(&g->str, "", 0); /* offset 0 is the empty string */
}

void dwarf_gen_done(struct dwarf_gen *g)
{
	strpool_done(&g->str);
	strpool_done(&g->files);
	u64map_done(&g->abstracts);
	u64map_done(&g->name_cache);
	u64map_done(&g->file_cache);
	strbuf_done(&g->abstract_dies);
	strbuf_done(&g->dies);
	strbuf_done(&g->rnglists);
	strbuf_done(&g->line_program);
}

/* --- strings and files ---------------------------------------------------------------------------------- */

static uint32_t str_offset(struct dwarf_gen *g, int64_t id)
{
	if (id < 0) {
		g->error = (int)id;
		return 0;
	}
	return (uint32_t)g->str.offsets[id];
}

/* The number of a file: 0 = unknown, which is the unit itself. */
static uint32_t file_number(struct dwarf_gen *g, const char *path, size_t len)
{
	int64_t id;

	if (!len || memchr(path, 0, len))
		return 0;
	id = strpool_id(&g->files, path, len);
	if (id < 0)
		g->error = (int)id;
	return id < 0 ? 0 : (uint32_t)id + 1;
}

static void use_strings(struct dwarf_gen *g, const struct seal_region *r)
{
	if (g->strings == r->strings && !r->own_strings)
		return;
	u64map_done(&g->name_cache);
	u64map_done(&g->file_cache);
	g->strings = r->strings;
}

static uint32_t table_file(struct dwarf_gen *g, const struct seal_region *r, uint32_t offset)
{
	uint64_t *slot;
	const char *s;

	if (!offset)
		return 0;
	slot = u64map_at(&g->file_cache, offset);
	if (!slot) {
		g->error = -ENOMEM;
		return 0;
	}
	if (!*slot) {
		s = jit_string(r->strings, r->strings_len, offset);
		*slot = 1 + (s ? file_number(g, s, strlen(s)) : 0);
	}
	return (uint32_t)*slot - 1;
}

static int64_t table_name(struct dwarf_gen *g, const struct seal_region *r, uint32_t offset)
{
	uint64_t *slot = u64map_at(&g->name_cache, (uint64_t)offset + 1);
	const char *s;
	int64_t id;

	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		s = jit_string(r->strings, r->strings_len, offset);
		id = s ? strpool_id(&g->str, s, strlen(s)) : strpool_id(&g->str, "(unknown)", 9);
		if (id < 0)
			return id;
		*slot = (uint64_t)id + 1;
	}
	return (int64_t)*slot - 1;
}

/* --- inlined subroutines -------------------------------------------------------------------------------- */

struct span {
	uint32_t low, high;
	uint32_t next; /* of the same frame, index + 1 */
};
struct inl {
	struct jit_inlines t;
	uint32_t *first, *last;   /* per frame: its spans, index + 1 */
	uint32_t *child, *sibling; /* per frame, index + 1; child[n_frames] is the region's own */
	struct span *spans;
	uint32_t n_spans, room;
};

static void inl_done(struct inl *x)
{
	jit_inlines_done(&x->t);
	free(x->first);
	free(x->spans);
}

static int span_add(struct inl *x, uint32_t f, uint32_t low, uint32_t high)
{
	if (x->last[f] && x->spans[x->last[f] - 1].high == low) {
		x->spans[x->last[f] - 1].high = high;
		return 0;
	}
	if (x->n_spans == x->room) {
		uint32_t room = x->room * 2 + 64;
		struct span *more = realloc(x->spans, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		x->spans = more;
		x->room = room;
	}
	x->spans[x->n_spans++] = (struct span){ .low = low, .high = high };
	if (x->last[f])
		x->spans[x->last[f] - 1].next = x->n_spans;
	else
		x->first[f] = x->n_spans;
	x->last[f] = x->n_spans;
	return 0;
}

static uint32_t range_end(const struct jit_inlines *t, uint32_t i, uint32_t size)
{
	return i + 1 < t->n_ranges ? MIN(t->ranges[i + 1].offset, size) : size;
}

/* Turns ranges with stacks into spans a frame, and callers into lists of children. */
static int inl_read(struct inl *x, const struct seal_region *r)
{
	uint32_t size = (uint32_t)MIN(r->size, (uint64_t)UINT32_MAX), n;
	int ret = jit_inlines_unpack(&x->t, r->inlines, r->inlines_len);

	if (ret < 0)
		return ret;
	n = x->t.n_frames;
	x->first = calloc(4 * (size_t)n + 2, sizeof(uint32_t));
	if (!x->first)
		return -ENOMEM;
	x->last = x->first + n;
	x->sibling = x->last + n;
	x->child = x->sibling + n;
	for (uint32_t i = 0; i < x->t.n_ranges; i++) {
		uint32_t low = x->t.ranges[i].offset, high = range_end(&x->t, i, size);
		if (low >= high)
			continue;
		for (uint32_t f = x->t.ranges[i].frame; f < n; f = x->t.frames[f].caller)
			if ((ret = span_add(x, f, low, high)) < 0)
				return ret;
	}
	for (uint32_t f = n; f-- > 0;) {
		uint32_t up = MIN(x->t.frames[f].caller, n);
		if (!x->first[f])
			continue;
		x->sibling[f] = x->child[up];
		x->child[up] = f + 1;
	}
	return 0;
}

/* The unit's header and its own entry have a fixed size: abstract entries follow them. */
static uint32_t unit_head_bytes(const struct dwarf_gen *g)
{
	return 12 + 1 + 4 + 2 + 4 + 4 + 4 + g->addr_size + 4;
}

static uint32_t abstract_ref(struct dwarf_gen *g, int64_t name)
{
	uint64_t *at;

	if (name < 0) {
		g->error = (int)name;
		return 0;
	}
	at = u64map_at(&g->abstracts, (uint64_t)name);
	if (!at) {
		g->error = -ENOMEM;
		return 0;
	}
	if (!*at) {
		*at = unit_head_bytes(g) + g->abstract_dies.len;
		dwarf_uleb(&g->abstract_dies, AB_ABSTRACT);
		/* And as the linker's name: for Java, BFD (addr2line, perf report --inline) would take the ELF symbol's without. */
		dwarf_u32(&g->abstract_dies, str_offset(g, name));
		dwarf_u32(&g->abstract_dies, str_offset(g, name));
	}
	return (uint32_t)*at;
}

#define RNGLISTS_HEAD 12

static uint32_t rnglist_out(struct dwarf_gen *g, const struct seal_region *r, const struct inl *x, uint32_t f)
{
	uint32_t at = RNGLISTS_HEAD + (uint32_t)g->rnglists.len;

	dwarf_u8(&g->rnglists, DW_RLE_base_address);
	addr_out(g, &g->rnglists, r->offset);
	for (uint32_t i = x->first[f]; i; i = x->spans[i - 1].next) {
		dwarf_u8(&g->rnglists, DW_RLE_offset_pair);
		dwarf_uleb(&g->rnglists, x->spans[i - 1].low);
		dwarf_uleb(&g->rnglists, x->spans[i - 1].high);
	}
	dwarf_u8(&g->rnglists, DW_RLE_end_of_list);
	return at;
}

static void inlined_out(struct dwarf_gen *g, const struct seal_region *r, const struct inl *x, uint32_t f, uint32_t own_file,
			uint32_t depth)
{
	const struct jit_frame *fr = &x->t.frames[f];
	const struct span *s = &x->spans[x->first[f] - 1];
	bool list = s->next, kids = x->child[f] && depth < MAX_DEPTH;
	uint32_t call_file = fr->caller < x->t.n_frames ? table_file(g, r, x->t.frames[fr->caller].file) : own_file;
	uint32_t origin = abstract_ref(g, table_name(g, r, fr->name));

	dwarf_uleb(&g->dies, list ? (kids ? AB_INL_RC : AB_INL_R) : (kids ? AB_INL_C : AB_INL));
	dwarf_u32(&g->dies, origin);
	dwarf_uleb(&g->dies, call_file);
	dwarf_uleb(&g->dies, fr->call_line);
	if (list) {
		dwarf_u32(&g->dies, rnglist_out(g, r, x, f));
	} else {
		addr_out(g, &g->dies, r->offset + s->low);
		dwarf_u32(&g->dies, s->high - s->low);
	}
	if (!kids)
		return;
	for (uint32_t c = x->child[f]; c; c = x->sibling[c - 1])
		inlined_out(g, r, x, c - 1, own_file, depth + 1);
	dwarf_u8(&g->dies, 0);
}

/* --- lines ---------------------------------------------------------------------------------------------- */

struct line_state {
	uint32_t offset, file;
	int64_t line;
	bool open;
};

static void row_out(struct dwarf_gen *g, const struct seal_region *r, struct line_state *st, uint32_t offset, uint32_t file,
		    uint32_t line)
{
	struct strbuf *sb = &g->line_program;
	int64_t dl;
	uint32_t da;
	unsigned int op;

	if (!st->open) {
		dwarf_u8(sb, 0);
		dwarf_uleb(sb, 1 + g->addr_size);
		dwarf_u8(sb, DW_LNE_set_address);
		addr_out(g, sb, r->offset);
		*st = (struct line_state){ .open = true, .file = UINT32_MAX, .line = 1 }; /* readers disagree on the first file */
	} else if (st->file == file && st->line == line) {
		return; /* the row before goes on */
	}
	if (st->file != file) {
		dwarf_u8(sb, DW_LNS_set_file);
		dwarf_uleb(sb, file);
		st->file = file;
	}
	dl = (int64_t)line - st->line;
	da = offset - st->offset;
	if (dl < LINE_BASE || dl >= LINE_BASE + LINE_RANGE) {
		dwarf_u8(sb, DW_LNS_advance_line);
		dwarf_sleb(sb, dl);
		dl = 0;
	}
	op = (unsigned int)(dl - LINE_BASE) + OPCODE_BASE;
	if (da > (255 - op) / LINE_RANGE) {
		dwarf_u8(sb, DW_LNS_advance_pc);
		dwarf_uleb(sb, da);
		da = 0;
	}
	dwarf_u8(sb, (uint8_t)(op + da * LINE_RANGE));
	st->offset = offset;
	st->line = line;
}

/*
 * Merges the region's own lines with those of the inlined frames: a row wherever one of them changes. Inside an inlined
 * frame its line counts; in the region's own code the range's line if it is known, else the own table's.
 */
static int lines_out(struct dwarf_gen *g, const struct seal_region *r, const struct inl *x, uint32_t own_file)
{
	struct jit_unpack u = jit_unpack_of(r->lines, r->lines_len);
	struct line_state st = { 0 };
	struct jit_line own = { 0 }, next = { 0 };
	uint32_t size = (uint32_t)MIN(r->size, (uint64_t)UINT32_MAX), i = 0, at = 0;
	int more = jit_unpack_line(&u, &next);

	while (at < size) {
		const struct jit_inline_range *in;
		uint32_t file, line, to = size;
		while (more == 1 && next.offset <= at) {
			own = next;
			more = jit_unpack_line(&u, &next);
		}
		while (i < x->t.n_ranges && x->t.ranges[i].offset <= at)
			i++;
		in = i ? &x->t.ranges[i - 1] : NULL;
		file = own.file ? table_file(g, r, own.file) : own_file;
		line = own.line;
		if (in && in->frame < x->t.n_frames) {
			file = table_file(g, r, x->t.frames[in->frame].file);
			line = in->line;
		} else if (in && in->line) {
			file = own_file;
			line = in->line;
		}
		if (st.open || line)
			row_out(g, r, &st, at, file, line);
		if (more == 1)
			to = MIN(to, next.offset);
		if (i < x->t.n_ranges)
			to = MIN(to, x->t.ranges[i].offset);
		at = to;
	}
	if (st.open) { /* the last row holds to the end of the code */
		dwarf_u8(&g->line_program, DW_LNS_advance_pc);
		dwarf_uleb(&g->line_program, size - st.offset);
		dwarf_u8(&g->line_program, 0);
		dwarf_uleb(&g->line_program, 1);
		dwarf_u8(&g->line_program, DW_LNE_end_sequence);
	}
	return more < 0 ? more : 0;
}

/* --- regions -------------------------------------------------------------------------------------------- */

int dwarf_gen_region(struct dwarf_gen *g, const struct seal_region *r)
{
	AUTO(inl_done) struct inl x = { 0 };
	uint32_t own_file = file_number(g, r->source_file, r->source_file_len);
	uint64_t *low = r->no_bytes ? &g->nobits_low : &g->low, *high = r->no_bytes ? &g->nobits_high : &g->high;
	int64_t name;
	bool damaged = false;
	int ret;

	if (!r->size)
		return 0;
	*low = MIN(*low, r->offset);
	*high = MAX(*high, r->offset + r->size);
	use_strings(g, r);
	ret = r->inlines_len ? inl_read(&x, r) : 0;
	if (ret == -ENOMEM)
		return ret;
	if (ret < 0) {
		damaged = true;
		inl_done(&x);
		x = (struct inl){ 0 };
	}
	name = strpool_id(&g->str, r->name ? r->name : "", r->name_len);
	dwarf_uleb(&g->dies, x.n_spans ? AB_SUB_C : AB_SUB);
	dwarf_u32(&g->dies, str_offset(g, name));
	addr_out(g, &g->dies, r->offset);
	dwarf_u32(&g->dies, (uint32_t)MIN(r->size, (uint64_t)UINT32_MAX));
	if (x.n_spans) {
		for (uint32_t c = x.child[x.t.n_frames]; c; c = x.sibling[c - 1])
			inlined_out(g, r, &x, c - 1, own_file, 0);
		dwarf_u8(&g->dies, 0);
	}
	if (r->lines_len || x.t.n_ranges)
		damaged |= lines_out(g, r, &x, own_file) < 0;
	if (g->error)
		return g->error;
	return damaged;
}

/* --- the sections --------------------------------------------------------------------------------------- */

static void abbrev(struct strbuf *sb, unsigned int code, unsigned int tag, bool kids, const uint8_t *pairs)
{
	dwarf_uleb(sb, code);
	dwarf_uleb(sb, tag);
	dwarf_u8(sb, kids);
	for (; *pairs; pairs += 2) {
		dwarf_uleb(sb, pairs[0]);
		dwarf_uleb(sb, pairs[1]);
	}
	dwarf_u16(sb, 0);
}

static void abbrevs_out(struct strbuf *sb)
{
	static const uint8_t unit[] = { DW_AT_producer, DW_FORM_strp, DW_AT_language, DW_FORM_data2, DW_AT_name, DW_FORM_line_strp,
		DW_AT_comp_dir, DW_FORM_line_strp, DW_AT_stmt_list, DW_FORM_sec_offset, DW_AT_low_pc, DW_FORM_addr,
		DW_AT_ranges, DW_FORM_sec_offset, 0 };
	static const uint8_t sub[] = { DW_AT_name, DW_FORM_strp, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4,
		DW_AT_external, DW_FORM_flag_present, 0 };
	static const uint8_t abstract[] = { DW_AT_name, DW_FORM_strp, DW_AT_linkage_name, DW_FORM_strp, DW_AT_inline, DW_FORM_implicit_const };
	static const uint8_t inl[] = { DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_call_file, DW_FORM_udata, DW_AT_call_line,
		DW_FORM_udata, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4, 0 };
	static const uint8_t inlr[] = { DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_call_file, DW_FORM_udata, DW_AT_call_line,
		DW_FORM_udata, DW_AT_ranges, DW_FORM_sec_offset, 0 };

	abbrev(sb, AB_UNIT, DW_TAG_compile_unit, true, unit);
	abbrev(sb, AB_SUB, DW_TAG_subprogram, false, sub);
	abbrev(sb, AB_SUB_C, DW_TAG_subprogram, true, sub);
	/* implicit_const carries its value here */
	dwarf_uleb(sb, AB_ABSTRACT);
	dwarf_uleb(sb, DW_TAG_subprogram);
	dwarf_u8(sb, 0);
	for (size_t i = 0; i < ARRAY_SIZE(abstract); i++)
		dwarf_uleb(sb, abstract[i]);
	dwarf_sleb(sb, DW_INL_inlined);
	dwarf_u16(sb, 0);
	abbrev(sb, AB_INL, DW_TAG_inlined_subroutine, false, inl);
	abbrev(sb, AB_INL_C, DW_TAG_inlined_subroutine, true, inl);
	abbrev(sb, AB_INL_R, DW_TAG_inlined_subroutine, false, inlr);
	abbrev(sb, AB_INL_RC, DW_TAG_inlined_subroutine, true, inlr);
	dwarf_u8(sb, 0);
}

static uint32_t line_str(struct strbuf *sb, const char *s, size_t len)
{
	uint32_t at = (uint32_t)sb->len;

	strbuf_add(sb, s, len);
	strbuf_addch(sb, '\0');
	return at;
}

/* Appends what was gathered, and frees it: a section and its parts together would be the peak of the memory. */
static void part_out(struct strbuf *sb, struct strbuf *part)
{
	strbuf_add(sb, strbuf_str(part), part->len);
	if (part->error) {
		sb->error = part->error;
		return;
	}
	strbuf_done(part);
}

static int line_header_out(struct dwarf_gen *g, struct dwarf_sections *out, uint32_t unit_name, uint32_t comp_dir)
{
	static const uint8_t operands[OPCODE_BASE - 1] = { 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };
	static const uint8_t dir_format[] = { 1, DW_LNCT_path, DW_FORM_line_strp };
	static const uint8_t file_format[] = { 2, DW_LNCT_path, DW_FORM_line_strp, DW_LNCT_directory_index, DW_FORM_udata };
	AUTO_STRBUF head = STRBUF_INIT_CAP(SECTION_CAP), dirs = STRBUF_INIT_CAP(SECTION_CAP), files = STRBUF_INIT_CAP(SECTION_CAP);
	AUTO(strpool_done) struct strpool pool = { 0 };
	uint64_t len;

	strpool_id(&pool, ".", 1);
	dwarf_u32(&files, unit_name);
	dwarf_uleb(&files, 0);
	for (uint32_t i = 0; i < g->files.n; i++) {
		const char *path = strpool_str(&g->files, i), *slash = strrchr(path, '/');
		size_t dir_len = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;
		int64_t dir = slash ? strpool_id(&pool, path, dir_len) : 0;
		if (dir < 0)
			return (int)dir;
		dwarf_u32(&files, line_str(&out->line_str, slash ? slash + 1 : path, strlen(slash ? slash + 1 : path)));
		dwarf_uleb(&files, (uint64_t)dir);
	}
	dwarf_u32(&dirs, comp_dir);
	for (uint32_t i = 1; i < pool.n; i++)
		dwarf_u32(&dirs, line_str(&out->line_str, strpool_str(&pool, i), strlen(strpool_str(&pool, i))));
	dwarf_u8(&head, 1);              /* minimum_instruction_length */
	dwarf_u8(&head, 1);              /* maximum_operations_per_instruction */
	dwarf_u8(&head, 1);              /* default_is_stmt */
	dwarf_u8(&head, (uint8_t)LINE_BASE);
	dwarf_u8(&head, LINE_RANGE);
	dwarf_u8(&head, OPCODE_BASE);
	strbuf_add(&head, operands, sizeof(operands));
	strbuf_add(&head, dir_format, sizeof(dir_format));
	dwarf_uleb(&head, pool.n);
	strbuf_add(&head, strbuf_str(&dirs), dirs.len);
	strbuf_add(&head, file_format, sizeof(file_format));
	dwarf_uleb(&head, (uint64_t)g->files.n + 1);
	strbuf_add(&head, strbuf_str(&files), files.len);
	len = 2 + 1 + 1 + 4 + head.len + g->line_program.len;
	dwarf_u32(&out->line, (uint32_t)len);
	dwarf_u16(&out->line, 5);
	dwarf_u8(&out->line, g->addr_size);
	dwarf_u8(&out->line, 0);         /* segment selector */
	dwarf_u32(&out->line, (uint32_t)head.len);
	strbuf_add(&out->line, strbuf_str(&head), head.len);
	part_out(&out->line, &g->line_program);
	return head.error ? head.error : files.error ? files.error : dirs.error;
}

static void aranges_out(struct dwarf_gen *g, struct strbuf *sb, bool text, bool nobits)
{
	uint32_t pair = 2u * g->addr_size;
	uint32_t n = 1u + text + nobits;

	dwarf_u32(sb, 12 + n * pair);
	dwarf_u16(sb, 2);
	dwarf_u32(sb, 0);
	dwarf_u8(sb, g->addr_size);
	dwarf_u8(sb, 0);
	dwarf_u32(sb, 0); /* tuples are aligned to their size, counted from the start of the set */
	if (text) {
		addr_out(g, sb, g->low);
		addr_out(g, sb, g->high - g->low);
	}
	if (nobits) {
		addr_out(g, sb, g->nobits_low);
		addr_out(g, sb, g->nobits_high - g->nobits_low);
	}
	addr_out(g, sb, 0);
	addr_out(g, sb, 0);
}

/* The unit's own ranges: all regions with bytes, and all without. Appended to .debug_rnglists; its offset is given. */
static uint32_t unit_ranges_out(struct dwarf_gen *g, bool text, bool nobits)
{
	uint32_t at = RNGLISTS_HEAD + (uint32_t)g->rnglists.len;

	if (text) {
		dwarf_u8(&g->rnglists, DW_RLE_start_length);
		addr_out(g, &g->rnglists, g->low);
		dwarf_uleb(&g->rnglists, g->high - g->low);
	}
	if (nobits) {
		dwarf_u8(&g->rnglists, DW_RLE_start_length);
		addr_out(g, &g->rnglists, g->nobits_low);
		dwarf_uleb(&g->rnglists, g->nobits_high - g->nobits_low);
	}
	dwarf_u8(&g->rnglists, DW_RLE_end_of_list);
	return at;
}

static void info_out(struct dwarf_gen *g, struct dwarf_sections *out, uint32_t producer, uint32_t name, uint32_t comp_dir,
		     uint32_t ranges)
{
	struct strbuf *sb = &out->info;
	uint64_t len = unit_head_bytes(g) - 4 + g->abstract_dies.len + g->dies.len + 1;

	dwarf_u32(sb, (uint32_t)len);
	dwarf_u16(sb, 5);
	dwarf_u8(sb, DW_UT_compile);
	dwarf_u8(sb, g->addr_size);
	dwarf_u32(sb, 0);
	dwarf_uleb(sb, AB_UNIT);
	dwarf_u32(sb, producer);
	dwarf_u16(sb, g->language);
	dwarf_u32(sb, name);
	dwarf_u32(sb, comp_dir);
	dwarf_u32(sb, 0);
	addr_out(g, sb, 0);
	dwarf_u32(sb, ranges);
	part_out(sb, &g->abstract_dies);
	part_out(sb, &g->dies);
	dwarf_u8(sb, 0);
}

void dwarf_sections_done(struct dwarf_sections *s)
{
	struct strbuf *all[] = { &s->abbrev, &s->info, &s->line, &s->line_str, &s->str, &s->rnglists, &s->aranges };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		strbuf_done(all[i]);
}

int dwarf_gen_finish(struct dwarf_gen *g, struct dwarf_sections *out)
{
	static const char maker[] = "opjit " PACKAGE_VERSION;
	struct strbuf *all[] = { &out->abbrev, &out->info, &out->line, &out->line_str, &out->str, &out->rnglists, &out->aranges };
	bool text = g->low < g->high, nobits = g->nobits_low < g->nobits_high;
	uint32_t producer, name, comp_dir, ranges;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		*all[i] = (struct strbuf)STRBUF_INIT_CAP(SECTION_CAP);
	producer = str_offset(g, strpool_id(&g->str, maker, strlen(maker)));
	name = line_str(&out->line_str, g->name, strlen(g->name));
	comp_dir = line_str(&out->line_str, ".", 1);
	ranges = unit_ranges_out(g, text, nobits);
	abbrevs_out(&out->abbrev);
	u64map_done(&g->abstracts);
	u64map_done(&g->name_cache);
	u64map_done(&g->file_cache);
	info_out(g, out, producer, name, comp_dir, ranges);
	r = line_header_out(g, out, name, comp_dir);
	if (r < 0)
		return r;
	strbuf_add(&out->str, g->str.bytes, g->str.len);
	strpool_done(&g->str);
	dwarf_u32(&out->rnglists, (uint32_t)(RNGLISTS_HEAD - 4 + g->rnglists.len));
	dwarf_u16(&out->rnglists, 5);
	dwarf_u8(&out->rnglists, g->addr_size);
	dwarf_u8(&out->rnglists, 0);
	dwarf_u32(&out->rnglists, 0);
	part_out(&out->rnglists, &g->rnglists);
	aranges_out(g, &out->aranges, text, nobits);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i]->error)
			return all[i]->error;
	return g->error;
}
