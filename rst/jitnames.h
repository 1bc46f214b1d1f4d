/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_RST_JITNAMES_H
#define OPJIT_RST_JITNAMES_H
/* The names of a process's JIT code, as libopagent's rings tell them: recorded as strings, and known by address. */
#include "jitconv/source.h"
#include "rst/record.h"
#include "rst/syms.h"

#define JITNAMES_SOURCES 16

struct jitnames {
	struct recorder *rec;
	struct jit_source *sources[JITNAMES_SOURCES];
	char *source_paths[JITNAMES_SOURCES];
	size_t n_sources;
	struct syms regions; /* of methods */
	uint64_t last_scan_ns;
};
/* Looks for rings now and then, and takes what is new in those that were found. */
void jitnames_poll(struct jitnames *j, pid_t pid);
/* The process became another program: its code is gone. */
void jitnames_forget(struct jitnames *j);
void jitnames_done(struct jitnames *j);

#endif
