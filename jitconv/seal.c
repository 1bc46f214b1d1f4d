/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jitconv/seal.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "jitconv/dwarf.h"

#define MAX_EXTRA 8
#define PAGE 4096u
#define NOTE_BYTES 36u /* Nhdr, "GNU", 20 bytes */
#define SYM_CAP ((size_t)3 << 30)

#if defined(__x86_64__)
#define HOST_MACHINE EM_X86_64
#elif defined(__i386__)
#define HOST_MACHINE EM_386
#elif defined(__aarch64__)
#define HOST_MACHINE EM_AARCH64
#else
#define HOST_MACHINE EM_NONE
#endif

struct sym {
	uint64_t offset, size;
	uint32_t name;
	bool no_bytes;
};

struct extra {
	const char *name;
	const void *bytes;
	size_t len;
};

struct seal {
	struct seal_opts o;
	struct dwarf_gen dwarf;
	struct ehframe_gen eh;
	struct strbuf syms;    /* struct sym, in order of the regions */
	struct strpool strtab; /* each name once; offset 0 is the empty one */
	uint64_t last_offset, hash[3];
	struct extra extra[MAX_EXTRA];
	unsigned int n_extra;
	struct seal_stats stats;
};

int seal_new(struct seal **ret, const struct seal_opts *o)
{
	struct seal *s;

	if ((o->elf_class && o->elf_class != ELFCLASS32 && o->elf_class != ELFCLASS64) || elf_version(EV_CURRENT) == EV_NONE)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->o = *o;
	s->o.machine = o->machine ? o->machine : HOST_MACHINE;
	s->o.elf_class = o->elf_class ? o->elf_class : ELFCLASS64;
	s->syms = (struct strbuf)STRBUF_INIT_CAP(SYM_CAP);
	strpool_id(&s->strtab, "", 0);
	dwarf_gen_init(&s->dwarf, s->o.elf_class == ELFCLASS64 ? 8 : 4, o->language ? o->language : DW_LANG_C11, o->name ? o->name : "jit");
	ehframe_gen_init(&s->eh, s->o.machine);
	*ret = s;
	return 0;
}

void seal_free(struct seal *s)
{
	if (!s)
		return;
	dwarf_gen_done(&s->dwarf);
	ehframe_gen_done(&s->eh);
	strbuf_done(&s->syms);
	strpool_done(&s->strtab);
	free(s);
}

static void hash_in(struct seal *s, const void *data, size_t len)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(s->hash); i++)
		s->hash[i] = util_hash_u64(s->hash[i] * 31 + (i + 1) * 0x9e3779b97f4a7c15ULL) ^ util_hash_bytes(data, len) * (2 * i + 1);
}

int seal_string(struct seal *s, const char *text, size_t len, uint32_t *offset)
{
	int64_t id = strpool_id(&s->strtab, text ? text : "", len);

	if (id < 0)
		return (int)id;
	if (s->strtab.offsets[id] > UINT32_MAX)
		return -E2BIG;
	*offset = (uint32_t)s->strtab.offsets[id];
	return 0;
}

int seal_add(struct seal *s, const struct seal_region *r)
{
	struct sym sym = { .offset = r->offset, .size = r->size, .no_bytes = r->no_bytes };
	int a, b;

	if (r->offset < s->last_offset)
		return -EINVAL;
	s->last_offset = r->offset;
	a = seal_string(s, r->name, r->name_len, &sym.name);
	if (a < 0)
		return a;
	if (strbuf_add(&s->syms, &sym, sizeof(sym)) < 0)
		return -ENOMEM;
	hash_in(s, &r->offset, 16);
	hash_in(s, r->name, r->name_len);
	s->stats.regions++;
	if (s->o.no_debug)
		return 0;
	a = dwarf_gen_region(&s->dwarf, r);
	if (a < 0)
		return a;
	b = r->no_bytes ? 0 : ehframe_gen_region(&s->eh, r);
	if (b < 0)
		return b;
	s->stats.bad_tables += a || b;
	return 0;
}

int seal_section(struct seal *s, const char *name, const void *bytes, size_t len)
{
	if (s->n_extra == MAX_EXTRA)
		return -E2BIG;
	s->extra[s->n_extra++] = (struct extra){ name, bytes, len };
	return 0;
}

/* --- the file ------------------------------------------------------------------------------------------- */

struct writer {
	struct seal *s;
	Elf *elf;
	struct strbuf shstrtab;
	uint64_t at;             /* file offset of the next section */
	uint64_t front;          /* the same for those that stand before the text */
	uint64_t load_end;       /* end of what is mapped */
	size_t text_ndx, nobits_ndx;
	int error;
};

