/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>

#include "format/rst/rst.h"

int rst_header_version(const uint8_t rec[RST_REC_SIZE])
{
	if (rec[0] != RST_HEADER || rec[3] != '%' || memcmp(rec + 4, "RST Header", 10))
		return -EBADMSG;
	return rec[1] * 100 + rec[2];
}

void rst_header_make(uint8_t rec[RST_REC_SIZE], unsigned int version)
{
	char text[24];

	memset(rec, 0, RST_REC_SIZE);
	rec[0] = RST_HEADER;
	rec[1] = (uint8_t)(version / 100);
	rec[2] = (uint8_t)(version % 100);
	rec[3] = '%';
	/* 1.8 is written "v1.8", 2.9 is written "v2.09" */
	if (version >= 200)
		snprintf(text, sizeof(text), "RST Header v%u.%02u", (unsigned int)rec[1], (unsigned int)rec[2]);
	else
		snprintf(text, sizeof(text), "RST Header v%u.%u", (unsigned int)rec[1], (unsigned int)rec[2]);
	memcpy(rec + 4, text, MIN(strlen(text), 20u));
}

int rst_version_compare(unsigned int reader, unsigned int trace)
{
	/* Half-open ranges of the reference checker. What lies above its end is one more range, of the same class as the last:
	 * the later versions only added types and widened fields into unused bits. */
	static const struct { unsigned int below; int class; } ranges[] = {
		{ 100, 0 }, { 104, 1 }, { 106, 2 }, { 108, 2 }, { 110, 2 }, { 209, 3 }, { RST_VERSION + 1, 3 },
	};
	size_t a = 0, b = 0;

	while (a < ARRAY_SIZE(ranges) && reader >= ranges[a].below)
		a++;
	while (b < ARRAY_SIZE(ranges) && trace >= ranges[b].below)
		b++;
	if (a == ARRAY_SIZE(ranges) || b == ARRAY_SIZE(ranges))
		return a == b ? 0 : 4;
	return a == b ? 0 : ranges[a].class == ranges[b].class ? 2 : 4;
}

bool rst_string_join(struct rst_string_joiner *j, const uint8_t rec[RST_REC_SIZE])
{
	const uint8_t *nul = memchr(rec + 1, 0, 23);
	size_t n = nul ? (size_t)(nul - rec - 1) : 23, fits;

	if (rec[0] != RST_STRCONT && rec[0] != RST_STRDESC)
		return false;
	if (!j->open) {
		j->len = 0;
		j->too_long = j->no_nul = false;
	}
	fits = MIN(n, RST_MAX_STRING - j->len);
	memcpy(j->text + j->len, rec + 1, fits);
	j->len += fits;
	j->text[j->len] = 0;
	j->too_long |= fits < n;
	j->open = rec[0] == RST_STRCONT;
	if (!j->open && !nul)
		j->no_nul = true;
	return !j->open;
}

void rst_string_make(uint8_t *recs, const char *text, size_t len)
{
	size_t n = rst_string_n_recs(len);

	memset(recs, 0, n * RST_REC_SIZE);
	for (size_t i = 0; i < n; i++) {
		recs[i * RST_REC_SIZE] = i + 1 < n ? RST_STRCONT : RST_STRDESC;
		memcpy(recs + i * RST_REC_SIZE + 1, text + i * 23, MIN(len - i * 23, 23u));
	}
}
