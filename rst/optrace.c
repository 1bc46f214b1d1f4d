/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * optrace: single-steps a process and records each instruction. With --jit-only the process runs free; its threads are
 * looked at every few milliseconds, and one that is in JIT code is stepped for as long as it stays there.
 */
#include <elf.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <dirent.h>

#include "jitconv/source.h"
#include "rst/record.h"
#include "rst/syms.h"

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
#define MAX_SOURCES 16
#define OUTSIDE 4000        /* steps outside of JIT code before a thread is let run again */
#define LOOK_NS (3 * NSEC_PER_MSEC)
#define CACHE 16384

enum run { RUN_FREE, RUN_STEP };
struct thread {
	pid_t tid;
	enum run run;
	bool pending;       /* an instruction was begun: regs and insn are of it */
	bool interrupting;
	unsigned int outside, steps, cpu;
	struct user_regs_struct regs;
	struct x86_insn insn;
	uint64_t second;
};
struct optrace {
	pid_t pid;
	bool jit_only, done;
	uint64_t limit, last_look_ns, last_scan_ns;
	struct thread threads[MAX_THREADS];
	size_t n_threads;
	struct jit_source *sources[MAX_SOURCES];
	char *source_paths[MAX_SOURCES];
	size_t n_sources;
	struct syms regions;     /* of JIT methods */
	struct x86_insn *cache;
	uint64_t *cache_pc;
	struct dis *dis;
	struct recorder rec;
	int exit_status;
};

/* --- the names of JIT code ---------------------------------------------------------------------------------- */

static int on_jit(void *arg, const struct jit_event *e)
{
	struct optrace *o = arg;
	AUTO_FREE char *name = NULL;

	switch (e->type) {
	case JIT_EVENT_LOAD:
		record_code(&o->rec, e->addr, e->size, e->name ? e->name : "?", e->name ? e->name_len : 1);
		if (e->kind == JIT_METHOD) {
			name = strndup(e->name ? e->name : "?", e->name ? e->name_len : 1);
			syms_add(&o->regions, e->addr, e->size, name ? name : "?");
		}
		break;
	case JIT_EVENT_UNLOAD:
		record_code(&o->rec, e->addr, 0, NULL, 0);
		syms_remove(&o->regions, e->addr);
		break;
	case JIT_EVENT_MOVE:
		syms_remove(&o->regions, e->old_addr);
		record_code(&o->rec, e->old_addr, 0, NULL, 0);
		record_code(&o->rec, e->addr, e->size, e->name ? e->name : "?", e->name ? e->name_len : 1);
		break;
	}
	return 0;
}

/* Rings of libopagent among the mappings. */
static void scan_sources(struct optrace *o)
{
	char path[64], line[4400];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", o->pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && o->n_sources < MAX_SOURCES) {
		unsigned int major, minor;
		unsigned long long ino;
		const char *why = "";
		size_t i = 0;
		int at = 0;

		if (sscanf(line, "%*x-%*x %*s %*x %x:%x %llu %n", &major, &minor, &ino, &at) < 3 || !at)
			continue;
		line[strcspn(line, "\n")] = 0;
		while (i < o->n_sources && strcmp(o->source_paths[i], line + at))
			i++;
		if (i < o->n_sources || !jit_source_is_marker(line + at))
			continue;
		if (jit_source_open(&o->sources[i], o->pid, UINT32_MAX, line + at, makedev(major, minor), ino, &why))
			continue;
		o->source_paths[i] = strdup(line + at);
		if (o->source_paths[i])
			o->n_sources++;
		else
			jit_source_free(o->sources[i]);
	}
	if (f)
		fclose(f);
}

static void poll_sources(struct optrace *o)
{
	uint64_t now = util_now_ns();

	if (now - o->last_scan_ns > 50 * NSEC_PER_MSEC) {
		o->last_scan_ns = now;
		scan_sources(o);
	}
	for (size_t i = 0; i < o->n_sources; i++)
		if (jit_source_pending(o->sources[i]))
			jit_source_poll(o->sources[i], on_jit, o);
}

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

static void go(struct optrace *o, struct thread *t, int sig)
{
	bool step = t->run == RUN_STEP && !o->done;

	if (o->done) {
		ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(intptr_t)sig);
		drop_thread(o, t->tid);
		return;
	}
	ptrace(step ? PTRACE_SINGLESTEP : PTRACE_CONT, t->tid, NULL, (void *)(intptr_t)sig);
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
	return !o->jit_only || syms_find(&o->regions, pc);
}

