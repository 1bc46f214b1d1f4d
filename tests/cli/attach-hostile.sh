#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Attaching to a VM that dies, stops, or answers badly after we connected: one line that names the cause, within the time-out, nothing
# left in its /tmp, and a failure is one. The VM's side is tests/tools/fake-jvm.
. "$(dirname "$0")/lib.sh"
attach=$build/tests/tools/attach fake=$build/tests/tools/fake-jvm
mkdir "$work/lib" "$work/agent"
head -c 4096 /dev/zero >"$work/lib/libjvm.so"
head -c 100000 /dev/zero >"$work/agent/agent.so"
# Where it can, the VM does not see the agent, so that a copy is made: that is what may be left behind.
hidden=()
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	# shellcheck disable=SC2016
	hidden=(unshare -m sh -c 'mount -t tmpfs none "$0" && exec "$@"' "$work/agent")
fi
trap 'kill -9 "${vms[@]}" 2>/dev/null; rm -f "${sockets[@]}"; cleanup' EXIT
vms=() sockets=() timeout=700 slow=0
begin() { # begin HOW…: $vm
	rm -f "$work/vm.out" # the word of the one before is not this one's
	"${hidden[@]}" "$fake" "$work/lib/libjvm.so" "$@" >"$work/vm.out" 2>&1 & vm=$!
	disown $vm # the shell has no word to say about its end
	vms+=("$vm") sockets+=("/tmp/.java_pid$vm")
	wait_for 20 grep -q ready "$work/vm.out"
}
end() { kill -9 "$vm" 2>/dev/null; rm -f "/tmp/.java_pid$vm"; }
litter() { find /tmp "$PWD" -maxdepth 1 \( -name ".attach_pid$vm" -o -name '.opjit-agent-*' \) -newer "$work/lib" 2>/dev/null | while read -r f; do
	[ "$(stat -c %s "$f")" = 100000 ] || [ "$f" = "/tmp/.attach_pid$vm" ] && echo "$f"; done; }
# said WANT WHAT HOW…: the answer that attaching to such a VM gives
said() {
	local want=$1 what=$2
	shift 2
	begin "$@"
	run timeout 20 "$attach" "$vm" "$work/agent/agent.so" '' $timeout
	[ $status = 124 ] && slow=$((slow + 1))
	is '' "$(litter)" "$what: nothing is left"
	if [ "$(wc -l <"$work/out")" = 1 ]; then like "$work/out" "$want" "$what: the cause, in one line"; else fail "$what: one line"; show "$work/out"; fi
	is "$(case $want in ^loaded*) echo 0 ;; *) echo 1 ;; esac)" "$status" "$what: exit status"
	end
}
text='0\nreturn code: 0\n'
for n in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
	said '^EPROTO: process [0-9]+ (closed the connection without an answer|broke off its answer)' "closes after $n bytes of its answer" answer "$text" $n
done
said '^loaded: ' 'closes before its last newline' answer "$text" 16
said '^loaded: ' 'the whole answer' answer "$text" 17
for n in 1 2; do said '^EPROTO: process [0-9]+ broke off' "JDK 8's, after $n bytes" answer '0\n0\n' $n; done
said '^loaded: ' "JDK 8's, before its last newline" answer '0\n0\n' 3
said '^ECANCELED: process [0-9]+ refused the agent .*no such' 'a refusal' answer '1\nno such library\n' 99
said '^ECANCELED: the agent would not start .*code -1' 'an agent that will not' answer '0\nreturn code: -1\n' 99
said '^EPROTO: ' 'garbage' garbage
said '^EPROTO: ' 'zeros' nothing
said '^EPROTO: .*more than' 'an answer without end' endless
said '^ETIMEDOUT: .*no answer in 700 ms' 'no answer' never
said '^ETIMEDOUT: .*700 ms' 'a byte at a time without end' trickle
said '^ETIMEDOUT: .*no answer in 700 ms' 'never accepts' deaf
for n in 0 1 6 7 60; do
	said '^EPROTO: process [0-9]+ closed the connection' "closes with $n bytes of the request read" half $n
	said '^ESRCH: process [0-9]+ ended' "killed with $n bytes of the request read" kill $n
	said '^EBUSY: process [0-9]+ is stopped .*kill -CONT' "stopped with $n bytes of the request read" stop $n
done
said '^ESRCH: process [0-9]+ ended' 'killed when the request is read' kill 1000000
said '^EBUSY: process [0-9]+ is stopped' 'stopped when the request is read' stop 1000000
for n in 1 2 9 15; do said '^ESRCH: process [0-9]+ ended' "killed after $n bytes of its answer" late-kill $n; done
is 0 $slow 'none hangs'

# As the user does it. The real agent is not looked at by the fake, any path will do.
[ -f "$build/agents/jvmti/.libs/libjvmti_oprofile.so" ] || { skip 'configured --without-jvmti'; done_testing; }
begin kill 1000000
run timeout 30 opcontrol --attach=$vm
check 'opcontrol --attach, killed: fails' test $status -ne 0 -a $status -ne 124
like "$work/err" "process $vm ended" 'opcontrol --attach, killed: the cause'
is 1 "$(wc -l <"$work/err")" 'opcontrol --attach, killed: in one line'
is '' "$(litter)" 'opcontrol --attach, killed: nothing is left'
end
begin stop 1000000
run timeout 30 opcontrol --attach=$vm
check 'opcontrol --attach, stopped: fails' test $status -ne 0 -a $status -ne 124
like "$work/err" "process $vm is stopped.*kill -CONT $vm" 'opcontrol --attach, stopped: the cause'
end
if may_sample; then
	begin kill 1000000
	run timeout 30 operf --session-dir="$work/s" --pid $vm
	check 'operf --pid, killed: it ends, and fails, since there was nothing to see' test $status -ne 0 -a $status -ne 124
	like "$work/err" "process $vm.* ended" 'operf --pid, killed: the cause'
	is '' "$(litter)" 'operf --pid, killed: nothing is left'
	end
	begin stop 1000000
	operf --session-dir="$work/s" --pid $vm >"$work/out" 2>"$work/err" & op=$!
	later $op
	check 'operf --pid, stopped: says so' wait_for 60 grep -q "process $vm is stopped.*kill -CONT $vm" "$work/err"
	is '' "$(litter)" 'operf --pid, stopped: nothing is left'
	# Told to end in the middle of an attempt, it leaves nothing either.
	kill -9 $vm
	wait_for 20 sh -c "! kill -0 $op 2>/dev/null"
	end
	begin never
	operf --session-dir="$work/s" --pid $vm >"$work/out" 2>"$work/err" & op=$!
	later $op
	wait_for 20 test -S "/tmp/.java_pid$vm"
	sleep 0.3
	kill -INT $op
	wait $op
	is '' "$(litter)" 'operf --pid, told to end meanwhile: nothing is left'
	end
else
	skip 'perf_event_open is not for us here'
fi
done_testing
