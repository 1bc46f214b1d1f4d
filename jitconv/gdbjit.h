/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_JITCONV_GDBJIT_H
#define OPJIT_JITCONV_GDBJIT_H
/*
 * GDB's JIT interface as a live source: a process that exports __jit_debug_descriptor has there the list of ELF objects that it
 * made in memory. The list is read from outside, at each poll as far as it changed; nothing runs in the process and it is not stopped.
 *
 * What it can: names, sizes and bytes of all functions in objects that are registered when somebody looks (sections must carry
 * their addresses, as debuggers need it too). What it cannot: tell when an object was registered (each counts from before it was
 * seen), see one that came and went between two looks, or one whose process ended before the first look. The objects' DWARF is not read.
 *
 * The list, in the process's own byte order and word size (GDB's documentation, "JIT Interface"):
 *	descriptor: u32 version (1), u32 action, ptr relevant entry, ptr first entry
 *	entry:      ptr next, ptr previous, ptr object, u64 size of the object
 */
#include "jitconv/source.h"

#define GDBJIT_MAX_ENTRIES 65536u
#define GDBJIT_OBJECT_MAX ((uint64_t)64 << 20)  /* bytes of one object */
#define GDBJIT_TOTAL_MAX ((uint64_t)1 << 30)    /* code and names kept of one process */

/*
 * Looks for the symbol in the files that process pid has mapped executable, opened below rootfd (its /proc/PID/root). 0 and *ret;
 * -ENOENT: nothing exports it; -EPERM: it is there, but the memory of the process is not ours to read (one line in *why); -errno.
 */
int gdbjit_open(struct jit_source **ret, const char *proc_root, int rootfd, int32_t pid, uint32_t uid, const char **why);

#endif