/* Ends the instruction that was begun, now that it is known where it led. */
static void end_instr(struct optrace *o, struct thread *t, uint64_t next_pc, bool ran, unsigned int trap)
{
	struct record_step s = { .insn = &t->insn, .pc = t->regs.rip, .next_pc = next_pc, .regs = &t->regs, .ran = ran, .trap = trap,
				 .second = t->second };

	t->pending = false;
	if (o->done)
		return;
	record_who(&o->rec, o->pid, t->tid, t->cpu);
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

/* Whether it may lead to itself: a repeated string instruction, one round a step, or a jump. */
static bool repeats(const struct x86_insn *i)
{
	return i->kind != X86_PLAIN || i->bytes[0] == 0xf2 || i->bytes[0] == 0xf3;
}

/* The thread stopped between two instructions. */
static void on_step(struct optrace *o, struct thread *t)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, t->tid, NULL, &regs))
		return;
	if (t->pending && (regs.rip != t->regs.rip || repeats(&t->insn)))
		end_instr(o, t, regs.rip, true, 0);
	t->pending = false; /* a stop before the instruction began */
	if (o->done)
		return;
	if (o->n_sources || t->steps % 512 == 0)
		poll_sources(o);
	t->regs = regs;
	if (is_wanted(o, regs.rip)) {
		t->run = RUN_STEP;
		t->outside = 0;
		begin_instr(o, t);
	} else if (o->jit_only && (t->run == RUN_FREE || ++t->outside > OUTSIDE)) {
		t->run = RUN_FREE;
	}
}

static unsigned int vector_of(int sig)
{
	switch (sig) {
	case SIGSEGV: return 14;
	case SIGBUS: return 17;
	case SIGFPE: return 0;
	case SIGILL: return 6;
	}
	return 3;
}

/* A signal is to be delivered: of the instruction that was begun, or one from outside. */
static void on_signal(struct optrace *o, struct thread *t, int sig)
{
	struct user_regs_struct regs;
	bool fault = sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL;

	if (!t->pending || ptrace(PTRACE_GETREGS, t->tid, NULL, &regs))
		return;
	if (regs.rip == t->regs.rip && !fault)
		t->pending = false; /* it did not begin; it will be seen again */
	else
		end_instr(o, t, regs.rip, regs.rip != t->regs.rip, vector_of(sig));
}

/* Every few milliseconds the threads that run free are stopped, to see where they are. */
static void look(struct optrace *o)
{
	uint64_t now = util_now_ns();

	if (!o->jit_only || now - o->last_look_ns < LOOK_NS)
		return;
	o->last_look_ns = now;
	poll_sources(o);
	if (!o->regions.n)
		return;
	for (size_t i = 0; i < o->n_threads; i++) {
		struct thread *t = &o->threads[i];

		if (t->run == RUN_FREE && !t->interrupting && !ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL))
			t->interrupting = true;
	}
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
		if (sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU) {
			ptrace(PTRACE_LISTEN, tid, NULL, NULL);
			return;
		}
		on_step(o, t);
		sig = 0;
	} else if (event == PTRACE_EVENT_EXEC) {
		/* Still in the system call: the first step ends where the program begins. */
		t->pending = false;
		t->run = o->jit_only ? RUN_FREE : RUN_STEP;
		sig = 0;
	} else if (event) {
		sig = 0; /* a clone: the instruction is not through yet */
	} else if (sig == SIGTRAP) {
		on_step(o, t);
		sig = 0;
	} else {
		on_signal(o, t, sig);
	}
	t = thread_of(o, tid, false);
	if (t)
		go(o, t, sig);
}

static void on_end(struct optrace *o, pid_t tid, int status)
{
	drop_thread(o, tid);
	if (tid == o->pid)
		o->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	interrupted = sig;
}

static void trace(struct optrace *o)
{
	while (o->n_threads) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL | (o->jit_only || interrupted ? WNOHANG : 0));

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

#define OPTIONS (PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)

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
	for (size_t i = 0; i < o->n_sources; i++) {
		jit_source_free(o->sources[i]);
		free(o->source_paths[i]);
	}
	syms_done(&o->regions);
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
			 o->jit_only && !o->n_sources ? "; no JIT agent was found in the process" : "");
	}
	if (cli_out_finish(&co, !rc, NULL, 0) && !rc)
		rc = -EIO;
	/* Recording is over, the command may not be. */
	if (!rc && argv && o->done) {
		int status;

		if (waitpid(o->pid, &status, 0) == o->pid)
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
	return rc ? 1 : o.exit_status;
}
