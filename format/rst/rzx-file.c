/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The rzx file: a head, sections of records with checksums, an end. doc/format-rst.md, "rzx". */
#include <errno.h>

#include "format/rst/rzx.h"

#define HEAD 16
#define SECTION_HEAD 20
#define SECTION_RECS 262144
#define MAX_SECTION 1048576 /* records a file may claim */
static const char magic[4] = "RZX\n", section_magic[4] = "SECT", end_magic[4] = "END\n";
#define FORMAT 1

/* --- writer ------------------------------------------------------------------------------------------------ */

struct rzx_enc {
	struct rzx *x;
	unsigned int level, version;
	uint64_t n_recs;
};

/* Tables that hold the places of the first section: larger ones only cost time. */
static unsigned int pick_level(const uint8_t *recs, size_t n)
{
	static const unsigned int bits = 18;
	uint8_t *seen = calloc(1, (size_t)1 << (bits - 3));
	unsigned int places = 0, level;

	if (!seen)
		return 3;
	for (size_t i = 0; i < n; i++) {
		const uint8_t *r = recs + i * RST_REC_SIZE;
		uint64_t at = rzx_hash(rst_instr_pc(r), rst_be32(r) & 0xff00ffff) >> (64 - bits);

		if (r[0] != RST_INSTR || seen[at >> 3] >> (at & 7) & 1)
			continue;
		seen[at >> 3] |= (uint8_t)(1 << (at & 7));
		places++;
	}
	free(seen);
	level = 31 - (unsigned int)__builtin_clz(places | 1);
	return level < 12 ? 3 : MIN(level - 9, 8u);
}

static int rzx_new_enc(void **ret, const struct rst_out_opts *o, unsigned int version, const uint8_t *recs, size_t n)
{
	struct rzx_enc *e = calloc(1, sizeof(*e));
	int rc;

	if (!e)
		return -ENOMEM;
	e->level = o->rzx_level ? MIN(o->rzx_level, 9u) : pick_level(recs, n);
	e->version = version;
	rc = rzx_make(&e->x, true, e->level, version);
	if (rc) {
		free(e);
		return rc;
	}
	*ret = e;
	return 0;
}

static void rzx_free_enc(void *enc)
{
	struct rzx_enc *e = enc;

	rzx_free(e->x);
	free(e);
}

static int rzx_begin(void *enc, struct strbuf *out)
{
	struct rzx_enc *e = enc;
	uint8_t head[HEAD] = "";

	memcpy(head, magic, 4);
	head[4] = FORMAT;
	head[5] = (uint8_t)e->level;
	rst_put16(head + 6, (uint16_t)e->version);
	return strbuf_add(out, head, sizeof(head));
}

static int rzx_section(void *enc, const uint8_t *recs, size_t n, struct strbuf *out)
{
	struct rzx_enc *e = enc;
	struct rzx_bits *b = rzx_coder(e->x);
	size_t at = out->len, len;
	uint8_t head[SECTION_HEAD];

	memcpy(head, section_magic, 4);
	rst_put32(head + 4, (uint32_t)n);
	rst_put32(head + 12, (uint32_t)crc32_z(0, recs, n * RST_REC_SIZE));
	strbuf_add(out, head, sizeof(head));
	rzx_bits_begin_write(b, out);
	for (size_t i = 0; i < n; i++)
		rzx_record(e->x, (uint8_t *)(uintptr_t)recs + i * RST_REC_SIZE);
	rzx_bits_end_write(b);
	if (out->error)
		return out->error;
	e->n_recs += n;
	len = out->len - at - SECTION_HEAD;
	rst_put32((uint8_t *)out->buf + at + 8, (uint32_t)len);
	rst_put32((uint8_t *)out->buf + at + 16, (uint32_t)crc32_z(0, (uint8_t *)out->buf + at + SECTION_HEAD, len));
	return 0;
}

static int rzx_end(void *enc, const uint8_t *tail, size_t n_tail, struct strbuf *out)
{
	uint8_t end[20] = "";

	memcpy(end, end_magic, 4);
	rst_put64(end + 4, ((struct rzx_enc *)enc)->n_recs);
	rst_put32(end + 12, (uint32_t)n_tail);
	rst_put32(end + 16, (uint32_t)crc32_z(0, tail, n_tail));
	strbuf_add(out, end, sizeof(end));
	return strbuf_add(out, tail, n_tail);
}

/* --- reader ------------------------------------------------------------------------------------------------ */

