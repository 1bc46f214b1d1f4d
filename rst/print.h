/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_RST_PRINT_H
#define OPJIT_RST_PRINT_H
/*
 * Records as text lines, in the form of the format's manual. A printer keeps what a line needs of the records before it:
 * the version, a string that is not yet whole, the bytes of the next x86 instruction, the last PA-VA differences.
 */
#include "format/rst/rst.h"
#include "lib/strbuf.h"
#include "rst/dis.h"
#include "rst/syms.h"

struct print_opts {
	bool fields;     /* -a: instructions field by field, not disassembled */
	bool verbose;    /* -x: the bytes of each record as well */
	bool no_recno;   /* -nid */
	bool phys;       /* -pa: physical address of loads and stores */
	bool values;     /* -vt: register values in a line each */
	bool gnu;        /* disassembly in GNU style */
};
struct printer {
	struct print_opts o;
	unsigned int version;
	bool is_x86;                 /* the trace said isa=x86-64 */
	struct dis *dis;
	struct syms syms;            /* of a file, and of the trace's own strings */
	struct rst_string_joiner joiner;
	uint8_t x86[RST_REC_SIZE];   /* X86_INSTR waiting for its INSTR; [0] 0 if none */
	int shown_cpu;               /* of the last PAVADIFF line, for versions that say it on change */
	uint64_t ea_diff[1024];
	bool has_ea_diff[1024];
	struct strbuf line;
};
int printer_init(struct printer *p, const struct print_opts *o, unsigned int version);
void printer_done(struct printer *p);
/* The heading that goes before the lines. */
void printer_banner(struct strbuf *out, const char *name);
/* Takes note of a record that is not to be shown. */
void printer_note(struct printer *p, const uint8_t *rec);
/* The line of a record with its newline, or "" (a part of a string, the bytes of the next instruction). Valid until the
 * next call. */
const char *printer_line(struct printer *p, uint64_t recno, const uint8_t *rec);

#endif
