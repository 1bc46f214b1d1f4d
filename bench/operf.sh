#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A whole profile of javac compiling java.base, from the command to the printed report: operf and opreport beside perf record with its
# jitdump agent (its path in PERF_JVMTI), perf inject --jit and perf report. Both sample cpu-clock at 997 Hz. Rounds are interleaved;
# each ratio is of one round. CPU is compared, which other load on the machine changes least; seconds by the clock stand beside it.
# BENCH_ROUNDS, BENCH_PACKAGE: see bench/javac.sh. perf inject gets an hour of CPU at most.
set -eu
src=${abs_top_srcdir:?} build=${abs_top_builddir:?}
# shellcheck source=bench/javac.sh
. "$src/bench/javac.sh"
[ -f "$build/agents/jvmti/.libs/libjvmti_oprofile.so" ] || { echo "operf: skipped, configured --without-jvmti"; exit 0; }
theirs=${PERF_JVMTI-}
command -v perf >/dev/null || theirs=
begin operf

# report COMMAND…: seconds of CPU to $cpu and by the clock to $wall
report() {
	local from=$EPOCHREALTIME
	cpu_of "$@"
	wall=$(awk -v a="$from" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }')
}

operf_round() {
	under=("$build/control/operf" --events=cpu-clock --freq=997 "--session-dir=$dir/session")
	javac_cpu
	record=$cpu
	report "$build/report/opreport" "--session-dir=$dir/session" -l
	disk=$(bytes_of "$dir/session" "$dir/jit")
	echo "  round $i: operf: $record s of CPU with javac's own, opreport -l $cpu s (by the clock $wall), $disk bytes of disk"
	named=$(grep -c '^[0-9].*(.*)' "$dir/out" || true)
	ours_record=$record ours_cpu=$cpu ours_wall=$wall ours_disk=$disk
	rm -rf "$dir/session"
	javac_clean
}

perf_round() {
	local how=0
	under=(perf record -q -k mono -e cpu-clock -F 997 -o "$dir/perf/data")
	javac_cpu "-agentpath:$theirs"
	record=$cpu
	report bash -c "ulimit -t 3600; cd $dir/perf && perf inject --jit -i data -o jit.data && perf report -i jit.data --stdio --sort dso,sym" || how=$?
	disk=$(bytes_of "$dir/perf")
	echo "  round $i: perf: $record s of CPU with javac's own, inject and report $cpu s (by the clock $wall), $disk bytes of disk$(
		[ $how = 0 ] || echo "; it failed")"
	javac_clean
}

for ((i = 1; i <= rounds; i++)); do
	under=()
	javac_cpu
	none=$cpu
	javac_clean
	operf_round
	note ours "$ours_record" "$none"
	[ -n "$theirs" ] || continue
	perf_round
	note theirs "$record" "$none"
	note record "$ours_record" "$record"
	note report "$ours_cpu" "$cpu"
	note wall "$ours_wall" "$wall"
	note disk "$ours_disk" "$disk"
done
echo "named Java methods in the report: $named"
echo "CPU, operf / javac alone:         $(spread ours)"
[ -n "$theirs" ] || { echo "beside perf: skipped, no perf, or PERF_JVMTI does not name its agent (libperf-jvmti.so)"; exit 0; }
echo "CPU, perf record / javac alone:   $(spread theirs)"
echo "CPU, operf / perf record:         $(spread record)   (aim: at most 1)"
echo "end of the run to the report, CPU, opreport / perf inject and report: $(spread report)   (aim: at most 0.050)"
echo "the same by the clock:            $(spread wall)"
echo "disk, ours / theirs:              $(spread disk)   (aim: at most 0.333)"
