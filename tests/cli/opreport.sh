#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# opreport on made sessions: the complete output of each view and option.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
mksession=$build/tests/tools/mksession

# make: a script with '|' between words on standard input goes to mksession
make_session() { tr '|' '\t' | sed "s,@W@,$work,g" | "$mksession"; }
# out DESCRIPTION ARGS…: opreport succeeds, says nothing on stderr and prints standard input, whole
out() {
	local d=$1
	shift
	cat >want
	run opreport "$@"
	sed "s,$work,@W@,g" "$work/out" >got
	if [ "$status" = 0 ] && [ ! -s "$work/err" ] && cmp -s want got; then pass "$d"; else
		fail "$d"
		echo "# status $status"
		diff want got | sed 's/^/# /'
		show "$work/err"
	fi
}
# refuses DESCRIPTION REGEX ARGS…: one line on stderr, status 1
refuses() {
	local d=$1 re=$2
	shift 2
	run opreport "$@"
	if [ "$status" = 1 ] && [ "$(wc -l <"$work/err")" = 1 ] && grep -qE -- "$re" "$work/err" && [ ! -s "$work/out" ]; then
		pass "$d"
	else
		fail "$d"
		echo "# status $status"
		show "$work/err" "$work/out"
	fi
}

make_session <<'END'
jo|@W@/bin/prog
sym|0|0x40|main
sym|0x40|0x40|_ZN3foo3barEi
sym|0x100|0x20|helper
end
jo|@W@/bin/libx.so
sym|0|0x1000|xfunc
end
jo|s/jit/77-00000000deadbeef/0.jo
sym|0|0x40|com.acme.Foo$Bar.baz(int, String)
sym|0x40|0x40|com.acme.Spin$$Lambda$12/0x00007f0001.run()
sym|0x80|0x40|com.acme.Spin$$Lambda$13/0x00007f0002.run()
sym|0x100|0x20|void com.acme.A.f(long)
end
session|s|stacks
cpu|AMD64 generic|2596.1
event|0|CPU_CLK_UNHALTED|CPU Clocks not Halted|100000|0|0|0
note|kernel.vmlinux.base|0xffffffff81000000
note|kernel.ext4.base|0xffffffffa0000000
file|jit|77-00000000deadbeef/0.jo|/usr/lib/jvm/bin/java|java:App|0|77|-1|-1|0|0
add|0|4096|600
add|0|4164|100
add|0|4228|200
add|0|0x1104|50
add|0|0x10e0|30
file|file|@W@/bin/libx.so|/usr/lib/jvm/bin/java|java:App|0|-1|-1|-1|0|0
add|1|4100|150
file|kernel|vmlinux|/usr/lib/jvm/bin/java|java:App|0|-1|-1|-1|0|0
add|2|0x1010|90
file|anon|anon|/usr/lib/jvm/bin/java|java:App|0|77|-1|-1|0x7f0000001000|0x7f0000003000
add|3|0x10|40
file|anon|[gap]|/usr/lib/jvm/bin/java|java:App|0|77|-1|-1|0x7f0000005000|0x7f0000006000
add|4|0x20|20
file|file|@W@/bin/prog|@W@/bin/prog|prog|0|-1|-1|-1|0|0
add|5|4096|400
add|5|4100|100
add|5|4165|60
add|5|0x1090|7
file|kernel|ext4|||0|-1|-1|-1|0|0
add|6|0x20|3
frame|0|5|4096
frame|1|5|4165
stack|2|60
frame|0|0|0x1104
frame|3|0|4096
stack|4|500
frame|4|0|0x1104
frame|5|0|4096
stack|6|100
total|kernel|93
total|native|717
total|jit_method|950
total|gap|50
total|anon|40
total|exact|940
total|backdated|9
total|ambiguous|1
total|lost|7
total|chains|660
total|truncated_chains|3
flush
END
cat >s/kallsyms <<'END'
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81001000 T do_work
ffffffff81002000 T other
ffffffff81003000 d some_data
ffffffffa0000010 t ext4_read	[ext4]
ffffffffa0000100 t ext4_write	[ext4]
END
head='CPU: AMD64 generic, speed 2596.1 MHz (estimated)
Counted CPU_CLK_UNHALTED events (CPU Clocks not Halted) with a unit mask of 0x00 (No unit mask) count 100000'
S=--session-dir=s

out 'by image' $S <<END
$head
CPU_CLK_UNHALT...|
  samples|      %|
