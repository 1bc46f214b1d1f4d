/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FUZZ_ABI_FILES_H
#define OPJIT_FUZZ_ABI_FILES_H
/* What holds for any of the four files, of any bytes. */
#include <assert.h>
#include <string.h>

#include "format/abi/file.h"

/* What is accepted converts to a wider word and back to the same content, or is refused for a word that does not fit. */
static inline void fuzz_abi_there_and_back(const uint8_t *data, size_t size)
{
	AUTO_STRBUF wide = STRBUF_INIT_CAP(1 << 22), back = STRBUF_INIT_CAP(1 << 22), again = STRBUF_INIT_CAP(1 << 22);
	struct abi_format from, to;
	struct abi_file_stat a, b;

	if (abi_file_check(data, size, &a, NULL) < 0)
		return;
	from = a.fmt;
	abi_format_parse_order(&to, from.kind, from.width < 8 ? 8 : 9, "be");
	if (abi_file_convert(data, size, &to, &wide, NULL) < 0)
		return;
	assert(abi_file_check(wide.buf, wide.len, &b, NULL) == 0);
	assert(a.items == b.items && a.samples == b.samples);
	if (abi_file_convert(wide.buf, wide.len, &from, &back, NULL) < 0)
		return;
	/* The first conversion cleans what is unused; from then on the bytes stay. */
	assert(abi_file_convert(back.buf, back.len, &to, &again, NULL) == 0);
	assert(again.len == wide.len && !memcmp(again.buf, wide.buf, wide.len));
}

static inline void fuzz_abi_merge_with_itself(const uint8_t *data, size_t size)
{
	AUTO_STRBUF sum = STRBUF_INIT_CAP(1 << 22);

	(void)abi_file_merge(data, size, data, size, NULL, &sum, NULL);
}

#endif
