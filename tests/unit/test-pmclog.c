/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pmclog reader: vectors, states, errno, every split, every cut, and each defect that such parsers had. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "format/evlog/pmclog.h"
#include "format/evlog/text.h"
#include "format/evlog/evlog.h"
#include "lib/tap.h"
#include "tests/unit/evlog-gen.h"
#include "tests/unit/vectors.h"

struct result {
	struct strbuf text;
	size_t n;
	int state, err;
	size_t partial;
	off_t at;
};
static void result_done(struct result *r)
{
	strbuf_done(&r->text);
}

static struct pmclog_ev ev;

static void drain(void *p, struct result *r)
{
	while (!pmclog_read(p, &ev)) {
		pmclog_text(&r->text, &ev);
		strbuf_addch(&r->text, '\n');
		r->n++;
	}
	r->err = errno;
	r->state = (int)ev.pl_state;
	r->partial = ev.pl_partial;
	r->at = ev.pl_offset;
}

static struct result feed_in(const uint8_t *d, size_t len, size_t step, const struct pmclog_options *o)
{
	struct result r = { .text = STRBUF_INIT };
	void *p = pmclog_open_opts(PMCLOG_FD_NONE, o);
	size_t pos = 0;

	while (pos < len) {
		size_t n = MIN(step, len - pos);
		if (pmclog_feed(p, (const char *)d + pos, (int)n))
			break; /* only after an error */
		pos += n;
		drain(p, &r);
		if (r.state == PMCLOG_ERROR)
			break;
	}
	pmclog_close(p);
	return r;
}