------------------
     1280 69.1892 java:App
	CPU_CLK_UNHALT...|
	  samples|      %|
	------------------
	      980 76.5625 java:App [jit]
	      150 11.7188 libx.so
	       90  7.0312 vmlinux
	       40  3.1250 anon (tgid:77 range:0x7f0000001000-0x7f0000003000)
	       20  1.5625 [gap] (tgid:77 range:0x7f0000005000-0x7f0000006000)
      567 30.6486 prog
        3  0.1622 ext4
END
out 'by image, whole profile, whole paths, no heading, threshold' $S -% -f -n -t 1 <<'END'
     1280 69.1892 /usr/lib/jvm/bin/java (java:App)
	CPU_CLK_UNHALT...|
	  samples|      %|
	------------------
	      980 52.9730 java:App [jit] (tgid:77)
	      150  8.1081 @W@/bin/libx.so
	       90  4.8649 vmlinux
	       40  2.1622 anon (tgid:77 range:0x7f0000001000-0x7f0000003000)
	       20  1.0811 [gap] (tgid:77 range:0x7f0000005000-0x7f0000006000)
      567 30.6486 @W@/bin/prog
END
out 'libraries merged' $S -m lib -n -t 2 <<'END'
      980 52.9730 java:App [jit]
      567 30.6486 prog
      150  8.1081 libx.so
       90  4.8649 vmlinux
       40  2.1622 anon (tgid:77 range:0x7f0000001000-0x7f0000003000)
END
out 'without dependent images' $S -x -n <<'END'
      980 63.2258 java:App
	CPU_CLK_UNHALT...|
	  samples|      %|
	------------------
	      980 100.000 java:App [jit]
      567 36.5806 prog
        3  0.1935 ext4
END
out 'by symbol' $S -l <<END
$head
samples  %        image name               app name                 symbol name
600      32.4324  java:App [jit]           java:App                 com.acme.Foo\$Bar.baz(int, String)
500      27.0270  prog                     prog                     main
300      16.2162  java:App [jit]           java:App                 com.acme.Spin\$\$Lambda.run()
150       8.1081  libx.so                  java:App                 xfunc
90        4.8649  vmlinux                  java:App                 do_work
60        3.2432  prog                     prog                     foo::bar(int)
50        2.7027  java:App [jit]           java:App                 com.acme.A.f(long)
40        2.1622  anon (tgid:77 range:0x7f0000001000-0x7f0000003000) java:App                 (no symbols)
30        1.6216  java:App [jit]           java:App                 (no symbols)
20        1.0811  [gap] (tgid:77 range:0x7f0000005000-0x7f0000006000) java:App                 [gap]
7         0.3784  prog                     prog                     (no symbols)
3         0.1622  ext4                     ext4                     ext4_read
END
out 'one application alone' $S -l prog <<END
$head
samples  %        symbol name
500      88.1834  main
60       10.5820  foo::bar(int)
7         1.2346  (no symbols)
END
out 'addresses and running sums' $S -l -w -a -n image:prog <<'END'
00001000 500      500           88.1834  88.1834    main
00001040 60       560           10.5820  98.7654    foo::bar(int)
00001090 7        567            1.2346  100.000    (no symbols)
END
out 'instructions' $S -d -n image:prog -t 20 <<'END'
00001000 500      88.1834  main
  00001000 400      80.0000
  00001004 100      20.0000
END
out 'instructions, percentages of the whole profile' $S -d -% -n image:prog -t 5 <<'END'
00001000 500      27.0270  main
  00001000 400      21.6216
  00001004 100       5.4054
