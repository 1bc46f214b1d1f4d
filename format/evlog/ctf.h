/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_EVLOG_CTF_H
#define OPJIT_FORMAT_EVLOG_CTF_H
/*
 * Common Trace Format 1.8: the two event headers in use, the packet header as LTTng-UST lays it out, and a writer
 * of traces. Bytes in and out; the caller has the files.
 */
#include "lib/util.h"

#define CTF_MAGIC 0xc1fc1fc1u
#define CTF_MAGIC_METADATA 0x75d11d57u
#define CTF_ID_EXTENDED 31u
#define CTF_LARGE_EXTENDED 65535u

struct ctf_event_head {
	uint32_t id;
	uint64_t time;       /* full time if extended, else its low bits */
	bool extended;
	unsigned int bits;   /* how many low bits of time there are: 27, 32 or 64 */
};
enum ctf_head_kind { CTF_COMPACT, CTF_LARGE };
struct ctf_layout {
	enum ctf_head_kind kind;
	bool big;            /* byte order */
	bool packed;         /* fields at any byte; else at their natural alignment, from a header aligned to 8 */
};
/* Bytes written (at most 24), or -EINVAL for an id or time that does not fit the form. */
int ctf_head_make(uint8_t *p, size_t room, const struct ctf_layout *l, const struct ctf_event_head *h);
/* Bytes read, or -EAGAIN if more are needed. */
int ctf_head_parse(const uint8_t *p, size_t len, const struct ctf_layout *l, struct ctf_event_head *h);
/* The full time of a head: low bits that went back have wrapped exactly once since `last`. */
uint64_t ctf_head_time(const struct ctf_event_head *h, uint64_t last);

#define CTF_PACKET_HEADER 84u
struct ctf_packet {
	uint8_t uuid[16];
	uint32_t stream_id;
	uint64_t stream_instance, begin, end, content_bits, packet_bits, seq, discarded;
	uint32_t cpu;
	bool big;
};
void ctf_packet_make(uint8_t p[CTF_PACKET_HEADER], const struct ctf_packet *pk);
/* 0, -EAGAIN (short), -EBADMSG: no magic, or sizes that contradict each other. The magic tells the byte order. */
int ctf_packet_parse(const uint8_t *p, size_t len, struct ctf_packet *ret);

#endif