static int data_fd(const uint8_t *d, size_t len)
{
	char name[] = "/tmp/test-pmclog-XXXXXX";
	int fd = mkstemp(name);
	unlink(name);
	if (write(fd, d, len) != (ssize_t)len)
		return -1;
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static struct result read_fd(const uint8_t *d, size_t len, const struct pmclog_options *o)
{
	struct result r = { .text = STRBUF_INIT };
	int fd = data_fd(d, len);
	void *p = pmclog_open_opts(fd, o);

	drain(p, &r);
	pmclog_close(p);
	close(fd);
	return r;
}

static bool same(const struct result *a, const struct result *b)
{
	return a->n == b->n && !strcmp(strbuf_str(&a->text), strbuf_str(&b->text)) && (a->state == PMCLOG_ERROR) == (b->state == PMCLOG_ERROR);
}

/* Whole, at every split in two, byte by byte, and from a file: the same records. */
static void all_splits(const char *name, const uint8_t *d, size_t len, const struct pmclog_options *o, const struct result *want)
{
	int wrong = 0;

	for (size_t k = 0; k <= len; k++) {
		struct result r = { .text = STRBUF_INIT };
		void *p = pmclog_open_opts(PMCLOG_FD_NONE, o);
		pmclog_feed(p, (const char *)d, (int)k);
		drain(p, &r);
		if (r.state != PMCLOG_ERROR) {
			pmclog_feed(p, (const char *)d + k, (int)(len - k));
			drain(p, &r);
		}
		wrong += !same(want, &r);
		result_done(&r);
		pmclog_close(p);
	}
	for (size_t step = 1; step <= 13; step++) {
		struct result r = feed_in(d, len, step, o);
		wrong += !same(want, &r);
		result_done(&r);
	}
	is_int(0, wrong, "%s: fed at every split and in small steps gives the same", name);
}

static const struct {
	const char *name, *text;
} wanted[] = {
	{ "B1", "1000.000000500 initialize offset=0 len=20 version=0x1000000 arch=0x85 freq=0 start=1000.000000500 cpuid=\"\"\n"
		"1000.000000500 pcsample offset=20 len=28 pid=1234 tid=-1 pmcid=0x201 pc=0x8048123 usermode=0\n"
		"1000.000000500 mappingchange offset=48 len=44 kind=1 pid=1234 start=0x8048000 end=0x804d000 path=\"/bin/ls\"\n"
		"1000.000000500 closelog offset=92 len=12\n" },
	{ "B2", "1000.000000500 initialize offset=0 len=20 version=0x3010000 arch=0x89 freq=0 start=1000.000000500 cpuid=\"\"\n"
		"1000.000000500 pmcallocate offset=20 len=24 pmcid=0xff020701 event=119 flags=0x80 rate=0\n"
		"1000.000000500 pmcattach offset=44 len=28 pmcid=0xff020701 pid=1234 path=\"/bin/ls\"\n"
		"1000.000000500 map_in offset=72 len=32 pid=1234 start=0x400000 path=\"/bin/ls\"\n"
		"1000.000000500 pcsample offset=104 len=32 pid=1234 tid=-1 pmcid=0xff020701 pc=0x400123 usermode=1\n"
		"1000.000000500 callchain offset=136 len=40 pid=1234 tid=-1 pmcid=0xff020701 cpu=3 flags=0x1 mode=\"user\" pc=[0x400123,0x400999]\n"
		"1000.000000500 dropnotify offset=176 len=12\n"
		"1000.000000500 proccsw offset=188 len=28 pmcid=0xff020701 pid=1234 tid=-1 value=73588229205\n"
		"1000.000000500 map_out offset=216 len=32 pid=1234 start=0x400000 end=0x409000\n"
		"1000.000000500 userdata offset=248 len=16 data=0xcafe\n"
		"1000.000000500 sysexit offset=264 len=16 pid=1234\n"
		"1000.000000500 closelog offset=280 len=12\n" },
	{ "B3", "1000.000000500 initialize offset=0 len=20 version=0x3010000 arch=0x89 freq=0 start=1000.000000500 cpuid=\"\"\n"
		"1000.000000500 pmcallocate offset=20 len=24 pmcid=0xff020701 event=119 flags=0x80 rate=0\n"
		"1000.000000500 pmcattach offset=44 len=28 pmcid=0xff020701 pid=1234 path=\"/bin/ls\"\n"
		"1000.000000500 map_in offset=72 len=28 pid=1234 start=0x400000 path=\"/bin/ls\"\n"
		"1000.000000500 pcsample offset=100 len=28 pid=1234 tid=-1 pmcid=0xff020701 pc=0x400123 usermode=1\n"
		"1000.000000500 callchain offset=128 len=32 pid=1234 tid=-1 pmcid=0xff020701 cpu=3 flags=0x1 mode=\"user\" pc=[0x400123,0x400999]\n"
		"1000.000000500 dropnotify offset=160 len=12\n"
		"1000.000000500 proccsw offset=172 len=28 pmcid=0xff020701 pid=1234 tid=-1 value=73588229205\n"
		"1000.000000500 map_out offset=200 len=24 pid=1234 start=0x400000 end=0x409000\n"
		"1000.000000500 userdata offset=224 len=16 data=0xcafe\n"
		"1000.000000500 sysexit offset=240 len=16 pid=1234\n"
		"1000.000000500 closelog offset=256 len=12\n" },
	{ "B5", "1700000000.000000005 initialize offset=0 len=112 tsc=16 version=0xa010000 arch=0x8b freq=2000000000 start=1700000000.000000005 cpuid=\"GenuineIntel-6-55-4\"\n"
		"1700000000.000000013 thr_create offset=112 len=52 tsc=32 tid=101 pid=100 flags=0x0 name=\"worker\"\n"
		"1700000000.000000021 callchain offset=164 len=48 tsc=48 pid=100 tid=101 pmcid=0x7 cpu=2 flags=0x1 mode=\"user\" pc=[0x401000,0x402000]\n"
		"1700000000.000000029 thr_exit offset=212 len=24 tsc=64 tid=101\n"
		"1700000000.000000037 closelog offset=236 len=16 tsc=80\n" },
};

/* Every 32-bit word turned round, text excepted: what a big-endian machine would have written. */
static void to_big(uint8_t *d, size_t len)
{
	for (size_t at = 0; at + 4 <= len;) {
		uint32_t w, rec, type;
		size_t text, k;
		memcpy(&w, d + at, 4);
		rec = w & 0xffff;
		type = w >> 16 & 0xff;
		text = type == 6 ? 20 : type == 14 ? 24 : type == 3 ? 36 : rec; /* 64-bit addresses, 12-byte header */
		for (k = 0; k < text; k += 4) {
			uint32_t v;
			memcpy(&v, d + at + k, 4);
			v = __builtin_bswap32(v);
			memcpy(d + at + k, &v, 4);
		}
		at += rec;
	}
}

static void test_vectors(void)
{
	struct pmclog_options strict = { .size = sizeof(strict) };

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		const struct vector *v = vector_named(wanted[i].name);
		struct result r = feed_in(v->data, v->len, v->len, &strict), f = read_fd(v->data, v->len, &strict);
		is_str(wanted[i].text, strbuf_str(&r.text), "%s", v->name);
		ok(r.state == PMCLOG_EOF && r.err == 0, "%s: after CLOSELOG the end, for fed bytes too", v->name);
		ok(same(&r, &f) && f.state == PMCLOG_EOF && f.err == 0, "%s from a descriptor", v->name);
		all_splits(v->name, v->data, v->len, &strict, &r);
		result_done(&r);
		result_done(&f);
	}
	/* B2 as a big-endian 64-bit machine writes it: 64-bit values are middle-endian */
	for (size_t i = 0; i < 2; i++) {
		struct vector v = *vector_named(wanted[i].name);
		struct pmclog_options be = { .size = sizeof(be), .byte_order = 2 }, le = { .size = sizeof(le), .byte_order = 1 };
		to_big(v.data, v.len);
		struct result r = feed_in(v.data, v.len, v.len, &strict);
		is_str(wanted[i].text, strbuf_str(&r.text), "%s in big-endian", v.name);
		all_splits("big-endian", v.data, v.len, &strict, &r);
		struct result b = feed_in(v.data, v.len, v.len, &be), l = feed_in(v.data, v.len, v.len, &le);
		ok(same(&r, &b), "byte order given");
		ok(l.state == PMCLOG_ERROR && l.err == EBADMSG && !l.n, "the wrong order given is an error");
		result_done(&r);
		result_done(&b);
		result_done(&l);
	}
}

