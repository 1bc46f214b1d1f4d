/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_EVLOG_TEXT_OUT_H
#define OPJIT_FORMAT_EVLOG_TEXT_OUT_H
/* One writer for both shapes of text: " name=value" or ",\"name\":value". Private to text.c and text-pmclog.c. */
#include <inttypes.h>
#include <string.h>

#include "format/evlog/text.h"

struct out {
	struct strbuf *sb;
	bool json;
};

static inline void key(const struct out *o, const char *name)
{
	strbuf_addf(o->sb, o->json ? ",\"%s\":" : " %s=", name);
}
static inline void num(const struct out *o, const char *name, uint64_t v)
{
	key(o, name);
	strbuf_addf(o->sb, "%" PRIu64, v);
}
static inline void snum(const struct out *o, const char *name, int64_t v)
{
	key(o, name);
	strbuf_addf(o->sb, "%" PRId64, v);
}
static inline void hex(const struct out *o, const char *name, uint64_t v)
{
	key(o, name);
	strbuf_addf(o->sb, o->json ? "\"0x%" PRIx64 "\"" : "0x%" PRIx64, v);
}
static inline void bytes(const struct out *o, const char *name, const char *s, size_t len)
{
	key(o, name);
	evlog_quote(o->sb, s, len);
}
static inline void str(const struct out *o, const char *name, const char *s)
{
	bytes(o, name, s, s ? strlen(s) : 0);
}
static inline void words(const struct out *o, const char *name, const uint64_t *v, size_t n)
{
	key(o, name);
	strbuf_addch(o->sb, '[');
	for (size_t i = 0; i < n; i++)
		strbuf_addf(o->sb, o->json ? "%s\"0x%" PRIx64 "\"" : "%s0x%" PRIx64, i ? "," : "", v[i]);
	strbuf_addch(o->sb, ']');
}

#endif
