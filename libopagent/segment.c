/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One image file: an ELF shared object whose headers stand in front and whose sections each have room to grow. Layout:
 * doc/format-image.md. The headers are complete before the file gets its name; from then on only four sizes change.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h> /* renameat */
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/util.h"
#include "libopagent/core.h"

#if __SIZEOF_POINTER__ == 8
#define OUR_CLASS ELFCLASS64
#else
#define OUR_CLASS ELFCLASS32
#endif
#if __BYTE_ORDER == __LITTLE_ENDIAN
#define OUR_DATA ELFDATA2LSB
#else
#define OUR_DATA ELFDATA2MSB
#endif

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__i386__)
#define OUR_MACHINE EM_386
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#elif defined(__arm__)
#define OUR_MACHINE EM_ARM
#define OUR_FLAGS 0x05000000
#elif defined(__powerpc64__)
#define OUR_MACHINE EM_PPC64
#if defined(_CALL_ELF)
#define OUR_FLAGS _CALL_ELF
#endif
#elif defined(__powerpc__)
#define OUR_MACHINE EM_PPC
#elif defined(__s390__)
#define OUR_MACHINE EM_S390
#elif defined(__riscv)
#define OUR_MACHINE EM_RISCV
#define OUR_FLAGS 5 /* RVC, double floats */
#elif defined(__mips__)
#define OUR_MACHINE EM_MIPS
#else
#define OUR_MACHINE EM_NONE
#endif
#ifndef OUR_FLAGS
#define OUR_FLAGS 0
#endif

#define HEAD 4096u
#define SHDRS_AT 512u
#define NAMES_AT 1280u
#define INFO_AT 2048u
#define ALIGN 16u
#define TMP ".new"
#define HUGE_PAGE ((uint64_t)2 << 20)

/* Readers that copy the headers from front to back see the sizes in this order: what refers comes before what it refers to. */
enum { S_NULL, S_JOURNAL, S_SYMTAB, S_STRTAB, S_TEXT, S_CODE, S_INFO, S_SHSTRTAB, N_SECTIONS };
static const char section_names[] = "\0.opjit.journal\0.symtab\0.strtab\0.text\0.opjit.code\0.opjit.info\0.shstrtab";

static uint32_t name_at(unsigned int section)
{
	const char *p = section_names;

	for (unsigned int i = 0; i < section; i++)
		p += strlen(p) + 1;
	return (uint32_t)(p - section_names);
}

/*
 * Faulting pages in one by one costs more than what is written on them, so the first step of each section is faulted in with
 * one call, and for all but the symbols huge pages are asked for (the kernel gives them where the file system can). A huge
 * page needs blocks behind all of it, or a fault finds the disk full: so only ranges reserved to their ends may have them.
 */
static uint64_t huge_from(const struct part *p)
{
	return p->off == HEAD ? 0 : ALIGN_UP(p->off, HUGE_PAGE); /* the page of the headers has its block */
}

static void huge_never(struct core *c, struct part *p)
{
	uint64_t from = MAX((p->off + p->ready) / HUGE_PAGE * HUGE_PAGE, huge_from(p)), end = p->off + p->room;

	if (c->seg.map && !p->small && from < end)
		sys_advise(c->seg.map + from, end - from, SYS_NOHUGEPAGE);
	p->small = true;
}

static void map_advise(struct segment *s)
{
	struct part *parts[] = { &s->journal, &s->symtab, &s->strtab, &s->text };

	/* Nothing is read ahead: that could make pages over holes. */
	sys_advise(s->map, s->bytes, SYS_RANDOM);
	for (unsigned int i = 0; i < ARRAY_SIZE(parts); i++) {
		uint64_t from = huge_from(parts[i]), end = (parts[i]->off + parts[i]->room) / HUGE_PAGE * HUGE_PAGE;
		if (!parts[i]->small && from < end)
			sys_advise(s->map + from, end - from, SYS_HUGEPAGE);
		sys_populate(s->map + parts[i]->off, parts[i]->ready);
	}
}

