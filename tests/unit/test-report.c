/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report/: text and name rules, specifications; symbols, lines and inlines of a real JIT image; sums of a query. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "jitconv/saveimage.h"
#include "lib/io.h"
#include "lib/tap.h"
#include "libopagent/opagent.h"
#include "report/names.h"
#include "report/query.h"
#include "report/text.h"

static char root[] = "/tmp/opjit-test-report-XXXXXX";

static void is_text(const char *want, const char *in, void (*fn)(struct strbuf *, const char *), const char *what)
{
	AUTO_STRBUF sb = STRBUF_INIT;

	fn(&sb, in);
	is_str(want, strbuf_str(&sb), "%s", what);
}

static void test_text(void)
{
	static const struct {
		uint64_t part, whole;
		const char *want;
	} percents[] = {
		{ 0, 10, "      0" }, { 10, 10, "100.000" }, { 1, 3, "33.3333" }, { 1, 11, " 9.0909" }, { 1, 2000000, "5.0e-05" },
		{ 999999999, 1000000000, "100.000" }, { 1, 0, "      0" }, { 1, 100000, " 0.0010" },
	};

	is_text("a\\x1b[31m\\x07\\x0a", "a\033[31m\a\n", text_add_plain, "control bytes cannot reach a terminal");
	is_text("caf\xc3\xa9\\xff", "caf\xc3\xa9\xff", text_add_plain, "valid UTF-8 stays, other bytes are shown");
	is_text("\\xc2\\x9b\\xe2\\x80\\xae", "\xc2\x9b\xe2\x80\xae", text_add_plain, "C1 and bidi controls are shown");
	is_text("\"a\\\"\\\\\\u0001\xef\xbf\xbd\"", "a\"\\\001\xfe", text_add_json, "JSON string");
	is_text("&lt;&amp;&gt;&quot;\xef\xbf\xbd&#10;", "<&>\"\001\n", text_add_xml, "XML text");
	is_text("\"f(int, \"\"x\"\")\"", "f(int, \"x\")", text_add_csv, "CSV field");
	is_text("\"a\\x0a\\x1b,\"", "a\n\033,", text_add_csv, "CSV control bytes");
	is_text("plain", "plain", text_add_csv, "CSV field without need of quotes");
	is_text("\xef\xbf\xbd\xef\xbf\xbd", "\xc0\xaf", text_add_xml, "overlong UTF-8 is no slash");
	for (size_t i = 0; i < ARRAY_SIZE(percents); i++) {
		AUTO_STRBUF sb = STRBUF_INIT;

		text_add_percent(&sb, percents[i].part, percents[i].whole);
		is_str(percents[i].want, strbuf_str(&sb), "percentage %zu", i);
	}
}

static void is_name(const char *want, const char *raw, enum names_style style, bool jit)
{
	AUTO_STRBUF sb = STRBUF_INIT;

	names_pretty(&sb, raw, style, jit);
	is_str(want, strbuf_str(&sb), "%s", raw);
}

static void is_v8(const char *raw, const char *name, const char *file, uint32_t line, int tier)
{
	struct names_v8 v = { .tier = 99 };
	bool it_is = names_v8(raw, &v);

	if (!ok(it_is == (name != NULL), "«%s» is %sof V8", raw, name ? "" : "not ") || !it_is)
		return;
	ok(!strncmp(v.name, name, strlen(name)) && v.file_len == strlen(file) && !strncmp(v.file, file, v.file_len),
	   "its name and file");
	is_int(line, v.line, "its line");
	is_int(tier, v.tier, "its tier");
}

static void test_v8(void)
{
	is_v8("LazyCompile:*fib /app/main.js:12:15", "fib ", "/app/main.js", 12, 3);
	is_v8("JS:~fib /app/main.js:12:15", "fib ", "/app/main.js", 12, 0);
	is_v8("JS:^get size /my app/main.js:1:2", "get size ", "/my app/main.js", 1, 1);
	is_v8("JS:+f file:///a/b.mjs:4294967295:1", "f ", "file:///a/b.mjs", UINT32_MAX, 2);
	is_v8("JS:*f file:///a/b.mjs:4294967296:1", "f ", "file:///a/b.mjs:4294967296", 1, 3);
	is_v8("Function:f a.js:7", "f ", "a.js", 7, -1);
	is_v8("JS:* node:internal/url:9:3", " node:", "node:internal/url", 9, 3);
	is_v8("JS:*f [eval]:1:11", "f ", "[eval]", 1, 3);
	is_v8("Script:~ /x.js", " /", "/x.js", 0, 0);
	is_v8("JS:*f", "f", "", 0, 3);
	is_v8("JS:*f ", "f ", "", 0, 3);
	is_v8("JS:", "", "", 0, -1);
	is_v8("JS:*", "", "", 0, 3);
	is_v8("JS: :1:2", " :", "", 1, -1);
	is_v8("JS:*1:2", "1:2", "", 0, 3);
	is_v8("Builtin:ArrayMap", NULL, NULL, 0, 0);
	is_v8("", NULL, NULL, 0, 0);
}

