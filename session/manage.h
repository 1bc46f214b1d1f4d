/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_SESSION_MANAGE_H
#define OPJIT_SESSION_MANAGE_H
#include "lib/map.h"

/* The JIT instances that a session names. */
int images_of(const char *dir, const char *name, struct strpool *ret);
/* Removes the images of those instances in `only` that no session names any more. */
int images_drop(const char *dir, int samples, const struct strpool *only);

#endif
