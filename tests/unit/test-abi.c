/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The four files against vectors of an independent encoder, and against themselves at any width and order. */
#include <errno.h>

#include "format/abi/file.h"
#include "lib/tap.h"
#include "tests/unit/abi-vectors.h"

static uint64_t rng_state = 88172645463325252ULL;
static uint64_t rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	return rng_state ^= rng_state << 17;
}

static size_t bytes_of(const char *name, uint8_t *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++)
		if (!strcmp(vectors[i].name, name)) {
			size_t n = strlen(vectors[i].hex) / 2;
			for (size_t k = 0; k < n; k++) {
				char two[3] = { vectors[i].hex[2 * k], vectors[i].hex[2 * k + 1], 0 };
				out[k] = (uint8_t)strtoul(two, NULL, 16);
			}
			return n;
		}
	ok(false, "no vector %s", name);
	return 0;
}

static bool same(const struct strbuf *sb, const uint8_t *v, size_t n)
{
	return sb->len == n && !memcmp(sb->buf, v, n);
}

static struct abi_format fmt_of(enum abi_kind kind, unsigned int width, const char *order)
{
	struct abi_format f = { 0 };
	if (abi_format_parse_order(&f, kind, width, order) < 0)
		ok(false, "order %s", order);
	return f;
}

/* --- each vector is decoded, checked field by field, and written again ----------------------------------- */
static void put_prefix(struct strbuf *sb, const struct abi_format *f)
{
	uint8_t p[ABI_MAX_PREFIX];
	abi_prefix_write(f, p);
	strbuf_add(sb, p, abi_prefix_len(f));
}

static void test_notes(void)
{
	uint8_t v[1024];
	size_t n = bytes_of("A1", v), pos = 12;
	struct abi_format f;
	AUTO_STRBUF out = STRBUF_INIT;
	struct opnd_note note;
	uint8_t six[6 * 4];

	is_int(12, abi_prefix_read(&f, ABI_OPND, v, n, NULL), "A1: prefix");
	put_prefix(&out, &f);
	is_int(1, opnd_next(&f, v, n, &pos, &note, NULL), "A1: first note");
	ok(note.address == 0x08048000 && note.length == 0x5000 && !note.offset && note.hash == 3 && note.pid == 1234 &&
	   note.type == OPND_EXEC, "A1: EXEC");
	opnd_write(&f, six, &note);
	strbuf_add(&out, six, sizeof(six));
	is_int(1, opnd_next(&f, v, n, &pos, &note, NULL), "A1: second note");
	ok(note.address == 4321 && note.pid == 1234 && note.type == OPND_FORK, "A1: FORK: parent and child");
	opnd_write(&f, six, &note);
	strbuf_add(&out, six, sizeof(six));
	is_int(0, opnd_next(&f, v, n, &pos, &note, NULL), "A1: end");
	ok(same(&out, v, n), "A1: written again, the same bytes");
	pos = 12 + 24;
	is_int(-EAGAIN, opnd_next(&f, v, n - 1, &pos, &note, NULL), "A1: cut inside a note");
	/* No path: all-ones at each width, and never a path that is all-ones by chance. */
	note = (struct opnd_note){ .hash = OPND_NO_PATH, .type = OPND_EXIT, .pid = 1 };
	is_int(0, opnd_write(&f, six, &note), "no path is written");
	pos = 0;
	ok(opnd_next(&f, six, 24, &pos, &note, NULL) == 1 && note.hash == OPND_NO_PATH, "no path comes back");
	note.hash = 0xffffffff;
	is_int(-ERANGE, opnd_write(&f, six, &note), "index 0xffffffff in 4 bytes would read as no path");
}