static void refuse(const char *name, const uint8_t *d, size_t len, size_t before, int err, off_t at)
{
	struct pmclog_options o = { .size = sizeof(o) };
	struct result r = feed_in(d, len, 1, &o);
	void *p;

	ok(r.state == PMCLOG_ERROR && r.err == err && r.n == before && r.at == at, "%s: ERROR at %ld", name, (long)at);
	if (r.state != PMCLOG_ERROR || r.err != err || r.n != before || r.at != at)
		printf("# state %d errno %d records %zu at %ld\n", r.state, r.err, r.n, (long)r.at);
	all_splits(name, d, len, &o, &r);
	result_done(&r);
	/* and it stays */
	p = pmclog_open_opts(PMCLOG_FD_NONE, &o);
	pmclog_feed(p, (const char *)d, (int)len);
	while (!pmclog_read(p, &ev))
		;
	errno = 0;
	ok(pmclog_read(p, &ev) == -1 && ev.pl_state == PMCLOG_ERROR && errno == err, "%s: and it stays so", name);
	pmclog_close(p);
}

static size_t put(uint8_t *d, size_t at, const uint32_t *w, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t v = htole32(w[i]);
		memcpy(d + at + i * 4, &v, 4);
	}
	return at + n * 4;
}
#define PUT(...) at = put(d, at, (const uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4)
#define HEAD(type, len) 0xee000000u | (type) << 16 | (len)
#define INIT12 HEAD(2u, 20), 1, 2, 0x03010000, 0x89
#define CLOSE12 HEAD(0u, 12), 1, 2

static void test_refused(void)
{
	static const char *const bad[] = { "BX1", "BX3", "BX4", "BX5", "BX7" };
	uint8_t d[70000];
	size_t at;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const struct vector *v = vector_named(bad[i]);
		refuse(v->name, v->data, v->len, 0, EBADMSG, 0);
	}
	for (uint32_t len = 1; len < 12; len++) {
		at = 0;
		PUT(INIT12, HEAD(16u, len));
		refuse("shorter than a header", d, at, 1, EBADMSG, 20);
	}
	at = 0;
	PUT(INIT12, HEAD(16u, 0));
	refuse("length 0 later", d, at, 1, EBADMSG, 20);
	at = 0;
	PUT(INIT12, HEAD(16u, 65535));
	refuse("65535 bytes: not a multiple of 4", d, at, 1, EBADMSG, 20);
	at = 0;
	PUT(INIT12, HEAD(16u, 65532));
	refuse("65532 bytes: more frames than there may be", d, at, 1, EBADMSG, 20);
	at = 0;
	PUT(INIT12, HEAD(14u, 65532));
	refuse("a path without end", d, at, 1, EBADMSG, 20);
	at = 0;
	PUT(HEAD(1u, 12), 1, 2);
	refuse("does not begin with INITIALIZE", d, at, 0, EPROTO, 0);
	at = 0;
	PUT(HEAD(5u, 24), 1, 2, 3, 4, 5);
	refuse("begins with PMCALLOCATE", d, at, 0, EPROTO, 0);
	at = 0;
	PUT(INIT12, HEAD(99u, 16), 1, 2, 3);
	refuse("a type that nobody knows", d, at, 1, ENOTSUP, 20);
	at = 0;
	PUT(INIT12, HEAD(14u, 28), 1, 2, 77, 0x400000, 0x6e69622f, 0x736c2f2f);
	refuse("a path without NUL", d, at, 1, EBADMSG, 20);
	at = 0;
	PUT(INIT12, CLOSE12, INIT12);
	refuse("bytes after CLOSELOG", d, at, 2, EBADMSG, 32);
	at = 0;
	PUT(INIT12, HEAD(5u, 20), 1, 2, 3, 4);
	refuse("PMCALLOCATE cut", d, at, 1, EBADMSG, 20);
	at = 0;
	PUT(INIT12, HEAD(15u, 32), 1, 2, 7, 0x1000, 0, 0x2000, 0, HEAD(15u, 24), 1, 2, 7, 0x1000, 0x2000);
	refuse("addresses that change their width", d, at, 2, EBADMSG, 52);
	/* a multipart chain of the current format whose part is longer than the record */
	at = 0;
	PUT(HEAD(3u, 24), 0, 1, 0, 0x0a010000, 0x8b, HEAD(16u, 48), 0, 9, 0, 1, 2, 3, 2, 0x0201, 0, 0x1000, 0);
	refuse("a part longer than its record", d, at, 1, EBADMSG, 24);
}

