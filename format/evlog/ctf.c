/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/evlog/ctf.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

/* A cursor that puts or gets numbers of a given byte order and alignment. */
struct cur {
	uint8_t *p;
	size_t pos, len;
	bool big, packed, bad;
};

static bool take(struct cur *c, size_t n, size_t *at)
{
	size_t pos = c->packed ? c->pos : ALIGN_UP(c->pos, n);

	if (n > c->len || pos > c->len - n) {
		c->bad = true;
		return false;
	}
	*at = pos;
	c->pos = pos + n;
	return true;
}
static void put(struct cur *c, uint64_t v, size_t n)
{
	size_t at;

	if (!take(c, n, &at))
		return;
	for (size_t i = 0; i < n; i++)
		c->p[at + (c->big ? n - 1 - i : i)] = (uint8_t)(v >> 8 * i);
}
static uint64_t get(struct cur *c, size_t n)
{
	uint64_t v = 0;
	size_t at;

	if (!take(c, n, &at))
		return 0;
	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)c->p[at + (c->big ? n - 1 - i : i)] << 8 * i;
	return v;
}

int ctf_head_make(uint8_t *p, size_t room, const struct ctf_layout *l, const struct ctf_event_head *h)
{
	struct cur c = { .p = p, .len = MIN(room, (size_t)24), .big = l->big, .packed = l->packed };

	memset(p, 0, c.len);
	if (l->kind == CTF_COMPACT) {
		if (h->extended) {
			put(&c, l->big ? CTF_ID_EXTENDED << 3 : CTF_ID_EXTENDED, 1);
			c.pos = l->packed ? c.pos : 8; /* the variant behind is aligned as its widest field */
		} else if (h->id >= CTF_ID_EXTENDED || h->time >> 27) {
			return -EINVAL;
		} else {
			put(&c, l->big ? (uint64_t)h->id << 27 | h->time : h->time << 5 | h->id, 4);
			return c.bad ? -EINVAL : (int)c.pos;
		}
	} else {
		if (!h->extended) {
			if (h->id >= CTF_LARGE_EXTENDED || h->time >> 32)
				return -EINVAL;
			put(&c, h->id, 2);
			put(&c, h->time, 4);
			return c.bad ? -EINVAL : (int)c.pos;
		}
		put(&c, CTF_LARGE_EXTENDED, 2);
		c.pos = l->packed ? c.pos : 8;
	}
	put(&c, h->id, 4);
	put(&c, h->time, 8);
	return c.bad ? -EINVAL : (int)c.pos;
}

int ctf_head_parse(const uint8_t *p, size_t len, const struct ctf_layout *l, struct ctf_event_head *h)
{
	struct cur c = { .p = (uint8_t *)p, .len = len, .big = l->big, .packed = l->packed };
	uint32_t id, w;

	*h = (struct ctf_event_head){ 0 };
	if (l->kind == CTF_COMPACT) {
		if (!len)
			return -EAGAIN;
		id = l->big ? p[0] >> 3 : p[0] & 31;
		if (id != CTF_ID_EXTENDED) {
			w = (uint32_t)get(&c, 4);
			h->id = id;
			h->time = l->big ? w & 0x7ffffff : w >> 5;
			h->bits = 27;
			return c.bad ? -EAGAIN : (int)c.pos;
		}
		c.pos = 1;
	} else {
		id = (uint32_t)get(&c, 2);
		if (id != CTF_LARGE_EXTENDED) {
			h->id = id;
			h->time = get(&c, 4);
			h->bits = 32;
			return c.bad ? -EAGAIN : (int)c.pos;
		}
	}
	c.pos = l->packed ? c.pos : 8;
	h->extended = true;
	h->bits = 64;
	h->id = (uint32_t)get(&c, 4);
	h->time = get(&c, 8);
	return c.bad ? -EAGAIN : (int)c.pos;
}

uint64_t ctf_head_time(const struct ctf_event_head *h, uint64_t last)
{
	uint64_t mask;

	if (h->bits >= 64)
		return h->time;
	mask = (1ULL << h->bits) - 1;
	if ((h->time & mask) < (last & mask))
		last += mask + 1;
	return (last & ~mask) | (h->time & mask);
}

void ctf_packet_make(uint8_t p[CTF_PACKET_HEADER], const struct ctf_packet *pk)
{
	struct cur c = { .p = p, .len = CTF_PACKET_HEADER, .big = pk->big, .packed = true };

	put(&c, CTF_MAGIC, 4);
	memcpy(p + 4, pk->uuid, 16);
	c.pos = 20;
	put(&c, pk->stream_id, 4);
	put(&c, pk->stream_instance, 8);
	put(&c, pk->begin, 8);
	put(&c, pk->end, 8);
	put(&c, pk->content_bits, 8);
	put(&c, pk->packet_bits, 8);
	put(&c, pk->seq, 8);
	put(&c, pk->discarded, 8);
	put(&c, pk->cpu, 4);
}

int ctf_packet_parse(const uint8_t *p, size_t len, struct ctf_packet *ret)
{
	struct cur c = { .p = (uint8_t *)p, .len = len, .packed = true };
	struct ctf_packet pk = { 0 };

	if (len < CTF_PACKET_HEADER)
		return -EAGAIN;
	if (get(&c, 4) != CTF_MAGIC) {
		c.pos = 0;
		c.big = pk.big = true;
		if (get(&c, 4) != CTF_MAGIC)
			return -EBADMSG;
	}
	memcpy(pk.uuid, p + 4, 16);
	c.pos = 20;
	pk.stream_id = (uint32_t)get(&c, 4);
	pk.stream_instance = get(&c, 8);
	pk.begin = get(&c, 8);
	pk.end = get(&c, 8);
	pk.content_bits = get(&c, 8);
	pk.packet_bits = get(&c, 8);
	pk.seq = get(&c, 8);
	pk.discarded = get(&c, 8);
	pk.cpu = (uint32_t)get(&c, 4);
	if (pk.content_bits < CTF_PACKET_HEADER * 8 || pk.content_bits > pk.packet_bits || pk.packet_bits % 8 || pk.end < pk.begin)
		return -EBADMSG;
	*ret = pk;
	return 0;
}
