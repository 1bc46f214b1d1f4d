/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/fakejit/post.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "libopagent/opagent.h"

struct post {
	enum post_kind kind;
	struct opagent *agent;
	op_agent_t dropin;
	int fd;
	uint64_t index;
	char dir[512];
};

uint64_t post_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void put(int fd, const void *bytes, size_t len)
{
	if (write(fd, bytes, len) != (ssize_t)len)
		die("write");
}

/* --- jitdump: a header, then records; the executable mapping of its first page announces it --------------- */

struct dump_header {
	uint32_t magic, version, size, machine, pad, pid;
	uint64_t time, flags;
};

struct dump_load {
	uint32_t id, size;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t vma, addr, code_size, index;
};

/* Two entries: the second has the file of the one before. */
struct dump_lines {
	uint32_t id, size;
	uint64_t time, addr, n;
	struct {
		uint64_t addr;
		uint32_t line, column;
		char file[8];
	} first;
	struct {
		uint64_t addr;
		uint32_t line, column;
		char same[2];
	} __attribute__((packed)) second;
} __attribute__((packed));

struct dump_move {
	uint32_t id, size;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t vma, from, addr, code_size, index;
};

static void dump_open(struct post *p)
{
	struct dump_header h = { 0x4A695444, 1, sizeof(h), 62, 0, (uint32_t)getpid(), post_now(), 0 };
	char path[600];

	snprintf(path, sizeof(path), "%s/jit-%d.dump", p->dir, (int)getpid());
	p->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (p->fd < 0)
		die(path);
	put(p->fd, &h, sizeof(h));
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, p->fd, 0) == MAP_FAILED)
		die("mmap of the jitdump");
}

static void dump_say(struct post *p, const struct post_event *e)
{
	size_t name = strlen(e->name) + 1, len = 0;
	char buf[8192];

	if (e->what == 'L' && e->size + name + sizeof(struct dump_load) <= sizeof(buf)) {
		struct dump_load r = { 0, (uint32_t)(sizeof(r) + name + e->size), e->time_ns, (uint32_t)getpid(),
				       (uint32_t)syscall(SYS_gettid), e->addr, e->addr, e->size, ++p->index };
		uint32_t line = (uint32_t)p->index * 10;
		struct dump_lines l = { 2, sizeof(l), e->time_ns, e->addr, 2, { e->addr, line, 1, "fake.js" },
					{ e->addr + e->size / 2, line + 1, 1, "\xff" } };

		put(p->fd, &l, sizeof(l));

		memcpy(buf, &r, sizeof(r));
		memcpy(buf + sizeof(r), e->name, name);
		memcpy(buf + sizeof(r) + name, e->code, e->size);
		len = r.size;
	} else if (e->what == 'M') {
		struct dump_move r = { 1, sizeof(r), e->time_ns, (uint32_t)getpid(), (uint32_t)syscall(SYS_gettid), e->addr, e->from,
				       e->addr, e->size, p->index };

		memcpy(buf, &r, sizeof(r));
		len = sizeof(r);
	}
	if (len) /* the format knows no unload */
		put(p->fd, buf, len);
}

/* --- OProfile's dump: wall time in whole seconds ---------------------------------------------------------- */

static void opdump_open(struct post *p)
{
	struct {
		char magic[4];
		uint32_t version, size, bfd_arch, bfd_mach, pad;
		uint64_t time;
	} h = { "", 1, sizeof(h), 9, 8, 0, (uint64_t)time(NULL) };
	char path[600];

	memcpy(h.magic, "jItO", 4);
	snprintf(path, sizeof(path), "/tmp/.oprofile/jitdump/%d.dump", (int)getpid());
	p->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (p->fd < 0)
		die(path);
	put(p->fd, &h, sizeof(h));
}

static void opdump_say(struct post *p, const struct post_event *e)
{
	uint64_t seconds = (uint64_t)time(NULL), name = strlen(e->name) + 1;
	uint32_t size = e->what == 'L' ? 16 + 24 + (uint32_t)(name + e->size) : 16 + 8, id = e->what == 'L' ? 0 : 1;
	char buf[8192] = "";

	size = (size + 7) & ~7u;
	if (e->what == 'M' || size > sizeof(buf))
		return;
	memcpy(buf, &id, 4);
	memcpy(buf + 4, &size, 4);
	memcpy(buf + 8, &seconds, 8);
	memcpy(buf + 16, &e->addr, 8);
	if (e->what == 'L') {
		uint32_t len = (uint32_t)e->size;

		memcpy(buf + 24, &e->addr, 8);
		memcpy(buf + 32, &len, 4);
		memcpy(buf + 40, e->name, name);
		memcpy(buf + 40 + name, e->code, e->size);
	}
	put(p->fd, buf, size);
}

/* --- all of them ------------------------------------------------------------------------------------------ */

static void map_open(struct post *p)
{
	char path[600];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	p->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
	if (p->fd < 0)
		die(path);
}