struct opsd_want { const char *name; struct opsd_head h; struct opsd_sample s[2]; };
static void test_buffers(void)
{
	static const struct opsd_want want[] = {
		{ "A3", { 0, 2, OPSD_RUNNING }, { { 0x0804a123, 7, 0, 1234 }, { 0xc0102030, 1, 1, 0 } } },
		{ "A4", { 3, 1, OPSD_RUNNING }, { { 0xffffffff81000010, 2, 0, 9 } } },
		{ "A5", { 0, 1, OPSD_RUNNING }, { { 0x7fff1234, 1, 0, 42 } } },
		{ "A6", { 1, 2, OPSD_RUNNING }, { { 0x12345678ab, 3, 2, 0x99 }, { 0xffffffffff, 1, 0, 1 } } },
		{ "A14", { 0, 1, OPSD_RUNNING }, { { 0x1122334455667788, 1, 0, 5 } } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		uint8_t v[1024], w[4 * 16];
		size_t n = bytes_of(want[i].name, v), pos;
		AUTO_STRBUF out = STRBUF_INIT;
		struct abi_format f;
		struct opsd_head h;
		struct opsd_sample s;
		pos = (size_t)abi_prefix_read(&f, ABI_OPSD, v, n, NULL);
		put_prefix(&out, &f);
		for (unsigned int k = 0; opsd_head_next(&f, v, n, &pos, true, &h, NULL) > 0; k++) {
			if (!k)
				ok(h.cpu == want[i].h.cpu && h.n == want[i].h.n && h.state == want[i].h.state, "%s: head", want[i].name);
			else
				ok(h.n == 0 && h.state == OPSD_STOPPING, "%s: empty second buffer", want[i].name);
			opsd_head_write(&f, w, &h);
			strbuf_add(&out, w, 3u * f.width);
			for (uint64_t j = 0; j < h.n; j++) {
				is_int(1, opsd_sample_next(&f, v, n, &pos, &s, NULL), "%s: sample", want[i].name);
				if (!ok(!memcmp(&s, &want[i].s[j], sizeof(s)), "%s: its fields", want[i].name))
					printf("# %" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", s.eip, s.count, s.counter, s.pid);
				opsd_sample_write(&f, w, &s);
				strbuf_add(&out, w, 4u * f.width);
			}
		}
		ok(same(&out, v, n), "%s: written again, the same bytes", want[i].name);
	}
}

static void test_names(void)
{
	uint8_t v[1024];
	size_t n = bytes_of("A7", v);
	AUTO(ophd_done) struct ophd h = { 0 };
	AUTO(ophd_builder_done) struct ophd_builder b = { 0 };
	AUTO_STRBUF path = STRBUF_INIT, out = STRBUF_INIT;
	struct abi_format be = fmt_of(ABI_OPHD, 4, "be");

	is_int(0, ophd_read(&h, v, n, NULL), "A7: read");
	is_int(7, h.n, "A7: entries");
	ophd_path(&h, 2, &path);
	is_str("/usr/bin/vi", strbuf_str(&path), "A7: entry 2");
	strbuf_reset(&path);
	ophd_path(&h, 3, &path);
	is_str("/bin", strbuf_str(&path), "A7: entry 3");
	strbuf_reset(&path);
	ophd_path(&h, 0, &path);
	is_str("/", strbuf_str(&path), "A7: entry 0");
	ok(!ophd_used(&h, 4 + 2), "A7: a free entry");
	ophd_builder_init(&b, 7, false);
	is_int(2, ophd_builder_add_path(&b, "/usr/bin/vi"), "A7: placed where the writer of 2002 places it");
	is_int(3, ophd_builder_add_path(&b, "/bin"), "A7: and the second");
	is_int(3, ophd_builder_add_path(&b, "/bin"), "A7: found again");
	ophd_builder_write(&b, &be, &out);
	ok(same(&out, v, n), "A7: the same bytes");
	is_int(-EINVAL, ophd_builder_add(&b, 0, "a/b", 3), "no component with a slash");
	is_int(-EINVAL, ophd_builder_add(&b, 0, "", 0), "no empty component");
	is_int(5, b.used + 1, "five entries with the root");
	ok(ophd_builder_add(&b, 0, "c", 1) > 0 && ophd_builder_add(&b, 0, "d", 1) > 0, "the table fills up");
	is_int(-ENOSPC, ophd_builder_add(&b, 0, "e", 1), "a full table says so");
}

struct grow_state { uint8_t *p; size_t len; };
static int grow(void *arg, size_t len, uint8_t **data)
{
	struct grow_state *g = arg;
	uint8_t *p = calloc(1, len); /* always another place, so that a kept pointer shows under ASan */
	memcpy(p, g->p ? g->p : p, g->p ? g->len : 0);
	free(g->p);
	g->p = p;
	g->len = len;
	*data = p;
	return 0;
}

static void test_tree_vectors(void)
{
	static const struct { const char *name; unsigned int width; const char *order; uint32_t ptsz; uint64_t add[6][2]; } t[] = {
		{ "A9", 4, "le", 4, { { 0x1010, 5 }, { 0x1000, 2 }, { 0x1020, 1 }, { 0x1000, 3 } } },
		{ "A10", 8, "be", 4, { { 10, 1 }, { 20, 2 }, { 30, 3 }, { 40, 4 }, { 50, 5 } } },
		{ "A12", 8, "le", 2, { { 0 } } },
	};
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		uint8_t v[1024];
		size_t n = bytes_of(t[i].name, v);
		struct grow_state g = { 0 };
		struct opdb_tree tree = { .grow = grow, .arg = &g };
		struct abi_format f = fmt_of(ABI_OPDB, t[i].width, t[i].order);
		is_int(0, opdb_tree_init(&tree, &f, t[i].ptsz, 2), "%s: new tree", t[i].name);
		for (unsigned int k = 0; k < 6 && t[i].add[k][0]; k++)
			is_int(0, opdb_tree_add(&tree, t[i].add[k][0], t[i].add[k][1]), "%s: add", t[i].name);
		ok(g.len == n && !memcmp(g.p, v, n), "%s: the pages of the writer of 2002, byte for byte", t[i].name);
		free(g.p);
	}
}

/* --- refused: which rule, where -------------------------------------------------------------------------- */
static void refuse(const char *what, const void *data, size_t n, int err, const char *rule, uint64_t at)
{
	uint8_t *exact = malloc(n ? n : 1); /* so that ASan sees one byte too far */
	struct abi_fault fault = { 0 };
	size_t len = strlen(rule);
	memcpy(exact, data, n);
	is_int(err, abi_file_check(exact, n, NULL, &fault), "%s is refused", what);
	if (!ok(fault.rule && !strncmp(fault.rule, rule, len) && fault.rule[len] == ':' && fault.at == at, "%s: rule %s at 0x%" PRIx64, what,
		rule, at))
		printf("# got %s at 0x%" PRIx64 "\n", fault.rule ? fault.rule : "no rule", fault.at);
	free(exact);
}

static void test_refused(void)
{
	static const struct { const char *name, *rule; uint64_t at; } bad[] = {
		{ "AX1", "order-range", 11 }, { "AX2", "order-repeat", 9 }, { "AX4", "order-short", 11 },
		{ "AX5", "sample-count", 16 }, { "AX7", "root-range", 20 }, { "AX9", "length", 30 },
	};
	uint8_t v[1024];
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		n = bytes_of(bad[i].name, v);
		refuse(bad[i].name, v, n, -EBADMSG, bad[i].rule, MIN(bad[i].at, n));
	}
	n = bytes_of("A1", v);
	refuse("a prefix cut short", v, 7, -EBADMSG, "prefix-short", 7);
	refuse("an empty file", v, 0, -EBADMSG, "prefix-short", 0);
	refuse("a note cut short", v, n - 1, -EBADMSG, "truncated", 36);
	v[6] = 0;
	refuse("width 0", v, n, -EBADMSG, "width", 6);
	v[6] = 4, v[4] = 0;
	refuse("major version 0", v, n, -EPROTONOSUPPORT, "version", 4);
	v[4] = 2;
	refuse("major version 2", v, n, -EPROTONOSUPPORT, "version", 4);
	v[4] = 1, v[5] = 200, v[7] = 99;
	is_int(0, abi_file_check(v, n, NULL, NULL), "a higher minor version and a reserved byte are accepted");
	v[3] = 'x';
	refuse("another magic", v, n, -EBADMSG, "magic", 0);

	n = bytes_of("A3", v);
	refuse("a buffer cut inside its head", v, 12 + 8, -EBADMSG, "truncated", 12);
	n = bytes_of("A4", v);
	v[31] = 0x10; /* sc = 2^60 + 1 */
	refuse("sc of 2^60", v, n, -EBADMSG, "sample-count", 24);
	n = bytes_of("A14", v);
	v[24 + 16 * 3 + 9] = 1;
	refuse("a 16-byte word above 64 bits", v, n, -ERANGE, "word-range", 24 + 16 * 3);

	n = bytes_of("A7", v);
	v[20 + 2 * 8 + 7] = 3; /* entry 2 -> 3 -> 2: /bin below vi below bin … */
	v[20 + 3 * 8 + 7] = 2;
	refuse("parents that go round", v, n, -EBADMSG, "cycle", 20 + 2 * 8 + 4);
	n = bytes_of("A7", v);
	v[20 + 2 * 8 + 7] = 2;
	refuse("an entry that is its own parent", v, n, -EBADMSG, "cycle", 20 + 2 * 8 + 4);
	v[20 + 2 * 8 + 7] = 7;
	refuse("a parent past the table", v, n, -EBADMSG, "parent-range", 20 + 2 * 8 + 4);
	v[20 + 2 * 8 + 7] = 6;
	refuse("a parent that is free", v, n, -EBADMSG, "parent-free", 20 + 2 * 8 + 4);
	n = bytes_of("A7", v);
	v[20 + 2 * 8 + 3] = 17;
	refuse("a name past the pool", v, n, -EBADMSG, "name-range", 20 + 2 * 8);
	n = bytes_of("A7", v);
	v[n - 1] = 'x';
	refuse("a pool without NUL at its end", v, n, -EBADMSG, "pool-end", n - 1);
	n = bytes_of("A7", v);
	v[20 + 7] = 1;
	refuse("entry 0 that is not the root", v, n, -EBADMSG, "root", 20);
	n = bytes_of("A7", v);
	v[n - 17] = 'x';
	refuse("a pool without the root", v, n, -EBADMSG, "pool-root", n - 17);
	n = bytes_of("A7", v);
	v[15] = 0;
	refuse("a table without entries", v, n, -EBADMSG, "entries-zero", 12);
	n = bytes_of("A7", v);
	v[20 + 6 * 8 + 3] = 1;
	refuse("a free entry with a name", v, n, -EBADMSG, "free-name", 20 + 6 * 8);

	/* opdb: A10 is 528 bytes, pages from 80 on, 112 bytes each; page 1 at 192, 2 at 304, 3 (root) at 416 */
	n = bytes_of("A10", v);
	refuse("a page cut off", v, n - 112, -EBADMSG, "length", 16);
	v[23] = 3;
	refuse("current size above the total", v, n, -EBADMSG, "used-range", 24);
	n = bytes_of("A10", v);
	v[31] = 0;
	refuse("current size 0", v, n, -EBADMSG, "used-zero", 24);
	n = bytes_of("A10", v);
	v[47] = 0;
	refuse("pages without room", v, n, -EBADMSG, "page-size", 40);
	v[40] = 0xff;
	refuse("pages longer than the file", v, n, -EBADMSG, "page-size", 40);
	v[40] = 0x55, memset(v + 41, 0x55, 7);
	refuse("a page size that overflows", v, n, -EBADMSG, "page-size", 40);
	n = bytes_of("A10", v);
	v[16] = 0x80;
	refuse("a total size that overflows", v, n, -EBADMSG, "length", 16);
	n = bytes_of("A10", v);
	v[416 + 15] = 3;
	refuse("a page that is its own child", v, n, -EBADMSG, "page-twice", 416);
	v[416 + 15] = 2;
	refuse("two links to one page", v, n, -EBADMSG, "key-order", 304 + 32);
	v[416 + 15] = 4;
	refuse("a page past the current size", v, n, -EBADMSG, "page-range", 416 + 8);
	n = bytes_of("A10", v);
	v[192 + 7] = 5;
	refuse("an occupation above the room", v, n, -EBADMSG, "occupation", 192);
	v[192 + 7] = 0;
	refuse("an empty page", v, n, -EBADMSG, "occupation", 192);
	n = bytes_of("A10", v);
	v[192 + 32 + 7] = 20;
	refuse("equal keys", v, n, -EBADMSG, "key-order", 192 + 32 + 24);
	n = bytes_of("A10", v);
	v[304 + 32 + 7] = 30;
	refuse("a key that its parent has", v, n, -EBADMSG, "key-order", 304 + 32);
	n = bytes_of("A10", v);
	v[416 + 16 + 7] = 0;
	refuse("a leaf beside a page", v, n, -EBADMSG, "depth", 416 + 16);
	n = bytes_of("A10", v);
	v[80 + 5] = 7; /* record 0 is never looked at */
	is_int(0, abi_file_check(v, n, NULL, NULL), "what record 0 holds does not matter");
	n = bytes_of("A12", v);
	is_int(0, abi_file_check(v, n, NULL, NULL), "an empty database is fine");
	struct opdb db;
	is_int(-EBADMSG, opdb_read(&db, v, n - 64, NULL), "cut after csz pages: refused");
	is_int(0, opdb_read_lenient(&db, v, n - 64, NULL), "cut after csz pages: taken when lenient");
}

