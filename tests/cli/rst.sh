#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The trace tools on real traces (where they are) and on one that is made here: decoding to known sums, packing again,
# checking, filters, windows, differences, damage.
. "$(dirname "$0")/lib.sh"
data=${OPJIT_TEST_DATA:-$src/../shared/data}/rst
t=$work/t
mkdir "$t"

# --- a small trace, written by hand: two cpus, a call, a load, a string of two records
hex() { printf '%s' "$*" | tr -d ' ' | sed 's/../\\x&/g' | xargs -0 printf '%b'; }
rec() { local h; h=$(printf '%s' "$*" | tr -d ' '); while [ ${#h} -lt 48 ]; do h=${h}00; done; hex "$h"; }
{
	rec 02020d25 52535420 48656164 65722076 322e3133
	rec 04020000 00000000 00000000 43fbc128
	rec 15686578 20646967 69747320 462d303a 20464544 43424139
	rec 0e383736 35343332 31300000
	rec 0e74657374 20763120
	rec 11800000 00000016 00000000 00000000 05980000 05980000
	rec 13800000 05980598 00000000 01300000 000000ff 00768000
	rec 03480000 c4586008 00000000 00010000 00000002 00000008
	rec 034c0000 40000004 00000000 00010004 00000000 00010014
	rec 03080000 01000000 00000000 00010008
	rec 13800000 05980598 00000000 01300000 000000ff 00768000
	rec 03480000 d4586010 00000000 00010014 00000002 00000010
	rec 0b000000 00000001 00000000 00000000 00000000 00000010
} >"$t/a.rst"
is $((13 * 24)) "$(stat -c %s "$t/a.rst")" 'the made trace is 13 records'
run trconv "$t/a.rst"
is 0 "$status" 'trconv prints it'
like "$work/out" '^ +3 strdesc : "hex digits F-0: FEDCBA9876543210"' 'a string of two records is one, with the number of the last'
like "$work/out" 'cpuid=0 p \[0x0000000000010004\] call 0x10014 +T \[0x0000000000010014\]' 'a call'
like "$work/out" 'ldx \[%g1 \+ 8\], %g2 +\[0x0000000200000008\]' 'a load'
run trconv -c "$t/a.rst"
like "$work/out" '^Counted: 13 records' 'counts'
like "$work/out" '^ +instruction +4$' 'counts instructions'
run trconv -i -n 2 -s 1i -nid "$t/a.rst"
is 2 "$(grep -c '^instr' "$work/out")" '-n, -s with i, -i, -nid'
run trconv -pc=10004,10008 "$t/a.rst"
is 2 "$(grep -c 'instr   :' "$work/out")" '-pc'
run trconv -pa -n 8 "$t/a.rst"
like "$work/out" 'pa=0x10100768008' '-pa: the address and the difference'
run trconv -to rst -i "$t/a.rst"
is $((4 * 24)) "$(stat -c %s "$work/out")" '-to rst writes records'
run trconv -x -n 1 "$t/a.rst"
like "$work/out" '\{02020d25 52535420' '-x shows the bytes'
run trconv "$work/nothing"
is 1 "$status" 'a file that is not there'
run trconv --bogus
is 2 "$status" 'a flag that is none'
run trv -n 3 "$t/a.rst"
is 0 "$status" 'trv without a terminal just prints'

# --- every form there and back
for f in rz2 rz2.gz rz3 rz3.gz rzx rzx.gz; do
	run rstzip -o "$t/a.$f" "$t/a.rst"
	rc=$status
	run rstzip -d -o "$t/back" "$t/a.$f"
	check "$f: there and back" test "$rc$status" = 00 -a "$(sha256sum <"$t/back")" = "$(sha256sum <"$t/a.rst")"
	run rstzip -t "$t/a.$f"
	is 0 "$status" "$f: tested"
	trconv "$t/a.$f" 2>&1 | sed 1d >"$t/x"
	trconv "$t/a.rst" 2>&1 | sed 1d >"$t/y"
	check "$f: trconv reads it" cmp "$t/x" "$t/y"
done
run rstunzip "$t/a.rzx"
check 'rstunzip to stdout' cmp "$work/out" "$t/a.rst"
printf 'junk!' | cat "$t/a.rst" - >"$t/frag"
run rstzip -o "$t/frag.rzx" "$t/frag"
is 1 "$status" 'a part of a record at the end is told'
rstzip -d "$t/frag.rzx" >"$t/back" 2>/dev/null
check 'and kept by rzx' cmp "$t/back" "$t/frag"

# --- damage: what is whole comes out, with status 1 and an offset
for f in rz2 rz3.gz rzx; do
	head -c $(($(stat -c %s "$t/a.$f") * 2 / 3)) "$t/a.$f" >"$t/cut.$f"
	run rstzip -d -o "$t/part" "$t/cut.$f"
	is 1 "$status" "$f cut: status 1"
	like "$work/err" 'offset [0-9]+' "$f cut: an offset"
	check "$f cut: what came out is the beginning" cmp -n "$(stat -c %s "$t/part" 2>/dev/null || echo 0)" "$t/part" "$t/a.rst"
done

# --- check, filters, windows, differences
run rstcheck "$t/a.rst"
is 0 "$status" 'rstcheck is content'
[ "$status" = 0 ] || show "$work/out"
run rstfilter -l
check 'at least 30 filters' test "$(wc -l <"$work/out")" -ge 30
# every switch of rstzip that changes the form: readable, and with what it holds
bad=
for how in '-x -l 1' '-x -l 9' '-x -g -l 3' '-2 --lossy --up' '-2 --lossy --mp --no-gzip' '-3 --lossy --minor 19' '-3 --lossy --minor 20 --nogz' '-0 -g -l 1'; do
	# shellcheck disable=SC2086
	rstzip $how -o "$t/switch" "$t/a.rst" && rstzip -t "$t/switch" >/dev/null && rstzip -d -o "$t/switch.rst" "$t/switch" || bad="$bad [$how]"
	case $how in *lossy*) ;; *) cmp -s "$t/switch.rst" "$t/a.rst" || bad="$bad [$how differs]" ;; esac
done
is '' "$bad" 'rstzip: each switch gives a file that it reads again'
run rstfilter -a 'noStrings cpuRecs mark=hello' -u -o "$t/f.rst" "$t/a.rst"
is 0 "$status" 'a chain of filters'
run trconv "$t/f.rst"
like "$work/out" 'level=3 ' 'each stage counts itself'
like "$work/out" '"hello"' 'the mark is there'
unlike "$work/out" 'FEDCBA' 'the strings are gone'
check '-u: a text of each stage' test -s "$t/f.rst.0-input.txt" -a -s "$t/f.rst.1-noStrings.txt" -a -s "$t/f.rst.3-mark.txt"
run rstfilter -a nonsense "$t/a.rst"
is 2 "$status" 'an unknown filter'
rstfilter -k -a version=2.10 "$t/a.rst" | rstfilter -k -a 'ihash addBrTarg' >"$t/i.rst"
run trconv -e "$t/i.rst"
is '' "$(cat "$work/err")" 'ihash fills the class that trconv -e wants'
bad=0
for n in $(rstfilter -l | awk '{print $1}' | grep -v =); do
	rstfilter -a "$n" "$t/a.rst" >"$t/one" 2>/dev/null && [ $(($(stat -c %s "$t/one") % 24)) = 0 ] && [ -s "$t/one" ] || { bad=$((bad + 1)); echo "# $n"; }
done
is 0 "$bad" 'every filter without a value runs'
run rstsnap -s 3i -n 1i -o "$t/s.rst" "$t/a.rst"
run trconv "$t/s.rst"
like "$work/out" 'FEDCBA9876543210' 'a window has the strings'
like "$work/out" 'preg ' 'the last PREG'
like "$work/out" 'recnum' 'where it was'
like "$work/out" '0x0000000000010014\] ldx' 'and its instruction'
run rstcheck "$t/s.rst"
is 0 "$status" 'and is a well-made trace'
run diffrst -o "$t/d.rst" "$t/a.rst" "$t/a.rst"
is 0 "$status" 'no differences'
rstfilter -k -a clearTime "$t/a.rst" >"$t/c.rst"
run diffrst -o "$t/d.rst" "$t/a.rst" "$t/c.rst"
is 1 "$status" 'differences'
run trconv "$t/d.rst"
like "$work/out" '"Rec# 1"' 'the pairs are in a trace'
run diffrst -allowdiff timestamp -o - "$t/a.rst" "$t/c.rst"
is 0 "$status" 'and allowed ones are none'

# --- samples of an event log
PATH=$build/report:$PATH
"$build/tests/tools/mkevlog" "$t/a.opel" 2000 1
run opevlog convert --rst -o "$t/o.rst" "$t/a.opel"
is 0 "$status" 'opevlog convert --rst'
run trconv -c "$t/o.rst"
is "$(opevlog dump "$t/a.opel" | grep -c ' sample ')" "$(awk '$1 == "instruction" {print $2}' "$work/out")" 'an instruction for each sample'
run rstcheck "$t/o.rst"
is 0 "$status" 'and well made'
[ "$status" = 0 ] || show "$work/out"

# --- the real traces
if [ -f "$data/rst_trace.rz2.gz" ]; then
	sum() { rstzip -d "$1" | sha256sum | cut -d' ' -f1; }
	is 8de610c0684314eb12ae6c3f27a3da3d59c9f3544b56e58ec9eb3693f4047897 "$(sum "$data/rst_trace.rz2.gz")" 'RZ2: 1,048,579 records of 2001'
	is 309d730bc0ea1709f5756a1215f5facf7da464383584a9a34f77aebea9a24bfc "$(sum "$data/rst_trace3.rz3.gz")" 'RZ3: 263,183 records of 2006'
	run rstzip -t "$data/rst_trace.rz2.gz"
	like "$work/err" '4681 checksums agree' 'all stored checksums agree'
	for f in rst_trace.rz2.gz:3652 rst_trace3.rz3.gz:26332; do
		run rstzip -o "$t/r.rzx" "$data/${f%:*}"
		check "rzx is smaller than ${f#*:} bytes ($(stat -c %s "$t/r.rzx"))" test "$(stat -c %s "$t/r.rzx")" -lt "${f#*:}"
		is "$(sum "$data/${f%:*}")" "$(sum "$t/r.rzx")" 'and lossless'
	done
	run rstzip -3 -o "$t/r.rz3" "$data/rst_trace.rz2.gz"
	is 1 "$status" 'RZ3 would lose data of the first and is refused'
	run rstcheck -m 0 "$data/rst_trace.rz2.gz"
	is '1 warning 4,1 warning 8,2 warning 8,3 warning 7,' "$(awk '$2 == "warning" || $2 == "error" || $2 == "note" {print $1, $2, $3}' "$work/out" | sort | tr '\n' ,)" \
		'the first: no level record, no producer, stale bytes in PREG and PAVADIFF, nothing else'
	run rstcheck -m 0 -q "$data/rst_trace3.rz3.gz"
	is '9 of rule 8,21182 of rule 14,2 of rule 21,549 of rule 42,' "$(awk '$2 == "of" {print $1, $2, $3, $4}' "$work/out" | tr '\n' ,)" \
		'the third: stale bytes, loads without address, two fetch traps, slots left out, nothing else'
	head -c 20000 "$data/rst_trace3.rz3.gz" >"$t/cut3"
	run rstzip -d -o "$t/part" "$t/cut3"
	check 'cut inside gzip: a whole section, status 1' test "$status" = 1 -a "$(stat -c %s "$t/part")" = $((131072 * 24))
else
	skip 'no real traces here'
fi
done_testing
