#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sealing 200,000 regions of JIT code, one image a segment. The promise is 10 s on one core and 200 MB. Beside it, for as many regions as it
# can do in 120 s of CPU time, `perf inject --jit` on a jitdump of the same code, names and lines (it knows no inlined frames, which ours have).
set -eu
build=${abs_top_builddir:?} most=${1:-200000}
dir=$(mktemp -d "${TMPDIR:-/tmp}/opjit-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT
seal=$build/bench/seal

# round REGIONS: in a directory of its own
round() {
	local n=$1 perf='' image said how ours=0
	mkdir -p "$dir/$n/sealed"
	cd "$dir/$n"
	if [ -z "$stopped" ] && command -v perf >/dev/null &&
		perf record -q -k mono -e cpu-clock -o perf.data "$seal" "$dir/$n" "$n" >instance 2>perf.err; then
		perf=yes
	else
		"$seal" "$dir/$n" "$n" >instance
	fi
	for image in "$(cat instance)"/*.jo; do
		said=$("$seal" run "$build/jitconv/opjitconv" -o "sealed/${image##*/}" "$image")
		ours=$(awk -v a="$ours" -v b="${said%% *}" 'BEGIN { print a + b }')
		echo "opjitconv, $n regions, $(stat -c %s "$image" | numfmt --to=iec) image: $said"
	done
	echo "	$(find sealed -type f | wc -l) file, $(du -sb sealed | cut -f1 | numfmt --to=iec)"
	if [ -n "$perf" ]; then
		how=$(ulimit -t 120; "$seal" run perf --buildid-dir "$dir/$n/debug" inject --jit -i perf.data -o jitted.data) || stopped=yes
		echo "perf inject --jit, $n regions, $(du -b jit-*.dump | cut -f1 | numfmt --to=iec) jitdump: $how${stopped:+, stopped there before it was through}"
		echo "	$(find . -name 'jitted-*.so' | wc -l) files, $(find . -name 'jitted-*.so' -printf '%b\n' | awk '{ n += $1 } END { print n * 512 }' | numfmt --to=iec)"
		[ -n "$stopped" ] || echo "	perf needs $(awk -v a="$ours" -v b="${how%% *}" 'BEGIN { printf "%.1f", b / (a > 0 ? a : 0.01) }') times the CPU time of opjitconv"
	fi
	cd /
	rm -rf "${dir:?}/$n"
}

stopped=
command -v perf >/dev/null || { echo 'perf inject --jit: no perf here'; stopped=yes; }
for n in 5000 20000 "$most"; do
	[ "$n" -gt "$most" ] || round "$n"
done
