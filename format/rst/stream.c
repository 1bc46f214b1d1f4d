/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The byte source, and reading: find out what it is, then hand out records section by section. */
#include <errno.h>

#include "format/rst/codec.h"

/* --- byte source ---------------------------------------------------------------------------------------- */

void rst_src_init_mem(struct rst_src *s, const void *data, size_t len)
{
	memset(s, 0, sizeof(*s));
	s->mem = data;
	s->mem_left = len;
}

static int fill(struct rst_src *s)
{
	ssize_t n;

	if (s->in_pos < s->in_len)
		return 1;
	n = s->read(s->arg, s->in, RST_SRC_BUF);
	if (n < 0) {
		s->error = (int)n;
		s->fault = "read error";
		return (int)n;
	}
	s->in_pos = 0;
	s->in_len = (size_t)n;
	s->in_offset += (uint64_t)n;
	return n > 0;
}

int rst_src_init(struct rst_src *s, rst_read_fn *read, void *arg)
{
	int rc;

	memset(s, 0, sizeof(*s));
	s->read = read;
	s->arg = arg;
	s->in = malloc(RST_SRC_BUF);
	if (!s->in)
		return -ENOMEM;
	rc = fill(s);
	if (rc < 0)
		return rc;
	/* Two bytes may come in two reads from a pipe. */
	while (s->in_len == 1) {
		ssize_t n = s->read(s->arg, s->in + 1, RST_SRC_BUF - 1);

		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		s->in_len += (size_t)n;
		s->in_offset += (uint64_t)n;
	}
	if (s->in_len >= 2 && s->in[0] == 0x1f && s->in[1] == 0x8b) {
		s->gzip = true;
		if (inflateInit2(&s->z, 16 + 15) != Z_OK)
			return -ENOMEM;
		s->z_open = true;
	}
	return 0;
}

void rst_src_done(struct rst_src *s)
{
	if (s->z_open)
		inflateEnd(&s->z);
	free(s->in);
	memset(s, 0, sizeof(*s));
}

/* After a member's end: another one, or zeros as tape padding, or the end. */
static bool next_member(struct rst_src *s)
{
	if (fill(s) <= 0)
		return false;
	if (s->in[s->in_pos] != 0x1f)
		return false;
	return inflateReset(&s->z) == Z_OK;
}

static size_t read_gzip(struct rst_src *s, uint8_t *buf, size_t len)
{
	size_t got = 0;

	while (got < len && !s->at_end) {
		int rc = fill(s);

		if (rc < 0)
			break;
		if (rc == 0) {
			s->error = -EBADMSG;
			s->fault = "the gzip stream is cut off";
			break;
		}
		s->z.next_in = s->in + s->in_pos;
		s->z.avail_in = (uInt)(s->in_len - s->in_pos);
		s->z.next_out = buf + got;
		s->z.avail_out = (uInt)MIN(len - got, (size_t)1 << 30);
		rc = inflate(&s->z, Z_NO_FLUSH);
		got = (size_t)(s->z.next_out - buf);
		s->in_pos = s->in_len - s->z.avail_in;
		if (rc == Z_STREAM_END) {
			s->at_end = !next_member(s);
		} else if (rc != Z_OK) {
			s->error = rc == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
			s->fault = "the gzip stream is damaged";
			break;
		}
	}
	return got;
}

static size_t read_plain(struct rst_src *s, uint8_t *buf, size_t len)
{
	size_t got = 0;

	if (s->mem) {
		got = MIN(len, s->mem_left);
		memcpy(buf, s->mem, got);
		s->mem += got;
		s->mem_left -= got;
		return got;
	}
	while (got < len && fill(s) > 0) {
		size_t n = MIN(len - got, s->in_len - s->in_pos);

		memcpy(buf + got, s->in + s->in_pos, n);
		s->in_pos += n;
		got += n;
	}
	return got;
}

size_t rst_src_read(struct rst_src *s, void *buf, size_t len)
{
	size_t got = MIN(len, s->n_back);

	memcpy(buf, s->back, got);
	memmove(s->back, s->back + got, s->n_back - got);
	s->n_back -= got;
	if (got < len && !s->error)
		got += s->gzip ? read_gzip(s, (uint8_t *)buf + got, len - got) : read_plain(s, (uint8_t *)buf + got, len - got);
	s->offset += got;
	return got;
}

int rst_src_need(struct rst_src *s, void *buf, size_t len)
{
	if (rst_src_read(s, buf, len) == len)
		return 0;
	if (!s->error) {
		s->error = -EBADMSG;
		s->fault = "the file is cut off";
	}
	return s->error;
}

int rst_src_unread(struct rst_src *s, const void *buf, size_t len)
{
	if (s->n_back + len > sizeof(s->back))
		return -E2BIG;
	memmove(s->back + len, s->back, s->n_back);
	memcpy(s->back, buf, len);
	s->n_back += len;
	s->offset -= len;
	return 0;
}

int rst_recs_reserve(struct rst_recs *r, size_t n)
{
	uint8_t *p;

	if (n <= r->room)
		return 0;
	if (n > RST_SECTION_CAP / RST_REC_SIZE)
		return -E2BIG;
	n = MAX(n, MIN(r->room * 2, RST_SECTION_CAP / RST_REC_SIZE));
	p = realloc(r->recs, n * RST_REC_SIZE);
	if (!p)
		return -ENOMEM;
	r->recs = p;
	r->room = n;
	return 0;
}

