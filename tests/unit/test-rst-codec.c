/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Compression: random, adversarial and plausible streams through every form; cuts and flipped bytes. */
#include <errno.h>

#include "format/rst/stream.h"
#include "lib/strbuf.h"
#include "lib/tap.h"
#include "rst-gen.h"
#include "tests/unit/rst-mem.h"

static int pack(const struct rst_out_opts *o, const uint8_t *recs, size_t n, struct strbuf *out, uint64_t *bad_rec)
{
	struct rst_out *w;
	struct rst_out_info info;
	int rc = rst_out_new(&w, o, write_mem, out);

	for (size_t i = 0; i < n && !rc; i += 1000)
		rc = rst_out_write(w, recs + i * RST_REC_SIZE, MIN(n - i, (size_t)1000));
	if (!rc)
		rc = rst_out_finish(w, NULL, 0);
	rst_out_info(w, &info);
	if (bad_rec)
		*bad_rec = info.bad_rec;
	rst_out_free(w);
	return rc;
}

/* Everything that can be read; the last return of rst_in_read. */
static ssize_t unpack(const void *data, size_t len, size_t step, struct strbuf *out, struct rst_in_info *info)
{
	struct mem m = { data, len, step };
	const char *why;
	struct rst_in *in;
	static uint8_t recs[777 * RST_REC_SIZE];
	ssize_t n = rst_in_new(&in, read_mem, &m, &why);

	memset(info, 0, sizeof(*info));
	if (n)
		return n;
	while ((n = rst_in_read(in, recs, 777)) > 0)
		strbuf_add(out, recs, (size_t)n * RST_REC_SIZE);
	rst_in_info(in, info);
	rst_in_free(in);
	return n;
}

/* 0, the error of packing or unpacking, or 1: they differ. */
static int comes_back(const struct rst_out_opts *o, const uint8_t *recs, size_t n, size_t *size)
{
	AUTO_STRBUF packed = STRBUF_INIT;
	AUTO_STRBUF back = STRBUF_INIT;
	struct rst_in_info info;
	int rc = pack(o, recs, n, &packed, NULL);
	ssize_t end = rc ? rc : unpack(packed.buf, packed.len, n > 100000 ? 0 : 61, &back, &info);

	if (size)
		*size = packed.len;
	return end ? (int)end : back.len != n * RST_REC_SIZE || memcmp(back.buf, recs, back.len);
}

static const struct rst_out_opts forms[] = {
	{ .container = RST_RAW }, { .container = RST_RAW, .gzip_level = 6 }, { .container = RST_RZ2, .rz2_up = -1 },
	{ .container = RST_RZ2, .rz2_up = -1, .gzip_level = 9 }, { .container = RST_RZ3 }, { .container = RST_RZ3, .gzip_level = 1 },
	{ .container = RST_RZX }, { .container = RST_RZX, .rzx_level = 1 }, { .container = RST_RZX, .rzx_level = 2, .gzip_level = 1 },
};

#ifdef __SANITIZE_ADDRESS__
#define ROUNDS 15 /* slow there, and the same code */
#else
#define ROUNDS 60
#endif

static void plausible(void)
{
	size_t n = 30000;
	uint8_t *recs = malloc(n * RST_REC_SIZE);
	uint64_t seed = 11;

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		unsigned int cpus = i % 2 ? 7 : 1;
		size_t size = 0;
		bool good;

		gen_program(recs, n, i % 3 ? 213 : 210, cpus, &seed);
		good = !comes_back(&forms[i], recs, n, &size);
		ok(good, "%s%s, %u cpus: %zu records come back (%zu bytes)",
		   rst_container_name(forms[i].container), forms[i].gzip_level ? " in gzip" : "", cpus, n, size);
	}
	free(recs);
}

