/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Trees of any bytes: checked, walked, looked up, added to, merged, converted. */
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
	AUTO_STRBUF sum = STRBUF_INIT_CAP(1 << 22);
	struct order o = { 0 };
	struct opdb db;
	uint64_t v;

	there_and_back(data, size);
	add_to(data, size);
	(void)abi_file_merge(data, size, data, size, NULL, &sum, NULL);
	if (opdb_read(&db, data, size, NULL) == 0) {
		for (uint64_t k = 0; k < 300; k += 7)
			(void)opdb_get(&db, k, &v, NULL);
		(void)opdb_range(&db, 5, 1000, ascends, &o, NULL);
	}
	(void)opdb_read_lenient(&db, data, size, NULL);
	return 0;
}
