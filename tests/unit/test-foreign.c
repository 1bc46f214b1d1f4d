/* SPDX-License-Identifier: GPL-3.0-or-later */
/* jitdump, perf map and OProfile dump: what comes out, at every split, cut at every byte, and with every field damaged. */
#include <errno.h>
#include <stdarg.h>

#include "format/jit/parser.h"
#include "format/jit/tables.h"
#include "lib/strbuf.h"
#include "lib/tap.h"

#define NOW 200000000000000ull

static struct strbuf in = STRBUF_INIT;
static bool big;

static void u32(uint32_t v)
{
	v = big ? __builtin_bswap32(v) : v;
	strbuf_add(&in, &v, 4);
}
static void u64(uint64_t v)
{
	v = big ? __builtin_bswap64(v) : v;
	strbuf_add(&in, &v, 8);
}
static void bytes(const void *p, size_t n) { strbuf_add(&in, p, n); }

static int to_text(void *arg, const struct jit_event *e)
{
	struct strbuf *out = arg;
	struct jit_unpack u = jit_unpack_of(e->lines, e->lines_len);
	struct jit_line l;

	strbuf_addf(out, "%d #%llu %llx+%llx", e->type, (unsigned long long)e->id, (unsigned long long)e->addr, (unsigned long long)e->size);
	if (e->type == JIT_EVENT_MOVE)
		strbuf_addf(out, " from %llx", (unsigned long long)e->old_addr);
	if (!(e->flags & JIT_TIME_UNKNOWN))
		strbuf_addf(out, " t%llu", (unsigned long long)e->time_ns);
	if (e->name)
		strbuf_addf(out, " «%.*s»", (int)e->name_len, e->name);
	if (e->code)
		strbuf_addf(out, " code %.*s", (int)e->code_len, (const char *)e->code);
	while (jit_unpack_line(&u, &l) == 1)
		strbuf_addf(out, " %u:%s:%u", l.offset, jit_string(e->strings, e->strings_len, l.file), l.line);
	if (e->eh_frame_len)
		strbuf_addf(out, " eh %zu", e->eh_frame_len);
	strbuf_addch(out, '\n');
	return 0;
}

static int parse(enum jit_format f, const char *data, size_t len, size_t step, struct strbuf *out, struct jit_parser_stats *st)
{
	struct jit_parser_opts o = { .fn = to_text, .arg = out, .realtime_offset_ns = 1600000000ull * NSEC_PER_SEC };
	struct jit_parser *p;
	int r = 0;

	if (jit_parser_new(&p, f, &o) < 0)
		return -ENOMEM;
	for (size_t at = 0; at < len && !r; at += step) {
		/* Its own copy: a read beyond what was given is seen by the sanitizer. */
		size_t n = MIN(step, len - at);
		char *copy = malloc(n);
		memcpy(copy, data + at, n);
		r = jit_parser_feed(p, copy, n, NOW);
		free(copy);
	}
	if (!r)
		r = jit_parser_finish(p, NOW);
	jit_parser_stats(p, st);
	jit_parser_free(p);
	return r;
}

static void splits(enum jit_format f, const char *what, const char *want)
{
	struct jit_parser_stats st;
	bool same = true;

	for (size_t step = in.len; step >= 1; step--) {
		AUTO_STRBUF out = STRBUF_INIT;
		parse(f, in.buf, in.len, step, &out, &st);
		if (strcmp(strbuf_str(&out), want) != 0) {
			printf("# step %zu:\n# %s# wanted:\n# %s", step, strbuf_str(&out), want);
			same = false;
			break;
		}
	}
	ok(same, "%s: the same events at every step from 1 byte to all", what);
	for (size_t cut = 0; cut < in.len; cut++) {
		AUTO_STRBUF out = STRBUF_INIT;
		parse(f, in.buf, cut, cut ? cut : 1, &out, &st);
		same &= f == JIT_FORMAT_PERFMAP || f == JIT_FORMAT_PYPYLOG || !strncmp(strbuf_str(&out), want, out.len);
	}
	ok(same, "%s: cut at every byte, all whole records before it", what);
	for (size_t at = 0; at < in.len; at++) /* damage: no crash, no hang */
		for (int v = 0; v < 3; v++) {
			AUTO_STRBUF out = STRBUF_INIT;
			char keep = in.buf[at];
			in.buf[at] = (char)(v == 0 ? 0 : v == 1 ? 0xff : keep ^ 0x40);
			parse(f, in.buf, in.len, in.len, &out, &st);
			in.buf[at] = keep;
		}
	ok(true, "%s: three kinds of damage at every byte are survived", what);
}

