/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_RST_CLI_H
#define OPJIT_RST_CLI_H
/*
 * What the trace tools share: an input that is a file or stdin and of any form, an output that is a file or stdout, and
 * the words for what went wrong. One record at a time for the reader; buffers are inside.
 */
#include "format/rst/stream.h"
#include "lib/msg.h"

#define CLI_BUF_RECS 4096

struct cli_in {
	struct rst_in *in;
	const char *name;   /* for messages; "stdin" */
	int fd;
	uint8_t *buf;
	size_t n, pos;
	uint64_t recno;     /* of the next record */
	unsigned int version; /* of the trace, from record 0; RST_VERSION if that is none */
	int error;          /* 0, or what ended the reading; it was reported */
};
/* name NULL or "-": stdin. Reports and returns -errno on failure. */
int cli_open(struct cli_in *ci, const char *name);
/* The next record, valid until the next call, or NULL at the end or at an error (ci->error, reported once). */
const uint8_t *cli_next(struct cli_in *ci);
void cli_close(struct cli_in *ci);

struct cli_out {
	struct rst_out *out;
	const char *name;
	int fd;
	bool is_stdout;
	char *tmp;       /* written here, renamed at a good end */
};
/* name NULL or "-": stdout. A file appears under its name only when cli_out_finish succeeded. */
int cli_out_open(struct cli_out *co, const char *name, const struct rst_out_opts *o);
int cli_out_write(struct cli_out *co, const uint8_t *recs, size_t n);
/* Finishes if ok, else removes. Reports. 0 or -errno. */
int cli_out_finish(struct cli_out *co, bool ok, const uint8_t *tail, size_t n_tail);
/* A container from a file name's suffix (.rz2, .rz2.gz, .rz3, .rz3.gz, .rzx, else raw). */
enum rst_container cli_container_of(const char *name, bool *gzip);

/* "N" or "Ni": a count of records or of instructions. */
int cli_parse_count(const char *s, uint64_t *n, bool *instrs);

#endif
