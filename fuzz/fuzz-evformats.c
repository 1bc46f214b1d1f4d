/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pages of ftrace in all their layouts, headers of CTF, and a ring's reader over memory that somebody spoilt. */
#include "format/evlog/ctf.h"
#include "format/evlog/ftracepage.h"
#include "format/evlog/ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ring(const uint8_t *data, size_t size)
{
	struct opevlog_ring_opts o = { .size = sizeof(o), .page_size = 4096, .n_pages = 2, .stream = 1, .overwrite = size & 1 };
	size_t bytes = opevlog_ring_bytes(&o);
	void *mem = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
	struct opevlog_ring *r = opevlog_ring_make(mem, bytes, &o);
	struct opevlog_reader rd;
	const void *page;

	/* the control words and the first page are what the input says */
	for (size_t i = 0; i + 2 < size; i += 3)
		((uint8_t *)mem)[8 + (data[i] | (size_t)data[i + 1] << 8) % 8192] = data[i + 2];
	r = opevlog_ring_attach(mem, bytes);
	if (r && !opevlog_reader_init(&rd, r))
		for (int i = 0; i < 10 && opevlog_reader_take(&rd, 1, &page, &size) > 0; i++)
			;
	free(mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ctf_event_head h;
	struct ctf_packet pk;
	struct ftrace_page pg;
	struct ftrace_event e;

	for (int i = 0; i < 8; i++) {
		struct ctf_layout l = { i & 1 ? CTF_LARGE : CTF_COMPACT, i & 2, i & 4 };
		if (ctf_head_parse(data, size, &l, &h) > 0)
			ctf_head_time(&h, size);
		if (!ftrace_page_open(&pg, data, size, i & 1, i & 2 ? 4 : 8, i & 4))
			while (ftrace_page_next(&pg, &e) > 0)
				;
	}
	ctf_packet_parse(data, size, &pk);
	ring(data, size);
	return 0;
}