END
out 'raw names keep the numbers' $S -l -n --raw-names -i '*Lambda*' <<'END'
200      66.6667  com.acme.Spin$$Lambda$13/0x00007f0002.run()
100      33.3333  com.acme.Spin$$Lambda$12/0x00007f0001.run()
END
out 'no demangling' $S -l -n -D none -i _ZN3foo3barEi <<'END'
60       100.000  _ZN3foo3barEi
END
out 'Java with its return type' $S -l -n -D normal -i '*A.f*' <<'END'
50       100.000  void com.acme.A.f(long)
END
out 'symbols left out' $S -l -n -e 'main,com.acme.Foo$Bar.baz(int, String)' -t 10 <<'END'
300      40.0000  java:App [jit]           java:App                 com.acme.Spin$$Lambda.run()
150      20.0000  libx.so                  java:App                 xfunc
90       12.0000  vmlinux                  java:App                 do_work
END
out 'percentages of the whole, though filtered' $S -l -n -% -i main <<'END'
500      27.0270  main
END
out 'sorted by symbol' $S -l -n -s symbol image:prog <<'END'
7         1.2346  (no symbols)
60       10.5820  foo::bar(int)
500      88.1834  main
END
out 'sorted by address, the other way round' $S -l -n -s vma -r image:prog <<'END'
7         1.2346  (no symbols)
60       10.5820  foo::bar(int)
500      88.1834  main
END
out 'sorted by image, then samples' $S -l -n -s image,sample -t 8 <<'END'
600      32.4324  java:App [jit]           java:App                 com.acme.Foo$Bar.baz(int, String)
300      16.2162  java:App [jit]           java:App                 com.acme.Spin$$Lambda.run()
150       8.1081  libx.so                  java:App                 xfunc
500      27.0270  prog                     prog                     main
END
out 'lib-image' $S -l -n lib-image:libx.so <<'END'
150      100.000  xfunc
END
out 'image-exclude' $S -n image-exclude:java:App <<'END'
      567 99.4737 prog
        3  0.5263 ext4
END
out 'a process' $S -l -n tgid:77 -t 10 <<'END'
600      57.6923  java:App [jit]           com.acme.Foo$Bar.baz(int, String)
300      28.8462  java:App [jit]           com.acme.Spin$$Lambda.run()
END
out 'lines and inlines where nothing is known' $S -l --lines -n lib-image:libx.so <<'END'
150      100.000  xfunc
  150      100.000  (no location information)
END
out 'source lines unknown' $S -l -g lib-image:libx.so <<END
$head
samples  %        linenr info                 symbol name
150      100.000  (no location information)   xfunc
END

# --- call graph: recursion and cycles inflate nothing
rule=-------------------------------------------------------------------------------
out 'call graph' $S -c -n -t 3 <<END
$rule
  600      100.000  java:App [jit]           java:App                 com.acme.A.f(long)
600      32.4324  java:App [jit]           java:App                 com.acme.Foo\$Bar.baz(int, String)
  600      85.7143  java:App [jit]           java:App                 com.acme.Foo\$Bar.baz(int, String) [self]
  100      14.2857  java:App [jit]           java:App                 com.acme.A.f(long)
$rule
500      27.0270  prog                     prog                     main
  500      89.2857  prog                     prog                     main [self]
  60       10.7143  prog                     prog                     foo::bar(int)
$rule
300      16.2162  java:App [jit]           java:App                 com.acme.Spin\$\$Lambda.run()
  300      100.000  java:App [jit]           java:App                 com.acme.Spin\$\$Lambda.run() [self]
$rule
150       8.1081  libx.so                  java:App                 xfunc
  150      100.000  libx.so                  java:App                 xfunc [self]
$rule
90        4.8649  vmlinux                  java:App                 do_work
  90       100.000  vmlinux                  java:App                 do_work [self]
$rule
  60       100.000  prog                     prog                     main
60        3.2432  prog                     prog                     foo::bar(int)
  60       100.000  prog                     prog                     foo::bar(int) [self]
$rule
END

# --- honesty
out 'how samples got their names' $S --quality <<END
$head
  samples       % where
       93  5.0270 kernel and modules
      717 38.7568 native code
      950 51.3514 JIT: methods
        0       0 JIT: stubs of the VM
        0       0 JIT: interpreter
       50  2.7027 in a code heap, but in no known code
       40  2.1622 anonymous memory nobody told about
        0       0 no mapping known
     1850 100.000 all samples
     1760 95.1351 given to a known image or JIT region

  samples       % of those in JIT code
      940 98.9474 exact: the code was live at that time
        9  0.9474 backdated: the code was posted a little later
        1  0.1053 ambiguous: old and new code overlap in time

  records       %
        7  0.3770 lost: dropped by the kernel or a full log
        3  0.4545 of the call stacks were cut short
END

