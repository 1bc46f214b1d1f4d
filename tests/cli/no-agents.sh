#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# operf --no-agents=VM,…: the named ones are left alone, all others are still told; an unknown name is refused with the list of the known.
. "$(dirname "$0")/lib.sh"
may_sample || skip_all 'perf_event_open is not for us here'
unset NODE_OPTIONS ERL_FLAGS MONO_ENV_OPTIONS LUA_INIT PHP_INI_SCAN_DIR INTEL_JIT_PROFILER64 PYPYLOG DOTNET_PerfMapEnabled PYTHONPERFSUPPORT JAVA_TOOL_OPTIONS
mkdir "$work/bin"
# Runtimes by name alone, that tell what they were given.
for vm in node php erl pypy3; do
	# shellcheck disable=SC2016
	printf '#!/bin/sh\necho "args: $*"; env; i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done\n' >"$work/bin/$vm"
	chmod +x "$work/bin/$vm"
done
PATH=$work/bin:$PATH
# given OPTIONS COMMAND…: which of the runtimes were told to speak, by name
given() {
	local opts=$1 pairs='NODE_OPTIONS:node MONO_ENV_OPTIONS:mono LUA_INIT:lua PHP_INI_SCAN_DIR:php INTEL_JIT_PROFILER64:jitapi PYPYLOG:pypy
		DOTNET_PerfMapEnabled:dotnet PYTHONPERFSUPPORT:python JAVA_TOOL_OPTIONS:java ERL_FLAGS:erlang' p
	shift
	# shellcheck disable=SC2086
	operf --callgraph --agents=env $opts --session-dir="$work/s" "$@" >"$work/given" 2>"$work/given.err" || show "$work/given.err"
	for p in $pairs; do grep -q "^${p%:*}=" "$work/given" && echo "${p#*:}"; done | sort | paste -sd' '
}
all=$(given '' pypy3)
check "without it, at least node, .NET, CPython and PyPy are told (all here: $all)" \
	sh -c "for w in node dotnet python pypy; do case ' $all ' in *\" \$w \"*) ;; *) exit 1;; esac; done"
is '' "$(given --no-agents pypy3)" '--no-agents: none is'
for vm in $all; do
	is "$(tr ' ' '\n' <<<"$all" | grep -vx "$vm" | paste -sd' ')" "$(given "--no-agents=$vm" pypy3)" "--no-agents=$vm: all but that"
done
is "$(tr ' ' '\n' <<<"$all" | grep -vxE 'node|python|pypy' | paste -sd' ')" "$(given '--no-agents=node,python --no-agents=pypy' pypy3)" 'a list, and twice'

# As arguments.
args() { # args OPTIONS COMMAND…
	given "$@" >/dev/null
	sed -n 's/^args: //p' "$work/given"
}
is '--perf-basic-prof-only-functions a.js' "$(args '' node a.js)" 'node: its switch'
is 'a.js' "$(args --no-agents=node node a.js)" '--no-agents=node: no argument either'
is '--perf-basic-prof-only-functions a.js' "$(args --no-agents=php,java node a.js)" '--no-agents=php,java: node has its switch'
is '-d opcache.jit_debug=16 a.php' "$(args --no-agents=node php a.php)" '--no-agents=node: PHP has its switch'
is 'a.php' "$(args --no-agents=php php a.php)" '--no-agents=php: no argument either'
if [ -d /usr/lib/erlang/releases ] && [ -n "$(args '' erl -x)" ] && [ "$(args '' erl -x)" != -x ]; then
	is '+JPperf map -x' "$(args --no-agents=node erl -x)" '--no-agents=node: Erlang has its switch'
	is '-x' "$(args --no-agents=erlang erl -x)" '--no-agents=erlang: no argument'
else
	skip 'no Erlang with a JIT here'
fi
jdk=$(jdks | head -n 1)
if [ -n "$jdk" ] && [ -f "$build/agents/jvmti/.libs/libjvmti_oprofile.so" ]; then
	java() { operf -V "$1" --session-dir="$work/s" "$jdk/bin/java" -version 2>&1 | grep -c 'gave the command -agentpath'; }
	is 1 "$(java --no-agents=node,mono)" '--no-agents=node,mono: Java has its agent'
	is 0 "$(java --no-agents=java)" '--no-agents=java: Java has none'
else
	skip 'no JDK here, or no agent for it'
fi
if command -v mono >/dev/null && [ -d "$build/agents/mono/.libs" ]; then
	mono() { LD_LIBRARY_PATH=$build/agents/mono/.libs operf -V "$1" --session-dir="$work/s" mono --version 2>&1 | grep -c 'gave the command --profile=oprofile'; }
	is 1 "$(mono --no-agents=java)" '--no-agents=java: Mono has its agent'
	is 0 "$(mono --no-agents=mono)" '--no-agents=mono: Mono has none'
else
	skip 'no Mono here, or no agent for it'
fi

for bad in perl java,perl 'node,' '' ,java; do
	run operf --no-agents="$bad" true
	is 2 "$status" "--no-agents='$bad' is refused"
	like "$work/err" "there is no '(perl)?' among java,mono,node,php,erlang,lua,pypy,dotnet,python,jitapi" 'with the names there are'
done
done_testing
