/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Symbols of an ELF file: .symtab of the file or of its separate debug file, else .dynsym. Read with pread, not
 * mapped: a file that shrinks under us must not raise SIGBUS.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "lib/elfnames.h"
#include "lib/io.h"
#include "report/symimage.h"

#define DEBUG_ROOT "/usr/lib/debug"
#define SEGMENTS_MAX 4096
#define SYMBOLS_MAX ((size_t)32 << 20)

struct elf_view { /* what one pass over the section headers finds */
	Elf_Scn *symtab, *dynsym;
	uint8_t build_id[64];
	size_t build_id_len;
	char debuglink[256];
	uint32_t debuglink_crc;
	bool dwarf;
};

uint64_t elf_file_room(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : (uint64_t)st.st_size;
}

bool elf_room_take(uint64_t *room, const GElf_Shdr *sh)
{
	if (sh->sh_size > *room)
		return false;
	*room -= sh->sh_size;
	return true;
}

static void view_note(struct elf_view *v, Elf_Scn *scn)
{
	Elf_Data *d = elf_getdata(scn, NULL);
	size_t at = 0, name, desc, next;
	GElf_Nhdr nh;

	while (d && at < d->d_size && (next = gelf_getnote(d, at, &nh, &name, &desc)) > 0) {
		if (nh.n_type == NT_GNU_BUILD_ID && nh.n_namesz == 4 && !memcmp((char *)d->d_buf + name, "GNU", 4) &&
		    nh.n_descsz > 1 && nh.n_descsz <= sizeof(v->build_id)) {
			memcpy(v->build_id, (char *)d->d_buf + desc, nh.n_descsz);
			v->build_id_len = nh.n_descsz;
		}
		at = next;
	}
}

static void view_debuglink(struct elf_view *v, Elf_Scn *scn)
{
	Elf_Data *d = elf_getdata(scn, NULL);
	size_t n;

	if (!d || d->d_size < 8 || !memchr(d->d_buf, 0, d->d_size))
		return;
	n = strlen(d->d_buf) + 1;
	if (n > sizeof(v->debuglink) || ALIGN_UP(n, (size_t)4) + 4 > d->d_size)
		return;
	memcpy(v->debuglink, d->d_buf, n);
	memcpy(&v->debuglink_crc, (char *)d->d_buf + ALIGN_UP(n, (size_t)4), 4);
}