static void test_lenient(void)
{
	struct pmclog_options o = { .size = sizeof(o), .lenient = 1 };
	uint8_t d[1024];
	size_t at = 0;
	struct result r;

	PUT(INIT12, HEAD(99u, 16), 1, 2, 3, CLOSE12, HEAD(3u, 24), 0, 5, 0, 0x0a010000, 0x8b, HEAD(1u, 16), 0, 6, 0);
	r = feed_in(d, at, at, &o);
	is_str("1.000000002 initialize offset=0 len=20 version=0x3010000 arch=0x89 freq=0 start=1.000000002 cpuid=\"\"\n"
	       "1.000000002 unknown offset=20 len=16 number=99 data=\"100063ee010000000200000003000000\"\n"
	       "1.000000002 closelog offset=36 len=12\n"
	       "0.000000000 initialize offset=48 len=24 tsc=5 version=0xa010000 arch=0x8b freq=0 start=0.000000000 cpuid=\"\"\n"
	       "0.000000000 closelog offset=72 len=16 tsc=6\n", strbuf_str(&r.text), "lenient: unknown types are skipped, a new log may follow");
	all_splits("lenient", d, at, &o, &r);
	result_done(&r);
}

/* More of each numbering and width than the vectors have. */
static void test_layouts(void)
{
	struct pmclog_options strict = { .size = sizeof(strict) }, w8 = strict, w4 = strict;
	uint8_t d[2048];
	size_t at = 0;
	struct result r;

	w8.pointer_bytes = 8;
	w4.pointer_bytes = 4;
	/* the same 28 bytes: 2005 with 64-bit addresses, or later with 32-bit ones */
	PUT(INIT12, HEAD(4u, 28), 1, 2, 77, 0x400123, 0x11, 0x22);
	r = feed_in(d, at, at, &strict);
	ok(strstr(strbuf_str(&r.text), "pmcid=0x11 pc=0x400123 usermode=34"), "28 bytes under driver 3: 32-bit addresses");
	result_done(&r);
	r = feed_in(d, at, at, &w8);
	ok(strstr(strbuf_str(&r.text), "pmcid=0x22 pc=0x1100400123 usermode=0"), "28 bytes and 8-byte addresses: the 2005 layout");
	result_done(&r);
	/* 2005, 32-bit */
	at = 0;
	PUT(HEAD(2u, 20), 1, 2, 0x01000000, 0x85, HEAD(3u, 36), 1, 2, 2, 0x8048000, 0x804d000, 1234, 0x6e69622f, 0x736c2f,
	    HEAD(4u, 24), 1, 2, 1234, 0x8048123, 0x201, HEAD(9u, 24), 1, 2, 99, 0x6e69622f, 0x736c2f);
	r = feed_in(d, at, at, &strict);
	is_str("1.000000002 initialize offset=0 len=20 version=0x1000000 arch=0x85 freq=0 start=1.000000002 cpuid=\"\"\n"
	       "1.000000002 mappingchange offset=20 len=36 kind=2 pid=1234 start=0x8048000 end=0x804d000 path=\"/bin/ls\"\n"
	       "1.000000002 pcsample offset=56 len=24 pid=1234 tid=-1 pmcid=0x201 pc=0x8048123 usermode=0\n"
	       "1.000000002 procexec offset=80 len=24 pid=99 pmcid=0x0 base=0x0 dynbase=0x0 path=\"/bin/ls\"\n", strbuf_str(&r.text), "2005, 32-bit");
	all_splits("2005, 32-bit", d, at, &strict, &r);
	result_done(&r);
	/* the rest of the 12-byte header's types, 64-bit and 32-bit, no MAP_OUT to tell by */
	at = 0;
	PUT(INIT12, HEAD(9u, 36), 1, 2, 99, 0x401000, 0, 0xff020701, 0x6e69622f, 0x736c2f, HEAD(10u, 28), 1, 2, 7, 5, 1, 99,
	    HEAD(11u, 20), 1, 2, 10, 11, HEAD(7u, 20), 1, 2, 7, 99, HEAD(17u, 32), 1, 2, 7, 8, 9, 0x41414141, 0x00424242);
	r = feed_in(d, at, at, &strict);
	is_str("1.000000002 initialize offset=0 len=20 version=0x3010000 arch=0x89 freq=0 start=1.000000002 cpuid=\"\"\n"
	       "1.000000002 procexec offset=20 len=36 pid=99 pmcid=0xff020701 base=0x401000 dynbase=0x0 path=\"/bin/ls\"\n"
	       "1.000000002 procexit offset=56 len=28 pmcid=0x7 pid=99 value=4294967301\n"
	       "1.000000002 procfork offset=84 len=20 oldpid=10 newpid=11\n"
	       "1.000000002 pmcdetach offset=104 len=20 pmcid=0x7 pid=99\n"
	       "1.000000002 pmcallocatedyn offset=124 len=32 pmcid=0x7 event=8 flags=0x9 name=\"AAAABBB\"\n", strbuf_str(&r.text), "12-byte headers, 64-bit");
	all_splits("12-byte", d, at, &strict, &r);
	result_done(&r);
	at = 0;
	PUT(INIT12, HEAD(9u, 32), 1, 2, 99, 0x401000, 0xff020701, 0x6e69622f, 0x736c2f);
	r = feed_in(d, at, at, &strict);
	ok(strstr(strbuf_str(&r.text), "pmcid=0xff020701 base=0x401000 dynbase=0x0 path=\"/bin/ls\""), "PROCEXEC, 32-bit, found out");
	result_done(&r);
	at = 0;
	PUT(INIT12, HEAD(16u, 40), 1, 2, 99, 7, 1, 0x8048123, 0x8048456, 0x8048789, 0x8048999);
	r = feed_in(d, at, at, &strict);
	ok(strstr(strbuf_str(&r.text), "pc=[0x8048123,0x8048456,0x8048789,0x8048999]"), "CALLCHAIN, 32-bit, found out");
	result_done(&r);
	r = feed_in(d, at, at, &w8);
	ok(strstr(strbuf_str(&r.text), "pc=[0x804845608048123,0x804899908048789]"), "CALLCHAIN, 8-byte addresses as told");
	result_done(&r);
	at = 0;
	PUT(INIT12, HEAD(16u, 40), 1, 2, 99, 7, 1, 0x81000123, 0xffffffff, 0x12345678, 0x7fff);
	r = feed_in(d, at, at, &strict);
	ok(strstr(strbuf_str(&r.text), "pc=[0xffffffff81000123,0x7fff12345678]"), "CALLCHAIN, 64-bit, found out");
	result_done(&r);
	r = feed_in(d, at, at, &w4);
	ok(strstr(strbuf_str(&r.text), "pc=[0x81000123,0xffffffff,0x12345678,0x7fff]"), "4-byte addresses as told");
	result_done(&r);
	/* the current format */
	at = 0;
	PUT(HEAD(3u, 24), 0, 1, 0, 0x0a010000, 0x8b,
	    HEAD(5u, 40), 0, 2, 0, 7, 8, 9, 0, 1000, 0, HEAD(6u, 32), 0, 3, 0, 7, 99, 0x6e69622f, 0x736c2f,
	    HEAD(8u, 40), 0, 4, 0, 5, 1, 7, 99, 100, 0, HEAD(9u, 48), 0, 5, 0, 99, 7, 0x401000, 0, 0x555000, 0, 0x6e69622f, 0x736c2f,
	    HEAD(9u, 40), 0, 6, 0, 99, 7, 0x401000, 0, 0x6e69622f, 0x736c2f, HEAD(10u, 32), 0, 7, 0, 99, 7, 5, 1,
	    HEAD(11u, 24), 0, 8, 0, 10, 11, HEAD(12u, 24), 0, 9, 0, 99, 0, HEAD(13u, 24), 0, 10, 0, 0xcafe, 0,
	    HEAD(14u, 40), 0, 11, 0, 99, 0, 0x400000, 0, 0x6e69622f, 0x736c2f, HEAD(15u, 40), 0, 12, 0, 99, 0, 0x400000, 0, 0x409000, 0,
	    HEAD(20u, 44), 0, 13, 0, 99, 1, 0x00006873, 0, 0, 0, 0,
	    HEAD(16u, 64), 0, 14, 0, 99, 100, 7, 0x00030003, 0x02010102, 0, 0xf1, 0, 0x1000, 0, 0x2000, 0);
	r = feed_in(d, at, at, &strict);
	is_str("0.000000000 initialize offset=0 len=24 tsc=1 version=0xa010000 arch=0x8b freq=0 start=0.000000000 cpuid=\"\"\n"
	       "0.000000000 pmcallocate offset=24 len=40 tsc=2 pmcid=0x7 event=8 flags=0x9 rate=1000\n"
	       "0.000000000 pmcattach offset=64 len=32 tsc=3 pmcid=0x7 pid=99 path=\"/bin/ls\"\n"
	       "0.000000000 proccsw offset=96 len=40 tsc=4 pmcid=0x7 pid=99 tid=100 value=4294967301\n"
	       "0.000000000 procexec offset=136 len=48 tsc=5 pid=99 pmcid=0x7 base=0x401000 dynbase=0x555000 path=\"/bin/ls\"\n"
	       "0.000000000 procexec offset=184 len=40 tsc=6 pid=99 pmcid=0x7 base=0x401000 dynbase=0x0 path=\"/bin/ls\"\n"
	       "0.000000000 procexit offset=224 len=32 tsc=7 pmcid=0x7 pid=99 value=4294967301\n"
	       "0.000000000 procfork offset=256 len=24 tsc=8 oldpid=10 newpid=11\n"
	       "0.000000000 sysexit offset=280 len=24 tsc=9 pid=99\n"
	       "0.000000000 userdata offset=304 len=24 tsc=10 data=0xcafe\n"
	       "0.000000000 map_in offset=328 len=40 tsc=11 pid=99 start=0x400000 path=\"/bin/ls\"\n"
	       "0.000000000 map_out offset=368 len=40 tsc=12 pid=99 start=0x400000 end=0x409000\n"
	       "0.000000000 proc_create offset=408 len=44 tsc=13 pid=99 flags=0x1 name=\"sh\"\n"
	       "0.000000000 callchain offset=452 len=64 tsc=14 pid=99 tid=100 pmcid=0x7 cpu=3 flags=0x3 mode=\"user\" pc=[0x1000,0x2000] ibs_fetch=[0xf1]\n",
	       strbuf_str(&r.text), "16-byte headers, multipart chain");
	all_splits("16-byte", d, at, &strict, &r);
	result_done(&r);
}

