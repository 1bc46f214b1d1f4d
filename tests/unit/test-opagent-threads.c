/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Several writers and several readers at once, and what happens when a holder of the semaphore is gone. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "format/jit/layout.h"
#include "jitconv/source.h"
#include "lib/io.h"
#include "lib/strbuf.h"
#include "lib/tap.h"
#include "libopagent/opagent.h"

#define WRITERS 4
#define READERS 3
#define EACH 3000

/* What a vanished thread may have left half changed is given up, not freed. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }

static char root[] = "/tmp/opjit-threads-XXXXXX";
static struct opagent *agent;
static char ring_path[4200];
static int writers_left;

static void *write_thread(void *arg)
{
	uint64_t base = (uint64_t)(uintptr_t)arg << 32;
	uint8_t code[200] = { 0x90 };

	for (unsigned int i = 0; i < EACH; i++) {
		char name[64];
		struct opagent_region r = { .size = sizeof(r), .addr = base + i * 256, .code = code, .code_size = 50 + i % 150,
					    .name = name };
		snprintf(name, sizeof(name), "%u.%u", (unsigned int)(uintptr_t)arg, i);
		if (opagent_load(agent, &r, NULL) < 0 || (i % 3 == 0 && opagent_unload(agent, r.addr, 0) < 0))
			return (void *)1;
	}
	__atomic_fetch_sub(&writers_left, 1, __ATOMIC_ACQ_REL);
	return NULL;
}

struct reader {
	unsigned int next[WRITERS + 1], loads, unloads;
	uint64_t last_id;
	bool good, tables;
};

static int take(void *arg, const struct jit_event *e)
{
	struct reader *r = arg;
	char name[64];
	char *dot;

	if (e->type == JIT_EVENT_UNLOAD)
		r->unloads++;
	if (e->type != JIT_EVENT_LOAD)
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)e->name_len, e->name);
	unsigned long w = strtoul(name, &dot, 10);
	if (w < 1 || w > WRITERS || *dot != '.' || strtoul(dot + 1, NULL, 10) != r->next[w] ||
	    e->addr != ((uint64_t)w << 32) + r->next[w] * 256 || e->id != r->last_id + 1)
		r->good = false;
	else
		r->next[w]++;
	r->last_id = e->id;
	r->loads++;
	return 0;
}

static void *read_thread(void *arg)
{
	struct reader *r = arg;
	struct jit_source *s;
	int left;

	if (jit_source_open(&s, 0, geteuid(), ring_path, 0, 0, NULL) < 0)
		return NULL;
	jit_source_want_tables(s, r->tables);
	r->good = true;
	do {
		left = __atomic_load_n(&writers_left, __ATOMIC_ACQUIRE);
		if (jit_source_poll(s, take, r) < 0)
			r->good = false;
	} while (left && r->good);
	struct jit_source_info info;
	jit_source_info(s, &info);
	if (info.n_bad)
		r->good = false;
	jit_source_free(s);
	return NULL;
}

static void test_many(void)
{
	pthread_t w[WRITERS], rd[READERS];
	struct reader readers[READERS] = { 0 };
	void *failed = NULL;
	unsigned int bad = 0;

	writers_left = WRITERS;
	for (int i = 0; i < READERS; i++) {
		readers[i].tables = i == 2;
		pthread_create(&rd[i], NULL, read_thread, &readers[i]);
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_create(&w[i], NULL, write_thread, (void *)(uintptr_t)(i + 1));
	for (int i = 0; i < WRITERS; i++) {
		pthread_join(w[i], &failed);
		bad += failed != NULL;
	}
	for (int i = 0; i < READERS; i++)
		pthread_join(rd[i], NULL);
	is_int(0, bad, "%d writers post", WRITERS);
	for (int i = 0; i < READERS; i++)
		ok(readers[i].good && readers[i].loads == WRITERS * EACH && readers[i].unloads == WRITERS * EACH / 3,
		   "reader %d has each event once, in order (%u loads)", i, readers[i].loads);
}

static int32_t gone_tid;
static void *tell_tid(void *arg)
{
	__atomic_store_n((int32_t *)arg, (int32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	return NULL;
}
static int stay;
static void *stay_alive(void *arg)
{
	tell_tid(arg);
	while (!__atomic_load_n(&stay, __ATOMIC_ACQUIRE))
		usleep(1000);
	return NULL;
}

static struct jit_ring_header *ring_map(void)
{
	AUTO_CLOSE int fd = open(ring_path, O_RDWR | O_CLOEXEC);

	return mmap(NULL, sizeof(struct jit_ring_header), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static int one(uint64_t addr, uint64_t *id)
{
	struct opagent_region r = { .size = sizeof(r), .addr = addr, .code_size = 4, .code = "abcd", .name = "1.0" };

	return opagent_load(agent, &r, id);
}

static void test_dead_holder(void)
{
	struct jit_ring_header *h = ring_map();
	uint64_t id = 0, before;
	int32_t other = 0;
	pthread_t t;

	one(0x100, &before);
	pthread_create(&t, NULL, tell_tid, &gone_tid);
	pthread_join(t, NULL);
	__atomic_store_n(&h->sem, (uint32_t)gone_tid, __ATOMIC_RELEASE);
	is_int(0, one(0x200, &id), "the holder's thread has ended: the next takes over");
	is_int(before + 1, id, "and numbers go on");
	is_int(1, h->recovered, "counted");
	is_int(0, opagent_unload(agent, 0x100, 0), "live regions are known again");
	is_int(-ENOENT, opagent_unload(agent, 0x100, 0), "and ended ones");
	is_int(0, opagent_unload(agent, 4ull << 32 | 256, 0), "those of other threads, too");
	__atomic_store_n(&h->sem, (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	is_int(0, one(0x300, &id), "the holder is the caller itself, left by a longjmp");
	is_int(2, h->recovered, "counted");
	/* Its number was given to a new thread: seen by that thread's start. */
	pthread_create(&t, NULL, stay_alive, &other);
	while (!__atomic_load_n(&other, __ATOMIC_ACQUIRE))
		usleep(1000);
	__atomic_store_n(&h->sem_ns, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&h->sem, (uint32_t)other, __ATOMIC_RELEASE);
	is_int(0, one(0x400, &id), "the holder's number belongs to a younger thread");
	is_int(3, h->recovered, "counted");
	__atomic_store_n(&stay, 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	/* Half an append: text and strings are there, the ring has begun an entry. */
	h->reserved++;
	__atomic_store_n(&h->sem, (uint32_t)gone_tid, __ATOMIC_RELEASE);
	is_int(0, one(0x500, &id), "a holder that vanished in the middle of an entry");
	munmap(h, sizeof(*h));
}

