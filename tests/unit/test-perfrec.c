/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ring parser on rings made here: every type, every wrap, and records that lie. No kernel is asked. */
#include <errno.h>
#include <sys/sysmacros.h>

#include "lib/strbuf.h"
#include "lib/tap.h"
#include "sampler/perfrec.h"

static uint8_t bounce[PERFREC_MAX];
static struct perfrec_parser plain = { .max_chain = EV_MAX_FRAMES };
static struct perfrec_parser chained = { .callchain = true, .max_chain = EV_MAX_FRAMES };

static void u64(struct strbuf *sb, uint64_t v) { strbuf_add(sb, &v, 8); }
static void u32(struct strbuf *sb, uint32_t v) { strbuf_add(sb, &v, 4); }
static void u16(struct strbuf *sb, uint16_t v) { strbuf_add(sb, &v, 2); }

static void str8(struct strbuf *sb, const char *s)
{
	strbuf_add(sb, s, strlen(s) + 1);
	while (sb->len % 8)
		strbuf_addch(sb, '\0');
}

static void begin(struct strbuf *sb, uint32_t type, uint16_t misc)
{
	strbuf_reset(sb);
	u32(sb, type);
	u16(sb, misc);
	u16(sb, 0);
}

static void end(struct strbuf *sb)
{
	uint16_t n = (uint16_t)sb->len;
	memcpy(sb->buf + 6, &n, 2);
}

static void trailer(struct strbuf *sb, uint64_t time)
{
	u32(sb, 11);
	u32(sb, 12);
	u64(sb, time);
	u32(sb, 3);
	u32(sb, 0);
	u64(sb, 77);
	end(sb);
}

static void sample(struct strbuf *sb, uint16_t misc, uint64_t ip, uint64_t time, const uint64_t *chain, size_t n)
{
	begin(sb, PERF_RECORD_SAMPLE, misc);
	u64(sb, 77);
	u64(sb, ip);
	u32(sb, 11);
	u32(sb, 12);
	u64(sb, time);
	u32(sb, 3);
	u32(sb, 0);
	u64(sb, 1003009);
	if (chain) {
		u64(sb, n);
		for (size_t i = 0; i < n; i++)
			u64(sb, chain[i]);
	}
	end(sb);
}

static void test_samples(void)
{
	static const uint64_t chain[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffff81000020, PERF_CONTEXT_USER, 0x400100, 0x400200 };
	static const uint64_t no_leaf[] = { PERF_CONTEXT_USER, 0x400200, 0x400300 };
	AUTO_STRBUF sb = STRBUF_INIT;
	struct perfrec r;

	sample(&sb, PERF_RECORD_MISC_USER, 0x400100, 5000, NULL, 0);
	is_int(1, perfrec_parse(&plain, sb.buf, sb.len, &r), "a sample");
	ok(r.ev.type == EV_SAMPLE && r.ev.u.sample.ip == 0x400100 && r.ev.pid == 11 && r.ev.tid == 12 && r.ev.time_ns == 5000 && r.ev.cpu == 3 &&
	   r.ev.u.sample.period == 1003009 && r.id == 77 && r.ev.u.sample.mode == EV_USER && !r.ev.u.sample.n_chain, "all its fields");
	is_int(5000, perfrec_time(sb.buf, sb.len), "its time alone");
	is_int(-EBADMSG, perfrec_parse(&chained, sb.buf, sb.len, &r), "a sample without the chain that was asked for");

	sample(&sb, PERF_RECORD_MISC_KERNEL, 0xffffffff81000010, 5000, chain, 6);
	is_int(1, perfrec_parse(&chained, sb.buf, sb.len, &r), "a sample with a chain");
	ok(r.ev.u.sample.n_chain == 4 && r.ev.u.sample.n_kernel == 2 && r.ev.u.sample.chain[0] == 0xffffffff81000010 &&
	   r.ev.u.sample.chain[3] == 0x400200 && !r.ev.u.sample.truncated, "markers are taken out, kernel entries counted");
	sample(&sb, PERF_RECORD_MISC_USER, 0x400100, 5000, no_leaf, 3);
	is_int(1, perfrec_parse(&chained, sb.buf, sb.len, &r), "a chain without its leaf");
	ok(r.ev.u.sample.n_chain == 3 && r.ev.u.sample.chain[0] == 0x400100 && r.ev.u.sample.n_kernel == 0, "the leaf is put in front");
	sample(&sb, PERF_RECORD_MISC_USER, 0x400100, 5000, no_leaf, 0);
	is_int(1, perfrec_parse(&chained, sb.buf, sb.len, &r), "an empty chain");
	ok(r.ev.u.sample.n_chain == 1 && r.ev.u.sample.chain[0] == 0x400100, "is the leaf alone");
	for (uint64_t n = 4; n; n = n < 1000 ? n + 1 : n == UINT64_MAX ? 0 : n > UINT64_MAX / 3 ? UINT64_MAX : n * 3) {
		memcpy(sb.buf + 56, &n, 8);
		if (perfrec_parse(&chained, sb.buf, sb.len, &r) != -EBADMSG) {
			ok(false, "chain length %llu is refused", (unsigned long long)n);
			break;
		}
	}
	ok(true, "chain lengths that do not fit are refused");
}

