#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The ways in that the other tests of Java leave out: by the environment, system-wide, by hand through the daemon's tool, in a mount
# namespace alone, into a VM that ends meanwhile; a class that is redefined; the progress line; the recorder's signal.
. "$(dirname "$0")/lib.sh"
may_sample || skip_all "perf_event_open is not allowed here"
jdk=$(jdks | head -n 1)
[ -n "$jdk" ] || skip_all "no JDK below /usr/lib/jvm"
agent=$build/agents/jvmti/.libs/libjvmti_oprofile.so
[ -f "$agent" ] || skip_all "configured --without-jvmti"
cd "$work" || exit 1
"$jdk/bin/javac" -g -d . "$src"/tests/java/{Hot,Redefined,Spin}.java || exit 1
export PATH=$jdk/bin:$PATH OPJIT_RUN_DIR=$work/run HOME=$work
hot_is_named() { opreport --session-dir="$1" -l "${@:2}" 2>&1 | grep -q 'Hot\.hot(int)'; }
mapped() { grep -qs "$2" "/proc/$1/maps"; }
up() { grep -qs '^VM Periodic' "/proc/$1/task/"*/comm; }

# --- by the environment, asked for
run operf --agents=env -d env sh -c 'java -cp . Hot 2500'
is '0 done 1' "$status $(cat out)" '--agents=env: the program runs'
like err '^Picked up JAVA_TOOL_OPTIONS: -agentpath:' '--agents=env: Java tells of it, as is known'
check '--agents=env: the hot method has its name' hot_is_named env

# --- a terminal sees a progress line, which is gone at the end
if command -v script >/dev/null; then
	script -qec "operf -d pty java -cp . Hot 2500" pty.out >/dev/null 2>&1 </dev/null
	like pty.out $'\r *[0-9.]+ s  [0-9]+ samples  [0-9]+ lost  [0-9.]+ % named' 'on a terminal: time, samples, lost, named'
	check 'on a terminal: the line is wiped' grep -q $'\r\033\[K' pty.out
else
	skip 'no script(1) here, which gives a terminal'
fi
unlike err $'\r' 'elsewhere there is none'

# --- the flight recorder, asked by its signal
env --default-signal=USR2 operf --flight-recorder=8m -d flight java -cp . Hot 4000 >flight.out 2>flight.err &
p=$!
later $p
sees() { [ -e flight/log/events.opel ] || { kill -USR2 $p 2>/dev/null; sleep 0.2; [ -s flight/log/events.opel ]; }; }
wait_for 30 test -d flight/samples
check 'flight recorder: saved on SIGUSR2' wait_for 20 sees
check 'flight recorder: while the program runs' kill -0 $p
wait $p
is '0 done 1' "$? $(cat flight.out)" 'flight recorder: the program notices nothing'
run operf --replay flight/log/events.opel -d replayed
check 'flight recorder: what it saved has names' hot_is_named replayed

