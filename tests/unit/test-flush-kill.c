/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A flush killed: at every system call it makes (before the call is done, by ptrace), or with -DRANDOM_KILLS at 1,000
 * random moments of a writer that flushes on and on. Each time the session must read as it was after some whole flush,
 * and the next writer must be able to go on with it.
 */
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/io.h"
#include "lib/tap.h"
#include "session/session.h"

static char root[64], dir[128];

static struct session_store *open_store(bool append)
{
	struct session_store *s = NULL;
	struct session_store_opts o = { .dir = dir, .cpu_type = "timer", .stacks = true, .append = append };
	struct session_event e = { .name = "cpu-clock", .freq = 997, .timer = true };
	int r = session_store_new(&s, &o);
	if (r < 0)
		return NULL;
	session_store_event(s, 0, &e);
	return s;
}

/* Round r adds r + 1 at each of some keys, old and new, in files old and new. */
static void add_round(struct session_store *s, uint64_t round)
{
	for (unsigned int f = 0; f < 4; f++) {
		char image[40];
		struct session_file file = { .kind = f ? SESSION_FILE : SESSION_JIT, .image = image, .app_path = "/usr/bin/java", .app = "java:X",
					     .tgid = -1, .tid = -1, .cpu = -1 };
		int64_t n, node = 0;
		snprintf(image, sizeof(image), f == 3 ? "/lib/round%u" : f ? "/lib/x%u" : "7-0/%u.jo", f == 3 ? (unsigned int)round % 8 : f);
		n = session_store_file(s, &file);
		for (uint64_t k = 0; k < 20; k++) {
			session_store_add(s, (uint32_t)n, 100 * (round % 5) + k * 7, round + 1);
			node = session_store_frame(s, k % 4 ? (uint64_t)node : 0, (uint32_t)n, k);
			session_store_stack_add(s, (uint64_t)node, round + 1);
		}
	}
	session_store_totals(s)->native += 80 * (round + 1);
}

static int digest_count(void *arg, uint64_t key, uint64_t count)
{
	*(uint64_t *)arg = util_hash_u64(*(uint64_t *)arg ^ key) + count;
	return 0;
}
static int digest_stack(void *arg, const struct session_frame *fr, size_t n, uint64_t count)
{
	uint64_t h = count;
	for (size_t i = 0; i < n; i++)
		h = util_hash_u64(h ^ fr[i].key) + fr[i].file;
	*(uint64_t *)arg += h; /* order does not matter */
	return 0;
}

/* Everything a reader sees, as one number; 0 = not readable. */
static uint64_t digest(void)
{
	struct session *s;
	char *why = NULL;
	uint64_t h = 1;
	int r = session_open(&s, dir, &why);
	if (r < 0) {
		printf("# %s\n", why ? why : strerror(-r));
		free(why);
		return 0;
	}
	for (size_t i = 0; i < session_n_files(s) && r >= 0; i++) {
		h = util_hash_u64(h ^ util_hash_bytes(session_file(s, i)->image, strlen(session_file(s, i)->image)));
		r = session_file_each(s, i, digest_count, &h);
	}
	if (r >= 0)
		r = session_stacks_each(s, digest_stack, &h);
	h = util_hash_u64(h) + session_totals(s)->native;
	if (r < 0)
		printf("# %s\n", session_error(s));
	session_free(s);
	return r < 0 ? 0 : h;
}

static void start_afresh(uint64_t rounds)
{
	io_remove_tree(-100, dir, NULL, NULL);
	struct session_store *s = open_store(false);
	for (uint64_t i = 0; i < rounds; i++) {
		add_round(s, i);
		session_store_flush(s);
	}
	session_store_free(s);
}

