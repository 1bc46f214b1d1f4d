/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sampler/perfrec.h"

#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "lib/reader.h"

static uint64_t u64_at(const void *p, size_t off)
{
	uint64_t v;
	memcpy(&v, (const uint8_t *)p + off, sizeof(v));
	return v;
}

static int32_t s32_at(const void *p, size_t off)
{
	int32_t v;
	memcpy(&v, (const uint8_t *)p + off, sizeof(v));
	return v;
}

static enum ev_cpumode mode_of(uint16_t misc)
{
	switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case PERF_RECORD_MISC_KERNEL:
	case PERF_RECORD_MISC_GUEST_KERNEL:
		return EV_KERNEL;
	case PERF_RECORD_MISC_USER:
	case PERF_RECORD_MISC_GUEST_USER:
		return EV_USER;
	case PERF_RECORD_MISC_HYPERVISOR:
		return EV_HYPERVISOR;
	}
	return EV_UNKNOWN_MODE;
}

/*
 * The kernel's chain has markers (PERF_CONTEXT_*, the last page of numbers) where the mode changes. They are taken out;
 * the leaf is put in front if the unwinder left it out.
 */
static void chain_take(struct perfrec_parser *p, const uint8_t *from, uint64_t n, struct ev *e)
{
	bool kernel = e->u.sample.mode == EV_KERNEL;
	uint32_t max = p->max_chain, out = 0, n_kernel = 0;
	uint64_t i;

	for (i = 0; i < n; i++) {
		uint64_t ip = u64_at(from, i * 8);
		if (ip >= (uint64_t)PERF_CONTEXT_MAX) {
			kernel = ip == (uint64_t)PERF_CONTEXT_KERNEL || ip == (uint64_t)PERF_CONTEXT_GUEST_KERNEL;
			continue;
		}
		if (!out && ip != e->u.sample.ip) {
			p->chain[out++] = e->u.sample.ip;
			n_kernel += e->u.sample.mode == EV_KERNEL;
		}
		if (out >= max) {
			e->u.sample.truncated = 1;
			break;
		}
		p->chain[out++] = ip;
		n_kernel += kernel;
	}
	if (!out) {
		p->chain[out++] = e->u.sample.ip;
		n_kernel = e->u.sample.mode == EV_KERNEL;
	}
	e->u.sample.n_chain = out;
	e->u.sample.n_kernel = n_kernel;
	e->u.sample.chain = p->chain;
}

static int parse_sample(struct perfrec_parser *p, const uint8_t *rec, size_t len, uint16_t misc, struct perfrec *ret)
{
	struct ev *e = &ret->ev;
	uint64_t n;

	if (len < PERFREC_SAMPLE_MIN)
		return -EBADMSG;
	e->type = EV_SAMPLE;
	ret->id = u64_at(rec, 8);
	e->u.sample.ip = u64_at(rec, 16);
	e->pid = ret->pid = s32_at(rec, 24);
	e->tid = ret->tid = s32_at(rec, 28);
	e->time_ns = u64_at(rec, 32);
	e->cpu = (uint32_t)s32_at(rec, 40);
	e->u.sample.period = u64_at(rec, 48);
	e->u.sample.mode = (uint8_t)mode_of(misc);
	if (!p->callchain)
		return 1;
	if (len < PERFREC_SAMPLE_MIN + 8)
		return -EBADMSG;
	n = u64_at(rec, 56);
	if (n > (len - PERFREC_SAMPLE_MIN - 8) / 8)
		return -EBADMSG;
	chain_take(p, rec + 64, n, e);
	return 1;
}

