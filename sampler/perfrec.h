/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_SAMPLER_PERFREC_H
#define OPJIT_SAMPLER_PERFREC_H
/*
 * Records of the perf_event ring (perf_event_open(2), "Ring-buffer layout"), decoded: bytes in, struct ev out. Nothing
 * here opens or maps anything. Every event of the sampler has one and the same sample_type, so there are two layouts:
 *
 *	PERF_RECORD_SAMPLE  header, id, ip, {pid, tid}, time, {cpu, res}, period [, n, n × ip]
 *	all others          header, body, then the trailer {pid, tid}, time, {cpu, res}, id
 *
 * Sizes come from the kernel and are checked all the same.
 */
#include <linux/perf_event.h>

#include "format/evlog/event.h"

#define PERFREC_SAMPLE_TYPE \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)
#define PERFREC_TRAILER 32u
#define PERFREC_SAMPLE_MIN 56u
#define PERFREC_MAX 65536u /* the header's size field has 16 bits */

struct perfrec {
	struct ev ev;
	uint64_t id;          /* which perf event wrote it (PERF_EVENT_IOC_ID) */
	int32_t pid, tid;     /* the task that was running when it was written; -1 unknown */
};

struct perfrec_parser {
	bool callchain;       /* samples carry PERF_SAMPLE_CALLCHAIN */
	uint32_t max_chain;   /* entries kept, 1 … EV_MAX_FRAMES */
	uint64_t chain[EV_MAX_FRAMES + 1]; /* ev.u.sample.chain of the last sample */
};

/* The record at rec (len bytes, exactly its header.size). 1: *ret is filled; its strings point into rec, its chain into
 * the parser. 0: a record of no interest. -EBADMSG: the sizes do not fit. */
int perfrec_parse(struct perfrec_parser *p, const void *rec, size_t len, struct perfrec *ret);
/* Its time stamp alone; 0 if the record is too short to have one. */
uint64_t perfrec_time(const void *rec, size_t len);

/*
 * A ring: data of a power-of-two size, tail and head as free-running byte counts (perf_event_mmap_page). Records are
 * multiples of 8 long and may run over the end; such a one is copied to the bounce buffer.
 */
struct perfrec_ring {
	const uint8_t *data;
	size_t size;
	uint64_t tail, head;
	uint8_t *bounce;      /* PERFREC_MAX bytes */
};

/* Next record: 1 and *rec, *len (tail has moved behind it); 0 at the end; -EBADMSG: what stands there cannot be a
 * record, tail is moved to head, for nothing behind it can be trusted. */
int perfrec_ring_next(struct perfrec_ring *r, const void **rec, size_t *len);

#endif
