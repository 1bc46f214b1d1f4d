/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_JIT_RING_H
#define OPJIT_FORMAT_JIT_RING_H
/*
 * Checked reading of a ring file's bytes (layout.h). The reader keeps a cursor of its own (the number of the newest
 * entry it has) and never writes. To take entries:
 *
 *	copy the header → jit_ring_parse; copy entries cursor + 1 … committed; copy the header again;
 *	an entry is good if jit_ring_whole(second header, its number) and jit_ring_entry_check() say so.
 *
 * Where not, the writer has gone round: go on from the journal.
 */
#include "format/jit/event.h"
#include "format/jit/image.h"
#include "format/jit/layout.h"

/* 0, -EBADMSG or -EPROTONOSUPPORT; strings in *ret are NUL-terminated. file_size: of the whole file. */
int jit_ring_parse(struct jit_ring_header *ret, const void *data, size_t len, uint64_t file_size, struct jit_fault *f);

/* Whether entry `seq`, copied before h was, cannot have been overwritten while it was copied. */
static inline bool jit_ring_whole(const struct jit_ring_header *h, uint64_t seq)
{
	return h->reserved - seq < h->n_entries;
}
static inline uint64_t jit_ring_offset(const struct jit_ring_header *h, uint64_t seq)
{
	return h->header_bytes + ((seq - 1) & (h->n_entries - 1)) * (uint64_t)sizeof(struct jit_ring_entry);
}
/* Entry number seq as it should be. 0 or -EBADMSG (f->at counts from the entry). */
int jit_ring_entry_check(const struct jit_ring_entry *e, uint64_t seq, uint32_t n_segments, struct jit_fault *f);
/* All but the name. */
void jit_ring_entry_event(struct jit_event *e, const struct jit_ring_entry *r, const struct jit_identity *who);

#endif
