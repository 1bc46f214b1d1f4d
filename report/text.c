/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/text.h"

#include <math.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

size_t text_utf8(const char *s, uint32_t *code)
{
	const unsigned char *p = (const unsigned char *)s;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c = p[0];
	size_t n;

	if (c < 0x80) {
		*code = c;
		return 1;
	}
	if (c >= 0xc2 && c < 0xe0)
		n = 2, c &= 0x1f;
	else if (c >= 0xe0 && c < 0xf0)
		n = 3, c &= 0x0f;
	else if (c >= 0xf0 && c < 0xf5)
		n = 4, c &= 0x07;
	else
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80) /* a NUL ends here too */
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		return 0;
	*code = c;
	return n;
}

static bool steers_terminal(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200e && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

/* Returns the columns used, one a character. */
static size_t add_plain(struct strbuf *sb, const char *s)
{
	size_t columns = 0;

	while (*s) {
		uint32_t c = 0;
		size_t n = text_utf8(s, &c);

		if (n && !steers_terminal(c)) {
			strbuf_add(sb, s, n);
			columns++;
		} else {
			n = n ? n : 1;
			for (size_t i = 0; i < n; i++)
				strbuf_addf(sb, "\\x%02x", (unsigned char)s[i]);
			columns += 4 * n;
		}
		s += n;
	}
	return columns;
}

void text_add_plain(struct strbuf *sb, const char *s)
{
	add_plain(sb, s);
}

void text_add_padded(struct strbuf *sb, const char *s, unsigned int width)
{
	size_t n = add_plain(sb, s);

	do
		strbuf_addch(sb, ' ');
	while (++n < width);
}

void text_add_json(struct strbuf *sb, const char *s)
{
	strbuf_addch(sb, '"');
	while (*s) {
		uint32_t c = 0;
		size_t n = text_utf8(s, &c);

		if (!n) {
			strbuf_addstr(sb, REPLACEMENT);
			n = 1;
		} else if (c == '"' || c == '\\') {
			strbuf_addf(sb, "\\%c", (int)c);
		} else if (c < 0x20 || c == 0x7f) {
			strbuf_addf(sb, "\\u%04x", c);
		} else {
			strbuf_add(sb, s, n);
		}
		s += n;
	}
	strbuf_addch(sb, '"');
}

void text_add_xml(struct strbuf *sb, const char *s)
{
	while (*s) {
		uint32_t c = 0;
		size_t n = text_utf8(s, &c);

		if (!n) {
			strbuf_addstr(sb, REPLACEMENT);
			n = 1;
		} else if (c == '<') {
			strbuf_addstr(sb, "&lt;");
		} else if (c == '>') {
			strbuf_addstr(sb, "&gt;");
		} else if (c == '&') {
			strbuf_addstr(sb, "&amp;");
		} else if (c == '"') {
			strbuf_addstr(sb, "&quot;");
		} else if (c == '\t' || c == '\n' || c == '\r') {
			strbuf_addf(sb, "&#%u;", c);
		} else if (c < 0x20 || c == 0xfffe || c == 0xffff) {
			strbuf_addstr(sb, REPLACEMENT);
		} else {
			strbuf_add(sb, s, n);
		}
		s += n;
	}
}

void text_add_csv(struct strbuf *sb, const char *s)
{
	bool quote = strpbrk(s, "\",\r\n") || *s == ' ' || *s == '\t';

	if (quote)
		strbuf_addch(sb, '"');
	while (*s) {
		uint32_t c = 0;
		size_t n = text_utf8(s, &c);

		if (!n) {
			strbuf_addstr(sb, REPLACEMENT);
			n = 1;
		} else if (c == '"') {
			strbuf_addstr(sb, "\"\"");
		} else if (steers_terminal(c)) { /* tables are looked at on terminals too */
			for (size_t i = 0; i < n; i++)
				strbuf_addf(sb, "\\x%02x", (unsigned char)s[i]);
		} else {
			strbuf_add(sb, s, n);
		}
		s += n;
	}
	if (quote)
		strbuf_addch(sb, '"');
}

double text_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

void text_add_percent(struct strbuf *sb, uint64_t part, uint64_t whole)
{
	double p = text_percent(part, whole);

	if (!part || !whole)
		strbuf_addstr(sb, "      0");
	else if (p < 0.001)
		strbuf_addf(sb, "%7.1e", p);
	else if (p >= 99.99995)
		strbuf_addf(sb, "%7.3f", p);
	else
		strbuf_addf(sb, "%7.4f", p);
}

const char *text_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}
