/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_SESSION_ARCHIVE_H
#define OPJIT_SESSION_ARCHIVE_H
/*
 * An archive is a session directory that has the images too: binaries and debug files at DIR/<their absolute path>, JIT images
 * in DIR/jit, and the file SESSION_ARCHIVE_INFO by which it is known. Its reader never looks at the machine's own files.
 */
#include "session/session.h"

#define SESSION_ARCHIVE_INFO "archive.info"

/* The text of that file. */
int session_archive_info(struct strbuf *ret, const char *from);
bool session_archive_is(const char *dir);
/*
 * Unpacks a .tar made by oparchive into a new directory below $TMPDIR (/tmp), which the caller removes with
 * session_archive_remove. -EBADMSG and *why (file, offset, what) for anything else.
 */
int session_archive_unpack(const char *tar, char **dir, struct strbuf *why);
void session_archive_remove(const char *dir);

#endif
