#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# What the user reads when the kernel refuses: cause and fix in one line, a non-zero exit, nothing left running. The
# refusals come from a seccomp filter, from limits, and from being uid nobody.
. "$(dirname "$0")/lib.sh"
need setpriv

refuse=$build/tests/tools/sampler-refuse
# Copies, since nobody may not be able to reach the build tree.
install -m 755 "$build/tests/tools/sampler-dump" "$refuse" "$work/"
[ -x "$build/control/operf" ] && install -m 755 "$build/control/operf" "$work/"
refuse=$work/sampler-refuse
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
may_sample || skip_all "perf_event_paranoid is $paranoid and this is not root"

"$work/sampler-dump" -s true >"$work/out" 2>"$work/err" || { show "$work/err"; skip_all 'perf_event_open does not work here'; }

tools=("$work/sampler-dump -s")
[ -x "$work/operf" ] && tools+=("$work/operf --session-dir=$work/session")

# told REGEX WHAT: the last run was refused well.
told() {
	local re=$1 what=$2 n
	check "$what: exit status $status is an error" [ "$status" -ne 0 ]
	n=$(grep -Ecv "^notice: |sampling by time, cpu-clock" "$work/err")
	is 1 "$n" "$what: one line"
	[ "$n" = 1 ] || show "$work/err"
	like "$work/err" "$re" "$what: cause and fix"
	check "$what: the command was not started" [ ! -e "$work/started" ]
	check "$what: nothing is left" [ -z "$(pgrep -f "touch $work/started")" ]
	rm -f "$work/started"
}

command=(sh -c "touch $work/started; exec sleep 60")
for tool in "${tools[@]}"; do
	name=$(basename "${tool%% *}")
	while read -r call err re; do
		# shellcheck disable=SC2086
		run "$refuse" "$call=$err" $tool "${command[@]}"
		told "$re" "$name, $call $err"
	done <<-'END'
	perf_event_open EACCES Permission denied: .*seccomp filter .*--cap-add PERFMON
	perf_event_open EPERM Operation not permitted: .*seccomp filter .*--cap-add PERFMON
	perf_event_open EMFILE Too many open files: .*limit of this process is [0-9]+.*ulimit -n
	perf_event_open ENFILE Too many open files in system: .*fs\.file-max
	perf_event_open ENOENT No such file or directory: .*seccomp filter.*operf --list
	perf_event_open EOPNOTSUPP Operation not supported: .*seccomp filter.*operf --list
	perf_event_open ENOSPC No space left on device: .*fewer events
	perf_event_open ENOSYS Function not implemented: .*seccomp filter.*allow perf_event_open
	perf_event_open EBUSY Device or resource busy: .*another tool
	perf_event_open EINVAL Invalid argument: .*cpu-clock
	perf_event_open ENOMEM Cannot allocate memory: .*fewer threads
	perf_event_open EIO Input/output error: .*seccomp filter.*dmesg
	ring_mmap EPERM mmap of a ring of 1 page says Operation not permitted: .*seccomp filter
	ring_mmap ENODEV mmap of a ring of 128 pages says No such device: .*dmesg
	END
done

if [ "$(id -u)" != 0 ]; then
	skip 'not root: what nobody reads was not tried'
	done_testing
fi
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)
chmod 755 "$work"
mkdir -m 1777 "$work/nobody"
cd "$work/nobody" || exit 1

run "${nobody[@]}" "$refuse" perf_event_open=EACCES "$work/sampler-dump" -s "${command[@]}"
told "Permission denied: although kernel.perf_event_paranoid \\($paranoid\\) allows it: a seccomp filter" 'nobody, seccomp EACCES'
run "${nobody[@]}" "$refuse" ring_mmap=EPERM "$work/sampler-dump" -s "${command[@]}"
told 'mmap of a ring of 1 page says Operation not permitted: memory that may be locked is used up .*sysctl kernel.perf_event_mlock_kb=[0-9]+, or ulimit -l' \
	'nobody, mmap EPERM'
run bash -c "ulimit -n 8; exec \"\$@\"" - "${nobody[@]}" "$work/sampler-dump" -s "${command[@]}"
told 'Too many open files: [0-9]+ descriptors are open and the limit of this process is 8; .*ulimit -n' 'nobody, 8 descriptors'
if [ "$paranoid" -ge 1 ]; then
	run "${nobody[@]}" "$work/sampler-dump" -s -a -S 1
	told "Permission denied: kernel.perf_event_paranoid is $paranoid, .*run as root.*sysctl kernel.perf_event_paranoid=0" 'nobody, the whole machine'
fi
run "${nobody[@]}" "$work/sampler-dump" -s -p $$ -S 1
told "process $$ \\(.*\\) belongs to uid 0 and you are uid 65534; run as that user, as root" "nobody, root's process"

if [ "$paranoid" -ge 2 ]; then
	run "${nobody[@]}" "$work/sampler-dump" -s -e cpu-clock sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'
	is 0 "$status" 'nobody may sample a command'
	is 1 "$(grep -c '^notice: .*only user space is sampled.*sysctl kernel.perf_event_paranoid=1' "$work/err")" 'and reads once that the kernel is not seen'
	like "$work/out" '^samples [1-9][0-9]* user [1-9][0-9]* kernel 0 ' 'samples are of user space'
fi
run bash -c 'ulimit -l 64; exec "$@"' - "${nobody[@]}" "$work/sampler-dump" -s -m 16384 true
is 0 "$status" 'rings beyond the limit of locked memory'
is 1 "$(grep -c '^notice: .*pages a CPU .* in place of 16384 .*perf_event_mlock_kb.*ulimit -l' "$work/err")" 'shrink until they fit, said once'
like "$work/out" ' pages (1|2|4|8|16|32|64|128|256|512|1024|2048|4096|8192) ' 'to a power of two'
done_testing
