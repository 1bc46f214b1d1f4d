/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_RST_SYMS_H
#define OPJIT_RST_SYMS_H
/*
 * Names of address ranges that come and go while a trace is read: from a symbol file ("address [size] [type] name" a line, as
 * nm prints it) and from the strings of a trace:
 *	jit load 0xADDR SIZE NAME
 *	jit unload 0xADDR
 */
#include "lib/util.h"

struct sym {
	uint64_t addr, size; /* size 0: up to the next one */
	char *name;
};
struct syms {
	struct sym *v; /* by address */
	size_t n, room;
};
void syms_done(struct syms *s);
int syms_add(struct syms *s, uint64_t addr, uint64_t size, const char *name);
void syms_remove(struct syms *s, uint64_t addr);
int syms_load_file(struct syms *s, const char *path);
/* True if the text was one of ours. */
bool syms_take_string(struct syms *s, const char *text);
const struct sym *syms_find(const struct syms *s, uint64_t addr);

#endif
