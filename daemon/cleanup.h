/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_DAEMON_CLEANUP_H
#define OPJIT_DAEMON_CLEANUP_H
/* What is left by processes that are gone: their JIT directories, in the known roots and where the registry saw some. */
#include "jitconv/instances.h"

/* Removes dead instances not changed for min_age_s. registry may be NULL or missing; its lines of instances that are gone are
 * taken out. Adds to *sum. 0 or -errno. */
int cleanup_instances(const char *registry, uint64_t min_age_s, struct jit_removal *sum);
/* "removed 3 JIT directories of processes that are gone, 12.5 MB freed; 1 of a live process kept" */
void cleanup_describe(const struct jit_removal *sum, struct strbuf *ret);

#endif
