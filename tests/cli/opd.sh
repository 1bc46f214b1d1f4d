#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The daemon's life under opcontrol: setup, start, dump, save, reset, stop, shutdown; killed and restarted.
. "$(dirname "$0")/lib.sh"
may_sample || skip_all "perf_event_open is not allowed here"
[ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 0 ] || skip_all "the machine cannot be watched by this user"
cd "$work" || exit 1
export OPJIT_RUN_DIR=$work/run HOME=$work
s=$work/session
samples() { sed -n 's/^total\.\(kernel\|native\)=//p' "$s/samples/${1:-current}/info" | { n=0; while read -r x; do n=$((n + x)); done; echo "$n"; }; }
state() { opcontrol --status | sed -n 's/^state=//p'; }
field() { opcontrol --status | sed -n "s/^$1=//p"; }
burn() { sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; }
trap 'opcontrol --shutdown >/dev/null 2>&1; cleanup' EXIT

run opcontrol --dump
is 1 "$status" 'no daemon: an error'
like err 'not running; start it with opcontrol --start' 'and what to do'
is 'not running' "$(state)" 'status without a daemon'
run opcontrol --setup --session-dir="$s" --event=cpu-clock --freq=499 --no-vmlinux --flush=3600 --no-agents
is 0 "$status" '--setup, with words of old'
run opcontrol --start-daemon
is 0 "$status" '--start-daemon'
is stopped "$(state)" 'it runs, but does not sample'
pid=$(field pid)
run opcontrol --start-daemon
is "$pid" "$(field pid)" 'again: the same daemon'
run opd --session-dir "$work/other" --foreground
is 1 "$status" 'a second daemon is refused'
like err "runs already \\(process $pid\\)" 'and told who runs'
run opcontrol --start
is 0 "$status" '--start'
is running "$(state)" 'it samples'
burn
run opcontrol --dump
is 0 "$status" '--dump'
one=$(samples)
check 'samples are there' test "$one" -gt 0
check 'among them our own' grep -rq . "$s/samples/current/"
run opcontrol --save=first
is 0 "$status" '--save'
check 'kept under its name' test "$(samples first)" -ge "$one"
run opcontrol --save=first
is 1 "$status" 'not twice under one name'
run opcontrol --save=../x
is 1 "$status" 'nor outside'
burn
run opcontrol --dump
check 'counting began anew' test "$(samples)" -gt 0
run opcontrol --reset
is 0 "$status" '--reset'
like out 'samples removed' 'says what it removed'
like out 'JIT director(y|ies) of processes that are gone, [0-9.]+ MB freed' 'and freed'
check 'few are left' test "$(samples)" -lt "$one"
check 'the saved session stays' test -e "$s/samples/first/info"

# --- killed
burn
opcontrol --dump
two=$(samples)
burn
kill -9 "$pid"
wait_for 20 sh -c "! kill -0 $pid 2>/dev/null"
is "$two" "$(samples)" 'kill -9: the last flush is whole'
is 'not running' "$(state)" 'kill -9: the stale socket and pid file do not count'
run opcontrol --start
is 0 "$status" 'started again over stale files'
burn
opcontrol --dump
check 'goes on counting' test "$(samples)" -gt "$two"
pid=$(field pid)
mv "$s/opd.log" "$s/opd.log.1"
kill -HUP "$pid"
check 'SIGHUP: the log is opened anew' wait_for 20 test -e "$s/opd.log"
burn
three=$(samples)
kill -TERM "$pid"
wait_for 20 sh -c "! kill -0 $pid 2>/dev/null"
check 'SIGTERM: everything is committed' test "$(samples)" -gt "$three"
check 'SIGTERM: socket and pid file are gone' test ! -e run/opd.sock -a ! -e run/opd.pid

run opcontrol --start
run opcontrol --stop
is 0 "$status" '--stop'
is stopped "$(state)" 'stopped'
run opcontrol --shutdown
is 0 "$status" '--shutdown'
is 'not running' "$(state)" 'ended'
run opcontrol --reset
is 0 "$status" '--reset without a daemon'
check 'nothing is left but what was saved' test ! -e "$s/samples/current"
for o in '--nonsense' '--session-dir=relative --start' '--callgraph=x --setup' '--freq=0 --setup' 'operand' ''; do
	# shellcheck disable=SC2086
	run opcontrol $o
	is 2 "$status" "bad option: '$o'"
done
run opcontrol --attach=nobody
is 1 "$status" '--attach: not a process'
run opcontrol --setup --event=no_such_event_xyz
run opcontrol --start
is 1 "$status" 'an event that does not exist: refused'
like err 'no_such_event_xyz' 'and named'
done_testing