static void *fork_thread(void *arg)
{
	struct jit_ring_header *h = ring_map();
	uint64_t id = 0;
	int status;
	pid_t pid;

	/* Another thread holds the semaphore while we fork: the child does not have that thread, nor its instance. */
	__atomic_store_n(&h->sem, (uint32_t)getpid(), __ATOMIC_RELEASE);
	pid = fork();
	if (!pid)
		_exit(one(0x1000, &id) == 0 && id == 1 ? 0 : 1);
	waitpid(pid, &status, 0);
	__atomic_store_n(&h->sem, 0, __ATOMIC_RELEASE);
	munmap(h, sizeof(*h));
	*(int *)arg = status;
	return NULL;
}

int main(void)
{
	struct opagent_open_opts o = { .size = sizeof(o), .ring_entries = 64, .dir = root };
	int status = -1;
	pthread_t t;

	if (!mkdtemp(root))
		return 99;
	is_int(0, opagent_open(&agent, &o), "opens");
	snprintf(ring_path, sizeof(ring_path), "%s/ring", opagent_dir(agent));
	test_many();
	test_dead_holder();
	pthread_create(&t, NULL, fork_thread, &status);
	pthread_join(t, NULL);
	is_int(0, status, "fork while another thread holds the semaphore: the child posts to its own");
	is_int(0, opagent_close(agent), "closes");
	io_remove_tree(AT_FDCWD, root, NULL, NULL);
	return done_testing();
}
