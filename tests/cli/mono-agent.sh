#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The Mono agent by itself: names, lines and kinds in its image; output of the program as without it; bad options.
. "$(dirname "$0")/lib.sh"
need mono mcs nm
agent=$build/agents/mono/.libs
[ -e "$agent/libmono-profiler-oprofile.so" ] || skip_all 'built without the Mono agent'
mkdir "$work/m" && cd "$work/m" || exit 1
cp "$src/tests/java/Hot.cs" .
run mcs -nowarn:0649 -debug -out:hot.exe Hot.cs
is 0 "$status" 'mcs compiles the program'
run mono hot.exe 20000
cp "$work/out" plain
under() { run env LD_LIBRARY_PATH="$agent" OPJIT_DIR="$work/jit" OPJIT_LOG="$work/log" mono "$@"; }
under --debug --profile=oprofile hot.exe 20000
is 0 "$status" 'exit status'
is "$(cat plain)" "$(cat "$work/out")" 'output as without the agent'
is '' "$(cat "$work/err")" 'nothing on stderr'
[ ! -s "$work/log" ] && pass 'nothing logged' || { fail 'nothing logged'; show "$work/log"; }
img=$(ls "$work"/jit/*/0.jo)
nm "$img" >names
for n in 'Hot:Twice \(long\)' 'Hot:Once \(long\)' 'Pair`1<string>:Work<int> \(long,int\)' 'Hot/<Later>c__async0:MoveNext \(\)' \
	'unbox trampoline Hot/<Later>c__async0:MoveNext' '\(wrapper ' 'IMT trampoline|generics trampoline|specific trampoline'; do
	like names " T .*$n" "named: $n"
done
run opjitconv -o sealed.jo "$img"
is 0 "$status" 'the image can be sealed'
a=$(awk '/ T Hot:Twice/ {print $1}' names)
is "$(grep -n 'static long Twice' Hot.cs | cut -d: -f1)" "$(addr2line -e sealed.jo "0x$a" | sed 's/.*://')" 'the line of a method, from .mdb'
under --profile=oprofile:nonsense=3,max=64m hot.exe 20
is 0 "$status" 'an unknown option does not stop the program'
like "$work/err" 'nonsense=3.*ignored' 'and is named'
under --profile=oprofile:dir=/proc/nowhere hot.exe 20
is 0 "$status" 'a directory that cannot be made does not stop the program'
under --profile=oprofile:help hot.exe 20
like "$work/err" 'lines=0\|1' 'help'
mono --aot=outfile=hot.exe.so hot.exe >aot 2>&1 || :
if [ -s hot.exe.so ]; then
	rm -rf "$work"/jit/*
	under --profile=oprofile hot.exe 20000
	is "$(cat plain)" "$(cat "$work/out")" 'ahead-of-time compiled: the same output'
	nm "$work"/jit/*/0.jo >aotnames
	like aotnames ' T Hot:Twice \(long\)' 'ahead-of-time code is told as well'
else
	skip 'mono --aot makes no image here'
fi
done_testing
