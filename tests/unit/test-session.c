/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Store and session: what is added comes back, whatever the order, the flushes and the names. */
#include <errno.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/io.h"
#include "lib/tap.h"
#include "session/path.h"
#include "session/session.h"

static char root[] = "/tmp/test-session.XXXXXX";

static const char *dir_of(const char *name)
{
	static char path[4][200];
	static unsigned int k;
	snprintf(path[++k % 4], sizeof(path[0]), "%s/%s", root, name);
	return path[k % 4];
}

static struct session_store *store_at(const char *name, bool append)
{
	struct session_store *s = NULL;
	struct session_store_opts o = { .dir = dir_of(name), .cpu_type = "CPU with timer interrupt", .stacks = true,
					.append = append, .no_sync = true };
	struct session_event e = { .name = "cpu-clock", .desc = "timer", .freq = 997, .timer = true },
			     e2 = { .name = "sched:sched_switch", .desc = "two\nlines \\", .count = 5, .um = 3 };
	int r = session_store_new(&s, &o);
	if (r < 0) {
		is_int(0, r, "session_store_new %s", name);
		exit(1);
	}
	session_store_event(s, 0, &e);
	session_store_event(s, 1, &e2);
	session_store_event(s, 2, &e2);
	return s;
}

static const struct session_file files[] = {
	{ .kind = SESSION_FILE, .image = "/lib/libc.so.6", .app_path = "/usr/bin/java", .app = "java:A", .tgid = -1, .tid = -1, .cpu = -1 },
	{ .kind = SESSION_FILE, .image = "/lib/libc.so.6", .app_path = "/usr/bin/java", .app = "java:B", .tgid = -1, .tid = -1, .cpu = -1 },
	{ .kind = SESSION_FILE, .image = "/lib/libc.so.6", .app_path = "/usr/bin/java", .app = "java", .tgid = 7, .tid = 8, .cpu = 1, .event = 1 },
	{ .kind = SESSION_KERNEL, .image = "vmlinux", .app_path = "", .app = "", .tgid = -1, .tid = -1, .cpu = -1 },
	{ .kind = SESSION_KERNEL, .image = "snd/pcm", .app_path = "/bin/x", .app = "x", .tgid = -1, .tid = -1, .cpu = -1, .event = 2 },
	{ .kind = SESSION_JIT, .image = "12-00aa/3.jo", .app_path = "/usr/bin/java", .app = "java:A/b{c}%", .tgid = 12, .tid = -1, .cpu = -1 },
	{ .kind = SESSION_ANON, .image = "anon", .app_path = "/a b/\xff\n{root}/e.1.0.all.all.all", .app = "", .tgid = 12, .tid = -1, .cpu = -1, .start = 0x1000, .end = UINT64_MAX },
	{ .kind = SESSION_FILE, .image = "//x/../e.1.0.all.all.all/./{dep}/", .app_path = "/", .app = "\x01", .tgid = -1, .tid = -1, .cpu = -1 },
	{ .kind = SESSION_FILE, .image = "memfd:x (deleted)", .app_path = "relative/path", .app = "path", .tgid = -1, .tid = -1, .cpu = 0 },
};
#define N_FILES ARRAY_SIZE(files)

struct sample { uint32_t file; uint64_t key, count; };
static struct sample samples[3000];

static uint64_t rng_state = 88172645463325252ULL;
static uint64_t rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	return rng_state ^= rng_state << 17;
}

static void add_all(struct session_store *s, size_t from, size_t to)
{
	int64_t number[N_FILES];
	for (size_t i = 0; i < N_FILES; i++) {
		size_t k = (i + from) % N_FILES; /* another order of numbers each time */
		number[k] = session_store_file(s, &files[k]);
		if (number[k] < 0)
			is_int(0, number[k], "session_store_file %zu", k);
	}
	for (size_t i = from; i < to; i++) {
		const struct sample *x = &samples[i];
		int64_t node = 0;
		session_store_add(s, (uint32_t)number[x->file], x->key, x->count);
		for (unsigned int d = 0; d < 1 + x->key % 5; d++)
			node = session_store_frame(s, (uint64_t)node, (uint32_t)number[(x->file + d) % N_FILES], x->key % 50 + d);
		session_store_stack_add(s, (uint64_t)node, x->count);
	}
}