static void test_names(void)
{
	is_text("Spin$$Lambda.run()", "Spin$$Lambda$12/0x00007fe81c000a08.run()", names_fold, "lambda of JDK 17");
	is_text("Spin$$Lambda.run()", "Spin$$Lambda/0x0000000026040210.run()", names_fold, "lambda of JDK 25");
	is_text("Spin$$Lambda.run()", "Spin$$Lambda$7/1023892928.run()", names_fold, "lambda of JDK 8");
	is_text("java.lang.invoke.LambdaForm$MH.invoke()", "java.lang.invoke.LambdaForm$MH/0x00007f.invoke()", names_fold,
		"hidden class");
	is_text("jdk.internal.reflect.GeneratedMethodAccessor.invoke()", "jdk.internal.reflect.GeneratedMethodAccessor42.invoke()",
		names_fold, "reflection accessor");
	is_text("com.sun.proxy.$Proxy.f()", "com.sun.proxy.$Proxy12.f()", names_fold, "proxy");
	is_text("fib /app/main.js:1:15", "LazyCompile:*fib /app/main.js:1:15", names_fold, "V8: tag and tier are not part of the name");
	is_text("fib /app/main.js:1:15", "JS:~fib /app/main.js:1:15", names_fold, "V8, interpreted: the same row");
	is_text("A::run", "JIT$A::run", names_fold, "PHP, by function");
	is_text("JIT$$trace_exit_0", "JIT$$trace_exit_0", names_fold, "PHP's own stubs");
	is_text("A::run:12 [trace 7]", "TRACE-7$A::run$12", names_fold, "PHP, a trace");
	is_text("/srv/$x/a.php:3 [trace 10]", "TRACE-10$/srv/$x/a.php$3", names_fold, "PHP, a trace outside of functions");
	is_text("TRACE-7$f", "TRACE-7$f", names_fold, "no line: none of PHP's");
	is_text("TRACE-$f$1", "TRACE-$f$1", names_fold, "no number: none of PHP's");
	is_text("TRACE-7$$1", "TRACE-7$$1", names_fold, "no name: none of PHP's");
	is_text("hot:twice/3", "$hot:twice/3", names_fold, "Erlang");
	is_text("hot:twice/3", "$hot:twice/3-CodeInfoPrologue", names_fold, "Erlang, what stands in front of the function");
	is_text("'Elixir.A':'-f/1-fun-0-'/2", "$'Elixir.A':'-f/1-fun-0-'/2", names_fold, "Elixir, a closure");
	is_text("global::i_test_yield_shared", "$global::i_test_yield_shared", names_fold, "Erlang's own code");
	is_text("$hot:twice", "$hot:twice", names_fold, "no arity: none of Erlang's");
	is_text("$/3", "$/3", names_fold, "no function: none of Erlang's");
	is_text("$a:/3", "$a:/3", names_fold, "nor this");
	is_text("-CodeInfoPrologue", "-CodeInfoPrologue", names_fold, "nor this alone");
	is_text("", "", names_fold, "nothing");
	is_text("Builtin:ArrayMap", "Builtin:ArrayMap", names_fold, "V8's builtins keep their tag");
	is_text("(anonymous) /app/main.js:9:3", "JS:* /app/main.js:9:3", names_fold, "V8: a function without a name is known by its place");
	is_text("(anonymous) /app/main.js:9:3", "JS:~ /app/main.js:9:3", names_fold, "V8, interpreted: the same row");
	is_text("(anonymous) /app/main.js:1:1", "Script:^ /app/main.js:1:1", names_fold, "V8: nor has a script's own code");
	is_text("a.b0x12.f2()", "a.b0x12.f2()", names_fold, "numbers of the programmer stay");
	is_text("lambda$main$0", "lambda$main$0", names_fold, "the method of a lambda stays");

	is_name("com.acme.Foo$Bar.baz(int, String)", "Lcom/acme/Foo$Bar;.baz(ILjava/lang/String;)V", NAMES_SMART, true);
	is_name("void com.acme.Foo$Bar.baz(int, java.lang.String)", "Lcom/acme/Foo$Bar;.baz(ILjava/lang/String;)V", NAMES_NORMAL,
		true);
	is_name("Lcom/acme/Foo$Bar;.baz(ILjava/lang/String;)V", "Lcom/acme/Foo$Bar;.baz(ILjava/lang/String;)V", NAMES_NONE, true);
	is_name("a.B.f(long[][], Entry)", "a/B.f([[JLjava/util/Entry;)[I", NAMES_SMART, true);
	is_name("a.B.f(int", "a.B.f(int", NAMES_SMART, true);
	is_name("a.B.f(ILx)V", "a.B.f(ILx)V", NAMES_SMART, true);
	is_name("Spin.f2(int, int)", "long Spin.f2(int, int)", NAMES_SMART, true);
	is_name("long Spin.f2(int, int)", "long Spin.f2(int, int)", NAMES_NORMAL, true);
	is_name("long Spin.f2(int, int)", "long Spin.f2(int, int)", NAMES_SMART, false);
	is_name("Main:Fib (int)", "Main:Fib (int)", NAMES_SMART, true);
	is_name("std::vector<int>::push_back(int const&)", "_ZNSt6vectorIiSaIiEE9push_backERKi", NAMES_SMART, false);
	is_name("std::vector<int, std::allocator<int> >::push_back(int const&)", "_ZNSt6vectorIiSaIiEE9push_backERKi", NAMES_NORMAL,
		false);
	is_name("f(std::string)", "_Z1fNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", NAMES_SMART, false);
	is_name("f(int)", "_Z1fi.constprop.0", NAMES_SMART, false);
	is_name("f(int) [clone .constprop.0]", "_Z1fi.constprop.0", NAMES_NORMAL, false);
	is_name("core::fmt::write", "_ZN4core3fmt5write17h0123456789abcdefE", NAMES_SMART, false);
	is_name("operator new(unsigned long)@plt", "_Znwm@plt", NAMES_SMART, false);
	is_name("memcpy@plt", "memcpy@plt", NAMES_SMART, false);
	is_name("_Z@plt", "_Z@plt", NAMES_SMART, false);
	is_name("_Znot_mangled", "_Znot_mangled", NAMES_SMART, false);
	is_name("", "", NAMES_SMART, true);
}

