#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# rst.sh: size and time of the packed forms on each trace, one table; then 100 million records (RST_BENCH_RECS) through rzx
# and back in constant memory. Traces: those of $OPJIT_TEST_DATA/rst (or ../shared/data/rst), else one that optrace records.
src=${abs_top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
build=${abs_top_builddir:-$src}
data=${OPJIT_TEST_DATA:-$src/../shared/data}/rst
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
zip=$build/rst/rstzip
measure() { # measure NAME RAW-FILE COMMAND…
	name=$1 raw=$2
	shift 2
	command -v "$1" >/dev/null || { echo "  $name: no $1 here"; return; }
	/usr/bin/env bash -c 'TIMEFORMAT="%U %S"; time "$@" >"$0"' "$work/out" "$@" <"$raw" 2>"$work/time" || { echo "  $name: refused ($(tail -n 2 "$work/time" | head -n 1))"; return; }
	size=$(stat -c %s "$work/out")
	awk -v n="$name" -v s="$size" -v r="$(stat -c %s "$raw")" 'END { t = $1 + $2; printf "  %-16s %12d bytes %9.1f x %8.2f s %9.1f MB/s\n", n, s, r / s, t, t > 0 ? r / t / 1e6 : 0 }' "$work/time"
}
for f in "$data"/*.gz; do [ -f "$f" ] && "$zip" -d -o "$work/$(basename "$f").rst" "$f"; done
set -- "$work"/*.rst
[ -f "$1" ] || { "$build/rst/optrace" -o "$work/ls.rst" --limit 200000 ls / >/dev/null; set -- "$work"/*.rst; }
for raw; do
	echo "$(basename "$raw"): $(($(stat -c %s "$raw") / 24)) records"
	measure rzx "$raw" "$zip"
	measure 'rstzip -3' "$raw" "$zip" -3 --lossy
	"$zip" -3 --lossy --nogz "$raw" >"$work/rz3"
	measure 'RZ3 | xz -9' "$work/rz3" xz -9 -c -T1
	measure 'rstzip -2' "$raw" "$zip" -2 --lossy
	measure 'xz -9' "$raw" xz -9 -c -T1
	measure 'zstd -19' "$raw" zstd -19 -c -T1
	measure 'gzip -9' "$raw" gzip -9 -c
done
want=${RST_BENCH_RECS:-100000000}
n=$(($(stat -c %s "$1") / 24))
echo "$want records through rzx and back:"
i=0
while [ $i -lt "$want" ]; do cat "$1"; i=$((i + n)); done |
	"$zip" 2>/dev/null | "$zip" -d 2>/dev/null | wc -c | awk '{ print "  " $1 / 24 " records came back" }' &
pid=$!
peak=0
while kill -0 $pid 2>/dev/null; do
	now=$(ps -C rstzip,lt-rstzip -o rss= | sort -n | tail -n 1)
	[ "${now:-0}" -gt $peak ] && peak=$now
	sleep 0.5
done
echo "  largest resident size $((peak / 1024)) MiB"