/* Where the step ends that begins at `ready` and has `want` in it: 2 MiB (small: 256 KiB, 1 MiB), then the next 4 MiB of the file. */
static uint64_t step_end(const struct part *p, uint64_t want)
{
	static const uint64_t small[] = { 256 << 10, 1 << 20 };

	if (!p->small && !p->ready && p->off + want <= ALIGN_UP(p->off + 1, HUGE_PAGE))
		return MIN(ALIGN_UP(p->off + 1, HUGE_PAGE) - p->off, p->room);
	for (unsigned int i = 0; p->small && i < ARRAY_SIZE(small); i++)
		if (want <= small[i])
			return MIN(small[i], p->room);
	return MIN(ALIGN_UP(p->off + want, CORE_STEP) - p->off, p->room);
}

int part_reserve(struct core *c, struct part *p, uint64_t need)
{
	uint64_t want = p->used + need, to;
	int r;

	if (want <= p->ready)
		return 0;
	if (want > p->room)
		return -E2BIG;
	to = step_end(p, want);
	r = sys_reserve(c->seg.fd, p->off + p->ready, to - p->ready);
	if ((r == -ENOSPC || r == -EDQUOT) && !p->small) {
		huge_never(c, p);
		to = step_end(p, want);
		r = sys_reserve(c->seg.fd, p->off + p->ready, to - p->ready);
	}
	if (r == -ENOSPC || r == -EDQUOT) {
		to = MIN(ALIGN_UP(want, HEAD), p->room);
		r = sys_reserve(c->seg.fd, p->off + p->ready, to - p->ready);
	}
	if (!r && c->seg.map && p->small)
		r = sys_populate(c->seg.map + p->off + p->ready, to - p->ready);
	if (r < 0)
		return r;
	p->ready = to;
	return 0;
}

void part_give_back(struct core *c, struct part *p)
{
	uint64_t end = ALIGN_UP(p->used, HEAD);

	if (p->ready <= end)
		return;
	sys_release(c->seg.fd, p->off + end, p->ready - end);
	p->ready = end;
	huge_never(c, p);
	/* What was cut out of a huge page must be there still; if not, the rest of that page is not written any more. */
	if (p->used < end && sys_populate(c->seg.map + p->off + end - HEAD, HEAD) < 0)
		p->used = end;
}

static void header_write(struct core *c, struct segment *s, uint64_t file_bytes)
{
	ElfW(Ehdr) *eh = (void *)s->map;
	ElfW(Phdr) *ph = (void *)(eh + 1);
	core_shdr *sh = (void *)(s->map + SHDRS_AT);
	struct jit_image_info *info = (void *)(s->map + INFO_AT);
	struct part *parts[] = { [S_JOURNAL] = &s->journal, [S_SYMTAB] = &s->symtab, [S_STRTAB] = &s->strtab, [S_TEXT] = &s->text };
	static const uint8_t types[N_SECTIONS] = { SHT_NULL, SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_PROGBITS, SHT_NOBITS,
						   SHT_PROGBITS, SHT_STRTAB };

	*eh = (ElfW(Ehdr)){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, OUR_CLASS, OUR_DATA, EV_CURRENT },
			    .e_type = ET_DYN, .e_machine = OUR_MACHINE, .e_version = EV_CURRENT, .e_flags = OUR_FLAGS,
			    .e_phoff = sizeof(*eh), .e_shoff = SHDRS_AT, .e_ehsize = sizeof(*eh),
			    .e_phentsize = sizeof(*ph), .e_phnum = 2, .e_shentsize = sizeof(*sh), .e_shnum = N_SECTIONS,
			    .e_shstrndx = S_SHSTRTAB };
	ph[0] = (ElfW(Phdr)){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_align = HEAD, .p_filesz = file_bytes,
			      .p_memsz = file_bytes };
	/* Regions without bytes have addresses, too; they lie behind the file. */
	ph[1] = (ElfW(Phdr)){ .p_type = PT_LOAD, .p_flags = PF_R, .p_align = HEAD, .p_offset = s->nobits_addr,
			      .p_vaddr = s->nobits_addr, .p_paddr = s->nobits_addr, .p_memsz = CORE_NOBITS_ROOM };
	for (unsigned int i = 1; i < N_SECTIONS; i++) {
		sh[i] = (core_shdr){ .sh_name = name_at(i), .sh_type = types[i], .sh_addralign = i >= S_STRTAB ? 1 : 8 };
		if (i < ARRAY_SIZE(parts)) {
			sh[i].sh_offset = parts[i]->off;
			sh[i].sh_size = parts[i]->used;
			parts[i]->sh = &sh[i];
		}
	}
	sh[S_SYMTAB].sh_link = S_STRTAB;
	sh[S_SYMTAB].sh_info = 1;
	sh[S_SYMTAB].sh_entsize = sizeof(ElfW(Sym));
	sh[S_TEXT].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
	sh[S_CODE].sh_flags = SHF_ALLOC; /* strict readers want no executable section without bytes */
	sh[S_TEXT].sh_addralign = sh[S_CODE].sh_addralign = ALIGN;
	sh[S_TEXT].sh_addr = s->text.off;
	sh[S_CODE].sh_addr = sh[S_CODE].sh_offset = s->nobits_addr;
	sh[S_CODE].sh_size = CORE_NOBITS_ROOM;
	sh[S_INFO].sh_offset = INFO_AT;
	sh[S_INFO].sh_size = sizeof(*info);
	sh[S_INFO].sh_addralign = 8;
	sh[S_SHSTRTAB].sh_offset = NAMES_AT;
	sh[S_SHSTRTAB].sh_size = sizeof(section_names);
	memcpy(s->map + NAMES_AT, section_names, sizeof(section_names));
	c->who.machine = OUR_MACHINE;
	*info = (struct jit_image_info){ .magic = JIT_INFO_MAGIC, .version = JIT_LAYOUT_VERSION, .segment = s->number,
					 .who = c->who, .first_seq = c->seq + 1 };
	memcpy(info->instance, c->name, sizeof(info->instance));
}