/* --- any width, any order -------------------------------------------------------------------------------- */
static struct abi_format random_format(enum abi_kind kind)
{
	struct abi_format f;
	uint8_t order[ABI_MAX_WIDTH];
	unsigned int w = rng() % 4 ? 1 + (unsigned int)(rng() % 12) : 1 + (unsigned int)(rng() % 255);
	for (unsigned int i = 0; i < w; i++)
		order[i] = (uint8_t)i;
	if (rng() % 4)
		for (unsigned int i = w; i-- > 1;) {
			unsigned int j = (unsigned int)(rng() % (i + 1));
			uint8_t t = order[i];
			order[i] = order[j];
			order[j] = t;
		}
	else if (rng() % 2)
		for (unsigned int i = 0; i < w; i++)
			order[i] = (uint8_t)(w - 1 - i);
	abi_format_init(&f, kind, w, order);
	return f;
}

static uint64_t random_word(const struct abi_format *f)
{
	uint64_t max = abi_max(f), v = rng() >> rng() % 64;
	return rng() % 16 ? (max == UINT64_MAX ? v : v % (max + 1)) : rng() % 2 ? max - 1 : 0;
}

static uint64_t below_ones(const struct abi_format *f)
{
	uint64_t v = random_word(f);
	return MIN(v, abi_max(f) - 1);
}

