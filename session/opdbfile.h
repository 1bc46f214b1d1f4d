/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_SESSION_OPDBFILE_H
#define OPJIT_SESSION_OPDBFILE_H
/*
 * An opdb tree in a mapped file: one writer and any number of readers, in any processes. Byte 0 of the file carries
 * the writer's lock (open file description locks, so threads count too), byte 1 is held shared by each read and exclusively by
 * each change. For import and merging; what a session keeps is built in bulk instead.
 */
#include "format/abi/opdb.h"

struct opdb_file;

/* Makes a new file. -EEXIST. fmt NULL = 8 bytes, little-endian; page_entries 0 = 12. */
int opdb_file_create(struct opdb_file **ret, const char *path, const struct abi_format *fmt, uint32_t page_entries);
/* write: -EBUSY if there is a writer already; the whole tree is checked first. */
int opdb_file_open(struct opdb_file **ret, const char *path, bool write, struct abi_fault *fault);
void opdb_file_close(struct opdb_file *f);
/* Saturating; -EBADF in a reader; -ENOSPC: the disk is full, the tree is as it was. */
int opdb_file_add(struct opdb_file *f, uint64_t key, uint64_t value);
/* Many additions under one lock: readers see all of them or none. */
int opdb_file_begin(struct opdb_file *f);
int opdb_file_end(struct opdb_file *f);
int opdb_file_merge(struct opdb_file *f, const struct opdb *src, struct abi_fault *fault);
/* -ENOENT if the key is not there. */
int opdb_file_get(struct opdb_file *f, uint64_t key, uint64_t *value);
/* fn must not call back into f. */
int opdb_file_range(struct opdb_file *f, uint64_t lo, uint64_t hi, opdb_fn *fn, void *arg);
int opdb_file_sync(struct opdb_file *f);

#endif
