/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fakejit TRUTH SCRIPT: a JIT with a known truth, on x86-64. It makes functions that spin, runs each for a known thread CPU
 * time, tells (or hides, or tells late) what it did, and appends to TRUTH what really happened:
 *	R pid tid name addr size start_ns end_ns cpu_ns     one run
 *	C pid addr size time_ns                             the code in this range changed
 * times by CLOCK_MONOTONIC, cpu_ns by CLOCK_THREAD_CPUTIME_ID, less the time in which the machine itself had no CPU. The script, a command a line:
 *	area anon|wx|memfd|huge SIZE   code memory, the current one: RWX; RW made RX before each run; two mappings of one memfd
 *	                               (written through the one, run in the other); huge pages where there are any
 *	grow SIZE                      more of it, behind it;  remap  the whole elsewhere, its code told as moved
 *	source KIND [LAG-MS]           opagent, dropin, jitdump, perfmap, opdump, none: the current JIT; earlier ones stay open
 *	also KIND                      everything of the current JIT is told in this way, too
 *	set unload on|off              whether the end of a version is told
 *	set delay MS                   all is told so much later, with its true stamp
 *	set stamp MS                   loads are stamped so much after the truth (and told then)
 *	set late MS                    unloads too are stamped so much after the truth, and say so
 *	set early MS                   loads are told, with that stamp, so much before the code is there
 *	set lose N                     of each Nth function nothing is told (0: none)
 *	make NAME OFFSET SIZE [LOOP]   a function; of the SIZE bytes the first LOOP run (all)
 *	spin NAME MS;  drop NAME;  move NAME OFFSET;  sleep MS;  await FILE (until it is there)
 *	versions N MS OFFSET SIZE [CPU-MS-STEP]  N versions at one address, each made, run and dropped
 *	fork N                         a child does the next N lines, the parent goes on behind them;  wait  for it
 *	thread N                       a thread does them;  join
 *	exec SCRIPT                    the same program anew with another script
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/fakejit/post.h"

#define MAX_LINES 4096
#define MAX_FUNCTIONS 8192
#define MAX_TRUTH 65536
#define CHUNK_NS 100000
#define TAKEN_NS (30 * CHUNK_NS) /* a chunk that took so much: a virtual machine had no CPU, which its clocks do not know */

struct area {
	uint8_t *write, *run;
	size_t size;
	int fd;
	bool wx;
};

struct jit {
	struct post *said[4];
	unsigned int n;
};

struct function {
	char name[64];
	struct area *area;
	struct jit *jit;
	size_t offset, size;
	bool live, untold;
};

static struct {
	char *text;
} lines[MAX_LINES];
static int n_lines;
static struct function functions[MAX_FUNCTIONS];
static unsigned int n_functions;
static struct area areas[16], *area;
static unsigned int n_areas;
static struct jit jits[16], *jit;
static unsigned int n_jits;
static bool tell_unload = true;
static unsigned int delay_ms, stamp_ms, late_ms, early_ms, lose;
static struct {
	char kind;
	int pid, tid;
	char name[64];
	uint64_t addr, size, start, end, cpu;
} truth[MAX_TRUTH];
static unsigned int n_truth;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *truth_path, *dir;
static pthread_t threads[64];
static unsigned int n_threads;

