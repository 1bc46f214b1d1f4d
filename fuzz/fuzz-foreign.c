/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parsers of jitdump, perf map and OProfile's dump: the first byte chooses the format and the size of the pieces. */
#include "format/jit/parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int look(void *arg, const struct jit_event *e)
{
	volatile uint8_t sum = 0;

	for (size_t i = 0; i < e->name_len; i++)
		sum ^= (uint8_t)e->name[i];
	for (size_t i = 0; i < e->code_len; i++)
		sum ^= ((const uint8_t *)e->code)[i];
	for (size_t i = 0; i < e->lines_len; i++)
		sum ^= ((const uint8_t *)e->lines)[i];
	(void)sum;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jit_parser_opts o = { .fn = look };
	struct jit_parser *p;
	size_t step;
	int r = 0;

	if (!size || jit_parser_new(&p, (enum jit_format)(JIT_FORMAT_JITDUMP + data[0] % 4), &o) < 0)
		return 0;
	step = (size_t)data[0] / 3 * 7 + 1;
	for (size_t at = 1; at < size && !r; at += step)
		r = jit_parser_feed(p, data + at, MIN(step, size - at), 1000000000);
	if (!r)
		jit_parser_finish(p, 1000000000);
	jit_parser_free(p);
	return 0;
}
