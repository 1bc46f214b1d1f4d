#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# jvm-daemon.sh: a VM that has our agent from its start tells its methods whether or not somebody listens. No daemon runs at
# first; then one starts, is killed, and another starts; beside it operf watches the same VM. Each has all the names.
. "$(dirname "$0")/lib.sh"
may_sample || skip_all "perf_event_open is not allowed here"
[ "$(id -u)" = 0 ] || skip_all "the daemon needs root here"
jdk=$(jdks | head -n 1)
[ -n "$jdk" ] || skip_all "no JDK below /usr/lib/jvm"
agent=$build/agents/jvmti/.libs/libjvmti_oprofile.so
[ -f "$agent" ] || skip_all "configured --without-jvmti"
cd "$work" || exit 1
export OPJIT_RUN_DIR=$work/run HOME=$work
"$jdk/bin/javac" -d . "$src/tests/java/Phases.java" || exit 1
trap 'opcontrol --shutdown >/dev/null 2>&1; cleanup' EXIT
cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$vm/stat"; }
ran() { [ "$(cpu_ticks)" -ge "$1" ]; }
# runs SECONDS: until the VM has used so much more CPU time.
runs() { wait_for 60 ran $(($(cpu_ticks) + $1 * $(getconf CLK_TCK))); }
opd_pid() { opcontrol --status | sed -n 's/^pid=//p'; }
# whole SESSION WHAT PHASE…: the VM's samples in the code heap are named, 999 of 1000, and the phases are among them.
# The report of one process has no samples of the kernel, and no column of images where there is one image.
whole() {
	local s=$1 what=$2 p
	shift 2
	opreport --session-dir="$s" -l -n "tgid:$vm" >report 2>report.err || show report.err
	for p; do
		like report " Phases\\.phase$p\\(int\\)" "$what: phase $p is named"
	done
	awk '!/^[0-9]/ || /\[vdso\]/ { next } /\(no symbols\)|\[gap\]/ { a += $1; next } { j += $1 } END { printf "# %d named, %d not\n", j, a; exit !(j >= 300 && a * 1000 <= j + a) }' report
	is 0 $? "$what: at least 999 of 1000 samples in its code are named"
}

"$jdk/bin/java" -XX:-Inline -agentpath:"$agent" -cp . Phases one two three four >vm.out 2>&1 &
vm=$!
later $vm
wait_for 60 sh -c "[ -e '$OPJIT_DIR'/$vm-*/ring ]"
runs 2 # phase 1, with nobody listening
: >one
runs 1 # phase 2 is compiled and nobody listens
opcontrol --setup --session-dir="$work/sd" --event=cpu-clock --freq=997 --flush=3600 --no-agents
opcontrol --start || fail 'opcontrol --start'
runs 2
opcontrol --dump || fail 'opcontrol --dump'
whole sd 'a daemon that starts late' 2
kill -9 "$(opd_pid)"
wait_for 20 sh -c "! kill -0 '$(opd_pid)' 2>/dev/null" || :
: >two
runs 1 # phase 3 is compiled and the daemon is dead
opcontrol --start || fail 'opcontrol --start'
env --default-signal=INT operf --no-agents -d beside --pid $vm 2>beside.err &
p=$!
later $p
wait_for 20 test -d beside/samples
runs 2
: >three # phase 4 is compiled while both watch
runs 2
kill -INT $p
wait $p
opcontrol --dump || fail 'opcontrol --dump'
whole sd 'the daemon after its forerunner was killed' 2 3 4
whole beside 'operf --pid beside it' 3 4
: >four
wait $vm
is 'phases 4' "$(cat vm.out)" 'the program noticed nothing'
opcontrol --shutdown
whole sd 'after the end of the VM and the daemon' 2 3 4
# Nobody listened to the first phase, and it is still known.
"$build/tests/tools/instance-dump" "$OPJIT_DIR"/"$vm"-* >dump
check 'what the VM told while no daemon ran is in its journal' grep -q '^load .* Phases.phase1(int)$' dump
done_testing