static uint64_t digest;
static int digest_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	AUTO_STRBUF sb = STRBUF_INIT;
	const char *below = strstr(path, "/gen-");
	if (type != FTW_F)
		return 0;
	below = strchr(below + 1, '/');
	io_slurp(-100, path, &sb);
	digest += util_hash_bytes(below, strlen(below)) ^ util_hash_u64(util_hash_bytes(strbuf_str(&sb), sb.len));
	return 0;
}
static uint64_t digest_of(const char *name)
{
	char link[300], path[600];
	ssize_t n;
	snprintf(path, sizeof(path), "%s/samples/current", dir_of(name));
	n = readlink(path, link, sizeof(link) - 1);
	link[n < 0 ? 0 : n] = '\0';
	snprintf(path, sizeof(path), "%s/samples/%s", dir_of(name), link);
	digest = 0;
	nftw(path, digest_one, 20, FTW_PHYS);
	return digest;
}

struct total { uint64_t sum, n; uint64_t last; bool order; };
static int sum_up(void *arg, uint64_t key, uint64_t count)
{
	struct total *t = arg;
	if (t->n && key <= t->last)
		t->order = false;
	t->last = key;
	t->n++;
	t->sum += count;
	return 0;
}
static int sum_stacks(void *arg, const struct session_frame *frames, size_t n, uint64_t count)
{
	struct total *t = arg;
	t->sum += count;
	t->n += n;
	return 0;
}

static void check_content(const char *name, uint64_t want)
{
	struct session *s;
	char *why = NULL;
	struct total all = { 0 }, stacks = { 0 };
	size_t found = 0;
	int r = session_open(&s, dir_of(name), &why);
	ok(r == 0, "%s opens (%s)", name, why ? why : "");
	free(why);
	if (r < 0)
		return;
	is_int(N_FILES, session_n_files(s), "all files");
	is_int(3, session_n_events(s), "all events");
	is_str("two\nlines \\", session_event(s, 2)->desc, "an event's text");
	for (size_t i = 0; i < session_n_files(s); i++) {
		const struct session_file *f = session_file(s, i);
		struct total t = { .order = true };
		is_int(0, session_file_each(s, i, sum_up, &t), "file %zu is read", i);
		ok(t.order, "keys ascend");
		all.sum += t.sum;
		for (size_t k = 0; k < N_FILES; k++) {
			const char *base = strrchr(files[k].app_path, '/');
			const char *app = *files[k].app ? files[k].app : base ? base + 1 : files[k].app_path;
			if (f->kind == files[k].kind && !strcmp(f->image, files[k].image) && !strcmp(f->app_path, files[k].app_path) &&
			    !strcmp(f->app, app) && f->event == files[k].event && f->tgid == files[k].tgid && f->tid == files[k].tid &&
			    f->cpu == files[k].cpu && f->start == files[k].start && f->end == files[k].end)
				found++;
		}
	}
	is_int(N_FILES, found, "every file came back with its names and numbers");
	is_int(want, all.sum, "sum of samples");
	is_int(0, session_stacks_each(s, sum_stacks, &stacks), "stacks are read");
	is_int(want, stacks.sum, "sum of stacks");
	session_free(s);
}

static bool there(const char *session, const char *path)
{
	char p[600];
	struct stat st;
	snprintf(p, sizeof(p), "%s/%s", dir_of(session), path);
	return lstat(p, &st) == 0;
}

static void make_image(const char *session, const char *instance)
{
	char p[600];
	snprintf(p, sizeof(p), "%s/jit/%s", dir_of(session), instance);
	io_mkdirs(p, 0755);
	snprintf(p, sizeof(p), "%s/jit/%s/3.jo", dir_of(session), instance);
	io_replace(p, "x", 1, 0644);
}

static uint64_t sum_of(const char *session, const char *name)
{
	struct session *s;
	struct total t = { 0 };
	char *why = NULL;
	if (session_open_named(&s, dir_of(session), name, &why) < 0) {
		free(why);
		return UINT64_MAX;
	}
	for (size_t i = 0; i < session_n_files(s); i++)
		session_file_each(s, i, sum_up, &t);
	session_free(s);
	return t.sum;
}