static void make_stream(struct strbuf *out, const struct abi_format *f)
{
	size_t items = rng() % 20;
	put_prefix(out, f);
	for (size_t i = 0; i < items; i++) {
		uint8_t w[6 * ABI_MAX_WIDTH];
		if (f->kind == ABI_OPND) {
			struct opnd_note n = { random_word(f), random_word(f), random_word(f), rng() % 3 ? below_ones(f) : OPND_NO_PATH,
					       random_word(f), random_word(f) }, m;
			size_t pos = 0;
			if (opnd_write(f, w, &n) < 0 || opnd_next(f, w, 6u * f->width, &pos, &m, NULL) != 1 || memcmp(&n, &m, sizeof(n)))
				ok(false, "note at width %u", f->width);
			strbuf_add(out, w, 6u * f->width);
		} else {
			struct opsd_head h = { random_word(f), rng() % 4, random_word(f) };
			opsd_head_write(f, w, &h);
			strbuf_add(out, w, 3u * f->width);
			for (uint64_t k = 0; k < h.n; k++) {
				struct opsd_sample s = { random_word(f), random_word(f), random_word(f), random_word(f) }, t;
				size_t pos = 0;
				if (f->width <= 8)
					s.count = rng() % 5 ? s.count : abi_max(f); /* all-ones is a plain number here */
				if (opsd_sample_write(f, w, &s) < 0 || opsd_sample_next(f, w, 4u * f->width, &pos, &t, NULL) != 1 ||
				    memcmp(&s, &t, sizeof(s)))
					ok(false, "sample at width %u", f->width);
				strbuf_add(out, w, 4u * f->width);
			}
		}
	}
}

