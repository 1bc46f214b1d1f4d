/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_ABI_OPND_H
#define OPJIT_FORMAT_ABI_OPND_H
/*
 * opnd: a stream of notes without end, six words each. Streaming: the caller gives what bytes there are and keeps the
 * position; a note that is not whole yet is told apart from one that is wrong.
 */
#include "format/abi/abi.h"

enum opnd_type { OPND_FORK = 1, OPND_MAP = 2, OPND_EXEC = 4, OPND_DROP_MODULES = 8, OPND_EXIT = 16 };
#define OPND_NO_PATH UINT64_MAX  /* hash of a note without a path: all-ones at any width */
#define OPND_WORDS 6u

struct opnd_note {
	uint64_t address;   /* FORK: the child */
	uint64_t length, offset;
	uint64_t hash;      /* index into the ophd table, or OPND_NO_PATH */
	uint64_t pid;       /* FORK: the parent */
	uint64_t type;      /* enum opnd_type; others may come and are to be skipped */
};
static inline bool opnd_type_known(uint64_t type)
{
	return type == OPND_FORK || type == OPND_MAP || type == OPND_EXEC || type == OPND_DROP_MODULES || type == OPND_EXIT;
}

/*
 * The note at *pos (start behind the prefix); *pos moves behind it. 1 = a note, 0 = the bytes end between two notes,
 * -EAGAIN = they end inside one (truncated, or still being written); -ERANGE and *fault for a word above 64 bits.
 */
int opnd_next(const struct abi_format *f, const uint8_t *data, size_t len, size_t *pos, struct opnd_note *ret,
	      struct abi_fault *fault);
/* Writes OPND_WORDS * width bytes. -ERANGE: something does not fit (then nothing is to be used). */
int opnd_write(const struct abi_format *f, uint8_t *out, const struct opnd_note *n);

#endif