static void die(const char *what)
{
	fprintf(stderr, "fakejit: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* --- truth ------------------------------------------------------------------------------------------------ */

static void note(char kind, const char *name, uint64_t addr, uint64_t size, uint64_t start, uint64_t end, uint64_t cpu)
{
	pthread_mutex_lock(&lock);
	if (n_truth == MAX_TRUTH)
		die("too much truth");
	truth[n_truth].kind = kind;
	truth[n_truth].pid = getpid();
	truth[n_truth].tid = (int)syscall(SYS_gettid);
	snprintf(truth[n_truth].name, sizeof(truth[0].name), "%s", name);
	truth[n_truth].addr = addr;
	truth[n_truth].size = size;
	truth[n_truth].start = start;
	truth[n_truth].end = end;
	truth[n_truth++].cpu = cpu;
	pthread_mutex_unlock(&lock);
}

static void write_truth(void)
{
	FILE *f = fopen(truth_path, "a");

	if (!f)
		die(truth_path);
	setvbuf(f, NULL, _IOFBF, 1 << 22); /* one write, so that processes do not mix */
	for (unsigned int i = 0; i < n_truth; i++)
		if (truth[i].kind == 'R')
			fprintf(f, "R %d %d %s %llu %llu %llu %llu %llu\n", truth[i].pid, truth[i].tid, truth[i].name,
				(unsigned long long)truth[i].addr, (unsigned long long)truth[i].size,
				(unsigned long long)truth[i].start, (unsigned long long)truth[i].end, (unsigned long long)truth[i].cpu);
		else
			fprintf(f, "C %d %llu %llu %llu\n", truth[i].pid, (unsigned long long)truth[i].addr,
				(unsigned long long)truth[i].size, (unsigned long long)truth[i].start);
	if (fclose(f))
		die(truth_path);
	n_truth = 0;
}

/* --- telling ---------------------------------------------------------------------------------------------- */

static void tell(const struct jit *j, struct post_event *e)
{
	if (e->what == 'U' && !tell_unload)
		return;
	if (e->what == 'L')
		e->time_ns += stamp_ms * 1000000ull;
	if (e->what == 'U' && late_ms) {
		e->time_ns += late_ms * 1000000ull;
		e->late_us = late_ms * 1000 + 1000;
	}
	for (unsigned int i = 0; i < j->n; i++)
		if (delay_ms || stamp_ms || late_ms) /* one queue, so that an unload does not overtake its load */
			post_later(j->said[i], e, delay_ms);
		else
			post_say(j->said[i], e);
}

static void tell_of(struct function *f, char what, uint64_t time_ns, uint64_t from)
{
	struct post_event e = { .what = what, .time_ns = time_ns, .addr = (uint64_t)(f->area->run + f->offset), .from = from,
				.size = f->size, .code = f->area->run + f->offset };

	snprintf(e.name, sizeof(e.name), "%s", f->name);
	if (!f->untold)
		tell(f->jit, &e);
}

/* --- code ------------------------------------------------------------------------------------------------- */

static void writable(struct area *a, bool on)
{
	if (a->wx && mprotect(a->run, a->size, on ? PROT_READ | PROT_WRITE : PROT_READ | PROT_EXEC) < 0)
		die("mprotect");
}

/* again: nop…; dec %rdi; jnz again; ret */
static void assemble(uint8_t *at, size_t size, size_t loop)
{
	int32_t back = -(int32_t)(loop - 1);

	memset(at, 0x90, loop - 10);
	memcpy(at + loop - 10, "\x48\xff\xcf\x0f\x85", 5);
	memcpy(at + loop - 5, &back, 4);
	at[loop - 1] = 0xc3;
	memset(at + loop, 0xcc, size - loop);
}

static struct function *find(const char *name)
{
	for (unsigned int i = n_functions; i-- > 0;)
		if (!strcmp(functions[i].name, name))
			return &functions[i];
	errno = ENOENT;
	die(name);
	return NULL;
}

static void place(const char *name, size_t offset, size_t size, size_t loop)
{
	struct function *f;
	uint64_t t;

	if (!area || !jit || offset + size > area->size || loop < 16 || loop > size || n_functions == MAX_FUNCTIONS) {
		errno = EINVAL;
		die(name);
	}
	pthread_mutex_lock(&lock);
	f = &functions[n_functions++];
	pthread_mutex_unlock(&lock);
	snprintf(f->name, sizeof(f->name), "%s", name);
	f->area = area;
	f->jit = jit;
	f->offset = offset;
	f->size = size;
	f->live = true;
	f->untold = lose && n_functions % lose == 0;
	if (early_ms) {
		tell_of(f, 'L', post_now(), 0);
		usleep((useconds_t)early_ms * 1000);
	}
	writable(area, true);
	assemble(area->write + offset, size, loop);
	writable(area, false);
	t = post_now();
	note('C', "-", (uint64_t)(area->run + offset), size, t, 0, 0);
	if (!early_ms)
		tell_of(f, 'L', t, 0);
}

static uint64_t cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void spin(const char *name, double ms)
{
	struct function *f = find(name);
	void (*code)(uint64_t) = (void (*)(uint64_t))(uintptr_t)(f->area->run + f->offset);
	uint64_t n = 200, start = post_now(), first = cpu_now(), was = first, taken = 0, now;

	do {
		code(n);
		now = cpu_now();
		if (now - was > TAKEN_NS)
			taken += now - was - CHUNK_NS;
		if (now - was < CHUNK_NS / 2)
			n *= 2;
		else if (now - was > CHUNK_NS * 4 && n > 200)
			n /= 2;
		was = now;
	} while ((double)(now - first - taken) < ms * 1e6);
	note('R', f->name, (uint64_t)(f->area->run + f->offset), f->size, start, post_now(), now - first - taken);
}

static void drop(const char *name)
{
	struct function *f = find(name);
	uint64_t t = post_now();

	f->live = false;
	tell_of(f, 'U', t, 0);
}

static void move(const char *name, size_t offset)
{
	struct function *f = find(name);
	uint64_t from = (uint64_t)(f->area->run + f->offset), t;

	writable(f->area, true);
	memmove(f->area->write + offset, f->area->write + f->offset, f->size);
	writable(f->area, false);
	f->offset = offset;
	t = post_now();
	note('C', "-", from, f->size, t, 0, 0);
	note('C', "-", (uint64_t)(f->area->run + offset), f->size, t, 0, 0);
	tell_of(f, 'M', t, from);
}

static void versions(unsigned int n, double ms, size_t offset, size_t size, double step)
{
	static unsigned int serial;

	for (unsigned int i = 0; i < n; i++) {
		char name[64];

		snprintf(name, sizeof(name), "v%u_%d", __atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED), (int)getpid());
		place(name, offset, size, size);
		spin(name, ms + step * i);
		drop(name);
	}
}

/* --- memory ----------------------------------------------------------------------------------------------- */

#define ROOM ((size_t)16 << 20)

/* Addresses that nothing else takes, so that an area can grow. */
static uint8_t *reserve(void)
{
	uint8_t *at = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		die("mmap");
	return at;
}

static void area_new(const char *kind, size_t size)
{
	int rwx = PROT_READ | PROT_WRITE | PROT_EXEC, flags = MAP_PRIVATE | MAP_ANONYMOUS;

	area = &areas[n_areas++];
	area->size = size;
	area->fd = -1;
	if (!strcmp(kind, "memfd")) {
		area->fd = memfd_create("fakejit", MFD_CLOEXEC);
		if (area->fd < 0 || ftruncate(area->fd, (off_t)size) < 0)
			die("memfd");
		area->write = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, area->fd, 0);
		area->run = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_SHARED, area->fd, 0);
	} else if (!strcmp(kind, "wx")) {
		area->wx = true;
		area->write = area->run = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
	} else {
		bool huge = !strcmp(kind, "huge");

		area->run = huge ? mmap(NULL, size, rwx, flags | MAP_HUGETLB, -1, 0) : MAP_FAILED;
		if (area->run == MAP_FAILED)
			area->run = mmap(reserve(), size, rwx, flags | MAP_FIXED, -1, 0);
		if (huge && area->run != MAP_FAILED)
			(void)madvise(area->run, size, MADV_HUGEPAGE);
		area->write = area->run;
	}
	if (area->run == MAP_FAILED || area->write == MAP_FAILED)
		die("mmap");
}