struct section {
	const char *name;
	uint32_t type;
	uint64_t flags, addr, align, entsize;
	uint32_t link, info;
	Elf_Type data_type;
	const void *bytes;
	uint64_t len;
	bool front;
};

/* Appends a section at w->at (aligned), or at sec->addr if it has one. Gives its index. */
static size_t section_out(struct writer *w, const struct section *sec)
{
	Elf_Scn *scn = elf_newscn(w->elf);
	Elf_Data *data = scn ? elf_newdata(scn) : NULL;
	GElf_Shdr shdr;

	if (!data || !gelf_getshdr(scn, &shdr)) {
		w->error = -ENOMEM;
		return 0;
	}
	if (sec->type == SHT_NOBITS)
		shdr.sh_offset = sec->addr;
	else if (sec->front)
		shdr.sh_offset = ALIGN_UP(w->front, sec->align);
	else
		shdr.sh_offset = w->at = sec->addr ? sec->addr : ALIGN_UP(w->at, sec->align);
	*data = (Elf_Data){ .d_buf = (void *)sec->bytes, .d_size = sec->len, .d_align = sec->align, .d_type = sec->data_type,
			    .d_version = EV_CURRENT };
	shdr.sh_name = (Elf32_Word)w->shstrtab.len;
	shdr.sh_type = sec->type;
	shdr.sh_flags = sec->flags;
	shdr.sh_addr = sec->flags & SHF_ALLOC ? (sec->addr ? sec->addr : shdr.sh_offset) : 0;
	shdr.sh_size = sec->len;
	shdr.sh_addralign = sec->align;
	shdr.sh_entsize = sec->entsize;
	shdr.sh_link = sec->link;
	shdr.sh_info = sec->info;
	strbuf_add(&w->shstrtab, sec->name, strlen(sec->name) + 1);
	if (!gelf_update_shdr(scn, &shdr))
		w->error = -EINVAL;
	if (sec->front) {
		w->front = shdr.sh_offset + sec->len;
	} else if (sec->type != SHT_NOBITS) {
		w->at += sec->len;
		if (sec->flags & SHF_ALLOC)
			w->load_end = w->at;
	}
	return elf_ndxscn(scn);
}

