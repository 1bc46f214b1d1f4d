#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Runtimes that tell their code by themselves: `operf prog` and nothing else names both hot functions, in their ratio of
# 2 : 1; also as a child of a shell, attached late, and in a container with its own /tmp and pids after it has exited.
. "$(dirname "$0")/lib.sh"
may_sample || skip_all 'perf_event_open is not for us here'
mkdir "$work/p" && cd "$work/p" || exit 1
export TMPDIR=$work
cat >hot.js <<'E'
function twice(n) { let s = 0; for (let i = 0; i < 2 * n; i++) s = (s * 31 + i) | 0; return s; }
function once(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; }
let t = 0; for (let i = 0; i < Number(process.argv[2] || 4000); i++) { t ^= twice(100000); t ^= once(100000); }
console.log(typeof t);
E
cat >hot.php <<'E'
<?php function twice($n){$s=0;for($i=0;$i<2*$n;$i++)$s=($s*31+$i)&0xffffffff;return $s;}
function once($n){$s=0;for($i=0;$i<$n;$i++)$s=($s*31+$i)&0xffffffff;return $s;}
for($i=0;$i<4000;$i++){twice(20000);once(20000);} echo "number\n";
E
cat >hot.erl <<'E'
-module(hot). -export([main/0]).
twice(N,M,S) when N < 2*M -> twice(N+1,M,(S*31+N) band 16#ffffffff); twice(_,_,S) -> S.
once(N,M,S) when N < M -> once(N+1,M,(S*31+N) band 16#ffffffff); once(_,_,S) -> S.
loop(0) -> ok; loop(E) -> twice(0,100000,0), once(0,100000,0), loop(E-1).
main() -> loop(500), io:format("number~n"), halt().
E
# share NAME: samples of the symbols that match, in the last report
share() { awk -v n="$1" 'index($0, n) { s += $1 } END { print s + 0 }' "$work/report"; }
# ratio WHAT: twice and once are there and stand 2 : 1 within five standard deviations of the samples
ratio() {
	opreport --session-dir="$work/s" -l >"$work/report" 2>"$work/report.err"
	local a b
	a=$(share twice) b=$(share once)
	if awk -v a="$a" -v b="$b" 'BEGIN { n = a + b; d = a - 2 * n / 3; sd = sqrt(n * 2 / 9); exit !(n >= 50 && d < 5 * sd + n * 0.05 && d > -5 * sd - n * 0.05) }'; then
		pass "$1: twice $a, once $b"
	else
		fail "$1: twice $a, once $b"
		head -n 12 "$work/report" | sed 's/^/# /'
		show "$work/err"
	fi
}
try() { # try WHAT WANTED-OUTPUT COMMAND…
	local what=$1 want=$2
	shift 2
	rm -rf "$work/s"
	run operf --session-dir="$work/s" "$@"
	is 0 "$status" "$what: exit status"
	is "$want" "$(cat "$work/out")" "$what: the program's output is its own"
	ratio "$what"
}
if command -v node >/dev/null; then
	try 'node' number node hot.js
	is 'hot.erl hot.js hot.php' "$(echo *)" 'node: nothing is left in the working directory'
	try 'node from a shell' number sh -c 'node hot.js; exit 0'
	try 'node --perf-prof, its own jitdump' number node --perf-prof hot.js
	rm -f jit-*.dump isolate-*
	node --perf-basic-prof-only-functions hot.js 100000 >/dev/null & late=$!
	later $late
	wait_for 20 test -s "/tmp/perf-$late.map"
	sleep 0.5
	rm -rf "$work/s"
	operf --session-dir="$work/s" --pid $late >"$work/out" 2>"$work/err" & op=$!
	later $op
	sleep 3
	kill -INT $op && wait $op
	ratio 'node, attached late'
	kill $late 2>/dev/null; wait $late 2>/dev/null; rm -f "/tmp/perf-$late.map"
	if [ "$(id -u)" = 0 ] && unshare -mpf --mount-proc true 2>/dev/null; then
		alt=$(mktemp -d /var/tmp/opjit-cli-XXXXXX)
		cp hot.js "$alt"
		try 'node in a container with its own /tmp and pids' number unshare -mpf --mount-proc \
			sh -c "mount -t tmpfs none /tmp && cd '$alt' && node hot.js; exit 0"
		rm -rf "$alt"
	else
		skip 'no namespaces for us here'
	fi
	run operf --no-agents --session-dir="$work/s2" node hot.js 200
	opreport --session-dir="$work/s2" -l >"$work/report" 2>/dev/null
	unlike "$work/report" 'twice|JS:' '--no-agents: node is not told to speak'
else
	skip 'no node here'
fi
if command -v php >/dev/null && php -m 2>/dev/null | grep -q 'Zend OPcache'; then
	try 'PHP' number php -d opcache.enable_cli=1 -d opcache.jit_buffer_size=64M -d opcache.jit=1254 hot.php
else
	skip 'no PHP with OPcache here'
fi
if command -v erlc >/dev/null && [ -d /usr/lib/erlang/releases/25 ]; then
	erlc hot.erl && try 'Erlang' number erl -noshell -s hot main
else
	skip 'no Erlang 25 here'
fi
done_testing
