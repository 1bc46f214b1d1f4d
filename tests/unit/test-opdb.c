/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The growing tree against a plain sorted list, with every rule checked after each addition. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "format/abi/opdb.h"
#include "lib/io.h"
#include "lib/tap.h"
#include "session/opdbfile.h"

static uint64_t rng_state = 88172645463325252ULL;
static uint64_t rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	return rng_state ^= rng_state << 17;
}

struct model {
	struct opdb_pair p[4096];
	size_t n;
};

static void model_add(struct model *m, uint64_t key, uint64_t value, uint64_t max)
{
	size_t i = 0;
	while (i < m->n && m->p[i].key < key)
		i++;
	if (i == m->n || m->p[i].key != key) {
		memmove(m->p + i + 1, m->p + i, (m->n++ - i) * sizeof(m->p[0]));
		m->p[i] = (struct opdb_pair){ key, 0 };
	}
	m->p[i].value = opdb_add(m->p[i].value, value);
	if (m->p[i].value >= max)
		m->p[i].value = UINT64_MAX;
}

struct cursor { const struct model *m; size_t at; uint64_t lo, hi; };
static int same_as_model(void *arg, uint64_t key, uint64_t value)
{
	struct cursor *c = arg;
	if (c->at >= c->m->n || c->m->p[c->at].key != key || c->m->p[c->at].value != value)
		return -1;
	c->at++;
	return 0;
}

struct grow_state { uint8_t *p; size_t len; unsigned int times; size_t limit; };
static int grow(void *arg, size_t len, uint8_t **data)
{
	struct grow_state *g = arg;
	uint8_t *p;
	if (g->limit && len > g->limit)
		return -ENOSPC;
	p = calloc(1, len);
	memcpy(p, g->p ? g->p : p, g->p ? g->len : 0);
	free(g->p);
	*g = (struct grow_state){ .p = p, .len = len, .times = g->times + 1, .limit = g->limit };
	*data = p;
	return 0;
}

/* Occupation of every page but the root is at least m, and the file is as long as its head says. */
static bool half_full(const struct opdb_tree *t)
{
	for (uint64_t i = 1; i < t->used; i++) {
		uint64_t n = 0;
		abi_word_num(&t->fmt, t->data + t->pages_at + i * t->page_bytes, &n);
		if (i != t->root && n < t->page_entries / 2)
			return false;
	}
	return t->len == t->pages_at + t->total * t->page_bytes;
}

static unsigned int sequence(struct model *m, uint32_t page_entries, size_t n, unsigned int width, uint64_t keys, const char *order)
{
	struct grow_state g = { 0 };
	struct opdb_tree t = { .grow = grow, .arg = &g };
	struct abi_format f;
	unsigned int bad = 0, style = (unsigned int)(rng() % 4);

	abi_format_parse_order(&f, ABI_OPDB, width, order);
	m->n = 0;
	if (opdb_tree_init(&t, &f, page_entries, 1 + rng() % 3) < 0)
		return 1;
	for (size_t i = 0; i < n; i++) {
		uint64_t key = style == 0 ? i : style == 1 ? n - i : rng() % keys, value = 1 + (rng() % 50 ? rng() % 5 : rng()), got;
		struct opdb db;
		struct opdb_stat st;
		struct cursor c = { .m = m };
		bad += opdb_tree_add(&t, key, value) != 0;
		model_add(m, key, value, abi_max(&f));
		bad += opdb_read(&db, g.p, g.len, NULL) < 0 || opdb_check(&db, &st, NULL) < 0 || st.orphans || st.pairs != m->n;
		bad += opdb_get(&db, key, &got, NULL) < 0;
		if (page_entries % 2 == 0)
			bad += !half_full(&t);
		if (i + 1 == n)
			bad += opdb_each(&db, same_as_model, &c, NULL) != 0 || c.at != m->n;
	}
	free(g.p);
	return bad;
}

static void test_model(void)
{
	static struct model m;
	unsigned int bad = 0, wrong = 0;
	for (unsigned int i = 0; i < 10000; i++) {
		uint32_t half = 2 + i % 63; /* m = 2 … 64 */
		size_t n = i < 200 ? 100 + rng() % 900 : 10 + rng() % (2 * half + 20);
		unsigned int b = sequence(&m, 2 * half, n, i % 5 ? 8 : 4, n * (1 + rng() % 3), i % 7 ? "le" : "be");
		bad += b;
		wrong += b != 0;
	}
	ok(bad == 0 && wrong == 0, "10,000 sequences, m = 2 … 64, checked after each addition (%u wrong)", wrong);
	bad = 0;
	for (unsigned int i = 0; i < 300; i++)
		bad += sequence(&m, 2 + i % 9, 50 + rng() % 100, 2 + i % 3, 200, "le");
	is_int(0, bad, "small pages of odd and even size, small words");
}

