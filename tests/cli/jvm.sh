#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Java under operf and opd: names for its code whenever it is looked at, and the program does not notice.
. "$(dirname "$0")/lib.sh"
may_sample || skip_all "perf_event_open is not allowed here"
jdk=$(jdks | head -n 1)
[ -n "$jdk" ] || skip_all "no JDK below /usr/lib/jvm"
[ -e "$build/agents/jvmti/libjvmti_oprofile.la" ] || skip_all "built without JVMTI"
cd "$work" || exit 1
"$jdk/bin/javac" -d . "$src/tests/java/Hot.java" || exit 1
export PATH=$jdk/bin:$PATH OPJIT_RUN_DIR=$work/run HOME=$work
total() { sed -n "s/^total\.$2=//p" "$1/samples/current/info"; }
names() { opreport --session-dir="$1" -l "${@:2}" 2>&1; }
hot_is_named() { names "$1" | grep -q 'java:Hot.*Hot\.hot(int)'; }
jit_share() { # per cent of the samples that are JIT methods
	local n=0 x
	for x in $(sed -n 's/^total\.\(kernel\|native\|jit_method\|jit_stub\|jit_interpreter\|gap\|anon\|unknown\)=//p' "$1/samples/current/info"); do
		n=$((n + x))
	done
	echo $(($(total "$1" jit_method) * 100 / (n ? n : 1)))
}
wait_pid_has() { grep -q "$2" "/proc/$1/maps" 2>/dev/null; }

# --- a plain run
java -cp . Hot 100 4 >plain.out 2>plain.err
plain=$?
run operf --keep-log -d s1 java -cp . Hot 3000 4
is "$plain" "$status" 'exit status as without'
is "$(cat plain.out)" "$(cat out)" 'output as without'
is "$(cat plain.err)" "$(grep -v '^operf: ' err)" 'standard error as without'
check 'the hot method has its name' hot_is_named s1
check 'and most of the time' test "$(jit_share s1)" -ge 50
jit=$(($(total s1 jit_method) + $(total s1 jit_stub) + $(total s1 jit_interpreter)))
check "of the code heap's $jit samples at least 99.9 % are named, gaps: $(total s1 gap)" test $(($(total s1 gap) * 1000)) -le "$jit"
check 'images of the code are in the session' test -n "$(find s1/jit -name '*.jo')"
image=$(cd s1/jit && echo */0.jo)
check 'of a process that is gone the image is on the disk once' test "s1/jit/$image" -ef "jit/$image"
opjitconv -o whole.jo "jit/$image" && nm whole.jo >symbols
like symbols ' T Hot\.hot\(int\)$' 'and is whole in its directory, too'
mkfifo pipe
run opjitconv -o pipe "jit/$image"
check 'a pipe is refused as the place of an image, and stays one' test "$status" = 1 -a -p pipe
like err 'pipe: a device or pipe' 'with the reason'
rm -rf jit/* pipe
check 'and serve without the process and its files' hot_is_named s1
run operf --replay s1/log/events.opel -d s2
check 'replayed: the same bytes' diff -r s1/samples/current/ s2/samples/current/
check 'replayed: the same names' hot_is_named s2
cp -r s1 moved
rm -rf s1
check 'copied elsewhere: the same names' hot_is_named moved

# --- no agent
run operf --no-agents -d s3 java -cp . Hot 1500
is 0 "$(total s3 jit_method)" '--no-agents: no method names'
check '--no-agents: its code is anonymous memory' test "$(total s3 anon)" -gt 0

# --- from a script, several at once, short ones
cat >script <<'END'
#!/bin/sh
java -cp . Hot 3500 &
java -Xint -cp . Hot 3500 &
wait
exec java -cp . Hot 2500
END
chmod +x script
run operf -d s4 ./script
is 0 "$status" 'VMs started by a script: status'
is 3 "$(grep -c '^done 1$' out)" 'VMs started by a script: output'
check 'VMs started by a script: named' hot_is_named s4
is 3 "$(find s4/jit -mindepth 1 -maxdepth 1 -type d | wc -l)" 'each of the three has its images'
java -version >v1.out 2>v1.err
run operf -d s5 sh -c 'for i in 1 2 3; do java -version; done'
is 0 "$status" 'short-lived VMs: status'
is "$(cat v1.err v1.err v1.err)" "$(grep -v '^operf: ' err)" 'short-lived VMs: output'

# --- an ordinary user
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] &&
	setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$build/control/operf"; then
	run setpriv --reuid=65534 --regid=65534 --clear-groups operf -d nob java -cp . Hot 2500
	is 0 "$status" 'uid nobody: status'
	check 'uid nobody: named' hot_is_named nob
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ]; then
		check 'uid nobody: samples of user space alone' test "$(total nob kernel)" = 0 -a "$(total nob jit_method)" -gt 0
		is 1 "$(grep -c '^operf: .*only user space is sampled' err)" 'uid nobody: is told once what it cannot see'
	fi
else
	skip 'no other user to be here'
fi

# --- a VM that runs already
java -cp . Hot 60000 >/dev/null 2>&1 &
vm=$!
later $vm
wait_for 60 wait_pid_has $vm libjvm.so && sleep 1
watch() { # SESSION: operf --pid until its agent is there and then for two seconds
	operf -d "$1" --pid $vm 2>"$1.err" &
	local p=$!
	later $p
	wait_for 60 wait_pid_has $vm '/ring$\|opjit:'
	sleep 2.5
	kill -INT $p
	wait $p
}
watch s6
is 0 $? 'attached late: status'
check 'attached late: named' hot_is_named s6
image=$(cd s6/jit && echo */0.jo)
check 'the image of a VM that lives stays its own' test ! "s6/jit/$image" -ef "jit/$image"
watch s7
check 'a second watcher of the same VM: named' hot_is_named s7

# --- the daemon: started late, killed, restarted; another reader beside it
if [ "$(id -u)" = 0 ]; then
	trap 'opcontrol --shutdown >/dev/null 2>&1; cleanup' EXIT
	opcontrol --setup --session-dir="$work/sd" --event=cpu-clock --freq=499 --flush=3600
	opcontrol --start
	operf -d s8 --pid $vm 2>s8.err &
	p=$!
	later $p
	wait_for 60 test -d s8/samples
	sleep 2.5
	kill -INT $p
	wait $p
	opcontrol --dump
	check 'daemon and operf at once: the daemon has the names' hot_is_named sd
	check 'daemon and operf at once: operf too' hot_is_named s8
	d=$(opcontrol --status | sed -n 's/^pid=//p')
	kill -9 "$d"
	wait_for 20 sh -c "! kill -0 $d 2>/dev/null"
	check 'daemon killed: what was flushed has names' hot_is_named sd
	opcontrol --reset >reset.out
	like reset.out '[1-9][0-9]* of live processes kept' 'reset keeps the live VM'\''s directory'
	opcontrol --start
	sleep 2.5
	# The VM's records may be a second late, so samples are held as long; who dumps means those, too.
	cp "$(command -v dash || command -v sh)" lately
	./lately -c 'i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done'
	opcontrol --dump
	check 'daemon restarted: the same VM has its names' hot_is_named sd
	opreport --session-dir=sd >images 2>/dev/null
	like images ' lately$' 'what ran just before the dump is in it'
	kill $vm
	wait $vm 2>/dev/null
	opcontrol --shutdown
	check 'after the VM is gone: names' hot_is_named sd
	opcontrol --reset >reset.out
	like reset.out 'removed [1-9][0-9]* JIT director' 'reset removes what the dead left'
else
	skip 'the daemon needs root here'
fi
done_testing