/* Records of all types with random fields: rzx holds them, the others hold or refuse. */
static void random_records(void)
{
	uint64_t seed = 5;
	unsigned int wrong = 0, held = 0, refused = 0;
	uint8_t recs[64 * RST_REC_SIZE];

	for (int round = 0; round < ROUNDS; round++) {
		unsigned int version = round % 2 ? 213 : 209;
		size_t n = 1 + gen_next(&seed) % 63;

		rst_header_make(recs, version);
		for (size_t i = 1; i < n; i++) {
			gen_random(recs + i * RST_REC_SIZE, (uint8_t)(round < 30 ? 2 + gen_next(&seed) % 34 : 3u + (unsigned int)round % 32), version, &seed);
			if (round % 10 == 9) /* pure noise */
				for (size_t k = 0; k < RST_REC_SIZE; k++)
					recs[i * RST_REC_SIZE + k] = (uint8_t)gen_next(&seed);
		}
		for (size_t f = 0; f < ARRAY_SIZE(forms); f++) {
			AUTO_STRBUF packed = STRBUF_INIT;
			AUTO_STRBUF back = STRBUF_INIT;
			struct rst_in_info info;
			int rc;

			if (f == 8 && round % 16)
				continue;
			rc = pack(&forms[f], recs, n, &packed, NULL);
			if (rc == -EILSEQ && (forms[f].container == RST_RZ2 || forms[f].container == RST_RZ3)) {
				refused++;
				continue;
			}
			held++;
			wrong += rc || unpack(packed.buf, packed.len, 0, &back, &info) || back.len != n * RST_REC_SIZE ||
				 memcmp(back.buf, recs, back.len);
		}
	}
	is_int(0, wrong, "random records: identical or refused (%u held, %u refused)", held, refused);
	ok(held > ROUNDS && refused > ROUNDS, "both happened, more than once a round");
}

/* The same record over and over, records that differ in one bit, values that hit the caches' corners. */
static void adversarial(void)
{
	size_t n = 4000;
	uint8_t *recs = calloc(n, RST_REC_SIZE);
	uint64_t seed = 3;
	static const char *const names[] = { "one record over and over", "one bit set at random", "pc 0 and pc −4", "many cpus",
					     "values around the caches", "long gaps between instructions" };

	for (unsigned int kind = 0; kind < ARRAY_SIZE(names); kind++) {
		unsigned int wrong = 0;

		for (size_t i = 0; i < n; i++) {
			uint8_t *r = recs + i * RST_REC_SIZE;

			memset(r, 0, RST_REC_SIZE);
			r[0] = RST_INSTR;
			rst_put32(r + 4, 0x82006001);
			rst_put64(r + 8, 0x1000 + 4 * (i % 2000));
			if (kind == 0)
				rst_put64(r + 8, 0x4000);
			if (kind == 1 && i % 3 == 0)
				r[4 + gen_next(&seed) % 20] ^= (uint8_t)(1 << gen_next(&seed) % 8);
			if (kind == 2)
				rst_put64(r + 8, i % 2 ? 0 : UINT64_MAX - 3);
			if (kind == 3)
				rst_rec_set_cpu(r, 213, (unsigned int)(gen_next(&seed) % (i % 2 ? 64 : 900)));
			if (kind == 4) {
				r[0] = RST_REGVAL;
				r[1] = 0x80;
				r[2] = 1;
				r[3] = i % 3 ? 5 : 1;
				memset(r + 4, 0, 4);
				rst_put64(r + 8, 65535 * (gen_next(&seed) % 7) + gen_next(&seed) % 3);
				if (r[3] == 1)
					rst_put64(r + 16, UINT64_MAX - gen_next(&seed) % 2);
				else
					rst_put64(r + 16, 0);
			}
			if (kind == 5 && i % 500) {
				memset(r, 0, RST_REC_SIZE);
				r[0] = RST_CPU;
				rst_put64(r + 16, i);
			}
		}
		rst_header_make(recs, 213);
		for (size_t f = 2; f < ARRAY_SIZE(forms); f++) {
			int rc = comes_back(&forms[f], recs, n, NULL);

			if (rc == -EILSEQ && forms[f].container != RST_RZX)
				continue;
			wrong += rc != 0;
		}
		is_int(0, wrong, "%s: identical or refused", names[kind]);
	}
	free(recs);
}

static void lossy_is_refused(void)
{
	uint8_t recs[3 * RST_REC_SIZE];
	AUTO_STRBUF out = STRBUF_INIT;
	uint64_t bad = 0;

	rst_header_make(recs, 213);
	gen_hex(recs + RST_REC_SIZE, "13800000 3fff3fff 00000000 00002000 00000000 00002000"); /* 14-bit contexts */
	gen_hex(recs + 2 * RST_REC_SIZE, "03400000 c4586008 00000000 00010000 00000002 00000000");
	is_int(-EILSEQ, pack(&forms[4], recs, 3, &out, &bad), "RZ3 refuses contexts beyond 13 bits");
	is_int(1, bad, "and names the record");
	gen_hex(recs + RST_REC_SIZE, "03000040 82006001 00000000 00010000 0 0"); /* cpu 64 */
	strbuf_reset(&out);
	is_int(-EILSEQ, pack(&forms[2], recs, 2, &out, &bad), "RZ2 refuses cpu 64");
	gen_hex(recs + RST_REC_SIZE, "a1000000 00000000 0 0 0 0");
	strbuf_reset(&out);
	is_int(-EILSEQ, pack(&forms[2], recs, 2, &out, &bad), "RZ2 refuses types that are its own tags");
}

