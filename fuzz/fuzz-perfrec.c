/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sampler's ring parser. Input: u8 log2 of the ring's size (9 … 16), u8 flags (1: call chains), u16 tail, u16
 * bytes from tail to head, then the ring's bytes, repeated until it is full.
 */
#include <string.h>

#include "sampler/perfrec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t bounce[PERFREC_MAX];
	static struct perfrec_parser p;
	struct perfrec_ring ring = { .bounce = bounce };
	AUTO_FREE uint8_t *bytes = NULL;
	volatile uint64_t sum = 0;
	uint16_t tail, used;
	const void *rec;
	size_t n;
	int r;

	if (len < 7)
		return 0;
	p.callchain = data[1] & 1;
	p.max_chain = data[1] & 2 ? 3 : EV_MAX_FRAMES;
	memcpy(&tail, data + 2, 2);
	memcpy(&used, data + 4, 2);
	ring.size = (size_t)512 << (data[0] & 7);
	bytes = malloc(ring.size);
	if (!bytes)
		return 0;
	for (size_t i = 0; i < ring.size; i++)
		bytes[i] = data[6 + i % (len - 6)];
	ring.data = bytes;
	ring.tail = tail;
	ring.head = ring.tail + used;
	while ((r = perfrec_ring_next(&ring, &rec, &n)) != 0) {
		struct perfrec out;
		if (r < 0)
			continue;
		sum += perfrec_time(rec, n);
		if (perfrec_parse(&p, rec, n, &out) != 1)
			continue;
		if (out.ev.type == EV_MMAP)
			sum += strlen(out.ev.u.mmap.path);
		for (uint32_t i = 0; out.ev.type == EV_SAMPLE && i < out.ev.u.sample.n_chain; i++)
			sum += out.ev.u.sample.chain[i];
	}
	(void)sum;
	return 0;
}