/* Rooms of the sections; smaller ones where RLIMIT_FSIZE would kill the process with a signal. */
static int layout(struct segment *s)
{
	uint64_t limit = sys_file_limit();

	for (unsigned int shift = 0; shift < 8; shift++) {
		s->text = (struct part){ .off = HEAD, .room = (CORE_TEXT_ROOM >> shift) - HEAD };
		s->symtab = (struct part){ .off = s->text.off + s->text.room, .room = CORE_TEXT_ROOM / 16 >> shift, .small = true };
		s->strtab = (struct part){ .off = s->symtab.off + s->symtab.room, .room = CORE_TEXT_ROOM / 4 >> shift };
		s->journal = (struct part){ .off = s->strtab.off + s->strtab.room, .room = CORE_TEXT_ROOM >> shift };
		s->bytes = s->journal.off + s->journal.room;
		s->nobits_addr = s->bytes;
		if (s->bytes <= limit)
			return 0;
	}
	return -EFBIG;
}

static int file_fill(struct core *c, struct segment *s)
{
	struct part *parts[] = { &s->journal, &s->symtab, &s->strtab, &s->text };
	int r;

	r = sys_truncate(s->fd, s->bytes);
	if (!r)
		r = sys_reserve(s->fd, 0, HEAD);
	for (unsigned int i = 0; !r && i < ARRAY_SIZE(parts); i++)
		/* A nearly full disk still gets a small image: names before bytes. */
		r = part_reserve(c, parts[i], 4096) < 0 && parts[i] != &s->text ? -ENOSPC : 0;
	if (r < 0)
		return r;
	s->map = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, s->fd, 0);
	if (s->map == MAP_FAILED) {
		s->map = NULL;
		return -errno;
	}
	map_advise(s);
	s->symtab.used = sizeof(ElfW(Sym)); /* zeros: the null symbol */
	s->strtab.used = 1;
	header_write(c, s, s->bytes);
	return 0;
}

static void segment_drop(struct segment *s)
{
	if (s->map)
		munmap(s->map, s->bytes);
	if (s->fd >= 0)
		close(s->fd);
	free(s->intern.slots);
	*s = (struct segment){ .fd = -1 };
}

