#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# witness.sh: sunflow, sampled at the same time by operf and by perf record. perf names its samples with the map that the
# VM itself writes at the end. Of the 20 hottest methods whose code stayed where it was, both must see the same share.
. "$(dirname "$0")/lib.sh"
. "$src/tests/workloads.sh"
may_sample || skip_all "perf_event_open is not allowed here"
need perf python3
[ -e "$build/agents/jvmti/libjvmti_oprofile.la" ] || skip_all "built without JVMTI"
workload_sunflow "$work" || skip_all "no sunflow here"
jdk=$(dirname "${WORKLOAD[0]}")
[ -x "$jdk/jcmd" ] || skip_all "no jcmd"
workload_bounded "$work" 400 || exit 1
perf record -e cpu-clock -o "$work/probe.data" true >/dev/null 2>&1 || skip_all "perf record does not work here"
vm_of() { # the java below process $1
	local c
	for c in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
		[ "$(readlink "/proc/$c/exe")" = "$(readlink -f "${WORKLOAD[0]}")" ] && vm=$c && return
	done
	return 1
}
cd "$work" || exit 1
(cd "$WORKLOAD_CWD" && exec operf --freq=997 --keep-log -d "$work/s" "${WORKLOAD[@]}") >out 2>err &
p=$!
later $p
wait_for 60 vm_of $p || { fail 'no VM started'; show err; done_testing; }
later "$vm"
# Warm up: what is hot is compiled by then, and its code stays. CPU time is what is waited for, so that the number of
# samples does not depend on the machine.
cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$vm/stat"; }
ran() { [ "$(cpu_ticks)" -ge "$1" ]; }
hz=$(getconf CLK_TCK)
wait_for 120 ran $((8 * hz))
# The whole machine where that is allowed: `perf record -p` reads the list of threads first and opens its events after
# that, and a thread that is made in between is not sampled as long as it lives. sunflow makes new ones for each picture.
# Whether perf was there is asked of the process's CPU time, before any share is looked at.
who=(-p "$vm")
perf record -q -e cpu-clock -a -o "$work/probe.data" true >/dev/null 2>&1 && who=(-a)
for round in 1 2 3; do
	from=$(cpu_ticks)
	perf record -q -e cpu-clock -F 1499 -k mono -o perf.data "${who[@]}" >perf.out 2>&1 &
	perf=$!
	later $perf
	wait_for 120 ran $((from + 11 * hz))
	kill -INT $perf
	wait $perf
	# perf's samples, to be named by the map.
	perf script --pid "$vm" -F time,ip -i perf.data --ns 2>/dev/null | awk '{ sub(":", "", $1); print $1, $2 }' >perf.samples
	[ "$(wc -l <perf.samples)" -lt $((8 * 1499)) ] || break
	echo "# round $round: perf has $(wc -l <perf.samples) samples of 11 s"
done
# perf has stopped: then the map, while the VM runs under operf alone.
"$jdk/jcmd" "$vm" Compiler.perfmap >jcmd.out 2>&1
map=/tmp/perf-$vm.map
[ -e "$map" ] || { kill "$vm"; wait $p; show jcmd.out; skip_all 'this VM writes no perf map'; }
mv "$map" map
kill "$vm"
wait $p

