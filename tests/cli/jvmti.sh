#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The Java agent, loaded at the start, on each JDK here: what it tells, and that the program notices nothing.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
agent=$build/agents/jvmti/.libs/libjvmti_oprofile.so
dump=$build/tests/tools/instance-dump
[ -f "$agent" ] || skip_all "configured --without-jvmti"
[ -n "$(jdks)" ] || skip_all "no JDK here"

hot_line() { grep -n "// $1" "$src/tests/java/com/acme/Hot.java" | cut -d: -f1; }
# instance OUTPUT: dumps the one instance there is to OUTPUT, and removes it.
instance() {
	local d=("$OPJIT_DIR"/*-*)
	{ [ ${#d[@]} = 1 ] && [ -d "${d[0]}" ]; } || { echo "no single instance: ${d[*]}" >"$1"; return 1; }
	"$dump" "${d[0]}" >"$1" 2>&1
	local r=$?
	rm -rf "${d[0]}"
	return $r
}

# has REGEX DESCRIPTION: the dump has such a line. A dump is too long to be shown.
has() { check "$2" grep -qE -- "$1" "$work/dump"; }

same_as_without() { # same_as_without WHAT AGENT-OPTION JAVA ARGS…: same output and status
	local what=$1 option=$2 java=$3
	shift 3
	"$java" "$@" >"$work/out0" 2>"$work/err0"
	local status0=$?
	"$java" "$option" "$@" >"$work/out1" 2>"$work/err1"
	local status1=$?
	is "$status0 $(cat "$work/out0" "$work/err0")" "$status1 $(cat "$work/out1" "$work/err1")" "$what"
	rm -rf "${OPJIT_DIR:?}"/*-*
}

for jdk in $(jdks); do
	name=$(basename "$jdk")
	java=$jdk/bin/java classes=$work/classes-$name
	mkdir -p "$classes"
	"$jdk/bin/javac" -g -d "$classes" "$src"/tests/java/{Churn,Spin}.java "$src/tests/java/com/acme/Hot.java" || { fail "$name: javac"; continue; }

	same_as_without "$name: -version prints the same" "-agentpath:$agent" "$java" -version
	same_as_without "$name: a program that fails fails the same" "-agentpath:$agent=max=8m" "$java" -cp "$classes" NoSuchClass

	# What is told of a small program.
	run "$java" -Xbatch -agentpath:"$agent=log=$work/log" -cp "$classes" com.acme.Hot
	is '0 done' "$status $(cat "$work/out" "$work/err")" "$name: the program runs"
	check "$name: one instance, readable to its end" instance "$work/dump"
	check "$name: nothing was logged" test ! -s "$work/log"
	has '^source hotspot lag=1000000000 events=[0-9]+ bad=0$' "$name: the source says who it is"
	has '^close$' "$name: the instance is closed at the end"
	has '^heap addr=[0-9a-f]+ size=[0-9]+ Code' "$name: code heaps have bounds"
	has '^load [0-9]+ kind=1 .* call_stub$' "$name: stubs"
	has '^load [0-9]+ kind=3 .* I2C/C2I adapters\(0x[0-9a-f]*\)$' "$name: adapters, without their addresses"
	has '^load [0-9]+ kind=1 .* jni_fast_GetIntField$' "$name: stubs that no event tells of"
	has '^load [0-9]+ kind=1 .* flags=1 .* native signature handlers$' "$name: with what bytes they have"
	unlike "$work/dump" '^load .* (adapters|Compile::.*|.*[Tt]emp.* .*[Bb]uffer)$' "$name: no buffers that are never run"
	is "" "$(sed -n 's/^load [0-9]* kind=[123] .* addr=\([0-9a-f]*\) .*/\1/p' "$work/dump" | sort | uniq -d)" "$name: nothing of this is told twice"
	has '^load [0-9]+ kind=2 .* Interpreter: invokevirtual$' "$name: the interpreter by codelet"
	check "$name: more than 200 codelets" test "$(grep -c ' kind=2 ' "$work/dump")" -gt 200
	has ' kind=0 tier=4 flags=0 osr=-1 .* \[com/acme/Hot.java\] com.acme.Hot.top\(int, String, int\[\]\)$' \
		"$name: a method by name, tier and source with its package"
	has ' kind=0 tier=[1-4] flags=4 osr=[0-9]+ .* com.acme.Hot.(top|main)\(' "$name: on-stack replacement with its bci"
	has ' com.acme.Hot.lambda\$main\$0\(long\)( |$)' "$name: a lambda's body"
	has ' com.acme.Hot\$\$Lambda.*/0x[0-9a-f]+\.applyAsLong\(long\)$' "$name: a hidden class, as Java writes it"
	unlike "$work/dump" '^load [0-9]+ kind=0 tier=-1 .* com.acme' "$name: each of the program's methods has a tier"
	is 0 "$(grep -c 'of nothing live' "$work/dump")" "$name: no unload without a load"

	# The innermost of three frames, and the lines on the way, in the method compiled by C2.
	awk '/^load/ { on = / tier=4 .* com.acme.Hot.top\(/ } on' "$work/dump" >"$work/top"
	leaf=$(sed -n "s/^ frame \([0-9]*\) \([0-9]*\) com.acme.Hot\$Inner.leaf(long, int\[\]) com\/acme\/Hot.java call $(hot_line MID)\$/\1 \2/p" "$work/top" | head -n 1)
	check "$name: leaf is inlined, called on its line of mid" test -n "$leaf"
	like "$work/top" "^ frame ${leaf#* } -1 com.acme.Hot.mid\\(long, int\\[\\]\\) com/acme/Hot.java call $(hot_line TOP)\$" \
		"$name: mid around it, called on its line of top"
	like "$work/top" "^ range [0-9]+ ${leaf% *} $(hot_line LEAF)\$" "$name: a range is on leaf's line"
	like "$work/top" "^ line [0-9]+ $(hot_line LEAF) -\$" "$name: the line table has the innermost line"
	check "$name: unwind rows" grep -q '^ unwind 0 cfa=r7+8 ra=-8' "$work/top"
	# Where a range begins is where the one before ends: nothing before the first instruction, nothing twice.
	is "" "$(awk '/^load/ { p = -1 } /^ range/ { if ($2 <= p && p >= 0) print; p = $2 } /^ line/ { next }' "$work/dump")" \
		"$name: ranges ascend"
	is "" "$(awk '/^load/ { first = 1 } /^ line/ { if (first && $2 != 0) print; first = 0 }' "$work/dump")" "$name: lines begin with the code"

	# lines=
	run "$java" -Xbatch -agentpath:"$agent=lines=outer" -cp "$classes" com.acme.Hot
	instance "$work/dump"
	check "$name: lines=outer has lines and no frames" sh -c "grep -q '^ line' '$work/dump' && ! grep -q '^ frame' '$work/dump'"
	run "$java" -Xbatch -agentpath:"$agent=lines=none" -cp "$classes" com.acme.Hot
	instance "$work/dump"
	check "$name: lines=none has names only" sh -c "grep -q 'Hot.top' '$work/dump' && ! grep -q '^ line' '$work/dump'"

	# Classes that come and go, in a small code cache.
	run "$java" -Xmx64m -XX:ReservedCodeCacheSize=3m -agentpath:"$agent" -cp "$classes" Churn 300
	is '0 churned' "$status $(grep -v '^OpenJDK.*warning' "$work/out" "$work/err" -h)" "$name: the churning program runs"
	instance "$work/dump"
	loads=$(grep -c '^load .* Churn\$Work.applyAsInt(int)$' "$work/dump")
	check "$name: every copy of the class is a method of its own ($loads)" test "$loads" -ge 250
	awk '/^load .* Churn\$Work/ { mine[$2] = 1 } /^unload/ && mine[$2] { n++ } END { print n + 0 }' "$work/dump" >"$work/n"
	check "$name: and most are unloaded ($(cat "$work/n"))" test "$(cat "$work/n")" -gt $((loads / 2))
	awk '/^load/ && / kind=0 / { sub("addr=", "", $7); if ($7 in seen) n++; seen[$7] = 1 } END { print n + 0 }' "$work/dump" >"$work/n"
	check "$name: addresses are used again ($(cat "$work/n"))" test "$(cat "$work/n")" -gt 20

	# Options.
	run "$java" -agentpath:"$agent=colour=red,lines=few,max=1x,bare" -version
	is 4 "$(grep -c '^libjvmti_oprofile: ' "$work/err")" "$name: four bad options, four lines"
	like "$work/err" '^libjvmti_oprofile: .*"colour"' "$name: the unknown one is named"
	is 0 "$status" "$name: and the VM starts"
	run "$java" -agentpath:"$agent=help" -version
	like "$work/err" '^  dir=DIR' "$name: help"
	is 0 "$status" "$name: and the VM starts"
	rm -rf "${OPJIT_DIR:?}"/*-*
	mkdir -p "$work/a,b"
	run "$java" -agentpath:"$agent=dir=$work/a\\,b" -version
	check "$name: a comma in a directory" sh -c "ls '$work/a,b/'*-*/ring >/dev/null"
	rm -rf "$work/a,b"

	# Where nothing can be written.
	same_as_without "$name: no directory, same output" "-agentpath:$agent=dir=/proc/nowhere,log=$work/log" "$java" -cp "$classes" com.acme.Hot
	is 1 "$(grep -c 'the directory asked for is not there, so another is taken: no such file' "$work/log")" "$name: and one line in the log tells"
	rm -f "$work/log"
	mkdir -p "$work/theirs" && chmod 0700 "$work/theirs"
	if [ "$(id -u)" = 0 ]; then
		cp "$agent" "$work/agent.so" && chmod 0755 "$work/agent.so"
		chmod -R a+rX "$classes"
		run setpriv --reuid=65534 --regid=65534 --clear-groups "$java" -agentpath:"$work/agent.so=dir=$work/theirs" -cp "$classes" com.acme.Hot
		is '0 done' "$status $(cat "$work/out" "$work/err")" "$name: another user's directory, same output"
	else
		skip "not root"
	fi

	# Few file descriptors: whatever number the VM can start with, it starts with the agent too.
	for n in 4 5 6 7 8 10 14; do
		(ulimit -n $n; "$java" -Xshare:auto -cp "$classes" com.acme.Hot) >"$work/out0" 2>"$work/err0" || continue
		(ulimit -n $n; "$java" -agentpath:"$agent" -cp "$classes" com.acme.Hot) >"$work/out1" 2>"$work/err1"
		status=$?
		is "$status $(cat "$work/out1" "$work/err1")" "0 $(cat "$work/out0" "$work/err0")" "$name: runs with $n file descriptors"
		break
	done
	rm -rf "${OPJIT_DIR:?}"/*-*

	# Twice the same agent.
	run "$java" -agentpath:"$agent" -agentpath:"$agent" -cp "$classes" com.acme.Hot
	is '0 done' "$status $(cat "$work/out" "$work/err")" "$name: given twice"
	check "$name: makes one instance" instance "$work/dump"
done
done_testing