static void symtab_out(struct writer *w, struct strbuf *room)
{
	struct seal *s = w->s;
	size_t n = s->syms.len / sizeof(struct sym), strtab_ndx;
	size_t entsize = gelf_fsize(w->elf, ELF_T_SYM, 1, EV_CURRENT);
	Elf_Data data = { .d_type = ELF_T_SYM, .d_version = EV_CURRENT };

	/* gelf_update_sym wants an Elf_Data in memory form. */
	data.d_size = (n + 1) * (s->o.elf_class == ELFCLASS64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
	if (strbuf_reserve(room, data.d_size) < 0) {
		w->error = -ENOMEM;
		return;
	}
	memset(room->buf, 0, data.d_size);
	data.d_buf = room->buf;
	strtab_ndx = section_out(w, &(struct section){ .name = ".strtab", .type = SHT_STRTAB, .align = 1, .bytes = s->strtab.bytes,
						       .len = s->strtab.len });
	for (size_t i = 0; i < n; i++) {
		struct sym sym;
		size_t ndx;
		memcpy(&sym, s->syms.buf + i * sizeof(sym), sizeof(sym));
		ndx = sym.no_bytes ? w->nobits_ndx : w->text_ndx;
		if (s->o.elf_class == ELFCLASS64)
			((Elf64_Sym *)room->buf)[i + 1] = (Elf64_Sym){ .st_name = sym.name, .st_value = sym.offset, .st_size = sym.size,
				.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = (Elf64_Half)ndx };
		else
			((Elf32_Sym *)room->buf)[i + 1] = (Elf32_Sym){ .st_name = sym.name, .st_value = (Elf32_Addr)sym.offset,
				.st_size = (Elf32_Word)sym.size, .st_info = ELF32_ST_INFO(STB_GLOBAL, STT_FUNC),
				.st_shndx = (Elf32_Half)ndx };
	}
	section_out(w, &(struct section){ .name = ".symtab", .type = SHT_SYMTAB, .align = 8, .entsize = entsize,
					  .link = (uint32_t)strtab_ndx, .info = 1, .data_type = ELF_T_SYM, .bytes = room->buf,
					  .len = data.d_size });
}

static void debug_out(struct writer *w, struct dwarf_sections *d)
{
	const struct {
		const char *name;
		struct strbuf *sb;
		bool strings;
	} all[] = {
		{ ".debug_abbrev", &d->abbrev, false }, { ".debug_info", &d->info, false }, { ".debug_line", &d->line, false },
		{ ".debug_line_str", &d->line_str, true }, { ".debug_str", &d->str, true }, { ".debug_rnglists", &d->rnglists, false },
		{ ".debug_aranges", &d->aranges, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		section_out(w, &(struct section){ .name = all[i].name, .type = SHT_PROGBITS, .align = 1,
						  .flags = all[i].strings ? SHF_MERGE | SHF_STRINGS : 0,
						  .entsize = all[i].strings, .bytes = all[i].sb->buf, .len = all[i].sb->len });
		w->s->stats.debug_bytes += all[i].sb->len;
	}
}

static uint64_t ehframe_out(struct writer *w, struct strbuf *hdr)
{
	struct ehframe_gen *g = &w->s->eh;
	uint64_t hdr_at = ALIGN_UP(w->at, 8), at = ALIGN_UP(hdr_at + ehframe_hdr_bytes(g), 8);
	int r;

	if (!g->table.len)
		return 0;
	r = ehframe_gen_finish(g, at, hdr_at, hdr);
	if (r < 0) {
		w->error = r;
		return 0;
	}
	section_out(w, &(struct section){ .name = ".eh_frame_hdr", .type = SHT_PROGBITS, .flags = SHF_ALLOC, .align = 8, .addr = hdr_at,
					  .bytes = hdr->buf, .len = hdr->len });
	section_out(w, &(struct section){ .name = ".eh_frame", .type = SHT_PROGBITS, .flags = SHF_ALLOC, .align = 8, .addr = at,
					  .bytes = g->frames.buf, .len = g->frames.len });
	w->s->stats.debug_bytes += hdr->len + g->frames.len;
	return hdr_at;
}

static void build_id_note(struct seal *s, const struct seal_text *t, uint8_t note[NOTE_BYTES])
{
	uint32_t head[3] = { 4, 20, 3 /* NT_GNU_BUILD_ID */ };

	hash_in(s, t->bytes, t->len);
	memcpy(note, head, 12);
	memcpy(note + 12, "GNU", 4);
	memcpy(note + 16, s->hash, 20);
}

/* Segments: everything mapped in one PT_LOAD at offset 0 = address 0 (perf needs that), the note, the frames. */
static void segments_out(struct writer *w, const struct seal_text *t, uint64_t note_at, uint64_t hdr_at, uint64_t hdr_len)
{
	size_t i = 0;
	GElf_Phdr all[] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = w->load_end, .p_memsz = w->load_end, .p_align = PAGE },
		{ .p_type = PT_NOTE, .p_flags = PF_R, .p_offset = note_at, .p_vaddr = note_at, .p_paddr = note_at, .p_filesz = NOTE_BYTES,
		  .p_memsz = NOTE_BYTES, .p_align = 4 },
		{ .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16 },
		{ .p_type = hdr_at ? PT_GNU_EH_FRAME : PT_NULL, .p_flags = PF_R, .p_offset = hdr_at, .p_vaddr = hdr_at, .p_paddr = hdr_at,
		  .p_filesz = hdr_len, .p_memsz = hdr_len, .p_align = 4 },
		{ .p_type = t->nobits_len ? PT_LOAD : PT_NULL, .p_flags = PF_R, .p_offset = t->nobits_offset,
		  .p_vaddr = t->nobits_offset, .p_paddr = t->nobits_offset, .p_memsz = t->nobits_len, .p_align = PAGE },
	};

	for (size_t k = 0; k < ARRAY_SIZE(all); k++)
		if (all[k].p_type != PT_NULL && !gelf_update_phdr(w->elf, (int)i++, &all[k]))
			w->error = -EINVAL;
}

#define MAX_SECTIONS (16 + MAX_EXTRA)
#define NAMES_BYTES 512u /* room for .shstrtab */

/*
 * In front of the text: ELF header, program headers, section headers, build-id, .opjit.info, section names; so that a
 * reader of growing images (whose headers all stand in the first page) reads sealed ones, too.
 */
