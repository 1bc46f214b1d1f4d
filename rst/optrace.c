/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * optrace: single-steps a process and records each instruction. With --jit-only the process runs free; its threads are
 * looked at every few milliseconds, and one that is in JIT code is stepped for as long as it stays there.
 */
#include <elf.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <dirent.h>

#include "rst/jitnames.h"
#include "rst/record.h"

static const char usage[] =
"Usage: optrace [options] command [arguments]\n"
"       optrace [options] --pid N\n"
"Record an instruction trace of an x86-64 process.\n"
"  -o, --output FILE       where to (default optrace.rst; the suffix .rzx packs)\n"
"  -p, --pid N             a running process\n"
"  -j, --jit-only          only instructions of JIT-compiled methods; the process runs free elsewhere\n"
"  -n, --limit N           stop recording after N instructions; the process goes on\n"
"  -h, --help              this text\n"
"  -v, --version           the version\n";

#define MAX_THREADS 4096
#define OUTSIDE 4000        /* steps outside of JIT code before a thread is let run again */
#define LOOK_NS (3 * NSEC_PER_MSEC)
#define TURN 256            /* steps of a thread before another's */
#define PATIENCE 100        /* looks whether it has stopped */
#define CACHE 16384
#define CLOCK_STEPS 1024    /* a time stamp at least that often */
#define X86_TF 0x100
#define USER_CS_64 0x33

enum run { RUN_FREE, RUN_STEP };
struct thread {
	pid_t tid;
	enum run run;
	bool pending;       /* an instruction was begun: regs and insn are of it */
	bool stepped;       /* it is over though its trap is still to come: a stop of another kind came first */
	bool interrupting;
	bool in_call;       /* between the two stops of a system call that is let through whole */
	unsigned int outside, steps, cpu;
	struct user_regs_struct regs;
	struct x86_insn insn;
	uint64_t second;
};
struct optrace {
	pid_t pid;
	bool jit_only, done, no_blocks, said_32bit;
	uint64_t limit, last_look_ns;
	struct thread threads[MAX_THREADS];
	size_t n_threads, turn_at;
	pid_t turn_tid;     /* whose turn it is, for that many steps */
	unsigned int turn;
	struct jitnames names;
	struct x86_insn *cache;
	uint64_t *cache_pc;
	struct dis *dis;
	struct recorder rec;
	int exit_status;
};

/* --- threads ------------------------------------------------------------------------------------------------- */

static struct thread *thread_of(struct optrace *o, pid_t tid, bool make)
{
	for (size_t i = 0; i < o->n_threads; i++)
		if (o->threads[i].tid == tid)
			return &o->threads[i];
	if (!make || o->n_threads == MAX_THREADS)
		return NULL;
	memset(&o->threads[o->n_threads], 0, sizeof(o->threads[0]));
	o->threads[o->n_threads].tid = tid;
	o->threads[o->n_threads].run = o->jit_only ? RUN_FREE : RUN_STEP;
	return &o->threads[o->n_threads++];
}

static void drop_thread(struct optrace *o, pid_t tid)
{
	struct thread *t = thread_of(o, tid, false);

	if (t)
		*t = o->threads[--o->n_threads];
}

/* The cpu it ran on last: field 39 of its stat. */
static unsigned int cpu_of_thread(pid_t pid, pid_t tid)
{
	char path[64], buf[1024];
	const char *p;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = 0;
	p = strrchr(buf, ')');
	for (int i = 2; p && i < 39; i++)
		p = strchr(p + 1, ' ');
	return p ? (unsigned int)strtoul(p, NULL, 10) : 0;
}

static size_t read_memory(pid_t pid, uint64_t addr, void *buf, size_t len)
{
	struct iovec to = { buf, len }, from = { (void *)(uintptr_t)addr, len };
	ssize_t n = process_vm_readv(pid, &to, 1, &from, 1, 0);

	if (n == (ssize_t)len)
		return len;
	/* Perhaps the next page is not there. */
	from.iov_len = to.iov_len = MIN(len, 4096 - (addr & 4095));
	n = process_vm_readv(pid, &to, 1, &from, 1, 0);
	return n > 0 ? (size_t)n : 0;
}

