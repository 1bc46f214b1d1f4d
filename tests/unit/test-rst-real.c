/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Real traces of $OPJIT_TEST_DATA/rst (or ../shared/data/rst), where they are: packing again what was unpacked gives the original
 * file, block by block and array by array, but for the bits that readers ignore; and each finding of the checker, by record number,
 * is one that a few lines here find by themselves.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <zlib.h>

#include "format/rst/stream.h"
#include "lib/io.h"
#include "lib/strbuf.h"
#include "lib/tap.h"
#include "rst/check.h"
#include "tests/unit/rst-mem.h"

#define CAP ((size_t)256 << 20)

/* All that inflate can give; a file may be cut off. */
static void gunzip(const struct strbuf *in, struct strbuf *out)
{
	static uint8_t buf[65536];
	z_stream z = { .next_in = (Bytef *)in->buf, .avail_in = (uInt)in->len };
	int rc = Z_OK;

	inflateInit2(&z, 16 + 15);
	while (rc == Z_OK) {
		z.next_out = buf;
		z.avail_out = sizeof(buf);
		rc = inflate(&z, Z_SYNC_FLUSH);
		strbuf_add(out, buf, sizeof(buf) - z.avail_out);
		if (rc == Z_OK && !z.avail_in && z.avail_out)
			break;
	}
	inflateEnd(&z);
}

/* Reads the file, and writes its records again, a section for each of its sections; the records as well. */
static void pack_again(const struct strbuf *file, struct strbuf *again, struct strbuf *recs, struct rst_in_info *info)
{
	static uint8_t section[131072 * RST_REC_SIZE];
	struct rst_out_opts o = { .rz2_up = -1 };
	struct mem m = { (const uint8_t *)file->buf, file->len };
	struct rst_in *in;
	struct rst_out *out;
	const char *why = "";
	ssize_t n;

	if (!ok(!rst_in_new(&in, read_mem, &m, &why), "opened"))
		return;
	rst_in_info(in, info);
	o.container = info->container;
	rst_out_new(&out, &o, write_mem, again);
	while ((n = rst_in_read(in, section, 131072)) > 0) {
		strbuf_add(recs, section, (size_t)n * RST_REC_SIZE);
		rst_out_write(out, section, (size_t)n);
		rst_out_flush(out);
	}
	is_int(0, rst_out_finish(out, NULL, 0), "packed again, and nothing that the form cannot hold");
	rst_out_free(out);
	rst_in_info(in, info);
	rst_in_free(in);
}

/* --- RZ2 ---------------------------------------------------------------------------------------------------- */

/* The length of the block at p, lists and data. */
static size_t block_len(const uint8_t *p, size_t left)
{
	size_t len, more;

	if (left < 8 || (len = 4 + (size_t)rst_be32(p)) + 4 > left)
		return 0;
	more = 4 + (size_t)rst_be32(p + len);
	return len + more > left ? 0 : len + more;
}

static void compare_rz2(const struct strbuf *was, const struct strbuf *is)
{
	const uint8_t *a = (const uint8_t *)was->buf, *b = (const uint8_t *)is->buf;
	size_t at = 512, blocks = 0, differ = 0;
	bool end = false, known = true;

	is_int((long long)was->len, (long long)is->len, "RZ2: as long as the original");
	if (was->len != is->len)
		return;
	ok(!memcmp(a, b, 512), "RZ2: the head is the original's");
	for (size_t len; !end && (len = block_len(a + at, was->len - at)); at += len, blocks++) {
		bool same = true;

		end = rst_be32(a + at) == 2 && rst_be16(a + at + 4) == 0xff00;
		for (size_t i = 0; i < len; i++) {
			if (a[at + i] == b[at + i])
				continue;
			same = false;
			printf("# block %zu, byte %zu: 0x%02x was 0x%02x\n", blocks + 1, i, b[at + i], a[at + i]);
			/* Header, PREG and PAVADIFF stand there raw; readers set the cpu, where 2.09 had other bits. */
			known &= !blocks && ((i == 10 + 24 + 9 && (a[at + i] & 0x3f) == b[at + i]) ||
					     (i == 10 + 48 + 2 && (a[at + i] & 0x1f) == b[at + i]));
		}
		differ += !same;
	}
	ok(end && was->len - at == 184, "RZ2: %zu blocks, the last is the end's", blocks);
	ok(known && differ == 1, "RZ2: %zu of %zu blocks are identical; the first differs in bits of PREG and PAVADIFF that readers overwrite",
	   blocks - differ, blocks);
	ok(!memcmp(a + at, b + at, 184), "RZ2: the counters of the footer are the original's");
}

