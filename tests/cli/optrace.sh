#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# optrace: a static C program, counted against callgrind; a Java program, with the names of its JIT code.
. "$(dirname "$0")/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip_all 'not x86-64'
need gcc nm
cat >"$work/p.c" <<'C'
static volatile unsigned long sink;
static unsigned long data[64];
__attribute__((noinline)) static unsigned long fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) unsigned long work(void)
{
	unsigned long s = 0;
	for (unsigned i = 0; i < 500; i++) {
		data[i % 64] += i * s;
		s ^= data[i * 7 % 64] + 0x123456789abcdefUL;
	}
	return s + fib(10);
}
__attribute__((noinline)) void after(void) { __asm__ volatile(""); }
int main(void) { sink = work(); after(); return 7; }
C
gcc -O1 -static -o "$work/p" "$work/p.c" 2>"$work/err" || skip_all 'no static C library here'
run optrace -o "$work/p.rst" "$work/p"
if [ "$status" = 1 ] && grep -q 'cannot be traced' "$work/err"; then skip_all 'ptrace is not allowed here'; fi
is 7 "$status" "the program's exit status"
run rstcheck "$work/p.rst"
is 0 "$status" 'the trace is well made'
[ "$status" = 0 ] || show "$work/out"
addr() { nm "$work/p" | awk -v n="$1" '$3 == n {print $1}'; }
trconv -nv -nid -i "$work/p.rst" >"$work/text"
# From the first instruction of work to its return: what runs from there to `after`, less what main does in between.
counted=$(awk -v b="$(addr work)" -v m="$(addr main)" -v a="$(addr after)" '
	match($0, /\[0x[0-9a-f]+\]/) { pc = substr($0, RSTART + 3, 16) }
	pc == b && !on && !n { on = 1 }
	on && pc == a { exit }
	on { n++; if (pc >= m && pc < end) extra++ }
	END { print n - extra }' end="$(nm -n "$work/p" | awk -v m="$(addr main)" 'found {print $1; exit} $1 == m {found = 1}')" "$work/text")
if command -v valgrind >/dev/null; then
	valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=work "$work/p" 2>"$work/cg"
	is "$(awk '/Collected/ {print $NF}' "$work/cg")" "$counted" 'as many instructions as callgrind counts'
else
	skip 'no valgrind here'
fi
like "$work/text" 'mov +%rsp,%rdx' 'disassembled as x86-64'
like "$work/text" 'call +0x[0-9a-f]+ +T \[0x[0-9a-f]+\]' 'calls with their targets'
like "$work/text" '\(%r.*\[0x[0-9a-f]+\]' 'memory operands with their addresses'
n=$(wc -l <"$work/text")
rstzip -o "$work/p.rzx" "$work/p.rst"
check "rzx: at most a byte an instruction ($(stat -c %s "$work/p.rzx") for $n)" test "$(stat -c %s "$work/p.rzx")" -le "$n"
run optrace -o "$work/l.rst" --limit 1000 "$work/p"
is 7 "$status" '--limit: the program goes on to its end'
is 1000 "$(trconv -nv -i "$work/l.rst" | grep -c 'instr   :')" 'and that many were recorded'
run optrace -o "$work/n.rst" "$work/nothing-here"
is 127 "$status" 'a command that is not there'

# --- Java
jdk=$(jdks | head -n 1)
agent=$(ls "$build"/agents/jvmti/.libs/libjvmti_oprofile.so 2>/dev/null)
if [ -n "$jdk" ] && [ -n "$agent" ]; then
	mkdir "$work/c"
	"$jdk/bin/javac" -d "$work/c" "$src/tests/java/Spin.java"
	# Whatever happens the program ends when its file appears.
	(for _ in $(seq 1500); do grep -q instructions "$work/err" 2>/dev/null && break; sleep 0.2; done; touch "$work/stop") &
	later $!
	run timeout 400 optrace -o "$work/j.rst" --jit-only --limit 12000 \
		"$jdk/bin/java" -agentpath:"$agent" -cp "$work/c" Spin "$work/stop"
	like "$work/out" '^spun$' 'Java: the program runs on and ends'
	trconv -nv "$work/j.rst" >"$work/jt" 2>&1
	is 12000 "$(grep -c 'instr   :' "$work/jt")" 'Java: that many instructions of JIT code'
	like "$work/jt" 'instr .*<Spin\.work\(int\)\+0x' 'Java: named as the method'
	# Each instruction of the method lies in the region that a string before it named.
	is 0 "$(awk '/"jit load .* Spin\.work\(int\)"/ { for (i = 1; i <= NF; i++) if ($i ~ /^0x/) a = $i; seen = NR }
		/<Spin\.work\(int\)/ && !seen { bad++ } END { print bad + 0 }' "$work/jt")" 'Java: no method is named before it is loaded'
	run rstcheck "$work/j.rst"
	is 0 "$status" 'Java: the trace is well made'
	rstzip -o "$work/j.rzx" "$work/j.rst"
	check "Java: rzx at most a byte an instruction, with all the names ($(stat -c %s "$work/j.rzx"))" test "$(stat -c %s "$work/j.rzx")" -le 12000
else
	skip 'no JDK or no agent here'
fi
done_testing
