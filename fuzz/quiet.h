/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_FUZZ_QUIET_H
#define OPJIT_FUZZ_QUIET_H
/* Commands of a tool with what they say thrown away, on files that lie in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/io.h"

struct quiet {
	FILE *null, *out, *err;
};
static inline void quiet_begin(struct quiet *q)
{
	*q = (struct quiet){ fopen("/dev/null", "we"), stdout, stderr };
	if (!q->null)
		abort();
	stdout = stderr = q->null;
}
static inline void quiet_end(struct quiet *q)
{
	stdout = q->out;
	stderr = q->err;
	fclose(q->null);
}

/* A file by a name that can be opened; fd is the caller's to close. */
struct memfile {
	int fd;
	char name[32];
};
static inline struct memfile memfile_make(const void *data, size_t len)
{
	struct memfile m = { .fd = memfd_create("fuzz", MFD_CLOEXEC) };

	if (m.fd < 0 || io_write_full(m.fd, data, len) < 0)
		abort();
	snprintf(m.name, sizeof(m.name), "/proc/self/fd/%d", m.fd);
	return m;
}

#endif
