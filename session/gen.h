/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_SESSION_GEN_H
#define OPJIT_SESSION_GEN_H
/*
 * Generations: directories samples/gen-N. `current` and `previous` are symbolic links to two of them; whatever else is
 * called gen-* is garbage that the next flush removes, unless a reader holds a shared lock on it.
 */
#include "lib/strbuf.h"
#include "lib/util.h"

#define GEN_NAME_MAX 32

void gen_name(char name[GEN_NAME_MAX], uint64_t n);
/* The number that link points to. 0 if there is no such link. -EBADMSG if it is something else. */
int gen_of_link(int samples_fd, const char *link, uint64_t *n);
/* The greatest number in use. */
int gen_last(int samples_fd, uint64_t *n);
/* Points link at gen-n, in one step. */
int gen_point(int samples_fd, const char *link, uint64_t n);
/* A reader's hold on what link (or a saved name) points to now: a directory with a shared lock. */
int gen_open(int samples_fd, const char *link);
/* Removes a generation unless a reader holds it (-EBUSY). */
int gen_remove(int samples_fd, const char *name, uint64_t *bytes, uint64_t *files);
/* Removes all generations that neither link names. */
int gen_sweep(int samples_fd, uint64_t *bytes, uint64_t *files);
/* `current` as a directory (an unpacked archive) becomes a generation and a link. */
int gen_adopt(int samples_fd);

/* Files of a generation that is being written, and what of them has to reach the disk. */
struct gen_writer {
	int fd;              /* the generation */
	bool no_sync;
	unsigned int written; /* files and directories made */
	int *fds;            /* kept open until gen_sync, GEN_SYNC_EACH at most */
};
#define GEN_SYNC_EACH 48
int gen_writer_init(struct gen_writer *w, int samples_fd, uint64_t n, bool no_sync);
void gen_writer_done(struct gen_writer *w);
int gen_write(struct gen_writer *w, const char *path, const void *data, size_t len);
/* The same bytes as a file of another generation: linked, or copied where that is refused. */
int gen_link(struct gen_writer *w, const char *path, int from_fd, const char *from);
int gen_sync(struct gen_writer *w);

#endif