struct post *post_open(enum post_kind kind, unsigned int lag_ms, const char *dir)
{
	struct opagent_open_opts o = { .size = sizeof(o), .lag_us = lag_ms * 1000, .source = "fakejit" };
	struct post *p = calloc(1, sizeof(*p));

	if (!p)
		die("calloc");
	p->kind = kind;
	p->fd = -1;
	snprintf(p->dir, sizeof(p->dir), "%s", dir);
	switch (kind) {
	case POST_OPAGENT:
		if (opagent_open(&p->agent, &o) < 0)
			die("opagent_open");
		break;
	case POST_DROPIN:
		if (!(p->dropin = op_open_agent()))
			die("op_open_agent");
		break;
	case POST_JITDUMP: dump_open(p); break;
	case POST_PERFMAP: map_open(p); break;
	case POST_OPDUMP: opdump_open(p); break;
	case POST_NONE: break;
	}
	return p;
}

static int agent_say(struct post *p, const struct post_event *e)
{
	struct opagent_region r = { .size = sizeof(r), .addr = e->addr, .code_size = e->size, .code = e->code, .name = e->name,
				    .time_ns = e->time_ns, .tier = -1 };

	switch (e->what) {
	case 'L': return opagent_load(p->agent, &r, NULL);
	case 'U': return opagent_unload_late(p->agent, e->addr, e->time_ns, e->late_us);
	default: return opagent_move(p->agent, e->from, e->addr, e->time_ns);
	}
}

void post_say(struct post *p, const struct post_event *e)
{
	char line[128];

	switch (p->kind) {
	case POST_OPAGENT:
		if (agent_say(p, e) < 0)
			fprintf(stderr, "fakejit: libopagent refused %c %s\n", e->what, e->name);
		break;
	case POST_DROPIN: /* stamps by itself, knows no moves */
		if (e->what != 'L')
			op_unload_native_code(p->dropin, e->what == 'M' ? e->from : e->addr);
		if (e->what != 'U')
			op_write_native_code(p->dropin, e->name, e->addr, e->code, (unsigned int)e->size);
		break;
	case POST_JITDUMP: dump_say(p, e); break;
	case POST_OPDUMP: opdump_say(p, e); break;
	case POST_PERFMAP:
		snprintf(line, sizeof(line), "%llx %llx %s\n", (unsigned long long)e->addr, (unsigned long long)e->size, e->name);
		if (e->what != 'U')
			put(p->fd, line, strlen(line));
		break;
	case POST_NONE: break;
	}
}

void post_forked(struct post *p)
{
	if (p->kind == POST_JITDUMP)
		dump_open(p);
	else if (p->kind == POST_PERFMAP)
		map_open(p);
	else if (p->kind == POST_OPDUMP)
		opdump_open(p);
}

void post_close(struct post *p)
{
	opagent_close(p->agent);
	if (p->dropin)
		op_close_agent(p->dropin);
	if (p->fd >= 0)
		close(p->fd);
	free(p);
}

/* --- late delivery ---------------------------------------------------------------------------------------- */

#define QUEUE 4096
static struct {
	struct post *p;
	struct post_event e;
	uint8_t code[4096];
	uint64_t due_ns;
} queue[QUEUE];
static unsigned int head, tail;
static bool running;
static pthread_t thread;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *sayer(void *arg)
{
	(void)arg;
	for (;;) {
		uint64_t now = post_now();

		pthread_mutex_lock(&lock);
		while (head != tail && queue[head % QUEUE].due_ns <= now) {
			post_say(queue[head % QUEUE].p, &queue[head % QUEUE].e);
			head++;
		}
		if (!running && head == tail) {
			pthread_mutex_unlock(&lock);
			return NULL;
		}
		pthread_mutex_unlock(&lock);
		usleep(1000);
	}
}

void post_later(struct post *p, const struct post_event *e, unsigned int delay_ms)
{
	pthread_mutex_lock(&lock);
	if (!running) {
		running = true;
		if (pthread_create(&thread, NULL, sayer, NULL))
			die("pthread_create");
	}
	if (tail - head == QUEUE || e->size > sizeof(queue[0].code)) {
		fprintf(stderr, "fakejit: too much is late\n");
		exit(2);
	}
	queue[tail % QUEUE].p = p;
	queue[tail % QUEUE].e = *e;
	if (e->code) {
		memcpy(queue[tail % QUEUE].code, e->code, e->size);
		queue[tail % QUEUE].e.code = queue[tail % QUEUE].code;
	}
	queue[tail % QUEUE].due_ns = e->time_ns + delay_ms * 1000000ull;
	tail++;
	pthread_mutex_unlock(&lock);
}

void post_drain(void)
{
	bool was;

	pthread_mutex_lock(&lock);
	was = running;
	running = false;
	pthread_mutex_unlock(&lock);
	if (was)
		pthread_join(thread, NULL);
}