static void test_long_chain(void)
{
	AUTO_FREE uint64_t *ips = calloc(4000, sizeof(*ips));
	struct perfrec_parser p = { .callchain = true, .max_chain = 5 };
	AUTO_STRBUF sb = STRBUF_INIT;
	struct perfrec r;

	for (size_t i = 0; i < 4000; i++)
		ips[i] = 0x1000 + i;
	sample(&sb, PERF_RECORD_MISC_USER, 0x1000, 1, ips, 4000);
	is_int(1, perfrec_parse(&chained, sb.buf, sb.len, &r), "a chain longer than is kept");
	ok(r.ev.u.sample.n_chain == EV_MAX_FRAMES && r.ev.u.sample.truncated, "is cut at the limit and says so");
	sample(&sb, PERF_RECORD_MISC_USER, 0x9, 1, ips, 4000);
	is_int(1, perfrec_parse(&p, sb.buf, sb.len, &r), "a limit of 5");
	ok(r.ev.u.sample.n_chain == 5 && r.ev.u.sample.truncated && r.ev.u.sample.chain[0] == 9 && r.ev.u.sample.chain[4] == 0x1003, "counts the leaf");
	sample(&sb, PERF_RECORD_MISC_USER, 0x1000, 1, ips, 5);
	is_int(1, perfrec_parse(&p, sb.buf, sb.len, &r), "a chain of just the limit");
	ok(r.ev.u.sample.n_chain == 5 && !r.ev.u.sample.truncated, "is whole");
}

static void mmap2(struct strbuf *sb, uint64_t addr, uint64_t len, const char *path, uint16_t misc)
{
	begin(sb, PERF_RECORD_MMAP2, misc);
	u32(sb, 21);
	u32(sb, 22);
	u64(sb, addr);
	u64(sb, len);
	u64(sb, 0x3000);
	u32(sb, 8);
	u32(sb, 1);
	u64(sb, 4711);
	u64(sb, 9);
	u32(sb, 5);
	u32(sb, 2);
	str8(sb, path);
	trailer(sb, 600);
}

static void test_mappings(void)
{
	AUTO_STRBUF sb = STRBUF_INIT;
	struct perfrec r;

	mmap2(&sb, 0x7f0000000000, 0x2000, "/usr/lib/a b\n.so", PERF_RECORD_MISC_USER);
	is_int(1, perfrec_parse(&plain, sb.buf, sb.len, &r), "MMAP2");
	ok(r.ev.type == EV_MMAP && r.ev.pid == 21 && r.ev.tid == 22 && r.ev.u.mmap.addr == 0x7f0000000000 && r.ev.u.mmap.len == 0x2000 &&
	   r.ev.u.mmap.pgoff == 0x3000 && r.ev.u.mmap.dev == makedev(8, 1) && r.ev.u.mmap.ino == 4711 && r.ev.u.mmap.ino_gen == 9 &&
	   r.ev.u.mmap.prot == 5 && r.ev.u.mmap.flags == 2 && r.ev.time_ns == 600 && r.id == 77 && r.pid == 11 && r.tid == 12, "all its fields");
	is_str("/usr/lib/a b\n.so", r.ev.u.mmap.path, "its path, any bytes");
	is_int(600, perfrec_time(sb.buf, sb.len), "its time alone");
	mmap2(&sb, 0x7f0000000000, 0x2000, "/x", PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID);
	is_int(1, perfrec_parse(&plain, sb.buf, sb.len, &r), "MMAP2 with a build-id");
	ok(!r.ev.u.mmap.dev && !r.ev.u.mmap.ino && r.ev.u.mmap.prot == 5, "has no inode");
	mmap2(&sb, UINT64_MAX - 0xfff, 0x2000, "/x", 0);
	is_int(-EBADMSG, perfrec_parse(&plain, sb.buf, sb.len, &r), "a mapping over the end of the address space");
	mmap2(&sb, 0x1000, 0x2000, "12345678901234567890123", 0);
	sb.buf[sb.len - PERFREC_TRAILER - 1] = 'x';
	is_int(-EBADMSG, perfrec_parse(&plain, sb.buf, sb.len, &r), "a path without its end");

	begin(&sb, PERF_RECORD_MMAP, 0);
	u32(&sb, 21);
	u32(&sb, 21);
	u64(&sb, 0x1000);
	u64(&sb, 0x1000);
	u64(&sb, 0);
	str8(&sb, "old");
	trailer(&sb, 601);
	is_int(1, perfrec_parse(&plain, sb.buf, sb.len, &r), "MMAP");
	is_str("old", r.ev.u.mmap.path, "its path");
}

