/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The store against a plain hash + sort + write (the floor), SQLite and LMDB, on the same samples in one run: skewed keys,
 * 200,000 distinct. Compiled by bench/store.sh, which knows whether the two databases are there (HAVE_SQLITE, HAVE_LMDB).
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#ifdef HAVE_SQLITE
#include <sqlite3.h>
#endif
#ifdef HAVE_LMDB
#include <lmdb.h>
#endif

#include "format/abi/opdb.h"
#include "lib/io.h"
#include "session/opdbfile.h"
#include "session/session.h"

#define DISTINCT 200000u

static const char *root;
static uint64_t *keys;       /* of each sample */
static size_t n_samples;
static struct opdb_pair *gathered; /* sorted, what every store is to hold */
static size_t n_gathered;
static uint64_t rng_state = 88172645463325252ULL;

static uint64_t rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	return rng_state ^= rng_state << 17;
}

static double cpu(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}
static double wall(void) { return (double)util_now_ns() / 1e9; }

static char *path_of(const char *name)
{
	static char p[4][300];
	static unsigned int k;
	snprintf(p[++k % 4], sizeof(p[0]), "%s/%s", root, name);
	return p[k % 4];
}

static uint64_t disk(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void show(const char *what, double w, double c, uint64_t bytes)
{
	printf("  %-44s %8.1f ns/sample wall %8.1f cpu", what, w * 1e9 / (double)n_samples, c * 1e9 / (double)n_samples);
	if (bytes)
		printf(" %9.2f MB", (double)bytes / 1e6);
	printf("\n");
	fflush(stdout);
}

/* --- the floor ----------------------------------------------------------------------------------------- */
struct cell { uint64_t key, count; };
static struct cell *cells;
static size_t n_cells;

static void gather(void)
{
	n_cells = 1 << 19;
	cells = calloc(n_cells, sizeof(*cells));
	for (size_t i = 0; i < n_samples; i++) {
		uint64_t k = keys[i];
		size_t at = (k * UINT64_C(0xd6e8feb86659fd93)) >> (64 - 19);
		while (cells[at].count && cells[at].key != k)
			at = (at + 1) & (n_cells - 1);
		cells[at].key = k;
		cells[at].count++;
	}
}

static void sort_cells(void)
{
	size_t n = 0;
	struct opdb_pair *a = malloc(n_cells * sizeof(*a)), *b = malloc(n_cells * sizeof(*b)), *t;
	for (size_t i = 0; i < n_cells; i++)
		if (cells[i].count)
			a[n++] = (struct opdb_pair){ cells[i].key, cells[i].count };
	for (unsigned int pass = 0; pass < 4; pass++) {
		size_t start[257] = { 0 };
		for (size_t i = 0; i < n; i++)
			start[(a[i].key >> 8 * pass & 255) + 1]++;
		for (unsigned int i = 0; i < 256; i++)
			start[i + 1] += start[i];
		for (size_t i = 0; i < n; i++)
			b[start[a[i].key >> 8 * pass & 255]++] = a[i];
		t = a, a = b, b = t;
	}
	free(b);
	free(gathered);
	gathered = a;
	n_gathered = n;
}

/* The floor and the store take turns; the median of the rounds counts, since a machine is seldom quiet. */
#define ROUNDS 5u
struct times { double wall[ROUNDS], cpu[ROUNDS]; };
static struct times t_gather, t_floor, t_add, t_store;
static double gather_wall, gather_cpu;

static int by_value(const void *a, const void *b)
{
	return *(const double *)a < *(const double *)b ? -1 : *(const double *)a > *(const double *)b;
}
static double median(const double *v)
{
	double s[ROUNDS];
	memcpy(s, v, sizeof(s));
	qsort(s, ROUNDS, sizeof(*s), by_value);
	return s[ROUNDS / 2];
}
static void since(struct times *t, unsigned int round, double w, double c)
{
	t->wall[round] = wall() - w;
	t->cpu[round] = cpu() - c;
}

static void bench_floor(unsigned int round)
{
	double w = wall(), c = cpu();
	int fd;
	gather();
	since(&t_gather, round, w, c);
	sort_cells();
	fd = open(path_of("floor"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
	io_write_full(fd, gathered, n_gathered * sizeof(*gathered));
	fsync(fd);
	close(fd);
	since(&t_floor, round, w, c);
	free(cells);
}

/* --- ours ---------------------------------------------------------------------------------------------- */
static char our_file[600];
static void bench_ours(unsigned int round)
{
	struct session_store *s;
	struct session_store_opts o = { .dir = path_of("session"), .cpu_type = "bench" };
	struct session_event e = { .name = "cpu-clock", .freq = 997 };
	struct session_file f = { .kind = SESSION_FILE, .image = "/bin/x", .app_path = "/bin/x", .app = "x", .tgid = -1, .tid = -1, .cpu = -1 };
	double w, c;
	int64_t file;
	io_remove_tree(AT_FDCWD, o.dir, NULL, NULL);
	w = wall(), c = cpu();
	if (session_store_new(&s, &o) < 0)
		exit(1);
	session_store_event(s, 0, &e);
	file = session_store_file(s, &f);
	for (size_t i = 0; i < n_samples; i++)
		session_store_add(s, (uint32_t)file, keys[i], 1);
	since(&t_add, round, w, c);
	if (session_store_flush(s) < 0)
		exit(1);
	since(&t_store, round, w, c);
	snprintf(our_file, sizeof(our_file), "%s/samples/current/{root}/bin/x/{dep}/{root}/bin/x/cpu-clock.f997.0.all.all.all", o.dir);
	session_store_free(s);
}

static void bench_store(void)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		bench_floor(i);
		bench_ours(i);
	}
	gather_wall = median(t_gather.wall);
	gather_cpu = median(t_gather.cpu);
	show("gather alone", gather_wall, gather_cpu, 0);
	show("floor: hash + sort + write + fsync", median(t_floor.wall), median(t_floor.cpu), disk(path_of("floor")));
	show("store: add alone", median(t_add.wall), median(t_add.cpu), 0);
	show("store: add + flush with fsync", median(t_store.wall), median(t_store.cpu), disk(our_file));
	printf("  %-44s %8.2f x wall %8.2f x cpu (medians of %u)\n", "… against the floor", median(t_store.wall) / median(t_floor.wall),
	       median(t_store.cpu) / median(t_floor.cpu), ROUNDS);
}

static void lookups(const char *what, int (*get)(void *, uint64_t, uint64_t *), void *arg)
{
	double w = wall();
	uint64_t sum = 0, v;
	for (unsigned int i = 0; i < 200000; i++)
		if (get(arg, gathered[rng() % n_gathered].key, &v) == 0)
			sum += v;
	w = wall() - w;
	printf("  %-44s %8.1f ns a look-up (sum %llu)\n", what, w * 1e9 / 200000, (unsigned long long)sum);
}

static int get_ours(void *db, uint64_t key, uint64_t *v) { return opdb_get(db, key, v, NULL); }
static int add_up(void *arg, uint64_t key, uint64_t value)
{
	*(uint64_t *)arg += value;
	return 0;
}
static void read_ours(void)
{
	AUTO_STRBUF sb = STRBUF_INIT;
	struct opdb db;
	uint64_t sum = 0;
	double w;
	io_slurp(AT_FDCWD, our_file, &sb);
	if (opdb_read(&db, strbuf_str(&sb), sb.len, NULL) < 0)
		exit(1);
	lookups("opdb", get_ours, &db);
	w = wall();
	opdb_each(&db, add_up, &sum, NULL);
	printf("  %-44s %8.1f ns a pair, all in order (sum %llu)\n", "opdb", (wall() - w) * 1e9 / (double)n_gathered, (unsigned long long)sum);
	w = wall();
	for (unsigned int i = 0; i < 2000; i++) {
		uint64_t at = rng() % (n_gathered - 100);
		opdb_range(&db, gathered[at].key, gathered[at + 99].key, add_up, &sum, NULL);
	}
	printf("  %-44s %8.1f ns a pair, ranges of 100\n", "opdb", (wall() - w) * 1e9 / 200000);
}

static void bench_tree(void)
{
	struct opdb_file *f;
	size_t n = MIN(n_samples, (size_t)1000000), all = n_samples;
	double w, c;
	unlink(path_of("tree"));
	w = wall(), c = cpu();
	if (opdb_file_create(&f, path_of("tree"), NULL, 48) < 0)
		return;
	opdb_file_begin(f);
	for (size_t i = 0; i < n; i++)
		opdb_file_add(f, keys[i], 1);
	opdb_file_end(f);
	opdb_file_sync(f);
	opdb_file_close(f);
	n_samples = n;
	show("opdb tree in place, upserts (1 M)", wall() - w, cpu() - c, disk(path_of("tree")));
	n_samples = all;
}

/* --- SQLite -------------------------------------------------------------------------------------------- */
#ifdef HAVE_SQLITE
static sqlite3 *sq_open(void)
{
	sqlite3 *db;
	unlink(path_of("sqlite"));
	unlink(path_of("sqlite-journal"));
	if (sqlite3_open(path_of("sqlite"), &db) != SQLITE_OK)
		exit(1);
	sqlite3_exec(db, "create table s(k integer primary key, v integer); begin", NULL, NULL, NULL);
	return db;
}
static int get_sqlite(void *arg, uint64_t key, uint64_t *v)
{
	sqlite3_stmt *st = arg;
	int r;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)key);
	r = sqlite3_step(st) == SQLITE_ROW ? 0 : -1;
	*v = r ? 0 : (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_reset(st);
	return r;
}
static void bench_sqlite(bool direct)
{
	size_t n = direct ? MIN(n_samples, (size_t)1000000) : n_gathered, all = n_samples;
	double w = wall(), c = cpu();
	sqlite3 *db = sq_open();
	sqlite3_stmt *st;
	sqlite3_prepare_v2(db, direct ? "insert into s values(?, 1) on conflict(k) do update set v = v + 1" : "insert into s values(?, ?)", -1, &st, NULL);
	for (size_t i = 0; i < n; i++) {
		sqlite3_bind_int64(st, 1, (sqlite3_int64)(direct ? keys[i] : gathered[i].key));
		if (!direct)
			sqlite3_bind_int64(st, 2, (sqlite3_int64)gathered[i].value);
		sqlite3_step(st);
		sqlite3_reset(st);
	}
	sqlite3_finalize(st);
	sqlite3_exec(db, "commit", NULL, NULL, NULL);
	if (direct) {
		n_samples = n;
		show("SQLite, upserts (1 M)", wall() - w, cpu() - c, disk(path_of("sqlite")));
		n_samples = all;
	} else {
		show("SQLite, fed after the same gathering", wall() - w + gather_wall, cpu() - c + gather_cpu, disk(path_of("sqlite")));
		sqlite3_prepare_v2(db, "select v from s where k = ?", -1, &st, NULL);
		lookups("SQLite", get_sqlite, st);
		sqlite3_finalize(st);
	}
	sqlite3_close(db);
}
#endif

