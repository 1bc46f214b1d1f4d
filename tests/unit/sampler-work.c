/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/sampler-work.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "lib/util.h"

extern const char __start_touch_text[], __stop_touch_text[];

#define NO_CHECKS __attribute__((no_sanitize("address", "undefined", "thread")))

NO_CHECKS static __attribute__((noinline, section("touch_text"))) void touch_pages(volatile char *p, size_t n, size_t page)
{
	for (size_t i = 0; i < n; i++)
		p[i * page] = 1;
}

static void touch(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, n * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char line[128];
	int len;

	if (p == MAP_FAILED)
		_exit(3);
	madvise(p, n * page, MADV_NOHUGEPAGE);
	touch_pages(p, n, page);
	munmap(p, n * page);
	len = snprintf(line, sizeof(line), "TOUCH %d %d %zu %" PRIxPTR " %" PRIxPTR "\n", getpid(), (int)syscall(SYS_gettid), n,
		       (uintptr_t)__start_touch_text, (uintptr_t)__stop_touch_text);
	if (write(1, line, (size_t)len) != len)
		_exit(4);
}

static void *touch_thread(void *n)
{
	touch((size_t)(uintptr_t)n);
	return NULL;
}

static void touch_in_thread(size_t n)
{
	pthread_t t;

	if (pthread_create(&t, NULL, touch_thread, (void *)(uintptr_t)n))
		_exit(5);
	pthread_join(t, NULL);
}

static void wait_byte(void)
{
	char c;

	if (read(0, &c, 1) != 1)
		_exit(0);
}

static int work_tree(char *self)
{
	char *leaf[] = { self, "work", "leaf", NULL };
	pid_t child;

	touch(10);
	touch_in_thread(20);
	touch_in_thread(30);
	child = fork();
	if (child == 0) {
		touch(40);
		touch_in_thread(50);
		execv(self, leaf);
		_exit(6);
	}
	waitpid(child, NULL, 0);
	return 0;
}

static pthread_mutex_t churn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t churn_go = PTHREAD_COND_INITIALIZER;
static bool churn_going;
static pthread_t churn_threads[CHURN];

/* Each thread makes the next one and waits; at the word each touches its pages, some in a thread of their own too. */
static void *churn(void *arg)
{
	size_t k = (size_t)(uintptr_t)arg;

	if (k + 1 < CHURN) {
		usleep(200);
		if (pthread_create(&churn_threads[k + 1], NULL, churn, (void *)(uintptr_t)(k + 1)))
			_exit(5);
	}
	pthread_mutex_lock(&churn_lock);
	while (!churn_going)
		pthread_cond_wait(&churn_go, &churn_lock);
	pthread_mutex_unlock(&churn_lock);
	touch(16);
	if (k % 4 == 0)
		touch_in_thread(8);
	return NULL;
}

static int work_churn(void)
{
	pthread_create(&churn_threads[0], NULL, churn, NULL);
	if (write(1, "READY\n", 6) != 6)
		return 4;
	wait_byte();
	pthread_mutex_lock(&churn_lock);
	churn_going = true;
	pthread_cond_broadcast(&churn_go);
	pthread_mutex_unlock(&churn_lock);
	touch(16);
	for (size_t k = 0; k < CHURN; k++) {
		while (!__atomic_load_n(&churn_threads[k], __ATOMIC_ACQUIRE))
			usleep(1000);
		pthread_join(churn_threads[k], NULL);
	}
	return 0;
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

static int work_spin(void)
{
	static const uint64_t ms[] = { 900, 300 };
	pid_t child[2];

	for (size_t i = 0; i < 2; i++) {
		child[i] = fork();
		if (child[i] == 0) {
			while (cpu_ns() < ms[i] * NSEC_PER_MSEC)
				;
			_exit(0);
		}
	}
	for (size_t i = 0; i < 2; i++) {
		struct rusage ru;
		wait4(child[i], NULL, 0, &ru);
		printf("CPU %d %llu\n", child[i],
		       (unsigned long long)((uint64_t)ru.ru_utime.tv_sec * 1000000 + (uint64_t)ru.ru_utime.tv_usec +
					    (uint64_t)ru.ru_stime.tv_sec * 1000000 + (uint64_t)ru.ru_stime.tv_usec));
	}
	return 0;
}

static int work_jit(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *a = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *b;
	int fd = (int)syscall(SYS_memfd_create, "opjit:test", 0);

	if (a == MAP_FAILED || fd < 0 || ftruncate(fd, (off_t)page) < 0)
		return 3;
	mprotect(a + page, page, PROT_READ | PROT_EXEC);
	b = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	printf("JIT %" PRIxPTR " %" PRIxPTR "\n", (uintptr_t)(a + page), (uintptr_t)b);
	return 0;
}

static int work_rounds(void)
{
	for (int i = 0; i < 3; i++) {
		wait_byte();
		touch(700);
	}
	wait_byte();
	return 0;
}

static void go_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		_exit(7);
}

/* Touches pages where it begins and on the first of the CPUs, and ends on the second. */
static int work_hop(const char *cpus)
{
	int to, end;

	if (sscanf(cpus, "%d %d", &to, &end) != 2)
		return 8;
	touch(30);
	go_to(to);
	touch_in_thread(35);
	go_to(end);
	return 0;
}

/* Forks on the first of the CPUs a child that touches pages there, goes to the second and executes. Waits at the end. */
static int work_family(char *self, const char *cpus)
{
	char *leaf[] = { self, "work", "leaf", NULL };
	int to, end;
	pid_t child;

	if (sscanf(cpus, "%d %d", &to, &end) != 2)
		return 8;
	go_to(to);
	child = fork();
	if (child == 0) {
		touch(40);
		go_to(end);
		execv(self, leaf);
		_exit(6);
	}
	waitpid(child, NULL, 0);
	printf("CHILD %d\n", child);
	fflush(stdout);
	wait_byte();
	return 0;
}

int sampler_work(char **argv)
{
	if (!strcmp(argv[2], "tree"))
		return work_tree(argv[0]);
	if (!strcmp(argv[2], "leaf"))
		touch(60);
	else if (!strcmp(argv[2], "many"))
		touch(1500);
	else if (!strcmp(argv[2], "wait")) {
		if (write(1, "READY\n", 6) != 6)
			return 4;
		wait_byte();
		touch(25);
		wait_byte();
	} else if (!strcmp(argv[2], "churn"))
		return work_churn();
	else if (!strcmp(argv[2], "spin"))
		return work_spin();
	else if (!strcmp(argv[2], "jit"))
		return work_jit();
	else if (!strcmp(argv[2], "rounds"))
		return work_rounds();
	else if (!strncmp(argv[2], "hop ", 4))
		return work_hop(argv[2] + 4);
	else if (!strncmp(argv[2], "family ", 7))
		return work_family(argv[0], argv[2] + 7);
	return 0;
}