static int nth(void *arg, uint64_t key, uint64_t value)
{
	struct opdb_pair **next = arg;
	bool good = (*next)->key == key && (*next)->value == value;
	++*next;
	return good ? 0 : -1;
}

static bool make_db(struct strbuf *out, const struct abi_format *f)
{
	struct opdb_pair p[300], *next = p;
	size_t n = rng() % (f->width == 1 ? 20 : 300), k = 0;
	uint64_t key = rng() % 5;
	struct opdb db;
	for (size_t i = 0; i < n && key <= abi_max(f); i++, key += 1 + rng() % 7) {
		p[k++] = (struct opdb_pair){ key, rng() % 9 ? below_ones(f) : UINT64_MAX };
		if (!(rng() % 40))
			key += random_word(f) / 300;
	}
	/* now and then an all-ones page size would not fit one byte: then the build refuses, and that is right */
	int r = opdb_build(p, k, f, 2 + (uint32_t)(rng() % 30), out, NULL);
	if (r < 0 || opdb_read(&db, out->buf, out->len, NULL) < 0 || opdb_check(&db, NULL, NULL) < 0)
		return r == -ERANGE && f->width == 1;
	return opdb_each(&db, nth, &next, NULL) == 0 && next == p + k;
}

static bool make_table(struct strbuf *out, const struct abi_format *f)
{
	AUTO(ophd_builder_done) struct ophd_builder b = { 0 };
	uint32_t used[64] = { 0 };
	size_t n = rng() % 40;
	ophd_builder_init(&b, ophd_size_for(40), rng() % 2);
	for (size_t i = 1; i <= n; i++) {
		char name[8];
		int64_t slot;
		size_t len = 1 + rng() % 3;
		for (size_t k = 0; k < len; k++)
			name[k] = (char)(1 + rng() % 255);
		for (size_t k = 0; k < len; k++)
			name[k] = name[k] == '/' ? '+' : name[k];
		slot = ophd_builder_add(&b, used[rng() % i], name, len);
		if (slot < 0)
			return false;
		used[i] = (uint32_t)slot;
	}
	int r = ophd_builder_write(&b, f, out);
	return r == 0 || (r == -ERANGE && f->width == 1);
}

