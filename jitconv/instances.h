/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_JITCONV_INSTANCES_H
#define OPJIT_JITCONV_INSTANCES_H
/*
 * The instance directories of libopagent on this machine: which there are, whose process lives, removal of the others.
 * An instance is live if this is the boot it was made in and a process with its pid (in some pid namespace) and its start
 * time is there that still maps its ring and did not close it; another process that got the same pid does not count.
 */
#include <sys/stat.h>

#include "format/jit/layout.h"
#include "lib/strbuf.h"
#include "lib/util.h"

/* "<digits>-<16 hex digits>" */
bool jit_instance_is_name(const char *name, size_t len);
/* Whether who can be process pid (as seen here) of this boot. A process that is gone counts as yes: nothing speaks against it. */
bool jit_instance_of_process(const struct jit_identity *who, int32_t pid);
/* Looks for an instance by name in the known roots as pid sees them (0 = we). 0 or -ENOENT. */
int jit_instance_find(const char *name, int32_t pid, struct stat *st, int *dirfd, int *ringfd, uint64_t *ring_bytes);

struct jit_instance {
	char root[4096], name[64];
	struct jit_identity who;
	int32_t pid;         /* in our namespace; 0 = dead */
	bool live, closed, bad; /* bad: no readable ring (yet) */
	uint64_t bytes;      /* on disk */
	uint64_t mtime_ns;   /* CLOCK_REALTIME of the last change seen (ring or newest image) */
};
typedef int jit_instance_fn(void *arg, const struct jit_instance *i);
/* Each instance below root, in no order. A missing root has none: 0. Negative from fn stops and is returned. */
int jit_instances_each(const char *root, jit_instance_fn *fn, void *arg);
/* The roots that may exist here: $OPJIT_DIR, /var/lib/oprofile/jit, /run/user/UID/opjit, /tmp/opjit-UID. NULL-terminated. */
int jit_instances_roots(char ***ret);
void jit_instances_roots_free(char **roots);

struct jit_removal {
	uint64_t instances, files, bytes; /* removed */
	uint64_t kept;                    /* live ones */
	uint64_t failed;
};
/*
 * Removes the instances below root whose process is gone; those that were changed less than min_age_s ago are kept. keep (may be
 * NULL) is asked for each: true keeps it. Adds to *sum.
 */
int jit_instances_remove_dead(const char *root, uint64_t min_age_s, bool (*keep)(void *arg, const struct jit_instance *i),
			      void *arg, struct jit_removal *sum);

#endif
