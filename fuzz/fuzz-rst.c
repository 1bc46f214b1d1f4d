/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The trace readers. The first byte chooses a head to put before the rest, so that all three compressed forms are reached
 * at once; 0 leaves the file as it is. What could be read is packed again by the two lossy forms.
 */
#include "format/rst/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct mem { const uint8_t *p; size_t left; };

static ssize_t read_mem(void *arg, void *buf, size_t len)
{
	struct mem *m = arg;
	size_t n = MIN(len, m->left);

	memcpy(buf, m->p, n);
	m->p += n;
	m->left -= n;
	return (ssize_t)n;
}

static int drop(void *arg, const void *buf, size_t len)
{
	return 0;
}

static void repack(const uint8_t *recs, size_t n, enum rst_container form)
{
	struct rst_out_opts o = { .container = form, .rz2_up = -1, .rzx_level = 1 };
	struct rst_out *out;

	if (rst_out_new(&out, &o, drop, NULL))
		return;
	if (!rst_out_write(out, recs, n))
		rst_out_finish(out, NULL, 0);
	rst_out_free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t file[1 << 17], recs[512 * RST_REC_SIZE];
	struct mem m = { data, len };
	const char *why;
	struct rst_in *in;
	size_t at = 0, all = 0;
	ssize_t n;

	if (!len || len > (1 << 16))
		return 0;
	if (*data == 1) {
		at = 512;
		memset(file, 0, at);
		memcpy(file, "RZ2 -- Rstzip2 compressed RST file.\nRstzip2 version: 2.01.\nNumcpus=0.\n", 71);
	} else if (*data == 2) {
		at = 24;
		memcpy(file, "RZ3 5948486328$\0\3\x14\0\0\0\0\0\0", 24);
	} else if (*data == 3) {
		at = 16;
		memcpy(file, "RZX\n\1\1\0\xd5\0\0\0\0\0\0\0\0", 16);
	}
	memcpy(file + at, data + 1, len - 1);
	m = (struct mem){ file, at + len - 1 };
	if (rst_in_new(&in, read_mem, &m, &why))
		return 0;
	while ((n = rst_in_read(in, recs, 512)) > 0 && all < 100000) {
		if (!all && *data & 1) {
			repack(recs, (size_t)n, RST_RZ2);
			repack(recs, (size_t)n, RST_RZ3);
		}
		all += (size_t)n;
	}
	rst_in_free(in);
	return 0;
}
