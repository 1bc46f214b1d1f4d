/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The writer's side of the ring: doc/format-ring.md. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h> /* renameat */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/util.h"
#include "libopagent/core.h"

#define TMP ".new"

/*
 * The marker: an executable mapping whose name leads a reader here; the kernel reports it to every profiler at once. On a
 * noexec mount a memfd serves, whose name is the path of the instance.
 */
static void *marker_map(struct core *c, int fd)
{
	void *p = mmap(NULL, JIT_RING_HEADER_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	char name[240];
	struct text t = TEXT_IN(name);
	int mem;

	if (p != MAP_FAILED)
		return p;
	text_str(&t, "opjit:");
	text_str(&t, c->dir);
	if (t.cut) {
		t = TEXT_IN(name);
		text_str(&t, "opjit:");
		text_str(&t, c->name);
	}
	mem = sys_memfd(name);
	if (mem >= 0) {
		if (sys_truncate(mem, JIT_RING_HEADER_BYTES) == 0)
			p = mmap(NULL, JIT_RING_HEADER_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, mem, 0);
		close(mem);
	}
	if (p == MAP_FAILED) {
		log_failure(c, LOG_MARKER, "no executable page can be mapped to tell profilers of this process", errno);
		return NULL;
	}
	return p;
}

static int ring_fill(struct core *c, int fd, uint32_t n)
{
	struct jit_ring_header *h;
	int r;

	r = sys_truncate(fd, c->ring_bytes);
	if (!r)
		r = sys_reserve(fd, 0, c->ring_bytes);
	if (r < 0)
		return r;
	h = mmap(NULL, c->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (h == MAP_FAILED)
		return -errno;
	sys_populate(h, c->ring_bytes);
	c->ring = h;
	c->entries = (void *)(h + 1);
	memcpy(h->magic, JIT_RING_MAGIC, sizeof(h->magic));
	h->version = JIT_LAYOUT_VERSION;
	h->header_bytes = sizeof(*h);
	h->entry_bytes = sizeof(struct jit_ring_entry);
	h->n_entries = n;
	h->endian = JIT_ENDIAN_MARK;
	h->who = c->who;
	return 0;
}

int ring_make(struct core *c)
{
	uint32_t n = c->opts.ring_entries ? c->opts.ring_entries : 4096;
	AUTO_CLOSE int fd = openat(c->dirfd, TMP, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd < 0)
		return -errno;
	c->ring_bytes = JIT_RING_HEADER_BYTES + n * sizeof(struct jit_ring_entry);
	r = ring_fill(c, fd, n);
	if (!r && renameat(c->dirfd, TMP, c->dirfd, "ring") < 0)
		r = -errno;
	if (r < 0) {
		unlinkat(c->dirfd, TMP, 0);
		ring_unmap(c);
		return r;
	}
	c->marker = marker_map(c, fd);
	return 0;
}

void ring_unmap(struct core *c)
{
	if (c->ring)
		munmap(c->ring, c->ring_bytes);
	if (c->marker)
		munmap(c->marker, JIT_RING_HEADER_BYTES);
	c->ring = NULL;
	c->entries = NULL;
	c->marker = NULL;
}

void ring_post(struct core *c, const struct jit_record *r, uint64_t journal_next)
{
	struct jit_ring_header *h = c->ring;
	uint32_t n = h->n_entries; /* a reader cannot write here: the mode of the file is 0600 */
	struct jit_ring_entry *e = &c->entries[(r->seq - 1) & (n - 1)];

	/* Seen before anything of the entry is: readers who copied the old one then know. */
	__atomic_store_n(&h->reserved, r->seq, __ATOMIC_RELAXED);
#ifndef __SANITIZE_THREAD__ /* knows no fences; the readers it sees are in other processes' shoes, with pread */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
	*e = (struct jit_ring_entry){
		.seq = r->seq, .time_ns = r->time_ns, .id = r->id, .addr = r->addr, .size = r->size,
		.image_offset = r->image_offset, .journal_next = journal_next, .segment = c->seg.number,
		.region_segment = r->region_segment, .name_off = r->name_off, .name_len = r->name_len, .flags = r->flags,
		.osr_bci = r->osr_bci, .type = r->type, .kind = r->kind, .tier = r->tier,
	};
	if (r->seq > n)
		__atomic_store_n(&h->overwritten, r->seq - n, __ATOMIC_RELAXED);
	__atomic_store_n(&h->committed, r->seq, __ATOMIC_RELEASE);
}
