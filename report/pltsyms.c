/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stubs of a procedure linkage table (x86-64 psABI §5.2): no symbol table has them, but each jumps through a slot that a
 * relocation names. The slot is read out of the stub's own code, so that the order of the tables and the kind of the stubs
 * (.plt, .plt.got, .plt.sec) do not matter.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "lib/elfnames.h"
#include "report/symimage.h"

#define RELOCS_MAX ((size_t)16 << 20)
#define LOOKS_MAX ((size_t)16 << 20) /* symbols looked at for the sake of stubs of indirect functions */
#define TEXT_MAX ((size_t)64 << 20)  /* bytes of names: any number of stubs may share one */

struct plt {
	struct sym_image *img;
	struct u64map slots; /* address -> number of the symbol, or FUNCTION | address of an indirect function */
	Elf_Data *dynsym;    /* NULL = none */
	struct elf_names dynstr;
	size_t looks, text;
};
#define FUNCTION (UINT64_C(1) << 63)

static int add_slots(struct plt *p, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *d = elf_getdata(scn, NULL);
	size_t n = d && sh->sh_entsize ? MIN(d->d_size / sh->sh_entsize, RELOCS_MAX) : 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t v = 0, *at;
		GElf_Rela r;

		if (!gelf_getrela(d, (int)i, &r))
			break;
		switch (GELF_R_TYPE(r.r_info)) {
		case R_X86_64_JUMP_SLOT:
		case R_X86_64_GLOB_DAT: v = GELF_R_SYM(r.r_info); break;
		case R_X86_64_IRELATIVE: v = FUNCTION | (uint64_t)r.r_addend; break;
		default: break;
		}
		if (!v)
			continue;
		at = u64map_at(&p->slots, r.r_offset);
		if (!at)
			return -ENOMEM;
		*at = v;
	}
	return 0;
}

/* The name that the stub jumping through a slot has, without "@plt"; NULL if it has none. */
static const char *name_of(struct plt *p, uint64_t slot)
{
	const uint64_t *v = u64map_get(&p->slots, slot);
	const struct sym *best = NULL, *at = p->img->syms;
	GElf_Sym s;

	if (!v)
		return NULL;
	if (!(*v & FUNCTION))
		return *v <= INT32_MAX && gelf_getsym(p->dynsym, (int)*v, &s) ? elf_name(&p->dynstr, s.st_name) : NULL;
	/* Of several, the one that the function itself has (sym_image_finish): memcpy, not its local memcpy_ifunc. */
	for (size_t i = 0; i < p->img->n && p->looks < LOOKS_MAX; i++, p->looks++)
		if (at[i].start == (*v & ~FUNCTION) && (!best || at[i].rank > best->rank ||
							(at[i].rank == best->rank && strncmp(at[i].name, best->name, SYM_NAME_CMP_MAX) < 0)))
			best = &at[i];
	return best ? best->name : NULL;
}

/* The stubs of static programs have half the room, and GNU ld tells so by nothing but their alignment. */
static size_t step_of(const GElf_Shdr *sh)
{
	return sh->sh_entsize == 8 || (!sh->sh_entsize && sh->sh_addralign == 8) ? 8 : 16;
}

static int add_stubs(struct plt *p, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *d = elf_getdata(scn, NULL);
	size_t step = step_of(sh);

	for (size_t at = 0; d && at + step <= d->d_size; at += step) {
		const uint8_t *code = (const uint8_t *)d->d_buf + at;
		const char *name;
		struct sym_word *w;
		int32_t far;
		int r;

		for (size_t i = 0; i + 6 <= step; i++) {
			if (code[i] != 0xff || code[i + 1] != 0x25) /* jmp *far(%rip) */
				continue;
			memcpy(&far, code + i + 2, 4);
			name = name_of(p, sh->sh_addr + at + i + 6 + (uint64_t)(int64_t)far);
			if (!name || !*name)
				break;
			if ((p->text += strlen(name)) > TEXT_MAX)
				return 0;
			w = sym_word_new(p->img, name, strlen(name), "@plt");
			if (!w)
				return -ENOMEM;
			r = sym_image_add(p->img, &(struct sym){ .start = sh->sh_addr + at, .end = sh->sh_addr + at + step,
								 .name = w->text, .tier = -1, .osr_bci = -1, .rank = 1 });
			if (r < 0)
				return r;
			break;
		}
	}
	return 0;
}

static int each_section(struct plt *p, bool stubs)
{
	uint64_t room = elf_file_room(p->img->fd);
	struct elf_names names = { 0 };
	size_t strndx = 0;
	Elf_Scn *scn = NULL;
	int r = 0;

	if (elf_getshdrstrndx(p->img->elf, &strndx) == 0)
		names = elf_names_of(p->img->elf, strndx);
	while (!r && (scn = elf_nextscn(p->img->elf, scn))) {
		GElf_Shdr sh;
		const char *name;

		if (!gelf_getshdr(scn, &sh))
			continue;
		name = elf_name(&names, sh.sh_name);
		if (!stubs && sh.sh_type == SHT_RELA && (sh.sh_flags & SHF_ALLOC) && elf_room_take(&room, &sh))
			r = add_slots(p, scn, &sh);
		else if (stubs && sh.sh_type == SHT_PROGBITS && (sh.sh_flags & SHF_EXECINSTR) && name &&
			 (!strcmp(name, ".iplt") || !strncmp(name, ".plt", 4)) && elf_room_take(&room, &sh))
			r = add_stubs(p, scn, &sh);
	}
	return r;
}

int pltsyms_add(struct sym_image *img, Elf_Scn *dynsym)
{
	struct plt p = { .img = img };
	GElf_Shdr sh;
	int r;

	if (img->machine != EM_X86_64 || !img->is64)
		return 0;
	if (dynsym && gelf_getshdr(dynsym, &sh)) {
		p.dynsym = elf_getdata(dynsym, NULL);
		p.dynstr = elf_names_of(img->elf, sh.sh_link);
	}
	r = each_section(&p, false);
	if (!r && u64map_size(&p.slots))
		r = each_section(&p, true);
	u64map_done(&p.slots);
	return r;
}
