/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_REPORT_SYMBOLS_H
#define OPJIT_REPORT_SYMBOLS_H
/*
 * Which symbol, line and inlined frames stand at a key of an image. Images are opened at the first question and
 * kept; a lookup is a binary search. An image that cannot be read answers "no symbol" to everything and says why
 * in sym_image_error(). Not thread-safe.
 */
#include "report/names.h"
#include "session/session.h"

struct symbols;   /* all images of one session */
struct sym_image; /* one image */

struct symbols_opts {
	const char *root;              /* a file system to look for images in first; NULL = none */
	const char *const *dirs;       /* further directories with images, NULL-terminated; may be NULL */
	bool tiers;                    /* read what is told of JIT code beside its name, too: tiers, signatures */
	bool in_root;                  /* images are below rootfd and nowhere else, and no link leads out of it */
	int rootfd;                    /* the caller's */
	const char *archive;           /* as root, but the only place for files of the profiled machine */
};

struct sym {
	uint64_t start, end; /* vma in the image; in JIT images equal to the key */
	const char *name;    /* as the image has it; lives as long as the image */
	const char *descriptor; /* JIT: signature in the words of the VM, NULL = unknown */
	int32_t osr_bci;     /* JIT: entry of an on-stack replacement, -1 = none */
	int8_t tier;         /* JIT: compile tier, -1 = unknown */
	uint8_t kind;        /* JIT: enum jit_region_kind */
	uint8_t rank;        /* of two symbols at one start the higher one counts */
};

struct sym_line {
	const char *file; /* full path as known, NULL = unknown; lives as long as the image */
	uint32_t line;    /* 0 = unknown */
};

struct sym_frame { /* of an inlined stack, innermost first */
	const char *name; /* as the image has it */
	struct sym_line at;
};
#define SYM_FRAMES_MAX 64

/* s NULL: images are SESSION_FILE alone, and lie where their names say. */
int symbols_new(struct symbols **ret, struct session *s, const struct symbols_opts *o);
void symbols_free(struct symbols *y);
/* The image of a sample file; the same image gives the same pointer. NULL when memory ends. */
struct sym_image *symbols_image(struct symbols *y, const struct session_file *f);

/* The symbol that holds key, NULL if none. *vma (may be NULL) becomes the address in the image either way. */
const struct sym *sym_find(struct sym_image *img, uint64_t key, uint64_t *vma);
/* As above by the address in the image. */
const struct sym *sym_at_vma(struct sym_image *img, uint64_t vma);
/* Source position of key: -ENOENT if none is known. */
int sym_line(struct sym_image *img, uint64_t key, struct sym_line *ret);
/*
 * The stack of source-level frames at key, innermost first; the last is the symbol itself. The number of frames
 * (≥ 1, at most SYM_FRAMES_MAX) or -ENOENT when nothing at all is known.
 */
int sym_inlines(struct sym_image *img, uint64_t key, struct sym_frame frames[SYM_FRAMES_MAX]);
bool sym_is_jit(const struct sym_image *img);
/* Its number in the order of first use, for orders that are equal in equal runs. */
size_t sym_image_number(const struct sym_image *img);
/* Symbols in ascending order, for walks; *n = 0 if there are none. */
const struct sym *sym_all(struct sym_image *img, size_t *n);
/* Up to len code bytes at vma, copied to buf: the number copied, or -errno. */
int64_t sym_code(struct sym_image *img, uint64_t vma, void *buf, size_t len);
/*
 * JIT code stands in its image in another order than in the process. The address that key had there (false: unknown), and
 * the name of what was at an address of the process when the code at key came to life, with the offset into it (NULL:
 * unknown).
 */
bool sym_jit_address(struct sym_image *img, uint64_t key, uint64_t *addr);
const char *sym_jit_name(struct sym_image *img, uint64_t key, uint64_t addr, uint64_t *offset);
/* File offset of vma; false if no segment has it. */
bool sym_offset(struct sym_image *img, uint64_t vma, uint64_t *offset);
/* ELF machine and class of the image (EM_NONE if it cannot be read). */
unsigned int sym_machine(struct sym_image *img, bool *is64);
/* Where its bytes were found, NULL if nowhere; 0 or why the image cannot be read (-ENOENT, -EBADMSG, …). */
const char *sym_image_path(struct sym_image *img);
int sym_image_error(struct sym_image *img);
/* Images that could not be read, for one warning: fn is called for each. */
void symbols_each_missing(struct symbols *y, void (*fn)(void *arg, const char *image, int error), void *arg);

/* A small number for a name, the same for the same bytes; and back. Folding is up to the caller. */
int64_t symbols_name_id(struct symbols *y, const char *name);

#endif