static void view_scan(struct elf_view *v, Elf *elf, int fd)
{
	uint64_t room = elf_file_room(fd);
	struct elf_names names = { 0 };
	size_t strndx = 0;
	Elf_Scn *scn = NULL;

	*v = (struct elf_view){ 0 };
	if (elf_getshdrstrndx(elf, &strndx) == 0)
		names = elf_names_of(elf, strndx);
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		const char *name;

		if (!gelf_getshdr(scn, &sh))
			continue;
		name = elf_name(&names, sh.sh_name);
		if (sh.sh_type == SHT_SYMTAB)
			v->symtab = scn;
		else if (sh.sh_type == SHT_DYNSYM)
			v->dynsym = scn;
		else if (sh.sh_type == SHT_NOTE && elf_room_take(&room, &sh))
			view_note(v, scn);
		else if (sh.sh_type == SHT_PROGBITS && name && !strcmp(name, ".gnu_debuglink") && elf_room_take(&room, &sh))
			view_debuglink(v, scn);
		else if (sh.sh_type == SHT_PROGBITS && name && (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info")))
			v->dwarf = true;
	}
}

/* --- symbols --------------------------------------------------------------------------------------------- */

static uint8_t rank_of(const GElf_Sym *s, const char *name)
{
	unsigned int rank = 0, bind = GELF_ST_BIND(s->st_info);

	if (!s->st_size)
		return 0; /* also the sign that the end is not known */
	rank += 16;
	if (GELF_ST_TYPE(s->st_info) != STT_NOTYPE)
		rank += 8;
	rank += bind == STB_GLOBAL || bind == STB_GNU_UNIQUE ? 4 : bind == STB_WEAK ? 2 : 0;
	if (name[0] != '_')
		rank += 1;
	return (uint8_t)rank;
}

static bool wanted(const GElf_Sym *s, const char *name, const GElf_Shdr *sh)
{
	unsigned int type = GELF_ST_TYPE(s->st_info);

	if (!name || !*name || s->st_shndx == SHN_UNDEF)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	/* Labels of hand-written assembly; not those that the assembler and the compiler make. */
	return type == STT_NOTYPE && sh && (sh->sh_flags & SHF_EXECINSTR) && name[0] != '$' && strncmp(name, ".L", 2);
}

struct section_memo { /* symbols of one section stand together */
	size_t ndx;
	GElf_Shdr sh;
};

static const GElf_Shdr *section_of(Elf *elf, const GElf_Sym *s, struct section_memo *memo)
{
	Elf_Scn *where;

	if (!s->st_shndx || s->st_shndx >= SHN_LORESERVE)
		return NULL;
	if (memo->ndx != s->st_shndx) {
		where = elf_getscn(elf, s->st_shndx);
		if (!where || !gelf_getshdr(where, &memo->sh))
			return NULL;
		memo->ndx = s->st_shndx;
	}
	return &memo->sh;
}

static uint64_t end_of(const GElf_Sym *s, const GElf_Shdr *in)
{
	uint64_t end;

	if (s->st_size)
		return util_add_u64(s->st_value, s->st_size, &end) ? end : UINT64_MAX;
	/* no size: at most to the end of its section */
	return in && in->sh_addr <= s->st_value && util_add_u64(in->sh_addr, in->sh_size, &end) ? end : 0;
}

static int add_table(struct sym_image *img, Elf *elf, Elf_Scn *scn)
{
	Elf_Data *d = elf_getdata(scn, NULL);
	struct section_memo memo = { 0 };
	struct elf_names names;
	GElf_Shdr sh;
	size_t n;
	int r = 0;

	if (!d || !gelf_getshdr(scn, &sh) || !sh.sh_entsize)
		return -EBADMSG;
	n = d->d_size / sh.sh_entsize;
	if (n > SYMBOLS_MAX)
		return -E2BIG;
	names = elf_names_of(elf, sh.sh_link);
	for (size_t i = 1; i < n && !r; i++) {
		struct sym out = { .tier = -1, .osr_bci = -1 };
		const GElf_Shdr *in;
		GElf_Sym s;

		if (!gelf_getsym(d, (int)i, &s))
			break;
		in = section_of(elf, &s, &memo);
		out.name = elf_name(&names, s.st_name);
		if (!wanted(&s, out.name, in))
			continue;
		out.start = s.st_value;
		out.end = end_of(&s, in);
		out.rank = rank_of(&s, out.name);
		r = sym_image_add(img, &out);
	}
	return r;
}

/* --- separate debug file --------------------------------------------------------------------------------- */

static bool crc_matches(int fd, uint32_t want)
{
	uint8_t buf[65536];
	uLong crc = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buf, sizeof(buf), at)) > 0) {
		crc = crc32(crc, buf, (uInt)n);
		at += n;
	}
	return (uint32_t)crc == want;
}

static bool try_debug(struct sym_image *img, const struct elf_view *v, const char *path)
{
	struct elf_view dv;
	int fd = io_open_regular(AT_FDCWD, path, O_RDONLY);
	Elf *elf;

	if (fd < 0)
		return false;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF) {
		view_scan(&dv, elf, fd);
		if (v->build_id_len ? v->build_id_len == dv.build_id_len && !memcmp(v->build_id, dv.build_id, dv.build_id_len) :
				      crc_matches(fd, v->debuglink_crc)) {
			/* libelf reads lazily: the descriptor stays open until the image is closed */
			img->debug_elf = elf;
			img->debug_fd = fd;
			img->debug_path = strdup(path);
			return true;
		}
	}
	elf_end(elf);
	close(fd);
	return false;
}