static void task(struct strbuf *sb, uint32_t type)
{
	begin(sb, type, 0);
	u32(sb, 31);
	u32(sb, 30);
	u32(sb, 33);
	u32(sb, 32);
	u64(sb, 1);
	trailer(sb, 700);
}

static void test_others(void)
{
	AUTO_STRBUF sb = STRBUF_INIT;
	struct perfrec r;

	begin(&sb, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	u32(&sb, 41);
	u32(&sb, 42);
	str8(&sb, "name) (1");
	trailer(&sb, 800);
	is_int(1, perfrec_parse(&plain, sb.buf, sb.len, &r), "COMM");
	ok(r.ev.type == EV_COMM && r.ev.pid == 41 && r.ev.tid == 42 && r.ev.u.comm.flags == EV_COMM_EXEC && !strcmp(r.ev.u.comm.comm, "name) (1"),
	   "its fields");
	task(&sb, PERF_RECORD_FORK);
	is_int(1, perfrec_parse(&plain, sb.buf, sb.len, &r), "FORK");
	ok(r.ev.type == EV_FORK && r.ev.pid == 31 && r.ev.tid == 33 && r.ev.u.fork.ppid == 30 && r.ev.u.fork.ptid == 32, "its fields");
	task(&sb, PERF_RECORD_EXIT);
	is_int(1, perfrec_parse(&plain, sb.buf, sb.len, &r), "EXIT");
	ok(r.ev.type == EV_EXIT && r.ev.pid == 31 && r.ev.tid == 33, "its fields");
	begin(&sb, PERF_RECORD_LOST, 0);
	u64(&sb, 77);
	u64(&sb, 1234);
	trailer(&sb, 900);
	is_int(1, perfrec_parse(&plain, sb.buf, sb.len, &r), "LOST");
	ok(r.ev.type == EV_LOST && r.ev.u.lost.count == 1234 && r.ev.time_ns == 900, "its fields");
	begin(&sb, PERF_RECORD_LOST_SAMPLES, 0);
	u64(&sb, 99);
	trailer(&sb, 901);
	ok(perfrec_parse(&plain, sb.buf, sb.len, &r) == 1 && r.ev.type == EV_LOST && r.ev.u.lost.count == 99, "LOST_SAMPLES");
	begin(&sb, PERF_RECORD_THROTTLE, 0);
	u64(&sb, 902);
	u64(&sb, 77);
	u64(&sb, 78);
	trailer(&sb, 902);
	ok(perfrec_parse(&plain, sb.buf, sb.len, &r) == 1 && r.ev.type == EV_THROTTLE, "THROTTLE");
	begin(&sb, PERF_RECORD_KSYMBOL, 0);
	u64(&sb, 0xffffffffc0001000);
	u32(&sb, 0x80);
	u16(&sb, 1);
	u16(&sb, 1);
	str8(&sb, "bpf_prog_1");
	trailer(&sb, 903);
	ok(perfrec_parse(&plain, sb.buf, sb.len, &r) == 1 && r.ev.type == EV_KSYMBOL && r.ev.u.ksymbol.len == 0x80 &&
	   r.ev.u.ksymbol.unregister && !strcmp(r.ev.u.ksymbol.name, "bpf_prog_1"), "KSYMBOL");
	begin(&sb, 4000, 0);
	trailer(&sb, 904);
	is_int(0, perfrec_parse(&plain, sb.buf, sb.len, &r), "a type of the future is passed over");
}

/* Every record cut at every length, with the size in its header right and wrong. */
static void test_truncated(void)
{
	static const uint64_t chain[] = { PERF_CONTEXT_USER, 0x400100 };
	AUTO_STRBUF sb = STRBUF_INIT;
	struct perfrec r;
	unsigned int taken = 0, wrong = 0;

	for (int kind = 0; kind < 4; kind++) {
		if (kind == 0)
			sample(&sb, 0, 1, 2, chain, 2);
		else if (kind == 1)
			mmap2(&sb, 0x1000, 0x1000, "/some/path", 0);
		else
			task(&sb, kind == 2 ? PERF_RECORD_FORK : PERF_RECORD_EXIT);
		for (size_t len = 0; len < sb.len; len++) {
			AUTO_FREE uint8_t *copy = malloc(len ? len : 1); /* so that ASan sees a read behind it */
			uint16_t n = (uint16_t)len;
			memcpy(copy, sb.buf, len);
			wrong += perfrec_parse(&chained, copy, len, &r) != -EBADMSG;
			if (len >= 8) {
				memcpy(copy + 6, &n, 2);
				taken += perfrec_parse(&chained, copy, len, &r) == 1;
			}
		}
	}
	is_int(0, wrong, "a record shorter than its header says is refused at every length");
	is_int(0, taken, "a record with a smaller size is refused at every length");
}

/* A ring of 256 bytes, records of 56 and 72 bytes starting at every place of it. */
static void test_wraps(void)
{
	uint8_t data[256];
	AUTO_STRBUF a = STRBUF_INIT, b = STRBUF_INIT;
	unsigned int bad = 0, bounced = 0;
	static const uint64_t chain[] = { 0x400100 };
	uint64_t bases[] = { 0, 256, 4096, UINT64_MAX - 255 };

	sample(&a, PERF_RECORD_MISC_USER, 0x400100, 1, chain, 1);
	sample(&b, PERF_RECORD_MISC_USER, 0x400100, 2, chain, 1);
	for (size_t k = 0; k < ARRAY_SIZE(bases); k++)
		for (uint64_t at = 0; at < 256; at += 8) {
			struct perfrec_ring ring = { .data = data, .size = sizeof(data), .bounce = bounce };
			const void *rec;
			size_t len;
			struct perfrec r;
			ring.tail = bases[k] + at;
			ring.head = ring.tail + a.len + b.len;
			for (size_t i = 0; i < a.len; i++)
				data[(ring.tail + i) & 255] = (uint8_t)a.buf[i];
			for (size_t i = 0; i < b.len; i++)
				data[(ring.tail + a.len + i) & 255] = (uint8_t)b.buf[i];
			for (uint64_t t = 1; t <= 2; t++) {
				bad += perfrec_ring_next(&ring, &rec, &len) != 1 || perfrec_parse(&chained, rec, len, &r) != 1 || r.ev.time_ns != t ||
				       r.ev.u.sample.ip != 0x400100 || r.ev.u.sample.n_chain != 1;
				bounced += rec == bounce;
			}
			bad += perfrec_ring_next(&ring, &rec, &len) != 0;
		}
	is_int(0, bad, "two records read back from every place in the ring, over its end and over 2^64");
	ok(bounced > 0, "some ran over the end (%u)", bounced);
}

static void test_hostile_ring(void)
{
	static const uint16_t sizes[] = { 0, 1, 4, 7, 9, 12, 63, 72, 4096, 65528, 65535 };
	uint8_t data[64] = { 0 };
	const void *rec;
	size_t len;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct perfrec_ring ring = { .data = data, .size = sizeof(data), .bounce = bounce, .head = 64 };
		memcpy(data + 6, &sizes[i], 2);
		is_int(-EBADMSG, perfrec_ring_next(&ring, &rec, &len), "size %u in the header", sizes[i]);
		is_int(0, perfrec_ring_next(&ring, &rec, &len), "and the ring is given up to its head");
	}
	struct perfrec_ring far = { .data = data, .size = sizeof(data), .bounce = bounce, .head = 1 << 20 };
	is_int(-EBADMSG, perfrec_ring_next(&far, &rec, &len), "a head further than the ring is long");
	struct perfrec_ring odd = { .data = data, .size = sizeof(data), .bounce = bounce, .tail = 4, .head = 60 };
	is_int(-EBADMSG, perfrec_ring_next(&odd, &rec, &len), "a tail off its alignment");
	struct perfrec_ring stub = { .data = data, .size = sizeof(data), .bounce = bounce, .tail = 0, .head = 4 };
	is_int(-EBADMSG, perfrec_ring_next(&stub, &rec, &len), "less than a header left");
}

int main(void)
{
	test_samples();
	test_long_chain();
	test_mappings();
	test_others();
	test_truncated();
	test_wraps();
	test_hostile_ring();
	return done_testing();
}
