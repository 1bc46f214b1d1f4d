#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every option that takes a value, of every tool, with values that nobody would mean: an error that names the tool, or it is
# taken; never a signal, a hang, or memory without bound.
. "$(dirname "$0")/lib.sh"
export OPJIT_RUN_DIR=$work/run HOME=$work
long=$(printf '%070000d' 0)
values=('' -1 0 99999999999999999999 0x10 1e400 nan x ',' : % ../.. / /dev/null /dev/zero "$long" $'\xff\x01\n' 1:2:3:4:5:6)
mkdir "$work/cwd" && cd "$work/cwd" || exit 1
may_sample && operf -d "$work/s" sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done' >/dev/null 2>&1

# operands TOOL: what comes behind the option, so that a good value would lead to some work
operands() {
	case $1 in
	operf) echo true ;;
	opd) echo "--session-dir=$work/none no-operand" ;; # a daemon takes none: it never starts
	opcontrol) echo "--session-dir=$work/s --status" ;;
	opreport | opannotate | oparchive | opexport | opimport) echo "--session-dir=$work/s" ;;
	opabi) echo "check $work/s/current/names.ophd" ;;
	opevlog) echo "stat $work/cwd/none" ;;
	*) echo "$work/cwd/none" ;;
	esac
}
limits() { ulimit -v 8000000; ulimit -f 200000; ulimit -c 0; exec timeout -k 2 20 "$@"; }

runs=0
for page in "$src"/man/*.scd; do
	tool=$(basename "$page" .scd); tool=${tool%.*}
	path=$(find "$build" -maxdepth 2 -type f -name "$tool" -perm -u+x -not -path '*/.libs/*' | head -n 1)
	[ -n "$path" ] || continue
	"$path" --help >"$work/help" 2>/dev/null
	bad=0
	read -ra behind <<<"$(operands "$tool")"
	for option in $(sed -nE 's/^ +(-[^ ], )?(--[a-z][a-z0-9-]*)\[?=.*/\2/p' "$work/help" | sort -u); do
		for value in "${values[@]}"; do
			(limits "$path" "$option=$value" "${behind[@]}") </dev/null >"$work/out" 2>"$work/err"
			status=$?
			runs=$((runs + 1))
			if [ $status -ge 124 ] || { [ $status != 0 ] && ! [ -s "$work/err" ]; } || grep -qE 'Sanitizer|runtime error' "$work/err"; then
				bad=$((bad + 1))
				echo "# $tool $option=${value:0:30}: exit status $status"
				head -c 300 "$work/err" | sed 's/^/# /'
			fi
		done
	done
	is 0 $bad "$tool: odd values of options"
done
check "$runs runs" test $runs -gt 500
done_testing