first=$(awk 'NR == 1 { print $1 }' perf.samples) last=$(awk 'END { print $1 }' perf.samples)
# The same time, out of what operf kept. --from and --to count from its first sample.
begin=$(sed -n 's/^total\.first_ns=//p' s/samples/current/info)
since() { awk -v t="$1" -v b="$begin" 'BEGIN { split(t, p, "."); printf "%.6f", p[1] - int(b / 1e9) + (p[2] - b % 1e9) / 1e9 }'; }
operf --replay s/log/events.opel -d window --from "$(since "$first")" --to "$(since "$last")" 2>window.err || show window.err
opreport --session-dir=window -l -n 2>opreport.err | awk '$1 ~ /^[0-9]+$/' >ours
# Code that was unloaded while both watched is left out, with whatever the map has at its address: which of two owners a
# sample had is what the map cannot tell.
opevlog dump s/log/events.opel 2>/dev/null | grep -E ' what="(load|unload)"' >jit.events
python3 - "$first" "$last" >table <<'END'
import bisect, re
from sys import argv
first, last = float(argv[1]), float(argv[2])
def name(s):		# "int a.B::c(java.lang.String)", "a.B.c(String)": one form for both
	s = s.strip().replace('::', '.')
	m = re.match(r'(?:\S+ )?([^ (]+)\((.*)\)$', s)
	if not m:
		return s
	return m[1] + '(' + ','.join(a.strip().split('.')[-1] for a in m[2].split(',')) + ')'
gone, loads = [], {}
for l in open('jit.events'):
	t = float(l.split(' ', 1)[0])
	f = dict((k, v.strip('"')) for k, v in re.findall(r' (\w+)=("[^"]*"|\S+)', l))
	if f['what'] == 'load':
		loads[f['id']] = int(f['addr'], 16), int(f['size']), f['name']
	elif f.get('id') in loads and int(f['jit_time']) / 1e9 >= first:
		gone.append(loads.pop(f['id']))
regions = []
for l in open('map'):
	a, n, s = l.split(' ', 2)
	regions.append((int(a, 16), int(n, 16), name(s)))
regions.sort()
starts = [r[0] for r in regions]
out = set()
for a, n, s in gone:
	out.add(name(s))
	for r in regions[max(0, bisect.bisect_right(starts, a) - 1):bisect.bisect_left(starts, a + n)]:
		if r[0] < a + n and a < r[0] + r[1]:
			out.add(r[2])
theirs, n_theirs = {}, 0
for l in open('perf.samples'):
	t, ip = l.split()
	ip, n_theirs = int(ip, 16), n_theirs + 1
	i = bisect.bisect_right(starts, ip) - 1
	if i >= 0 and ip < regions[i][0] + regions[i][1]:
		theirs[regions[i][2]] = theirs.get(regions[i][2], 0) + 1
ours, n_ours = {}, 0
for l in open('ours'):
	c, _, rest = l.split(None, 2)
	n_ours += int(c)
	if ' [jit] ' in rest:
		s = name(rest.split(' [jit] ', 1)[1])
		ours[s] = ours.get(s, 0) + int(c)
# Each counts the same time by a clock of its own: two binomial samples. The hottest by either's count.
hot = sorted((s for s in set(ours) | set(theirs) if s not in out and '.' in s.split('(')[0]),
	key=lambda s: -(ours.get(s, 0) / n_ours + theirs.get(s, 0) / n_theirs))[:20]
print('counts', n_ours, n_theirs, len(hot), len(out))
for s in hot:
	o, t = ours.get(s, 0), theirs.get(s, 0)
	p = (o + t) / (n_ours + n_theirs)
	sigma = (p * (1 - p) * (1 / n_ours + 1 / n_theirs)) ** 0.5
	d = abs(o / n_ours - t / n_theirs) / sigma if sigma else 0
	print('%s %d %d %.3f%% %.3f%% %.1f sigma: %s' % ('ok' if d <= 5 else 'differs', o, t, 100 * o / n_ours, 100 * t / n_theirs, d, s))
END
show table
read -r _ n_ours n_theirs n_hot _ <table
check "both have samples enough ($n_ours, $n_theirs)" test "$n_ours" -ge 5000 -a "$n_theirs" -ge 5000
check "$n_hot methods whose code stayed" test "$n_hot" -ge 20
is 0 "$(grep -c '^differs' table)" 'their shares agree within 5 sigma'
# The sum of what is compared: a witness that saw another program would agree on nothing at all.
check 'and they are a good part of the time' awk 'NR > 1 { o += $2 } NR == 1 { n = $2 } END { exit !(o * 10 >= n * 3) }' table
done_testing
