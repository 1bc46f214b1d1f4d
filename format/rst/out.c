/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writing: gather a section, encode it, decode it again and compare, gzip it, hand it out. */
#include <errno.h>

#include "format/rst/codec.h"

#define RAW_SECTION 4096

struct rst_out {
	struct rst_out_opts o;
	rst_write_fn *write;
	void *arg;
	const struct rst_encoder_ops *ops;
	void *enc;
	const struct rst_decoder_ops *check; /* decodes what was encoded; NULL when not asked */
	void *check_dec;
	struct rst_recs checked;
	uint8_t *recs;
	size_t n, section_recs;
	struct strbuf buf;
	z_stream z;
	bool z_open;
	uint8_t *z_buf;
	int error; /* sticky */
	struct rst_out_info info;
};

#define Z_BUF 65536

int rst_out_new(struct rst_out **ret, const struct rst_out_opts *o, rst_write_fn *write, void *arg)
{
	struct rst_out *out = calloc(1, sizeof(*out));

	if (!out)
		return -ENOMEM;
	out->o = *o;
	out->write = write;
	out->arg = arg;
	out->buf = (struct strbuf)STRBUF_INIT_CAP(RST_SECTION_CAP);
	switch (o->container) {
	case RST_RZ2:
		out->ops = &rst_rz2_encoder;
		out->check = &rst_rz2_decoder;
		break;
	case RST_RZ3:
		out->ops = &rst_rz3_encoder;
		out->check = &rst_rz3_decoder;
		break;
	case RST_RZX:
		out->ops = &rst_rzx_encoder;
		out->check = &rst_rzx_decoder;
		break;
	case RST_RAW:
		break;
	}
	if (o->lossy && o->container != RST_RZX)
		out->check = NULL;
	out->section_recs = out->ops ? out->ops->section_recs : RAW_SECTION;
	out->recs = malloc(out->section_recs * RST_REC_SIZE);
	if (o->gzip_level) {
		out->z_buf = malloc(Z_BUF);
		if (out->z_buf && deflateInit2(&out->z, o->gzip_level, Z_DEFLATED, 16 + 15, 9, Z_DEFAULT_STRATEGY) == Z_OK)
			out->z_open = true;
	}
	if (!out->recs || (o->gzip_level && !out->z_open)) {
		rst_out_free(out);
		return -ENOMEM;
	}
	*ret = out;
	return 0;
}

void rst_out_free(struct rst_out *out)
{
	if (!out)
		return;
	if (out->enc)
		out->ops->free(out->enc);
	if (out->check_dec)
		out->check->free(out->check_dec);
	if (out->z_open)
		deflateEnd(&out->z);
	free(out->z_buf);
	free(out->checked.recs);
	free(out->recs);
	strbuf_done(&out->buf);
	free(out);
}

static int emit(struct rst_out *out, const void *data, size_t len, bool last)
{
	int rc = 0;

	if (!out->z_open) {
		out->info.out_bytes += len;
		return len ? out->write(out->arg, data, len) : 0;
	}
	out->z.next_in = (Bytef *)(uintptr_t)data;
	out->z.avail_in = (uInt)len;
	do {
		size_t n;

		out->z.next_out = out->z_buf;
		out->z.avail_out = Z_BUF;
		rc = deflate(&out->z, last ? Z_FINISH : Z_NO_FLUSH);
		if (rc == Z_STREAM_ERROR)
			return -EINVAL;
		n = Z_BUF - out->z.avail_out;
		out->info.out_bytes += n;
		rc = n ? out->write(out->arg, out->z_buf, n) : 0;
		if (rc)
			return rc;
	} while (out->z.avail_out == 0);
	return 0;
}

/* Decodes the bytes just made; anything but the same records is refused. */
static int verify(struct rst_out *out, size_t n)
{
	struct rst_src src;
	const char *fault = NULL;
	int rc;

	rst_src_init_mem(&src, out->buf.buf, out->buf.len);
	if (!out->check_dec) {
		rc = out->check->new(&out->check_dec, &src, &fault);
		if (rc)
			return rc;
	}
	rc = out->check->next(out->check_dec, &src, &out->checked, &fault);
	out->info.fault = "the form cannot hold this record without changing it";
	if (rc != 1 || out->checked.n != n) {
		out->info.bad_rec = out->info.n_recs;
		return rc < 0 && rc != -EBADMSG ? rc : -EILSEQ;
	}
	for (size_t i = 0; i < n; i++) {
		if (memcmp(out->checked.recs + i * RST_REC_SIZE, out->recs + i * RST_REC_SIZE, RST_REC_SIZE)) {
			out->info.bad_rec = out->info.n_recs + i;
			return -EILSEQ;
		}
	}
	out->info.fault = NULL;
	return 0;
}

static int begin(struct rst_out *out)
{
	int version = out->n ? rst_header_version(out->recs) : -1;
	int rc;

	if (out->enc)
		return 0;
	rc = out->ops->new(&out->enc, &out->o, version < 0 ? RST_VERSION : (unsigned int)version, out->recs, out->n);
	return rc ? rc : out->ops->begin(out->enc, &out->buf);
}

static int flush_section(struct rst_out *out)
{
	size_t n = out->n;
	int rc = 0;

	if (!n)
		return 0;
	if (!out->ops) {
		rc = emit(out, out->recs, n * RST_REC_SIZE, false);
	} else {
		rc = begin(out);
		if (!rc)
			rc = out->ops->section(out->enc, out->recs, n, &out->buf);
		if (rc == -EILSEQ) {
			out->info.bad_rec = out->info.n_recs;
			out->info.fault = "the form cannot hold a record of this section";
		}
		if (!rc)
			rc = out->buf.error;
		if (!rc && out->check)
			rc = verify(out, n);
		if (!rc)
			rc = emit(out, out->buf.buf, out->buf.len, false);
		strbuf_reset(&out->buf);
	}
	if (!rc)
		out->info.n_recs += n;
	out->n = 0;
	return rc;
}

int rst_out_write(struct rst_out *out, const uint8_t *recs, size_t n)
{
	while (n && !out->error) {
		size_t fits = MIN(n, out->section_recs - out->n);

		memcpy(out->recs + out->n * RST_REC_SIZE, recs, fits * RST_REC_SIZE);
		out->n += fits;
		recs += fits * RST_REC_SIZE;
		n -= fits;
		if (out->n == out->section_recs)
			out->error = flush_section(out);
	}
	return out->error;
}

int rst_out_flush(struct rst_out *out)
{
	if (!out->error)
		out->error = flush_section(out);
	return out->error;
}

int rst_out_finish(struct rst_out *out, const uint8_t *tail, size_t n_tail)
{
	if (n_tail && out->ops && out->o.container != RST_RZX && !out->o.lossy && !out->error) {
		out->info.fault = "the form cannot hold a part of a record";
		out->info.bad_rec = out->info.n_recs + out->n;
		out->error = -EILSEQ;
	}
	if (!out->error)
		out->error = flush_section(out);
	if (!out->error && out->ops)
		out->error = begin(out);
	if (!out->error && out->ops)
		out->error = out->ops->end(out->enc, tail, n_tail, &out->buf);
	else if (!out->error && n_tail)
		out->error = strbuf_add(&out->buf, tail, n_tail);
	if (!out->error)
		out->error = emit(out, out->buf.buf, out->buf.len, true);
	strbuf_reset(&out->buf);
	return out->error;
}

void rst_out_info(const struct rst_out *out, struct rst_out_info *ret)
{
	*ret = out->info;
}
