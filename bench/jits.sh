#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Reading what other JITs write: a perf map of 2 M lines (aim: 0.5 s, 150 MB), and a jitdump of 200,000 methods to an image with names
# (aim: 2 s), beside perf inject --jit on the same dump.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
b=${abs_top_builddir:?}
cd "$dir"
seconds() { local t=$EPOCHREALTIME; "$@" >out 2>&1 || { tail -n 3 out; return 1; }; awk -v a="$t" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }'; }
"$b/bench/jits" map 2000000 perf-1.map
printf 'perf map: '
"$b/bench/jits" read perf-1.map
rm perf-1.map
if command -v perf >/dev/null && perf record -q -k mono -e cpu-clock -o data "$b/bench/jits" run 200000 >out 2>&1; then
	dump=$(echo jit-*.dump)
else
	"$b/bench/jits" run 200000
	dump=$(echo jit-*.dump)
fi
printf 'jitdump: '
"$b/bench/jits" read "$dump"
for round in 1 2 3; do
	ours=$(seconds "$b/jitconv/opjitconv" -o image.jo "$dump")
	theirs=-
	[ -s data ] && [ $round = 1 ] && theirs=$(seconds timeout 120 perf --buildid-dir "$dir/debug" inject --jit -i data -o jitted || echo failed)
	echo "round $round: opjitconv $ours s, $(nm image.jo | wc -l) names, $(stat -c %s image.jo) bytes; perf inject --jit $theirs s, $(find . -name 'jitted-*.so' | wc -l) files, $(du -sb --exclude=image.jo --exclude="$dump" . | cut -f1) bytes"
	find . -name 'jitted-*.so' -delete
done
