/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/evlog/wire.h"

#include <errno.h>

const uint8_t evlog_id_words[32] = {
	[ID_CTX] = 7, [ID_SAMPLE] = 2, [ID_SAMPLE_PERIOD] = 3, [ID_SAMPLE_CHAIN] = EVLOG_VARIABLE,
	[ID_MMAP] = EVLOG_VARIABLE, [ID_COMM] = EVLOG_VARIABLE, [ID_FORK] = 5, [ID_EXIT] = 3, [ID_LOST] = 5,
	[ID_KSYMBOL] = EVLOG_VARIABLE, [ID_JIT] = EVLOG_VARIABLE, [ID_JITSRC] = EVLOG_VARIABLE,
	[ID_PROC] = EVLOG_VARIABLE, [ID_SYNC] = 3, [ID_MUNMAP] = 7, [ID_EVENTDESC] = EVLOG_VARIABLE,
	[ID_THROTTLE] = 3, [ID_SAMPLE_WIDE] = 5,
	[18] = EVLOG_VARIABLE, [19] = EVLOG_VARIABLE, [20] = EVLOG_VARIABLE, [21] = EVLOG_VARIABLE,
	[22] = EVLOG_VARIABLE, [23] = EVLOG_VARIABLE, [24] = EVLOG_VARIABLE, [25] = EVLOG_VARIABLE,
	[26] = EVLOG_VARIABLE, [27] = EVLOG_VARIABLE,
};

int evlog_prefix_parse(const void *data, size_t len, size_t *prefix_len, bool *swap)
{
	const uint8_t *p = data;
	bool little = true, big = true;
	uint8_t seen[256] = { 0 };
	unsigned int wb, i;

	if (memcmp(p, "opel", MIN(len, 4)))
		return -EBADMSG;
	if (len < 8)
		return -EAGAIN;
	if (p[4] != 1)
		return -EPROTONOSUPPORT;
	wb = p[6];
	if (!wb)
		return -EBADMSG;
	if (len < 8 + (size_t)wb)
		return -EAGAIN;
	for (i = 0; i < wb; i++) {
		uint8_t eb = p[8 + i];
		if (eb >= wb || seen[eb]++)
			return -EBADMSG;
		little &= eb == i;
		big &= eb == wb - 1 - i;
	}
	/* A word of one byte has no order; nobody writes such a log. */
	if ((wb != 4 && wb != 8) || (!little && !big))
		return -ENOTSUP;
	*prefix_len = 8 + wb;
	*swap = little != (__BYTE_ORDER == __LITTLE_ENDIAN);
	return 0;
}

void evlog_prefix_make(uint8_t prefix[EVLOG_PREFIX_LEN], bool big)
{
	memcpy(prefix, "opel\1\0\10\0", 8);
	for (unsigned int i = 0; i < 8; i++)
		prefix[8 + i] = (uint8_t)(big ? 7 - i : i);
}

uint16_t evlog_page_check(const void *header)
{
	const uint8_t *p = header;
	uint32_t a = 1, b = 0;

	/* Fletcher over the header's bytes without the check itself, so it does not depend on the byte order. */
	for (unsigned int i = 0; i < EVLOG_PAGE_HEADER; i++) {
		if (i == PG_CHECK || i == PG_CHECK + 1)
			continue;
		a += p[i];
		b += a;
	}
	return (uint16_t)((a % 251) << 8 | b % 251);
}

int evlog_page_parse(const void *data, bool swap, struct evlog_page *ret)
{
	const uint8_t *p = data;

	if (wire_ld32(p + PG_MAGIC, swap) != EVLOG_PAGE_MAGIC ||
	    wire_ld16(p + PG_CHECK, swap) != evlog_page_check(p))
		return -EBADMSG;
	ret->stream = wire_ld32(p + PG_STREAM, swap);
	ret->seq = wire_ld64(p + PG_SEQ, swap);
	ret->base = wire_ld64(p + PG_BASE, swap);
	ret->end = wire_ld64(p + PG_END, swap);
	ret->used = wire_ld32(p + PG_USED, swap);
	ret->flags = wire_ld16(p + PG_FLAGS, swap);
	ret->lost = wire_ld64(p + PG_LOST, swap);
	if (ret->used > EVLOG_PAGE_MAX - EVLOG_PAGE_HEADER || ret->used % 4 || ret->stream > EVLOG_MAX_STREAMS ||
	    ret->end < ret->base || !ret->stream != !!(ret->flags & PGF_META))
		return -EBADMSG;
	ret->block_len = ALIGN_UP(EVLOG_PAGE_HEADER + ret->used, 8u);
	return 0;
}

void evlog_page_make(void *data, bool swap, const struct evlog_page *pg)
{
	uint8_t *p = data;

	wire_st32(p + PG_MAGIC, EVLOG_PAGE_MAGIC, swap);
	wire_st32(p + PG_STREAM, pg->stream, swap);
	wire_st64(p + PG_SEQ, pg->seq, swap);
	wire_st64(p + PG_BASE, pg->base, swap);
	wire_st64(p + PG_END, pg->end, swap);
	wire_st32(p + PG_USED, pg->used, swap);
	wire_st16(p + PG_FLAGS, pg->flags, swap);
	wire_st64(p + PG_LOST, pg->lost, swap);
	wire_st16(p + PG_CHECK, evlog_page_check(p), swap);
}