static void is_raw(const char *want, const char *name, const char *descriptor)
{
	AUTO_STRBUF sb = STRBUF_INIT;

	names_raw(&sb, name, descriptor);
	is_str(want, strbuf_str(&sb), "the VM's name of %s", name);
}

static void test_raw_names(void)
{
	is_raw("Lcom/acme/Foo$Bar;baz(ILjava/lang/String;)V", "com.acme.Foo$Bar.baz(int, String)", "(ILjava/lang/String;)V");
	is_raw("LFoo;<init>()V", "Foo.<init>()", "()V");
	is_raw("La/B$$Lambda.0x00007f;run()V", "a.B$$Lambda/0x00007f.run()", "()V");
	is_raw("odd()V", "odd", "()V");
	is_raw("()V", "", "()V");
	is_name("java.lang.String com.acme.Foo$Bar.baz(int)", "Lcom/acme/Foo$Bar;baz(I)Ljava/lang/String;", NAMES_NORMAL, true);
}

static void test_spec(void)
{
	const char *const words[] = { "image:/usr/bin/ja*,x\\,y", "event:cpu-clock", "tgid:7", "java:App" };
	const char *const bad[] = { "tgid:seven" }, *const empty[] = { "cpu:" };
	struct session_event e = { .name = "cpu-clock" }, other = { .name = "cycles" };
	struct session_file f = { .kind = SESSION_FILE, .image = "/lib/libc.so.6", .app_path = "/usr/bin/java", .app = "java:App",
				  .tgid = 7, .tid = -1, .cpu = -1 };
	struct spec s;
	AUTO_STRBUF why = STRBUF_INIT;

	is_int(0, spec_parse(&s, words, ARRAY_SIZE(words), &why), "specification");
	is_int(3, (int)s.of[SPEC_IMAGE].n, "escaped comma, and a bare name with a colon");
	is_str("x,y", s.of[SPEC_IMAGE].v[1], "the comma");
	ok(spec_match(&s, &e, &f), "matches");
	ok(!spec_match(&s, &other, &f), "another event does not");
	f.tgid = 8;
	ok(!spec_match(&s, &e, &f), "another process does not");
	f = (struct session_file){ .kind = SESSION_JIT, .image = "7-0123456789abcdef/0.jo", .app_path = "/usr/bin/java",
				   .app = "java:App", .tgid = -1, .tid = -1, .cpu = -1 };
	ok(spec_match(&s, &e, &f), "the instance of a JIT image names its process");
	spec_done(&s);
	is_int(-EINVAL, spec_parse(&s, bad, 1, &why), "a process is a number");
	spec_done(&s);
	is_int(-EINVAL, spec_parse(&s, empty, 1, &why), "a tag needs a value");
	spec_done(&s);
}

/* --- a JIT image written by libopagent, in a session --------------------------------------------------------- */

static char instance[512], session_path[512];

