/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_SESSION_TAR_H
#define OPJIT_SESSION_TAR_H
/*
 * tar (POSIX pax interchange) as far as an archive of a session needs it: directories, regular files, symbolic links to a
 * name in the same directory. Times, owners and modes are constant, so equal sessions give equal archives.
 */
#include <sys/types.h>

#include "lib/strbuf.h"

#define TAR_MAX_PATH 65536
#define TAR_MAX_ENTRIES 10000000u

/* To the descriptor, in order; any of them may be a pipe. */
int tar_put_file(int fd, const char *path, const void *data, size_t len);
/* As above, len bytes read from `from`. -EIO if it ends before. */
int tar_put_file_from(int fd, const char *path, int from, uint64_t len);
int tar_put_link(int fd, const char *path, const char *target);
int tar_put_end(int fd);

/*
 * Unpacks below the directory dirfd. Refused (-EBADMSG, *why with the offset): absolute paths and "..", links that lead out
 * of their directory, devices, bad checksums, a file cut short. Existing files are never written to.
 */
int tar_unpack(int fd, int dirfd, struct strbuf *why);

#endif