static void dump_header(uint32_t version, uint32_t size, uint64_t flags)
{
	strbuf_reset(&in);
	u32(0x4A695444), u32(version), u32(size), u32(62), u32(0), u32(77), u64(1), u64(flags);
	for (uint32_t i = 40; i < size; i++)
		bytes("", 1);
}

static void dump_load(uint64_t t, uint64_t addr, uint64_t code_size, const char *name, const char *code)
{
	u32(0), u32((uint32_t)(56 + strlen(name) + 1 + strlen(code))), u64(t);
	u32(77), u32(78), u64(addr), u64(addr), u64(code_size), u64(1);
	bytes(name, strlen(name) + 1);
	bytes(code, strlen(code));
}

static void dump_all(void)
{
	u32(2), u32(16 + 16 + 16 + 5 + 16 + 2), u64(9);          /* lines, the second with "the same file" */
	u64(0x1000), u64(2);
	u64(0x1000), u32(7), u32(0), bytes("a.js", 5);
	u64(0x1002), u32(8), u32(0), bytes("\xff", 2);
	u32(4), u32(16 + 24 + 12), u64(9), u64(12), u64(4), u64(0), bytes("frameframehd", 12);
	dump_load(10, 0x1000, 4, "LazyCompile:*fib a.js:1", "CODE");
	dump_load(11, 0x2000, 2, "two", "co");
	u32(9), u32(24), u64(12), u64(0);                        /* unknown kind */
	u32(1), u32(16 + 48 - 8), u64(13), u64(0), u64(0), u64(0x2000), u64(0x3000), u64(2);
	dump_load(14, 0x2000, 3, "caf\xe9 <&>", "new");
	u32(3), u32(16), u64(15);
}

static const char dump_want[] = "1 #1 1000+4 t10 «LazyCompile:*fib a.js:1» code CODE 0:a.js:7 2:a.js:8 eh 8\n"
				"1 #2 2000+2 t11 «two» code co\n"
				"3 #2 3000+2 from 2000 t13\n"
				"1 #3 2000+3 t14 «caf\xe9 <&>» code new\n"
				"6 #0 0+0 t15\n";