static void grow(size_t more)
{
	void *at = mmap(area->run + area->size, more, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (at == MAP_FAILED)
		die("grow");
	area->size += more;
}

static void remap(void)
{
	uint8_t *to = reserve(), *old = area->run;
	uint64_t t;

	if (mremap(old, area->size, area->size, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		die("mremap");
	if (area->write == old)
		area->write = to;
	area->run = to;
	t = post_now();
	note('C', "-", (uint64_t)old, area->size, t, 0, 0);
	note('C', "-", (uint64_t)to, area->size, t, 0, 0);
	for (unsigned int i = 0; i < n_functions; i++)
		if (functions[i].live && functions[i].area == area)
			tell_of(&functions[i], 'M', t, (uint64_t)(old + functions[i].offset));
}

/* --- the script ------------------------------------------------------------------------------------------- */

static void run(int from, int to);

struct part {
	int from, to;
};

static void *thread_main(void *arg)
{
	struct part *p = arg;

	run(p->from, p->to);
	free(p);
	return NULL;
}

static enum post_kind kind_of(const char *name)
{
	static const char *const names[] = { "opagent", "dropin", "jitdump", "perfmap", "opdump", "none" };

	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], name))
			return (enum post_kind)i;
	errno = EINVAL;
	die(name);
	return POST_NONE;
}

static void finish(void)
{
	post_drain();
	for (unsigned int i = 0; i < n_jits; i++)
		for (unsigned int k = 0; k < jits[i].n; k++)
			post_close(jits[i].said[k]);
	write_truth();
}

/* Those that change who runs what. Returns the line to go on at. */
static int flow(char *const *w, int at, int to)
{
	int n = w[1] ? (int)strtol(w[1], NULL, 10) : 0;

	if (at + n >= to && strcmp(w[0], "exec"))
		n = to - at - 1;
	if (!strcmp(w[0], "fork")) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid == 0) {
			n_truth = 0;
			for (unsigned int i = 0; i < n_jits; i++)
				for (unsigned int k = 0; k < jits[i].n; k++)
					post_forked(jits[i].said[k]);
			run(at + 1, at + 1 + n);
			finish();
			exit(0);
		}
		return at + 1 + n;
	}
	if (!strcmp(w[0], "thread")) {
		struct part *p = malloc(sizeof(*p));

		*p = (struct part){ at + 1, at + 1 + n };
		if (pthread_create(&threads[n_threads++], NULL, thread_main, p))
			die("thread");
		return at + 1 + n;
	}
	finish();
	execl("/proc/self/exe", "fakejit", truth_path, w[1], (char *)NULL);
	die("exec");
	return at;
}