/*
 * A trap while SIGTRAP is blocked makes the kernel forget the program's own handler of it. So it never is blocked while we step:
 * where a handler is entered, a program begins, or the mask was set (which is the one system call that is not stepped over).
 */
static void unblock_trap(const struct thread *t)
{
	uint64_t mask = 0, bit = 1ULL << (SIGTRAP - 1);

	if (t->run != RUN_STEP || ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof(mask), &mask) || !(mask & bit))
		return;
	mask &= ~bit;
	ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(mask), &mask);
}

/* A thread that has left JIT code comes back by a jump, a call or a return: where the processor can stop at those alone, it does; where it
 * cannot, this stops at every instruction like the other. */
static int step(struct optrace *o, const struct thread *t, int sig)
{
	void *s = (void *)(intptr_t)sig;

	if (t->in_call || (t->pending && t->insn.kind == X86_SYSCALL && t->regs.rax == SYS_rt_sigprocmask))
		return (int)ptrace(PTRACE_SYSCALL, t->tid, NULL, s);
	if (o->jit_only && !t->pending && !o->no_blocks) {
		if (!ptrace(PTRACE_SINGLEBLOCK, t->tid, NULL, s) || errno == ESRCH)
			return 0;
		o->no_blocks = true;
	}
	return (int)ptrace(PTRACE_SINGLESTEP, t->tid, NULL, s);
}

static void go(struct optrace *o, struct thread *t, int sig)
{
	if (o->done && !t->stepped) {
		ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(intptr_t)sig);
		drop_thread(o, t->tid);
	} else if (t->run == RUN_STEP && !o->done) {
		step(o, t, sig);
	} else {
		ptrace(PTRACE_CONT, t->tid, NULL, (void *)(intptr_t)sig);
	}
}

/* Recording is over: what runs is stopped, and each stop then detaches. */
static void finish(struct optrace *o)
{
	if (o->done)
		return;
	o->done = true;
	for (size_t i = 0; i < o->n_threads; i++)
		ptrace(PTRACE_INTERRUPT, o->threads[i].tid, NULL, NULL);
}

/* --- stepping --------------------------------------------------------------------------------------------------- */

static bool is_wanted(const struct optrace *o, uint64_t pc)
{
	return !o->jit_only || syms_find(&o->names.regions, pc);
}

/* Ends the instruction that was begun, now that it is known where it led. */
static void end_instr(struct optrace *o, struct thread *t, uint64_t next_pc, bool ran, unsigned int trap)
{
	struct record_step s = { .insn = &t->insn, .pc = t->regs.rip, .next_pc = next_pc, .regs = &t->regs, .ran = ran, .trap = trap,
				 .second = t->second };

	t->pending = false;
	if (o->done)
		return;
	record_who(&o->rec, o->pid, t->tid, t->cpu, t->steps % CLOCK_STEPS == 1);
	record_instr(&o->rec, &s);
	if (o->rec.error || o->rec.n_instrs >= o->limit)
		finish(o);
}

/* Takes note of the instruction at which the thread stands. */
static void begin_instr(struct optrace *o, struct thread *t)
{
	uint8_t bytes[16];
	uint64_t pc = t->regs.rip;
	size_t n = read_memory(o->pid, pc, bytes, 15), at = util_hash_u64(pc) % CACHE;
	struct x86_insn *c = &o->cache[at];

	if (t->regs.cs != USER_CS_64) {
		if (!o->said_32bit)
			msg_warn("32-bit code is not recorded");
		o->said_32bit = true;
		return;
	}
	if (!n)
		return;
	/* JIT code is rewritten in place: the bytes decide. */
	if (o->cache_pc[at] != pc || !c->len || c->len > n || memcmp(c->bytes, bytes, c->len)) {
		o->cache_pc[at] = pc;
		if (x86_decode(o->dis, bytes, n, pc, c))
			return;
	}
	t->insn = *c;
	t->second = 0;
	if (c->n_mem > 1)
		read_memory(o->pid, x86_address(c, &c->mem[1], &t->regs), &t->second, 8);
	t->pending = true;
	if (t->steps++ % 256 == 0)
		t->cpu = cpu_of_thread(o->pid, t->tid);
}

