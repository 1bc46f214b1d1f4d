/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_SESSION_READ_H
#define OPJIT_SESSION_READ_H
/* An open session, as the rest of session/ sees it. */
#include "format/abi/opdb.h"
#include "format/abi/ophd.h"
#include "session/info.h"

#define SESSION_READ_MAX ((size_t)1 << 33)  /* of one file */
#define SESSION_MAX_FRAMES 65536            /* of one call stack */

struct session_entry {
	struct session_file file;
	char *path;              /* of its sample file, as in `names`, starting with '/' */
	char *strings;           /* what file points into */
	uint32_t slot;           /* its entry in `names` */
};

struct session {
	char *dir;
	char *name;              /* "current", … */
	int fd;                  /* the generation, with a shared lock */
	struct session_info info;
	struct session_entry *entries; /* sorted by path */
	size_t n_entries;
	uint32_t *by_slot;       /* entry of `names` -> index of entries, UINT32_MAX = none */
	uint32_t n_slots;
	struct strbuf error;
};

/* All nodes of `stacks`: parents come before their children. parent and node are indices into `names`-like slots of stacks. */
typedef int session_node_fn(void *arg, uint32_t slot, uint32_t parent, size_t file, uint64_t key, uint64_t count);
int session_nodes_each(struct session *s, session_node_fn *fn, void *arg);
/* The bytes of a file of the generation. */
int session_slurp(struct session *s, const char *location, struct strbuf *ret);
int session_index_of(const struct session *s, const char *path, size_t *ret);

#endif
