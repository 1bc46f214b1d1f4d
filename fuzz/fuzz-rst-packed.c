/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One packed form of traces, FORM (RST_RZ2, RST_RZ3 or RST_RZX), read and written. The low two bits of the first byte say
 * what the rest is:
 *	0  a file of the form behind its head
 *	1  the same; lengths and checksums that the rest could not have right are put right, so that what is behind them is met
 *	2  records: packed strictly, which must refuse or give the same records back
 *	3  records: packed with loss, which must be readable
 * and the others choose among the form's variants (processors, minor versions, levels). It is built once for each form.
 */
#include <errno.h>
#include <stdio.h>
#include <zlib.h>

#include "format/rst/stream.h"
#include "lib/strbuf.h"
#include "tests/unit/rst-mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define INPUT_CAP 65536
#define HEADER "\x02\x02\x0d\x25RST Header v2.13\0\0\0\0"

/* All that can be read: compared with `want` if it is given. Returns how the reading ended. */
static ssize_t unpack(const uint8_t *file, size_t len, const uint8_t *want, size_t n_want)
{
	static uint8_t recs[512 * RST_REC_SIZE];
	struct mem m = { file, len };
	struct rst_in_info info;
	const char *why;
	struct rst_in *in;
	size_t all = 0;
	ssize_t n = rst_in_new(&in, read_mem, &m, &why);

	if (n)
		return n;
	while ((n = rst_in_read(in, recs, 512)) > 0 && all < 200000) {
		if (want && (all + (size_t)n > n_want || memcmp(recs, want + all * RST_REC_SIZE, (size_t)n * RST_REC_SIZE)))
			__builtin_trap();
		all += (size_t)n;
	}
	rst_in_info(in, &info);
	if (n == -EBADMSG && !info.fault)
		__builtin_trap(); /* nothing said what is wrong */
	if (want && (n || all != n_want))
		__builtin_trap();
	rst_in_free(in);
	return n;
}

static void pack(const uint8_t *recs, size_t n, uint8_t how)
{
	struct rst_out_opts o = { .container = FORM, .lossy = how & 1, .rz2_up = (how >> 2 & 3) - 1, .rzx_level = 1 + (how >> 2 & 1),
				  .rz3_minor = how & 4 ? 19 : 20, .gzip_level = how & 0x80 ? 1 : 0 };
	AUTO_STRBUF out = STRBUF_INIT;
	struct rst_out *w;
	int rc;

	if (o.rz2_up > 1)
		o.rz2_up = 1;
	if (rst_out_new(&w, &o, write_mem, &out))
		return;
	rc = rst_out_write(w, recs, n / 2);
	if (!rc && how & 0x10)
		rc = rst_out_flush(w);
	if (!rc)
		rc = rst_out_write(w, recs + n / 2 * RST_REC_SIZE, n - n / 2);
	if (!rc)
		rc = rst_out_finish(w, NULL, 0);
	rst_out_free(w);
	if (rc && (rc != -EILSEQ || FORM == RST_RZX))
		__builtin_trap();
	if (!rc)
		unpack((const uint8_t *)out.buf, out.len, o.lossy && FORM != RST_RZX ? NULL : recs, n);
}

/* Heads, and what is put right behind them. Returns the length of the file. */
static size_t make_file(uint8_t *file, const uint8_t *data, size_t len, uint8_t how)
{
	size_t head;

	if (FORM == RST_RZ2) {
		head = 512;
		memset(file, 0, head);
		snprintf((char *)file, head, "RZ2 -- Rstzip2 compressed RST file.\nRstzip2 version: 2.01.\nNumcpus=%d.\n", how >> 2 & 1);
		memcpy(file + head, data, len);
	} else if (FORM == RST_RZ3) {
		head = 24;
		memcpy(file, "RZ3 5948486328$\0\3\x14\0\0\0\0\0\0", head);
		file[17] = (uint8_t)(20 - (how >> 2) % 5);
		memcpy(file + head, data, len);
		/* Each section's magic; its size is whatever the counts make. */
		for (size_t at = head; how & 1 && at + 232 <= head + len;) {
			static const uint8_t widths[50] = { 2, 8, 1, 10, 1, 8, 32, 1, 1, 3, 7, 11, 13, 15, 18, 21, 25, 64, 1, 1, 8, 1, 8,
							    1, 3, 8, 32, 1, 13, 1, 1, 1, 13, 1, 1, 30, 49, 1, 32, 1, 1, 1, 1, 3,
							    10, 32, 8, 5, 1, 1 };
			uint64_t size = 232;

			memcpy(file + at, "3ZR SHDR297302$", 16);
			memcpy(file + at + 16, file + at + 32, 4);
			for (unsigned int i = 0; i < 50; i++) {
				uint64_t bits = file[17] > 19 ? widths[i] : i == 3 ? 6 : i == 5 ? 7 : i == 35 ? 26 : widths[i];
				uint64_t count = rst_be32(file + at + 32 + 4 * i) & 0xffff;

				rst_put32(file + at + 32 + 4 * i, (uint32_t)count);
				if (!i)
					rst_put32(file + at + 16, (uint32_t)count);
				size += (count * bits + 63) / 64 * 8;
			}
			rst_put64(file + at + 24, size);
			at += size;
		}
	} else {
		head = 16;
		memcpy(file, "RZX\n\1\1\0\xd5\0\0\0\0\0\0\0\0", head);
		file[5] = (uint8_t)(1 + (how >> 2 & 1));
		file[7] = how & 8 ? 210 : 213;
		if (how & 1 && len > 2) {
			/* One section of as many records as the first two bytes say. */
			memcpy(file + head, "SECT", 4);
			rst_put32(file + head + 4, (rst_be16(data) & 0xfff) + 1u);
			rst_put32(file + head + 8, (uint32_t)(len - 2));
			rst_put32(file + head + 12, 0);
			rst_put32(file + head + 16, (uint32_t)crc32_z(0, data + 2, len - 2));
			memcpy(file + head + 20, data + 2, len - 2);
			return head + 20 + len - 2;
		}
		memcpy(file + head, data, len);
	}
	return head + len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t buf[INPUT_CAP + 1024];
	uint8_t how;

	if (len < 2 || len > INPUT_CAP)
		return 0;
	how = *data++;
	len--;
	if (how & 2) {
		/* The records of the input behind a header, whose version the first of them may change. */
		memcpy(buf, HEADER, RST_REC_SIZE);
		if (how & 0x40)
			memcpy(buf + 2, "\x09\x25RST Header v2.09", 18);
		memcpy(buf + RST_REC_SIZE, data, len);
		pack(buf, 1 + len / RST_REC_SIZE, how);
	} else {
		unpack(buf, make_file(buf, data, len, how), NULL, 0);
	}
	return 0;
}
