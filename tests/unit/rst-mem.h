/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_TESTS_RST_MEM_H
#define OPJIT_TESTS_RST_MEM_H
/* Traces in memory: what rst_in and rst_out of format/rst/stream.h call, for tests and fuzz targets. */
#include "format/rst/stream.h"
#include "lib/strbuf.h"

struct mem { const uint8_t *p; size_t left, step; }; /* step: at most so much at a time, 0 = all */

static ssize_t read_mem(void *arg, void *buf, size_t len)
{
	struct mem *m = arg;
	size_t n = MIN(MIN(len, m->left), m->step ? m->step : len);

	memcpy(buf, m->p, n);
	m->p += n;
	m->left -= n;
	return (ssize_t)n;
}

static inline int write_mem(void *arg, const void *buf, size_t len)
{
	return strbuf_add(arg, buf, len);
}
#endif
