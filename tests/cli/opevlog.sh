#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# opevlog: every command on logs of random events, on hwpmc logs, on logs cut and spoilt.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
mk=$build/tests/tools/mkevlog
"$mk" a.opel 2000 1
"$mk" b.opel 500 2
"$mk" open.opel 300 3 open
mkdir v && "$mk" --vectors v

# --- dump, stat, check
run opevlog dump a.opel
is 0 "$status" 'dump'
is 2000 "$(wc -l <out)" 'one line an event'
check 'in order of time' sort -c -s -t. -k1,1n -k2,2n <(cut -d' ' -f1 out)
cp out a.txt
run opevlog dump --json a.opel
is 2000 "$(jq -c . <out 2>/dev/null | wc -l)" 'JSON lines that jq takes'
is "$(grep -c ' sample ' a.txt)" "$(jq -r 'select(.type == "sample") | .ip' <out | wc -l)" 'as many samples either way'
run opevlog dump --raw a.opel
is 2002 "$(wc -l <out)" 'raw: INITIALIZE and CLOSELOG too'
run opevlog stat --json a.opel
is "2000 true $(grep -c ' sample ' a.txt)" "$(jq -r '"\(.events) \(.closed) \(.sample)"' <out)" 'stat counts the same'
is "$(sed -n 's/.* lost .*count=//p' a.txt | awk '{ n += $1 } END { print n }')" "$(jq -r .lost_records <out)" 'and the losses'
run opevlog stat a.opel
like out 'stream 4 +pages' 'stat shows streams'
run opevlog check a.opel b.opel
is 0 "$status" 'check: well-formed'
run opevlog check open.opel
is 1 "$status" 'check: a log without CLOSELOG'
like err "open.opel: offset $(stat -c %s open.opel): the log ends here without being closed" 'says where'
head -c 3000 a.opel >cut.opel
run opevlog check cut.opel
is 1 "$status" 'check: a log cut short'
run opevlog dump cut.opel
is 0 "$status" 'what is there is shown'
like err 'without being closed' 'and said'
{ head -c 5000 a.opel; head -c 3000 /dev/zero | tr '\0' '\377'; tail -c +8001 a.opel; } >bad.opel
run opevlog check bad.opel
is 1 "$status" 'check: a spoilt page'
like err 'bad.opel: offset [0-9]+: malformed' 'with its offset'
run opevlog dump bad.opel
is 0 "$status" 'dump goes on behind it'
check 'most events come' test "$(wc -l <out)" -gt 1900
like err '[1-9][0-9]* pages could not be read' 'and says so'

# --- hwpmc logs
for n in B1 B2 B3 B5; do
	run opevlog check "v/$n"
	is 0 "$status" "check $n"
done
for n in BX1 BX3 BX4 BX5 BX7; do
	run opevlog check "v/$n"
	is 1 "$status" "check $n: refused"
	like err "v/$n: offset 0: " "$n: with the offset"
done
run opevlog dump v/B2
like out '^1000.000000500 callchain offset=136 len=40 pid=1234 .* pc=\[0x400123,0x400999\]$' 'dump B2'
run opevlog dump --ftrace=le,8,128 v/C1
like out '^4.294967312 event offset=16 len=8 data=0001020304050607$' 'dump of an ftrace page'
run opevlog dump --ftrace=be,4,128 v/C2
is 4 "$(wc -l <out)" 'and of the other byte order'

# --- cut
run opevlog cut --pid=101 -o p.opel a.opel
is 0 "$status" 'cut by process'
is "$(grep ' sample ' a.txt | grep -c ' pid=101 ')" "$(opevlog dump p.opel | grep -c ' sample ')" 'has that process'\''s samples'
is "$(grep -c ' mmap ' a.txt)" "$(opevlog dump p.opel | grep -c ' mmap ')" 'and all mappings'
run opevlog cut --from=0.5 --to=1.5 -o t.opel a.opel
is "$(awk '/ sample / { t = $1 - 0.000001; if (t >= 0.5 && t < 1.5) n++ } END { print n + 0 }' a.txt)" \
	"$(opevlog dump t.opel | grep -c ' sample ')" 'cut by time'
run opevlog check t.opel
is 0 "$status" 'a cut is a well-formed log'
run opevlog cut -o same.opel a.opel
check 'a cut without limits has every event' cmp -s <(opevlog dump same.opel) a.txt

# --- merge
run opevlog merge -o m.opel a.opel b.opel
is 0 "$status" 'merge'
is 2500 "$(opevlog dump m.opel | wc -l)" 'has all events'
check 'in order' sort -c -s -t. -k1,1n -k2,2n <(opevlog dump m.opel | cut -d' ' -f1)
is 0 "$(opevlog merge -o m1.opel a.opel && cmp <(opevlog dump m1.opel) a.txt; echo $?)" 'merge of one is that one'

