#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# JITs without an agent of their own: GDB's JIT interface and Intel's JIT API, told by a fixture and by LLVM.
. "$(dirname "$0")/lib.sh"
may_sample || skip_all 'perf_event_open is not for us here'
[ "$(uname -m)" = x86_64 ] || skip_all 'the fixture makes x86-64 code'
cd "$work" || exit 1
jitself=$build/tests/tools/jitself
# share NAME: samples of the symbols that match, in the last report
share() { awk -v n="$1" 'index($0, n) { s += $1 } END { print s + 0 }' "$work/report"; }
# profiled COMMAND…: under operf; the report in $work/report
profiled() {
	rm -rf s
	run operf --verbose --session-dir="$work/s" "$@"
	opreport --session-dir="$work/s" -l >report 2>report.err
}
# ratio WHAT A B: twice and once are there and stand as A to B within five standard deviations of the samples
ratio() {
	local a b
	a=$(share twice) b=$(share once)
	if awk -v a="$a" -v b="$b" -v x="$2" -v y="$3" 'BEGIN { n = a + b; p = x / (x + y); d = a - n * p; if (d < 0) d = -d
		exit !(n >= 50 && d < 5 * sqrt(n * p * (1 - p)) + n * 0.05) }'; then
		pass "$1: twice $a, once $b, by its own count $2 : $3"
	else
		fail "$1: twice $a, once $b, by its own count $2 : $3"
		head -n 12 report | sed 's/^/# /'
		show err
	fi
}
own() { ratio "$1" $(cat out); }

profiled "$jitself" none 200
is 0 "$(($(share twice) + $(share once)))" 'nothing told: no names'
like report 'anon|no symbols' 'and the samples are there'
like err '^operf: [0-9]+ % ran in code made at run time .*: opcontrol --doctor=PID' 'and who says why'
profiled "$jitself" gdb 300
own "GDB's interface"
like err 'GDB JIT interface' 'is said to be the source'
unlike err 'opcontrol --doctor' 'with names nothing is said of a doctor'
image=$(ls s/jit/*/0.jo)
is 'twice once' "$(nm -n "$image" | awk '{ print $3 }' | tr '\n' ' ' | sed 's/ $//')" 'its image has both functions'
check 'with their code' sh -c "objdump -d '$image' | grep -q 'dec.*%rdi'"
profiled "$jitself" gdb-bad 300
own 'a damaged list that is a ring'

# Late: the process is there already.
"$jitself" gdb 3000 >late.out & late=$!
later $late
sleep 0.3
rm -rf s
timeout 300 operf --session-dir="$work/s" --pid $late >out 2>err # until it ends: its time is CPU time
wait $late
opreport --session-dir="$work/s" -l >report 2>report.err
ratio "GDB's interface, attached late" 2 1

# /proc/PID/map_files asks for rights that root in a container has not: nothing may depend on it.
less=cap_sys_admin,cap_checkpoint_restore
if [ "$(id -u)" = 0 ] && command -v capsh >/dev/null &&
	capsh --drop=$less -- -c 'head -c 1 /proc/$$/map_files/*; true' 2>&1 | grep -q 'Operation not permitted'; then
	rm -rf s
	# shellcheck disable=SC2016
	run capsh --drop=$less -- -c 'exec operf --session-dir="$0" "$@"' "$work/s" "$jitself" gdb 300
	opreport --session-dir="$work/s" -l >report 2>report.err
	own "GDB's interface, where map_files is refused"
	unlike report '(jitself|libc\.so[.0-9]*|ld-linux-x86-64\.so[.0-9]*) +\(no symbols\)' 'and files that are mapped have their symbols'
else
	skip 'map_files is not refused here'
fi

profiled "$jitself" api 300
own "Intel's JIT API"
like err '\(jitapi\)' 'is said to be the source'
image=$(dirname "$(grep -l jitapi s/jit/*/0.jo | head -n 1)")/0.jo
nm "$image" >names
like names ' T Fixture.twice$' 'a load of version 2'
like names ' T Fixture.once$' 'a load of version 1'
like names ' T gone$' 'a load of version 3'
opjitconv -o sealed.jo "$image" 2>/dev/null || cp "$image" sealed.jo
at() { addr2line -i -e sealed.jo "$(printf '0x%x' $((0x$(awk '/Fixture.twice/ { print $1; exit }' names) + $1)))" | sed 's,^\./\./,,' | tr '\n' ' '; }
is 'inner.src:99 outer.src:11 ' "$(at 2)" 'lines and what was inlined: an entry holds up to its offset'
is 'outer.src:13 ' "$(at 6)" 'behind it the method itself'
INTEL_JIT_PROFILER64='' profiled "$jitself" api 100
unlike err jitapi 'who has set the variable keeps it'
run env INTEL_JIT_PROFILER64="$build/agents/jitapi/.libs/libopagent-ittjit.so" OPJIT_DIR=/proc/nowhere "$jitself" api 10
is 0 "$status" 'where nothing can be written the program goes on'

