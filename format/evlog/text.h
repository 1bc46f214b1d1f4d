/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_EVLOG_TEXT_H
#define OPJIT_FORMAT_EVLOG_TEXT_H
/* Events as text: one line, or one JSON object, without a newline. Every field of struct ev is in it. */
#include "format/evlog/event.h"
#include "format/evlog/pmclog.h"
#include "lib/strbuf.h"

int evlog_text(struct strbuf *sb, const struct ev *e);
int evlog_json(struct strbuf *sb, const struct ev *e);
/* "sample", "mmap", …; "?" for a type that is none. */
const char *evlog_type_name(uint32_t type);
/* len bytes in double quotes, JSON escapes; bytes that are no UTF-8 become \u00XX. NULL gives null. */
int evlog_quote(struct strbuf *sb, const char *s, size_t len);

/* A record of pmclog_read that was OK, likewise: every field that its type has, offset, length and time in front. */
int pmclog_text(struct strbuf *sb, const struct pmclog_ev *ev);
int pmclog_json(struct strbuf *sb, const struct pmclog_ev *ev);
const char *pmclog_type_name(enum pmclog_type type);
const char *pmclog_abi_name(enum pmclog_abi abi);

#endif
