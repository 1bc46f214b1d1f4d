/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_ABI_OPDB_H
#define OPJIT_FORMAT_ABI_OPDB_H
/*
 * opdb: a B-tree of (key, value), key = offset, value = count; keys are unsigned and ascend strictly. A value of
 * all-ones means "overflowed"; decoded it is UINT64_MAX at every width. Page record 0 exists and is never a page of the
 * tree; 0 is nil. Each page has n entries, the page left of the first key, and for each entry the page right of it.
 *
 * Three users: the reader (strict, on bytes that anybody may have written), the bulk build (sorted input to a canonical
 * file), and the tree that grows in place (bytes given by the caller, who may move them when they grow).
 */
#include "format/abi/abi.h"
#include "lib/strbuf.h"

#define OPDB_MAX_DEPTH 64
#define OPDB_MAX_ENTRIES 65535u   /* of one page, when written */
#define OPDB_HEAD_WORDS 8u

struct opdb_pair {
	uint64_t key, value;
};

struct opdb {
	struct abi_format fmt;
	const uint8_t *data;
	size_t len;
	size_t pages_at;              /* offset of record 0 */
	size_t page_bytes;
	uint64_t total, used, root;   /* tsz, csz, root */
	uint64_t page_entries;        /* ptsz */
	bool lenient;
};

/* Ascending keys. Negative stops and is returned; so does a positive number. */
typedef int opdb_fn(void *arg, uint64_t key, uint64_t value);

/* Checks the head and the length; pages are checked as they are walked. data must stay while db is used. */
int opdb_read(struct opdb *db, const void *data, size_t len, struct abi_fault *fault);
/* As above; a file cut anywhere after its csz records is taken too. */
int opdb_read_lenient(struct opdb *db, const void *data, size_t len, struct abi_fault *fault);
/* All pairs with lo ≤ key ≤ hi. Every page on the way is checked: indices, occupation, keys in the range that the
 * parent leaves, depth; so no file makes it loop. */
int opdb_range(const struct opdb *db, uint64_t lo, uint64_t hi, opdb_fn *fn, void *arg, struct abi_fault *fault);
static inline int opdb_each(const struct opdb *db, opdb_fn *fn, void *arg, struct abi_fault *fault)
{
	return opdb_range(db, 0, UINT64_MAX, fn, arg, fault);
}
/* -ENOENT if the key is not there. */
int opdb_get(const struct opdb *db, uint64_t key, uint64_t *value, struct abi_fault *fault);

struct opdb_stat {
	uint64_t pairs, sum;          /* sum saturates */
	uint64_t overflowed;          /* values of all-ones */
	uint64_t pages, depth;        /* reached from the root */
	uint64_t orphans;             /* in use and not reached */
	uint64_t min_key, max_key;
};
/* Every rule, over the whole file. */
int opdb_check(const struct opdb *db, struct opdb_stat *ret, struct abi_fault *fault);

/* a + b, staying at UINT64_MAX = overflowed. */
static inline uint64_t opdb_add(uint64_t a, uint64_t b)
{
	uint64_t s;
	return __builtin_add_overflow(a, b, &s) ? UINT64_MAX : s;
}

/* --- bulk build ---------------------------------------------------------------------------------------- */
/*
 * Appends the file of n pairs with strictly ascending keys. fmt NULL: little-endian words of the least width that
 * holds everything; page_entries 0: the size (of 4, 6, 12, 24, 48, 96) that gives the smallest file. So the bytes depend on the
 * pairs alone. -EINVAL: keys do not ascend or a bad page size; -ERANGE: something does not fit; *bad (may be NULL) is
 * then the index of the pair.
 */
int opdb_build(const struct opdb_pair *pairs, size_t n, const struct abi_format *fmt, uint32_t page_entries,
	       struct strbuf *ret, size_t *bad);

/* --- the tree that grows ------------------------------------------------------------------------------- */
struct opdb_tree {
	struct abi_format fmt;
	uint8_t *data;                /* the whole file; may move on growth */
	size_t len;
	size_t pages_at, page_bytes;
	uint64_t total, used, root;
	uint32_t page_entries;
	/* Makes the file new_len bytes long (new bytes zero): sets *data. 0 or -errno. */
	int (*grow)(void *arg, size_t new_len, uint8_t **data);
	void *arg;
};
/* An empty database of `total` ≥ 1 records; page_entries 2 … OPDB_MAX_ENTRIES (historically 2m, 12). grow is called. */
int opdb_tree_init(struct opdb_tree *t, const struct abi_format *fmt, uint32_t page_entries, uint64_t total);
/* Takes an existing file (t->grow and t->arg set), after opdb_check. */
int opdb_tree_attach(struct opdb_tree *t, uint8_t *data, size_t len, struct abi_fault *fault);
/* Adds to the key's value, saturating at all-ones of the width. -ERANGE: the key does not fit; errors of grow. After an
 * error the tree is as it was. */
int opdb_tree_add(struct opdb_tree *t, uint64_t key, uint64_t value);
/* Adds all pairs of src. */
int opdb_tree_merge(struct opdb_tree *t, const struct opdb *src, struct abi_fault *fault);
/* A reader's view of the tree; until the next addition. */
struct opdb opdb_tree_view(const struct opdb_tree *t);

#endif
