/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_RST_CODEC_H
#define OPJIT_FORMAT_RST_CODEC_H
/*
 * Inside format/rst only: the byte source under the readers, and the compressors as two small tables of functions. A
 * coder keeps its state across sections; each section is handed over whole.
 */
#include <zlib.h>

#include "format/rst/stream.h"
#include "lib/strbuf.h"

/* Bytes from the callback, gunzipped if they were, or from memory. */
struct rst_src {
	rst_read_fn *read;
	void *arg;
	const uint8_t *mem; /* instead of read */
	size_t mem_left;
	bool gzip, z_open, at_end;
	z_stream z;
	uint8_t *in;        /* RST_SRC_BUF bytes */
	size_t in_pos, in_len;
	uint64_t in_offset;
	uint64_t offset;    /* of the gunzipped bytes, next to be read */
	int error;          /* of the callback or of inflate */
	const char *fault;
	uint8_t back[16];   /* looked at and given back */
	size_t n_back;
};
#define RST_SRC_BUF 65536
int rst_src_init(struct rst_src *s, rst_read_fn *read, void *arg);
void rst_src_init_mem(struct rst_src *s, const void *data, size_t len);
void rst_src_done(struct rst_src *s);
/* Bytes read; less than len only at the end or at an error (s->error). */
size_t rst_src_read(struct rst_src *s, void *buf, size_t len);
/* Exactly len bytes, or -EBADMSG / the error, with s->fault set. */
int rst_src_need(struct rst_src *s, void *buf, size_t len);
int rst_src_unread(struct rst_src *s, const void *buf, size_t len);

struct rst_recs {
	uint8_t *recs;
	size_t n, room; /* in records */
};
int rst_recs_reserve(struct rst_recs *r, size_t n);

struct rst_decoder_ops {
	/* The container's head was recognised by its first bytes, which are still to be read. */
	int (*new)(void **ret, struct rst_src *src, const char **why);
	void (*free)(void *dec);
	/* The next whole section into `out` (replacing): 1, 0 at the end, or -errno with *fault. */
	int (*next)(void *dec, struct rst_src *src, struct rst_recs *out, const char **fault);
	void (*info)(const void *dec, struct rst_in_info *info); /* may be NULL */
};
struct rst_encoder_ops {
	size_t section_recs; /* most records a section */
	/* recs: the first section, to set things by */
	int (*new)(void **ret, const struct rst_out_opts *o, unsigned int version, const uint8_t *recs, size_t n);
	void (*free)(void *enc);
	int (*begin)(void *enc, struct strbuf *out);
	int (*section)(void *enc, const uint8_t *recs, size_t n, struct strbuf *out);
	int (*end)(void *enc, const uint8_t *tail, size_t n_tail, struct strbuf *out);
};
extern const struct rst_decoder_ops rst_rz2_decoder, rst_rz3_decoder, rst_rzx_decoder;
extern const struct rst_encoder_ops rst_rz2_encoder, rst_rz3_encoder, rst_rzx_encoder;

#define RST_SECTION_CAP ((size_t)256 << 20) /* bytes of a section that a file may claim */

#endif
