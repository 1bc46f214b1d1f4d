#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A minute of a busy VM in a kept log, replayed twice: identical stores, equal to the live run's, and fifty times faster than it was.
. "$(dirname "$0")/lib.sh"
. "$src/tests/workloads.sh"
may_sample || skip_all 'may not sample here'
seconds=${OPJIT_TEST_SECONDS:-60}
workload_sunflow "$work/w" 2>"$work/err" || { tail -n 1 "$work/err"; skip_all 'no sunflow here'; }
workload_bounded "$work/w" "$seconds" || skip_all 'no compiler for Java here'
cd "$WORKLOAD_CWD" || exit 1
run operf --keep-log -d "$work/live" "${WORKLOAD[@]}"
is 0 "$status" 'operf --keep-log around a ray tracer on all CPUs'
log=$work/live/log/events.opel
opevlog stat --json "$log" >"$work/stat"
echo "# $(stat -c %s "$log") bytes: $(cat "$work/stat")"
check 'there are samples and JIT events' jq -e '.sample > 1000 and .jit > 500 and .lost_records == 0' "$work/stat"
for i in 1 2; do
	# processor time: what the machine does besides is no matter of ours
	TIMEFORMAT='%U %S %R'
	t=$({ time operf --replay "$log" -d "$work/replay$i" >/dev/null 2>"$work/err$i"; } 2>&1)
	echo "# replay $i: user, system, wall: $t"
	check "replay $i: faster than 50 times real time" awk -v t="$t" -v s="$(jq .seconds "$work/stat")" \
		'BEGIN { split(t, a, " "); print "# " s / (a[1] + a[2]) " times real time"; exit !(s > 50 * (a[1] + a[2])) }'
done
check 'both stores are the same, byte for byte' diff -r "$work/replay1/samples/current/" "$work/replay2/samples/current/"
check 'and that of the live run' diff -r "$work/live/samples/current/" "$work/replay1/samples/current/"
done_testing