struct rzx_dec {
	struct rzx *x;
	uint8_t *payload;        /* of a section */
	size_t payload_room;
	uint64_t n_recs;
	uint8_t tail[RST_REC_SIZE];
	uint32_t n_tail;
	uint64_t n_checks;
};

static int rzx_new_dec(void **ret, struct rst_src *src, const char **why)
{
	uint8_t head[HEAD];
	struct rzx_dec *d;
	int rc = rst_src_need(src, head, sizeof(head));

	*why = src->fault;
	if (rc)
		return rc;
	*why = "an rzx version that is not supported";
	if (memcmp(head, magic, 4) || head[4] != FORMAT || head[5] < 1 || head[5] > 9)
		return -EPROTONOSUPPORT;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	rc = rzx_make(&d->x, false, head[5], rst_be16(head + 6));
	if (rc) {
		free(d);
		return rc;
	}
	*ret = d;
	return 0;
}

static void rzx_free_dec(void *dec)
{
	struct rzx_dec *d = dec;

	rzx_free(d->x);
	free(d->payload);
	free(d);
}

static int read_end(struct rzx_dec *d, const uint8_t *head, struct rst_src *src, const char **fault)
{
	uint32_t n = rst_be32(head + 12);

	if (rst_be64(head + 4) != d->n_recs || n >= RST_REC_SIZE) {
		*fault = "the end does not fit what came before";
		return -EBADMSG;
	}
	if (rst_src_need(src, d->tail, n))
		return src->error;
	if (crc32_z(0, d->tail, n) != rst_be32(head + 16)) {
		*fault = "a checksum does not agree";
		return -EBADMSG;
	}
	d->n_tail = n;
	if (!n)
		return 0;
	*fault = "the packed file ended within a record";
	return -EBADMSG;
}

static int read_payload(struct rzx_dec *d, struct rst_src *src, size_t len)
{
	size_t got = 0;

	while (got < len) {
		size_t more = MIN(len - got, (size_t)1 << 20);
		int rc;

		if (got + more > d->payload_room) {
			size_t room = MAX(d->payload_room * 2, got + more);
			uint8_t *p = realloc(d->payload, room);

			if (!p)
				return -ENOMEM;
			d->payload = p;
			d->payload_room = room;
		}
		rc = rst_src_need(src, d->payload + got, more);
		if (rc)
			return rc;
		got += more;
	}
	return 0;
}

static int rzx_next(void *dec, struct rst_src *src, struct rst_recs *out, const char **fault)
{
	struct rzx_dec *d = dec;
	uint8_t head[SECTION_HEAD];
	uint32_t n, len;
	int rc = rst_src_need(src, head, sizeof(head));

	if (rc)
		return rc;
	if (!memcmp(head, end_magic, 4))
		return read_end(d, head, src, fault);
	n = rst_be32(head + 4);
	len = rst_be32(head + 8);
	*fault = "the head of a section is damaged";
	if (memcmp(head, section_magic, 4) || !n || n > MAX_SECTION || len > RST_SECTION_CAP)
		return -EBADMSG;
	*fault = NULL;
	rc = read_payload(d, src, len);
	if (rc)
		return rc;
	*fault = "a checksum does not agree";
	if (crc32_z(0, d->payload, len) != rst_be32(head + 16))
		return -EBADMSG;
	rc = rst_recs_reserve(out, n);
	if (rc)
		return rc;
	rzx_bits_begin_read(rzx_coder(d->x), d->payload, len);
	for (uint32_t i = 0; i < n; i++)
		rzx_record(d->x, out->recs + (size_t)i * RST_REC_SIZE);
	if (crc32_z(0, out->recs, (size_t)n * RST_REC_SIZE) != rst_be32(head + 12))
		return -EBADMSG;
	*fault = NULL;
	d->n_recs += n;
	d->n_checks += 2;
	out->n = n;
	return 1;
}

static void rzx_info(const void *dec, struct rst_in_info *info)
{
	const struct rzx_dec *d = dec;

	info->n_checks = d->n_checks;
	info->n_fragment = d->n_tail;
	memcpy(info->fragment, d->tail, sizeof(info->fragment));
}

const struct rst_decoder_ops rst_rzx_decoder = { rzx_new_dec, rzx_free_dec, rzx_next, rzx_info };
const struct rst_encoder_ops rst_rzx_encoder = {
	.section_recs = SECTION_RECS,
	.new = rzx_new_enc,
	.free = rzx_free_enc,
	.begin = rzx_begin,
	.section = rzx_section,
	.end = rzx_end,
};
