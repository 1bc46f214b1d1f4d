/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any log through the record-wise reader: options from the first byte, fed whole and in steps; both must agree. */
#include <errno.h>

#include "format/evlog/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t run(const uint8_t *data, size_t size, size_t step, const struct pmclog_options *o, struct strbuf *sb, struct pmclog_ev *ev)
{
	void *p = pmclog_open_opts(PMCLOG_FD_NONE, o);
	size_t pos = 0, n = 0;

	if (!p)
		return 0;
	do {
		size_t len = MIN(step, size - pos);
		if (pmclog_feed(p, (const char *)data + pos, (int)len))
			break;
		pos += len;
		while (!pmclog_read(p, ev)) {
			n++;
			strbuf_reset(sb);
			pmclog_text(sb, ev);
			pmclog_json(sb, ev);
		}
	} while (ev->pl_state != PMCLOG_ERROR && pos < size);
	pmclog_close(p);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pmclog_ev ev;
	struct pmclog_options o = { .size = sizeof(o) };
	AUTO_STRBUF sb = STRBUF_INIT;
	size_t whole;

	if (size < 1)
		return 0;
	o.lenient = data[0] & 1;
	o.byte_order = (data[0] >> 1 & 3) % 3;
	o.pointer_bytes = (data[0] >> 3 & 3) % 3 * 4;
	o.abi = (data[0] >> 5 & 3) % 3;
	whole = run(data + 1, size - 1, size, &o, &sb, &ev);
	if (run(data + 1, size - 1, 1 + data[0] % 29, &o, &sb, &ev) != whole)
		abort();
	return 0;
}