# --- convert
run opevlog convert --format=pmclog -o a.pmc a.opel
is 0 "$status" 'to pmclog'
like err 'events have no record in that format' 'what is left out is counted'
run opevlog check a.pmc
is 0 "$status" 'which is well-formed'
is "$(grep -c ' sample ' a.txt)" "$(opevlog dump a.pmc | grep -c ' callchain ')" 'every sample is there'
run opevlog convert --format=opel -o back.opel a.pmc
is 0 "$status" 'and back'
opevlog convert --format=pmclog -o again.pmc back.opel 2>err
is "$(opevlog dump a.pmc | grep -o 'pc=.*' | md5sum)" "$(opevlog dump again.pmc | grep -o 'pc=.*' | md5sum)" 'same call chains in the same order'
run opevlog convert --format=opel -o b2.opel v/B2
is 0 "$status" 'a 12-byte log to opel'
is 2 "$(opevlog dump b2.opel | grep -c ' sample ')" 'its samples'
run opevlog convert --format=abi --notes=n.opnd --samples=s.opsd --names=n.ophd a.opel
is 0 "$status" 'to notes and samples'
run opevlog convert --format=opel --notes=n.opnd --samples=s.opsd --names=n.ophd -o c.opel
is 0 "$status" 'and back'
is "$(sed -n 's/.* sample .* ip=\([^ ]*\).*/\1/p' a.txt | md5sum)" \
	"$(opevlog dump c.opel | sed -n 's/.* sample .* ip=\([^ ]*\).*/\1/p' | md5sum)" 'same samples in the same order'
is "$(grep -c ' mmap ' a.txt)" "$(opevlog dump c.opel | grep -c ' mmap ')" 'same mappings'
run opevlog convert --format=abi --notes=n2 --samples=s2 --names=h2 c.opel
check 'a second time: the same samples, byte for byte' cmp s.opsd s2
run opevlog convert --format=script -o - a.opel
is "$(grep -c ' sample ' a.txt)" "$(grep -cE '[0-9]+/-?[0-9]+ \[[0-9]+\] +[0-9]+\.[0-9]+: ' out)" 'text as of perf script'
cp out a.script
run opevlog convert --format=opel -o s.opel a.script
is 0 "$status" 'text to opel'
run opevlog check s.opel
is 0 "$status" 'well-formed'
periods() { sed -n 's/.* sample .* pid=\([^ ]*\) .* period=\([^ ]*\).*/\1 \2/p'; }
check 'the same processes and periods' cmp -s <(periods <a.txt) <(opevlog dump s.opel | periods)
is "$(sed -n 's/.* chain=//p' a.txt | md5sum)" "$(opevlog dump s.opel | sed -n 's/.* chain=//p' | md5sum)" 'the same call chains'
printf 'java 12/13 12345.678901: 250000 cpu-clock:pppH: \n\tffffffff81000001 do_it+0x1 ([kernel.kallsyms])\n\t 7f0000001234 main (/bin/x)\n\n' >perf.txt
printf 'my prog  7 [002] 12346.5:     1 cycles:u:      401000 main+0x0 (/bin/x)\n' >>perf.txt
run opevlog convert --format=opel -o p2.opel perf.txt
opevlog dump p2.opel >out
like out '^12345.678901000 sample cpu=-1 pid=12 tid=13 ip=0xffffffff81000001 period=250000 .* mode="kernel" n_kernel=1 chain=\[0xffffffff81000001,0x7f0000001234\]' 'as perf script writes it'
like out '^12346.500000000 sample cpu=2 pid=7 tid=7 ip=0x401000 period=1 event=1 mode="user"$' 'with the CPU, without a chain'
like out 'comm="my prog"' 'names with spaces'
like out 'eventdesc .* name="cycles:u"' 'events with colons'
run opevlog convert --format=ctf -o ctf a.opel
is 0 "$status" 'to CTF'
run opevlog convert --format=opel -o fromctf.opel ctf
is 0 "$status" 'CTF to opel'
check 'the same events, but that a text which is missing is empty' cmp <(sed 's/=null/=""/g' a.txt) <(opevlog dump fromctf.opel)
cp -r ctf ctf-bad
sed -i 's/freq = 1000000000/freq = 1000000001/' ctf-bad/metadata
run opevlog convert --format=opel -o x.opel ctf-bad
is 1 "$status" 'a trace of somebody else'
like err 'ctf-bad/metadata: not as opevlog writes it' 'is refused'
cp ctf/metadata ctf-bad/ && head -c 1000 ctf/stream_1 >ctf-bad/stream_1
run opevlog convert --format=opel -o x.opel ctf-bad
like err 'ctf-bad/stream_1: offset [0-9]+: ' 'a stream that was cut: where'
if command -v babeltrace2 >/dev/null; then
	babeltrace2 --clock-cycles --no-delta ctf >bt.txt 2>bt.err
	is 0 $? 'babeltrace2 reads it'
	is '' "$(cat bt.err)" 'without a word'
	is 2000 "$(wc -l <bt.txt)" 'as many events'
	check 'the same times and types' cmp -s <(awk '{ split($1, t, "."); printf "%d%s %s\n", t[1], t[2], $2 }' a.txt | sed 's/^0*//' | sort) \
		<(sed -E 's/^\[0*([0-9]+)\] ([a-z]+): .*/\1 \2/' bt.txt | sort)
	check 'the same addresses of samples' cmp -s <(sed -n 's/.* sample .* ip=0x\([^ ]*\) .*/\1/p' a.txt | sort) \
		<(sed -nE 's/.*\] sample: .* ip = 0x([0-9A-F]+),.*/\L\1/p' bt.txt | sort)
	check 'the same call chains' cmp -s <(sed -n 's/.* chain=\[\(.*\)\]/\1/p' a.txt | sed 's/0x//g' | sort) \
		<(sed -nE 's/.* chain = \[ (.*) \] \}/\1/p' bt.txt | grep -v '^$' | sed -E 's/\[[0-9]+\] = 0x//g; s/, /,/g; s/.*/\L&/' | sort)
