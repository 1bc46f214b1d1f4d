/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/rst/sparc.h"

enum sparc_kind sparc_kind(uint32_t w)
{
	switch (w >> 30) {
	case 0:
		switch (w >> 22 & 7) {
		case 1: return SPARC_BPCC;
		case 2: return SPARC_BICC;
		case 3: return !(w & 0x10000000) && (w >> 25 & 3) ? SPARC_BPR : SPARC_OTHER;
		case 5: return SPARC_FBPFCC;
		case 6: return SPARC_FBFCC;
		}
		return SPARC_OTHER;
	case 1:
		return SPARC_CALL;
	case 3:
		return SPARC_MEMORY;
	}
	switch (w >> 19 & 0x3f) {
	case 0x38: return SPARC_JMPL;
	case 0x39: return SPARC_RETURN;
	case 0x3a: return SPARC_TCC;
	case 0x3e: return sparc_rd(w) <= 1 ? SPARC_DONE_RETRY : SPARC_OTHER;
	}
	return SPARC_OTHER;
}

static int64_t sext(uint32_t v, unsigned int bits)
{
	return (int64_t)((uint64_t)v << (64 - bits)) >> (64 - bits);
}

int64_t sparc_disp(uint32_t w, enum sparc_kind k)
{
	switch (k) {
	case SPARC_BICC:
	case SPARC_FBFCC:
		return sext(w & 0x3fffff, 22) * 4;
	case SPARC_BPCC:
	case SPARC_FBPFCC:
		return sext(w & 0x7ffff, 19) * 4;
	case SPARC_BPR:
		return sext((w >> 20 & 3) << 14 | (w & 0x3fff), 16) * 4;
	case SPARC_CALL:
		return sext(w & 0x3fffffff, 30) * 4;
	default:
		return 0;
	}
}

uint16_t sparc_ihash(uint32_t w)
{
	uint32_t op = w >> 30;

	if (op == 0)
		return (uint16_t)(w >> 22 & 7);
	if (op == 1)
		return 0x100;
	return (uint16_t)(op << 8 | (w >> 13 & 1) << 6 | (w >> 19 & 0x3f));
}
