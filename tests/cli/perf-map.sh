#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Perf maps as writers treat them: written anew in place (O_TRUNC) by a second writer, replaced by a new file, kept in the TMPDIR of the
# target; and a very long one, of which the session keeps what has samples.
. "$(dirname "$0")/lib.sh"
may_sample || skip_all 'perf_event_open is not for us here'
[ "$(uname -m)" = x86_64 ] || skip_all 'the fixture makes x86-64 code'
cd "$work" || exit 1
jitself=$build/tests/tools/jitself maps=()
trap 'rm -f "${maps[@]}"; cleanup' EXIT
begin() { # begin MS [NAME=VALUE]: a process that says nothing itself and uses so much CPU time; $start is where its code is
	rm -f go
	env "${2-A=B}" "$jitself" none "$1" go >target.out 2>&1 & target=$!
	later $target
	map=${where:-/tmp}/perf-$target.map
	maps+=("$map")
	wait_for 20 ready
}
ready() { start=$(code); [ -n "$start" ]; }
code() { awk '$2 ~ /x/ && NF == 5 { split($1, a, "-"); print a[1]; exit }' "/proc/$target/maps" 2>/dev/null; }
used() { [ "$(awk '{ print $14 + $15 }' "/proc/$target/stat" 2>/dev/null || echo 999999)" -ge "$1" ]; } # in 1/100 s
lines() { printf '%s 400 %s_twice\n%x 400 %s_once\n' "$start" "$1" $((0x$start + 1024)) "$1"; }
watch() { # and from then on it works
	rm -rf s
	timeout 300 operf --session-dir="$work/s" --pid $target >out 2>err & op=$!
	later $op
	watched s $op
	true >go
}
report() { wait $op; wait $target; opreport --session-dir="$work/s" -l >report 2>report.err; }
count() { awk -v n="$1" '$NF == n { s += $1 } END { print s + 0 }' report; }
# both WHAT FIRST SECOND: each name has its samples, and the second has no more than its time
both() {
	local a b
	a=$(count "$2") b=$(count "$3")
	if [ "$a" -ge 50 ] && [ "$b" -ge 50 ]; then pass "$1: $2 $a, $3 $b"; else fail "$1: $2 $a, $3 $b"; show report err; fi
}

begin 3000; lines first >"$map"; watch
wait_for 100 used 150
lines second >"$map"
report
both 'written anew, of the same length' first_twice second_twice
begin 3000; lines first >"$map"; watch
wait_for 100 used 150
{ echo '1000 10 filler'; lines second; printf '%x 10 more\n' 65536 69632 73728; } >"$map"
report
both 'written anew, longer than before' first_twice second_twice
both 'and the other function' first_once second_once
begin 4000; lines first >"$map"; watch
wait_for 100 used 130
lines 2 >"$map"
wait_for 100 used 260
{ printf '1000 10 a_line_without_its_en'; } >"$map" # a writer in the middle of a line
sleep 0.3
{ lines third; echo '1000 10 filler'; } >"$map"
report
both 'three times' first_twice third_twice
both 'three times, the one between' 2_twice third_once
begin 3000; lines first >"$map"; watch
wait_for 100 used 150
lines second >"$map.new" && mv "$map.new" "$map"
report
both 'a new file in its place' first_twice second_twice

mkdir tmp
where=$work/tmp begin 2000 TMPDIR="$work/tmp"; where=
lines mine >"$map"; watch; report
check "the map is in the target's TMPDIR: $(count mine_twice) samples" test "$(count mine_twice)" -ge 50

# 500,000 lines: what has no sample is not kept.
awk 'BEGIN { for (i = 0; i < 500000; i++) printf "%x 40 JS:*function_%d /srv/app/lib/module.js:%d:10\n", 4096 + i * 64, i, i }' >long
begin 2000; { lines first; cat long; } >"$map"; watch; report
check "a long map: $(count first_twice) samples with a name" test "$(count first_twice)" -ge 50
image=$(echo s/jit/*/0.jo)
check "a long map: its image has the names that are needed ($(nm "$image" | wc -l), $(stat -c %s "$image") bytes)" \
	test "$(nm "$image" | wc -l)" -le 3 -a "$(stat -c %s "$image")" -lt 100000
done_testing
