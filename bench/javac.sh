# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# The part that benchmarks of the Java agent and of operf share (`. bench/javac.sh`): javac compiling java.base, in $dir, and ratios.
#	BENCH_ROUNDS    3 unless told
#	BENCH_PACKAGE   java/util, say: that part of java.base instead of all of it, which takes a run of a minute to one of a quarter
# shellcheck source=tests/workloads.sh
. "${abs_top_srcdir:?}/tests/workloads.sh"
rounds=${BENCH_ROUNDS:-3}

# begin NAME: $dir, and the workload in it. Exits if there is none.
begin() {
	dir=$(mktemp -d "${TMPDIR:-/tmp}/opjit-bench-XXXXXX")
	trap 'rm -rf "$dir"' EXIT
	mkdir "$dir/jit" "$dir/perf"
	export OPJIT_DIR=$dir/jit JITDUMPDIR=$dir/perf
	workload_javac "$dir" "${BENCH_PACKAGE-}" || { echo "$1: skipped"; exit 0; }
	cd "$WORKLOAD_CWD"
	echo "javac over $(wc -l <"${WORKLOAD[-1]#@}") files, $("${WORKLOAD[0]}" -version 2>&1 | head -n 1), $rounds rounds"
	cpu_of "${WORKLOAD[@]}" # the first run fills caches
	javac_clean
}

# cpu_of COMMAND…: its output to $dir/out, its CPU seconds to $cpu.
cpu_of() {
	local TIMEFORMAT='%U %S' t
	t=$({ time "$@" >"$dir/out" 2>"$dir/err" || { tail -n 5 "$dir/err" >&3; exit 1; }; } 3>&2 2>&1)
	# shellcheck disable=SC2034 # for who asked
	cpu=$(echo "$t" | awk 'END { print $1 + $2 }')
}

# javac_cpu [JAVA-OPTION…]: runs it under the words of the array `under`; CPU seconds to $cpu.
under=()
javac_cpu() { cpu_of "${under[@]}" "${WORKLOAD[0]}" "$@" "${WORKLOAD[@]:1}"; }

# Bytes of disk in files and directories.
bytes_of() { du -sk "$@" | awk '{ n += $1 } END { print n * 1024 }'; }

javac_clean() { rm -rf "$dir"/jit/* "$dir"/perf/* "$dir"/perf/.debug "$(dirname "$WORKLOAD_CWD")/out"; }

# note NAME A B: A / B is one round's ratio of that name. spread NAME: the median, lowest and highest.
note() { awk -v a="$2" -v b="$3" 'BEGIN { if (b > 0) print a / b }' >>"$dir/$1"; }
spread() {
	sort -n "$dir/$1" | awk '{ v[NR] = $1 }
		END { m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2; printf "%.3f (%.3f to %.3f)\n", m, v[1], v[NR] }'
}