/* --- LMDB ---------------------------------------------------------------------------------------------- */
#ifdef HAVE_LMDB
struct lm { MDB_txn *txn; MDB_dbi dbi; };
static int get_lmdb(void *arg, uint64_t key, uint64_t *v)
{
	struct lm *l = arg;
	MDB_val k = { sizeof(key), &key }, d;
	int r = mdb_get(l->txn, l->dbi, &k, &d);
	if (!r)
		memcpy(v, d.mv_data, sizeof(*v));
	return r;
}
static void bench_lmdb(bool direct)
{
	size_t n = direct ? MIN(n_samples, (size_t)1000000) : n_gathered, all = n_samples;
	double w = wall(), c = cpu();
	MDB_env *env;
	struct lm l;
	unlink(path_of("lmdb"));
	unlink(path_of("lmdb-lock"));
	mdb_env_create(&env);
	mdb_env_set_mapsize(env, (size_t)1 << 30);
	if (mdb_env_open(env, path_of("lmdb"), MDB_NOSUBDIR, 0644) || mdb_txn_begin(env, NULL, 0, &l.txn) ||
	    mdb_dbi_open(l.txn, NULL, MDB_INTEGERKEY | MDB_CREATE, &l.dbi))
		exit(1);
	for (size_t i = 0; i < n; i++) {
		uint64_t key = direct ? keys[i] : gathered[i].key, v = direct ? 1 : gathered[i].value;
		MDB_val k = { sizeof(key), &key }, d = { sizeof(v), &v };
		if (direct) {
			MDB_val old;
			if (mdb_get(l.txn, l.dbi, &k, &old) == 0)
				v += *(uint64_t *)old.mv_data;
		}
		mdb_put(l.txn, l.dbi, &k, &d, direct ? 0 : MDB_APPEND);
	}
	mdb_txn_commit(l.txn);
	mdb_env_sync(env, 1);
	if (direct) {
		n_samples = n;
		show("LMDB, upserts (1 M)", wall() - w, cpu() - c, disk(path_of("lmdb")));
		n_samples = all;
	} else {
		show("LMDB, fed after the same gathering", wall() - w + gather_wall, cpu() - c + gather_cpu, disk(path_of("lmdb")));
		mdb_txn_begin(env, NULL, MDB_RDONLY, &l.txn);
		lookups("LMDB", get_lmdb, &l);
		mdb_txn_abort(l.txn);
	}
	mdb_env_close(env);
}
#endif

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 1000000, 10000000 };
	uint64_t *pool = malloc(DISTINCT * sizeof(*pool));
	root = argv[1];
	for (size_t i = 0; i < DISTINCT; i++)
		pool[i] = rng() & 0x3fffffff; /* offsets in images of up to 1 GiB */
	keys = malloc(sizes[1] * sizeof(*keys));
	for (unsigned int k = 0; k < ARRAY_SIZE(sizes); k++) {
		n_samples = sizes[k];
		for (size_t i = 0; i < n_samples; i++) {
			/* half of all samples in 1/64 of the keys, and so on; the first 200,000 make every key appear */
			uint64_t r = rng();
			keys[i] = pool[i < DISTINCT ? i : (r >> 20) % (DISTINCT >> ((r & 3) * 3))];
		}
		printf("%zu samples, %u distinct keys:\n", n_samples, DISTINCT);
		bench_store();
		read_ours();
#ifdef HAVE_SQLITE
		bench_sqlite(false);
#endif
#ifdef HAVE_LMDB
		bench_lmdb(false);
#endif
		if (!k) {
			bench_tree();
#ifdef HAVE_SQLITE
			bench_sqlite(true);
#endif
#ifdef HAVE_LMDB
			bench_lmdb(true);
#endif
		}
	}
	return 0;
}
