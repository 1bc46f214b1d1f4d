/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_REPORT_TEXT_H
#define OPJIT_REPORT_TEXT_H
/*
 * Names come from other people's processes and may hold any byte. Each output escapes for itself; all functions
 * append to sb, whose sticky error is checked once by the caller.
 */
#include "lib/strbuf.h"

/* For a terminal or a plain text file: control bytes, invalid UTF-8, C1 controls and bidi controls become \xNN. */
void text_add_plain(struct strbuf *sb, const char *s);
/* As above, filled with spaces up to width columns; at least one space follows the text. */
void text_add_padded(struct strbuf *sb, const char *s, unsigned int width);
/* A JSON string with its quotes; invalid UTF-8 becomes U+FFFD. */
void text_add_json(struct strbuf *sb, const char *s);
/* XML character data or attribute value (quotes escaped); what XML 1.0 cannot hold becomes U+FFFD. */
void text_add_xml(struct strbuf *sb, const char *s);
/* A CSV field as RFC 4180, quoted when needed; control bytes become \xNN, invalid UTF-8 U+FFFD. */
void text_add_csv(struct strbuf *sb, const char *s);
/*
 * A percentage in seven columns: "54.0125", " 9.2183", "100.000", "9.8e-04" for less than 0.001, "      0".
 */
void text_add_percent(struct strbuf *sb, uint64_t part, uint64_t whole);
double text_percent(uint64_t part, uint64_t whole);
/* The last component of a path ("" stays ""). Points into path. */
const char *text_base(const char *path);
/* Decodes one UTF-8 character; its length 1..4, or 0 if the bytes are not valid (overlong, surrogate, cut off). */
size_t text_utf8(const char *s, uint32_t *code);

#endif