/* The next segment takes the place of the present one, which stays if that fails. */
int segment_make(struct core *c)
{
	struct segment old = c->seg, *s = &c->seg;
	char file[32];
	struct text t = TEXT_IN(file);
	int r;

	if (c->n_segments >= JIT_MAX_SEGMENTS)
		return -EFBIG;
	*s = (struct segment){ .fd = -1, .number = c->n_segments };
	r = layout(s);
	if (!r) {
		s->fd = openat(c->dirfd, TMP, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		r = s->fd < 0 ? -errno : file_fill(c, s);
	}
	text_u64(&t, s->number);
	text_str(&t, ".jo");
	if (!r && renameat(c->dirfd, TMP, c->dirfd, file) < 0)
		r = -errno;
	if (r < 0) {
		if (s->fd >= 0)
			unlinkat(c->dirfd, TMP, 0);
		segment_drop(s);
		*s = old;
		return r;
	}
	if (old.map) {
		c->bytes_before += old.text.used + old.symtab.used + old.strtab.used + old.journal.used;
		struct segment gone = old;
		struct part *parts[] = { &gone.journal, &gone.symtab, &gone.strtab, &gone.text };
		for (unsigned int i = 0; i < ARRAY_SIZE(parts); i++)
			sys_release(gone.fd, parts[i]->off + ALIGN_UP(parts[i]->used, HEAD),
				    parts[i]->ready - MIN(parts[i]->ready, ALIGN_UP(parts[i]->used, HEAD)));
		segment_drop(&gone);
	}
	c->n_segments++;
	__atomic_store_n(&c->ring->n_segments, c->n_segments, __ATOMIC_RELEASE);
	return 0;
}

void segment_leave(struct core *c, bool trim)
{
	struct segment *s = &c->seg;
	struct part *parts[] = { &s->journal, &s->symtab, &s->strtab, &s->text };

	for (unsigned int i = 0; trim && s->map && i < ARRAY_SIZE(parts); i++) {
		uint64_t end = ALIGN_UP(parts[i]->used, HEAD);
		if (parts[i]->ready > end)
			sys_release(s->fd, parts[i]->off + end, parts[i]->ready - end);
	}
	segment_drop(s);
}

void segment_recover(struct core *c)
{
	struct part *parts[] = { &c->seg.journal, &c->seg.symtab, &c->seg.strtab, &c->seg.text };

	for (unsigned int i = 0; i < ARRAY_SIZE(parts); i++)
		parts[i]->used = parts[i]->sh->sh_size;
	c->seg.intern = (struct intern){ 0 };
}

static void intern_grow(struct intern *t)
{
	uint32_t n = t->n_slots ? t->n_slots * 2 : 1024;
	struct intern_slot *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return; /* strings are then written again, no harm */
	for (uint32_t i = 0; i < t->n_slots; i++)
		if (t->slots[i].off) {
			uint32_t at = t->slots[i].hash & (n - 1);
			while (slots[at].off)
				at = (at + 1) & (n - 1);
			slots[at] = t->slots[i];
		}
	free(t->slots);
	t->slots = slots;
	t->n_slots = n;
}

uint32_t segment_string(struct core *c, const char *s, size_t len)
{
	struct segment *seg = &c->seg;
	struct intern *t = &seg->intern;
	uint32_t hash = (uint32_t)util_hash_bytes(s, len), at = 0, off;
	const char *strings = (const char *)seg->map + seg->strtab.off;

	if (!len)
		return 0;
	if (t->used + 1 > t->n_slots / 2)
		intern_grow(t);
	if (t->n_slots)
		for (at = hash & (t->n_slots - 1); t->slots[at].off; at = (at + 1) & (t->n_slots - 1)) {
			const char *have = strings + t->slots[at].off;
			if (t->slots[at].hash == hash && t->slots[at].off + len < seg->strtab.used &&
			    !memcmp(have, s, len) && !have[len])
				return t->slots[at].off;
		}
	off = (uint32_t)seg->strtab.used;
	memcpy(seg->map + seg->strtab.off + off, s, len);
	seg->map[seg->strtab.off + off + len] = '\0';
	seg->strtab.used += len + 1;
	if (t->used + 1 <= t->n_slots / 2) {
		t->slots[at] = (struct intern_slot){ .hash = hash, .off = off };
		t->used++;
	}
	return off;
}