/* The system call that does not come back: exit, or exec. */
static void end_syscall(struct optrace *o, struct thread *t)
{
	if (t->pending && t->insn.kind == X86_SYSCALL)
		end_instr(o, t, t->regs.rip + t->insn.len, true, 0);
}

/* What pushf pushed has the flag by which we step; the program would set it again with popf, and die of it some day. */
static void hide_step_flag(const struct thread *t, const struct user_regs_struct *regs)
{
	const uint8_t *b = t->insn.bytes;
	long flags;

	if (b[t->insn.len - 1] != 0x9c || (t->insn.len > 1 && b[0] != 0x66 && (b[0] & 0xf0) != 0x40))
		return;
	errno = 0;
	flags = ptrace(PTRACE_PEEKDATA, t->tid, (void *)(uintptr_t)regs->rsp, NULL);
	if (!errno && flags & X86_TF)
		ptrace(PTRACE_POKEDATA, t->tid, (void *)(uintptr_t)regs->rsp, (void *)(flags & ~(long)X86_TF));
}

/* Where the thread stands now, between two instructions. */
static void at_instr(struct optrace *o, struct thread *t, const struct user_regs_struct *regs)
{
	t->pending = false;
	if (o->done)
		return;
	if (o->names.n_sources || t->steps % 512 == 0)
		jitnames_poll(&o->names, o->pid);
	t->regs = *regs;
	if (is_wanted(o, regs->rip)) {
		t->run = RUN_STEP;
		t->outside = 0;
		begin_instr(o, t);
	} else if (o->jit_only && (t->run == RUN_FREE || ++t->outside > OUTSIDE)) {
		t->run = RUN_FREE;
	}
}

/* The trap after an instruction. */
static void on_step(struct optrace *o, struct thread *t)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, t->tid, NULL, &regs))
		return;
	if (t->stepped) {
		t->stepped = false; /* this was told by the stop that came before */
		if (t->pending && t->regs.rip == regs.rip)
			return;
	}
	if (t->pending) {
		hide_step_flag(t, &regs);
		end_instr(o, t, regs.rip, true, 0);
	}
	at_instr(o, t, &regs);
}

/* Whether the trap of an instruction waits to be told behind the stop at hand. */
static bool trap_waits(pid_t tid)
{
	struct __ptrace_peeksiginfo_args args = { .off = 0, .flags = 0, .nr = 8 };
	siginfo_t si[8];
	long n = ptrace(PTRACE_PEEKSIGINFO, tid, &args, si);

	for (long i = 0; i < n; i++)
		if (si[i].si_signo == SIGTRAP && (si[i].si_code == TRAP_TRACE || si[i].si_code == TRAP_BRKPT))
			return true;
	return false;
}

/* A stop that we asked for, or that a new thread begins with. */
static void on_interrupted(struct optrace *o, struct thread *t)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, t->tid, NULL, &regs))
		return;
	t->stepped = trap_waits(t->tid);
	if (t->stepped && t->pending) {
		hide_step_flag(t, &regs);
		end_instr(o, t, regs.rip, true, 0);
	}
	at_instr(o, t, &regs);
	unblock_trap(t);
}

/* A handler was entered: the instruction that was begun did not run. */
static void on_handler(struct optrace *o, struct thread *t)
{
	struct user_regs_struct regs;

	unblock_trap(t);
	if (!ptrace(PTRACE_GETREGS, t->tid, NULL, &regs))
		at_instr(o, t, &regs);
}

/* Before or after a system call that is let through whole. */
static void on_call(struct optrace *o, struct thread *t)
{
	t->in_call = !t->in_call;
	if (t->in_call)
		return;
	unblock_trap(t);
	on_step(o, t);
}

