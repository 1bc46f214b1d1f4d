/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lib/: buffers, maps, number parsing, the bounded reader, files. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "lib/io.h"
#include "lib/map.h"
#include "lib/reader.h"
#include "lib/strbuf.h"
#include "lib/tap.h"

static void test_parse(void)
{
	static const struct {
		const char *text;
		int base, want;
		uint64_t max, value;
	} t[] = {
		{ "0", 10, 0, 10, 0 },          { "10", 10, 0, 10, 10 },          { "11", 10, -ERANGE, 10, 0 },
		{ "", 10, -EINVAL, 10, 0 },     { "-1", 10, -EINVAL, UINT64_MAX, 0 }, { " 1", 10, -EINVAL, 10, 0 },
		{ "1x", 10, -EINVAL, 10, 0 },   { "0x1f", 0, 0, 255, 31 },        { "ff", 16, 0, 255, 255 },
		{ "18446744073709551615", 10, 0, UINT64_MAX, UINT64_MAX },
		{ "18446744073709551616", 10, -ERANGE, UINT64_MAX, 0 },
	};
	uint64_t v;

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		v = 77;
		is_int(t[i].want, util_parse_u64(t[i].text, t[i].base, t[i].max, &v), "parse «%s»", t[i].text);
		is_int(t[i].want ? 77 : (long long)t[i].value, v, "value of «%s», untouched on failure", t[i].text);
	}
	is_int(0, util_parse_size("4k", UINT64_MAX, &v), "4k");
	is_int(4096, v, "is 4096");
	is_int(-ERANGE, util_parse_size("17179869184g", UINT64_MAX, &v), "a size that overflows");
	is_int(-EINVAL, util_parse_size("4kb", UINT64_MAX, &v), "4kb is refused");
}

static void test_strbuf(void)
{
	struct strbuf sb = STRBUF_INIT_CAP(10);
	char *p;

	is_str("", strbuf_str(&sb), "an empty one is \"\"");
	is_int(0, strbuf_addf(&sb, "%s-%d", "abc", 12), "addf");
	is_str("abc-12", sb.buf, "text");
	is_int(0, strbuf_addstr(&sb, "1234"), "up to the cap");
	is_int(-E2BIG, strbuf_addch(&sb, 'x'), "one more is refused");
	is_int(-E2BIG, strbuf_add(&sb, "", 0), "and the error stays");
	is_str("abc-121234", sb.buf, "what was there is kept");
	ok(!strbuf_steal(&sb), "a failed buffer is not handed out");
	strbuf_reset(&sb);
	strbuf_addstr(&sb, "z");
	p = strbuf_steal(&sb);
	is_str("z", p, "stolen");
	is_str("", strbuf_str(&sb), "then empty");
	free(p);
	strbuf_done(&sb);
}

static void test_u64map(void)
{
	enum { N = 20000, MOD = 1 << 12 };
	static uint64_t want[MOD];
	static bool have[MOD];
	struct u64map m = { 0 };
	uint64_t x = 1, key, *v;
	size_t it = 0, seen = 0, n = 0;
	bool good = true;

	for (int i = 0; i < N; i++) { /* a random walk of puts and deletes against a plain table */
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		key = x >> 52;
		if (x & 1 << 20) {
			u64map_put(&m, key, x);
			want[key] = x;
			have[key] = true;
		} else {
			good &= u64map_del(&m, key) == have[key];
			have[key] = false;
		}
	}
	for (key = 0; key < MOD; key++) {
		v = u64map_get(&m, key);
		good &= !!v == have[key] && (!v || *v == want[key]);
		n += have[key];
	}
	ok(good, "u64map equals a plain table after %d random puts and deletes", N);
	is_int(n, u64map_size(&m), "size");
	while (u64map_next(&m, &it, &key, &v))
		seen += have[key];
	is_int(n, seen, "the walk meets each key once");
	u64map_done(&m);
}

static void test_strpool(void)
{
	struct strpool p = { 0 };
	bool good = true;

	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 5000; i++) {
			char s[32];
			int len = snprintf(s, sizeof(s), "name-%d", i);
			int64_t id = strpool_id(&p, s, (size_t)len);
			good &= id == i && !strcmp(strpool_str(&p, (uint32_t)id), s);
		}
	ok(good, "each string once, ids in order of first sight");
	is_int(5000, strpool_id(&p, "name-1x", 6 + 1), "a longer one with the same head is another");
	is_int(1, strpool_id(&p, "name-1x", 6), "a part of a buffer is looked up by its length");
	strpool_done(&p);
}

