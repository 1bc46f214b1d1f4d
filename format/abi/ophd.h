/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_ABI_OPHD_H
#define OPJIT_FORMAT_ABI_OPHD_H
/*
 * ophd: a hash table of path components. Each used entry has a name (offset into the string pool) and a parent (index
 * of an entry); entry 0 is the root "/". Readers never hash: an entry is known by its index.
 */
#include "format/abi/abi.h"
#include "lib/map.h"
#include "lib/strbuf.h"

#define OPHD_NONE UINT32_MAX      /* parent of a free entry */
#define OPHD_MAX_ENTRIES (UINT32_MAX - 1u)

struct ophd {
	struct abi_format fmt;
	uint32_t n;               /* entries, the root and free ones counted */
	uint32_t *name, *parent;  /* decoded; free entries have parent OPHD_NONE */
	const char *pool;         /* inside the caller's bytes */
	uint32_t pool_len;
};

/*
 * Decodes and checks every rule: the length is exact, the pool ends in NUL, indices and offsets are inside, a parent is
 * a used entry, no walk goes round. data must stay while h is used.
 */
int ophd_read(struct ophd *h, const void *data, size_t len, struct abi_fault *fault);
void ophd_done(struct ophd *h);
static inline bool ophd_used(const struct ophd *h, uint32_t i) { return i < h->n && h->parent[i] != OPHD_NONE; }
static inline const char *ophd_name(const struct ophd *h, uint32_t i) { return h->pool + h->name[i]; }
/* Appends the path of a used entry: "/" for 0, else "/a/b". */
int ophd_path(const struct ophd *h, uint32_t i, struct strbuf *ret);

/* --- writing ------------------------------------------------------------------------------------------- */
struct ophd_builder {
	uint32_t n, used;
	uint32_t *name, *parent;
	struct strbuf pool;
	bool share;               /* equal components share their bytes in the pool */
	struct strpool strings;   /* with share */
	uint32_t *offsets;        /* string id -> pool offset */
	uint32_t n_offsets, offsets_room;
};
/* n must be prime (the next prime ≥ n is taken); share: keep each string once. */
int ophd_builder_init(struct ophd_builder *b, uint32_t n, bool share);
void ophd_builder_done(struct ophd_builder *b);
/* The entry of component below parent, made if it is new. -ENOSPC when the table is full; -EINVAL: an empty component,
 * one with '/', or a parent that is not used. */
int64_t ophd_builder_add(struct ophd_builder *b, uint32_t parent, const char *component, size_t len);
/* All components of a path that starts with '/'. The entry of the last. */
int64_t ophd_builder_add_path(struct ophd_builder *b, const char *path);
/* Appends the file. width 0 = the least that fits, little-endian; else fmt gives width and order. */
int ophd_builder_write(const struct ophd_builder *b, const struct abi_format *fmt, struct strbuf *ret);
/* A table size for n entries besides the root: the same for the same n. */
uint32_t ophd_size_for(uint32_t n);

#endif
