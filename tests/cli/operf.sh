#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# operf around a command, processes and logs: exit status, output, signals, refusals, replay. No VM in it.
. "$(dirname "$0")/lib.sh"
may_sample || skip_all "perf_event_open is not allowed here"
cd "$work" || exit 1
cat >burn <<'END'
#!/bin/sh
i=0
while [ $i -lt "$1" ]; do i=$((i + 1)); done
END
chmod +x burn
info() { sed -n "s/^$2=//p" "$1/samples/current/info"; }
samples() { # of a session
	sed -n 's/^total\.\(kernel\|native\|jit_method\|jit_stub\|jit_interpreter\|gap\|anon\|unknown\)=//p' "$1/samples/current/info" |
		{ n=0; while read -r x; do n=$((n + x)); done; echo "$n"; }
}

# --- the command's own
run operf -d s1 sh -c './burn 200000; echo out; echo err >&2; exit 3'
is 3 "$status" 'exit status of the command'
is out "$(cat out)" 'its standard output, and nothing else'
is err "$(grep -v '^operf: ' err)" 'its standard error'
like err '^operf: [0-9]+ samples, [0-9.]+ % named, [0-9]+ lost$' 'summary: samples'
like err '^operf: .*native [0-9.]+ %' 'summary: share of each kind'
like err "next: opreport --session-dir='s1' -l" 'summary: where, and what to type next'
unlike err $'\r' 'no progress line where there is no terminal'
env | sort >env.before
run operf -V -d s2 sh -c 'env; ./burn 100000'
sort out | comm -13 env.before - | grep -v '^_=\|^SHLVL=\|^PWD=\|^OLDPWD=' >env.set
like env.set '^NODE_OPTIONS=' 'runtimes are told to speak'
untold=0
while read -r line; do grep -qF "gave the command $line" err || { untold=$((untold + 1)); echo "# $line"; }; done <env.set
is 0 "$untold" '--verbose lists each variable that was set'
run operf --no-agents -d s2 sh -c 'env; ./burn 100000'
is '' "$(sort out | comm -13 env.before - | grep -v '^_=\|^SHLVL=\|^PWD=\|^OLDPWD=')" '--no-agents: none is set'
run operf -d s2 ./burn 'an argument' '' '$HOME'
is 0 "$(grep -c 'command not found' err)" 'arguments reach the command as they are'
run operf -d s2 sh -c './burn 100000; kill -TERM $$'
is 143 "$status" 'killed by a signal: the same from operf'
run operf -d s2 ./nonexistent --help
is 127 "$status" 'no such command: 127'
is 1 "$(grep -c 'command not found' err)" 'said in one line'
: >plain
run operf -d s2 ./plain
is 126 "$status" 'not executable: 126'
run operf -d s3 --freq 1 sleep 0.05
is 1 "$status" 'no samples is an error'
like err '^operf: error: no samples: the command ended' 'with its cause'
run operf -d s3 --freq 1 sh -c 'exit 9'
is 9 "$status" 'but the own status of the command comes first'

# --- signals to operf
# The command says that it is up when its trap is set and it has used some CPU time.
operf -d s4 sh -c 'trap "echo got; exit 7" TERM; ./burn 200000; : >s4.up; while :; do :; done' >sig.out 2>sig.err &
later $!
p=$!
wait_for 60 test -e s4.up
kill -TERM $p
wait $p
is 7 $? 'SIGTERM is passed on, and the status of what the command did with it kept'
is got "$(cat sig.out)" 'the command got it'
check 'what was sampled is there' test "$(samples s4)" -gt 0
env --default-signal=INT operf -d s5 sh -c 'trap "exit 0" INT; : >s5.up; while :; do :; done' >sig.out 2>sig.err &
later $!
p=$!
wait_for 60 test -e s5.up
kill -INT $p
wait $p
is 0 $? 'SIGINT likewise'
operf -d s6 sh -c 'echo $$ >s6.pid; while :; do :; done' >sig.out 2>sig.err &
later $!
p=$!
wait_for 60 test -e s6/samples/current/info
kill -KILL $p
wait $p 2>/dev/null
later "$(cat s6.pid)"
check 'operf killed: what was committed is whole' test "$(samples s6)" -gt 0
check 'the command goes on' kill -0 "$(cat s6.pid)"
if [ -x "$build/report/opreport" ]; then
	run opreport --session-dir="$work/s6" -l
	is 0 "$status" 'and can be read'
