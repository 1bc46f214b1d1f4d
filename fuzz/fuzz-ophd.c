/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tables of names of any bytes: checked, converted there and back, merged with themselves. */
#include "fuzz/abi-files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_abi_there_and_back(data, size);
	fuzz_abi_merge_with_itself(data, size);
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
