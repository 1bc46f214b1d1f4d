/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_RST_DIS_H
#define OPJIT_RST_DIS_H
/*
 * Disassembly for the trace tools. SPARC in the viewer's own plain style, or by libopcodes where the one at hand knows
 * SPARC; x86-64 by libopcodes.
 */
#include "lib/strbuf.h"

struct dis; /* opaque */
int dis_new(struct dis **ret);
void dis_free(struct dis *d);
/* 0, or -ENOTSUP if no libopcodes for SPARC is here. From then on dis_sparc is in GNU style. */
int dis_use_gnu_sparc(struct dis *d);
/* Appends the text. */
void dis_sparc(struct dis *d, uint32_t word, uint64_t pc, struct strbuf *out);
/* The length of the instruction, or -EINVAL ("(bad)" or cut off at len). Appends the text (AT&T style). */
int dis_x86(struct dis *d, const uint8_t *bytes, size_t len, uint64_t pc, struct strbuf *out);

#endif
