#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# opcontrol --doctor: runtimes that speak and that do not, faults of all kinds; each with the command that mends it.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
export OPJIT_RUN_DIR=$work/run HOME=$work OPJIT_AGENT_DIR=$build/agents/jvmti/.libs
may_sample || skip_all 'perf_event_open is not for us here'
jitself=$build/tests/tools/jitself
doctor() { run opcontrol --doctor="$1"; } # the session's directory is not there: said, no fault
started=()
start() { nice -n 19 "$@" >/dev/null 2>&1 & started+=($!); later $!; last=$!; }

sleep 0 & gone=$!
wait $gone
doctor $gone
is 1 "$status" 'no such process: to mend'
like out 'there is no such process' 'and said'
run opcontrol --doctor=many
is 1 "$status" 'not a number'

start "$jitself" gdb 60000; spins=$last
start "$jitself" gdb 1 60; gdb=$last
start "$jitself" none 1 60; none=$last
start "$jitself" none 1 60; stubs=$last
sleep 60 & plain=$!
later $plain
java=
jdk=$(jdks | head -n 1)
if [ -n "$jdk" ] && [ -e "$OPJIT_AGENT_DIR/libjvmti_oprofile.so" ]; then
	mkdir classes && "$jdk/bin/javac" -d classes "$src/tests/java/Spin.java"
	java="$jdk/bin/java -cp classes Spin $work/stop"
	start $java; java_plain=$last
	start "$jdk/bin/java" -XX:+DisableAttachMechanism -cp classes Spin "$work/stop"; java_closed=$last
	start "$jdk/bin/java" "-agentpath:$OPJIT_AGENT_DIR/libjvmti_oprofile.so=dir=$OPJIT_DIR" -cp classes Spin "$work/stop"; java_agent=$last
fi
node=
if command -v node >/dev/null; then
	cat >spin.js <<-'E'
		function f(n) { let s = 0; for (let i = 0; i < n; i++) s += i; return s }
		f(1e6); require('fs').writeFileSync(`runs-${process.pid}`, ''); setInterval(() => f(1e6), 100)
	E
	start node spin.js; node=$last
	start node --perf-basic-prof-only-functions spin.js; node_map=$last
	start node --perf-basic-prof-only-functions spin.js; node_foreign=$last
	for pid in $node $node_map $node_foreign; do wait_for 60 test -e "runs-$pid"; done # until then nice(1), or nothing generated
fi

doctor $gdb
is 0 "$status" 'a JIT with the interface of GDB: nothing to mend'
like out "GDB JIT interface: 2 functions" 'its functions are counted'
like out 'ok +code +1 ranges of executable memory' 'its memory too'
run opcontrol --doctor $gdb
is 0 "$status" '--doctor PID, with a blank'
doctor $none
is 1 "$status" 'a JIT that says nothing'
like out 'its code stays without names' 'is told so'
like out '-> +a JIT can post with libopagent' 'and how it could'
doctor $plain
is 0 "$status" 'a program that generates nothing: no fault'

# Whatever lies where its map is looked for.
map=/tmp/perf-$none.map
refused() { # refused WHAT PATTERN
	doctor $none
	is 1 "$status" "$1: to mend"
	like out "$2" "$1: why"
	rm -rf "$map"
}
ln -s /etc/passwd "$map"
refused 'a link as map' 'symbolic link'
mkfifo "$map"
refused 'a FIFO as map' 'not a regular file'
mkdir "$map"
refused 'a directory as map' 'not a regular file'
printf 'nonsense\n1000 10 f\n' >"$map"
refused 'a torn map' '1 records refused, the first at offset 0: not START SIZE name'
: >"$map"
doctor $none
like out 'names no code yet' 'an empty map'
rm -f "$map"

printf '%s\n' '1000 10 stub1 GenericLookup' '2000 10 PreStub' >"/tmp/perf-$stubs.map"
doctor $stubs
rm -f "/tmp/perf-$stubs.map"
like out 'has stubs alone and no method' 'a map that has only stubs'

