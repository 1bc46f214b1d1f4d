#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# opcontrol --symbolize: other tools' addresses of a running process become names, out of each source that operf has.
. "$(dirname "$0")/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip_all 'the fixture makes x86-64 code'
cd "$work" || exit 1
fakejit=$build/tests/fakejit/fakejit
export FAKEJIT_DIR=$work
opdump_dir
maps=()
trap 'rm -f "${maps[@]}"; opdump_dir_done; cleanup' EXIT
names() { timeout 60 opcontrol --symbolize=$p; }

for source in opagent jitdump perfmap opdump; do
	# The truth is written at the end, so the first makes known where the code is: the same each time without randomisation.
	printf 'area anon 65536\nsource %s\nmake first 0 512\nmake second 4096 512\nspin first 1\nspin second 1\nsleep 60000\n' $source >s.jit
	rm -f truth
	setarch -R "$fakejit" truth <(grep -v sleep s.jit) || { fail "$source: the fixture"; continue; }
	first=$(printf %x "$(awk '$1 == "R" && $4 == "first" { print $5 }' truth)")
	p=$(awk '$1 == "R" { print $2; exit }' truth)
	maps+=("/tmp/perf-$p.map" "/tmp/.oprofile/jitdump/$p.dump")
	setarch -R "$fakejit" truth s.jit & p=$!
	later $p
	maps+=("/tmp/perf-$p.map" "/tmp/.oprofile/jitdump/$p.dump")
	# shellcheck disable=SC2016
	wait_for 30 sh -c 'grep -q "^State:.S" /proc/$1/status && [ "$(cut -d" " -f1 /proc/$1/syscall)" = 230 ]' sh $p # clock_nanosleep
	{
		printf '0x%x\n' $((0x$first + 5))
		printf '  %x in the middle of %x, at its end 0x%x.\n' $((0x$first + 4096)) $((0x$first)) $((0x$first + 511))
		printf '0x%x behind\nabc\n0xyz 0x\n%s\n' $((0x$first + 512)) "$(printf '%x' "0x$first")"
	} >asked
	names <asked >answer 2>err
	is "0 " "$? $(cat err)" "$source: it answers"
	is "$(printf 'first\n  second in the middle of %x, at its end first.\n0x%x behind\nabc\n0xyz 0x\nfirst' $((0x$first)) $((0x$first + 512)))" "$(cat answer)" \
		"$source: what has a name has it, the rest is as it was"
	[ $source = opagent ] || { kill $p; continue; }
	# The fixture's own code, and a library's.
	base=$(awk '$3 ~ /^0+$/ && /fakejit$/ { split($1, a, "-"); print a[1]; exit }' "/proc/$p/maps")
	main=$(nm "$fakejit" | awk '$2 == "T" && $3 == "main" { print $1 }')
	is main "$(printf '0x%x\n' $((0x$base + 0x$main)) | names)" 'a function of the program'
	lib=$(awk '$2 ~ /x/ && /libc\.so/ { split($1, a, "-"); print a[1], $3, $6; exit }' "/proc/$p/maps")
	read -r at offset file <<<"$lib"
	# Offset and address are one in the library's text.
	getpid=$(nm -D "$file" | awk '$3 ~ /^getppid(@|$)/ { print $1; exit }')
	like <(printf '0x%x\n' $((0x$at - 0x$offset + 0x$getpid)) | names) '^_*getppid$' 'a function of a library'
	is '0xffffffff81000000 0x1' "$(echo '0xffffffff81000000 0x1' | names)" 'the kernel and nothing: as they came'
	is '' "$(names </dev/null)" 'nothing asked, nothing said'
	is "$(head -c 200000 /dev/zero | tr '\0' a | md5sum)" "$(head -c 200000 /dev/zero | tr '\0' a | names | md5sum)" 'a long line comes through'
	kill $p
done

# What is made while it runs, and after the end of the process.
printf 'area anon 65536\nsource opagent\nmake early 0 512\nawait go\nmake late 4096 512\nawait end\n' >s.jit
setarch -R "$fakejit" truth s.jit & p=$!
later $p
# told NAME: it is in an image of the process; answered N: lines; by polling.
told() { wait_for 30 sh -c 'nm "$1"/*.jo 2>/dev/null | grep -q " $2\$"' sh "$(echo "$OPJIT_DIR/$p"-*)" "$1"; }
answered() { wait_for 30 sh -c "[ \"\$(wc -l <answer)\" = $1 ]"; }
at=$((0x$first))
wait_for 30 sh -c "ls '$OPJIT_DIR'/$p-*/ring >/dev/null 2>&1"
told early
{
	printf '0x%x\n' $at; answered 1; true >go; told late
	sleep 1.2 # it looks anew once a second
	printf '0x%x\n' $((at + 4096)); answered 2; true >end; wait_for 30 sh -c "! kill -0 $p"
	sleep 1.2
	printf '0x%x\n' $at
} 2>/dev/null | names >answer
is 'early late early ' "$(tr '\n' ' ' <answer)" 'also of code that comes later, and when the process has ended'

run timeout 20 opcontrol --symbolize=999999999 </dev/null
is 1 "$status" 'no such process: refused'
like err '^opcontrol: error: cannot look at process 999999999: No such process' 'and said'
run timeout 20 opcontrol --symbolize=x </dev/null
like err 'not a process number: x' 'no number: said'
if [ "$(id -u)" = 0 ]; then
	sleep 60 & p=$!
	later $p
	run timeout 20 setpriv --reuid=65534 --regid=65534 --clear-groups "$build/control/opcontrol" --symbolize=$p </dev/null
	is 1 "$status" "another user's process: refused"
	like err 'cannot look at process .*run as its user or as root' 'with what to do'
else
	skip 'another user needs root'
fi
if command -v node >/dev/null; then
	echo 'function hotspot(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s } for (;;) hotspot(1e6)' >a.js
	node --perf-basic-prof a.js & p=$!
	later $p
	maps+=("/tmp/perf-$p.map")
	wait_for 60 grep -qs '\*hotspot' "/tmp/perf-$p.map"
	a=$(awk '/\*hotspot/ { a = $1 } END { print a }' "/tmp/perf-$p.map")
	like <(echo "0x$a" | names) 'hotspot' 'a function of node'
	kill $p
else
	skip 'no node here'
fi
done_testing
