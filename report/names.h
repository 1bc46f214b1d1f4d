/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_REPORT_NAMES_H
#define OPJIT_REPORT_NAMES_H
/*
 * From the name in a symbol table to the name people read: C++ and Rust demangling; Java descriptors and
 * return types; numbers that differ from run to run (lambda and hidden classes, proxies, accessors) folded away.
 */
#include "lib/strbuf.h"

enum names_style {
	NAMES_SMART = 0, /* short: no return type, std::string for its full spelling */
	NAMES_NORMAL,    /* the demangler's own words; Java with its return type and full parameter types */
	NAMES_NONE,      /* the bytes of the symbol table */
};

/* V8's `LazyCompile:*name file:line:col` in its parts, which point into it. A function without a name has a space there. */
struct names_v8 {
	const char *name, *file; /* file: up to file_len; the name is what stands before it */
	size_t file_len;         /* 0 = unknown */
	uint32_t line;           /* 0 = unknown */
	int tier;                /* the mark: 0 ~ interpreter, 1 ^ baseline, 2 + and 3 * optimizing compilers; -1 = none */
};
/* False, and *ret untouched, if raw is no name of this form. */
bool names_v8(const char *raw, struct names_v8 *ret);

/* 0, or -EINVAL for a word that is none of none, normal, smart. */
int names_style_parse(const char *word, enum names_style *ret);
/* Appends raw without the numbers that VMs draw anew in each run, and without what V8, PHP and Erlang put around a name. */
void names_fold(struct strbuf *sb, const char *raw);
/* Appends the VM's own name, Lcom/acme/Foo;baz(I)V, from the readable one and the signature. */
void names_raw(struct strbuf *sb, const char *name, const char *descriptor);
/* Appends the name for people. jit: the name comes from a VM, so Java forms are looked for. */
void names_pretty(struct strbuf *sb, const char *raw, enum names_style style, bool jit);

#endif