/* Cuts and flipped bytes: what was whole comes out, an offset is told, nothing else happens. */
static void damage(void)
{
	uint8_t *recs = malloc(270000 * RST_REC_SIZE);
	uint64_t seed = 21;

	gen_program(recs, 270000, 213, 3, &seed);
	for (size_t f = 2; f < ARRAY_SIZE(forms) - 2; f++) {
		AUTO_STRBUF packed = STRBUF_INIT;
		unsigned int silent = 0, wrong = 0, whole = 0, tries = 0;
		/* Enough for more than one section. */
		size_t n = forms[f].container == RST_RZX ? 270000 : forms[f].container == RST_RZ3 ? 140000 : 70000;
		bool checked = forms[f].container == RST_RZX;

		if (pack(&forms[f], recs, n, &packed, NULL)) {
			ok(false, "packs");
			continue;
		}
		for (int i = 0; i < 8; i++, tries++) {
			AUTO_STRBUF back = STRBUF_INIT;
			struct rst_in_info info;
			AUTO_FREE char *copy = malloc(packed.len);
			size_t at = i % 4 == 3 ? packed.len - 14 : packed.len * (size_t)(i % 4 * 2 + 1) / 8, len = packed.len;
			bool cut = i < 4;
			ssize_t rc;

			memcpy(copy, packed.buf, packed.len);
			if (cut)
				len = at;
			else
				copy[at] ^= 0x10;
			rc = unpack(copy, len, 0, &back, &info);
			silent += rc >= 0 && (cut || checked || forms[f].gzip_level);
			/* A flipped bit in an unchecked form may change records; a cut never does. */
			if (cut || checked)
				wrong += back.len > n * RST_REC_SIZE || memcmp(back.buf ? back.buf : "", recs, back.len);
			whole += back.len > 0;
			wrong += rc < 0 && info.container && (!info.fault || info.n_recs * RST_REC_SIZE != back.len);
		}
		ok(!silent && !wrong && whole, "%s%s: %u of %u damaged files gave whole sections, all were told",
		   rst_container_name(forms[f].container), forms[f].gzip_level ? " in gzip" : "", whole, tries);
	}
	free(recs);
}

static void fragments(void)
{
	uint8_t recs[2 * RST_REC_SIZE + 7];
	AUTO_STRBUF back = STRBUF_INIT;
	struct rst_in_info info;
	struct rst_out *w;
	AUTO_STRBUF packed = STRBUF_INIT;

	memset(recs, 7, sizeof(recs));
	rst_header_make(recs, 213);
	is_int(-EBADMSG, unpack(recs, sizeof(recs), 0, &back, &info), "a part of a record at the end is told");
	ok(back.len == 2 * RST_REC_SIZE && info.n_fragment == 7 && info.data_offset == 48, "and where it begins");
	rst_out_new(&w, &forms[6], write_mem, &packed);
	rst_out_write(w, recs, 2);
	is_int(0, rst_out_finish(w, recs + 48, 7), "rzx keeps it");
	rst_out_free(w);
	strbuf_reset(&back);
	unpack(packed.buf, packed.len, 1, &back, &info);
	ok(back.len == 48 && info.n_fragment == 7 && !memcmp(info.fragment, recs + 48, 7), "and gives it back");
	is_int(-ENODATA, unpack("", 0, 0, &back, &info), "an empty file is no trace");
	is_int(-EPROTONOSUPPORT, unpack("RZ1 -- x", 8, 0, &back, &info), "RZ1 is refused by name");
	is_int(-EBADMSG, unpack("hello, world", 12, 0, &back, &info), "text is no trace");
}

int main(void)
{
	plausible();
	random_records();
	adversarial();
	lossy_is_refused();
	damage();
	fragments();
	return done_testing();
}
