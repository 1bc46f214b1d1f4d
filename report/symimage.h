/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_REPORT_SYMIMAGE_H
#define OPJIT_REPORT_SYMIMAGE_H
/* What symbols.c, elfsyms.c, kallsyms.c, dwarflines.c and jitlines.c share: the inside of an image. */
#include <gelf.h>

#include "lib/map.h"
#include "report/symbols.h"

struct sym_segment {
	uint64_t offset, filesz, vaddr;
	bool exec;
};

struct dwarf_lines; /* dwarflines.c */
struct jit_lines;   /* jitlines.c */

struct sym_word { /* a text that stands in the image in another form, or not by itself */
	struct sym_word *next;
	char text[];
};

struct sym_image {
	struct symbols *owner;
	enum session_image_kind kind;
	size_t number;
	char *image;
	char *path;        /* NULL = nowhere */
	char *debug_path;  /* separate debug file, NULL = none */
	int error;
	bool opened, lines_opened, jit_opened;
	int fd, debug_fd;
	Elf *elf, *debug_elf;
	unsigned int machine;
	bool is64;
	struct sym_segment *segments;
	size_t n_segments;
	struct sym *syms;
	uint64_t *max_end; /* greatest end of syms[0..i] */
	size_t n, room;
	uint64_t base;     /* kernel: address = base + key */
	struct dwarf_lines *dwarf;
	struct jit_lines *jit;
	struct sym_word *words;
};

struct kallsym {
	uint64_t start, end;
	const char *name, *module; /* module "" = the kernel itself */
};

struct symbols {
	struct session *session;
	char *root, *archive;
	char **dirs;
	bool tiers;
	int rootfd;             /* -1 = none */
	struct sym_image **images;
	size_t n_images;
	struct strpool keys;   /* identity of image i */
	struct strpool names;
	struct strbuf kallsyms; /* text, cut into strings */
	struct kallsym *ksyms;
	size_t n_ksyms;
	int kallsyms_error;     /* 1 = not read yet */
};

#define SYM_NAME_CMP_MAX 1024 /* which of two symbols stays: a hostile file's names may be alike for megabytes */

/* Adds a symbol; end 0 = not known yet (sym_image_finish ends it at the next one or at limit). */
int sym_image_add(struct sym_image *img, const struct sym *s);
/* Sorts, drops the lower one of two at the same start, ends the endless ones. */
int sym_image_finish(struct sym_image *img);

/* A text that lives as long as the image: len bytes and what comes after them. NULL: no memory. */
struct sym_word *sym_word_new(struct sym_image *img, const char *s, size_t len, const char *after);

/*
 * Sections that share their bytes would make one file's reading as long as its headers' number times its size. So who reads
 * many of them takes their sizes out of that of the file: false if a section's is not there any more.
 */
uint64_t elf_file_room(int fd);
bool elf_room_take(uint64_t *room, const GElf_Shdr *sh);
/* Stubs of calls into other files, as NAME@plt. dynsym may be NULL. */
int pltsyms_add(struct sym_image *img, Elf_Scn *dynsym);
int elfsyms_open(struct sym_image *img);
void elfsyms_close(struct sym_image *img);
int kallsyms_open(struct sym_image *img);

/* DWARF of the image or of its debug file. -ENOENT: there is none. */
int dwarf_lines_new(struct dwarf_lines **ret, struct sym_image *img);
void dwarf_lines_free(struct dwarf_lines *d);
int dwarf_lines_find(struct dwarf_lines *d, uint64_t vma, struct sym_line *ret);
int dwarf_lines_inlines(struct dwarf_lines *d, uint64_t vma, struct sym_frame frames[SYM_FRAMES_MAX]);

/* Journal of a JIT image. -ENOENT: it tells nothing; -EBADMSG: it is none of ours. */
int jit_lines_new(struct jit_lines **ret, const char *path);
void jit_lines_free(struct jit_lines *j);
/* Tier, kind and OSR entry of the region at key. */
bool jit_lines_facts(const struct jit_lines *j, uint64_t key, struct sym *ret);
/* Where key was in the process; and the name of the region at an address of the process when
 * the code at key was posted, with the offset into it. */
bool jit_lines_address(const struct jit_lines *j, uint64_t key, uint64_t *addr);
const char *jit_lines_at(struct jit_lines *j, uint64_t key, uint64_t addr, uint64_t *offset);
int jit_lines_find(struct jit_lines *j, uint64_t key, struct sym_line *ret);
int jit_lines_inlines(struct jit_lines *j, uint64_t key, struct sym_frame frames[SYM_FRAMES_MAX]);

#endif