# --- in the background for the rest
start() { # start COMMAND…: $vm is the JVM, $shell what was started
	"$@" >vm.out 2>vm.err &
	shell=$!
	later $shell
	wait_for 60 find_vm $shell || { fail 'no JVM started'; show vm.err; }
	later "$vm"
	wait_for 60 up "$vm"
}
# shellcheck disable=SC2317
find_vm() {
	local c
	mapped "$1" /libjvm.so && { vm=$1; return 0; }
	# shellcheck disable=SC2013
	for c in $(cat "/proc/$1/task/"*/children 2>/dev/null); do find_vm "$c" && return 0; done
	return 1
}
attach=$build/tests/tools/attach
if [ "$(id -u)" = 0 ]; then
	start java -cp . Spin "$work/stop"
	env --default-signal=INT operf --system-wide -d all >/dev/null 2>all.err &
	p=$!
	later $p
	check '--system-wide: a VM that runs already is given the agent' wait_for 60 mapped "$vm" /ring
	told() { "$build/tests/tools/instance-dump" "$OPJIT_DIR/$vm"-* 2>/dev/null | grep -q ' Spin\.work(int)'; }
	wait_for 60 told
	ticks=$(awk '{ print $14 + $15 }' "/proc/$vm/stat")
	worked() { [ "$(awk '{ print $14 + $15 }' "/proc/$vm/stat")" -ge $((ticks + 100)) ]; }
	wait_for 60 worked
	kill -INT $p
	wait $p
	opreport --session-dir=all -l "tgid:$vm" >all.txt 2>&1
	like all.txt ' Spin\.(work|after)\(int\)' '--system-wide: its methods are named'
	touch stop
	wait $shell
	rm -f stop

	start java -cp . Spin "$work/stop"
	run opcontrol --attach="$vm"
	is 0 "$status" 'opcontrol --attach: a running VM takes the agent'
	check 'opcontrol --attach: it has an instance' mapped "$vm" /ring
	touch stop
	wait $shell
	is '0 spun' "$? $(cat vm.out vm.err)" 'opcontrol --attach: the program notices nothing'
	rm -f stop

	if unshare -m true 2>/dev/null; then
		# Same processes, other files: what is /tmp here is not there.
		# shellcheck disable=SC2016
		start unshare -m sh -c 'cp -r . /dev/shm/$$.classes && cd /dev/shm/$$.classes && mount -t tmpfs none /tmp && exec java -cp . Spin stop'
		run "$attach" "$vm" "$(readlink -f "$agent")" dir=/tmp
		like out '^loaded: ' 'a mount namespace alone: attached'
		check 'a mount namespace alone: the instance is in its /tmp' sh -c "ls -d /proc/$vm/root/tmp/*-*/ring >/dev/null"
		touch "/proc/$vm/cwd/stop"
		rm -rf "/dev/shm/$vm.classes"
		wait $shell
	else
		skip 'unshare -m is not allowed here'
	fi
else
	skip 'system-wide, the daemon and namespaces need root'
fi

# --- a VM that ends while it is attached to: at each of some moments of its life
verdicts=0
for ms in 000 020 050 100 150 200 250 300; do
	java -version >vm.out 2>vm.err &
	vm=$!
	sleep 0.$ms
	timeout 30 "$attach" $vm "$(readlink -f "$agent")" "dir=$OPJIT_DIR" 5000 >"end.$ms" 2>&1
	[ $? != 124 ] && grep -qE '^(loaded|E[A-Z]+): ' "end.$ms" && verdicts=$((verdicts + 1))
	wait $vm || show vm.out vm.err
	rm -rf "${OPJIT_DIR:?}"/*-*
done
is 8 $verdicts 'a VM that ends meanwhile: there is a verdict each time'
[ $verdicts = 8 ] || show end.*
is '' "$(find /tmp . -maxdepth 1 -name ".attach_pid$vm")" 'a VM that ends meanwhile: nothing is left behind'

# --- a redefined class: same method, other lines
printf 'Premain-Class: Redefined\nCan-Redefine-Classes: true\n' >manifest
"$jdk/bin/jar" cfm redefine.jar manifest Redefined.class
mkdir new && sed '/has lines more here/a\\n\n\n\n\n\n\n\n\n' "$src/tests/java/Redefined.java" >new/Redefined.java && "$jdk/bin/javac" -g -d new new/Redefined.java
# -Xbatch: it goes on once a method is compiled, also where the compiler waits for a CPU.
run java -Xbatch -agentpath:"$agent" -javaagent:redefine.jar -cp . Redefined new/Work.class
is '0 redefined' "$status $(cat out err)" 'a class is redefined'
"$build/tests/tools/instance-dump" "$OPJIT_DIR"/*-* >dump 2>&1
rm -rf "${OPJIT_DIR:?}"/*-*
first=$(grep -n 's \* 31' "$src/tests/java/Redefined.java" | cut -d: -f1) second=$(grep -n 's \* 31' new/Redefined.java | cut -d: -f1)
lines_of() { awk '/^load/ { on = / Work\.work\(int\)$/ } on && /^ line/ { print $3 }' dump; }
check "before: line $first" sh -c "$(declare -f lines_of); lines_of | grep -qx $first"
check "after: line $second" sh -c "$(declare -f lines_of); lines_of | grep -qx $second"
done_testing
