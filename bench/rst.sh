#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# rst.sh: size and time of the packed forms on each trace, one table; then 1, 10 and 100 million records ($RST_BENCH_RECS) through
# rzx and back: the memory does not grow. Traces: those of $OPJIT_TEST_DATA/rst (or ../shared/data/rst), else one that optrace
# records. Times are of the processor, user and system together.
src=${abs_top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
build=${abs_top_builddir:-$src}
data=${OPJIT_TEST_DATA:-$src/../shared/data}/rst
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
zip=$build/rst/rstzip
status=0
row() { printf '  %-18s %-16s %10s %9s %9s %9s\n' "$@"; }
measure() { # measure TRACE NAME FILE COMMAND…: the file is packed; the speed is that of the raw trace
	trace=$1 name=$2 in=$3
	shift 3
	command -v "$1" >/dev/null || { row "$trace" "$name" '-' '-' '-' "no $1"; return; }
	if ! /usr/bin/env bash -c 'TIMEFORMAT="%U %S"; time "$@" >"$0"' "$work/out" "$@" <"$in" 2>"$work/time"; then
		row "$trace" "$name" '-' '-' '-' refused
		return
	fi
	size=$(stat -c %s "$work/out")
	# shellcheck disable=SC2046
	row "$trace" "$name" $(tail -n 1 "$work/time" | awk -v s="$size" -v r="$(stat -c %s "$work/raw")" '
		{ t = $1 + $2; printf "%d %.1f %.2f %.1f\n", s, r / s, t, (t > 0 ? r / t / 1e6 : 0) }')
}
for f in "$data"/*.gz; do [ -f "$f" ] && "$zip" -d -o "$work/$(basename "$f" .gz).rst" "$f" 2>/dev/null; done
set -- "$work"/*.rst
[ -f "$1" ] || { "$build/rst/optrace" -o "$work/ls.rst" --limit 200000 ls / >/dev/null; set -- "$work"/*.rst; }
row trace packer bytes ratio seconds MB/s
for raw; do
	trace=$(basename "$raw" .rst)
	ln -f "$raw" "$work/raw"
	row "$trace" raw "$(stat -c %s "$raw")" 1.0 '' ''
	measure "$trace" rzx "$raw" "$zip"
	measure "$trace" 'rstzip -3' "$raw" "$zip" -3
	measure "$trace" 'rstzip -3 --lossy' "$raw" "$zip" -3 --lossy
	"$zip" -3 --lossy --nogz "$raw" >"$work/rz3"
	measure "$trace" ' and xz -9' "$work/rz3" xz -9 -c -T1
	measure "$trace" 'rstzip -2 --lossy' "$raw" "$zip" -2 --lossy
	measure "$trace" 'xz -9' "$raw" xz -9 -c -T1
	measure "$trace" 'zstd -19' "$raw" zstd -19 -c -T1
	measure "$trace" 'gzip -9' "$raw" gzip -9 -c
done
rm -f "$work/raw" "$work/rz3" "$work/out"

echo
row 'through rzx and back' '' packed 'MiB out' 'MiB in' ''
peak() { awk '/^VmHWM/ {print $2}' "/proc/$1/status" 2>/dev/null; }
feed() { # feed RECORDS: the traces in turn
	left=$1
	shift
	while [ "$left" -gt 0 ]; do
		for raw; do
			n=$(($(stat -c %s "$raw") / 24))
			[ "$n" -lt "$left" ] || n=$left
			[ "$n" -eq 0 ] || head -c $((n * 24)) "$raw"
			left=$((left - n))
		done
	done
}
mkfifo "$work/raw" "$work/packed" "$work/copy" "$work/back"
for want in ${RST_BENCH_RECS:-1000000 10000000 100000000}; do
	feed "$want" "$@" >"$work/raw" &
	"$zip" <"$work/raw" >"$work/packed" &
	packer=$!
	tee "$work/copy" <"$work/packed" | wc -c >"$work/size" &
	"$zip" -d <"$work/copy" >"$work/back" &
	unpacker=$!
	wc -c <"$work/back" >"$work/n" &
	counter=$!
	out=0 in=0
	while kill -0 $counter 2>/dev/null; do
		now=$(peak $packer); [ "${now:-0}" -gt $out ] && out=$now
		now=$(peak $unpacker); [ "${now:-0}" -gt $in ] && in=$now
		sleep 0.2
	done
	wait
	[ "$(cat "$work/n")" = $((want * 24)) ] || { echo "  $want records went in, $(($(cat "$work/n") / 24)) came back"; status=1; }
	row "$want records" '' "$(cat "$work/size")" $((out / 1024)) $((in / 1024)) ''
done
exit $status
