/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In place of the JIT sources until they are part of the tree. */
#include "jitconv/source.h"
#include <errno.h>
#include <string.h>
int jit_source_open(struct jit_source **ret, int32_t pid, uint32_t uid, const char *path, uint64_t dev, uint64_t ino, const char **why){return -ENOSYS;}
void jit_source_free(struct jit_source *s){}
bool jit_source_pending(const struct jit_source *s){return 0;}
int jit_source_poll(struct jit_source *s, jit_event_fn *fn, void *arg){return 0;}
void jit_source_info(const struct jit_source *s, struct jit_source_info *ret){memset(ret,0,sizeof *ret);}
bool jit_source_is_marker(const char *path){return 0;}
int jit_source_save_image(struct jit_source *s, uint32_t segment, int dirfd, const char *path){return -ENOENT;}
uint32_t jit_source_n_segments(const struct jit_source *s){return 0;}
