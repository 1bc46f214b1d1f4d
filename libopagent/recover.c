/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread vanished while it held the semaphore. What readers can see is whole at every instant; here our own tables are
 * made from it again: section sizes from the image, live regions from the journals of all segments.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/jit/image.h"
#include "libopagent/core.h"

/* One record of a journal, for the table of live regions. */
static void recover_record(struct core *c, const struct jit_record *r)
{
	struct region *region = regions_find(c, r->type == JIT_EVENT_MOVE ? r->image_offset : r->addr);

	if (r->seq > c->seq)
		c->seq = r->seq;
	if (r->id >= c->next_id)
		c->next_id = r->id + 1;
	if (r->type == JIT_EVENT_LOAD)
		regions_add(c, &(struct region){ .id = r->id, .addr = r->addr, .size = r->size,
						 .image_offset = r->image_offset, .segment = r->region_segment });
	else if (r->type == JIT_EVENT_UNLOAD && region)
		regions_del(c, region);
	else if (r->type == JIT_EVENT_MOVE && region)
		regions_move(c, region, r->addr);
}

static void image_records(struct core *c, const uint8_t *data, uint64_t len)
{
	struct jit_image image;
	struct jit_fault fault;
	struct jit_record r;

	if (jit_image_parse(&image, data, JIT_IMAGE_HEAD, len, &fault) < 0)
		return;
	for (uint64_t at = 0; at < image.journal.size; at += r.bytes) {
		if (jit_record_parse(&r, data + image.journal.offset + at, image.journal.size - at, false, &fault) < 0)
			return;
		recover_record(c, &r);
	}
}

/* A segment that is no longer mapped; its file only ever grew by us. */
static void old_segment_records(struct core *c, uint32_t number)
{
	char name[32];
	struct text t = TEXT_IN(name);
	off_t len;
	void *p;
	int fd;

	text_u64(&t, number);
	text_str(&t, ".jo");
	fd = openat(c->dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	len = lseek(fd, 0, SEEK_END);
	p = len > 0 ? mmap(NULL, (size_t)len, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
	close(fd);
	if (p == MAP_FAILED)
		return;
	image_records(c, p, (uint64_t)len);
	munmap(p, (size_t)len);
}

void core_recover(struct core *c)
{
	uint64_t seq = c->ring->committed;

	segment_recover(c);
	regions_forget(c);
	c->seq = 0;
	for (uint32_t i = 0; i < c->seg.number; i++)
		old_segment_records(c, i);
	image_records(c, c->seg.map, c->seg.bytes);
	if (c->seq < seq)
		c->seq = seq;
	/* A record whose entry was not finished stays without one; readers see the gap and take it from the journal. */
	__atomic_store_n(&c->ring->reserved, seq, __ATOMIC_RELAXED);
}