static void test_jitdump(void)
{
	struct jit_parser_stats st;

	for (int order = 0; order < 2; order++) {
		AUTO_STRBUF out = STRBUF_INIT;
		big = order;
		dump_header(1, 40, 0);
		dump_all();
		is_int(0, parse(JIT_FORMAT_JITDUMP, in.buf, in.len, in.len, &out, &st), "jitdump of %s order", big ? "the other" : "our");
		is_str(dump_want, strbuf_str(&out), "events");
		is_int(0, st.bad, "nothing refused");
		is_int(1, st.skipped, "the unknown record is passed over");
		is_int(77, st.pid, "pid");
		splits(JIT_FORMAT_JITDUMP, big ? "swapped jitdump" : "jitdump", dump_want);
	}
	big = false;
	{
		AUTO_STRBUF out = STRBUF_INIT;
		dump_header(2, 64, 1); /* version 2, larger header, another clock: all of it is read, and said */
		dump_load(NOW - 5, 0x1000, 1, "a", "x");
		dump_load(5, 0x2000, 1, "b", "y");
		parse(JIT_FORMAT_JITDUMP, in.buf, in.len, in.len, &out, &st);
		is_str("1 #1 1000+1 t199999999999995 «a» code x\n1 #2 2000+1 «b» code y\n", strbuf_str(&out),
		       "version 2, a larger header, and stamps that are the monotonic clock's after all");
		is_int(1, st.bad, "the version is noted");
	}
	{
		AUTO_STRBUF out = STRBUF_INIT;
		dump_header(1, 40, 0);
		dump_load(1, 0x1000, 0, "zero", "");
		dump_load(2, 0x1000, 1ull << 40, "huge", "x");
		dump_load(3, 0x1000, 100, "cut code", "abc");
		u32(2), u32(32), u64(9), u64(0x1000), u64(1ull << 28); /* entries that are not there */
		dump_load(4, 0x2000, 1, "last", "z");
		parse(JIT_FORMAT_JITDUMP, in.buf, in.len, in.len, &out, &st);
		is_str("1 #1 1000+64 t3 «cut code»\n1 #2 2000+1 t4 «last» code z\n", strbuf_str(&out), "sizes of 0 and 2^40, cut code, absent lines");
		is_int(3, st.bad, "each counted");
		is_int(1, st.skipped, "code that is cut is passed over, its name kept");
	}
	{
		static const struct {
			uint32_t id, bytes;
			const char *what, *why;
		} damage[] = {
			{ 0, 15, "shorter than its prefix", "record shorter than its prefix" }, { 0, 16, "a load without anything", "record shorter than its kind" },
			{ 0, 0x7ffffff0, "a load of 2 GB", "record longer than what it holds" }, { 2, 0x7ffffff0, "lines of 2 GB", "record longer than what it holds" },
			{ 0x90909090, 64, "code", "no record begins here" },
		};
		for (size_t i = 0; i < ARRAY_SIZE(damage); i++)
			for (size_t step = 1; step < 200; step += 150) {
				AUTO_STRBUF out = STRBUF_INIT;
				dump_header(1, 40, 0);
				dump_load(1, 0x1000, 1, "a", "x");
				u32(damage[i].id), u32(damage[i].bytes), u64(9), u64(1), u64(2), u64(3), u64(4), bytes("four", 4);
				dump_load(2, 0x2000, 1, "b", "x");
				dump_load(3, 0x3000, 1, "c", "x");
				parse(JIT_FORMAT_JITDUMP, in.buf, in.len, step, &out, &st);
				is_str("1 #1 1000+1 t1 «a» code x\n1 #2 2000+1 t2 «b» code x\n1 #3 3000+1 t3 «c» code x\n", strbuf_str(&out),
				       "%s: those before it and behind it", damage[i].what);
				is_str(damage[i].why, st.first_bad ? st.first_bad : "", "is said");
				is_int(40 + 59, st.first_bad_at, "with its place");
				is_int(1, st.bad, "and once");
			}
		splits(JIT_FORMAT_JITDUMP, "damaged jitdump", "1 #1 1000+1 t1 «a» code x\n1 #2 2000+1 t2 «b» code x\n1 #3 3000+1 t3 «c» code x\n");
	}
	{ /* behind damage there may be nothing good for ever */
		AUTO_STRBUF out = STRBUF_INIT;
		dump_header(1, 40, 0);
		dump_load(1, 0x1000, 1, "a", "x");
		for (int i = 0; i < 40000; i++)
			u32(0xfefefefe);
		parse(JIT_FORMAT_JITDUMP, in.buf, in.len, 1000, &out, &st);
		is_str("1 #1 1000+1 t1 «a» code x\n", strbuf_str(&out), "rubbish behind a record");
		is_int(1, st.bad, "is counted once");
	}
	{ /* V8: line addresses are 0x40 too high */
		AUTO_STRBUF out = STRBUF_INIT;
		dump_header(1, 40, 0);
		u32(2), u32(16 + 16 + 16 + 5), u64(9), u64(0x1000), u64(1), u64(0x1048), u32(7), u32(0), bytes("a.js", 5);
		dump_load(10, 0x1000, 4, "f", "CODE");
		parse(JIT_FORMAT_JITDUMP, in.buf, in.len, in.len, &out, &st);
		is_str("1 #1 1000+4 t10 «f» code CODE 8:a.js:7\n", strbuf_str(&out), "V8's shift is taken back");
	}
	{ /* a record above the cap loses its code, not its name, and what follows is read */
		AUTO_STRBUF out = STRBUF_INIT;
		char *huge = calloc(1, JIT_PARSER_RECORD_MAX + 100);
		struct strbuf keep = in;
		in = (struct strbuf)STRBUF_INIT;
		memset(huge, 'x', JIT_PARSER_RECORD_MAX + 99);
		dump_header(1, 40, 0);
		dump_load(1, 0x10000000, JIT_PARSER_RECORD_MAX + 99, "huge", huge);
		dump_load(2, 0x2000, 1, "after", "x");
		free(huge);
		parse(JIT_FORMAT_JITDUMP, in.buf, in.len, 65536, &out, &st);
		is_str("1 #1 10000000+1000063 t1 «huge»\n1 #2 2000+1 t2 «after» code x\n", strbuf_str(&out), "a record above the cap");
		strbuf_done(&in);
		in = keep;
	}
}