static unsigned int vector_of(int sig, int code)
{
	switch (sig) {
	case SIGSEGV: return code == SI_KERNEL ? 13 : 14;
	case SIGBUS: return 17;
	case SIGFPE: return code == FPE_INTDIV || code == FPE_INTOVF ? 0 : 19;
	case SIGILL: return 6;
	}
	return 3;
}

/*
 * A signal is to be delivered. Either the instruction that was begun raised it, or it came from outside: then that instruction
 * runs yet, unless a handler is entered first, which is told by a stop of its own.
 */
static void on_signal(struct optrace *o, struct thread *t, int sig)
{
	struct user_regs_struct regs;
	siginfo_t si = { 0 };
	bool fault = sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGTRAP;

	if (!t->pending || ptrace(PTRACE_GETREGS, t->tid, NULL, &regs) || ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &si))
		return;
	if (fault && si.si_code > 0)
		end_instr(o, t, regs.rip, false, vector_of(sig, si.si_code));
}

/* SIGTRAP is ours, or the program's own. */
static int on_trap(struct optrace *o, struct thread *t)
{
	siginfo_t si = { 0 };

	if (ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &si))
		return 0;
	if (si.si_code == SIGTRAP) {
		on_handler(o, t);
	} else if (si.si_code == TRAP_TRACE || si.si_code == TRAP_BRANCH || (si.si_code == TRAP_BRKPT && (t->run == RUN_STEP || t->stepped))) {
		on_step(o, t);
	} else {
		on_signal(o, t, SIGTRAP);
		return SIGTRAP;
	}
	return 0;
}

/* Every few milliseconds the threads that run free are stopped, to see where they are. */
static void look(struct optrace *o)
{
	uint64_t now = util_now_ns();

	if (!o->jit_only || now - o->last_look_ns < LOOK_NS)
		return;
	o->last_look_ns = now;
	jitnames_poll(&o->names, o->pid);
	if (!o->names.regions.n)
		return;
	for (size_t i = 0; i < o->n_threads; i++) {
		struct thread *t = &o->threads[i];

		if (t->run == RUN_FREE && !t->interrupting && !ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL))
			t->interrupting = true;
	}
}

static void on_exec(struct optrace *o, struct thread *t)
{
	unsigned long former = 0;
	char path[64], exe[4096];
	AUTO_STRBUF sb = STRBUF_INIT;
	ssize_t n;

	/* All other threads are gone; one of them may have done it under its own number. */
	if (!ptrace(PTRACE_GETEVENTMSG, t->tid, NULL, &former) && former && (pid_t)former != t->tid) {
		struct thread *f = thread_of(o, (pid_t)former, false);

		if (f)
			end_syscall(o, f);
		drop_thread(o, (pid_t)former);
		t = thread_of(o, o->pid, true);
		if (!t)
			return;
	} else {
		end_syscall(o, t);
	}
	/* Still in the system call: the first step ends where the program begins. */
	t->pending = t->stepped = false;
	t->run = o->jit_only ? RUN_FREE : RUN_STEP;
	unblock_trap(t);
	if (o->done)
		return;
	jitnames_forget(&o->names);
	snprintf(path, sizeof(path), "/proc/%d/exe", o->pid);
	n = readlink(path, exe, sizeof(exe));
	if (n <= 0)
		return;
	strbuf_addf(&sb, "exec=%.*s", (int)MIN(n, 1900), exe);
	record_string(&o->rec, strbuf_str(&sb));
}

static void on_stop(struct optrace *o, pid_t tid, int status)
{
	struct thread *t = thread_of(o, tid, true);
	int sig = WSTOPSIG(status), event = status >> 16;

	if (!t) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
		return;
	}
	if (event == PTRACE_EVENT_STOP) {
		t->interrupting = false;
		if ((sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU) && !o->done) {
			ptrace(PTRACE_LISTEN, tid, NULL, NULL);
			return;
		}
		on_interrupted(o, t);
		sig = 0;
	} else if (event == PTRACE_EVENT_EXEC) {
		on_exec(o, t);
		sig = 0;
	} else if (event) {
		sig = 0; /* a clone: the instruction is not through yet */
	} else if (sig == (SIGTRAP | 0x80)) {
		on_call(o, t);
		sig = 0;
	} else if (sig == SIGTRAP) {
		sig = on_trap(o, t);
	} else {
		on_signal(o, t, sig);
	}
	t = thread_of(o, tid, false);
	if (t)
		go(o, t, sig);
}

