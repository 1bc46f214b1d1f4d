/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A poster that dies at any instant leaves valid images, a valid ring, and every region whose post returned. First by single
 * steps: at each instruction of one post the directory is checked as it stands (all of it is in shared files, so a SIGKILL
 * there leaves exactly that), and at every Nth a fresh poster really is killed. Then by kill -9 at random instants.
 *
 * Beginning a segment takes long; there every 4th instruction is looked at. Under ASan, whose code is many times as long, a few.
 *
 *	test-opagent-kill [ROUNDS [EVERY]]   rounds of random kills (12), every Nth instruction a real kill (97)
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "jit-check.h"
#include "lib/tap.h"
#include "libopagent/opagent.h"

#ifdef __SANITIZE_ADDRESS__
#define COARSE 64
#else
#define COARSE 1
#endif

static char root[] = "/tmp/opjit-kill-XXXXXX";

static struct shared {
	char dir[4096];
	volatile unsigned int returned; /* posts that have returned */
	volatile unsigned int begun;
} *shared;

enum what { PLAIN, TABLES, GROWTH, SEGMENT, UNLOAD, AMEND, NO_BYTES, CLOSE };
static const char *const what_names[] = { "plain post", "post with tables", "post that grows sections", "post that begins a segment",
					  "unload", "amend", "post without bytes", "close" };

static struct opagent *agent;
static uint8_t filler[(32 << 20) + 4096];

static int post(unsigned int i, size_t size, enum what what)
{
	static const char *const names[] = { "method-0" }, *const files[] = { "a.java", "b.java" };
	static const struct opagent_line lines[] = { { 0, 1, 0 }, { 4, 2, 1 } };
	static const struct opagent_frame frames[] = { { UINT32_MAX, 0, 0, 3 } };
	static const struct opagent_inline_range ranges[] = { { 0, 0, 3 } };
	char name[32];
	struct opagent_region r = { .size = sizeof(r), .addr = 0x100000 + 256ull * i, .code_size = size, .name = name,
				    .code = what == NO_BYTES ? NULL : filler };
	int q;

	snprintf(name, sizeof(name), "method-%u", i);
	if (what == TABLES || what == AMEND) {
		r.names = names, r.files = files, r.lines = lines, r.frames = frames, r.inlines = ranges;
		r.n_names = 1, r.n_files = 2, r.n_lines = 2, r.n_frames = 1, r.n_inlines = 1;
	}
	q = what == AMEND ? opagent_amend(agent, &r) : opagent_load(agent, &r, NULL);
	if (q == 0 && what != AMEND)
		shared->returned = i + 1;
	return q;
}

/* The poster: some regions, then stops itself, the one post in question, and stops again. */
static void poster(enum what what)
{
	struct opagent_open_opts o = { .size = sizeof(o), .dir = root, .ring_entries = 64 };
	unsigned int i = 0;

	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	if (opagent_open(&agent, &o) < 0)
		_exit(3);
	snprintf(shared->dir, sizeof(shared->dir), "%s", opagent_dir(agent));
	for (; i < 10; i++)
		post(i, 48, PLAIN);
	if (what == GROWTH)
		post(i++, (256 << 10) - 10 * 48 - 64, PLAIN); /* .text is full to its first step */
	if (what == SEGMENT) {
		post(i++, 32 << 20, PLAIN);
		post(i++, (32 << 20) - 4096, PLAIN);
	}
	raise(SIGSTOP);
	if (what == UNLOAD)
		opagent_unload(agent, 0x100000, 0);
	else if (what == AMEND)
		post(0, 48, AMEND);
	else if (what == CLOSE)
		opagent_close(agent);
	else
		post(i, what == SEGMENT ? 8192 : 100, what);
	shared->begun = 1; /* here: ended */
	raise(SIGSTOP);
	_exit(0);
}

static pid_t start(enum what what)
{
	int status;
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	pid = fork();
	if (!pid)
		poster(what);
	waitpid(pid, &status, 0);
	return WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP ? pid : -1;
}

/*
 * The kernel's clock code starts over whenever a tick came in between; looked at slowly enough it would never end. It only
 * reads, so it is stepped through without looking.
 */
static uint64_t vdso_from, vdso_to;

static void vdso_find(void)
{
	AUTO_STRBUF maps = STRBUF_INIT;
	char *line;

	if (io_slurp(AT_FDCWD, "/proc/self/maps", &maps) < 0 || !(line = strstr(maps.buf, "[vdso]")))
		return;
	while (line > maps.buf && line[-1] != '\n')
		line--;
	vdso_from = strtoull(line, &line, 16);
	vdso_to = strtoull(line + 1, NULL, 16);
}

static bool in_vdso(pid_t pid)
{
#if defined(__x86_64__)
	uint64_t pc = (uint64_t)ptrace(PTRACE_PEEKUSER, pid, 16 * 8, NULL); /* rip of struct user_regs_struct */
	return pc >= vdso_from && pc < vdso_to;
#else
	return false;
#endif
}

/* One instruction; false when the poster stopped itself again or ended. */
static bool step(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0 || waitpid(pid, &status, 0) < 0)
		return false;
	return WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP && !shared->begun;
}