static int post(void)
{
	static const uint8_t code[256] = { 0x90 };
	const char *const names[] = { "App.inner(int)", "App.middle(int)" };
	const char *const files[] = { "pkg/Inner.java", "pkg/App.java" };
	const struct opagent_line lines[] = { { 8, 30, UINT32_MAX }, { 32, 5, 0 }, { 64, 33, UINT32_MAX } };
	const struct opagent_frame frames[] = { { 1, 0, 0, 21 }, { UINT32_MAX, 1, 1, 31 } };
	const struct opagent_inline_range ranges[] = { { 0, UINT32_MAX, 30 }, { 32, 0, 5 }, { 64, UINT32_MAX, 33 } };
	struct opagent_open_opts o = { .size = sizeof(o), .dir = root, .source = "hotspot" };
	struct opagent_region r = { .size = sizeof(r), .addr = 0x7f0000001000, .code_size = 128, .code = code,
				    .name = "App.outer(int)", .tier = 3, .source_file = "pkg/App.java", .names = names, .files = files,
				    .n_names = 2, .n_files = 2, .descriptor = "(I)[J", .lines = lines, .n_lines = 3, .frames = frames, .n_frames = 2,
				    .inlines = ranges, .n_inlines = 3 };
	struct opagent_region plain = { .size = sizeof(plain), .addr = 0x7f0000002000, .code_size = 16, .code = code,
					.name = "Stub", .tier = -1, .kind = OPAGENT_STUB };
	struct opagent *a;
	int e = opagent_open(&a, &o);

	if (e < 0)
		return e;
	snprintf(instance, sizeof(instance), "%s", opagent_dir(a));
	e = opagent_load(a, &r, NULL);
	if (!e)
		e = opagent_load(a, &plain, NULL);
	r.addr = 0x7f0000003000; /* compiled anew, the second time as an OSR version with its lines told later */
	r.tier = 4;
	r.flags = OPAGENT_OSR;
	r.osr_bci = 17;
	r.n_lines = r.n_inlines = r.n_frames = 0;
	if (!e)
		e = opagent_load(a, &r, NULL);
	r.n_lines = 3;
	if (!e)
		e = opagent_amend(a, &r);
	opagent_close(a);
	return e;
}

static const char *instance_name(void)
{
	return text_base(instance);
}

static uint64_t key_of(const struct sym *v, size_t n, const char *name, size_t which)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(v[i].name, name) && !which--)
			return v[i].start;
	return 0;
}

static int make_session(const uint64_t *keys, const uint64_t *counts, size_t n)
{
	AUTO_STRBUF image = STRBUF_INIT;
	struct session_store_opts so = { .dir = session_path, .cpu_type = "test", .no_sync = true };
	struct session_event e = { .name = "cpu-clock", .desc = "x", .freq = 1000, .timer = true };
	struct session_file f = { .kind = SESSION_JIT, .app_path = "/usr/bin/java", .app = "java:App", .tgid = 7, .tid = -1,
				  .cpu = -1 };
	struct session_store *st;
	int r = session_store_new(&st, &so);
	int64_t file;

	if (r < 0)
		return r;
	strbuf_addf(&image, "%s/0.jo", instance_name());
	f.image = strbuf_str(&image);
	r = session_store_event(st, 0, &e);
	file = session_store_file(st, &f);
	for (size_t i = 0; i < n && r >= 0 && file >= 0; i++)
		r = session_store_add(st, (uint32_t)file, keys[i], counts[i]);
	if (r >= 0)
		r = session_store_flush(st);
	session_store_free(st);
	return file < 0 ? (int)file : r;
}

static int copy_image(void)
{
	AUTO_STRBUF from = STRBUF_INIT;
	AUTO_STRBUF to = STRBUF_INIT;
	AUTO_CLOSE int fd = -1;
	int r;

	strbuf_addf(&from, "%s/0.jo", instance);
	fd = open(strbuf_str(&from), O_RDONLY | O_CLOEXEC);
	strbuf_addf(&to, "%s/jit/%s", session_path, instance_name());
	r = io_mkdirs(strbuf_str(&to), 0755);
	strbuf_addstr(&to, "/0.jo");
	return r < 0 ? r : jit_image_save(fd, AT_FDCWD, strbuf_str(&to), NULL);
}

static void test_lines(struct sym_image *img, uint64_t first, uint64_t second)
{
	struct sym_frame fr[SYM_FRAMES_MAX];
	struct sym_line at = { NULL, 0 };
	uint64_t addr = 0, offset = 0;

	is_int(0, sym_line(img, first, &at), "line of the start");
	is_int(30, at.line, "is the first one of the table");
	is_str("pkg/App.java", at.file, "with its path");
	is_int(0, sym_line(img, first + 40, &at), "line of an inlined part");
	is_int(5, at.line, "is the innermost one");
	is_str("pkg/Inner.java", at.file, "in the file of the inlined method");
	is_int(3, sym_inlines(img, first + 40, fr), "three frames");
	is_str("App.inner(int)", fr[0].name, "innermost");
	is_int(5, fr[0].at.line, "its line");
	is_str("App.middle(int)", fr[1].name, "middle");
	is_int(21, fr[1].at.line, "calls inner at");
	is_str("App.outer(int)", fr[2].name, "outermost");
	is_int(31, fr[2].at.line, "calls middle at");
	is_int(1, sym_inlines(img, first + 10, fr), "one frame where nothing is inlined");
	is_int(30, fr[0].at.line, "with its line");
	is_int(0, sym_line(img, second + 64, &at), "lines that were told later");
	is_int(33, at.line, "are found");
	is_int(-ENOENT, sym_line(img, 1, &at), "no line outside of any region");
	ok(sym_jit_address(img, second + 5, &addr) && addr == 0x7f0000003005, "address in the process");
	is_str("Stub", sym_jit_name(img, second, 0x7f000000200f, &offset), "and what was at one");
	is_int(15, (long long)offset, "with its offset");
	ok(!sym_jit_name(img, second, 0x7f0000002010, &offset), "nothing behind it");
}

