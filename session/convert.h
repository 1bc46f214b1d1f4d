/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_SESSION_CONVERT_H
#define OPJIT_SESSION_CONVERT_H
#include "format/abi/abi.h"
#include "lib/strbuf.h"

/*
 * Copies the session at `from` to the new directory `to`, its sample, name and stack files in the width and order of fmt;
 * everything else byte for byte. On an error *why names the file, the offset and the rule, for -ERANGE the word too.
 */
int session_convert(const char *from, const char *to, const struct abi_format *fmt, struct strbuf *why);

#endif