#ifndef RANDOM_KILLS
/* The same state again, by copying: cheaper than three flushes, hundreds of times. */
static void restore(const char *pristine)
{
	pid_t pid;
	int status;

	io_remove_tree(-100, dir, NULL, NULL);
	pid = fork();
	if (!pid) {
		execlp("cp", "cp", "-a", pristine, dir, (char *)NULL);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		ok(false, "cp -a %s", pristine);
}
#endif

#ifdef RANDOM_KILLS
#define ROUNDS 4000
static uint64_t after[ROUNDS + 1];

static uint64_t find(uint64_t d, uint64_t from)
{
	for (uint64_t i = from; i <= ROUNDS; i++)
		if (after[i] == d)
			return i;
	return UINT64_MAX;
}

int main(void)
{
	unsigned int kills = 1000, moved = 0, bad = 0;
	uint64_t done = 1;
	long range = 6000;
	/* what a session reads like after each round: made once, without kills */
	const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	snprintf(root, sizeof(root), "%s/test-flush-kill.XXXXXX", base);
	if (!mkdtemp(root))
		return 1;
	snprintf(dir, sizeof(dir), "%s/reference", root);
	struct session_store *s = open_store(false);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		add_round(s, i);
		session_store_flush(s);
		after[i + 1] = digest();
	}
	session_store_free(s);
	snprintf(dir, sizeof(dir), "%s/killed", root);
	start_afresh(1);
	srandom(1);
	for (unsigned int i = 0; i < kills && done + 100 < ROUNDS; i++) {
		uint64_t now;
		pid_t pid = fork();
		if (!pid) {
			struct session_store *w = open_store(true);
			for (uint64_t r = done; w && r < ROUNDS; r++) {
				add_round(w, r);
				if (session_store_flush(w) < 0)
					_exit(1);
			}
			_exit(w ? 0 : 1);
		}
		usleep((useconds_t)(random() % range));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		now = find(digest(), done);
		if (now == UINT64_MAX) {
			bad++;
			start_afresh(done = 1);
			continue;
		}
		moved += now != done;
		/* so long that about every second writer gets to a commit, however fast the machine is */
		range = now != done ? MAX(range * 4 / 5, 500L) : MIN(range * 5 / 4 + 1, 200000L);
		done = now;
		if (done + 200 > ROUNDS)
			start_afresh(done = 1);
	}
	is_int(0, bad, "%u kills at random moments, each left the state after a whole flush", kills);
	ok(moved > 50, "the writer got on between kills (%u times)", moved);
	io_remove_tree(-100, root, NULL, NULL);
	return done_testing();
}
#else
/* Runs a flush of one more round until its kill-th stop at a system call, and kills it there. 0: it ended before. */
static int flush_until(unsigned int kill_at)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		struct session_store *s = open_store(true);
		if (!s)
			_exit(9);
		add_round(s, 3);
		raise(SIGSTOP); /* the flush begins */
		_exit(session_store_flush(s) < 0 ? 8 : 0);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return -1;
	ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(long)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
	for (unsigned int n = 0;; n++) {
		if (n == kill_at) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return 1;
		}
		ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
		if (waitpid(pid, &status, 0) != pid)
			return -1;
		if (WIFEXITED(status))
			return WEXITSTATUS(status) ? -1 : 0;
	}
}

int main(void)
{
	unsigned int stops = 0, old = 0, new = 0, bad = 0, stuck = 0;
	uint64_t before, then;
	char pristine[128];
	const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	int r;

	snprintf(root, sizeof(root), "%s/test-flush-kill.XXXXXX", base);
	if (!mkdtemp(root))
		return 1;
	snprintf(dir, sizeof(dir), "%s/s", root);
	start_afresh(3);
	before = digest();
	r = flush_until(UINT32_MAX);
	if (r < 0) {
		skip("ptrace is refused here");
		io_remove_tree(-100, root, NULL, NULL);
		return done_testing();
	}
	then = digest();
	ok(before && then && before != then, "a flush changes what is read");
	start_afresh(3);
	snprintf(pristine, sizeof(pristine), "%s/pristine", root);
	if (rename(dir, pristine) < 0)
		return 1;
	restore(pristine);
	/* stop 0 is the SIGSTOP, 1 the return of its call; each even one is an entry: what it left is what the return left before */
	for (stops = 2; flush_until(stops) == 1; stops += 2) {
		uint64_t now = digest();
		old += now == before;
		new += now == then;
		bad += now != before && now != then;
		if (now != before || stops % 32 == 0) {
			/* the next writer goes on, whatever was left lying about */
			struct session_store *s = open_store(true);
			if (now == before && s)
				add_round(s, 3);
			stuck += !s || session_store_flush(s) < 0 || digest() != then;
			session_store_free(s);
			restore(pristine);
		}
	}
	is_int(0, bad, "killed at each of %u system calls: the state before (%u times) or after (%u times)", old + new + bad, old, new);
	ok(stops > 80 && old > 10 && new > 2, "there were stops on both sides of the commit");
	is_int(0, stuck, "the next writer goes on with what a kill left");
	io_remove_tree(-100, root, NULL, NULL);
	return done_testing();
}
#endif