/* What open, feed, read and close promise beyond records. */
static void test_api(void)
{
	const struct vector *v = vector_named("B2");
	struct pmclog_options o = { .size = sizeof(o), .pointer_bytes = 3 };
	char five[5] = { 0 };
	int fds[2], fd;
	void *p;

	errno = 0;
	ok(!pmclog_open_opts(-1, &o) && errno == EINVAL, "options that make no sense");
	ok(!pmclog_open(-2) && errno == EINVAL, "no such descriptor number");
	p = pmclog_open(PMCLOG_FD_NONE);
	ok(pmclog_read(p, &ev) == -1 && ev.pl_state == PMCLOG_REQUIRE_DATA, "never fed: REQUIRE_DATA");
	ok(pmclog_feed(p, five, -1) == -1 && errno == EINVAL, "negative length");
	ok(pmclog_feed(p, five, 0) == 0 && pmclog_feed(p, five, 0) == 0, "0 bytes are legal");
	ok(pmclog_feed(p, (const char *)v->data, 20) == 0, "fed INITIALIZE");
	ok(pmclog_feed(p, five, 1) == -1 && errno == EBUSY, "a second feed is refused while the first is not consumed");
	ok(pmclog_read(p, &ev) == 0 && ev.pl_count == 1 && ev.pl_offset == 0 && ev.pl_len == 20, "OK with the last byte");
	ok(!memcmp(ev.pl_data, v->data, 20), "the raw record");
	ok(pmclog_feed(p, (const char *)v->data + 20, 26) == 0, "feeding right after that is legal");
	ok(pmclog_read(p, &ev) == 0 && ev.pl_offset == 20, "offset of the record, not behind it");
	ok(pmclog_read(p, &ev) == -1 && ev.pl_state == PMCLOG_REQUIRE_DATA, "absorbed the part of a record");
	ok(pmclog_read(p, NULL) == -1 && errno == EINVAL, "no event");
	pmclog_close(p);
	pmclog_close(NULL);
	/* a pipe that has nothing yet */
	if (pipe2(fds, O_NONBLOCK))
		return;
	p = pmclog_open(fds[0]);
	ok(pmclog_read(p, &ev) == -1 && ev.pl_state == PMCLOG_REQUIRE_DATA, "EAGAIN: REQUIRE_DATA");
	ok(pmclog_feed(p, five, 1) == -1 && errno == EINVAL, "an fd parser is not fed");
	ok(write(fds[1], v->data, 30) == 30, "30 bytes into the pipe");
	ok(pmclog_read(p, &ev) == 0 && ev.pl_type == PMCLOG_TYPE_INITIALIZE, "a record");
	ok(pmclog_read(p, &ev) == -1 && ev.pl_state == PMCLOG_REQUIRE_DATA, "half a record: wait");
	close(fds[1]);
	ok(pmclog_read(p, &ev) == -1 && ev.pl_state == PMCLOG_EOF && errno == EBADMSG && ev.pl_partial == 10 && ev.pl_offset == 20,
	   "the end inside a record: EOF, EBADMSG, 10 bytes of it at 20");
	close(fds[0]);
	ok(pmclog_read(p, &ev) == -1 && ev.pl_state == PMCLOG_ERROR && errno == EBADF, "read(2) fails: its errno");
	pmclog_close(p);
	/* a file that grows */
	fd = data_fd(v->data, 50);
	p = pmclog_open(fd);
	ok(!pmclog_read(p, &ev) && !pmclog_read(p, &ev) && pmclog_read(p, &ev) && ev.pl_state == PMCLOG_EOF && ev.pl_partial == 6, "two and a bit");
	ok(pwrite(fd, v->data + 50, v->len - 50, 50) == (ssize_t)v->len - 50 && !pmclog_read(p, &ev) && ev.pl_type == PMCLOG_TYPE_PMCATTACH &&
	   ev.pl_offset == 44 && ev.pl_count == 3, "EOF is not for ever: the file has grown");
	pmclog_close(p);
	ok(fcntl(fd, F_GETFD) >= 0, "close leaves the descriptor alone");
	close(fd);
}