static void test_property(void)
{
	size_t bad = 0, refused = 0, compared = 0;
	for (unsigned int round = 0; round < 4000; round++) {
		AUTO_STRBUF a = STRBUF_INIT, b = STRBUF_INIT, again = STRBUF_INIT;
		enum abi_kind kind = (enum abi_kind)(1 + round % 4);
		struct abi_format f = random_format(kind), g = random_format(kind);
		struct abi_fault fault = { 0 };
		int r;
		if (kind == ABI_OPDB ? !make_db(&a, &f) : kind == ABI_OPHD ? !make_table(&a, &f) : (make_stream(&a, &f), false))
			bad++;
		if (!a.len)
			continue;
		r = abi_file_convert(a.buf, a.len, &g, &b, &fault);
		if (r == -ERANGE) {
			/* The word named does not fit, or would read as "none". */
			refused++;
			if (!(fault.value >= abi_max(&g)) || fault.at < abi_prefix_len(&f) || fault.at >= a.len)
				bad++;
			continue;
		}
		if (r < 0 || abi_file_check(b.buf, b.len, NULL, &fault) < 0 || abi_file_convert(b.buf, b.len, &f, &again, &fault) < 0 ||
		    !same(&again, (const uint8_t *)a.buf, a.len))
			bad++;
		compared++;
	}
	is_int(0, bad, "random contents, widths and orders: there and back is the same");
	ok(compared > 1000 && refused > 100, "%zu compared, %zu refused since a word does not fit", compared, refused);
}

