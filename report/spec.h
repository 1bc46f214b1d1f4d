/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_REPORT_SPEC_H
#define OPJIT_REPORT_SPEC_H
/*
 * Profile specifications: which samples a tool looks at.
 *
 *	archive:DIR session:LIST session-exclude:LIST image:LIST image-exclude:LIST lib-image:LIST event:LIST
 *	count:LIST unit-mask:LIST cpu:LIST tgid:LIST tid:LIST NAME
 *
 * LIST is separated by commas; a backslash takes the next character as it is. Names may hold shell wildcards and
 * match the whole path, its last component or the application's name. A bare NAME is as image:NAME.
 */
#include "session/session.h"

enum spec_tag {
	SPEC_ARCHIVE, SPEC_SESSION, SPEC_SESSION_EXCLUDE, SPEC_IMAGE, SPEC_IMAGE_EXCLUDE, SPEC_LIB_IMAGE, SPEC_EVENT,
	SPEC_COUNT, SPEC_UNIT_MASK, SPEC_CPU, SPEC_TGID, SPEC_TID,
	SPEC_N
};

struct spec_list {
	char **v;
	size_t n;
};
struct spec {
	struct spec_list of[SPEC_N];
};

/* -EINVAL with a text in why for a word that is no specification. */
int spec_parse(struct spec *ret, const char *const *words, size_t n, struct strbuf *why);
void spec_done(struct spec *s);
/* Whether samples of this file are meant. */
bool spec_match(const struct spec *s, const struct session_event *e, const struct session_file *f);
/* The process a file belongs to, also where samples are not separated by process: JIT and anonymous images. -1. */
int32_t spec_file_tgid(const struct session_file *f);

#endif