/* A tree that may not grow stays as it was. */
static void test_full(void)
{
	struct grow_state g = { .limit = 4000 };
	struct opdb_tree t = { .grow = grow, .arg = &g };
	struct abi_format f;
	AUTO_STRBUF before = STRBUF_INIT;
	uint64_t k;
	int r = 0;
	abi_format_init(&f, ABI_OPDB, 8, NULL);
	opdb_tree_init(&t, &f, 4, 2);
	for (k = 1; k < 1000; k++) {
		strbuf_reset(&before);
		strbuf_add(&before, g.p, g.len);
		r = opdb_tree_add(&t, k, 1);
		if (r < 0)
			break;
	}
	is_int(-ENOSPC, r, "no room");
	ok(k > 20 && before.len == g.len && !memcmp(before.buf, g.p, g.len), "and nothing changed");
	is_int(0, opdb_tree_add(&t, 5, 1), "a key that is there can still be added to");
	is_int(-ERANGE, (abi_format_init(&f, ABI_OPDB, 2, NULL), t.fmt.width = 2, opdb_tree_add(&t, 65536, 1)), "a key that does not fit");
	free(g.p);
}

static void test_build(void)
{
	static struct opdb_pair p[5000];
	unsigned int bad = 0;
	for (size_t n = 0; n < 5000; n = n < 400 ? n + 1 : n + 331) {
		AUTO_STRBUF a = STRBUF_INIT;
		struct opdb db;
		struct opdb_stat st = { 0 };
		uint32_t size = n % 3 ? 0 : 2 + (uint32_t)(n % 11);
		for (size_t i = 0; i < n; i++)
			p[i] = (struct opdb_pair){ 3 * i, i + 1 };
		bad += opdb_build(p, n, NULL, size, &a, NULL) != 0 || opdb_read(&db, a.buf, a.len, NULL) != 0 || opdb_check(&db, &st, NULL) != 0;
		bad += st.pairs != n || st.orphans || st.sum != n * (n + 1) / 2;
		for (size_t i = 0; i < n; i += 7) {
			uint64_t v;
			bad += opdb_get(&db, 3 * i, &v, NULL) != 0 || v != i + 1 || opdb_get(&db, 3 * i + 1, &v, NULL) != -ENOENT;
		}
		if (n > 20) {
			static struct model m;
			struct cursor c = { .m = &m };
			m.n = 0;
			for (size_t i = 5; i <= 15; i++)
				m.p[m.n++] = p[i];
			bad += opdb_range(&db, p[5].key - 1, p[15].key + 1, same_as_model, &c, NULL) != 0 || c.at != 11;
			c.at = 0;
			bad += opdb_range(&db, p[5].key, p[15].key, same_as_model, &c, NULL) != 0 || c.at != 11;
			c.at = 0;
			bad += opdb_range(&db, 2, 1, same_as_model, &c, NULL) != 0 || c.at != 0;
		}
	}
	is_int(0, bad, "bulk-built trees of 0 … 5,000 pairs obey every rule, are looked up and scanned");
	AUTO_STRBUF a = STRBUF_INIT;
	size_t where = 0;
	p[2].key = p[1].key;
	is_int(-EINVAL, opdb_build(p, 5, NULL, 0, &a, &where), "keys that do not ascend are refused");
	is_int(2, where, "and which one is told");
	struct abi_format two;
	abi_format_init(&two, ABI_OPDB, 2, NULL);
	p[2] = (struct opdb_pair){ 70000, 1 };
	is_int(-ERANGE, opdb_build(p, 3, &two, 0, &a, &where), "a key that does not fit is refused");
	is_int(2, where, "and which one is told");
}

/* --- one writer, many readers ---------------------------------------------------------------------------- */
static char path[] = "/tmp/test-opdb.XXXXXX/db";

struct seen { uint64_t sum, n; };
static int sum_up(void *arg, uint64_t key, uint64_t value)
{
	struct seen *s = arg;
	s->sum += value;
	s->n++;
	return 0;
}

/* Every batch of the writer adds 10 in all: a reader that sees another sum saw half a batch. */
static int read_on(void)
{
	struct opdb_file *f;
	struct abi_fault fault;
	if (opdb_file_open(&f, path, false, &fault) < 0)
		return 1;
	for (unsigned int i = 0; i < 2000; i++) {
		struct seen s = { 0 };
		uint64_t v;
		if (opdb_file_range(f, 0, UINT64_MAX, sum_up, &s) != 0 || s.sum % 10)
			return 2;
		if (opdb_file_get(f, 0, &v) != 0 && s.sum)
			return 3;
		if (s.sum >= 10 * 300)
			break;
	}
	opdb_file_close(f);
	return 0;
}

