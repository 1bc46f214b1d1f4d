#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What the Java agent costs, on javac compiling java.base: thread CPU inside its callbacks beside perf's jitdump agent (its path
# in PERF_JVMTI), and CPU of the whole run with no agent, with one that only switches the events on, and with ours.
# Rounds are interleaved; each ratio is of one round, and the median of the rounds is shown with its lowest and highest.
#	BENCH_ROUNDS    5 unless told
#	BENCH_PACKAGE   java/util, say: that part of java.base instead of all of it, which takes a run of minutes to one of half a minute
set -eu
src=${abs_top_srcdir:?} build=${abs_top_builddir:?}
# shellcheck source=tests/workloads.sh
. "$src/tests/workloads.sh"
rounds=${BENCH_ROUNDS:-5}
agent=$build/agents/jvmti/.libs/libjvmti_oprofile.so
count=$build/bench/.libs/cbcount.so
[ -f "$agent" ] || { echo "jvmti: skipped, configured --without-jvmti"; exit 0; }
dir=$(mktemp -d "${TMPDIR:-/tmp}/opjit-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/jit" "$dir/perf"
export OPJIT_DIR=$dir/jit JITDUMPDIR=$dir/perf
workload_javac "$dir" "${BENCH_PACKAGE-}" || { echo "jvmti: skipped"; exit 0; }
cd "$WORKLOAD_CWD"

# javac_cpu [JAVA-OPTION…]: runs it; CPU seconds to $cpu, bytes written below OPJIT_DIR and JITDUMPDIR to $bytes.
javac_cpu() {
	local TIMEFORMAT='%U %S' t
	t=$({ time "${WORKLOAD[0]}" "$@" "${WORKLOAD[@]:1}" >/dev/null 2>"$dir/err" || { cat "$dir/err" >&2; exit 1; }; } 2>&1)
	cpu=$(echo "$t" | awk 'END { print $1 + $2 }')
	bytes=$(du -sk "$dir/jit" "$dir/perf" | awk '{ n += $1 } END { print n * 1024 }')
	rm -rf "$dir"/jit/* "$dir"/perf/* "$dir"/perf/.debug "$(dirname "$WORKLOAD_CWD")/out"
}
# callbacks AGENT: their CPU in ms to $ms and their number to $n
callbacks() {
	export CBCOUNT_OUT=$dir/count
	javac_cpu "-agentpath:$count=$1"
	read -r _ n _ ns <"$dir/count"
	ms=$(awk "BEGIN { printf \"%.1f\", $ns / 1e6 }")
}
spread() { sort -n "$1" | awk '{ v[NR] = $1 } END { m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2; printf "%.3f (%.3f to %.3f)", m, v[1], v[NR] }'; }

echo "javac over $(wc -l <"${WORKLOAD[-1]#@}") files, $("${WORKLOAD[0]}" -version 2>&1 | head -n 1), $rounds rounds"
javac_cpu # the first run fills caches
for ((i = 1; i <= rounds; i++)); do
	javac_cpu
	none=$cpu
	javac_cpu "-agentpath:$count"
	awk "BEGIN { print $cpu / $none }" >>"$dir/null"
	null=$cpu
	javac_cpu "-agentpath:$agent"
	awk "BEGIN { print $cpu / $none }" >>"$dir/ours"
	awk "BEGIN { print $cpu / $null }" >>"$dir/ours-null"
	echo "  round $i: CPU s: none $none, null agent $null, ours $cpu ($bytes bytes of disk)"
	callbacks "$agent"
	ours=$ms
	echo "  round $i: ours: $n callbacks, $ms ms of CPU inside"
	if [ -n "${PERF_JVMTI-}" ]; then
		callbacks "$PERF_JVMTI"
		echo "  round $i: perf's: $n callbacks, $ms ms of CPU inside, $bytes bytes of disk"
		awk "BEGIN { print $ours / $ms }" >>"$dir/callbacks"
	fi
done
echo "CPU of javac, null agent / none:  $(spread "$dir/null")"
echo "CPU of javac, our agent / none:   $(spread "$dir/ours")"
echo "CPU of javac, our agent / null:   $(spread "$dir/ours-null")"
if [ -n "${PERF_JVMTI-}" ]; then
	echo "CPU inside callbacks, ours / perf's: $(spread "$dir/callbacks")   (aim: at most 0.200)"
else
	echo "CPU inside callbacks beside perf's: skipped, PERF_JVMTI does not name its agent (libperf-jvmti.so)"
fi
