/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_RST_FILTER_H
#define OPJIT_RST_FILTER_H
/*
 * Filters from trace to trace. A filter gets one record after the other and hands on none, it, or others; a chain of
 * them works in one process, record by record.
 */
#include "format/rst/rst.h"
#include "lib/strbuf.h"

struct filter;
typedef int filter_emit_fn(void *arg, const uint8_t *rec);

struct filter_ops {
	const char *name;
	const char *help;
	const char *param;  /* name of the parameter in name=param, or NULL */
	bool param_needed;
	/* One record; header and level record come too. Negative stops. */
	int (*rec)(struct filter *f, uint8_t *rec);
	/* The end; may still emit. May be NULL. */
	int (*end)(struct filter *f);
	int (*setup)(struct filter *f); /* parse the parameter; -EINVAL. May be NULL */
};
struct filter {
	const struct filter_ops *ops;
	const char *param;
	filter_emit_fn *emit;
	void *emit_arg;
	unsigned int version;   /* of the trace as it comes to this filter */
	unsigned int version_out;
	uint64_t n;             /* records seen before this one */
	/* for the filters' own use */
	uint64_t count, number;
	bool flag, cpus[1024], has[1024];
	uint8_t last[1024][RST_REC_SIZE];
	uint16_t map[1024];
	int cpu;
	struct strbuf held;
};
extern const struct filter_ops filter_table[];
extern const size_t filter_table_size;
/* Makes a filter from "name" or "name=param". -ENOENT, -EINVAL, -ENOMEM. */
int filter_new(struct filter **ret, const char *spec);
void filter_free(struct filter *f);
static inline int filter_emit(struct filter *f, const uint8_t *rec)
{
	return f->emit(f->emit_arg, rec);
}

#endif
