/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_RST_X86_H
#define OPJIT_RST_X86_H
/*
 * What an x86-64 instruction will do: its length, whether it transfers control, and the memory it names. Found from the text
 * that libopcodes makes of it, once for each instruction; the addresses then come from the registers.
 */
#include <sys/user.h>

#include "lib/util.h"
#include "rst/dis.h"

enum x86_kind { X86_PLAIN, X86_JUMP, X86_JCC, X86_CALL, X86_RET, X86_SYSCALL };

struct x86_mem {
	int8_t base, index;    /* number as the CPU counts them; −1 none, −2 rip */
	uint8_t scale, seg;    /* seg: 0, 'f' or 'g' */
	bool narrow;           /* registers of 32 bits: so is what they make */
	int64_t disp;
};
struct x86_insn {
	uint8_t len;           /* 0: not decoded */
	uint8_t bytes[15];
	enum x86_kind kind;
	bool stack_down, stack_up; /* push, call: rsp − 8; pop, ret: rsp */
	uint8_t n_mem;
	struct x86_mem mem[2];
};
/* 0, or -EINVAL: no instruction (len 0). */
int x86_decode(struct dis *d, const uint8_t *bytes, size_t len, uint64_t pc, struct x86_insn *ret);
uint64_t x86_address(const struct x86_insn *i, const struct x86_mem *m, const struct user_regs_struct *r);

#endif