static void test_reader(void)
{
	static const uint8_t bytes[] = { 1, 0, 2, 0, 0, 0, 'h', 'i', 0, 9 };
	struct reader r = reader_of(bytes, sizeof(bytes));

	is_int(1, reader_u16(&r), "u16");
	is_int(2, reader_u32(&r), "u32");
	is_str("hi", reader_str(&r), "string");
	ok(!reader_str(&r), "a string without its NUL");
	ok(r.bad && r.bad_at == 9, "is bad, and where");
	is_int(0, reader_u8(&r), "after that only zeros come");
	for (size_t cut = 0; cut < sizeof(bytes); cut++) {
		r = reader_of(bytes, cut);
		reader_u16(&r), reader_u32(&r), reader_str(&r), reader_u8(&r);
		ok(r.bad && r.bad_at <= cut, "cut after %zu bytes is seen", cut);
	}
}

static void test_io(void)
{
	char dir[] = "/tmp/opjit-test-XXXXXX", path[64], deep[128];
	AUTO_STRBUF sb = STRBUF_INIT;
	AUTO_STRBUF tmp = STRBUF_INIT;
	struct strbuf small = STRBUF_INIT_CAP(2);
	uint64_t bytes = 0, files = 0;
	struct stat st;
	int fd;

	ok(mkdtemp(dir), "scratch directory");
	snprintf(path, sizeof(path), "%s/f", dir);
	is_int(0, io_replace(path, "one", 3, 0644), "write a file");
	is_int(0, io_replace(path, "two", 3, 0644), "replace it");
	is_int(-EEXIST, io_replace("/dev/null", "x", 1, 0644), "never a device");
	is_int(-EISDIR, io_replace("/tmp", "x", 1, 0644), "nor a directory");
	is_int(-EEXIST, io_beside_open(AT_FDCWD, "/dev/null", 0644, &tmp), "nor where a descriptor is written to");
	is_int(-EISDIR, io_beside_open(AT_FDCWD, "/tmp", 0644, &tmp), "nor a directory there");
	fd = io_beside_open(AT_FDCWD, path, 0644, &tmp);
	ok(fd >= 0 && write(fd, "half", 4) == 4 && io_beside_commit(AT_FDCWD, path, &tmp, -EIO) == -EIO && access(strbuf_str(&tmp), F_OK) < 0,
	   "what failed half-way is taken away");
	close(fd);
	is_int(0, io_write_file("/dev/null", "x", 1, 0644), "which is written into");
	ok(access("/dev/full", F_OK) < 0 || io_write_file("/dev/full", "x", 1, 0644) == -ENOSPC, "a full device says so");
	is_int(0, io_slurp(AT_FDCWD, path, &sb), "read it back");
	is_str("two", strbuf_str(&sb), "whole");
	is_int(-E2BIG, io_slurp(AT_FDCWD, path, &small), "a file above the cap is refused");
	strbuf_done(&small);
	snprintf(deep, sizeof(deep), "%s/a/b/c", dir);
	is_int(0, io_mkdirs(deep, 0755), "mkdir -p");
	is_int(0, io_mkdirs(deep, 0755), "again");
	snprintf(deep, sizeof(deep), "%s/f/x", dir);
	is_int(-ENOTDIR, io_mkdirs(deep, 0755), "below a file");
	snprintf(deep, sizeof(deep), "%s/a/link", dir);
	is_int(0, symlink(path, deep), "a symbolic link");
	is_int(-ELOOP, io_open_regular(AT_FDCWD, deep, O_RDONLY), "is not followed");
	is_int(-ENXIO, io_open_regular(AT_FDCWD, dir, O_RDONLY), "a directory is not regular");
	snprintf(deep, sizeof(deep), "%s/a/fifo", dir);
	is_int(0, mkfifo(deep, 0600), "a FIFO");
	is_int(-ENXIO, io_open_regular(AT_FDCWD, deep, O_RDONLY), "does not block and is refused");
	snprintf(deep, sizeof(deep), "%s/a", dir);
	is_int(0, io_remove_tree(AT_FDCWD, deep, &bytes, &files), "rm -r");
	is_int(2, files, "counts what it removed");
	ok(!stat(path, &st), "the link's target is still there");
	is_int(0, io_remove_tree(AT_FDCWD, dir, NULL, NULL), "clean up");
}

int main(void)
{
	test_parse();
	test_strbuf();
	test_u64map();
	test_strpool();
	test_reader();
	test_io();
	return done_testing();
}