/* --- RZ3 ---------------------------------------------------------------------------------------------------- */

static size_t section_len(const uint8_t *p, size_t left)
{
	if (left < 232 || memcmp(p, "3ZR SHDR297302$", 16) || rst_be64(p + 24) > left)
		return 0;
	return rst_be64(p + 24);
}

static void compare_rz3(const struct strbuf *was, const struct strbuf *is)
{
	static const uint8_t widths[50] = { 2, 8, 1, 10, 1, 8, 32, 1, 1, 3, 7, 11, 13, 15, 18, 21, 25, 64, 1, 1, 8, 1, 8, 1, 3, 8, 32, 1,
					    13, 1, 1, 1, 13, 1, 1, 30, 49, 1, 32, 1, 1, 1, 1, 3, 10, 32, 8, 5, 1, 1 };
	const uint8_t *a = (const uint8_t *)was->buf, *b = (const uint8_t *)is->buf;
	size_t at = 24, sections = 0, arrays = 0, tails = 0, bad = 0;

	ok(is->len >= 24 && !memcmp(a, b, 24), "RZ3: the head is the original's (3.%u)", a[17]);
	for (size_t len; (len = section_len(a + at, was->len - at)); at += len, sections++) {
		size_t p = at + 232;

		if (len > is->len - at || memcmp(a + at, b + at, 20) || memcmp(a + at + 24, b + at + 24, 208)) {
			bad++;
			printf("# section %zu: another head\n", sections);
			break;
		}
		for (size_t i = 0; i < 50; i++, arrays++) {
			unsigned int width = a[17] > 19 ? widths[i] : i == 3 ? 6 : i == 5 ? 7 : i == 35 ? 26 : widths[i];
			uint64_t bits = (uint64_t)rst_be32(a + at + 32 + 4 * i) * width, words = (bits + 63) / 64;

			for (uint64_t w = 0; w < words; w++, p += 8) {
				uint64_t d = rst_be64(a + p) ^ rst_be64(b + p), used = bits - w * 64;
				uint64_t mask = used >= 64 ? UINT64_MAX : (1ULL << used) - 1;

				bad += (d & mask) != 0;
				tails += d != 0 && !(d & mask);
			}
		}
	}
	is_int(0, bad, "RZ3: %zu sections, %zu arrays are the original's; %zu differ in the unused bits at their end", sections, arrays, tails);
	ok(sections > 0 && is->len == at, "RZ3: and nothing else was written");
}

/* --- findings ------------------------------------------------------------------------------------------------- */

#define MAX_FOUND 100000
static struct found { unsigned int rule; uint64_t recno; } want[MAX_FOUND], got[MAX_FOUND];
static size_t n_want, n_got;

static void expect(unsigned int rule, uint64_t recno)
{
	if (n_want < MAX_FOUND)
		want[n_want++] = (struct found){ rule, recno };
}

static void report(void *arg, unsigned int rule, enum check_severity sev, uint64_t recno, const char *text)
{
	if (n_got < MAX_FOUND)
		got[n_got++] = (struct found){ rule, recno };
}

static int compare_found(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return x->recno != y->recno ? x->recno < y->recno ? -1 : 1 : (int)x->rule - (int)y->rule;
}

/* Bicc, BPcc, FBfcc, FBPfcc or BPr. */
static bool is_branch(uint32_t w)
{
	unsigned int op2 = w >> 22 & 7;

	return w >> 30 == 0 && (op2 == 1 || op2 == 2 || op2 == 3 || op2 == 5 || op2 == 6);
}

