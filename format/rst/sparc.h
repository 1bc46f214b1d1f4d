/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_RST_SPARC_H
#define OPJIT_FORMAT_RST_SPARC_H
/*
 * What the trace codecs, filters and checks need to know of a SPARC V9 instruction word. Pure functions.
 */
#include "lib/util.h"

#define SPARC_NOP 0x01000000u

enum sparc_kind {
	SPARC_OTHER = 0,
	SPARC_BICC, SPARC_BPCC, SPARC_FBFCC, SPARC_FBPFCC, SPARC_BPR, SPARC_CALL, /* PC-relative transfers */
	SPARC_JMPL, SPARC_RETURN,
	SPARC_DONE_RETRY, SPARC_TCC,
	SPARC_MEMORY, /* op 3: loads, stores, prefetches, atomics */
};
enum sparc_kind sparc_kind(uint32_t w);
static inline bool sparc_is_pcrel(enum sparc_kind k) { return k >= SPARC_BICC && k <= SPARC_CALL; }
static inline bool sparc_is_transfer(enum sparc_kind k) { return k >= SPARC_BICC && k <= SPARC_RETURN; }
/* Branches on condition code whose condition is "always" or "never". */
static inline bool sparc_is_always(uint32_t w) { return (w & 0xdec00000) == 0x10800000 || (w & 0xdec00000) == 0x10400000; }
static inline bool sparc_is_never(uint32_t w) { return (w & 0xdec00000) == 0x00800000 || (w & 0xdec00000) == 0x00400000; }
static inline bool sparc_has_annul(uint32_t w) { return w & 0x20000000; }
static inline bool sparc_is_restore(uint32_t w) { return (w & 0xc1f80000) == 0x81e80000; }
/* ret and retl: jmpl %i7 + 8 or %o7 + 8 into %g0. */
static inline bool sparc_is_ret(uint32_t w)
{
	unsigned int rs1 = w >> 14 & 31;

	return (w >> 25 & 31) == 0 && (w & 0x3fff) == 0x2008 && (rs1 == 15 || rs1 == 31);
}
static inline unsigned int sparc_rd(uint32_t w) { return w >> 25 & 31; }
static inline unsigned int sparc_rs1(uint32_t w) { return w >> 14 & 31; }
/* Signed byte displacement of a PC-relative transfer; 0 for others. */
int64_t sparc_disp(uint32_t w, enum sparc_kind k);
/* The opcode class for the ihash field: op in bits 9:8, op2, op3 or 0 in bits 5:0, i (immediate) in bit 6. */
uint16_t sparc_ihash(uint32_t w);

/* The text of an instruction in the plain style of the format's own viewer: no synthetic names but nop, constants of
 * 0…9 in decimal and others in hex. Always writes a NUL-terminated text; ".word 0x…" for what is no instruction. */
#define SPARC_TEXT_SIZE 80
void sparc_disassemble(uint32_t w, uint64_t pc, char text[SPARC_TEXT_SIZE]);

#endif