# OProfile's dump has lines behind the code that they belong to.
if command -v perl >/dev/null; then
	perl -e 'print pack("a4 L4 x4 Q a16", "jItO", 1, 48, 0, 0, 1600000100, "elf64-x86-64");
		for my $n (1, 2) { my $a = 0x1000 * $n;
			print pack("L2 Q3 L2 a8 a8", 0, 56, 1600000101, $a, $a, 4, 0, "method$n", "CODE");
			print pack("L2 Q2 L2 Q L a8 x4", 3, 56, 1600000102, $a, 1, 0, $a + 2, 30 + $n, "a.java"); }' >op.dump
	run opjitconv -o op.jo op.dump
	is 0 "$status" "OProfile's dump is converted"
	for n in 1 2; do
		a=$(nm op.jo | awk -v n="method$n" '$3 == n { print $1 }')
		like <(addr2line -e op.jo "0x${a:0:15}2") "a.java:3$n\$" "the line of method $n is kept"
	done
	# perf's jitdump has the paths of each load's lines with it: whatever their lengths and order, they stay with it.
	perl -e 'sub rec { my ($id, $body) = @_; pack("L2 Q a*", $id, 16 + length $body, 1e9, $body) }
		print pack("L2 L L L L Q Q", 0x4A695444, 1, 40, 62, 0, 7, 0, 0);
		my @files = (["a.js", "b.js"], ["b.js", "a.js"], ["/x/c.mjs", "a.js"], ["d", "e"], ["a.js", "a.js"]);
		for my $n (1 .. 5) { my $a = 0x1000 * $n; my $f = $files[$n - 1];
			print rec(2, pack("Q2 (Q L2 Z*)2", $a, 2, $a, 10 * $n, 0, $f->[0], $a + 4, 10 * $n + 1, 0, $f->[1]));
			print rec(0, pack("L2 Q4 Z* a*", 7, 7, $a, $a, 8, $n, "load$n", "CODECODE")); }' >perf.dump
	run opjitconv -o perf.jo perf.dump
	is 0 "$status" "perf's jitdump is converted"
	for n in 1 2 3 4 5; do
		a=$(nm perf.jo | awk -v n="load$n" '$3 == n { print $1 }')
		addr2line -e perf.jo "0x$a" "0x${a:0:15}4" | sed 's,.*/,,'
	done | paste -sd' ' >got
	is 'a.js:10 b.js:11 b.js:20 a.js:21 c.mjs:30 a.js:31 d:40 e:41 a.js:50 a.js:51' "$(cat got)" 'each load has the files of its own lines'
else
	skip 'no perl here'
fi

if command -v lli-14 >/dev/null && command -v clang-14 >/dev/null; then
	cat >hot.c <<'C'
int printf(const char *, ...); long clock(void);
__attribute__((noinline)) unsigned twice(unsigned n) { volatile unsigned s = 0; for (unsigned i = 0; i < 2 * n; i++) s = s * 31 + i; return s; }
__attribute__((noinline)) unsigned once(unsigned n) { volatile unsigned s = 0; for (unsigned i = 0; i < n; i++) s = s * 31 + i; return s; }
int main(int argc, char **argv) {
	unsigned t = 0; long a, b, x = 0, y = 0;
	for (int i = 0; i < 500 * argc; i++) { a = clock(); t ^= twice(200000); b = clock(); t ^= once(200000); x += b - a; y += clock() - b; }
	printf("%ld %ld\n", x, y); return t == 1; }
C
	clang-14 -O1 -S -emit-llvm -o hot.ll hot.c
	export HOME=$work
	profiled lli-14 hot.ll
	own "LLVM's ORC, by GDB's interface"
	profiled lli-14 --jit-kind=mcjit hot.ll
	own "LLVM's MCJIT"
	like err '\(GDB JIT interface\)' 'by the same'
	# Attached late: its list in memory is all there is.
	lli-14 hot.ll longer than that >late.out & late=$!
	later $late
	wait_for 30 grep -qs ' rwxp\| r-xp 00000000 00:00 0 $' "/proc/$late/maps"
	rm -rf s
	run timeout 300 operf --verbose --session-dir="$work/s" --pid $late
	wait $late
	opreport --session-dir="$work/s" -l >report 2>report.err
	# Its own words.
	# shellcheck disable=SC2046
	ratio "LLVM's ORC, attached late" $(cat late.out)
	like err '\(GDB JIT interface\)' 'by its list'
else
	skip 'no LLVM 14 here'
fi
done_testing
