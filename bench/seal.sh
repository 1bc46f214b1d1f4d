#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sealing 200,000 regions of JIT code, one image a segment, beside `perf inject --jit` on a jitdump of the same code, names and lines (it
# knows no inlined frames, which ours have beside). The promise is 10 s on one core and 200 MB. perf gets 120 s of CPU time.
set -eu
build=${abs_top_builddir:?} n=${1:-200000}
dir=$(mktemp -d "${TMPDIR:-/tmp}/opjit-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT
seal=$build/bench/seal
cd "$dir"
if command -v perf >/dev/null && perf record -q -k mono -e cpu-clock -o perf.data "$seal" "$dir" "$n" >instance 2>perf.err; then
	perf=yes
else
	perf='' && "$seal" "$dir" "$n" >instance
fi
mkdir sealed
for image in "$(cat instance)"/*.jo; do
	echo "opjitconv, $n regions, $(stat -c %s "$image" | numfmt --to=iec) image: $("$seal" run "$build/jitconv/opjitconv" -o "sealed/${image##*/}" "$image")"
done
echo "	$(find sealed -type f | wc -l) file, $(du -sb sealed | cut -f1 | numfmt --to=iec)"
if [ -n "$perf" ]; then
	# It may take minutes: bounded, and then said.
	how=$(ulimit -t 120; "$seal" run perf --buildid-dir "$dir/debug" inject --jit -i perf.data -o jitted.data) || how="$how, stopped there before it was through"
	echo "perf inject --jit, $(du -b jit-*.dump | cut -f1 | numfmt --to=iec) jitdump: $how"
	echo "	$(find . -name 'jitted-*.so' | wc -l) files, $(find . -name 'jitted-*.so' -printf '%b\n' | awk '{ n += $1 } END { print n * 512 }' | numfmt --to=iec)"
else
	echo 'perf inject --jit: no perf record here'
fi