static void find_debug(struct sym_image *img, const struct elf_view *v)
{
	const char *roots[] = { img->owner->archive, img->owner->root, "" };
	AUTO_FREE char *dir = strdup(img->path);
	char *slash = dir ? strrchr(dir, '/') : NULL;

	if (!slash)
		return;
	*slash = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		AUTO_STRBUF sb = STRBUF_INIT;

		if (!roots[i] || v->build_id_len < 2)
			continue;
		strbuf_addf(&sb, "%s" DEBUG_ROOT "/.build-id/%02x/", roots[i], v->build_id[0]);
		for (size_t k = 1; k < v->build_id_len; k++)
			strbuf_addf(&sb, "%02x", v->build_id[k]);
		strbuf_addstr(&sb, ".debug");
		if (!sb.error && try_debug(img, v, sb.buf))
			return;
	}
	if (!v->debuglink[0] || strchr(v->debuglink, '/'))
		return;
	for (size_t i = 0; i < 3; i++) {
		AUTO_STRBUF sb = STRBUF_INIT;

		if (i == 0)
			strbuf_addf(&sb, "%s/%s", dir, v->debuglink);
		else if (i == 1)
			strbuf_addf(&sb, "%s/.debug/%s", dir, v->debuglink);
		else
			strbuf_addf(&sb, "%s%s/%s", DEBUG_ROOT, dir, v->debuglink);
		if (!sb.error && strcmp(sb.buf, img->path) && try_debug(img, v, sb.buf))
			return;
	}
}

/* --- the image ------------------------------------------------------------------------------------------- */

static int read_segments(struct sym_image *img)
{
	size_t n = 0, k = 0;

	if (elf_getphdrnum(img->elf, &n) < 0)
		return -EBADMSG;
	n = MIN(n, (size_t)SEGMENTS_MAX);
	img->segments = calloc(n + 1, sizeof(*img->segments));
	if (!img->segments)
		return -ENOMEM;
	for (int exec = 1; exec >= 0; exec--)
		for (size_t i = 0; i < n; i++) {
			GElf_Phdr ph;

			if (!gelf_getphdr(img->elf, (int)i, &ph) || ph.p_type != PT_LOAD || !!(ph.p_flags & PF_X) != exec)
				continue;
			img->segments[k++] = (struct sym_segment){ ph.p_offset, ph.p_filesz, ph.p_vaddr, exec };
		}
	img->n_segments = k;
	return 0;
}

static int add_tables(struct sym_image *img, const struct elf_view *v)
{
	struct elf_view dv;

	if (v->symtab)
		return add_table(img, img->elf, v->symtab);
	if (img->debug_elf) {
		view_scan(&dv, img->debug_elf, img->debug_fd);
		if (dv.symtab && !add_table(img, img->debug_elf, dv.symtab))
			return 0;
	}
	return v->dynsym ? add_table(img, img->elf, v->dynsym) : 0;
}

int elfsyms_open(struct sym_image *img)
{
	struct elf_view v;
	GElf_Ehdr eh;
	int r;

	img->fd = img->owner->rootfd >= 0 ? io_open_regular_in_root(img->owner->rootfd, img->path, O_RDONLY) :
					    io_open_regular(AT_FDCWD, img->path, O_RDONLY);
	if (img->fd < 0)
		return img->fd;
	img->elf = elf_begin(img->fd, ELF_C_READ, NULL);
	if (!img->elf || elf_kind(img->elf) != ELF_K_ELF || !gelf_getehdr(img->elf, &eh))
		return -ENOEXEC;
	img->machine = eh.e_machine;
	img->is64 = gelf_getclass(img->elf) == ELFCLASS64;
	r = read_segments(img);
	if (r < 0)
		return r;
	view_scan(&v, img->elf, img->fd);
	/* A binary may have kept its symbols and given away its lines. */
	if ((!v.symtab || !v.dwarf) && img->kind == SESSION_FILE && (v.build_id_len || v.debuglink[0]))
		find_debug(img, &v);
	r = add_tables(img, &v);
	return r < 0 || img->kind != SESSION_FILE ? r : pltsyms_add(img, v.dynsym);
}

void elfsyms_close(struct sym_image *img)
{
	elf_end(img->debug_elf);
	elf_end(img->elf);
	if (img->fd >= 0)
		close(img->fd);
	if (img->debug_fd >= 0)
		close(img->debug_fd);
}