static void test_file(void)
{
	struct opdb_file *f, *other;
	struct abi_fault fault = { 0 };
	pid_t pid[3];
	int status, bad = 0;
	struct seen s = { 0 };

	path[strlen("/tmp/test-opdb.XXXXXX")] = '\0';
	if (!mkdtemp(path))
		return;
	path[strlen(path)] = '/';
	is_int(0, opdb_file_create(&f, path, NULL, 4), "a new file");
	is_int(-EBUSY, opdb_file_open(&other, path, true, &fault), "a second writer is kept out");
	for (unsigned int i = 0; i < 3; i++)
		if ((pid[i] = fork()) == 0)
			_exit(read_on());
	for (unsigned int i = 0; i < 300; i++) {
		bad += opdb_file_begin(f) != 0;
		for (unsigned int k = 0; k < 5; k++)
			bad += opdb_file_add(f, k ? rng() % 100000 : 0, 2) != 0;
		bad += opdb_file_end(f) != 0;
	}
	is_int(0, bad, "300 batches while three processes read");
	for (unsigned int i = 0; i < 3; i++) {
		waitpid(pid[i], &status, 0);
		is_int(0, status, "each reader saw whole batches only");
	}
	is_int(0, opdb_file_sync(f), "sync");
	opdb_file_close(f);
	is_int(0, opdb_file_open(&f, path, true, &fault), "opened for writing again");
	is_int(0, opdb_file_add(f, 7, UINT64_MAX), "an overflow");
	is_int(0, opdb_file_add(f, 7, 1), "stays");
	uint64_t v = 0;
	opdb_file_get(f, 7, &v);
	ok(v == UINT64_MAX, "at all-ones");
	opdb_file_range(f, 8, UINT64_MAX, sum_up, &s);
	opdb_file_close(f);
	is_int(0, opdb_file_open(&f, path, false, &fault), "a reader");
	is_int(-EBADF, opdb_file_add(f, 1, 1), "cannot write");
	opdb_file_close(f);
	AUTO_STRBUF bytes = STRBUF_INIT;
	struct opdb db;
	io_slurp(-100, path, &bytes);
	bytes.buf[8 + 8 + 16 + 7] = 99; /* root */
	is_int(-EBADMSG, opdb_read(&db, bytes.buf, bytes.len, &fault), "a broken file is not opened");
	unlink(path);
	path[strlen("/tmp/test-opdb.XXXXXX")] = '\0';
	rmdir(path);
}

/* --- every link of a tree, led to every other page and to none ------------------------------------------------- */
static int at_most(void *arg, uint64_t key, uint64_t value)
{
	(void)key, (void)value;
	return ++*(uint64_t *)arg > 4096 ? -ELOOP : 0; /* more pairs than the file has */
}

static size_t le32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (size_t)p[3] << 24;
}

static void put_le32(uint8_t *p, size_t v)
{
	for (unsigned int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static bool refused(const uint8_t *data, size_t len)
{
	static const char *const rules[] = { "page-twice:", "page-range:", "key-order:", "depth:", "occupation:" };
	struct abi_fault fault = { 0 };
	struct opdb db;
	uint64_t calls = 0, value;
	bool known = false;

	if (opdb_read(&db, data, len, &fault) < 0 || opdb_check(&db, NULL, &fault) != -EBADMSG)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		known |= !strncmp(fault.rule, rules[i], strlen(rules[i]));
	if (!known || fault.at < db.pages_at || fault.at >= len || (fault.at - db.pages_at) % 4)
		return false;
	if (opdb_each(&db, at_most, &calls, &fault) == -ELOOP)
		return false;
	for (uint64_t key = 0; key < 200; key += 7)
		opdb_get(&db, key, &value, &fault); /* what it says is open; that it returns is not */
	return true;
}

static void test_links(void)
{
	struct abi_format fmt;
	struct opdb_pair p[90];
	AUTO_STRBUF sb = STRBUF_INIT;
	size_t links = 0, patched = 0, kept = 0;
	struct opdb db;
	struct opdb_stat stat;

	abi_format_init(&fmt, ABI_OPDB, 4, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = (struct opdb_pair){ 2 * i + 1, i + 1 };
	is_int(0, opdb_build(p, ARRAY_SIZE(p), &fmt, 4, &sb, NULL), "a tree of 90 pairs");
	uint8_t *data = (uint8_t *)sb.buf;
	is_int(0, opdb_read(&db, data, sb.len, NULL), "is read");
	is_int(0, opdb_check(&db, &stat, NULL), "and obeys the rules");
	is_int(3, stat.depth, "at three levels");
	for (size_t page = 1; page < db.used; page++) {
		uint8_t *at = data + db.pages_at + page * db.page_bytes;
		size_t n = le32(at);
		for (size_t i = 0; i <= n; i++) {
			uint8_t *link = i ? at + 8 + 12 * (i - 1) : at + 4;
			size_t was = le32(link);
			links++;
			for (size_t to = 0; to < db.used + 4; to++) {
				/* then every page, none, one past the last, and the largest numbers there are */
				size_t v = to < db.used + 2 ? to : to == db.used + 2 ? INT32_MAX : UINT32_MAX;
				if (v == was)
					continue;
				put_le32(link, v);
				patched++;
				if (!refused(data, sb.len)) {
					kept++;
					printf("# page %zu, link %zu, %zu -> %zu\n", page, i, was, v);
				}
			}
			put_le32(link, was);
		}
	}
	is_int(0, kept, "each of %zu links led to each other page and to wild ones: refused by rule and offset, nothing loops", links);
	is_int((int64_t)(links * (db.used + 3)), (int64_t)patched, "in as many files as there are links and wrong pages");
}

int main(void)
{
	test_model();
	test_full();
	test_build();
	test_file();
	test_links();
	return done_testing();
}