static void test_perfmap(void)
{
	static const char map[] = "0x1000 20 with blanks in it\r\n"
				  "2000\t0x30\ttabs\n"
				  "\n"
				  "torn li\n"
				  "00003000 5\n"
				  "4000 0 empty\n"
				  "ffffffffffffffff 10 wraps\n"
				  "1000 20 newer \xff\xfe\n"
				  "12345678123456781 1 too long\n"
				  "5000 6 no newline";
	static const char want[] = "1 #1 1000+20 «with blanks in it»\n1 #2 2000+30 «tabs»\n1 #3 1000+20 «newer \xff\xfe»\n"
				   "1 #4 5000+6 «no newline»\n";
	struct jit_parser_stats st;
	AUTO_STRBUF out = STRBUF_INIT, again = STRBUF_INIT;

	strbuf_reset(&in);
	bytes(map, sizeof(map) - 1);
	parse(JIT_FORMAT_PERFMAP, in.buf, in.len, in.len, &out, &st);
	is_str(want, strbuf_str(&out), "perf map");
	is_int(5, st.bad, "five lines refused");
	is_int(57, st.first_bad_at - 0 > 0 ? (long long)(strstr(in.buf, "torn") - in.buf) == (long long)st.first_bad_at ? 57 : 0 : 0,
	       "the first at its offset");
	splits(JIT_FORMAT_PERFMAP, "perf map", want);
	strbuf_reset(&in);
	bytes("1 1 ", 4);
	for (int i = 0; i < 20000; i++)
		bytes("n", 1);
	bytes("\n", 1);
	parse(JIT_FORMAT_PERFMAP, in.buf, in.len, 7, &again, &st);
	ok(again.len > 20000 && !st.bad, "a name of 20,000 characters");
	strbuf_reset(&in);
	for (int i = 0; i < 300000; i++)
		bytes("f", 1);
	strbuf_reset(&again);
	parse(JIT_FORMAT_PERFMAP, in.buf, in.len, 4096, &again, &st);
	ok(!again.len && st.bad, "a line without an end is refused, in bounded memory");
}