else
	skip 'no babeltrace2 here'
fi

# --- follow
head -c 20000 a.opel >grow.opel
opevlog follow grow.opel >follow.txt 2>follow.err &
later $!
check 'follow shows what is there' wait_for 20 grep -q sample follow.txt
tail -c +20001 a.opel >>grow.opel
check 'and ends with the log' wait_for 20 grep -q closelog follow.txt
wait $!
is 2002 "$(wc -l <follow.txt)" 'having shown all'

# --- the library
lib=$build/format/evlog/.libs/libopevlog.so.0
if [ -f "$lib" ] && command -v cc >/dev/null; then
	is '' "$(objdump -T "$lib" | awk '/ \.text/ && $(NF-1) !~ /OPEVLOG_1.0/ { print $NF }')" 'exports nothing but OPEVLOG_1.0'
	mkdir opevlog && cp "$src/format/evlog/pmclog.h" "$src/format/evlog/ring.h" opevlog/
	cat >prog.c <<-'END'
		#include <opevlog/pmclog.h>
		#include <opevlog/ring.h>
		#include <stdio.h>
		static int each(void *n, const struct pmclog_ev *ev) { ++*(int *)n; return 0; }
		int main(void) { int n = 0; int r = pmclog_each_merged(0, each, &n); printf("%d %d\n", r, n); return 0; }
	END
	cc -std=gnu99 -Wall -Wextra -Wno-unused-parameter -Werror -I. prog.c "$lib" -Wl,-rpath,"$(dirname "$lib")" -o prog
	is '0 2000' "$(./prog <a.opel)" 'a program that links it reads a log in order of time'
else
	skip 'no shared library built here'
fi

# --- mistakes
run opevlog --help
is 0 "$status" '--help'
run opevlog
is 64 "$status" 'no command'
run opevlog frob a.opel
is 2 "$status" 'an unknown command'
run opevlog dump none
is 1 "$status" 'no such file'
like err 'none: No such file' 'and says so'
run opevlog dump .
is 1 "$status" 'a directory'
run opevlog cut a.opel
like err '--output' 'cut without --output'
echo hello >text
run opevlog dump text
is 1 "$status" 'some other file'
like err 'text: offset 0: malformed' 'refused with its offset'
: >empty
run opevlog check empty
is 1 "$status" 'an empty file'
run opevlog convert --format=frob -o x a.opel
like err 'none of opel, pmclog' 'an unknown format'
cp a.opel keep.opel
for how in 'cut' 'merge' 'convert --format=pmclog' 'convert --format=json'; do
	run opevlog $how -o keep.opel keep.opel
	is 1 "$status" "$how into the log that is read"
	like err 'keep.opel: is read too' 'is refused'
done
check 'and it is still there' cmp a.opel keep.opel
run opevlog convert --format=json -o lines a.opel
is 2000 "$(wc -l <lines)" 'JSON lines into a file'
if [ -w /dev/full ]; then
	for how in 'dump' 'stat' 'check' 'convert --format=script' 'convert --format=pmclog' 'convert --format=json' 'convert --format=rst'; do
		opevlog $how a.opel >/dev/full 2>err
		is 1 $? "$how: a full disk behind standard output"
		like err 'disk full' 'is said'
	done
	run opevlog cut -o /dev/full a.opel
	is 1 "$status" 'a full disk'
	like err 'disk full' 'is said'
	opevlog dump a.opel >/dev/full 2>err
	is 1 $? 'a full disk behind standard output'
fi
done_testing