static void await_file(const char *path)
{
	for (int i = 0; access(path, F_OK) < 0; i++) {
		if (i == 6000)
			die(path);
		usleep(10000);
	}
}

static void command(char *const *w, int n)
{
	const char *c = w[0];
	size_t a1 = n > 1 ? strtoul(w[1], NULL, 0) : 0, a2 = n > 2 ? strtoul(w[2], NULL, 0) : 0, a3 = n > 3 ? strtoul(w[3], NULL, 0) : 0;
	size_t a4 = n > 4 ? strtoul(w[4], NULL, 0) : 0;

	if (!strcmp(c, "area") && n == 3) {
		area_new(w[1], a2);
	} else if (!strcmp(c, "use") && n == 2) {
		area = &areas[a1];
	} else if (!strcmp(c, "jit") && n == 2) {
		jit = &jits[a1];
	} else if (!strcmp(c, "source") && n >= 2) {
		jit = &jits[n_jits++];
		jit->said[jit->n++] = post_open(kind_of(w[1]), (unsigned int)a2, dir);
	} else if (!strcmp(c, "also") && n == 2) {
		jit->said[jit->n++] = post_open(kind_of(w[1]), 0, dir);
	} else if (!strcmp(c, "set") && n == 3) {
		if (!strcmp(w[1], "unload"))
			tell_unload = !strcmp(w[2], "on");
		else if (!strcmp(w[1], "delay"))
			delay_ms = (unsigned int)a2;
		else if (!strcmp(w[1], "early"))
			early_ms = (unsigned int)a2;
		else if (!strcmp(w[1], "late"))
			late_ms = (unsigned int)a2;
		else if (!strcmp(w[1], "lose"))
			lose = (unsigned int)a2;
		else
			stamp_ms = (unsigned int)a2;
	} else if (!strcmp(c, "make") && n >= 4) {
		place(w[1], a2, a3, n > 4 ? a4 : a3);
	} else if (!strcmp(c, "spin") && n == 3) {
		spin(w[1], strtod(w[2], NULL));
	} else if (!strcmp(c, "drop") && n == 2) {
		drop(w[1]);
	} else if (!strcmp(c, "move") && n == 3) {
		move(w[1], a2);
	} else if (!strcmp(c, "sleep") && n == 2) {
		usleep((useconds_t)(a1 * 1000));
	} else if (!strcmp(c, "await") && n == 2) {
		await_file(w[1]);
	} else if (!strcmp(c, "versions") && n >= 5) {
		versions((unsigned int)a1, strtod(w[2], NULL), a3, a4, n > 5 ? strtod(w[5], NULL) : 0);
	} else if (!strcmp(c, "grow") && n == 2) {
		grow(a1);
	} else if (!strcmp(c, "remap")) {
		remap();
	} else if (!strcmp(c, "wait")) {
		while (wait(NULL) > 0)
			;
	} else if (!strcmp(c, "join")) {
		while (n_threads)
			pthread_join(threads[--n_threads], NULL);
	} else {
		errno = EINVAL;
		die(c);
	}
}

static void run(int from, int to)
{
	for (int i = from; i < to;) {
		char copy[256], *w[8] = { NULL }, *save;
		int n = 0;

		snprintf(copy, sizeof(copy), "%s", lines[i].text);
		for (char *s = strtok_r(copy, " \t\n", &save); s && n < 7; s = strtok_r(NULL, " \t\n", &save))
			w[n++] = s;
		if (!n || w[0][0] == '#') {
			i++;
		} else if (!strcmp(w[0], "fork") || !strcmp(w[0], "thread") || !strcmp(w[0], "exec")) {
			i = flow(w, i, to);
		} else {
			command(w, n);
			i++;
		}
	}
}

int main(int argc, char **argv)
{
	FILE *f = argc == 3 ? fopen(argv[2], "r") : NULL;
	char line[256];

	if (!f)
		die("usage: fakejit TRUTH SCRIPT");
	truth_path = argv[1];
	dir = getenv("FAKEJIT_DIR") ? getenv("FAKEJIT_DIR") : ".";
	while (n_lines < MAX_LINES && fgets(line, sizeof(line), f))
		lines[n_lines++].text = strdup(line);
	fclose(f);
	run(0, n_lines);
	finish();
	return 0;
}
