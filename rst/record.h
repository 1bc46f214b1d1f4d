/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_RST_RECORD_H
#define OPJIT_RST_RECORD_H
/*
 * Writes the records of an x86-64 trace: the head, changes of process, thread and cpu, names of code, and instructions.
 */
#include <sys/types.h>

#include "rst/cli.h"
#include "rst/x86.h"

struct recorder {
	struct cli_out *out;
	int error;              /* sticky */
	uint64_t n_instrs, n_recs;
	pid_t pid, tid;         /* of the last record */
	unsigned int cpu;
	uint64_t time_ns;
};
void record_head(struct recorder *r, const char *const *command);
void record_string(struct recorder *r, const char *text);
/* Code came or went; name for a load, NULL for an unload. */
void record_code(struct recorder *r, uint64_t addr, uint64_t size, const char *name, size_t name_len);
/* Who runs from here on; records only what changed, with `clock` at least the time. */
void record_who(struct recorder *r, pid_t pid, pid_t tid, unsigned int cpu, bool clock);
struct record_step {
	const struct x86_insn *insn;
	uint64_t pc, next_pc;
	const struct user_regs_struct *regs; /* before it */
	bool ran;                            /* false: it trapped */
	unsigned int trap;                   /* vector, when it trapped */
	uint64_t second;                     /* value at the second memory operand */
};
void record_instr(struct recorder *r, const struct record_step *s);
void record_end(struct recorder *r);

#endif
