/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tables of names of any bytes: checked, converted there and back, merged with themselves. */
#include <assert.h>
#include <string.h>

#include "format/abi/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is accepted converts to a wider word and back to the same content, or is refused for a word that does not fit. */
static void there_and_back(const uint8_t *data, size_t size)
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_STRBUF sum = STRBUF_INIT_CAP(1 << 22);

	there_and_back(data, size);
	(void)abi_file_merge(data, size, data, size, NULL, &sum, NULL);
	struct ophd h = { 0 };
	if (ophd_read(&h, data, size, NULL) == 0)
		for (uint32_t i = 0; i < h.n; i++) {
			AUTO_STRBUF path = STRBUF_INIT_CAP(65536);
			if (ophd_used(&h, i))
				(void)ophd_path(&h, i, &path);
		}
	ophd_done(&h);
	return 0;
}