/* Saving, resetting, the session before, and the images that go with each. */
static void test_manage(void)
{
	struct session_store *s = store_at("m", false);
	struct session *held;
	uint64_t first, bytes = 0, gone = 0;
	char *why = NULL;

	make_image("m", "12-00aa");
	make_image("m", "13-00bb");
	add_all(s, 0, 100);
	session_store_flush(s);
	first = sum_of("m", "current");
	ok(first > 0, "samples of the first part");
	is_int(-EINVAL, session_store_save(s, "a/b"), "no name with a slash");
	is_int(-EINVAL, session_store_save(s, "current"), "no name that means something else");
	is_int(0, session_store_save(s, "kept"), "saved under a name");
	is_int(-EEXIST, session_store_save(s, "kept"), "not twice");
	is_int((long long)first, (long long)sum_of("m", "kept"), "what was saved");
	is_int(0, sum_of("m", "current"), "and the store starts anew");
	is_int(0, session_open(&held, dir_of("m"), &why), "a reader that stays");
	add_all(s, 100, 200);
	session_store_flush(s);
	add_all(s, 200, 300);
	session_store_flush(s);
	is_int(0, session_n_files(held), "still has what it opened");
	session_free(held);
	is_int(0, session_store_reset(s), "reset with the store open");
	is_int(0, sum_of("m", "current"), "nothing is left");
	session_store_free(s);
	is_int(0, session_save(dir_of("m"), "empty"), "saved without a store");
	is_int(-ENOENT, session_open(&held, dir_of("m"), &why), "then there is no session");
	free(why);
	is_int(0, session_reset(dir_of("m"), &bytes, &gone), "reset without a store");
	ok(there("m", "jit/12-00aa/3.jo"), "the image that a saved session names stays");
	ok(!there("m", "jit/13-00bb"), "the one that none names goes");
	ok(gone == 1 && bytes > 0, "and is counted");

	/* three runs without append: the first one's images go with it */
	for (unsigned int run = 0; run < 3; run++) {
		s = store_at("runs", false);
		make_image("runs", run ? "99-00cc" : "12-00aa");
		if (!run)
			add_all(s, 0, 100);
		session_store_flush(s);
		session_store_free(s);
		ok(there("runs", "samples/previous") == (run > 0), "run %u: the session before", run);
		ok(there("runs", "jit/12-00aa/3.jo") == (run < 2), "run %u: images of the session before that", run);
	}
	ok(there("runs", "jit/99-00cc"), "images that were never named are left alone");
}

int main(void)
{
	uint64_t want = 0, one;
	struct session_store *s, *second = NULL;
	struct session_store_opts o;

	if (!mkdtemp(root))
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		samples[i] = (struct sample){ .file = (uint32_t)(rng() % N_FILES), .key = rng() % 100 ? rng() % 700 : rng(), .count = 1 + rng() % 3 };
		if (i == 77)
			samples[i].count = 5000000000ULL; /* more than a cell holds */
		want += samples[i].count;
	}
	s = store_at("one", false);
	add_all(s, 0, 3000);
	is_int(0, session_store_flush(s), "flush");
	one = digest_of("one");
	o = (struct session_store_opts){ .dir = dir_of("one") };
	is_int(-EBUSY, session_store_new(&second, &o), "a second writer is kept out");
	session_store_free(s);
	ok(one != 0, "there are bytes to compare");
	check_content("one", want);

	s = store_at("reversed", false);
	for (size_t i = 0; i < ARRAY_SIZE(samples) / 2; i++) {
		struct sample t = samples[i];
		samples[i] = samples[ARRAY_SIZE(samples) - 1 - i];
		samples[ARRAY_SIZE(samples) - 1 - i] = t;
	}
	add_all(s, 1000, 3000);
	add_all(s, 0, 1000);
	session_store_flush(s);
	session_store_free(s);
	ok(one == digest_of("reversed"), "another order gives the same bytes");

	s = store_at("parts", false);
	for (size_t i = 0; i < 3000; i += 500) {
		add_all(s, i, i + 500);
		is_int(0, session_store_flush(s), "flush of a part");
	}
	is_int(0, session_store_flush(s), "flush of nothing");
	session_store_free(s);
	ok(one == digest_of("parts"), "six flushes give the same bytes");

	s = store_at("appended", false);
	add_all(s, 0, 1100);
	session_store_flush(s);
	session_store_free(s);
	s = store_at("appended", true);
	add_all(s, 1100, 3000);
	session_store_flush(s);
	session_store_free(s);
	ok(one == digest_of("appended"), "appending gives the same bytes");

	test_manage();
	io_remove_tree(-100, root, NULL, NULL);
	return done_testing();
}
