/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_ABI_ABI_H
#define OPJIT_FORMAT_ABI_ABI_H
/*
 * What the four self-describing files (opnd, opsd, ophd, opdb) have in common: a prefix that tells the width and the
 * byte order of every word that follows. Offset table: doc/format-abi.md.
 *
 * Nothing here opens, maps or allocates files: bytes in, structs out. All functions are pure and thread-safe; they
 * return 0 or -errno: -EBADMSG (a rule is broken; *fault tells which and where), -EPROTONOSUPPORT (major version),
 * -ERANGE (a value does not fit), -E2BIG (over a limit of this implementation).
 */
#include <errno.h>
#include <string.h>

#include "lib/util.h"

enum abi_kind { ABI_OPND = 1, ABI_OPSD = 2, ABI_OPHD = 3, ABI_OPDB = 4 };

#define ABI_MAJOR 1
#define ABI_MINOR 0
#define ABI_MAX_WIDTH 255
#define ABI_MAX_PREFIX (8 + ABI_MAX_WIDTH)

enum abi_layout { ABI_ANY_ORDER = 0, ABI_LITTLE = 1, ABI_BIG = 2 }; /* how the permutation may be gone through */

struct abi_format {
	uint8_t kind;                  /* enum abi_kind */
	uint8_t major, minor;
	uint8_t width;                 /* bytes of a word, 1 … 255 */
	uint8_t layout;                /* enum abi_layout, derived from order */
	uint8_t order[ABI_MAX_WIDTH];  /* byte i of a stored word carries value byte order[i]; 0 = least significant */
};

/* The rule that a file breaks ("name: what it says"), and the offset of the bytes that break it. */
struct abi_fault {
	const char *rule;
	uint64_t at;
	uint64_t value;   /* with -ERANGE of a conversion: the number that does not fit */
};

#define ABI_FAULT(f, where, text) abi_fault_set(f, (uint64_t)(where), text)
static inline int abi_fault_set(struct abi_fault *f, uint64_t at, const char *rule)
{
	if (f)
		*f = (struct abi_fault){ .rule = rule, .at = at };
	return -EBADMSG;
}

/* order NULL = little-endian. -EINVAL: width 0 or above 255, or order is no permutation of 0 … width-1. */
int abi_format_init(struct abi_format *f, enum abi_kind kind, unsigned int width, const uint8_t *order);
/* As above, from words of people: "le", "be" or a comma-separated permutation ("3,4,2,0,1"). */
int abi_format_parse_order(struct abi_format *f, enum abi_kind kind, unsigned int width, const char *order);
static inline size_t abi_prefix_len(const struct abi_format *f) { return 8u + f->width; }
/* Writes abi_prefix_len(f) bytes. */
void abi_prefix_write(const struct abi_format *f, uint8_t *out);
/* Length of the prefix, or -errno. kind 0 = any of the four. */
int abi_prefix_read(struct abi_format *f, enum abi_kind kind, const void *data, size_t len, struct abi_fault *fault);
const char *abi_kind_name(enum abi_kind kind); /* "opnd", … */

/* The greatest value that a word of this width can hold, as far as it fits 64 bits. */
static inline uint64_t abi_max(const struct abi_format *f)
{
	return f->width >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * f->width) - 1;
}
/* The least width ≥ 1 whose words hold v and still keep all-ones apart from it. */
static inline unsigned int abi_width_for(uint64_t v)
{
	unsigned int w = 1;

	while (w < 8 && v >= (UINT64_C(1) << 8 * w) - 1)
		w++;
	return w;
}

int abi_word_get_slow(const struct abi_format *f, const uint8_t *p, uint64_t *v);
int abi_word_put_slow(const struct abi_format *f, uint8_t *p, uint64_t v);

/*
 * One word. 0; ABI_ONES when every byte is 0xff (*v is then the greatest value of the width, UINT64_MAX above 8
 * bytes: whether that is "none" or a plain number, the field decides); -ERANGE when a value byte ≥ 8 is not zero.
 */
#define ABI_ONES 1
static inline int abi_word_get(const struct abi_format *f, const uint8_t *p, uint64_t *v)
{
	uint32_t w32;

	if (f->layout == ABI_LITTLE && f->width == 8) {
		memcpy(v, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		*v = __builtin_bswap64(*v);
#endif
		return *v == UINT64_MAX;
	}
	if (f->layout == ABI_LITTLE && f->width == 4) {
		memcpy(&w32, p, 4);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		w32 = __builtin_bswap32(w32);
#endif
		*v = w32;
		return w32 == UINT32_MAX;
	}
	return abi_word_get_slow(f, p, v);
}
/* A plain number: all-ones of up to 8 bytes is a value, above that it is out of range. 0 or -ERANGE. */
static inline int abi_word_num(const struct abi_format *f, const uint8_t *p, uint64_t *v)
{
	int r = abi_word_get(f, p, v);

	return r == ABI_ONES ? (f->width > 8 ? -ERANGE : 0) : r;
}
/* A number in which all-ones means "none" or "overflowed": that becomes UINT64_MAX at every width. */
static inline int abi_word_nil(const struct abi_format *f, const uint8_t *p, uint64_t *v)
{
	int r = abi_word_get(f, p, v);

	if (r == ABI_ONES) {
		*v = UINT64_MAX;
		return 0;
	}
	return r;
}
/* Writes width bytes. -ERANGE if v does not fit: nothing is ever cut. */
static inline int abi_word_put(const struct abi_format *f, uint8_t *p, uint64_t v)
{
	if (f->layout == ABI_LITTLE && f->width == 8) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		v = __builtin_bswap64(v);
#endif
		memcpy(p, &v, 8);
		return 0;
	}
	return abi_word_put_slow(f, p, v);
}
/* UINT64_MAX becomes all-ones of the width; a value that would read as all-ones is refused (-ERANGE). */
static inline int abi_word_put_nil(const struct abi_format *f, uint8_t *p, uint64_t v)
{
	if (v == UINT64_MAX) {
		memset(p, 0xff, f->width);
		return 0;
	}
	if (f->width < 8 && v >= abi_max(f))
		return -ERANGE;
	return abi_word_put(f, p, v);
}

#endif
