/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_JITCONV_SEAL_H
#define OPJIT_JITCONV_SEAL_H
/*
 * Sealed images: the code of many regions as one ordinary ELF file (ET_DYN) with symbols, DWARF 5 lines and inlined
 * subroutines, call-frame information where the source gave unwind rows, and a build-id made of the content. Text
 * stands at the same offset as in the growing image, so keys of samples stay valid.
 *
 * Regions are handed over one by one, in ascending offsets; tables are read at once and not kept. Memory is about
 * the size of the debug sections. Not thread-safe per object.
 */
#include "format/jit/event.h"
#include "lib/util.h"

struct seal;

struct seal_opts {
	uint16_t machine;        /* e_machine; 0 = this machine's */
	uint8_t elf_class;       /* ELFCLASS32 or ELFCLASS64; 0 = 64 */
	uint16_t language;       /* DW_LANG_*; 0 = DW_LANG_C11 */
	const char *name;        /* of the compilation unit, e.g. "java:App [jit]"; NULL = "jit" */
	bool no_debug;           /* symbols only */
	bool mapped;             /* seal_image: the image is a mapping of a file, pages that were read may be given back */
};

struct seal_region {
	uint64_t offset, size;   /* st_value and st_size: in [text_offset, …) or in the range without bytes */
	const char *name;        /* any bytes but NUL */
	size_t name_len;
	const char *source_file; /* NULL = unknown */
	size_t source_file_len;
	bool no_bytes;
	/* packed tables of format/jit/tables.h, and the strings they name */
	const void *lines, *inlines, *unwind;
	size_t lines_len, inlines_len, unwind_len;
	const char *strings;
	size_t strings_len;
	bool own_strings;        /* another region's may stand at the same address */
	/* Instead of unwind: .eh_frame as another JIT wrote it, to lie behind the code at the next multiple of 8. */
	const void *eh_frame;
	size_t eh_frame_len;
};

struct seal_stats {
	uint64_t regions, bad_tables; /* a region whose table is damaged keeps its symbol */
	uint64_t debug_bytes, text_bytes;
};

struct seal_text {
	const void *bytes;       /* may be NULL if len is 0 */
	uint64_t offset, len;    /* file offset = address; a multiple of 16, at least 4096 */
	uint64_t nobits_offset, nobits_len; /* addresses of regions without bytes; 0, 0 = none */
};

/* 0 or -errno; -EINVAL for a machine or class that is not known. */
int seal_new(struct seal **ret, const struct seal_opts *o);
void seal_free(struct seal *s);
/* 0, -ENOMEM, -EINVAL (offset descends). A damaged table is left out and counted. */
int seal_add(struct seal *s, const struct seal_region *r);
/* The offset in .strtab of a string, added if it is not there yet. */
int seal_string(struct seal *s, const char *text, size_t len, uint32_t *offset);
/* A further section without address, as it is (".opjit.journal"). The bytes must live until seal_write. */
int seal_section(struct seal *s, const char *name, const void *bytes, size_t len);
/* Writes the whole file to fd (empty, at 0, seekable). One call; then only seal_stats and seal_free. */
int seal_write(struct seal *s, int fd, const struct seal_text *text);
void seal_stats(const struct seal *s, struct seal_stats *ret);

/*
 * Seals an image of libopagent (whole file in memory) into fd: journal and info are kept without their tables.
 * -EBADMSG and *why (static text) with *bad_at for an image that is damaged.
 */
int seal_image(const void *image, size_t len, int fd, const struct seal_opts *o, struct seal_stats *stats, const char **why,
	       uint64_t *bad_at);

#endif