/* What is wrong with the trace, as far as a record and the instruction before it tell. */
static void find_by_hand(const uint8_t *recs, size_t n)
{
	const uint8_t *last = NULL;

	for (size_t i = 0; i < n; i++) {
		const uint8_t *r = recs + i * RST_REC_SIZE;
		uint32_t w = rst_instr_word(r), before = last ? rst_instr_word(last) : 0;

		if (r[0] != RST_INSTR)
			continue;
		/* Loads and stores without their address: this producer never gave one. */
		if (w >> 30 == 3 && !(r[1] & (RST_I_EA | RST_I_AN)))
			expect(14, i);
		/* A branch with the annul bit and without its slot: not taken, the one after the slot follows; always taken, its target. */
		if (last && is_branch(before) && before & 0x20000000 && !(last[1] & (RST_I_AN | RST_I_TR)) &&
		    rst_instr_pc(r) == (last[1] & RST_I_BT ? rst_instr_ea(last) : rst_instr_pc(last) + 8) &&
		    (!(last[1] & RST_I_BT) || (before >> 25 & 15) == 8))
			expect(42, i);
		last = r;
	}
}

static void compare_findings(const uint8_t *recs, size_t n, const char *name)
{
	struct check *c;

	n_got = 0;
	check_new(&c, CHECK_ALL, report, NULL);
	for (size_t i = 0; i < n; i++)
		check_record(c, recs + i * RST_REC_SIZE);
	check_end(c, 0);
	check_free(c);
	qsort(want, n_want, sizeof(*want), compare_found);
	qsort(got, n_got, sizeof(*got), compare_found);
	if (!ok(n_got == n_want && !memcmp(got, want, n_got * sizeof(*got)), "%s: the checker finds these %zu places and no other", name,
		n_want))
		for (size_t i = 0, said = 0; i < MAX(n_got, n_want) && said < 10; i++)
			if (i >= n_got || i >= n_want || compare_found(&got[i], &want[i])) {
				printf("# %zu: rule %u at %" PRIu64 ", expected rule %u at %" PRIu64 "\n", i, i < n_got ? got[i].rule : 0,
				       i < n_got ? got[i].recno : 0, i < n_want ? want[i].rule : 0, i < n_want ? want[i].recno : 0);
				said++;
			}
}

static void one_file(const char *path, const char *name)
{
	AUTO_STRBUF packed = STRBUF_INIT_CAP(CAP);
	AUTO_STRBUF was = STRBUF_INIT_CAP(CAP);
	AUTO_STRBUF is = STRBUF_INIT_CAP(CAP);
	AUTO_STRBUF recs = STRBUF_INIT_CAP(CAP);
	struct rst_in_info info;
	uint64_t n;

	if (!ok(io_slurp(AT_FDCWD, path, &packed) >= 0, "%s", name))
		return;
	gunzip(&packed, &was);
	pack_again(&packed, &is, &recs, &info);
	if (info.container == RST_RZ2)
		compare_rz2(&was, &is);
	else
		compare_rz3(&was, &is);
	n = recs.len / RST_REC_SIZE;
	n_want = 0;
	/* Those known of the two traces that lie there: stale bytes, what the producer left out, fetch traps. */
	if (n == 1048579) {
		expect(4, 1), expect(8, 1), expect(8, 2), expect(7, 3);
	} else if (n == 263183) {
		for (uint64_t i = 0; i < 10; i++)
			if (i != 3)
				expect(8, i);
		expect(21, 132680), expect(21, 154403);
	} else {
		return;
	}
	find_by_hand((const uint8_t *)recs.buf, n);
	compare_findings((const uint8_t *)recs.buf, n, name);
}

int main(void)
{
	const char *data = getenv("OPJIT_TEST_DATA"), *top = getenv("abs_top_srcdir");
	char dir[4096], path[4400];
	struct dirent *d;
	DIR *files;
	unsigned int n = 0;

	snprintf(dir, sizeof(dir), "%s%s/rst", data ? data : top ? top : ".", data ? "" : "/../shared/data");
	files = opendir(dir);
	while (files && (d = readdir(files))) {
		size_t len = strlen(d->d_name);

		if (len < 7 || (strcmp(d->d_name + len - 7, ".rz2.gz") && strcmp(d->d_name + len - 7, ".rz3.gz")))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, d->d_name);
		one_file(path, d->d_name);
		n++;
	}
	if (files)
		closedir(files);
	if (!n)
		skip("no real traces here");
	return done_testing();
}
