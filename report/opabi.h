/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_REPORT_OPABI_H
#define OPJIT_REPORT_OPABI_H
#include "format/abi/file.h"

/* Prints a file to stdout, for people or as JSON. Says what is wrong and returns -errno; what was whole is printed. */
int opabi_dump(const char *path, const void *data, size_t len, bool json, bool pages);
void opabi_print_order(const struct abi_format *f);
int opabi_fault(const char *path, int r, const struct abi_fault *f);

#endif
