/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_EVLOG_FIELDS_H
#define OPJIT_FORMAT_EVLOG_FIELDS_H
/* What struct ev has for each type, as a table: for text, JSON, and other formats to and fro. */
#include "format/evlog/event.h"

enum evlog_field_kind {
	EVF_U8, EVF_I8, EVF_U32, EVF_I32, EVF_U64,
	EVF_STR,     /* const char *, may be NULL */
	EVF_BYTES,   /* const char * and, at len_at, size_t: not NUL-terminated */
	EVF_CHAIN,   /* the call chain of a sample: u32 at len_at, const uint64_t * */
};
enum evlog_field_show {
	EVF_DEC = 0, EVF_HEX = 1,
	EVF_NAMED = 2,      /* has words for its numbers */
	EVF_NOT_0 = 4,      /* people need not see it when it is 0 */
	EVF_CHAINED = 8,    /* nor this when there is no call chain */
};
struct evlog_field {
	const char *name;
	uint8_t kind, show;
	uint16_t at, len_at;    /* offsets in struct ev */
	const char *const *words;
	uint8_t n_words;
};

/* The fields besides time, cpu, pid and tid; none for a type that has no others or is none. */
const struct evlog_field *evlog_fields(uint32_t type, size_t *n);

static inline uint64_t evlog_field_get(const struct ev *e, const struct evlog_field *f)
{
	const uint8_t *p = (const uint8_t *)e + f->at;

	switch (f->kind) {
	case EVF_U8: return *p;
	case EVF_I8: return (uint64_t)*(const int8_t *)p;
	case EVF_U32: return *(const uint32_t *)(const void *)p;
	case EVF_I32: return (uint64_t)*(const int32_t *)(const void *)p;
	default: return *(const uint64_t *)(const void *)p;
	}
}
static inline const char *evlog_field_str(const struct ev *e, const struct evlog_field *f)
{
	return *(const char *const *)(const void *)((const uint8_t *)e + f->at);
}
static inline size_t evlog_field_len(const struct ev *e, const struct evlog_field *f)
{
	return *(const size_t *)(const void *)((const uint8_t *)e + f->len_at);
}

#endif
