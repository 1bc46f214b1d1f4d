#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What the Java agent costs, on javac compiling java.base: thread CPU inside its callbacks beside perf's jitdump agent (its path
# in PERF_JVMTI), and CPU of the whole run with no agent, with one that only switches the events on, and with ours.
# Rounds are interleaved; each ratio is of one round, and the median of the rounds is shown with its lowest and highest.
# BENCH_ROUNDS, BENCH_PACKAGE: see bench/javac.sh.
set -eu
src=${abs_top_srcdir:?} build=${abs_top_builddir:?}
# shellcheck source=bench/javac.sh
. "$src/bench/javac.sh"
agent=$build/agents/jvmti/.libs/libjvmti_oprofile.so
count=$build/bench/.libs/cbcount.so
[ -f "$agent" ] || { echo "jvmti: skipped, configured --without-jvmti"; exit 0; }
begin jvmti

# run [JAVA-OPTION…]: CPU seconds to $cpu, bytes written to $bytes
run() {
	javac_cpu "$@"
	bytes=$(bytes_of "$dir/jit" "$dir/perf")
	javac_clean
}
# callbacks AGENT: their CPU in ms to $ms and their number to $n
callbacks() {
	export CBCOUNT_OUT=$dir/count
	run "-agentpath:$count=$1"
	read -r _ n _ ns <"$dir/count"
	ms=$(awk "BEGIN { printf \"%.1f\", $ns / 1e6 }")
}

for ((i = 1; i <= rounds; i++)); do
	run
	none=$cpu
	run "-agentpath:$count"
	null=$cpu
	run "-agentpath:$agent"
	note null "$null" "$none"
	note ours "$cpu" "$none"
	note ours-null "$cpu" "$null"
	echo "  round $i: CPU s: none $none, null agent $null, ours $cpu ($bytes bytes of disk)"
	callbacks "$agent"
	ours=$ms
	echo "  round $i: ours: $n callbacks, $ms ms of CPU inside"
	[ -n "${PERF_JVMTI-}" ] || continue
	callbacks "$PERF_JVMTI"
	echo "  round $i: perf's: $n callbacks, $ms ms of CPU inside, $bytes bytes of disk"
	note callbacks "$ours" "$ms"
done
echo "CPU of javac, null agent / none:  $(spread null)"
echo "CPU of javac, our agent / none:   $(spread ours)"
echo "CPU of javac, our agent / null:   $(spread ours-null)"
if [ -n "${PERF_JVMTI-}" ]; then
	echo "CPU inside callbacks, ours / perf's: $(spread callbacks)   (aim: at most 0.200)"
else
	echo "CPU inside callbacks beside perf's: skipped, PERF_JVMTI does not name its agent (libperf-jvmti.so)"
fi
