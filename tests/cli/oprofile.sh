#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# opexport and opimport: sessions of OProfile's own tools, checked byte by byte, and there and back.
. "$(dirname "$0")/lib.sh"
need perl
cd "$work" || exit 1
mk=$build/tests/tools/mksession
{
	printf 'session\t%s\tstacks\ncpu\tCPU with timer interrupt\t2000\nevent\t0\tcpu-clock\ttimer\t0\t997\t0\t1\n' "$work/s"
	printf 'event\t1\tCPU_CLK_UNHALTED\tclocks\t100000\t0\t3\t0\n'
	printf 'file\tfile\t/bin/prog\t/bin/prog\tprog\t0\t-1\t-1\t-1\t0\t0\n'
	printf 'file\tfile\t/lib/libx.so\t/bin/prog\tprog\t1\t-1\t-1\t-1\t0\t0\n'
	printf 'file\tkernel\tvmlinux\t\t\t0\t-1\t-1\t-1\t0\t0\n'
	printf 'file\tanon\t[heap]\t/bin/prog\tprog\t0\t42\t-1\t-1\t0x7000\t0x9000\n'
	printf 'file\tjit\t77-00aa/0.jo\t/usr/bin/java\tjava:App\t0\t77\t-1\t-1\t0\t0\n'
	printf 'file\tjit\t77-00aa/1.jo\t/usr/bin/java\tjava:App\t0\t77\t-1\t-1\t0\t0\n'
	printf 'file\tanon\tanon\t/bin/prog\tprog\t0\t42\t-1\t-1\t0x0\t0xffffffffffffffff\nadd\t6\t0x500000123\t3\nadd\t6\t0x500000124\t1\n'
	printf 'add\t6\t0x7\t2\n'
	for k in $(seq 1 300); do printf 'add\t0\t%d\t%d\n' $((k * 4097)) "$k"; done
	printf 'add\t1\t8192\t5000000000\nadd\t2\t16\t5\nadd\t3\t256\t9\nadd\t4\t4112\t50\nadd\t4\t4200\t20\nadd\t5\t4100\t7\n'
	printf 'frame\t0\t0\t4097\nframe\t1\t4\t4112\nstack\t2\t11\nframe\t2\t6\t0x500000123\nstack\t3\t4\nflush\n'
	printf 'jo\t%s\nsym\t0\t64\tcom.acme.A.run(int)\nsym\t64\t64\tcom.acme.B.go()\nend\n' "$work/s/jit/77-00aa/0.jo"
	printf 'jo\t%s\nsym\t0\t64\tcom.acme.C.main()\nend\n' "$work/s/jit/77-00aa/1.jo"
} >script
check 'a session is made' "$mk" <script
run opexport --oprofile=up -d s
is 0 "$status" 'opexport'
show err
cur=up/samples/current
f="$cur/{root}/bin/prog/{dep}/{root}/bin/prog/TIMER.0.0.all.all.all"
check 'a sample file at the place where OProfile looks for it' test -f "$f"
check 'the kernel' test -f "$cur/{kern}/vmlinux/{dep}/{kern}/vmlinux/TIMER.0.0.all.all.all"
check 'the heap' test -f "$cur/{root}/bin/prog/{dep}/{anon:[heap]}/42.0x7000.0x9000/TIMER.0.0.42.all.all"
check 'another event' test -f "$cur/{root}/bin/prog/{dep}/{root}/lib/libx.so/CPU_CLK_UNHALTED.100000.3.all.all.all"
jo="$cur/{root}/usr/bin/java/{dep}/{anon:anon}/77.jo"
check 'an image of the JIT code of the process' test -f "$jo"
jitf=$(find "$cur/{root}/usr/bin/java" -name 'TIMER*' -path '*anon:anon*' -not -path '*{cg}*' | head -n 1)
like <(echo "$jitf") '/77\.0x10000000\.0x[0-9a-f]+/TIMER.0.0.77.all.all$' 'and its samples in one range beside it'
check 'arcs' test -f "$cur/{root}/bin/prog/{dep}/{root}/bin/prog/{cg}/{anon:anon}/$(basename "$(dirname "$jitf")")/TIMER.0.0.all.all.all"