static void test_words(void)
{
	size_t bad = 0;
	for (unsigned int w = 1; w <= 255; w++)
		for (unsigned int k = 0; k < 30; k++) {
			uint8_t buf[ABI_MAX_WIDTH];
			struct abi_format f = random_format(ABI_OPSD);
			uint64_t v = random_word(&f), got = 0;
			if (f.width != w && k < 28) {
				uint8_t order[ABI_MAX_WIDTH];
				for (unsigned int i = 0; i < w; i++)
					order[i] = (uint8_t)((i + k) % w);
				abi_format_init(&f, ABI_OPSD, w, order);
				v = random_word(&f);
			}
			bad += abi_word_put(&f, buf, v) < 0 || abi_word_num(&f, buf, &got) < 0 || got != v;
			if (f.width < 8)
				bad += abi_word_put(&f, buf, abi_max(&f) + 1) != -ERANGE;
			memset(buf, 0xff, f.width);
			bad += abi_word_get(&f, buf, &got) != ABI_ONES || abi_word_nil(&f, buf, &got) < 0 || got != UINT64_MAX;
			if (f.width > 8)
				bad += abi_word_num(&f, buf, &got) != -ERANGE;
		}
	is_int(0, bad, "words of every width");
	struct abi_format f;
	is_int(-EINVAL, abi_format_init(&f, ABI_OPSD, 0, NULL), "no width 0");
	is_int(-EINVAL, abi_format_init(&f, ABI_OPSD, 256, NULL), "no width 256");
	is_int(-EINVAL, abi_format_parse_order(&f, ABI_OPSD, 4, "0,1,2"), "an order of three for four bytes");
	is_int(-EINVAL, abi_format_parse_order(&f, ABI_OPSD, 4, "0,1,2,2"), "an order that repeats");
	is_int(0, abi_format_parse_order(&f, ABI_OPSD, 5, "3,4,2,0,1"), "the odd five-byte order");
	uint8_t odd[8];
	abi_word_put(&f, odd, 0x0102030405);
	ok(!memcmp(odd, "\x02\x01\x03\x05\x04", 5), "and its bytes: 02 01 03 05 04");
}

static void test_merge(void)
{
	AUTO_STRBUF a = STRBUF_INIT, b = STRBUF_INIT, m = STRBUF_INIT, want = STRBUF_INIT;
	static const struct opdb_pair x[] = { { 1, 250 }, { 5, 1 } }, y[] = { { 1, 10 }, { 2, 3 }, { 9, UINT64_MAX } },
				      z[] = { { 1, UINT64_MAX }, { 2, 3 }, { 5, 1 }, { 9, UINT64_MAX } };
	struct abi_format f = fmt_of(ABI_OPDB, 1, "le"), w = fmt_of(ABI_OPDB, 1, "le");
	opdb_build(x, 2, &f, 4, &a, NULL);
	opdb_build(y, 3, &f, 4, &b, NULL);
	is_int(0, abi_file_merge(a.buf, a.len, b.buf, b.len, NULL, &m, NULL), "two databases merge");
	opdb_build(z, 4, &w, 0, &want, NULL);
	ok(same(&m, (const uint8_t *)want.buf, want.len), "counts are added; 250 + 10 overflows one byte and says so");
	uint8_t v[1024];
	size_t n = bytes_of("A1", v);
	strbuf_reset(&m);
	is_int(0, abi_file_merge(v, n, v, n, NULL, &m, NULL), "two streams merge");
	is_int(2 * n - 12, m.len, "one after the other");
	is_int(-EINVAL, abi_file_merge(v, n, a.buf, a.len, NULL, &m, NULL), "two kinds do not merge");
	n = bytes_of("A7", v);
	strbuf_reset(&m);
	is_int(0, abi_file_merge(v, n, v, n, NULL, &m, NULL), "two tables merge");
	struct abi_file_stat st;
	is_int(0, abi_file_check(m.buf, m.len, &st, NULL), "into a good one");
	is_int(5, st.items, "that has each path once");
}

int main(void)
{
	test_words();
	test_notes();
	test_buffers();
	test_names();
	test_tree_vectors();
	test_refused();
	test_property();
	test_merge();
	return done_testing();
}
