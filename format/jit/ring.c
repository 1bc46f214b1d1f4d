/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/jit/ring.h"

#include <errno.h>
#include <string.h>

static int fault(struct jit_fault *f, uint64_t at, const char *what)
{
	*f = (struct jit_fault){ .what = what, .at = at };
	return -EBADMSG;
}

int jit_ring_parse(struct jit_ring_header *ret, const void *data, size_t len, uint64_t file_size, struct jit_fault *f)
{
	struct jit_ring_header h;

	if (len < sizeof(h))
		return fault(f, len, "shorter than a ring header");
	memcpy(&h, data, sizeof(h));
	if (memcmp(h.magic, JIT_RING_MAGIC, sizeof(h.magic)))
		return fault(f, 0, "not a ring file");
	if (h.endian != JIT_ENDIAN_MARK)
		return fault(f, 24, "of the other byte order");
	if (h.version != JIT_LAYOUT_VERSION || h.header_bytes != sizeof(h) || h.entry_bytes != sizeof(struct jit_ring_entry)) {
		fault(f, 8, "unknown layout version");
		return -EPROTONOSUPPORT;
	}
	if (!h.n_entries || h.n_entries > JIT_RING_MAX_ENTRIES || h.n_entries & (h.n_entries - 1))
		return fault(f, 20, "implausible number of entries");
	if (file_size < h.header_bytes + (uint64_t)h.n_entries * sizeof(struct jit_ring_entry))
		return fault(f, file_size, "shorter than its entries");
	if (h.reserved < h.committed) /* copied in this order: reserved is the newer */
		return fault(f, 520, "sequence numbers contradict each other");
	if (h.n_segments > JIT_MAX_SEGMENTS)
		return fault(f, 544, "implausible number of segments");
	jit_identity_copy(&h.who, &h.who, false);
	*ret = h;
	return 0;
}

int jit_ring_entry_check(const struct jit_ring_entry *e, uint64_t seq, uint32_t n_segments, struct jit_fault *f)
{
	if (e->seq != seq)
		return fault(f, 0, "entry out of sequence");
	if (e->type < JIT_EVENT_LOAD || e->type > JIT_EVENT_CLOSE)
		return fault(f, 80, "unknown entry type");
	if (e->kind > JIT_TRAMPOLINE || e->name_len > JIT_NAME_MAX || e->segment >= n_segments ||
	    e->region_segment >= n_segments)
		return fault(f, 56, "entry field out of range");
	if (e->addr + e->size < e->addr)
		return fault(f, 24, "region goes round the address space");
	return 0;
}

void jit_ring_entry_event(struct jit_event *e, const struct jit_ring_entry *r, const struct jit_identity *who)
{
	*e = (struct jit_event){
		.type = r->type, .kind = r->kind, .tier = r->tier, .flags = r->flags, .osr_bci = r->osr_bci,
		.time_ns = jit_identity_time(who, r->time_ns), .addr = r->addr, .size = r->size, .id = r->id,
		.segment = r->region_segment,
	};
	if (r->type == JIT_EVENT_MOVE)
		e->old_addr = r->image_offset;
	else
		e->image_offset = r->image_offset;
}