static void test_query(uint64_t first, uint64_t second, uint64_t stub)
{
	const uint64_t keys[] = { first, first + 40, first + 120, second + 64, stub + 3, stub + 200 };
	const uint64_t counts[] = { 1, 20, 300, 4000, 50000, 600000 };
	struct query_opts o = { .session_dir = session_path };
	struct query *q = NULL, *t = NULL;
	AUTO_STRBUF why = STRBUF_INIT;
	uint64_t sum = 0;

	is_int(0, make_session(keys, counts, ARRAY_SIZE(keys)), "a session");
	is_int(0, query_run(&q, &o, &why), "query by image");
	is_int(1, (int)q->n_rows, "one image");
	is_int(654321, (long long)q->rows[0].counts[0], "with all samples");
	is_str("java:App [jit]", q->images[q->rows[0].image].label, "its name");
	query_free(q);
	o.by_symbol = o.details = true;
	is_int(0, query_run(&q, &o, &why), "query by symbol");
	query_sort(q, NULL, 0, false);
	for (size_t i = 0; i < q->n_rows; i++)
		sum += q->rows[i].counts[0];
	is_int(654321, (long long)sum, "sums up to the same");
	is_int(654321, (long long)q->classes[0].all, "as the whole");
	is_int(3, (int)q->n_rows, "versions of a method are one row");
	is_str("(no symbols)", q->rows[0].name, "what lies behind a region is not given to it");
	is_int(600000, (long long)q->rows[0].counts[0], "and is counted");
	is_str("App.outer(int)", q->rows[2].name, "both versions");
	is_int(4321, (long long)q->rows[2].counts[0], "together");
	is_int(4, (int)q->rows[2].n_details, "with each key");
	o.tiers = true;
	is_int(0, query_run(&t, &o, &why), "query with tiers");
	query_sort(t, NULL, 0, false);
	is_int(4, (int)t->n_rows, "versions apart");
	is_str("App.outer(int) (tier 4) (OSR @17)", t->rows[2].name, "the newer one");
	is_int(4000, (long long)t->rows[2].counts[0], "its samples");
	is_str("App.outer(int) (tier 3)", t->rows[3].name, "the older one");
	query_free(q);
	query_free(t);
}

static void test_image(void)
{
	struct session_file f = { .kind = SESSION_JIT, .app_path = "/usr/bin/java", .app = "java:App", .tgid = 7, .tid = -1,
				  .cpu = -1 };
	AUTO_STRBUF image = STRBUF_INIT;
	struct session *s = NULL;
	struct symbols *y = NULL;
	struct sym_image *img;
	const uint64_t key = 1, count = 1;
	const struct sym *v;
	char *why = NULL;
	uint64_t first, second, stub;
	size_t n;

	snprintf(session_path, sizeof(session_path), "%s/session", root);
	is_int(0, post(), "libopagent posts");
	is_int(0, make_session(&key, &count, 1), "a session to stand in");
	is_int(0, copy_image(), "the image goes into the session");
	is_int(0, session_open(&s, session_path, &why), "open");
	is_int(0, symbols_new(&y, s, NULL), "symbols");
	strbuf_addf(&image, "%s/0.jo", instance_name());
	f.image = strbuf_str(&image);
	img = symbols_image(y, &f);
	ok(img && img == symbols_image(y, &f), "an image is kept");
	v = sym_all(img, &n);
	is_int(0, sym_image_error(img), "it can be read");
	is_int(3, (int)n, "three symbols");
	first = key_of(v, n, "App.outer(int)", 0);
	second = key_of(v, n, "App.outer(int)", 1);
	stub = key_of(v, n, "Stub", 0);
	ok(first && second && stub, "by their names");
	ok(sym_find(img, first + 127, NULL) == sym_find(img, first, NULL) && sym_find(img, first, NULL), "to its last byte");
	ok(sym_find(img, stub + 16, NULL) != sym_find(img, stub, NULL), "and not beyond");
	test_lines(img, first, second);
	symbols_free(y);
	session_free(s);
	free(why);
	test_query(first, second, stub);
}

static void write_file(const char *path, const void *data, size_t len)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || io_write_full(fd, data, len) < 0)
		abort();
}

