/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The image reader on any bytes: parse, walk the journal, unpack each table. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/jit/image.h"
#include "format/jit/tables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static volatile unsigned long sink;

static void tables(const struct jit_event *e)
{
	struct jit_unpack u = jit_unpack_of(e->lines, e->lines_len);
	struct jit_unwind_row row;
	struct jit_inlines in;
	struct jit_line line;

	while (jit_unpack_line(&u, &line) > 0) {
		const char *s = jit_string(e->strings, e->strings_len, line.file);
		sink += s ? strlen(s) : 0;
	}
	if (jit_inlines_unpack(&in, e->inlines, e->inlines_len) == 0) {
		for (uint32_t i = 0; i < in.n_ranges; i++)
			for (uint32_t f = in.ranges[i].frame; f != JIT_NO_FRAME; f = in.frames[f].caller)
				sink += f;
		jit_inlines_done(&in);
	}
	u = jit_unpack_of(e->unwind, e->unwind_len);
	while (jit_unpack_unwind(&u, &row) > 0)
		sink += row.offset;
	for (size_t i = 0; i < e->name_len; i++)
		sink += (unsigned char)e->name[i];
	for (size_t i = 0; i < e->source_file_len; i++)
		sink += (unsigned char)e->source_file[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct jit_image im;
	struct jit_fault f;
	struct jit_event e;

	if (jit_image_parse(&im, data, len, len, &f) < 0)
		return 0;
	struct jit_walk w = jit_walk_of(&im, data);
	while (jit_walk_next(&w, &e, &f) > 0)
		tables(&e);
	return 0;
}
