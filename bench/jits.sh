#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Reading what other JITs write: a perf map of 2 M lines (aim: 0.5 s, 150 MB), by address and as V8 writes it; a process with such a map,
# profiled and reported, beside perf; a jitdump of 200,000 methods to an image with names (aim: 2 s), and of sizes that perf inject ends with beside it.
set -eu
dir=$(mktemp -d)
map=
trap 'rm -rf "$dir" $map' EXIT
b=${abs_top_builddir:?}
cd "$dir"
cpu() { # cpu COMMAND…: seconds of CPU to $used
	local a
	exec 3>&1 4>&2
	a=$( { TIMEFORMAT='%U %S'; time "$@" >out 2>err.out 3>&- 4>&-; } 2>&1) || { tail -n 3 err.out >&4; return 1; }
	exec 3>&- 4>&-
	used=$(awk '{ printf "%.2f", $1 + $2 }' <<<"$a")
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.0f", b / (a > 0.01 ? a : 0.01) }'; }
for order in map mixed; do
	"$b/bench/jits" $order 2000000 perf-1.map
	for _ in 1 2 3 4 5; do "$b/bench/jits" read perf-1.map; done | sort -t : -k 2 >reads
	printf 'perf map, %s, the median of five (%s): ' "$([ $order = map ] && echo 'by address' || echo 'page by page in no order')" \
		"$(sed 's/.*: \([0-9.]* s\) (.*/\1/' reads | paste -sd' ')"
	sed -n 3p reads
	rm perf-1.map
done

# begin N: a process with a map of N lines: $p
begin() {
	"$b/bench/jits" self "$1" >ready & p=$!
	map=/tmp/perf-$p.map
	until grep -q ready ready; do sleep 0.1; done
}
theirs=no
command -v perf >/dev/null && perf record -q -e cpu-clock -o try true >out 2>&1 && theirs=yes
for n in 20000 2000000; do
	begin $n
	cpu "$b/control/operf" --session-dir=s --pid $p
	ours=$used
	wait $p
	cpu "$b/report/opreport" --session-dir=s -l
	named=$(grep -c 'function_' out || true)
	line="map of $n lines in a process: operf $ours s of CPU, opreport $used s, $named names, session of $(du -sk s | cut -f1) KB"
	ours=$(awk -v a="$ours" -v b="$used" 'BEGIN { print a + b }')
	rm -f "$map"
	if [ $theirs = yes ]; then
		begin $n
		cpu perf record -q -F 997 -e cpu-clock -o data --pid $p
		record=$used
		wait $p
		cpu timeout 300 perf report -i data --stdio
		line="$line; perf record $record s, perf report $used s, $(grep -c 'function_' out || true) names: $(ratio "$ours" "$(awk -v a="$record" -v b="$used" 'BEGIN { print a + b }')") times as much"
		rm -f "$map"
	fi
	echo "$line"
done

for n in 5000 20000 200000; do
	rm -f data jit-*.dump
	if [ $theirs = yes ] && perf record -q -k mono -e cpu-clock -o data "$b/bench/jits" run $n >out 2>&1; then :; else "$b/bench/jits" run $n; fi
	dump=$(echo jit-*.dump)
	[ $n = 200000 ] && { printf 'jitdump: '; "$b/bench/jits" read "$dump"; }
	cpu "$b/jitconv/opjitconv" -o image.jo "$dump"
	ours=$used
	line="jitdump of $n methods: opjitconv $ours s of CPU, $(nm image.jo | wc -l) names, $(stat -c %s image.jo) bytes"
	# perf inject writes a file a method and takes more than ten minutes for 200,000.
	if [ -s data ] && [ $n -lt 200000 ]; then
		if cpu timeout 300 perf --buildid-dir "$dir/debug" inject --jit -i data -o jitted; then
			line="$line; perf inject --jit $used s, $(find . -maxdepth 1 -name 'jitted-*.so' | wc -l) files, $(find . -maxdepth 1 -name 'jitted-*.so' -print0 | du -cb --files0-from=- | tail -n 1 | cut -f1) bytes: $(ratio "$ours" "$used") times as much"
		else
			line="$line; perf inject --jit did not end within 300 s"
		fi
	fi
	echo "$line"
	find . -maxdepth 1 -name 'jitted-*.so' -delete
	rm -rf debug jitted
done