# decode FILE: an independent reader: head fields, then key value of every node that the hash finds
cat >decode.pl <<'END'
use strict; binmode STDIN; local $/; my $d = <STDIN>;
my ($magic, $ver, $cpu, $ev, $um, $count, $kern) = unpack("a4 V6", $d);
my ($mhz, $mtime) = unpack("d< Q<", substr($d, 32)); my ($start, $cgstart, $size, $used) = unpack("Q< Q< V V", substr($d, 56));
die "length" unless length($d) == 104 + 20 * $size;
print "magic $magic version $ver cpu $cpu um $um count $count kernel $kern start $start used $used\n";
my %seen;
for my $b (0 .. $size - 1) {
	my $n = unpack("V", substr($d, 104 + 16 * $size + 4 * $b));
	for (my $steps = 0; $n; $steps++) {
		die "chain" if $steps > $size || $n >= $used;
		my ($k, $v, $next) = unpack("Q< V V", substr($d, 104 + 16 * $n));
		my $t = (($k >> 32) ^ $k) & 0xffffffff; die "bucket" if (($t ^ ($t >> 8)) & ($size - 1)) != $b;
		$seen{$k} += $v; $n = $next;
	}
}
die "nodes" unless keys(%seen) == $used - 1;
print "$_ $seen{$_}\n" for sort { $a <=> $b } keys %seen;
END
perl decode.pl <"$f" >got || fail 'decode'
is 'magic DAE' "$(head -n 1 got)" 'magic'
like got '^ version 19 cpu 4 um 0 count 0 kernel 0 start 0 used 301$' 'head'
is 300 "$(grep -cE '^[0-9]+ [0-9]+$' got)" 'every sample is found by its hash'
like got '^40970 10$' 'with its count'
perl decode.pl <"$cur/{root}/bin/prog/{dep}/{root}/lib/libx.so/CPU_CLK_UNHALTED.100000.3.all.all.all" >got
like got 'um 3 count 100000 ' 'unit mask and count'
like got '^8192 4294967295$' 'a count above 32 bits stays at the greatest'
perl decode.pl <"$cur/{kern}/vmlinux/{dep}/{kern}/vmlinux/TIMER.0.0.all.all.all" >got
like got 'kernel 1' 'the kernel is marked'
perl decode.pl <"$jitf" >got
like got 'start 268435456 ' 'the range begins where its name says'
like got '^4112 50$' 'JIT samples count from there'
wide=$(find up -path '*42.0x500000000.0x600000000/TIMER*' -not -path '*{cg}*')
perl decode.pl <"$wide" >got
like got 'start 21474836480 ' 'a range of more than 4 GiB comes in windows'
is '291 3 292 1' "$(sed -n '3,$p' got | xargs)" 'with what lies in each'
arc=$(find up -path '*{cg}*42.0x500000000.0x600000000/TIMER*')
perl decode.pl <"$arc" >got
is 4 "$(sed -n '3,$s/.* //p' got)" 'and the call stack steps there'
unlike err 'left out' 'none is left out'
if command -v nm >/dev/null; then
	nm "$jo" >syms
	like syms '^0*10001000 T com.acme.A.run\(int\)$' 'its symbols stand at addresses of the range'
	like syms ' T com.acme.C.main\(\)$' 'those of every image of the process'
fi

# and back
mv s s.gone
run opimport --oprofile=up -d back
is 0 "$status" 'opimport'
show err
opreport -l -n --session-dir=back >r 2>/dev/null
like r '^50 .*com.acme.A.run\(int\)' 'JIT code has its names again'
like r '^7 .*com.acme.C.main' 'of each image'
sum() { awk '{s += $1} END {print s + 0}'; }
opreport -l -n --session-dir=s.gone event:cpu-clock 2>/dev/null | sum >a
opreport -l -n --session-dir=back event:TIMER 2>/dev/null | sum >b
check 'as many samples as before' cmp a b
check 'and there are some' test "$(cat a)" -gt 45000

# broken files
cp -r up bad
printf '\xff\xff' | dd of="bad${f#up}" bs=1 seek=78 conv=notrunc 2>/dev/null
run opimport -V --oprofile=bad -d b2
is 0 "$status" 'a broken file is left out'
like err 'prog/TIMER.0.0.all.all.all: offset 0x4c: more nodes in use' 'and named'
mkdir -p empty/samples/current
run opimport --oprofile=empty -d b3
is 1 "$status" 'an empty session is an error'
run opimport --oprofile=nowhere -d b4
is 1 "$status" 'none too'
run opexport --oprofile=up -d back
is 1 "$status" 'opexport never writes into a session that is there'
# --- JIT code from each source that there is, with its bytes and without, in one process: there and back
fakejit=$build/tests/fakejit/fakejit
if may_sample && [ "$(uname -m)" = x86_64 ]; then
	export FAKEJIT_DIR=$work
	for sources in 'perfmap' 'opagent perfmap' 'jitdump perfmap' 'perfmap opagent'; do
		{
			echo 'area anon 65536'
			n=0
			for s in $sources; do
				n=$((n + 1))
				printf 'source %s\nmake code_%d %d 512\nmake more_%d %d 512\n' "$s" $n $((n * 8192)) $n $((n * 8192 + 4096))
			done
			for i in $(seq $n); do printf 'spin code_%d 100\nspin more_%d 50\n' $i $i; done
		} >mixed.jit
		rm -rf mixed up2 back2
		operf -d mixed "$fakejit" mixed.truth mixed.jit >out 2>err
		opreport -l -n --session-dir=mixed 2>/dev/null | awk '$NF ~ /^(code|more)_/ { print $1, $NF }' | sort >want
		run opexport --oprofile=up2 -d mixed
		is "0 $((2 * n))" "$status $(wc -l <want)" "$sources: opexport"
		run opimport --oprofile=up2 -d back2
		opreport -l -n --session-dir=back2 2>/dev/null | awk '$NF ~ /^(code|more)_/ { print $1, $NF }' | sort >got
		is "$(cat want)" "$(cat got)" "$sources: names and counts came back"
		awk '$1 == "R" { print "/tmp/perf-" $2 ".map" }' mixed.truth | sort -u | xargs rm -f
	done
else
	skip 'the fixture makes x86-64 code, and is sampled'
fi
done_testing
