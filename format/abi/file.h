/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_ABI_FILE_H
#define OPJIT_FORMAT_ABI_FILE_H
/* What can be done with any of the four files as a whole. */
#include "format/abi/opdb.h"
#include "format/abi/ophd.h"
#include "format/abi/opnd.h"
#include "format/abi/opsd.h"

struct abi_file_stat {
	struct abi_format fmt;
	uint64_t items;        /* notes, buffers, used entries, pairs */
	uint64_t unknown;      /* opnd: notes of an unknown type */
	uint64_t samples, sum; /* opsd: samples and their hits; opdb: pairs and their counts */
	struct opdb_stat opdb;
	uint64_t total, used, page_entries; /* opdb */
	uint64_t slots, pool;  /* ophd */
};

/* Every rule of the file's kind. A stream that ends inside a note or buffer is refused. */
int abi_file_check(const void *data, size_t len, struct abi_file_stat *ret, struct abi_fault *fault);
/*
 * Appends the same content with the width and order of `to` (its kind does not matter). -ERANGE: *fault has the offset of
 * the word that does not fit and its value; else as abi_file_check. What a writer leaves 0 is written as 0, so converting
 * there and back gives the same bytes.
 */
int abi_file_convert(const void *data, size_t len, const struct abi_format *to, struct strbuf *ret,
		     struct abi_fault *fault);
/* Appends the union of two files of one kind with fmt NULL = width and order of a: opdb adds counts up (canonical bytes);
 * opnd, opsd: b's notes or buffers follow a's; ophd: b's paths are added to a's, in a new table. -EINVAL: kinds differ. */
int abi_file_merge(const void *a, size_t a_len, const void *b, size_t b_len, const struct abi_format *fmt,
		   struct strbuf *ret, struct abi_fault *fault);

#endif
