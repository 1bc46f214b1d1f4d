#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# jvm-named.sh: of the samples in the code heap of a real program, at least 99.9 % have a name. Sunflow for 10 s; with
# OPJIT_LONG=1 (the long tests) javac over all of java.base, on each JDK.
. "$(dirname "$0")/lib.sh"
. "$src/tests/workloads.sh"
may_sample || skip_all "perf_event_open is not allowed here"
[ -e "$build/agents/jvmti/libjvmti_oprofile.la" ] || skip_all "built without JVMTI"
total() { sed -n "s/^total\.$2=//p" "$1/samples/current/info"; }

named() { # SESSION WHAT
	local m st i g a all report
	m=$(total "$1" jit_method) st=$(total "$1" jit_stub) i=$(total "$1" jit_interpreter) g=$(total "$1" gap) a=$(total "$1" anon)
	all=$((m + st + i + g + a))
	echo "# $2: method $m stub $st interpreter $i gap $g anon $a, kernel $(total "$1" kernel) native $(total "$1" native)," \
		"unknown $(total "$1" unknown) lost $(total "$1" lost); backdated $(total "$1" backdated) ambiguous $(total "$1" ambiguous)"
	check "$2: enough samples in the code heap to tell" test $((m + st + i)) -ge 1000
	check "$2: at least 99.9 % of them are named" test $(((g + a) * 1000)) -le $all
	[ -x "$build/report/opreport" ] || return
	all=$((all + $(total "$1" kernel) + $(total "$1" native) + $(total "$1" unknown)))
	is "$all" "$(opevlog stat "$1/log/events.opel" 2>/dev/null | sed -n 's/^ *sample  *//p')" "$2: the event log has as many samples"
	report=$(opreport --session-dir="$1" -l -n 2>/dev/null | awk '$1 ~ /^[0-9]+$/ { n += $1 } END { print n + 0 }')
	is "$all" "$report" "$2: the symbol view has as many samples as there are"
	report=$(opreport --session-dir="$1" -n 2>/dev/null | awk '/^ *[0-9]+ / && !/^ {3,}\t/ && !/\t/ { n += $1 } END { print n + 0 }')
	is "$all" "$report" "$2: and so has the image view"
}

if [ -z "${OPJIT_LONG-}" ]; then
	workload_sunflow "$work" && workload_bounded "$work" 10 || skip_all "no sunflow here"
	(cd "$WORKLOAD_CWD" && operf --keep-log -d "$work/s" "${WORKLOAD[@]}") >"$work/out" 2>"$work/err"
	is 0 $? 'sunflow: status'
	named "$work/s" sunflow
else
	for jdk in $(workload_jdks); do
		export JAVA_HOME=$jdk
		workload_javac "$work" || { skip "no javac workload with $jdk"; continue; }
		(cd "$WORKLOAD_CWD" && operf --keep-log -d "$work/s-${jdk##*/}" "${WORKLOAD[@]}") >"$work/out" 2>"$work/err"
		is 0 $? "javac of ${jdk##*/}: status"
		named "$work/s-${jdk##*/}" "javac of ${jdk##*/}"
		rm -rf "${work:?}/javac-${jdk##*/}"
	done
fi
done_testing