static void kill_and_reap(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool all_there(const struct jit_check *c, unsigned int n, char *why, size_t room)
{
	for (unsigned int i = 0; i < n && i < CHECK_MAX; i++)
		if (c->by_symbol[i] < 1 || c->by_event[i] != 1) {
			snprintf(why, room, "method-%u: %u symbols, %u events", i, c->by_symbol[i], c->by_event[i]);
			return false;
		}
	return true;
}

static bool state_good(struct jit_check *c)
{
	unsigned int n = shared->returned;

	for (int journal = 0; journal < 2; journal++)
		if (jit_check_dir(shared->dir, journal, c) < 0 || !all_there(c, n, c->why, sizeof(c->why)))
			return false;
	return true;
}

/* What other tools say of the images as they stand. */
static bool tools_accept(void)
{
	AUTO_STRBUF cmd = STRBUF_INIT;
	int status;
	pid_t pid;

	strbuf_addf(&cmd, "for f in %s/*.jo; do readelf -aW $f && nm $f && eu-elflint --gnu-ld $f; test $? = 0 || exit 1; done "
			  ">%s/tools.out 2>&1", shared->dir, root);
	pid = fork();
	if (!pid) {
		execl("/bin/sh", "sh", "-c", cmd.buf, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return status == 0;
}

/* Sizes in the headers: the states that other tools can tell apart. */
static uint64_t headers_hash(void)
{
	uint64_t h = 0;

	for (int i = 0; i < 2; i++) {
		char path[4200];
		uint8_t head[JIT_IMAGE_HEAD];
		AUTO_CLOSE int fd = -1;
		snprintf(path, sizeof(path), "%s/%d.jo", shared->dir, i);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head))
			h = util_hash_u64(h ^ util_hash_bytes(head, sizeof(head)));
	}
	return h;
}

static void remove_dir(void)
{
	io_remove_tree(AT_FDCWD, shared->dir, NULL, NULL);
}

static unsigned long steps_through(enum what what)
{
	static struct jit_check c;
	unsigned long n = 0, states = 1;
	uint64_t hash;
	bool good = true, tools = true;
	pid_t pid = start(what);

	if (pid < 0) {
		ok(false, "%s: poster starts", what_names[what]);
		return 0;
	}
	hash = headers_hash();
	while (good && tools && step(pid)) {
		n++;
		if (in_vdso(pid) || n % (what == SEGMENT ? 4 * COARSE : COARSE))
			continue;
		good = state_good(&c);
		if (headers_hash() != hash) {
			hash = headers_hash();
			states++;
			tools = tools_accept();
		}
	}
	tools = tools && tools_accept();
	good = good && state_good(&c);
	ok(good && n > 300, "%s: valid and complete at each %d. of %lu instructions", what_names[what],
	   what == SEGMENT ? 4 * COARSE : COARSE, n);
	if (!good)
		printf("# at instruction %lu: %s\n", n, c.why);
	ok(tools && states > 1, "%s: readelf, nm and eu-elflint accept each of %lu states", what_names[what], states);
	kill_and_reap(pid);
	remove_dir();
	return n;
}

static void real_kills(enum what what, unsigned long n, unsigned long every)
{
	static struct jit_check c;
	unsigned long kills = 0;
	bool good = true;

	every = MIN(every, n / 2 + 1);
	for (unsigned long at = every / 2; good && at < n; at += every, kills++) {
		pid_t pid = start(what);
		for (unsigned long i = 0; i < at && step(pid); i++)
			;
		kill_and_reap(pid);
		good = state_good(&c);
		remove_dir();
	}
	ok(good && kills, "%s: %lu real kills, one every %lu instructions", what_names[what], kills, every);
	if (!good)
		printf("# %s\n", c.why);
}

static void storm(void)
{
	struct opagent_open_opts o = { .size = sizeof(o), .dir = root, .ring_entries = 256 };

	if (opagent_open(&agent, &o) < 0)
		_exit(3);
	snprintf(shared->dir, sizeof(shared->dir), "%s", opagent_dir(agent));
	for (unsigned int i = 0;; i++) {
		post(i, 100 + i % 1000, i % 3 ? PLAIN : TABLES);
		if (i % 2)
			opagent_unload(agent, 0x100000 + 256ull * i, 0);
		shared->begun = i + 1;
	}
}

static void random_kills(unsigned int rounds)
{
	static struct jit_check c;
	bool good = true, tools = true;
	unsigned long posts = 0;

	for (unsigned int i = 0; good && tools && i < rounds; i++) {
		unsigned int n;
		pid_t pid;
		memset(shared, 0, sizeof(*shared));
		pid = fork();
		if (!pid)
			storm();
		while (!shared->begun && waitpid(pid, NULL, WNOHANG) == 0)
			usleep(100);
		usleep((useconds_t)(util_hash_u64(i + (uint64_t)getpid()) % 30000));
		kill_and_reap(pid);
		n = shared->returned;
		posts += n;
		good = jit_check_dir(shared->dir, i & 1, &c) == 0 && all_there(&c, n, c.why, sizeof(c.why));
		tools = i % 4 || tools_accept();
		remove_dir();
	}
	ok(good, "kill -9 at %u random instants: every returned post is there (%lu)", rounds, posts);
	if (!good)
		printf("# %s\n", c.why);
	ok(tools, "and other tools accept the images");
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 12;
	unsigned long every = argc > 2 ? strtoul(argv[2], NULL, 10) : 97 * COARSE;

	memset(filler, 0x90, sizeof(filler));
	vdso_find();
	if (!getenv("LD_BIND_NOW")) { /* no time for the dynamic linker in single steps */
		setenv("LD_BIND_NOW", "1", 1);
		execv(argv[0], argv);
	}
	if (!mkdtemp(root))
		return 99;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (enum what w = PLAIN; w <= CLOSE; w++) {
		unsigned long n = steps_through(w);
		real_kills(w, n, w == SEGMENT ? every * 30 : w == PLAIN ? every : every * 3);
	}
	random_kills(rounds);
	io_remove_tree(AT_FDCWD, root, NULL, NULL);
	return done_testing();
}