static void on_end(struct optrace *o, pid_t tid, int status)
{
	struct thread *t = thread_of(o, tid, false);

	if (t && WIFEXITED(status))
		end_syscall(o, t);
	drop_thread(o, tid);
	if (tid == o->pid)
		o->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	interrupted = sig;
}

/*
 * The next stop of any thread. One takes many steps before the others have their turn: else the trace would go to and fro between
 * them at every instruction. It is never waited for in vain: it may sleep in the kernel, or be gone.
 */
static pid_t next_stop(struct optrace *o, int *status)
{
	const struct thread *t = o->n_threads > 1 && o->turn ? thread_of(o, o->turn_tid, false) : NULL;
	pid_t tid = 0;

	for (int i = 0; t && t->run == RUN_STEP && i < PATIENCE && !tid; i++) {
		tid = waitpid(o->turn_tid, status, __WALL | WNOHANG);
		if (!tid)
			sched_yield();
	}
	if (tid > 0) {
		o->turn--;
		return tid;
	}
	for (size_t i = 0; o->n_threads > 1 && i < o->n_threads && tid <= 0; i++) {
		o->turn_at = (o->turn_at + 1) % o->n_threads;
		tid = waitpid(o->threads[o->turn_at].tid, status, __WALL | WNOHANG);
	}
	if (tid <= 0)
		tid = waitpid(-1, status, __WALL | (o->jit_only || interrupted ? WNOHANG : 0));
	o->turn = TURN;
	o->turn_tid = tid;
	return tid;
}

static void trace(struct optrace *o)
{
	while (o->n_threads) {
		int status;
		pid_t tid = next_stop(o, &status);

		if (interrupted)
			finish(o);
		if (tid < 0 && errno == EINTR)
			continue;
		if (tid < 0)
			break;
		if (tid == 0) {
			usleep(500);
			look(o);
			continue;
		}
		if (WIFSTOPPED(status))
			on_stop(o, tid, status);
		else if (WIFEXITED(status) || WIFSIGNALED(status))
			on_end(o, tid, status);
		look(o);
	}
}

/* --- beginnings ------------------------------------------------------------------------------------------------ */

#define OPTIONS (PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD)

static int start(struct optrace *o, char **argv)
{
	int gate[2];
	char c = 0;

	if (pipe(gate))
		return msg_errno(errno, "pipe");
	o->pid = fork();
	if (o->pid < 0)
		return msg_errno(errno, "fork");
	if (o->pid == 0) {
		close(gate[1]);
		if (read(gate[0], &c, 1) != 1)
			_exit(127);
		close(gate[0]);
		execvp(argv[0], argv);
		msg_errno(errno, "%s", argv[0]);
		_exit(127);
	}
	close(gate[0]);
	if (ptrace(PTRACE_SEIZE, o->pid, NULL, (void *)(uintptr_t)(OPTIONS | PTRACE_O_EXITKILL))) {
		int rc = msg_errno(errno, "%s: cannot be traced (ptrace)", argv[0]);

		kill(o->pid, SIGKILL);
		return rc;
	}
	/* Free until the exec: the copy of ourselves is of no interest. */
	thread_of(o, o->pid, true)->run = RUN_FREE;
	if (write(gate[1], &c, 1) != 1)
		return -EPIPE;
	close(gate[1]);
	return 0;
}

static int attach(struct optrace *o)
{
	char path[64];
	size_t before;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", o->pid);
	/* Again until nobody new was found. */
	do {
		struct dirent *e;

		before = o->n_threads;
		d = opendir(path);
		if (!d)
			return msg_errno(errno, "process %d", o->pid);
		while ((e = readdir(d))) {
			pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

			if (tid <= 0 || thread_of(o, tid, false))
				continue;
			if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)(uintptr_t)OPTIONS)) {
				int rc = errno;

				if (rc == ESRCH)
					continue; /* it ended meanwhile */

				closedir(d);
				return msg_errno(rc, "thread %d cannot be traced (another tracer, or no right; see ptrace_scope)", tid);
			}
			thread_of(o, tid, true);
			ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
		}
		closedir(d);
	} while (o->n_threads != before);
	return 0;
}