/* What objdump calls the stubs of FILE (the table's head aside): all of them have their names here, to the last byte. */
static void test_plt(const char *path)
{
	struct session_file f = { .kind = SESSION_FILE, .image = (char *)path, .tgid = -1, .tid = -1, .cpu = -1 };
	AUTO_STRBUF cmd = STRBUF_INIT;
	unsigned int stubs = 0, wrong = 0;
	struct symbols *y;
	struct sym_image *img;
	char line[4096], name[4096];
	uint64_t at;
	FILE *p;

	if (access(path, R_OK) < 0) {
		skip("no %s here", path);
		return;
	}
	is_int(0, symbols_new(&y, NULL, NULL), "symbols of a file");
	img = symbols_image(y, &f);
	strbuf_addf(&cmd, "objdump -d -j .plt -j .plt.got -j .plt.sec -j .iplt '%s' 2>/dev/null", path);
	p = popen(cmd.buf, "r");
	while (p && fgets(line, sizeof(line), p)) {
		const struct sym *v;

		if (sscanf(line, "%" SCNx64 " <%4000[^>]>:", &at, name) != 2 || !strstr(name, "@plt") || strstr(name, "@plt-"))
			continue;
		stubs++;
		v = sym_at_vma(img, at);
		if (v && v == sym_at_vma(img, at + 7) && v->start == at && strstr(v->name, "@plt") &&
		    (*name == '*' || !strcmp(v->name, name)))
			continue;
		if (!wrong++)
			printf("# %s", line);
	}
	if (p)
		pclose(p);
	ok(stubs && !wrong, "%s: %u of %u stubs by their names", path, stubs - wrong, stubs);
	symbols_free(y);
}

/* Section headers, relocations and stubs with wild bytes: nothing but names is lost. */
static void test_damaged_plt(const char *from)
{
	AUTO_STRBUF bytes = STRBUF_INIT, path = STRBUF_INIT;
	struct session_file f = { .kind = SESSION_FILE, .tgid = -1, .tid = -1, .cpu = -1 };
	struct symbols *y;
	size_t n, at = 0, headers;
	Elf64_Ehdr eh;

	if (io_slurp(AT_FDCWD, from, &bytes) < 0 || bytes.len < sizeof(eh)) {
		skip("cannot read %s", from);
		return;
	}
	memcpy(&eh, bytes.buf, sizeof(eh));
	headers = eh.e_shoff;
	strbuf_addf(&path, "%s/damaged", root);
	f.image = path.buf;
	for (unsigned int i = 0; i < 200; i++) {
		char was[4];

		at = i % 4 ? headers + (size_t)i * 53 % (bytes.len - headers - 4) : (size_t)i * 7919 % (bytes.len - 4);
		memcpy(was, bytes.buf + at, 4);
		memset(bytes.buf + at, i % 3 ? (int)(i * 37) : 0xff, 4);
		write_file(path.buf, bytes.buf, i % 9 ? bytes.len : bytes.len / (i + 1));
		memcpy(bytes.buf + at, was, 4);
		if (symbols_new(&y, NULL, NULL) < 0)
			abort();
		sym_all(symbols_image(y, &f), &n);
		symbols_free(y);
	}
	ok(at, "a damaged file's stubs: 200 ways, none of them ends us");
}

struct plt_file { /* what is in a file of stubs */
	unsigned int sections, stubs, step; /* sections: all with the same bytes */
	uint64_t entsize, align;
	size_t name_len;
	bool indirect; /* each slot is filled by a resolver */
};

static size_t put(struct strbuf *sb, const void *data, size_t len)
{
	while (sb->len % 16)
		strbuf_addch(sb, 0);
	strbuf_add(sb, data, len);
	return sb->len - len;
}

/* Writes it: stub i at 0x1000 + i * step jumps through the slot at 0x100000 + 8 * i. */
static void write_plt_file(const char *path, const struct plt_file *p)
{
	static const char words[] = "\0.plt\0.rela.plt";
	Elf64_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_DYN, .e_machine = EM_X86_64,
			  .e_version = 1, .e_ehsize = sizeof(eh), .e_shentsize = sizeof(Elf64_Shdr), .e_shstrndx = 1,
			  .e_shnum = (uint16_t)(5 + p->sections) };
	Elf64_Sym syms[] = { { 0 }, { .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) },
			     /* a resolver's name in its own file, and that of the function */
			     { .st_name = 1, .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC), .st_shndx = 5, .st_value = 0x500000, .st_size = 9 },
			     { .st_name = 2, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC), .st_shndx = 5, .st_value = 0x500000, .st_size = 9 } };
	AUTO_FREE Elf64_Shdr *sh = calloc(5 + p->sections, sizeof(*sh));
	AUTO_STRBUF sb = STRBUF_INIT, code = STRBUF_INIT, rela = STRBUF_INIT, names = STRBUF_INIT;

	strbuf_addch(&names, 0);
	for (size_t i = 0; i < p->name_len; i++)
		strbuf_addch(&names, 'f');
	strbuf_addch(&names, 0);
	for (unsigned int i = 0; i < p->stubs; i++) {
		uint8_t stub[16] = { 0xff, 0x25 };
		int32_t far = (int32_t)(0x100000 + 8 * i - (0x1000 + p->step * i + 6));
		Elf64_Rela r = { .r_offset = 0x100000 + 8 * i, .r_info = ELF64_R_INFO(1, R_X86_64_JUMP_SLOT) };

		if (p->indirect)
			r = (Elf64_Rela){ .r_offset = r.r_offset, .r_info = R_X86_64_IRELATIVE, .r_addend = 0x500000 };
		memcpy(stub + 2, &far, 4);
		strbuf_add(&code, stub, p->step);
		strbuf_add(&rela, &r, sizeof(r));
	}
	put(&sb, &eh, sizeof(eh));
	sh[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = put(&sb, words, sizeof(words)), .sh_size = sizeof(words) };
	sh[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = put(&sb, names.buf, names.len), .sh_size = names.len };
	sh[3] = (Elf64_Shdr){ .sh_type = SHT_DYNSYM, .sh_offset = put(&sb, syms, sizeof(syms)), .sh_size = sizeof(syms), .sh_link = 2,
			      .sh_entsize = sizeof(*syms) };
	sh[4] = (Elf64_Shdr){ .sh_name = 6, .sh_type = SHT_RELA, .sh_flags = SHF_ALLOC, .sh_offset = put(&sb, rela.buf, rela.len),
			      .sh_size = rela.len, .sh_entsize = sizeof(Elf64_Rela) };
	sh[5] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = 0x1000,
			      .sh_offset = put(&sb, code.buf, code.len), .sh_size = code.len, .sh_entsize = p->entsize,
			      .sh_addralign = p->align };
	for (unsigned int i = 1; i < p->sections; i++)
		sh[5 + i] = sh[5];
	eh.e_shoff = put(&sb, sh, (5 + p->sections) * sizeof(*sh));
	memcpy(sb.buf, &eh, sizeof(eh));
	if (sb.error || io_replace(path, sb.buf, sb.len, 0600) < 0)
		abort();
}

