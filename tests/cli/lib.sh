# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# What every test in tests/cli starts with:
#
#	#!/usr/bin/env bash
#	. "$(dirname "$0")/lib.sh"
#	is 0 "$status" 'what is checked'
#	done_testing
#
# Gives $src and $build (absolute), a scratch directory $work of its own that is removed at the end, and the TAP
# functions below. Tools are run as "$build/control/operf" and so on; PATH already has their folders in front.
# Nothing outside $work is written: OPJIT_DIR points into it.
set -u
src=${abs_top_srcdir:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
build=${abs_top_builddir:-$src}
work=$(mktemp -d "${TMPDIR:-/tmp}/opjit-cli-XXXXXX")
mkdir -p "$work/jit"
chmod 1777 "$work" "$work/jit"
export OPJIT_DIR=$work/jit LC_ALL=C
unset MAKEFLAGS MFLAGS MAKELEVEL # a test that runs make does not do so for the make that runs it
PATH=$build/control:$build/report:$build/daemon:$build/rst:$build/jitconv:$PATH
tap_n=0 tap_failed=0 pids=()

cleanup() {
	local p
	for p in "${pids[@]}"; do kill -9 "$p" 2>/dev/null; done
	[ -n "${OPJIT_KEEP-}" ] && { echo "# kept $work"; return; }
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# later PID: kill it at the end, whatever happens.
later() { pids+=("$1"); }
pass() { tap_n=$((tap_n + 1)); echo "ok $tap_n - $*"; }
fail() { tap_n=$((tap_n + 1)); tap_failed=$((tap_failed + 1)); echo "not ok $tap_n - $*"; }
# show FILE…: into the test's log.
show() { local f; for f; do sed "s/^/# /" "$f"; done; }
# check DESCRIPTION COMMAND…: passes when the command succeeds.
check() { local d=$1; shift; if "$@"; then pass "$d"; else fail "$d"; echo "# failed: $*"; fi; }
# is WANT GOT DESCRIPTION
is() { if [ "$1" = "$2" ]; then pass "$3"; else fail "$3"; printf 'want: %s\ngot:  %s\n' "$1" "$2" | sed 's/^/# /'; fi; }
# like TEXT-FILE REGEX DESCRIPTION; unlike: the contrary
like() { if grep -qE -- "$2" "$1"; then pass "$3"; else fail "$3"; echo "# no match for: $2"; show "$1"; fi; }
unlike() { if grep -qE -- "$2" "$1"; then fail "$3"; echo "# unwanted match for: $2"; show "$1"; else pass "$3"; fi; }
# run COMMAND…: stdout to $work/out, stderr to $work/err, exit status to $status.
run() { "$@" >"$work/out" 2>"$work/err"; status=$?; }
skip() { tap_n=$((tap_n + 1)); echo "ok $tap_n # SKIP $*"; }
skip_all() { echo "1..0 # SKIP $*"; exit 0; }
# need COMMAND…: the whole test is skipped where one is missing.
need() { local c; for c; do command -v "$c" >/dev/null || skip_all "no $c here"; done; }
done_testing() { echo "1..$tap_n"; [ "$tap_failed" = 0 ]; exit; }
# wait_for SECONDS COMMAND…: polls until it succeeds; a bound against hanging, never a measure.
wait_for() {
	local n=$(($1 * 20)); shift
	while ! "$@"; do n=$((n - 1)); [ $n -gt 0 ] || return 1; sleep 0.05; done
}
# watched SESSION PID: waits until the operf that is PID samples into SESSION, or has ended.
# shellcheck disable=SC2317
watched() {
	is_watched() { [ -d "$1/samples" ] || ! kill -0 "$2" 2>/dev/null; }
	wait_for 60 is_watched "$@"
}
# opdump_dir: the directory of OProfile's own dumps is there until opdump_dir_done. Other tests use it at the same time, and take it
# away where it is empty. False: it cannot be had.
opdump_dir() {
	local n
	for n in {1..100}; do
		mkdir -p /tmp/.oprofile/jitdump 2>/dev/null && true >"/tmp/.oprofile/jitdump/.used-$$" && return 0
		sleep 0.0$((n % 5))
	done 2>/dev/null
	return 1
}
opdump_dir_done() {
	rm -f "/tmp/.oprofile/jitdump/.used-$$"
	rmdir /tmp/.oprofile/jitdump /tmp/.oprofile 2>/dev/null
}
# no_attach_litter DESCRIPTION VM DIR…: what attaching to VM makes is not there. Other tests attach at the same time, and the
# name of the agent's copy does not say whose it is: one that goes by itself is theirs.
no_attach_litter() {
	local what=$1 vm=$2
	shift 2
	attach_litter() { litter=$(find "$@" -maxdepth 1 \( -name ".attach_pid$vm" -o -name '.opjit-agent-*' \) 2>/dev/null); [ -n "$litter" ]; }
	no_more() { ! attach_litter "$@"; }
	attach_litter "$@" && [[ $litter != *.attach_pid* ]] && wait_for 20 no_more "$@"
	is '' "$litter" "$what: nothing is left behind"
}
# jdks: the home of each JDK on this machine.
jdks() {
	local d
	for d in /usr/lib/jvm/*; do [ -x "$d/bin/javac" ] && [ ! -L "$d" ] && echo "$d"; done
}
# may_sample: whether perf_event_open works for us at all.
may_sample() { [ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null || echo 4)" -le 2 ]; }
