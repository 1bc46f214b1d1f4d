#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The name of each sample against what a JIT with a known truth really ran. doc/attribution.md tells the rules.
. "$(dirname "$0")/lib.sh"
may_sample || skip_all "perf_event_open is not allowed here"
[ "$(uname -m)" = x86_64 ] || skip_all "fakejit makes x86-64 code"
cd "$work" || exit 1
fakejit=$build/tests/fakejit/fakejit judge=$build/tests/fakejit/judge
export FAKEJIT_DIR=$work

# played NAME: runs the script on stdin under operf; $work/NAME.truth and NAME.s/log/events.opel
played() {
	cat >"$1.jit"
	if ! operf --freq 997 --keep-log -d "$1.s" "$fakejit" "$work/$1.truth" "$work/$1.jit" >"$1.out" 2>&1; then
		show "$1.out"
		return 1
	fi
}
# truth NAME DESCRIPTION [OPTION…]: the script on stdin, judged.
truth() {
	local name=$1 what=$2
	shift 2
	if played "$name" && "$judge" "$@" "$name.truth" "$name.s/log/events.opel" "$name.j" >"$name.verdict" 2>&1; then
		pass "$what"
	else
		fail "$what"
		show "$name.out"
		"$judge" --dump "$name.truth" "$name.s/log/events.opel" "$name.d" 2>&1 | grep -vE ' (right|near) truth' | head -40 | sed 's/^/# /'
	fi
	sed "s/^/# $name: /" "$name.verdict"
}

truth reuse '200 versions at one address, stamped at the change: right, and in the right shares' --share <<'END'
area anon 65536
source opagent
versions 200 15 4096 512
END
if opreport --session-dir="$work/reuse.s" -l >reuse.report 2>/dev/null; then
	"$judge" --counts reuse.truth reuse.s/log/events.opel reuse.c | sort >reuse.want
	awk '$NF ~ /^v[0-9]+_/ { print $1, $NF }' reuse.report | sort >reuse.got
	check 'opreport prints 200 versions' test "$(wc -l <reuse.got)" = 200
	check 'each with its samples' cmp reuse.want reuse.got
fi
# A judge that cannot fail would be worth nothing: the versions' names turned by one must not pass.
if [ -e reuse.truth ]; then
	awk '$1 == "R" { n = $4; $4 = last == "" ? n : last; last = n } { print }' reuse.truth >turned.truth
	check 'names turned by one version are found wrong' sh -c \
		"! '$judge' turned.truth reuse.s/log/events.opel turned.j >turned.verdict"
	like turned.verdict 'right 0\.[0-9]+ %' 'all of them'
fi
truth lost 'unloads lost' --share <<'END'
area anon 65536
source opagent
set unload off
versions 60 15 4096 512
END
truth delayed 'told 50 ms late, with true stamps' --share <<'END'
area anon 65536
source opagent
set delay 50
versions 60 15 4096 512
END
truth stamped 'stamped 5 ms late, unloads prompt' <<'END'
area anon 65536
source opagent 20
set stamp 5
versions 60 30 4096 512
END
truth silent 'stamped 5 ms late, no unloads: ambiguous, never silently wrong' --ambiguous <<'END'
area anon 65536
source opagent 20
set stamp 5
set unload off
versions 40 60 4096 512
END
check 'and there are such samples' grep -qE 'ambiguous [1-9]' silent.verdict
truth ended 'loads and unloads stamped 20 ms late: ambiguous where the newer ran already, never silently wrong' --ambiguous <<'END'
area anon 65536
source opagent 30
set stamp 20
set late 20
versions 40 60 4096 512
END
check 'and there are such samples' grep -qE 'ambiguous [1-9]' ended.verdict
truth gone 'nothing told of each third version: without a name, but never with a wrong one' --min 50 --ambiguous <<'END'
area anon 65536
source opagent
set lose 3
versions 60 15 4096 512
END
check 'and there are such samples' grep -qE 'unresolved [1-9]' gone.verdict
truth early 'told 5 ms before the code is there' --share <<'END'
area anon 65536
source opagent
set early 5
versions 40 15 4096 512
END
truth forkdump 'a fork in the middle of a jitdump: the child inherits its code and writes its own dump' --ambiguous <<'END'
area anon 65536
source jitdump
make a 4096 512
make b 8192 512
spin a 200
fork 4
spin a 200
make c 8192 512
spin c 300
spin a 100
spin b 300
wait
END
truth forkmap 'a fork in the middle of a perf map: the same' <<'END'
area anon 65536
source perfmap
make a 4096 512
make b 8192 512
sleep 300
spin a 300
fork 3
make c 12288 512
sleep 300
spin c 300
spin b 300
wait
END
awk '$1 == "R" { print "/tmp/perf-" $2 ".map" }' forkmap.truth | sort -u | xargs rm -f
# Attached to while it runs: code of before and of after, in one instance.
cat >late.jit <<'END'
area anon 65536
source opagent
make a 4096 512
make b 8192 512
spin a 300
make c 12288 512
versions 10 15 16384 512
await go
spin a 300
versions 40 15 16384 512
drop b
make d 8192 512
spin d 300
spin c 200
END
"$fakejit" late.truth late.jit &
p=$!
later $p
wait_for 60 grep -qs '^230 ' /proc/$p/syscall # clock_nanosleep: it waits for us
operf --freq 997 --keep-log -d late.s --pid $p >out 2>err & op=$!
later $op
watched late.s $op
true >go
wait $p
wait $op
if "$judge" late.truth late.s/log/events.opel late.j >late.verdict 2>&1; then
	pass 'attached to in the middle: the code of before and of after'
