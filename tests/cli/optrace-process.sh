#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# optrace and what processes do: signals that are ignored, handled and raised by instructions, fork, exec, threads; attaching, and
# being stopped. The program always ends as it does by itself.
. "$(dirname "$0")/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip_all 'not x86-64'
need gcc nm
cat >"$work/sig.c" <<'C'
#define _GNU_SOURCE
#include <signal.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int faults, traps, mine;
static sigjmp_buf back;
static char *page, a[4096], b[4096];
static volatile unsigned long sink;
static void on_fault(int sig, siginfo_t *si, void *c) { faults++; mprotect(page, 4096, PROT_READ | PROT_WRITE); }
static void on_fpe(int sig) { siglongjmp(back, 1); }
static void on_trap(int sig) { traps++; }
static void on_mine(int sig) { mine++; }
static long call(long n, long a, long b) { long r; __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b) : "rcx", "r11", "memory"); return r; }
__attribute__((noinline)) long ignored(long pid)
{
	long s = 0;
	for (int i = 0; i < 10; i++) {
		call(62, pid, SIGURG);
		call(62, pid, SIGUSR2);
		s = s * 3 + i;
	}
	return s;
}
__attribute__((noinline)) void strings(void)
{
	char *to = a, *from = b;
	unsigned long n = 100;
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(7) : "memory");
	n = 13;
	__asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(n) :: "memory");
	__asm__ volatile("movl $5, (%%r8d,%%ecx,4); movl %%fs:0, %%eax" :: "r"((long)0), "c"(2L) : "memory", "rax");
}
__attribute__((noinline)) void after(void) { __asm__ volatile(""); }
int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	volatile int zero = 0, caught = 0;
	register char *low __asm__("r8");
	unsigned long f;
	int st;

	signal(SIGUSR2, SIG_IGN);
	sink = (unsigned long)ignored(getpid());
	after();
	low = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	__asm__ volatile("" : "+r"(low));
	strings();
	after();
	__asm__ volatile("pushf; pop %0; push %0; popf" : "=r"(f) :: "cc", "memory");
	if (f & 0x100) return 20; /* the step flag shows */
	page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &sa, 0);
	for (int i = 0; i < 3; i++) { mprotect(page, 4096, PROT_NONE); page[i * 8] = 1; }
	if (faults != 3) return 21;
	signal(SIGFPE, on_fpe);
	if (!sigsetjmp(back, 1)) zero = 5 / zero; else caught = 1;
	if (!caught) return 22;
	signal(SIGTRAP, on_trap);
	__asm__ volatile("int3");
	raise(SIGTRAP);
	__asm__ volatile("int3");
	if (traps != 3) return 23;
	signal(SIGUSR1, on_mine);
	raise(SIGUSR1);
	call(62, getpid(), SIGUSR1);
	if (mine != 2) return 24;
	pid_t p = fork();
	if (!p) { for (volatile int i = 0; i < 1000; i++); _exit(3); }
	if (waitpid(p, &st, 0) != p || WEXITSTATUS(st) != 3) return 25;
	return 9;
}
C
cat >"$work/thr.c" <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long sum;
static char **args;
static void *work(void *arg)
{
	for (int i = 0; i < 20; i++) { pthread_mutex_lock(&m); sum += i; pthread_mutex_unlock(&m); }
	return NULL;
}
static void *become(void *arg) { execv("/proc/self/exe", args); return NULL; }
int main(int argc, char **argv)
{
	char *again[] = { argv[0], NULL };
	pthread_t t[3];
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 0;

	for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
	args = again;
	if (argc > 1 && !strcmp(argv[1], "exec")) { pthread_create(&t[0], NULL, become, NULL); pause(); }
	if (rounds && write(1, "ready\n", 6) == 6)
		for (long i = 0; i < rounds && access("stop", F_OK); i++) { pthread_create(&t[0], NULL, work, NULL); pthread_join(t[0], NULL); usleep(2000); }
	return rounds ? 3 : sum == 3 * 190 ? 5 : 30;
}
C
gcc -O1 -static -w -o "$work/sig" "$work/sig.c" 2>"$work/err" && gcc -O1 -static -pthread -o "$work/thr" "$work/thr.c" 2>>"$work/err" ||
	skip_all 'no static C library here'
