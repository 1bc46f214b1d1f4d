/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_REPORT_DISASM_H
#define OPJIT_REPORT_DISASM_H
/* Instructions of a range of an image as text, by libopcodes or by objdump. */
#include "report/symbols.h"

/* Called for each instruction; text has no newline. Negative stops. */
typedef int disasm_fn(void *arg, uint64_t vma, const char *text);

/* -ENOENT: no code bytes there; -EOPNOTSUPP: a machine this libopcodes does not know. */
int disasm_range(struct sym_image *img, uint64_t start, uint64_t end, disasm_fn *fn, void *arg);
/* As above by one run of objdump with further parameters (separated by spaces). */
int disasm_objdump(struct sym_image *img, uint64_t start, uint64_t end, const char *params, disasm_fn *fn, void *arg);

#endif
