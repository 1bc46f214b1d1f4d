/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Trees of any bytes: checked, walked, looked up, added to, merged, converted. */
#include <assert.h>
#include <string.h>

#include "fuzz/abi-files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int grow(void *arg, size_t len, uint8_t **data)
{
	uint8_t **own = arg;
	uint8_t *p = len > 1 << 22 ? NULL : realloc(*own, len);

	if (!p)
		return -ENOMEM;
	*data = *own = p;
	return 0;
}

struct order { uint64_t last, n; };
static int ascends(void *arg, uint64_t key, uint64_t value)
{
	struct order *o = arg;

	assert(!o->n++ || key > o->last);
	o->last = key;
	return 0;
}

/* A tree that passed the check takes additions and still passes. */
static void add_to(const uint8_t *data, size_t size)
{
	uint8_t *own = malloc(size);
	struct opdb_tree t = { .grow = grow, .arg = &own };
	struct opdb view;
	size_t len = size;

	if (!own)
		return;
	memcpy(own, data, size);
	if (opdb_tree_attach(&t, own, len, NULL) == 0) {
		for (uint64_t k = 0; k < 40; k++)
			(void)opdb_tree_add(&t, k * k % 251, UINT64_MAX >> k);
		view = opdb_tree_view(&t);
		/* growth leaves new bytes as realloc gave them: only pages in use count */
		assert(opdb_check(&view, NULL, NULL) == 0);
	}
	free(own);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct order o = { 0 };
	struct opdb db;
	uint64_t v;

	fuzz_abi_there_and_back(data, size);
	add_to(data, size);
	fuzz_abi_merge_with_itself(data, size);
	if (opdb_read(&db, data, size, NULL) == 0) {
		for (uint64_t k = 0; k < 300; k += 7)
			(void)opdb_get(&db, k, &v, NULL);
		(void)opdb_range(&db, 5, 1000, ascends, &o, NULL);
	}
	(void)opdb_read_lenient(&db, data, size, NULL);
	return 0;
}