static int parse_mmap(struct reader *r, uint32_t type, uint16_t misc, struct ev *e)
{
	uint32_t major, minor;

	e->type = EV_MMAP;
	e->pid = (int32_t)reader_u32(r);
	e->tid = (int32_t)reader_u32(r);
	e->u.mmap.addr = reader_u64(r);
	e->u.mmap.len = reader_u64(r);
	e->u.mmap.pgoff = reader_u64(r);
	if (type == PERF_RECORD_MMAP2 && (misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
		reader_take(r, 24);
	} else if (type == PERF_RECORD_MMAP2) {
		major = reader_u32(r);
		minor = reader_u32(r);
		e->u.mmap.dev = makedev(major, minor);
		e->u.mmap.ino = reader_u64(r);
		e->u.mmap.ino_gen = reader_u64(r);
	}
	if (type == PERF_RECORD_MMAP2) {
		e->u.mmap.prot = reader_u32(r);
		e->u.mmap.flags = reader_u32(r);
	}
	e->u.mmap.path = reader_str(r);
	/* A length that runs over the end of the address space would upset every reader behind us. */
	if (!r->bad && e->u.mmap.len > UINT64_MAX - e->u.mmap.addr)
		return -EBADMSG;
	return 1;
}

static int parse_task(struct reader *r, uint32_t type, struct ev *e)
{
	int32_t pid = (int32_t)reader_u32(r);
	int32_t ppid = (int32_t)reader_u32(r);
	int32_t tid = (int32_t)reader_u32(r);
	int32_t ptid = (int32_t)reader_u32(r);

	reader_take(r, 8);
	e->type = type == PERF_RECORD_FORK ? EV_FORK : EV_EXIT;
	e->pid = pid;
	e->tid = tid;
	e->u.fork.ppid = ppid;
	e->u.fork.ptid = ptid;
	return 1;
}

static int parse_body(struct reader *r, uint32_t type, uint16_t misc, struct ev *e)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return parse_mmap(r, type, misc, e);
	case PERF_RECORD_COMM:
		e->type = EV_COMM;
		e->pid = (int32_t)reader_u32(r);
		e->tid = (int32_t)reader_u32(r);
		e->u.comm.comm = reader_str(r);
		e->u.comm.flags = misc & PERF_RECORD_MISC_COMM_EXEC ? EV_COMM_EXEC : 0;
		return 1;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return parse_task(r, type, e);
	case PERF_RECORD_LOST:
		reader_take(r, 8);
		/* fall through */
	case PERF_RECORD_LOST_SAMPLES:
		e->type = EV_LOST;
		e->u.lost.count = reader_u64(r);
		return 1;
	case PERF_RECORD_THROTTLE:
		reader_take(r, 24);
		e->type = EV_THROTTLE;
		return 1;
	case PERF_RECORD_KSYMBOL:
		e->type = EV_KSYMBOL;
		e->u.ksymbol.addr = reader_u64(r);
		e->u.ksymbol.len = reader_u32(r);
		reader_take(r, 2);
		e->u.ksymbol.unregister = reader_u16(r) & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
		e->u.ksymbol.name = reader_str(r);
		return 1;
	}
	return 0;
}

int perfrec_parse(struct perfrec_parser *p, const void *rec, size_t len, struct perfrec *ret)
{
	struct perf_event_header h;
	struct reader r;
	const uint8_t *trailer;
	int got;

	if (len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, rec, sizeof(h));
	if (h.size != len || len % 8)
		return -EBADMSG;
	memset(&ret->ev, 0, sizeof(ret->ev));
	if (h.type == PERF_RECORD_SAMPLE)
		return parse_sample(p, rec, len, h.misc, ret);
	if (len < sizeof(h) + PERFREC_TRAILER)
		return -EBADMSG;
	trailer = (const uint8_t *)rec + len - PERFREC_TRAILER;
	ret->pid = ret->ev.pid = s32_at(trailer, 0);
	ret->tid = ret->ev.tid = s32_at(trailer, 4);
	ret->ev.time_ns = u64_at(trailer, 8);
	ret->ev.cpu = (uint32_t)s32_at(trailer, 16);
	ret->id = u64_at(trailer, 24);
	r = reader_of((const uint8_t *)rec + sizeof(h), len - sizeof(h) - PERFREC_TRAILER);
	got = parse_body(&r, h.type, h.misc, &ret->ev);
	return r.bad ? -EBADMSG : got;
}

uint64_t perfrec_time(const void *rec, size_t len)
{
	struct perf_event_header h;

	memcpy(&h, rec, sizeof(h));
	if (h.type == PERF_RECORD_SAMPLE)
		return len < PERFREC_SAMPLE_MIN ? 0 : u64_at(rec, 32);
	return len < sizeof(h) + PERFREC_TRAILER ? 0 : u64_at(rec, len - PERFREC_TRAILER + 8);
}

int perfrec_ring_next(struct perfrec_ring *r, const void **rec, size_t *len)
{
	uint64_t left = r->head - r->tail;
	size_t at = (size_t)(r->tail & (r->size - 1)), first;
	struct perf_event_header h;

	if (!left)
		return 0;
	/* 8-byte alignment keeps a header in one piece. */
	if (left > r->size || left < sizeof(h) || r->tail % 8)
		goto bad;
	memcpy(&h, r->data + at, sizeof(h));
	if (h.size < sizeof(h) || h.size % 8 || h.size > left)
		goto bad;
	first = r->size - at;
	if (h.size <= first) {
		*rec = r->data + at;
	} else {
		memcpy(r->bounce, r->data + at, first);
		memcpy(r->bounce + first, r->data, h.size - first);
		*rec = r->bounce;
	}
	*len = h.size;
	r->tail += h.size;
	return 1;
bad:
	r->tail = r->head;
	return -EBADMSG;
}