# --- for programs
run opreport $S -l --csv image:prog
printf 'CPU_CLK_UNHALTED:100000,CPU_CLK_UNHALTED:100000 %%,app,image,symbol,vma,file,line\r\n500,88.1834,prog,prog,main,0x1000,,\r\n60,10.582,prog,prog,foo::bar(int),0x1040,,\r\n7,1.23457,prog,prog,(no symbols),0x1090,,\r\n' >want
check 'CSV' cmp want out
run opreport $S -d --json
is 0 "$status" 'JSON'
if command -v jq >/dev/null; then
	is '1850 1850 1850' "$(jq -r '[([.rows[].samples[0]] | add), ([.rows[].details[].samples[0]] | add), .columns[0].total] | map(tostring) | join(" ")' out)" \
		'JSON: rows, details and column total agree'
	is '950 9 7' "$(jq -r '.quality | "\(.jit_method) \(.backdated) \(.lost)"' out)" 'JSON: quality'
	is 'main 0x1000 [400,100]' "$(jq -rc '.rows[] | select(.symbol == "main") | "\(.symbol) \(.vma) \([.details[].samples[0]])"' out)" 'JSON: a row'
	run opreport $S --json
	is 1850 "$(jq '[.rows[].samples[0]] | add' out)" 'JSON by image: the same total'
else
	skip 'no jq here'
fi
run opreport $S -l -X
if command -v xmllint >/dev/null; then
	check 'XML is well-formed' xmllint --noout out
	is '3.1 1850 12' "$(xmllint --xpath 'concat(/profile/@schemaversion," ",sum(//binary/count|//module/count)," ",count(//symboldata))' out)" 'XML: counts'
	is '500' "$(xmllint --xpath 'sum(//symbol[@idref=//symboldata[@name="main"]/@id]/count)' out)" 'XML: a symbol'
else
	skip 'no xmllint here'
	like out '<symboldata id="[0-9]+" name="main"' 'XML: a symbol'
fi
run opreport $S -l -o report.txt
is 0 "$status" 'output file'
opreport $S -l | cmp -s - report.txt && pass 'holds the report' || fail 'holds the report'
is '' "$(cat out)" 'nothing on standard output then'

# --- totals of all views and of the store
sum() { awk '{ n += $1 } END { print n }'; }
is 1850 "$(opreport $S -n -m lib | sum)" 'total by image'
is 1850 "$(opreport $S -n -l | sum)" 'total by symbol'
is 1850 "$(opreport $S -n -d | awk '/^ / { n += $2 } END { print n }')" 'total by instruction'
opreport $S -l >first && opreport $S -l >second
check 'equal runs print equal reports' cmp first second

# --- differences
make_session <<'END'
session|t
cpu|AMD64 generic|2596.1
event|0|CPU_CLK_UNHALTED|CPU Clocks not Halted|100000|0|0|0
file|file|@W@/bin/prog|@W@/bin/prog|prog|0|-1|-1|-1|0|0
add|0|4096|250
add|0|0x1100|80
add|0|0x1090|7
flush
END
out 'difference by symbol' -l image:prog '{' session:./s '}' '{' session:./t '}' <<END
$head
samples  %        diff %    symbol name
250      74.1840  -50.0000  main
80       23.7389  +++       helper
7         2.0772  +0.0000   (no symbols)
0              0  ---       foo::bar(int)
END
out 'difference by image' image:prog '{session:./s}' '{session:./t}' -n <<'END'
337      100.000  -40.5644  prog
END
refuses 'one profile makes no difference' 'SPECIFICATION' -l '{' session:./s '}'
refuses 'braces must close' 'SPECIFICATION' -l '{' session:./s '}' '{' session:./t

# --- several events are columns; separated processes, threads and CPUs are columns unless merged
make_session <<'END'
session|m
cpu|CPU with timer interrupt|0
event|0|cycles|Cycles|100000|0|0|0
event|1|llc_misses|Misses|6000|0|1|0
file|file|@W@/bin/prog|@W@/bin/prog|prog|0|7|8|0|0|0
add|0|4096|10
file|file|@W@/bin/prog|@W@/bin/prog|prog|0|7|9|1|0|0
add|1|4096|20
file|file|@W@/bin/prog|@W@/bin/prog|prog|1|7|8|0|0|0
add|2|4165|5
flush
END
out 'events side by side' --session-dir=m -l -m all <<'END'
CPU: CPU with timer interrupt
Counted cycles events (Cycles) with a unit mask of 0x00 (No unit mask) count 100000
Counted llc_misses events (Misses) with a unit mask of 0x01 (unit mask set) count 6000
samples  %        samples  %        symbol name
30       100.000  0              0  main
0              0  5        100.000  foo::bar(int)
END
out 'events side by side, by image' --session-dir=m --merge=cpu,tid,tgid <<'END'
CPU: CPU with timer interrupt
Counted cycles events (Cycles) with a unit mask of 0x00 (No unit mask) count 100000
Counted llc_misses events (Misses) with a unit mask of 0x01 (unit mask set) count 6000
    cycles:100000|  llc_misses:6000|
  samples|      %|  samples|      %|