if [ -n "$node" ]; then
	doctor $node
	is 1 "$status" 'node without its switch'
	like out 'Node.js.*not told' 'is known'
	like out '-> +.*--perf-basic-prof-only-functions' 'and its switch'
	doctor $node_map
	is 0 "$status" 'node with it'
	like out "perf map /tmp/perf-$node_map.map: [0-9]+ records" 'records are counted'
	if [ "$(id -u)" = 0 ]; then
		chown 65534 "/tmp/perf-$node_foreign.map"
		doctor $node_foreign
		is 1 "$status" 'a map of another owner'
		like out "ignored: owned by uid 65534, process $node_foreign runs as uid 0" 'says whose it is'
		like out 'chown' 'and what to do'
	else
		skip 'another owner needs root'
	fi
	rm -f "/tmp/perf-$node_map.map" "/tmp/perf-$node_foreign.map"
else
	skip 'no node here'
fi
if [ -n "$java" ]; then
	wait_for 30 grep -q opjit "/proc/$java_agent/maps" || wait_for 1 grep -q /ring "/proc/$java_agent/maps"
	wait_for 30 grep -q libjvm.so "/proc/$java_closed/maps"
	wait_for 30 grep -q libjvm.so "/proc/$java_plain/maps"
	doctor $java_agent
	is 0 "$status" 'a JVM with our agent'
	like out 'ok +marker +.*/ring' 'its marker was seen'
	like out 'ok +runtime +Java VM with our agent, [0-9]+ methods' 'its records were read'
	doctor $java_closed
	is 1 "$status" 'a JVM that takes no agent'
	like out 'started with -XX:.DisableAttachMechanism' 'why'
	like out '-> .*-agentpath:/.*libjvmti_oprofile.so' 'and what to do'
	doctor $java_plain
	like out "-> +opcontrol --attach=$java_plain" 'a JVM without agent: the command'
	kill -STOP $java_plain
	wait_for 20 grep -q '^State:.T' /proc/$java_plain/status # a thread stops when it is next run
	doctor $java_plain
	like out 'is stopped' 'a stopped one'
	like out '-> +kill -CONT' 'and what to do'
	kill -CONT $java_plain
else
	skip 'no JDK or no agent here'
fi
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work"
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$(command -v opcontrol)" --doctor=$gdb
	is 1 "$status" "somebody else's process"
	like out 'may not be read \(it belongs to uid 0\)' 'is not ours'
	like out '-> +run as root, or as its user' 'and what to do'
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ]; then
		run setpriv --reuid=65534 --regid=65534 --clear-groups "$(command -v opcontrol)" --doctor
		like out 'MEND +sampling +refused: .*perf_event_paranoid.*sysctl' 'the machine for a user: paranoid is named'
	else
		skip 'perf_event_paranoid lets everybody'
	fi
	run opcontrol --doctor
	like out '^this machine' 'the machine'
	like out "^process $gdb: " 'has a part for each JIT'
	unlike out "^process $plain: " 'and none for others'
	like out 'agents +for Java: /' 'and names the agents'
	run unshare -pf --mount-proc opcontrol --doctor
	like out 'we are in a container' 'in a container that is said'
else
	skip 'not root'
fi

# With samples: their share.
env --default-signal=INT operf --session-dir="$work/s" --pid $spins >out 2>err & op=$!
later $op
cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$spins/stat"; }
# shellcheck disable=SC2317
samples_it() { [ -n "$(find "/proc/$op/fd" -lname '*perf_event*' 2>/dev/null)" ]; }
# shellcheck disable=SC2317
ran() { [ "$(cpu_ticks)" -ge "$1" ]; }
wait_for 60 samples_it
wait_for 60 ran $(($(cpu_ticks) + $(getconf CLK_TCK) / 2))
kill -INT $op; wait $op
run opcontrol --doctor=$spins --session-dir="$work/s"
like out 'ok +samples +[0-9]+ in .*, (9[0-9]|100)\.[0-9] % of them named' 'samples of the process in the session, and how many have names'
done_testing
