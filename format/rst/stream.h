/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_RST_STREAM_H
#define OPJIT_FORMAT_RST_STREAM_H
/*
 * Traces as streams of records, whatever holds them: raw, RZ2, RZ3 or rzx, each plain or inside gzip. Reading and
 * writing go section by section in constant memory; bytes come and go through callbacks, nothing is opened here.
 *
 *	struct rst_in *in;
 *	rst_in_new(&in, read_fn, arg);
 *	while ((n = rst_in_read(in, recs, 4096)) > 0)
 *		…
 *	if (n < 0)                       // the whole sections before the damage were delivered
 *		rst_in_info(in, &info);  // … info.fault at info.data_offset
 *
 * One stream is for one thread at a time.
 */
#include <sys/types.h>

#include "format/rst/rst.h"

enum rst_container { RST_RAW = 0, RST_RZ2 = 2, RST_RZ3 = 3, RST_RZX = 4 };
const char *rst_container_name(enum rst_container c);

/* Up to len bytes into buf: the number (0 = end) or -errno. */
typedef ssize_t rst_read_fn(void *arg, void *buf, size_t len);
/* All bytes, or -errno. */
typedef int rst_write_fn(void *arg, const void *buf, size_t len);

/* --- reading ------------------------------------------------------------------------------------------- */
struct rst_in; /* opaque */
struct rst_in_info {
	enum rst_container container;
	unsigned int format_minor; /* RZ3: its minor version */
	bool gzip;
	uint64_t n_recs;           /* delivered so far */
	uint64_t n_sections;       /* whole sections (blocks) so far; raw: 0 */
	uint64_t data_offset;      /* end of the last whole section (raw: record), counted in the gunzipped bytes */
	uint64_t in_offset;        /* bytes taken from the callback so far */
	uint64_t n_checks;         /* stored checksums that were compared and agreed */
	const char *fault;         /* what was wrong, NULL if nothing; static text */
	uint8_t fragment[RST_REC_SIZE]; /* raw and rzx: bytes after the last whole record */
	uint32_t n_fragment;
};
/* Looks at the first bytes. 0; -EBADMSG (no trace), -EPROTONOSUPPORT (RZ1, a later version), -ENOMEM or the callback's
 * error. An empty stream is -ENODATA. */
int rst_in_new(struct rst_in **ret, rst_read_fn *read, void *arg, const char **why);
void rst_in_free(struct rst_in *in);
/* Up to max records: the number, 0 at the end, -EBADMSG where damage begins (all before it was delivered),
 * -EPROTONOSUPPORT, -ENOMEM, or the callback's error. */
ssize_t rst_in_read(struct rst_in *in, uint8_t *recs, size_t max);
void rst_in_info(const struct rst_in *in, struct rst_in_info *ret);

/* --- writing ------------------------------------------------------------------------------------------- */
struct rst_out; /* opaque */
struct rst_out_opts {
	enum rst_container container;
	int gzip_level;          /* 0 = no gzip around it, 1 … 9 */
	unsigned int rz3_minor;  /* 19 or 20; 0 = by the trace's version */
	int rz2_up;              /* the one-processor layout: 1 yes, 0 no, -1 by the trace's version */
	unsigned int rzx_level;  /* 1 … 9: memory for the tables, 0 = by the trace */
	bool lossy;              /* RZ2, RZ3: write what the form cannot hold without telling (and without checking) */
};
struct rst_out_info {
	uint64_t n_recs;
	uint64_t out_bytes;      /* handed to the callback */
	uint64_t bad_rec;        /* with -EILSEQ: number of the first record the form cannot hold */
	const char *fault;
};
int rst_out_new(struct rst_out **ret, const struct rst_out_opts *o, rst_write_fn *write, void *arg);
void rst_out_free(struct rst_out *out);
/* 0; -EILSEQ: a record would come back changed (RZ2 and RZ3 without `lossy`, found by decoding); the callback's error. */
int rst_out_write(struct rst_out *out, const uint8_t *recs, size_t n);
/* Ends the section (block) here, as a writer that needs the bytes out does. No effect on raw but for the buffer. */
int rst_out_flush(struct rst_out *out);
/* Writes what is held back and the end. `tail` of n_tail < 24 bytes is kept behind the records (raw and rzx only,
 * else -EILSEQ). */
int rst_out_finish(struct rst_out *out, const uint8_t *tail, size_t n_tail);
void rst_out_info(const struct rst_out *out, struct rst_out_info *ret);

#endif
