#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What a posted method costs the program that posts it: instructions (callgrind, the same on every run), system calls, and as ratios
# of one run the CPU time beside a bare copy of the same bytes and names into memory.
set -u
src=${abs_top_srcdir:?} build=${abs_top_builddir:?}
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
lib=$build/libopagent/.libs
poster=$build/tests/tools/poster
[ -x "$poster" ] || make --no-print-directory -s -C "$build" -f Makefile tests/tools/poster || exit 1
instructions() { # instructions N OPTION…: of one run
	local n=$1; shift
	rm -rf "$work/jit"; mkdir "$work/jit"
	(cd "$build" && ./libtool --mode=execute valgrind --tool=callgrind --callgrind-out-file="$work/cg" \
		"$poster" "$n" quiet size=400 dir="$work/jit" "$@") >"$work/out" 2>&1
	sed -n 's/^\(summary\|totals\): //p' "$work/cg" | head -1
}
per_method() { # per_method OPTION…
	local a b
	a=$(instructions 2000 "$@") b=$(instructions 12000 "$@")
	echo $(((b - a) / 10000))
}
if command -v valgrind >/dev/null; then
	none=$(per_method dry) plain=$(per_method) lines=$(per_method lines) unload=$(per_method unload)
	echo "instructions a posted method of 400 bytes (the poster's own $none taken off): $((plain - none))"
	echo "  with 4 lines, 2 inlined frames, 3 ranges: $((lines - none)); with its unload: $((unload - none))"
fi
cpu() { # cpu OPTION…: user + system, 1/100 s, of 300,000 methods
	rm -rf "$work/jit"; mkdir "$work/jit"
	( TIMEFORMAT='%U %S'; time "$poster" 300000 quiet noclose size=400 dir="$work/jit" "$@" ) 2>&1 | awk '{printf "%d", ($1 + $2) * 100}'
}
for _ in 1 2 3; do
	none=$(cpu dry) plain=$(cpu)
	echo "CPU of 300,000 posted methods: $plain / 100 s, of which the poster itself $none; a method: $(((plain - none) * 10000 / 300)) ns"
done
