/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Buffers of samples of any bytes: checked, converted there and back, merged with themselves. */
#include "fuzz/abi-files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_abi_there_and_back(data, size);
	fuzz_abi_merge_with_itself(data, size);
	/* as a stream that may go on */
	struct abi_format f;
	int at = abi_prefix_read(&f, ABI_OPSD, data, size, NULL);
	size_t pos = (size_t)at;
	struct opsd_head h;
	struct opsd_sample s;
	while (at > 0 && opsd_head_next(&f, data, size, &pos, false, &h, NULL) > 0)
		for (uint64_t i = 0; i < h.n && opsd_sample_next(&f, data, size, &pos, &s, NULL) > 0; i++)
			;
	return 0;
}
