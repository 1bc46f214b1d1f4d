/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Notes of any bytes: checked, converted there and back, merged with themselves. */
#include "fuzz/abi-files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_abi_there_and_back(data, size);
	fuzz_abi_merge_with_itself(data, size);
	return 0;
}