/* --- reading -------------------------------------------------------------------------------------------- */

#define RAW_RECS 4096

struct rst_in {
	struct rst_src src;
	const struct rst_decoder_ops *ops; /* NULL: raw */
	void *dec;
	struct rst_recs recs;
	size_t pos;      /* in recs */
	int end;         /* 1: the end, < 0: the error to give when recs is used up */
	struct rst_in_info info;
};

const char *rst_container_name(enum rst_container c)
{
	return c == RST_RZ2 ? "RZ2" : c == RST_RZ3 ? "RZ3" : c == RST_RZX ? "rzx" : "raw";
}

static int pick(struct rst_in *in, const uint8_t *head, size_t n, const char **why)
{
	if (n >= 3 && !memcmp(head, "RZ1", 3)) {
		*why = "an RZ1 file; nothing is known of that form";
		return -EPROTONOSUPPORT;
	}
	if (n >= 3 && !memcmp(head, "RZ2", 3)) {
		in->info.container = RST_RZ2;
		in->ops = &rst_rz2_decoder;
	} else if (n >= 3 && !memcmp(head, "RZ3", 3)) {
		in->info.container = RST_RZ3;
		in->ops = &rst_rz3_decoder;
	} else if (n >= 4 && !memcmp(head, "RZX\n", 4)) {
		in->info.container = RST_RZX;
		in->ops = &rst_rzx_decoder;
	} else if (n < 4 || head[0] != RST_HEADER || head[3] != '%') {
		*why = "neither a trace nor a compressed one";
		return n || in->src.error ? -EBADMSG : -ENODATA;
	}
	return 0;
}

int rst_in_new(struct rst_in **ret, rst_read_fn *read, void *arg, const char **why)
{
	struct rst_in *in = calloc(1, sizeof(*in));
	uint8_t head[4];
	size_t n = 0;
	int rc;

	*why = "out of memory";
	if (!in)
		return -ENOMEM;
	rc = rst_src_init(&in->src, read, arg);
	if (!rc) {
		n = rst_src_read(&in->src, head, sizeof(head));
		*why = in->src.fault ? in->src.fault : "the file is empty";
		rc = rst_src_unread(&in->src, head, n);
	}
	if (!rc)
		rc = pick(in, head, n, why);
	if (!rc && in->ops)
		rc = in->ops->new(&in->dec, &in->src, why);
	if (rc) {
		rst_in_free(in);
		return rc;
	}
	in->info.gzip = in->src.gzip;
	in->info.data_offset = in->ops ? in->src.offset : 0;
	*ret = in;
	return 0;
}

void rst_in_free(struct rst_in *in)
{
	if (!in)
		return;
	if (in->ops && in->dec)
		in->ops->free(in->dec);
	rst_src_done(&in->src);
	free(in->recs.recs);
	free(in);
}

static void raw_next(struct rst_in *in)
{
	size_t got;

	in->end = rst_recs_reserve(&in->recs, RAW_RECS);
	if (in->end)
		return;
	got = rst_src_read(&in->src, in->recs.recs, RAW_RECS * RST_REC_SIZE);
	in->recs.n = got / RST_REC_SIZE;
	in->info.data_offset += in->recs.n * RST_REC_SIZE;
	if (got == RAW_RECS * RST_REC_SIZE)
		return;
	in->end = in->src.error ? in->src.error : 1;
	in->info.fault = in->src.fault;
	in->info.n_fragment = (uint32_t)(got % RST_REC_SIZE);
	memcpy(in->info.fragment, in->recs.recs + in->recs.n * RST_REC_SIZE, got % RST_REC_SIZE);
	if (in->info.n_fragment && !in->info.fault) {
		in->info.fault = "the file ends within a record";
		in->end = -EBADMSG;
	}
}

static void next_section(struct rst_in *in)
{
	uint8_t more;
	int rc;

	in->pos = in->recs.n = 0;
	if (!in->ops) {
		raw_next(in);
		return;
	}
	rc = in->ops->next(in->dec, &in->src, &in->recs, &in->info.fault);
	if (rc > 0) {
		in->info.n_sections++;
		in->info.data_offset = in->src.offset;
		return;
	}
	in->recs.n = 0;
	if (!rc && rst_src_read(&in->src, &more, 1) == 1) {
		in->info.fault = "bytes behind the end";
		rc = -EBADMSG;
	} else if (!rc) {
		rc = in->src.error; /* gzip's own checksum comes last */
	}
	in->end = rc ? rc : 1;
	if (rc && in->src.fault)
		in->info.fault = in->src.fault;
}

ssize_t rst_in_read(struct rst_in *in, uint8_t *recs, size_t max)
{
	size_t n;

	while (in->pos == in->recs.n && !in->end)
		next_section(in);
	n = MIN(max, in->recs.n - in->pos);
	if (!n && max)
		return in->end < 0 ? in->end : 0;
	memcpy(recs, in->recs.recs + in->pos * RST_REC_SIZE, n * RST_REC_SIZE);
	in->pos += n;
	in->info.n_recs += n;
	return (ssize_t)n;
}

void rst_in_info(const struct rst_in *in, struct rst_in_info *ret)
{
	*ret = in->info;
	ret->in_offset = in->src.in_offset;
	if (in->ops && in->ops->info)
		in->ops->info(in->dec, ret);
}