static void test_plt_files(void)
{
	struct plt_file p = { .sections = 1, .stubs = 5, .step = 8, .align = 8, .name_len = 3, .indirect = true };
	AUTO_STRBUF path = STRBUF_INIT;
	struct session_file f = { .kind = SESSION_FILE, .tgid = -1, .tid = -1, .cpu = -1 };
	const struct sym *v;
	struct symbols *y;
	unsigned int good = 0;
	clock_t began;
	size_t n;

	strbuf_addf(&path, "%s/stubs", root);
	f.image = path.buf;
	write_plt_file(path.buf, &p);
	is_int(0, symbols_new(&y, NULL, NULL), "a static program's stubs");
	v = sym_all(symbols_image(y, &f), &n);
	for (size_t i = 0; i < n; i++)
		good += v[i].start == 0x1000 + 8 * i && v[i].end == v[i].start + 8 && !strcmp(v[i].name, "ff@plt");
	is_int(5, good, "are of 8 bytes, as their alignment alone tells, and have the name that the function has outside");
	symbols_free(y);
	p = (struct plt_file){ .sections = 2000, .stubs = 4000, .step = 16, .entsize = 16, .align = 16, .name_len = 3 };
	write_plt_file(path.buf, &p);
	is_int(0, symbols_new(&y, NULL, NULL), "2000 sections with one body");
	began = clock();
	sym_all(symbols_image(y, &f), &n);
	ok(clock() - began < 2 * CLOCKS_PER_SEC, "are no work of 8 million stubs");
	symbols_free(y);
	p = (struct plt_file){ .sections = 1, .stubs = 4000, .step = 16, .entsize = 16, .align = 16, .name_len = 1 << 20 };
	write_plt_file(path.buf, &p);
	is_int(0, symbols_new(&y, NULL, NULL), "4000 stubs with one name of a megabyte");
	sym_all(symbols_image(y, &f), &n);
	ok(n >= 60 && n < 80, "are no 4 gigabytes of names");
	symbols_free(y);
}

/* Writes a file of functions, function i at 0x1000 + i * step, its name at byte i + 1 of a table of 4 MB that ends with `last`. */
static void write_names_file(const char *path, size_t n, uint64_t step, char last)
{
	Elf64_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_DYN, .e_machine = EM_X86_64,
			  .e_version = 1, .e_ehsize = sizeof(eh), .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3 };
	AUTO_FREE Elf64_Sym *syms = calloc(n + 1, sizeof(*syms));
	AUTO_STRBUF sb = STRBUF_INIT, names = STRBUF_INIT;
	Elf64_Shdr sh[3] = { { 0 } };

	strbuf_add(&names, "\0name\0", 6);
	while (names.len < 4 << 20)
		strbuf_addch(&names, 'n');
	strbuf_addch(&names, last);
	for (size_t i = 1; i <= n; i++)
		syms[i] = (Elf64_Sym){ .st_name = (uint32_t)i, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1,
				       .st_value = 0x1000 + i * step, .st_size = 9 };
	put(&sb, &eh, sizeof(eh));
	sh[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = put(&sb, names.buf, names.len), .sh_size = names.len };
	sh[2] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB, .sh_offset = put(&sb, syms, (n + 1) * sizeof(*syms)), .sh_size = (n + 1) * sizeof(*syms),
			      .sh_link = 1, .sh_entsize = sizeof(*syms) };
	eh.e_shoff = put(&sb, sh, sizeof(sh));
	memcpy(sb.buf, &eh, sizeof(eh));
	if (sb.error || io_replace(path, sb.buf, sb.len, 0600) < 0)
		abort();
}