------------------------------------
       30 100.000         5 100.000 prog
END
out 'threads side by side' --session-dir=m -l -n -m cpu,tgid event:cycles <<'END'
10       100.000  20       100.000  main
END
out 'a thread' --session-dir=m -l -n -m all tid:9 <<'END'
20       100.000  main
END
out 'a CPU' --session-dir=m -l -n -m all cpu:0 event:cycles <<'END'
10       100.000  main
END
out 'by unit mask and count' --session-dir=m -l -n -m all unit-mask:1 count:6000 <<'END'
5        100.000  foo::bar(int)
END
{ printf 'session|c\nevent|0|cycles|Cycles|1000|0|0|0\n'
for i in $(seq 0 99); do printf 'file|file|@W@/bin/prog|@W@/bin/prog|prog|0|7|%d|-1|0|0\nadd|%d|4096|1\n' $((i + 10)) "$i"; done
echo flush; } | make_session
refuses 'too many columns: says what to merge' '--merge=tid,cpu$' --session-dir=c -l
out 'merged they are one' --session-dir=c -l -n -m all <<'END'
100      100.000  main
END

# --- saved sessions add up
make_session <<'END'
session|v
event|0|cycles|Cycles|1000|0|0|0
file|file|@W@/bin/prog|@W@/bin/prog|prog|0|-1|-1|-1|0|0
add|0|4096|1
save|before
add|0|4096|2
flush
END
out 'a saved session' --session-dir=v -l -n session:before <<'END'
1        100.000  main
END
out 'two sessions together' --session-dir=v -l -n session:before,current <<'END'
3        100.000  main
END
out 'two, but not one of them' --session-dir=v -l -n session:before,current session-exclude:before <<'END'
2        100.000  main
END

# --- two processes of one application
make_session <<'END'
jo|p/jit/5-00000000deadbeef/0.jo
sym|0|0x40|A.f()
end
jo|p/jit/6-00000000deadbeef/0.jo
sym|0|0x40|A.f()
end
session|p
event|0|cpu-clock|x|0|1000|0|1
file|jit|5-00000000deadbeef/0.jo|/usr/bin/java|java:App|0|5|-1|-1|0|0
add|0|4096|1
file|jit|6-00000000deadbeef/0.jo|/usr/bin/java|java:App|0|6|-1|-1|0|0
add|1|4096|2
flush
END
out 'JIT code of each process has a line' --session-dir=p <<'END'
CPU: unknown
Profiling through timer interrupt
          TIMER:0|
  samples|      %|
------------------
        3 100.000 java:App
	          TIMER:0|
	  samples|      %|
	------------------
	        2 66.6667 java:App [jit] (tgid:6)
	        1 33.3333 java:App [jit] (tgid:5)
END
out 'merged by application' --session-dir=p -l -m tgid <<'END'
CPU: unknown
Profiling through timer interrupt
samples  %        symbol name
3        100.000  A.f()
END

