#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Sealed images: five independent readers agree on functions, inlined frames and lines; linters find nothing.
. "$(dirname "$0")/lib.sh"
fixture=$build/tests/tools/seal-fixture
img=$work/a.jo
check 'a sealed image of known content' "$fixture" "$img"

# What each address says: innermost first, function and file:line.
truth() {
	case $1 in
	0x1000) echo 'com.acme.Outer.run(int) com/acme/Outer.java:10' ;;
	0x1012) printf '%s\n' 'com.acme.Middle.mid(int) com/acme/Middle.java:20' 'com.acme.Outer.run(int) com/acme/Outer.java:12' ;;
	0x1024) printf '%s\n' 'com.acme.Inner.inner(int) org/else/Inner.java:30' 'com.acme.Middle.mid(int) com/acme/Middle.java:21' \
		'com.acme.Outer.run(int) com/acme/Outer.java:12' ;;
	0x1035) printf '%s\n' 'com.acme.Middle.mid(int) com/acme/Middle.java:22' 'com.acme.Outer.run(int) com/acme/Outer.java:12' ;;
	0x1041) echo 'com.acme.Outer.run(int) com/acme/Outer.java:13' ;;
	0x1055) printf '%s\n' 'com.acme.Inner.inner(int) org/else/Inner.java:31' 'com.acme.Middle.mid(int) com/acme/Middle.java:21' \
		'com.acme.Outer.run(int) com/acme/Outer.java:12' ;;
	0x1080) echo 'plain() Plain.java:100' ;;
	0x10bf) echo 'plain() Plain.java:101' ;; # the last byte still has its line
	esac
}
# Two lines a frame (function, then ./file:line) to one.
pairs() { sed -e 's, inlined at .*,,' | paste -d' ' - - | sed -E 's, (\./)+, ,; s/:([0-9]+):0$/:\1/; s, \(discriminator [0-9]+\),,'; }
for a in 0x1000 0x1012 0x1024 0x1035 0x1041 0x1055 0x1080 0x10bf; do
	is "$(truth $a)" "$(addr2line -fie "$img" $a | pairs)" "addr2line -i $a"
	is "$(truth $a)" "$(eu-addr2line -fie "$img" $a | pairs)" "eu-addr2line -i $a"
	llvm=$(command -v llvm-symbolizer || command -v llvm-symbolizer-14)
	if [ -n "$llvm" ]; then
		is "$(truth $a)" "$("$llvm" --inlines -e "$img" $a | sed '/^$/d' | pairs)" "llvm-symbolizer --inlines $a"
	else
		skip 'no llvm-symbolizer here'
	fi
	is "$(truth $a | head -n 1 | sed 's/.*://')" \
		"$(gdb -nx -batch -ex "info line *$a" "$img" 2>/dev/null | sed -n 's/^Line \([0-9]*\) of .*/\1/p')" "gdb info line $a"
done
lint() {
	local f=$1 what=$2
	run eu-elflint --gnu-ld "$f"
	is 'No errors' "$(cat "$work/out")" "$what: eu-elflint"
	run readelf -aW --debug-dump "$f"
	is '' "$(cat "$work/err")" "$what: readelf -a --debug-dump has nothing to say"
	local dd
	dd=$(command -v llvm-dwarfdump || command -v llvm-dwarfdump-14)
	if [ -n "$dd" ]; then
		run "$dd" --verify "$f"
		is 0 "$status" "$what: llvm-dwarfdump --verify"
		[ $status = 0 ] || show "$work/out"
	else
		skip 'no llvm-dwarfdump here'
	fi
}
lint "$img" 'three regions'
run nm "$img"
like "$work/out" '^0000000000001080 T plain\(\)$' 'nm'
run gdb -nx -batch -ex 'info symbol 0x1030' -ex 'disassemble 0x1000,0x1002' "$img"
like "$work/out" 'com.acme.Outer.run\(int\) \+ 48 in section .text' 'gdb info symbol'
like "$work/out" 'nop' 'gdb disassemble'
run objdump -d "$img"
like "$work/out" '<com.acme.Outer.run\(int\)>:' 'objdump -d'
run readelf --debug-dump=frames "$img"
like "$work/out" 'DW_CFA_def_cfa: r7 \(rsp\) ofs 32' 'the unwind rows are there'
check 'the same content gives the same bytes' bash -c "'$fixture' '$work/b.jo' && cmp '$img' '$work/b.jo'"
check '2,000 regions' "$fixture" "$work/many.jo" 2000
lint "$work/many.jo" '2,000 regions'
done_testing