fi

# --- processes that run
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
# used_from_now SESSION PID…: since SESSION was there each used 0.3 s of CPU time.
used_from_now() {
	local s=$1 p was
	shift
	wait_for 60 test -d "$s/samples"
	for p; do
		was=$(ticks "$p")
		wait_for 60 eval "[ \$(ticks $p) -ge $((was + 30)) ]"
	done
}
sh -c 'while :; do :; done' &
later $!
burner=$!
env --default-signal=INT operf -d s7 --pid $burner 2>pid.err &
later $!
p=$!
used_from_now s7 $burner
kill -INT $p
wait $p
is 0 $? '--pid: SIGINT ends it well'
check '--pid: samples' test "$(samples s7)" -gt 0
check '--pid: the process goes on' kill -0 $burner
operf -d s8 --pid "$burner,$(cat s6.pid)" 2>pid.err &
later $!
p=$!
used_from_now s8 $burner "$(cat s6.pid)"
kill -9 $burner "$(cat s6.pid)"
wait_for 20 sh -c "! kill -0 $p 2>/dev/null"
wait $p
is 0 $? '--pid: ends when all have ended'
is 2 "$(find s8/samples/current/ -name 'cpu-clock*' | sed 's/.*cpu-clock[^.]*\.//' | cut -d. -f3 | sort -u | wc -l)" '--pid: samples of both'
run operf -d s9 --pid 4194000
check '--pid of nobody: refused' test "$status" -ne 0
like err 'operf: error: .*4194000' 'and said of whom'

# --- in a container with pids of its own: those outside have no pid, and lend each other no names
if [ "$(id -u)" = 0 ] && unshare -pf --mount-proc true 2>/dev/null; then
	sh -c 'while :; do ./burn 500; done' & # outside, and executed anew all the time
	later $!
	outside=$!
	run unshare -pf --mount-proc sh -c 'timeout -s INT 3 operf -d s30 --system-wide'
	is 1 "$(grep -c '^operf: we are in a container with pids of its own: .*\[outside\].*--pid=host' err)" '--system-wide in a container: said in one line'
	opreport --session-dir="$work/s30" -l >report 2>report.err
	like report ' unknown \(tgid:0\) +\[outside\] +\(no symbols\)$' 'what is outside is there as that'
	unlike report 'tgid:0[^[]*$|(dash|bash|busybox|ld-linux.*|lib[^ ]*) +\[outside\]' 'and has no names of others'
	run unshare -pf sh -c 'operf -d s31 ./burn 100000'
	is 1 "$(grep -c "/proc is of another pid namespace than ours" err)" "the host's /proc in a container: said in one line"
	kill $outside
	run timeout -s INT 1 operf -d s32 --system-wide
	is 0 "$(grep -c 'container\|namespace' err)" 'neither on the host'
else
	skip 'no namespaces for us here'
fi

# --- separate, append, log
run operf -d s10 -t -c ./burn 200000
check '-t -c: files by thread and CPU' test -n "$(find s10/samples/current/ -name 'cpu-clock.*.[0-9]*.[0-9]*.[0-9]*')"
before=$(samples s10)
run operf -d s10 -t -c -a ./burn 200000
check '--append: adds to what is there' test "$(samples s10)" -gt "$before"
run operf -d s11 --keep-log -g sh -c './burn 300000 & ./burn 300000; wait'
check '--keep-log: the log is there' test -s s11/log/events.opel
run operf --replay s11/log/events.opel -d s12
is 0 "$status" '--replay'
check '--replay: the same session, byte for byte' diff -r s11/samples/current/ s12/samples/current/
# The middle half of it.
opevlog dump s11/log/events.opel | awk '$2 == "sample" { print $1 }' >s11.times
read -r from to n < <(awk '{ t[NR] = $1 } END { l = t[NR] - t[1]; f = sprintf("%.6f", l / 4); u = sprintf("%.6f", l * 3 / 4)
	for (i in t) n += t[i] - t[1] >= f && t[i] - t[1] < u; print f, u, n }' s11.times)