static int prepare(struct optrace *o)
{
	o->cache = calloc(CACHE, sizeof(*o->cache));
	o->cache_pc = calloc(CACHE, sizeof(*o->cache_pc));
	if (!o->cache || !o->cache_pc)
		return msg_errno(ENOMEM, "optrace");
	return dis_new(&o->dis) ? msg_errno(ENOTSUP, "libopcodes knows no x86-64") : 0;
}

static void done(struct optrace *o)
{
	jitnames_done(&o->names);
	dis_free(o->dis);
	free(o->cache);
	free(o->cache_pc);
}

static int run(struct optrace *o, const char *out, char **argv)
{
	struct rst_out_opts ro = { .container = RST_RAW, .rz2_up = -1 };
	struct cli_out co = { .fd = -1 };
	struct sigaction sa = { .sa_handler = on_interrupt };
	bool gzip;
	int rc = prepare(o);

	ro.container = cli_container_of(out, &gzip);
	ro.gzip_level = gzip ? 9 : 0;
	if (!rc)
		rc = cli_out_open(&co, out, &ro);
	o->rec.out = &co;
	o->names.rec = &o->rec;
	if (!rc) {
		record_head(&o->rec, (const char *const *)argv);
		rc = argv ? start(o, argv) : attach(o);
	}
	if (!rc) {
		sigaction(SIGINT, &sa, NULL);
		sigaction(SIGTERM, &sa, NULL);
		trace(o);
		record_end(&o->rec);
		rc = o->rec.error;
		msg_info("%s: %" PRIu64 " instructions, %" PRIu64 " records%s", out, o->rec.n_instrs, o->rec.n_recs,
			 o->jit_only && !o->names.n_sources ? "; no JIT agent was found in the process" : "");
	}
	if (cli_out_finish(&co, !rc, NULL, 0) && !rc)
		rc = -EIO;
	/* Recording is over, the command may not be. */
	if (!rc && argv && o->done) {
		int status;
		pid_t pid;

		while ((pid = waitpid(o->pid, &status, 0)) < 0 && errno == EINTR)
			kill(o->pid, interrupted);
		if (pid == o->pid)
			o->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return rc;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "output", 1, NULL, 'o' }, { "pid", 1, NULL, 'p' }, { "jit-only", 0, NULL, 'j' }, { "limit", 1, NULL, 'n' },
		{ "help", 0, NULL, 'h' }, { "version", 0, NULL, 'v' }, { 0 },
	};
	static struct optrace o = { .limit = UINT64_MAX };
	const char *out = "optrace.rst";
	uint64_t n = 0;
	int c, rc;

	msg_init("optrace");
	while ((c = getopt_long(argc, argv, "+o:p:jn:hv", longs, NULL)) >= 0) {
		rc = 0;
		switch (c) {
		case 'o': out = optarg; break;
		case 'p': rc = util_parse_u64(optarg, 10, INT32_MAX, &n); break;
		case 'j': o.jit_only = true; break;
		case 'n': rc = util_parse_u64(optarg, 10, UINT64_MAX, &o.limit); break;
		case 'h': fputs(usage, stdout); return 0;
		case 'v': printf("optrace (opjit) %s\n", PACKAGE_VERSION); return 0;
		default: return 2;
		}
		if (rc) {
			msg_error("bad number %s", optarg);
			return 2;
		}
	}
	if (!n == (optind == argc)) {
		msg_error("give a command or --pid; see optrace --help");
		return 2;
	}
	o.pid = (pid_t)n;
	rc = run(&o, out, n ? NULL : argv + optind);
	done(&o);
	return rc ? 1 : n ? 0 : o.exit_status;
}
