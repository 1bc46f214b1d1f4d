/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_JITCONV_SAVEIMAGE_H
#define OPJIT_JITCONV_SAVEIMAGE_H
/*
 * Copies the image that fd names to a new file, trimmed to what is used: the same headers, .text at the same offset, the
 * other sections packed behind it. The source may be growing; the copy is one of its moments. Never maps the source.
 * It is written beside path and renamed: what stood there is never seen in part, and stays if this fails. 0 or -errno (-EBADMSG:
 * *why, static, if not NULL).
 */
int jit_image_save(int fd, int dirfd, const char *path, const char **why);

#endif