cd "$work" || exit 1
run "$work/sig"
is 9 "$status" 'the program by itself'
run optrace -o s.rst ./sig
if [ "$status" = 1 ] && grep -q 'cannot be traced' err; then skip_all 'ptrace is not allowed here'; fi
is 9 "$status" 'signals, faults, traps, fork: the program ends as by itself'
run rstcheck s.rst
is 0 "$status" 'and the trace is well made'
nm sig >sig.nm
trconv -nv -syms sig.nm s.rst >text
is '3 2 1' "$(for v in 0x00e 0x003 0x000; do grep -c "trap .*ttype=$v" text; done | tr '\n' ' ' | sed 's/ $//')" \
	'three faults, two int3 and a division by zero are traps'
like text 'ttype=0x140 .*syscall=0x0039|ttype=0x140 .*syscall=0x0038' 'and fork a system call'
addr() { nm sig | awk -v n="$1" '$3 == n {print $1}'; }
count() { # count FUNCTION: instructions from its first to `after`, less those of main
	awk -v b="$(addr "$1")" -v m="$(addr main)" -v a="$(addr after)" -v end="$(nm -n sig | awk 'f {print $1; exit} $3 == "main" {f = 1}')" '
		match($0, /\[0x[0-9a-f]+\]/) { pc = substr($0, RSTART + 3, 16) }
		pc == b && !on && !n { on = 1 }
		on && pc == a { exit }
		on { n++; if (pc >= m && pc < end) extra++ }
		END { print n - extra }' <(grep 'instr   :' text)
}
if command -v valgrind >/dev/null; then
	valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=ignored ./sig 2>cg
	is "$(awk '/Collected/ {print $NF; exit}' cg)" "$(count ignored)" 'signals that nobody takes: as many instructions as callgrind counts'
else
	skip 'no valgrind here'
fi
is '100 13' "$(grep -c 'rep stos.*<strings.*\[0x' text) $(grep -c 'rep movsq.*<strings.*\[0x' text)" 'a repeated string instruction once a round'
check 'with the address moving on' test "$(grep -o 'rep movsq.*<strings.*' text | grep -o '\[0x[0-9a-f]*\]$' | sort -u | wc -l)" = 13
low=$(grep 'movl .*(%r8d,%ecx,4)' text | grep -o '\[0x[0-9a-f]*\]$')
check "registers of 32 bits make an address ($low)" grep -qE '^\[0x00000000[0-9a-f]{5}008\]$' <<<"$low"

# --- threads and exec
run optrace -o t.rst ./thr
is 5 "$status" 'threads: the status'
is 4 "$(trconv -nv t.rst | grep -o 'thread .* tid=.*' | sort -u | wc -l)" 'four of them are in the trace'
run rstcheck t.rst
is 0 "$status" 'and it is well made'
run optrace -o t.rst ./thr exec
is 5 "$status" 'a thread that executes a program: its status'
is 2 "$(trconv -nv t.rst | grep -c '"exec=.*thr"')" 'two programs'

# --- attaching
./thr 100000000 >ready & p=$!; later $p
wait_for 20 grep -q ready ready
run optrace -o p.rst --pid $p --limit 3000
is 0 "$status" '--pid: attached, recorded'
is 3000 "$(trconv -nv -i p.rst | grep -c 'instr   :')" 'as many as were asked for'
optrace -o p2.rst --pid $p 2>err & q=$!; later $q
wait_for 20 test "$(grep -c TracerPid /proc/$p/status)" = 1
wait_for 20 sh -c "! grep -q 'TracerPid:	0' /proc/$p/status"
kill -TERM $q
wait $q
is 0 $? 'told to end it lets go'
check 'and the program goes on' grep -q 'TracerPid:	0' /proc/$p/status
run rstcheck p2.rst
is 0 "$status" 'the trace is whole'
touch stop
wait $p
is 3 $? 'to its own end'
run optrace -o p3.rst --pid $p
is 1 "$status" 'a process that is gone'
for n in 1 500 4000; do
	rm -f stop
	run optrace -o p.rst --limit $n ./thr 3
	is "3 $n" "$status $(trconv -nv -c p.rst | awk '$1 == "instruction" {print $2}')" "$n instructions, and the program goes on with its threads"
done
run optrace -o /dev/full --limit 5000 ./thr 3
is '1 1' "$status $(grep -c 'No space left' err)" 'a full disk is told once'
run optrace -o "$work/none/x.rst" ./thr
is 1 "$status" 'an output that cannot be made'
done_testing