/* Cut at every byte: the whole records before it, then EOF and where the cut one begins. */
static void test_cut(void)
{
	static const char *const names[] = { "B1", "B2", "B3", "B5" };
	struct pmclog_options o = { .size = sizeof(o) };
	int wrong = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct vector *v = vector_named(names[i]);
		for (size_t len = 0; len < v->len; len++) {
			struct result r = read_fd(v->data, len, &o);
			size_t at = 0, n = 0;
			while (at < len) {
				size_t rec = v->data[at] | (size_t)v->data[at + 1] << 8;
				if (at + rec > len)
					break;
				at += rec;
				n++;
			}
			wrong += r.state != PMCLOG_EOF || r.n != n || r.at != (off_t)at || r.partial != len - at || r.err != (len > at ? EBADMSG : 0);
			result_done(&r);
		}
	}
	is_int(0, wrong, "cut at every byte: state, count, offset, errno");
}

/* --- our own log through the same calls ---------------------------------------------------------------- */
static void make_opel(struct blocks *b, uint64_t n, bool other)
{
	struct gen *g = calloc(1, sizeof(*g));
	struct evlog_writer_opts o = { .page_size = 4096, .n_streams = 2, .page = blocks_add, .arg = b, .anchor_mono_ns = 0,
				       .anchor_real_ns = 1000000000, .machine = "m", .other_order = other };
	struct evlog_writer *w = NULL;

	b->bytes.cap = STRBUF_CAP;
	evlog_writer_new(&w, &o);
	for (uint64_t i = 0; i < n; i++) {
		struct ev e;
		gen_event(g, &e, 0, 5);
		e.time_ns = i * 100;
		evlog_write(w, 1 + i / 5 % 2, &e);
		if (i % 20 == 19)
			evlog_writer_sync(w, 1, i * 100);
	}
	evlog_writer_lost(w, 2, 3);
	evlog_writer_finish(w);
	evlog_writer_free(w);
	free(g);
}