else
	fail 'attached to in the middle: the code of before and of after'
	show err
fi
sed 's/^/# late: /' late.verdict
truth overlap 'overlapping partly: what is not covered stays its own' <<'END'
area anon 65536
source opagent
make a 4096 512 200
spin a 300
make b 4352 512
spin b 300
spin a 300
make c 4000 2000
spin c 300
drop c
END
truth moved 'code moved, and its old place used anew' <<'END'
area anon 65536
source opagent
make a 4096 512
spin a 300
move a 8192
make b 4096 512
spin a 300
spin b 300
move a 16384
spin a 300
END
truth forked 'a fork in the middle: inherited and new code in the child, reuse in the parent' <<'END'
area anon 65536
source opagent
make a 4096 512
make b 8192 512
spin a 200
fork 5
spin a 200
make c 8192 512
spin c 300
versions 10 15 16384 512
spin a 100
drop a
versions 20 15 4096 512
spin b 200
wait
END
truth memfd 'two mappings of one memfd' <<'END'
area memfd 65536
source opagent
versions 40 15 4096 512
END
truth protect 'RW made RX before each run' <<'END'
area wx 65536
source opagent
versions 40 15 4096 512
END
truth huge 'huge pages' <<'END'
area huge 4194304
source opagent
versions 20 15 2097152 512
END
truth remap 'the mapping moved with mremap, then grown' <<'END'
area anon 65536
source opagent
make a 4096 512
make b 8192 512
spin a 200
spin b 200
remap
spin a 200
grow 65536
make c 69632 512
spin c 200
spin b 200
versions 20 15 4096 512
END
cat >second.jit <<'END'
area anon 65536
source opagent
make after 4096 512
spin after 300
versions 20 15 8192 512
END
truth exec 'exec in the middle' <<END
area anon 65536
source opagent
make before 4096 512
spin before 300
versions 20 15 8192 512
exec $work/second.jit
END
truth threads 'two threads, each with its own address' <<'END'
area anon 65536
source opagent
thread 1
versions 40 15 4096 512
versions 40 15 8192 512
join
END
truth two 'two JITs in one process: libopagent and a jitdump' --ambiguous <<'END'
area anon 65536
source opagent
make a 4096 512
spin a 300
source jitdump
make b 8192 512
spin b 300
versions 20 15 16384 512
jit 0
drop a
versions 20 15 4096 512
spin b 200
END
truth dropin 'the drop-in interface, which stamps by itself' --share <<'END'
area anon 65536
source dropin
versions 60 15 4096 512
END
truth jitdump 'a jitdump, which knows no unload: the right name; near the next load counted as ambiguous' --share <<'END'
area anon 65536
source jitdump
versions 60 30 4096 512
END
truth perfmap 'a perf map of code that stays' --share <<'END'
area anon 65536
source perfmap
make a 4096 512
make b 8192 512
make c 12288 512
sleep 300
spin a 600
spin b 400
spin c 200
END
map=/tmp/perf-$(awk '$1 == "R" { print $2; exit }' perfmap.truth).map
check 'the map of a program that was not asked for one stays' test -s "$map"
rm -f "$map"
if opdump_dir; then
	truth opdump 'OProfile'"'"'s own dump, which knows whole seconds alone' --share <<'END'
area anon 65536
source opdump
make a 4096 512
make b 8192 512
make c 12288 512
sleep 300
spin a 600
spin b 400
spin c 200
END
	rm -f "/tmp/.oprofile/jitdump/$(awk '$1 == "R" { print $2; exit }' opdump.truth).dump"
	opdump_dir_done
else
	skip 'no writable /tmp/.oprofile/jitdump'
fi

# --- beside perf, in one run: its jitdump through inject, and its map
beside() {
	cat >side.jit <<'END'
area anon 65536
source opagent
also jitdump
also perfmap
versions 200 15 4096 512
END
	operf --freq 997 --keep-log -d side.s perf --buildid-dir "$work/debug" record -q -B -N -k mono -e cpu-clock -F 997 -o side.data \
		"$fakejit" "$work/side.truth" "$work/side.jit" >side.out 2>&1 || { show side.out; return 1; }
	"$judge" --share side.truth side.s/log/events.opel side.j >side.verdict 2>&1
	status=$?
	sed 's/^/# opjit: /' side.verdict
	[ $status = 0 ] || "$judge" --dump side.truth side.s/log/events.opel side.d | grep -vE ' (right|near) truth' | head -20 | sed 's/^/# /'
	perf --buildid-dir "$work/debug" inject --jit -i side.data -o side.jitted >>side.out 2>&1
	perf --buildid-dir "$work/debug" script --ns -F pid,tid,time,ip,sym -i side.data >side.map 2>>side.out
	perf --buildid-dir "$work/debug" script --ns -F pid,tid,time,ip,sym -i side.jitted >side.inject 2>>side.out
	"$judge" --perf side.truth side.inject | sed 's/^/# perf inject --jit: /'
	"$judge" --perf side.truth side.map | sed 's/^/# perf map: /'
	rm -f "/tmp/perf-$(awk '$1 == "R" { print $2; exit }' side.truth).map"
	return $status
}
if perf record -k mono -e cpu-clock -o "$work/try.data" true >/dev/null 2>&1; then
	check '200 versions again, told in three ways at once' beside
else
	skip 'no perf that can record here'
fi
done_testing
