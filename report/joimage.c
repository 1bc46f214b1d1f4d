/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/elfnames.h"
#include "lib/io.h"
#include "report/upstream.h"

#define TEXT_AT 4096u
#define TEXT_MAX (UINT64_C(1) << 32)
#define FILE_SLACK ((size_t)64 << 20)

void jo_image_done(struct jo_image *im)
{
	free(im->symbols);
	strbuf_done(&im->names);
	strbuf_done(&im->code);
	im->symbols = NULL;
	im->n = im->room = 0;
}

int jo_image_add(struct jo_image *im, uint64_t addr, uint64_t size, const char *name, const void *bytes)
{
	struct jo_symbol s = { .addr = addr, .size = size, .name = im->names.len, .bytes = bytes ? im->code.len : SIZE_MAX };

	if (im->n == im->room) {
		size_t room = im->room ? im->room * 2 : 256;
		struct jo_symbol *more = realloc(im->symbols, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		im->symbols = more;
		im->room = room;
	}
	strbuf_add(&im->names, name, strlen(name) + 1);
	if (bytes)
		strbuf_add(&im->code, bytes, size);
	if (im->names.error || im->code.error)
		return im->names.error ? im->names.error : im->code.error;
	im->symbols[im->n++] = s;
	return 0;
}

static int by_addr(const void *a, const void *b)
{
	const struct jo_symbol *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

const struct jo_symbol *jo_image_find(const struct jo_image *im, uint64_t addr)
{
	size_t lo = 0, hi = im->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (im->symbols[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr - im->symbols[lo - 1].addr < im->symbols[lo - 1].size ? &im->symbols[lo - 1] : NULL;
}

/* The bytes of [addr, addr + size) in section s, NULL if it does not have them all. */
static const void *bytes_of(Elf_Scn *s, uint64_t addr, uint64_t size)
{
	GElf_Shdr h;
	Elf_Data *d;

	if (!s || !gelf_getshdr(s, &h) || h.sh_type == SHT_NOBITS || addr < h.sh_addr || size > h.sh_size ||
	    addr - h.sh_addr > h.sh_size - size)
		return NULL;
	d = elf_rawdata(s, NULL);
	return d && d->d_buf && addr - h.sh_addr + size <= d->d_size ? (const char *)d->d_buf + (addr - h.sh_addr) : NULL;
}

static int read_symbols(struct jo_image *im, Elf *elf, Elf_Scn *scn, const GElf_Shdr *h)
{
	Elf_Data *d = elf_getdata(scn, NULL);
	size_t n = d && h->sh_entsize ? d->d_size / h->sh_entsize : 0;
	struct elf_names names = elf_names_of(elf, h->sh_link);
	int r = 0;

	for (size_t i = 1; i < n && r >= 0; i++) {
		GElf_Sym s;
		const char *name;
		if (!gelf_getsym(d, (int)i, &s) || GELF_ST_TYPE(s.st_info) != STT_FUNC || !s.st_size || s.st_shndx == SHN_UNDEF)
			continue;
		name = elf_name(&names, s.st_name);
		if (name)
			r = jo_image_add(im, s.st_value, s.st_size, name, bytes_of(elf_getscn(elf, s.st_shndx), s.st_value, s.st_size));
	}
	return r;
}

int jo_image_read(struct jo_image *ret, const char *path)
{
	AUTO_CLOSE int fd = io_open_regular(AT_FDCWD, path, O_RDONLY);
	struct stat st;
	GElf_Ehdr eh;
	Elf *elf;
	int r = 0;

	if (fd < 0)
		return fd;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &eh)) {
		elf_end(elf);
		return -EBADMSG;
	}
	/* Symbols may cover the same bytes, and each has its own: a small file must not become a large one. */
	if (fstat(fd, &st) == 0)
		ret->code.cap = MIN(ret->code.cap, FILE_SLACK + 4 * (size_t)st.st_size);
	ret->machine = eh.e_machine;
	ret->bits = eh.e_ident[EI_CLASS] == ELFCLASS32 ? 32 : 64;
	for (Elf_Scn *s = NULL; r >= 0 && (s = elf_nextscn(elf, s));) {
		GElf_Shdr h;
		if (gelf_getshdr(s, &h) && h.sh_type == SHT_SYMTAB)
			r = read_symbols(ret, elf, s, &h);
	}
	elf_end(elf);
	if (r >= 0 && ret->n)
		qsort(ret->symbols, ret->n, sizeof(*ret->symbols), by_addr);
	return r;
}

static void put_text(struct strbuf *out, const struct jo_image *im, uint64_t text_addr, uint64_t len)
{
	size_t start = out->len;

	if (strbuf_reserve(out, len) < 0)
		return;
	memset(out->buf + start, 0, len + 1);
	for (size_t i = 0; i < im->n; i++)
		if (im->symbols[i].bytes != SIZE_MAX)
			memcpy(out->buf + start + (im->symbols[i].addr - text_addr), im->code.buf + im->symbols[i].bytes, im->symbols[i].size);
	out->len += len;
}

int jo_image_write(const struct jo_image *im, uint64_t text_addr, const char *path)
{
	static const char names[] = "\0.text\0.symtab\0.strtab\0.shstrtab";
	static const Elf64_Sym none;
	AUTO_STRBUF out = STRBUF_INIT_CAP(TEXT_MAX * 2);
	uint64_t text = im->n ? im->symbols[im->n - 1].addr + im->symbols[im->n - 1].size - text_addr : 0;
	uint64_t symtab, strtab, shstr, shdrs;

	for (size_t i = 0; i < im->n; i++)
		if (im->symbols[i].addr < text_addr || im->symbols[i].size > TEXT_MAX || im->symbols[i].addr - text_addr > TEXT_MAX)
			return -E2BIG;
	for (size_t i = 0; i + 1 < im->n; i++) /* symbols may overlap */
		text = MAX(text, im->symbols[i].addr + im->symbols[i].size - text_addr);
	if (text > FILE_SLACK + 4 * im->code.len) /* nearly all of it is code that nobody has */
		return -E2BIG;
	symtab = ALIGN_UP(TEXT_AT + text, (uint64_t)16);
	strtab = symtab + (im->n + 1) * sizeof(Elf64_Sym);
	shstr = strtab + 1 + im->names.len;
	shdrs = ALIGN_UP(shstr + sizeof(names), (uint64_t)16);
	Elf64_Ehdr eh = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
				       __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? ELFDATA2MSB : ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_DYN, .e_machine = im->machine ? im->machine : EM_X86_64, .e_version = EV_CURRENT,
			  .e_phoff = sizeof(eh), .e_shoff = shdrs, .e_ehsize = sizeof(eh), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
			  .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 5, .e_shstrndx = 4 };
	Elf64_Phdr ph = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = TEXT_AT, .p_vaddr = text_addr, .p_paddr = text_addr,
			  .p_filesz = text, .p_memsz = text, .p_align = 4096 };
	Elf64_Shdr sh[5] = {
		{ 0 },
		{ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = text_addr, .sh_offset = TEXT_AT,
		  .sh_size = text, .sh_addralign = 16 },
		{ .sh_name = 7, .sh_type = SHT_SYMTAB, .sh_offset = symtab, .sh_size = strtab - symtab, .sh_link = 3, .sh_info = 1,
		  .sh_addralign = 8, .sh_entsize = sizeof(Elf64_Sym) },
		{ .sh_name = 15, .sh_type = SHT_STRTAB, .sh_offset = strtab, .sh_size = shstr - strtab, .sh_addralign = 1 },
		{ .sh_name = 23, .sh_type = SHT_STRTAB, .sh_offset = shstr, .sh_size = sizeof(names), .sh_addralign = 1 },
	};

	strbuf_add(&out, &eh, sizeof(eh));
	strbuf_add(&out, &ph, sizeof(ph));
	while (out.len < TEXT_AT && !out.error)
		strbuf_addch(&out, 0);
	put_text(&out, im, text_addr, text);
	while (out.len < symtab && !out.error)
		strbuf_addch(&out, 0);
	strbuf_add(&out, &none, sizeof(none));
	for (size_t i = 0; i < im->n; i++) {
		Elf64_Sym s = { .st_name = (Elf64_Word)(im->symbols[i].name + 1), .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				.st_shndx = 1, .st_value = im->symbols[i].addr, .st_size = im->symbols[i].size };
		strbuf_add(&out, &s, sizeof(s));
	}
	strbuf_addch(&out, 0);
	strbuf_add(&out, strbuf_str(&im->names), im->names.len);
	strbuf_add(&out, names, sizeof(names));
	while (out.len < shdrs && !out.error)
		strbuf_addch(&out, 0);
	strbuf_add(&out, sh, sizeof(sh));
	return out.error ? out.error : io_replace(path, out.buf, out.len, 0644);
}
