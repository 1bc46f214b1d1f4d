#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Runtimes that tell their code by themselves once they are asked: `operf prog` and nothing else names both hot functions, in the ratio
# that the program itself measured; also as a child of a shell. runtimes-long.sh (OPJIT_LONG=1): each runtime plainly, attached
# late, and in a container with its own /tmp and pids after it has exited.
. "$(dirname "$0")/lib.sh"
may_sample || skip_all 'perf_event_open is not for us here'
mkdir "$work/p" && cd "$work/p" || exit 1
cp "$src"/tests/hot/hot.* .
export TMPDIR=$work
# share NAME: samples of the symbols that match, in the last report
share() { awk -v n="$1" 'index($0, n) && !/no symbols/ { s += $1 } END { print s + 0 }' "$work/report"; }
# ratio WHAT DIR: twice and once are there and stand as DIR/own says within five standard deviations of the samples (and 6 %)
ratio() {
	local a b x=2 y=1
	opreport --session-dir="$work/s" -l >"$work/report" 2>"$work/report.err"
	[ -s "$2/own" ] && read -r x y <"$2/own"
	a=$(share twice) b=$(share once)
	if awk -v a="$a" -v b="$b" -v x="$x" -v y="$y" 'BEGIN { n = a + b; p = x / (x + y); d = a - n * p; if (d < 0) d = -d
		exit !(n >= 50 && d < 5 * sqrt(n * p * (1 - p)) + n * 0.06) }'; then
		pass "$1: twice $a, once $b; by its own count $x : $y"
	else
		fail "$1: twice $a, once $b; by its own count $x : $y"
		head -n 12 "$work/report" | sed 's/^/# /'
		show "$work/err"
	fi
}
try() { # try WHAT COMMAND…
	local what=$1
	shift
	rm -rf "$work/s" own
	run timeout 300 operf --session-dir="$work/s" "$@"
	is 0 "$status" "$what: exit status"
	is number "$(cat "$work/out")" "$what: the program's output is its own"
	ratio "$what" .
}
late() { # late WHAT READY COMMAND…: a program told to speak as operf would have told it; READY is a condition on $late
	local what=$1 ready=$2 op
	shift 2
	rm -rf "$work/s" own
	"$@" >"$work/out" 2>"$work/err2" & late=$!
	later $late
	wait_for 30 eval "$ready"
	sleep 0.5
	timeout 300 operf --session-dir="$work/s" --pid $late >"$work/out2" 2>"$work/err" & op=$!
	later $op
	wait $late
	wait $op
	ratio "$what, attached late" .
	rm -f "/tmp/perf-$late.map" "/tmp/opjit-pypy-$late.log"
}
contained() { # contained WHAT COMMAND-LINE
	local alt
	if [ "$(id -u)" != 0 ] || ! unshare -mpf --mount-proc true 2>/dev/null; then
		skip 'no namespaces for us here'
		return
	fi
	alt=$(mktemp -d /var/tmp/opjit-cli-XXXXXX)
	cp -r . "$alt"
	mkdir -m 1777 "$alt/jit" # the usual one lies in a /tmp that is not there inside
	rm -rf "$work/s" "$alt/own"
	# The outer shell's words are for the inner one.
	# shellcheck disable=SC2016
	run env OPJIT_DIR="$alt/jit" timeout 300 operf --session-dir="$work/s" unshare -mpf --mount-proc sh -c 'mount -t tmpfs none /tmp && cd "$1" && eval "$2"; exit 0' sh "$alt" "$2"
	ratio "$1, in a container with its own /tmp and pids, after its exit" "$alt"
	rm -rf "$alt"
}
map_there() { [ -s "/tmp/perf-$late.map" ]; }
php_jit='-d opcache.enable_cli=1 -d opcache.jit_buffer_size=64M -d opcache.jit=1254 -d opcache.file_update_protection=0'
long=${OPJIT_LONG-}
if command -v node >/dev/null; then
	mkdir "$work/home"
	home=$HOME before=$(echo *)
	export HOME=$work/home
	find /tmp -maxdepth 1 -name 'perf-*.map' | sort >"$work/maps.before"
	try 'node' node hot.js
	rm -f own
	is "$before" "$(echo *)" 'node: nothing is left in the working directory'
	is '' "$(find "$HOME" -mindepth 1)$(find /tmp -maxdepth 1 -name 'perf-*.map' -newer "$work/maps.before" -user "$(id -u)" -exec grep -l hot.js {} +)" \
		'nor in its home or /tmp'
	try 'node --perf-basic-prof, as its user types it' node --perf-basic-prof hot.js
	opreport --session-dir="$work/s" -l -g --tiers >"$work/report" 2>/dev/null
	like "$work/report" ' hot\.js:[0-9]+ .* twice /.*/hot\.js:[0-9]+:[0-9]+ \(tier [0-3]\)$' 'its functions have their place and tier, though it tells no lines'
	rm -f own isolate-*
	try 'node --perf-prof, its own jitdump' node --perf-prof hot.js
	is '' "$(find "$HOME" -mindepth 1)" 'node with its own switches: nothing in its home'
	export HOME=$home
	find /tmp -maxdepth 1 -name 'perf-*.map' -newer "$work/maps.before" -user "$(id -u)" -exec grep -q hot.js {} \; -delete
	like <(readelf -wF "$work"/s/jit/*/0.jo 2>/dev/null) 'rbp\+16' 'what it says of stacks is in the image'
	rm -f jit-*.dump isolate-*
	# V8 names an ES module by its URL, where others stand by their paths.
	mkdir m
	echo 'export function spun(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s } // here' >'m/a b.mjs'
	echo "import { spun } from './a b.mjs'; let t = 0; for (const end = Date.now() + 700; Date.now() < end;) t += spun(1e6); console.log(t)" >m/main.mjs
	for how in --perf-prof --perf-basic-prof; do
		rm -rf "$work/s"
		run timeout 300 operf --session-dir="$work/s" node $how m/main.mjs
		opannotate --session-dir="$work/s" --source >"$work/report" 2>"$work/report.err"
		like "$work/report" '^ +[0-9]+ +[0-9.]+ :export function spun.* // here' "$how: the source of a module is found, though it has a space in its name"
		unlike "$work/report.err" 'mjs' 'and nothing is said of it'
		rm -f jit-*.dump isolate-*
	done
	rm -rf m
	if [ -n "$long" ]; then
		try 'node from a shell' sh -c 'node hot.js; exit 0'
		late 'node' map_there node --perf-basic-prof-only-functions hot.js 1500
	fi
	contained 'node' 'node hot.js'
	run operf --no-agents --session-dir="$work/s2" node hot.js 50
	opreport --session-dir="$work/s2" -l >"$work/report" 2>/dev/null
	unlike "$work/report" 'twice|JS:' '--no-agents: node is not told to speak'
else
	skip 'no node here'
fi
if command -v php >/dev/null && php -m 2>/dev/null | grep -q 'Zend OPcache'; then
	try 'PHP' php $php_jit hot.php
	like "$work/report" ' twice:[0-9]+ \[trace [0-9]+\]$' 'PHP: functions by their names'
	if [ -n "$long" ]; then
		late 'PHP' map_there php $php_jit -d opcache.jit_debug=16 hot.php 1500
		contained 'PHP' "php $php_jit hot.php 600"
	fi
else
	skip 'no PHP with OPcache here'
fi
if command -v erlc >/dev/null && [ -d /usr/lib/erlang/releases/25 ]; then
	erlc hot.erl && try 'Erlang' erl -noshell -s hot main
	like "$work/report" ' hot:twice/3$' 'Erlang: functions by their names'
	unlike "$work/report" 'CodeInfoPrologue' 'Erlang: what stands in front of a function is part of it'
	if [ -n "$long" ]; then
		late 'Erlang' map_there erl +JPperf map -noshell -s hot main 60
		export ERL_FLAGS='+JPperf map' # an Erlang that something else starts has to be told: an older one would not start with it
		contained 'Erlang' 'erl -noshell -s hot main 30'
		unset ERL_FLAGS
	fi
else
	skip 'no Erlang 25 here'
fi
if command -v luajit >/dev/null; then
	try 'LuaJIT' luajit hot.lua
	if [ -n "$long" ]; then
		lua="if jit then local f = loadfile('$src/agents/luajit/opjit.lua') if f then pcall(f, '$build/libopagent/.libs/libopagent.so.1') end end"
		late 'LuaJIT' 'grep -q /ring /proc/$late/maps' env LUA_INIT="$lua" luajit hot.lua 600
		contained 'LuaJIT' 'luajit hot.lua'
	fi
else
	skip 'no LuaJIT here'
fi
if command -v pypy3 >/dev/null; then
	try 'PyPy' pypy3 hot.py
	if [ -n "$long" ]; then
		late 'PyPy' '[ -s /tmp/opjit-pypy-$late.log ]' env PYPYLOG=jit-backend-addr:/tmp/opjit-pypy-%d.log pypy3 hot.py 1200
		export PYPYLOG=jit-backend-addr:/tmp/opjit-pypy-%d.log # it would write to stderr where there is no such /tmp
		contained 'PyPy' 'pypy3 hot.py 400'
		unset PYPYLOG
	fi
else
	skip 'no PyPy here'
fi
if [ -n "$long" ]; then
	if command -v mono >/dev/null && command -v mcs >/dev/null; then
		mcs -out:hot.exe hot.cs
		export LD_LIBRARY_PATH=$build/agents/mono/.libs
		try 'Mono' mono hot.exe
		late 'Mono' 'grep -q /ring /proc/$late/maps' mono --profile=oprofile hot.exe 60
		contained 'Mono' 'mono hot.exe'
		unset LD_LIBRARY_PATH
	else
		skip 'no Mono here'
	fi
	for jdk in $(jdks); do
		mv hot.java HotCpu.java 2>/dev/null
		"$jdk/bin/javac" HotCpu.java
		name=$(basename "$jdk")
		try "$name" "$jdk/bin/java" -cp . HotCpu
		late "$name" 'grep -q libjvm /proc/$late/maps' "$jdk/bin/java" -cp . HotCpu 300
		contained "$name" "'$jdk/bin/java' -cp . HotCpu"
	done
	for py in python3.13 python3.12 "$HOME"/.pyenv/versions/3.1[23]*/bin/python3; do
		py=$(command -v "$py") && "$py" -X perf -c 'import sys; sys.exit(not sys.is_stack_trampoline_active())' 2>/dev/null || continue
		rm -rf "$work/s"
		run operf --callgraph --session-dir="$work/s" "$py" hot.py 20
		is number "$(cat "$work/out")" 'CPython: its output is its own'
		opreport --session-dir="$work/s" -l --callgraph >"$work/report" 2>"$work/report.err"
		if grep -qE 'py::(twice|once)' "$work/report"; then
			pass "$("$py" --version): its functions are in the call stacks"
		else
			skip "$("$py" --version) was built without frame pointers"
		fi
		break
	done
fi
if [ -n "$long" ] && command -v ruby >/dev/null; then
	skip "$(ruby -e 'print "Ruby ", RUBY_VERSION'): its JITs tell nothing of their code"
fi
done_testing