/* A small log fed in two pieces, split at every byte of it, and cut there: every record that is whole, and nothing else. */
static void test_opel_each_byte(bool other)
{
	struct pmclog_options strict = { .size = sizeof(strict) };
	struct blocks *b = calloc(1, sizeof(*b));
	size_t ends[40], n = 0;
	int wrong = 0;
	const uint8_t *d;
	void *p;

	make_opel(b, 12, other);
	d = (const uint8_t *)b->bytes.buf;
	p = pmclog_open(PMCLOG_FD_NONE);
	pmclog_feed(p, b->bytes.buf, (int)b->bytes.len);
	while (!pmclog_read(p, &ev)) {
		ends[n] = (size_t)ev.pl_offset + ev.pl_len;
		/* metadata counts page by page */
		for (size_t i = 0; i < b->n && (ev.pl_type == PMCLOG_TYPE_INITIALIZE || ev.pl_type == PMCLOG_TYPE_CLOSELOG); i++)
			if (b->at[i] <= (size_t)ev.pl_offset)
				ends[n] = b->at[i] + blocks_len(b, i);
		n++;
	}
	pmclog_close(p);
	struct result r = feed_in(d, b->bytes.len, b->bytes.len, &strict);
	is_int(12 + 3, n, "12 events, INITIALIZE, the loss and CLOSELOG");
	for (size_t k = 0; k <= b->bytes.len; k++) {
		struct result s = { .text = STRBUF_INIT };
		size_t whole = 0;
		p = pmclog_open_opts(PMCLOG_FD_NONE, &strict);
		pmclog_feed(p, (const char *)d, (int)k);
		drain(p, &s);
		pmclog_feed(p, (const char *)d + k, (int)(b->bytes.len - k));
		drain(p, &s);
		if (!same(&r, &s) && !wrong++)
			printf("# split at %zu: %zu records\n", k, s.n);
		pmclog_close(p);
		result_done(&s);
		s = read_fd(d, k, &strict);
		while (whole < n && ends[whole] <= k)
			whole++;
		if ((s.state != PMCLOG_EOF || s.n != whole || (k < b->bytes.len && k && s.at > (off_t)k)) && !wrong++)
			printf("# cut at %zu: state %d, %zu records, want %zu, at %ld\n", k, s.state, s.n, whole, (long)s.at);
		result_done(&s);
	}
	is_int(0, wrong, "%s order, %zu bytes: split at each and cut at each", other ? "other" : "own", b->bytes.len);
	result_done(&r);
	strbuf_done(&b->bytes);
	free(b);
}

