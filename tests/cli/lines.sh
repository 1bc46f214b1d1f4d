#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# lines.sh: five small Java programs on each JDK: the line that takes the most time is the one that the source says, and the lines of
# each method add up to the method.
. "$(dirname "$0")/lib.sh"
. "$src/tests/workloads.sh"
may_sample || skip_all "perf_event_open is not allowed here"
[ -e "$build/agents/jvmti/libjvmti_oprofile.la" ] || skip_all "built without JVMTI"
cd "$work" || exit 1
file=$src/tests/java/Lines.java

for jdk in $(workload_jdks); do
	name=${jdk##*/}
	mkdir -p "c-$name"
	"$jdk/bin/javac" -g -d "c-$name" "$file" || exit 1
	run operf --freq 1997 -d s "$jdk/bin/java" -cp "c-$name" Lines 500
	is 0 "$status" "$name: runs"
	opreport --session-dir=s --lines >lines 2>/dev/null
	opreport --session-dir=s -l >symbols 2>/dev/null
	# Method or line, its samples; lines below their method.
	awk '/^[0-9]/ { m = $0 ~ / \[jit\] / ? $NF : ""; if (m) print "M", NR, $1, $NF } /^ / && m { print "L", NR, $1, $3 }' lines >rows
	for m in sieve scatter collatz series mixed; do
		want=$(grep -n "// $m\$" "$file" | cut -d: -f1)
		got=$(awk -v m="Lines.$m(" '$1 == "M" { in_m = index($0, m) } $1 == "L" && in_m && $3 > most { most = $3; at = $4 } END { print at }' rows)
		is "Lines.java:$want" "$got" "$name: the hot line of $m"
	done
	awk '$1 == "M" { if (n != sum) print "differs", method, n, sum; n = $3; sum = 0; method = $4 } $1 == "L" { sum += $3 }
		END { if (n != sum) print "differs", method, n, sum; print NR " rows" }' rows >sums
	unlike sums '^differs' "$name: the lines of each JIT method add up to it"
	check "$name: and there were such methods" test "$(grep -c '^M' rows)" -ge 5
	# And in the other direction: the same methods with the same counts as without lines.
	awk '/^[0-9]/ && / \[jit\] / { $2 = ""; print }' lines >of.lines
	awk '/^[0-9]/ && / \[jit\] / { $2 = ""; print }' symbols >of.symbols
	check "$name: each method has as many samples as without lines" cmp of.lines of.symbols
	awk '$1 == "M" && /Lines/' rows | sed "s/^/# $name: /"
	rm -rf s
done
done_testing
