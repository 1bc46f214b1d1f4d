/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_REPORT_ELFDEBUG_H
#define OPJIT_REPORT_ELFDEBUG_H
#include "lib/strbuf.h"

/*
 * The debug files that go with an ELF file: by build-id, by .gnu_debuglink, and what those share (.gnu_debugaltlink). fn
 * gets where each is now and where a reader of an archive will look for it (absolute paths). No debug file is no error.
 */
typedef int elfdebug_fn(void *arg, const char *path, const char *archived);
int elfdebug_each(const char *path, const char *image, elfdebug_fn *fn, void *arg);

#endif
