/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_REPORT_UPSTREAM_H
#define OPJIT_REPORT_UPSTREAM_H
/*
 * OProfile's own sample files (magic "DAE\n", version 0x13, LP64 little-endian) and images of JIT code (TGID.jo), as its
 * readers expect them. Offset tables: doc/format-session.md, "OProfile's sessions".
 */
#include "lib/strbuf.h"

struct upstream_head {
	uint32_t cpu_type;        /* 4 = timer */
	uint32_t event, um, count;
	bool is_kernel, cg_to_is_kernel;
	double mhz;
	uint64_t mtime;           /* of the image */
	uint64_t anon_start, cg_to_anon_start;
};
#define UPSTREAM_TIMER 4u

struct upstream_pair {
	uint64_t key, value;      /* value is written as 32 bits, at most all-ones */
};

/* Appends a file. Keys may come in any order, each once. */
int upstream_write(struct strbuf *ret, const struct upstream_head *h, const struct upstream_pair *pairs, size_t n);
/* Equal keys are given one by one. -EBADMSG with *what and *at for anything that does not hold together. */
typedef int upstream_fn(void *arg, uint64_t key, uint64_t value);
int upstream_read(struct upstream_head *h, const void *data, size_t len, upstream_fn *fn, void *arg, const char **what,
		  uint64_t *at);

/* --- images of JIT code -------------------------------------------------------------------------------- */
struct jo_symbol {
	uint64_t addr, size;
	size_t name;              /* offset in names */
	size_t bytes;             /* offset in code, SIZE_MAX = it has none */
};
struct jo_image {
	uint16_t machine;
	uint8_t bits;             /* 32 or 64 */
	struct jo_symbol *symbols; /* sorted by addr when read */
	size_t n, room;
	struct strbuf names, code;
};
#define JO_IMAGE_INIT { .names = STRBUF_INIT, .code = STRBUF_INIT_CAP((size_t)1 << 32) }
void jo_image_done(struct jo_image *im);
/* Functions of any ELF file with a symbol table. */
int jo_image_read(struct jo_image *ret, const char *path);
int jo_image_add(struct jo_image *im, uint64_t addr, uint64_t size, const char *name, const void *bytes);
/* The symbol that addr lies in, NULL if none. */
const struct jo_symbol *jo_image_find(const struct jo_image *im, uint64_t addr);
/* A new ELF file: .text is at text_addr in memory and at 4096 in the file, symbols (ascending, none below text_addr) in .symtab. */
int jo_image_write(const struct jo_image *im, uint64_t text_addr, const char *path);

#endif