# --- any bytes are legal in names, and none reaches the terminal
make_session <<'END'
jo|h/jit/9-00000000deadbeef/0.jo
sym|0|0x40|evil\x1b[31m\xff<&>"\x07name
end
session|h
event|0|ev"il\x1b|d\x9besc|1000|0|0|0
file|jit|9-00000000deadbeef/0.jo|/bin/a\x1b]0;x\x07|java:\x1b[2J|0|9|-1|-1|0|0
add|0|4096|1
flush
END
for opts in '' -l -d -c --csv; do
	run opreport --session-dir=h $opts
	unlike out $'[\001-\010\013\014\016-\037\177]' "no control byte in opreport $opts"
done
run opreport --session-dir=h -l --json
command -v jq >/dev/null && is $'evil\e[31m\xef\xbf\xbd<&>"\aname' "$(jq -r '.rows[0].symbol' out)" 'JSON keeps the name but for invalid bytes'
run opreport --session-dir=h -d -X
command -v xmllint >/dev/null && check 'XML stays well-formed' xmllint --noout out

# --- errors: one line, what to do
refuses 'no session at all' 'operf COMMAND.*--session-dir'
refuses 'no such directory' 'no profile in nowhere' --session-dir=nowhere
refuses 'nothing matches' 'no samples match' $S -l nosuchprogram
refuses 'no stacks' 'operf --callgraph' --session-dir=t -c
refuses 'no such saved session' 'no session nosuch' $S session:nosuch
refuses 'a bad specification' 'tgid:x: not a number' $S tgid:x
for bad in --sort=size --merge=all,x -t101 -Dpretty; do
	run opreport $S $bad
	{ [ "$status" != 0 ] && grep -q 'not one of\|percentage' err; } && pass "refuses $bad" || fail "refuses $bad"
done
run opreport $S -o /nonexistent/x
{ [ "$status" = 1 ] && grep -q /nonexistent/x err; } && pass 'output file cannot be made' || fail 'output file cannot be made'
[ -w /dev/full ] && { opreport $S >/dev/full 2>err; is 1 $? 'a full disk is noticed'; }

# --- damaged sessions: file and offset, or the whole total; never a crash
files=$(cd s && find samples/ -type f | sort)
n=0 bad=
for f in $files; do
	size=$(stat -c %s "s/$f")
	for at in 0 4 9 16 40 $((size / 2)) $((size - 1)); do
		n=$((n + 1))
		rm -rf d && cp -r s d
		printf '\xa5' | dd of="d/$f" bs=1 seek="$at" conv=notrunc status=none
		timeout 20 opreport --session-dir=d -n -l -c >out 2>err
		status=$?
		[ $status -gt 1 ] && bad="$bad $f@$at:status$status"
		[ $status = 1 ] && ! grep -q 'd/samples' err && bad="$bad $f@$at:unnamed"
	done
	rm -rf d && cp -r s d
	truncate -s $((size / 2)) "d/$f"
	timeout 20 opreport --session-dir=d -n -l >out 2>err
	status=$?
	{ [ $status -gt 1 ] || { [ $status = 0 ] && [ "$(sum <out)" != 1850 ]; }; } && bad="$bad $f:cut"
done
is '' "$bad" "damaged sessions ($n bytes broken, each file cut)"
rm -rf d && cp -r s d
f=$(find d/samples/ -name 'CPU_CLK*' | head -n 1)
printf 'garbage' >"$f"
refuses 'a damaged sample file is named with the offset' 'd/samples/.*(offset|byte|at) ?[0-9]' --session-dir=d -l
rm s/jit/77-00000000deadbeef/0.jo
run opreport $S -l
is 0 "$status" 'a lost image costs names'
like err '0.jo.*no symbols' 'and is told'
is 1850 "$(opreport $S -l -n 2>/dev/null | sum)" 'but no samples'
rm s/kallsyms && mkfifo s/kallsyms s/vdso
run timeout 20 opreport $S -l
is 0 "$status" "a FIFO in place of the kernel's symbols, or of the vdso: no hang"
is 1850 "$(timeout 20 opreport $S -l -n 2>/dev/null | sum)" 'and no samples are lost for it'
# --- more images than files may be open
{
	printf 'session\t%s\ncpu\ttimer\t2000\nevent\t0\tcpu-clock\ttimer\t0\t997\t0\t1\n' "$work/many"
	for i in $(seq 0 2 198); do
		printf 'file\tjit\t%d-00aa/0.jo\t/usr/bin/java\tjava\t0\t%d\t-1\t-1\t0\t0\nadd\t%d\t4112\t5\n' "$i" "$i" "$i"
		printf 'file\tanon\t[vdso]\t/usr/bin/java\tjava\t0\t%d\t-1\t-1\t0x7f0000000000\t0x7f0000002000\nadd\t%d\t4112\t5\n' "$i" $((i + 1))
	done
	printf 'flush\n'
	for i in $(seq 0 2 198); do printf 'jo\t%s\nsym\t0\t64\tmethod\nend\n' "$work/many/jit/$i-00aa/0.jo"; done
	printf 'jo\t%s\nsym\t0\t64\tclock\nend\n' "$work/many/vdso"
} >script
check 'a session of many processes is made' "$build/tests/tools/mksession" <script
truncate -s 8192 many/vdso
(ulimit -Sn 50; opreport -l --session-dir=many) >out 2>err
is '100 100' "$(grep -c ' method$' out) $(grep -c ' clock$' out)" 'more images than the limit of open files: all have their names'
rm -rf many/jit
(ulimit -n 50; opreport -l --session-dir=many) >out 2>err
is 100 "$(grep -c ' clock$' out)" 'and the vdso of any number of processes is open once at most'
done_testing
