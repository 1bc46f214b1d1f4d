/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_DAEMON_MAPS_H
#define OPJIT_DAEMON_MAPS_H
/*
 * The executable mappings of one address space at the time the resolver has come to: a sorted array without
 * overlaps, shared between a process and its children until one of them changes it.
 */
#include "lib/util.h"

struct map {
	uint64_t start, end;
	uint64_t pgoff;
	uint64_t since_ns;   /* when it was mapped */
	uint32_t path;       /* id in the resolver's string pool */
	uint8_t kind;        /* enum map_kind */
};

enum map_kind {
	MAP_KIND_FILE,       /* a regular file that has a name in a directory */
	MAP_KIND_JIT,        /* memory that code may be made in, and no name for people: memfd, SysV, hugetlb, /dev/zero, … */
	MAP_KIND_ANON,       /* //anon, [heap], [stack]: named for itself */
	MAP_KIND_SPECIAL,    /* [vdso], [vsyscall], [uprobes]: code of the kernel's */
};

struct maps;

#define MAPS_MAX 262144 /* mappings a process; what comes beyond is not kept */

/* NULL is a valid empty set for all but maps_add and maps_del, which make one. */
struct maps *maps_share(struct maps *m);
void maps_drop(struct maps *m);
/* Adds, cutting what was there. *m may change (copy on write). 0, -ENOMEM, -EINVAL (empty or wraps), -E2BIG. */
int maps_add(struct maps **m, const struct map *what);
int maps_del(struct maps **m, uint64_t start, uint64_t end);
const struct map *maps_find(const struct maps *m, uint64_t addr);
/* Asks for the memory that maps_find will read first; m itself is there. */
void maps_prefetch(const struct maps *m);
size_t maps_count(const struct maps *m);
const struct map *maps_at(const struct maps *m, size_t i);

/* What a mapping's path (as the kernel prints it) means. */
enum map_kind map_kind_of(const char *path);
/* The name for people of MAP_KIND_ANON and _JIT: "anon", "[heap]", "[stack]". */
const char *map_anon_name(const char *path);

#endif