static void test_opel(bool other)
{
	struct blocks *b = calloc(1, sizeof(*b));
	struct pmclog_options strict = { .size = sizeof(strict) }, lenient = { .size = sizeof(lenient), .lenient = 1 };
	int wrong = 0;
	const uint8_t *d;

	make_opel(b, 60, other);
	d = (const uint8_t *)b->bytes.buf;
	struct result r = feed_in(d, b->bytes.len, b->bytes.len, &strict);
	ok(r.state == PMCLOG_EOF && r.n == 60 + 3, "%s order: 60 events, INITIALIZE, the loss and CLOSELOG: %zu", other ? "other" : "own", r.n);
	ok(strstr(strbuf_str(&r.text), " lost=3\n"), "the loss");
	for (size_t k = 0; k <= b->bytes.len; k += other ? 83 : 37) {
		struct result s = { .text = STRBUF_INIT };
		void *p = pmclog_open_opts(PMCLOG_FD_NONE, &strict);
		pmclog_feed(p, (const char *)d, (int)k);
		drain(p, &s);
		pmclog_feed(p, (const char *)d + k, (int)(b->bytes.len - k));
		drain(p, &s);
		wrong += !same(&r, &s);
		pmclog_close(p);
		result_done(&s);
	}
	for (size_t step = 1; step < 10; step += 2) {
		struct result s = feed_in(d, b->bytes.len, step, &strict);
		wrong += !same(&r, &s);
		result_done(&s);
	}
	is_int(0, wrong, "fed at splits and in small steps gives the same");
	/* cut anywhere: what comes is the beginning of what would have come */
	for (size_t len = 0; len < b->bytes.len; len += other ? 59 : 31) {
		struct result s = read_fd(d, len, &strict);
		wrong += s.state != PMCLOG_EOF || strncmp(strbuf_str(&s.text), strbuf_str(&r.text), s.text.len);
		result_done(&s);
	}
	is_int(0, wrong, "cut anywhere: EOF after whole events");
	/* spoilt anywhere: strict says where, lenient goes on */
	for (size_t at = 16; at < b->bytes.len; at += 11) {
		b->bytes.buf[at] ^= 0x41;
		struct result s = feed_in(d, b->bytes.len, 1000, &strict), l = feed_in(d, b->bytes.len, 1000, &lenient);
		wrong += l.state == PMCLOG_ERROR;
		result_done(&s);
		result_done(&l);
		b->bytes.buf[at] ^= 0x41;
	}
	is_int(0, wrong, "spoilt anywhere: lenient never stops");
	result_done(&r);
	strbuf_done(&b->bytes);
	free(b);
}

int main(void)
{
	vectors_load();
	test_vectors();
	test_refused();
	test_lenient();
	test_layouts();
	test_api();
	test_cut();
	test_opel_each_byte(false);
	test_opel_each_byte(true);
	test_opel(false);
	test_opel(true);
	return done_testing();
}