static void dump_op(bool wide)
{
	size_t fill;

	strbuf_reset(&in);
	bytes("jItO", 4), u32(1), u32(wide ? 48 : 40), u32(0), u32(0);
	if (wide)
		u32(0xdeadbeef);
	u64(1600000100), bytes("elf64-x86-64", 12);
	for (fill = in.len; fill < (wide ? 48u : 40u); fill++)
		bytes("", 1);
	u32(0), u32(40 + 8 + 8), u64(1600000101), u64(0x1000), u64(0x1000), u32(4), u32(0), bytes("method", 7), bytes("CODE\0\0\0\0", 9);
	u32(3), u32(16 + 16 + (wide ? 8 : 4) + 4 + 8 + (wide ? 4 : 0)), u64(1600000102), u64(0x1000), u32(1), u32(0);
	if (wide)
		u64(0x1002);
	else
		u32(0x1002);
	u32(33), bytes("a.java\0", 8);
	if (wide)
		bytes("\0\0\0", 4);
	u32(1), u32(24), u64(1600000103), u64(0x1000);
	u32(1), u32(24), u64(1600000103), u64(0x9000); /* not known: no event */
	u32(2), u32(16), u64(1600000104);
}

static void test_opdump(void)
{
	static const char want[] = "1 #1 1000+4 t101000000000 «method» code CODE\n4 #1 1000+0 t102000000000 2:a.java:33\n"
				   "2 #1 1000+0 t103000000000\n6 #0 0+0 t104000000000\n";
	struct jit_parser_stats st;

	for (int wide = 0; wide < 2; wide++) {
		AUTO_STRBUF out = STRBUF_INIT;
		dump_op(wide);
		is_int(0, parse(JIT_FORMAT_OPDUMP, in.buf, in.len, in.len, &out, &st), "OProfile dump of a %d-bit writer", wide ? 64 : 32);
		is_str(want, strbuf_str(&out), "events");
		splits(JIT_FORMAT_OPDUMP, wide ? "OProfile dump" : "OProfile dump, 32 bits", want);
	}
}

static void test_pypylog(void)
{
	static const char log[] = "[31aefee] {jit-backend-addr\n"
				  "Loop 1 (twice;/a-b/hot.py:2-5~#8 LOAD_FAST) has address 0x1010 to 0x1080 (bootstrap 0x1000)\n"
				  "       gc table: 0xff0\n"
				  "       function: 0x1000\n"
				  "            end: 0x1100\n"
				  "[31aefef] jit-backend-addr}\n"
				  "[31aefef] {jit-backend-addr\n"
				  "bridge out of Guard 0x99 has address 0x2000 to 0x2040\n"
				  "    jump target: 0x2000\n"
				  "            end: 0x2080\n"
				  "[31aefef] jit-backend-addr}\n"
				  "Loop 3 (odd) has address 0x9000 to 0x8000\n[1] jit-backend-addr}\n"
				  "Loop 4 (re StrMatchIn at 0x5 [17. 4]) has address 0x3000 to 0x3010 (bootstrap 0x3000)\n"
				  "Loop 5 (x has address 0xzz\n"
				  "Loop 6 (no end) has address 0x4000 to 0x4010\n[2] jit-backend-addr}";
	static const char want[] = "1 #1 1000+100 «twice /a-b/hot.py:2 [loop 1]»\n1 #2 2000+80 «bridge out of Guard 0x99»\n"
				   "1 #3 3000+10 «re StrMatchIn at 0x5 [17. 4] [loop 4]»\n1 #4 4000+10 «no end [loop 6]»\n";
	struct jit_parser_stats st;
	AUTO_STRBUF out = STRBUF_INIT;

	strbuf_reset(&in);
	bytes(log, sizeof(log) - 1);
	parse(JIT_FORMAT_PYPYLOG, in.buf, in.len, in.len, &out, &st);
	is_str(want, strbuf_str(&out), "PyPy's log");
	is_int(2, st.bad, "addresses that go backwards, or are none");
	splits(JIT_FORMAT_PYPYLOG, "PyPy's log", want);
}

int main(void)
{
	test_pypylog();
	test_jitdump();
	test_perfmap();
	test_opdump();
	strbuf_done(&in);
	return done_testing();
}
