/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_LIB_IO_H
#define OPJIT_LIB_IO_H
/* Whole reads and writes (EINTR and short ones are carried on), small files, and directories. 0 or -errno. */
#include <sys/types.h>

#include "lib/strbuf.h"

int io_write_full(int fd, const void *data, size_t len);
int io_pwrite_full(int fd, const void *data, size_t len, off_t at);
/* Up to len bytes; the number read (less only at end of file) or -errno. */
ssize_t io_read_full(int fd, void *data, size_t len);
/* The rest of fd is appended to sb, at most its cap: -E2BIG beyond. Works on /proc files. */
int io_read_all(int fd, struct strbuf *sb);
/* As above, of a path below dirfd (AT_FDCWD for the current one). */
int io_slurp(int dirfd, const char *path, struct strbuf *sb);
/* Writes path.tmp-PID, fsyncs and renames it over path: readers see the old or the new file, whole. -EEXIST: a device, pipe or
 * the like is there, -EISDIR: a directory. */
int io_replace(const char *path, const void *data, size_t len, mode_t mode);
/*
 * The same in two steps, for who writes into a descriptor, below dirfd and without fsync. open makes path.tmp-PID, new and empty, puts its
 * name into tmp and gives the descriptor; -EEXIST and -EISDIR as above. commit renames it over path, unless what the writing gave (r) is
 * negative: then path stays as it was. 0 or -errno.
 */
int io_beside_open(int dirfd, const char *path, mode_t mode, struct strbuf *tmp);
int io_beside_commit(int dirfd, const char *path, const struct strbuf *tmp, int r);
/* As io_replace, for a path that a user gave: into a device or pipe it writes. */
int io_write_file(const char *path, const void *data, size_t len, mode_t mode);
/* mkdir -p. An existing directory is no error. */
int io_mkdirs(const char *path, mode_t mode);
/* rm -r below dirfd without following links; adds the bytes and files freed to *bytes and *files if not NULL. */
int io_remove_tree(int dirfd, const char *path, uint64_t *bytes, uint64_t *files);
/* Opens a regular file that somebody else may have put there: O_NOFOLLOW|O_NONBLOCK; -ENXIO if it is not regular. */
int io_open_regular(int dirfd, const char *path, int flags);
/* All of such a file, as io_slurp. */
int io_slurp_regular(int dirfd, const char *path, struct strbuf *sb);
/*
 * As io_open_regular, with rootfd as the root directory: no link, absolute or not, leads out of it. For files of a process
 * in a container: rootfd is /proc/PID/root, opened with O_PATH while the process lived.
 */
int io_open_regular_in_root(int rootfd, const char *path, int flags);
/* Is the kernel's own clock source the CPU's counter (TSC), so that stamps by it are comparable between CPUs? */
bool io_clock_is_tsc(void);

#endif