/* CPU time of a look at all symbols of the file at `path`, the least of three; n: how many there are, first and last: their names. */
static clock_t names_time(const struct session_file *f, size_t *n, char first[16], char last[16])
{
	clock_t least = 0;

	for (int i = 0; i < 3; i++) {
		struct symbols *y;
		const struct sym *v;
		clock_t began;

		if (symbols_new(&y, NULL, NULL) < 0)
			abort();
		began = clock();
		v = sym_all(symbols_image(y, f), n);
		began = clock() - began;
		least = !i || began < least ? began : least;
		snprintf(first, 16, "%s", *n ? v[0].name : "");
		snprintf(last, 16, "%s", *n ? v[*n - 1].name : "");
		symbols_free(y);
	}
	return least;
}

/* The work for a file is that of its size: not each name's of the whole table, nor each comparison's of two names of megabytes. */
static void test_long_names(void)
{
	AUTO_STRBUF path = STRBUF_INIT;
	struct session_file f = { .kind = SESSION_FILE, .tgid = -1, .tid = -1, .cpu = -1 };
	char first[16], last[16];
	clock_t plain, least;
	size_t n;

	strbuf_addf(&path, "%s/names", root);
	f.image = path.buf;
	write_names_file(path.buf, 20000, 16, 0);
	plain = names_time(&f, &n, first, last);
	ok(n == 19999, "20000 names that end together are there, but for the empty one");
	write_names_file(path.buf, 20000, 16, 'n');
	least = names_time(&f, &n, first, last);
	ok(n == 4 && !strcmp(first, "name") && !strcmp(last, "e"), "of names without an end those before the table's last end are there");
	ok(least < 100 * plain, "it is searched for once");
	write_names_file(path.buf, 2000, 0, 0);
	least = names_time(&f, &n, first, last);
	ok(n == 1 && least < 100 * plain, "2000 names of 4 megabytes for one address are no gigabytes of comparing");
}

static void is_shown(enum names_style style, const char *want)
{
	struct query_opts o = { .session_dir = session_path, .by_symbol = true, .style = style };
	AUTO_STRBUF why = STRBUF_INIT;
	struct query *q = NULL;
	unsigned int found = 0;

	is_int(0, query_run(&q, &o, &why), "query: %s", strbuf_str(&why));
	for (size_t i = 0; q && i < q->n_rows; i++)
		found += !strcmp(q->rows[i].name, want);
	is_int(1, found, "one row says %s", want);
	query_free(q);
}

static void test_styles(void)
{
	is_shown(NAMES_SMART, "App.outer(int)");
	is_shown(NAMES_NORMAL, "long[] App.outer(int)");
	is_shown(NAMES_NONE, "LApp;outer(I)[J");
}

static void test_damaged_image(void)
{
	AUTO_STRBUF path = STRBUF_INIT;
	AUTO_STRBUF bytes = STRBUF_INIT;
	struct query_opts o = { .session_dir = session_path, .by_symbol = true, .details = true, .tiers = true };
	unsigned int bad = 0;

	strbuf_addf(&path, "%s/jit/%s/0.jo", session_path, instance_name());
	io_slurp(AT_FDCWD, strbuf_str(&path), &bytes);
	for (unsigned int i = 0; i < 600; i++) { /* bytes of the headers and tables broken one after the other; cut files */
		AUTO_STRBUF why = STRBUF_INIT;
		struct query *q = NULL;
		size_t len = bytes.len, at = i < 400 ? i * 8 % 4096 : (size_t)i * 7919 % bytes.len;
		char was = bytes.buf[at];

		if (i % 10 == 9)
			len = bytes.len / (i + 1);
		else
			bytes.buf[at] = (char)(i * 37 + 255);
		write_file(strbuf_str(&path), bytes.buf, len);
		bytes.buf[at] = was;
		if (query_run(&q, &o, &why) < 0) {
			bad++;
			continue;
		}
		for (size_t k = 0; k < q->n_rows; k++)
			for (size_t d = 0; d < q->rows[k].n_details; d++) {
				struct sym_frame fr[SYM_FRAMES_MAX];
				struct sym_line l;

				(void)sym_line(q->rows[k].details[d].img, q->rows[k].details[d].key, &l);
				(void)sym_inlines(q->rows[k].details[d].img, q->rows[k].details[d].key, fr);
			}
		bad += q->classes[0].total != 654321;
		query_free(q);
	}
	is_int(0, bad, "a damaged image costs names, never samples");
}

int main(void)
{
	if (!mkdtemp(root))
		return 1;
	test_text();
	test_names();
	test_v8();
#ifdef __x86_64__
	test_plt("/bin/bash");
	test_plt("/lib/x86_64-linux-gnu/libc.so.6");
	test_plt("/usr/bin/gdb"); /* C++ */
	test_damaged_plt("/bin/bash");
#endif
	test_plt_files();
	test_long_names();
	test_raw_names();
	test_spec();
	test_image();
	test_styles();
	test_damaged_image();
	io_remove_tree(AT_FDCWD, root, NULL, NULL);
	return done_testing();
}