run operf --replay s11/log/events.opel -d s13 --from "$from" --to "$to"
got=$(samples s13)
check "--from --to: what is between them, $got of $(samples s11)" test "$got" -ge $((n - 1)) -a "$got" -le $((n + 1)) -a "$got" -lt "$(samples s11)"
run operf --replay s11/log/events.opel -d s14 --from 1000
is 1 "$status" '--from beyond the end: no samples, an error'
head -c 20000 s11/log/events.opel >cut.opel
run operf --replay cut.opel -d s15
like err 'cut.opel: ends at offset [0-9]+' '--replay of a log that was cut says where'
run operf --replay /etc/passwd -d s16
is 1 "$status" '--replay of something else: refused'
like err 'not an event log' 'and said'
run operf --flight-recorder=64k -d s17 ./burn 300000
check '--flight-recorder: saved at the end' test -s s17/log/events.opel
run operf --replay s17/log/events.opel -d s18
is 0 "$status" 'and can be replayed'

# --- refusals
while read -r want args; do
	# shellcheck disable=SC2086
	run operf $args
	is 2 "$status" "bad option: $args"
	like err "${want//_/ }" 'what is wrong with it'
done <<'END'
give_a_command --keep-log
exclude_each_other --pid 1 --system-wide
not_a_process --pid 12x true
not_a_process --pid 0 true
not_a_number --freq 0 true
not_a_number --freq abc true
not_a_size --flight-recorder=big true
env,_auto_or_none --agents=what true
go_with_--replay --from 1 true
unrecognized_option --nonsense true
an_empty_event --events cpu-clock,, true
END
: >file
run operf -d file/x ./burn 10
is 1 "$status" 'a session directory that cannot be: refused'
like err 'cannot make the session directory file/x' 'and said'
operf -d s20 sh -c ': >s20.up; while :; do :; done' 2>/dev/null &
later $!
p=$!
wait_for 60 test -e s20.up
run operf -d s20 ./burn 10
is 1 "$status" 'two runs into one session: the second is refused'
like err 'another run is writing' 'and said'
kill -TERM $p
wait $p 2>/dev/null
run operf -e no_such_event_xyz -d s21 ./burn 10
is 1 "$status" 'an event that does not exist: refused'
like err 'no_such_event_xyz' 'and named'

# --- what the kernel maps into each process
cat >clock.c <<'END'
#include <time.h>
int main(void)
{
	struct timespec t;
	for (int i = 0; i < 20000000; i++)
		clock_gettime(CLOCK_MONOTONIC, &t);
	return 0;
}
END
vdso() { opreport -l --session-dir="$1" 2>report.err | grep -a '\[vdso\]' >report; }
in_vdso=' \[vdso\] [^ ]+ range:[-0-9a-fx]+\) [a-z_]*clock_gettime$'
if gcc -O2 -o clock clock.c 2>/dev/null && grep -q '\[vdso\]' /proc/self/maps; then
	run operf -d s22 ./clock
	vdso s22
	like report "$in_vdso" '[vdso]: the function by its name'
	oparchive -o arch -d s22 >out 2>err
	unlike err 'not here' 'nothing is missed in an archive that has the symbols of all there was'
	opreport -l archive:arch 2>report.err | grep -a '\[vdso\]' >report
	like report "$in_vdso" '[vdso]: in an archive, too'
	rm s22/vdso
	vdso s22
	unlike report clock_gettime '[vdso]: by what the session keeps'
	head -c "$(stat -c %s arch/vdso)" /dev/zero >s22/vdso
	run operf -a -d s22 ./clock
	check 'added to a session that was begun under another kernel: it keeps the one of this' cmp s22/vdso arch/vdso
	if gcc -m32 -O2 -o clock32 clock.c 2>/dev/null && { ./clock32; } 2>/dev/null; then
		run operf -d s23 ./clock32
		vdso s23
		unlike report clock_gettime '[vdso] of a 32-bit process is another: no name of this one'
	else
		skip 'no 32-bit programs here'
	fi
else
	skip 'no compiler, or no [vdso] here'
fi

# --- an ordinary user
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 2 ]; then
		skip 'perf_event_paranoid is above 2'
	elif ! nobody test -x "$build/control/operf"; then
		skip 'the build directory is closed to other users'
	else
		run nobody env -u OPJIT_RUN_DIR "$build/control/operf" -d nob ./burn 300000
		is 0 "$status" 'uid nobody: works'
		check 'uid nobody: samples' test "$(samples nob)" -gt 0
		if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ]; then
			is 0 "$(info nob total.kernel)" 'uid nobody: user space alone'
			like err 'user space only' 'uid nobody: and said'
		fi
	fi
fi
done_testing