static int sections_out(struct writer *w, const struct seal_text *t, struct dwarf_sections *d, struct strbuf *syms, struct strbuf *hdr,
			uint8_t note[NOTE_BYTES], size_t n_phdr)
{
	struct seal *s = w->s;
	size_t phdr = gelf_fsize(w->elf, ELF_T_PHDR, n_phdr, EV_CURRENT), ehdr = gelf_fsize(w->elf, ELF_T_EHDR, 1, EV_CURRENT);
	uint64_t shdr_at = ALIGN_UP(ehdr + phdr, (size_t)8), note_at, hdr_at;
	size_t shstr_ndx;
	GElf_Ehdr eh;

	w->front = note_at = ALIGN_UP(shdr_at + gelf_fsize(w->elf, ELF_T_SHDR, MAX_SECTIONS, EV_CURRENT), 8);
	build_id_note(s, t, note);
	section_out(w, &(struct section){ .name = ".note.gnu.build-id", .type = SHT_NOTE, .flags = SHF_ALLOC, .align = 4, .front = true,
					  .bytes = note, .len = NOTE_BYTES });
	w->text_ndx = section_out(w, &(struct section){ .name = ".text", .type = SHT_PROGBITS, .flags = SHF_ALLOC | SHF_EXECINSTR,
							.addr = t->offset, .align = 16, .bytes = t->bytes, .len = t->len });
	hdr_at = ehframe_out(w, hdr);
	if (t->nobits_len)
		w->nobits_ndx = section_out(w, &(struct section){ .name = ".opjit.code", .type = SHT_NOBITS, .flags = SHF_ALLOC,
								  .addr = t->nobits_offset, .align = 16, .len = t->nobits_len });
	symtab_out(w, syms);
	if (!s->o.no_debug)
		debug_out(w, d);
	for (unsigned int i = 0; i < s->n_extra; i++)
		section_out(w, &(struct section){ .name = s->extra[i].name, .type = SHT_PROGBITS, .align = 8, .bytes = s->extra[i].bytes,
						  .len = s->extra[i].len, .front = !strcmp(s->extra[i].name, ".opjit.info") });
	strbuf_add(&w->shstrtab, ".shstrtab", 10);
	w->shstrtab.len -= 10; /* its own name is there before it is added */
	shstr_ndx = section_out(w, &(struct section){ .name = ".shstrtab", .type = SHT_STRTAB, .align = 1, .bytes = w->shstrtab.buf,
						      .len = w->shstrtab.len + 10, .front = true });
	segments_out(w, t, note_at, hdr_at, hdr->len);
	if (w->error || w->shstrtab.error || !gelf_getehdr(w->elf, &eh))
		return w->error ? w->error : -ENOMEM;
	if (w->front > t->offset)
		return -EINVAL;
	eh.e_ident[EI_DATA] = __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
	eh.e_type = ET_DYN;
	eh.e_machine = s->o.machine;
	eh.e_version = EV_CURRENT;
	eh.e_phoff = ehdr;
	eh.e_shoff = shdr_at;
	eh.e_shstrndx = (Elf64_Half)shstr_ndx;
	return gelf_update_ehdr(w->elf, &eh) ? 0 : -EINVAL;
}

int seal_write(struct seal *s, int fd, const struct seal_text *t)
{
	AUTO(dwarf_sections_done) struct dwarf_sections d = { 0 };
	AUTO_STRBUF syms = STRBUF_INIT_CAP(SYM_CAP), hdr = STRBUF_INIT_CAP(SYM_CAP);
	struct writer w = { .s = s, .at = t->offset, .shstrtab = STRBUF_INIT_CAP(NAMES_BYTES) };
	uint8_t note[NOTE_BYTES];
	size_t n_phdr = 3u + (s->eh.table.len > 0) + (t->nobits_len > 0);
	int r = 0;

	if (!s->o.no_debug && (r = dwarf_gen_finish(&s->dwarf, &d)) < 0)
		return r;
	strbuf_reserve(&w.shstrtab, NAMES_BYTES); /* section_out hands out the buffer: it must not move any more */
	strbuf_addch(&w.shstrtab, '\0');
	w.elf = elf_begin(fd, ELF_C_WRITE, NULL);
	if (!w.elf || !gelf_newehdr(w.elf, s->o.elf_class) || !gelf_newphdr(w.elf, n_phdr))
		r = -EIO;
	if (!r) {
		elf_flagelf(w.elf, ELF_C_SET, ELF_F_LAYOUT | ELF_F_PERMISSIVE);
		r = sections_out(&w, t, &d, &syms, &hdr, note, n_phdr);
	}
	if (!r && elf_update(w.elf, ELF_C_WRITE) < 0)
		r = errno ? -errno : -EIO;
	elf_end(w.elf);
	strbuf_done(&w.shstrtab);
	s->stats.text_bytes = t->len;
	return r;
}

void seal_stats(const struct seal *s, struct seal_stats *ret) { *ret = s->stats; }
