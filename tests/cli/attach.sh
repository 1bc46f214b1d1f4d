#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Attaching to running JVMs without any JDK tool: names of what exists and of what comes, other users and namespaces, and
# every refusal with its cause. The target's output stays what it was.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
agent=$build/agents/jvmti/.libs/libjvmti_oprofile.so
attach=$build/tests/tools/attach
dump=$build/tests/tools/instance-dump
[ -f "$agent" ] || skip_all "configured --without-jvmti"
[ -n "$(jdks)" ] || skip_all "no JDK here"
agent=$(readlink -f "$agent")

# start COMMAND…: in the background, pid of the JVM itself to $jvm once libjvm.so is mapped. Stops with stop.
start() {
	rm -f "$work/stop"
	"$@" >"$work/target.out" 2>"$work/target.err" &
	shell=$!
	later "$shell"
	wait_for 60 find_jvm "$shell" || { fail "no JVM started"; show "$work/target.err"; }
	later "$jvm"
}
# shellcheck disable=SC2317
find_jvm() { # the process, or a descendant, that has libjvm.so
	local p=$1 c
	grep -qs /libjvm.so "/proc/$p/maps" && { jvm=$p; return 0; }
	# shellcheck disable=SC2013
	for c in $(cat "/proc/$p/task/"*/children 2>/dev/null); do find_jvm "$c" && return 0; done
	return 1
}
# shellcheck disable=SC2317
up() { grep -qs '^VM Periodic' "/proc/$jvm/task/"*/comm; }
stop() { touch "$work/stop"; wait "$shell"; status=$?; }
quiet_target() { is '0 spun' "$status $(cat "$work/target.out" "$work/target.err")" "$1: the program notices nothing"; }
instance() { "$dump" "$OPJIT_DIR"/*-* >"$work/dump" 2>&1; rm -rf "${OPJIT_DIR:?}"/*-*; }
answer() { like "$work/out" "$1" "$2"; }

classes=$work/classes
mkdir -p "$classes"
for jdk in $(jdks); do
	name=$(basename "$jdk") java=$jdk/bin/java
	rm -rf "${classes:?}"/*
	"$jdk/bin/javac" -g -d "$classes" "$src/tests/java/Spin.java" || { fail "$name: javac"; continue; }
	chmod -R a+rX "$work"

	start "$java" -cp "$classes" Spin "$work/stop"
	wait_for 60 up
	sleep 1
	run "$attach" "$jvm" "$agent" "dir=$OPJIT_DIR"
	answer '^loaded: ' "$name: attach to a running VM"
	run "$attach" "$jvm" "$agent" "dir=$OPJIT_DIR"
	answer '^loaded: ' "$name: a second time does no harm"
	no_attach_litter "$name" "$jvm" /tmp "$work" "$PWD"
	stop
	quiet_target "$name"
	instance
	check "$name: what existed is told, since when is not known, lines at safepoints" \
		grep -qE ' kind=0 tier=[1-4] flags=(3|7) .* Spin.work\(int\)$' "$work/dump"
	check "$name: what came later is told with all lines" grep -qE ' kind=0 tier=[1-4] flags=(0|4) .* Spin.after\(int\)$' "$work/dump"
	check "$name: stubs and codelets too" sh -c "grep -q ' kind=1 .* flags=1 .* call_stub\$' '$work/dump' && grep -q ' kind=2 .*: invokestatic' '$work/dump'"
	is '' "$(grep -E 'superseded|of nothing live' "$work/dump")" "$name: nothing is told twice"

	# As operf does it, with a VM that has only begun.
	start "$java" -cp "$classes" Spin "$work/stop"
	run "$attach" --watch 60 "$jvm"
	answer '^0 agent loaded' "$name: a VM seen to begin is attached to"
	answer '^pending 0' "$name: once"
	stop
	quiet_target "$name, young"
	rm -rf "${OPJIT_DIR:?}"/*-*

	start "$java" -XX:+DisableAttachMechanism -cp "$classes" Spin "$work/stop"
	wait_for 60 up
	run "$attach" "$jvm" "$agent"
	answer '^EOPNOTSUPP: .*DisableAttachMechanism' "$name: attach disabled"
	stop
	quiet_target "$name, disabled"

	# Without signal handlers SIGQUIT would end it. Its listener runs from the start, unless that is switched off.
	start "$java" -Xrs -cp "$classes" Spin "$work/stop"
	wait_for 60 up
	run "$attach" "$jvm" "$agent"
	answer '^loaded: ' "$name: -Xrs"
	stop
	quiet_target "$name, -Xrs"
	start "$java" -Xrs -cp "$classes" Spin "$work/stop"
	run "$attach" "$jvm" "$agent"
	answer '^loaded: ' "$name: -Xrs, as soon as it is a VM"
	stop
	quiet_target "$name, young, with -Xrs"
	start "$java" -Xrs -XX:+DisableAttachMechanism -cp "$classes" Spin "$work/stop"
	wait_for 60 up
	run "$attach" "$jvm" "$agent" '' 1500
	answer '^EOPNOTSUPP: .*SIGQUIT' "$name: SIGQUIT not caught"
	stop
	quiet_target "$name, SIGQUIT not caught"
	rm -rf "${OPJIT_DIR:?}"/*-*

	start "$java" -cp "$classes" Spin "$work/stop"
	wait_for 60 up
	kill -STOP "$jvm"
	wait_for 20 grep -q '^State:.T' "/proc/$jvm/status" # a thread stops when it is next run
	run "$attach" "$jvm" "$agent" '' 2000
	answer '^EBUSY: .*stopped .*kill -CONT' "$name: a stopped VM"
	kill -CONT "$jvm"
	stop
	quiet_target "$name, stopped"
	no_attach_litter "$name, stopped" "$jvm" /tmp "$work" "$PWD"

	[ "$(id -u)" = 0 ] || { skip "$name: other users and namespaces need root"; continue; }
	# Another user's VM, an agent in a directory that is closed to that user.
	mkdir -p "$work/closed" && chmod 0700 "$work/closed" && cp "$agent" "$work/closed/agent.so"
	start setpriv --reuid=65534 --regid=65534 --clear-groups "$java" -cp "$classes" Spin "$work/stop"
	wait_for 60 up
	run "$attach" "$jvm" "$work/closed/agent.so" "dir=$OPJIT_DIR"
	answer '^loaded: .*copy in its /tmp.*as its user' "$name: root into another user's VM"
	is 65534 "$(stat -c %u "$OPJIT_DIR"/*-*/ring)" "$name: the instance is that user's"
	no_attach_litter "$name, other user" "$jvm" /tmp "$work" "$PWD"
	stop
	quiet_target "$name, other user"
	rm -rf "${OPJIT_DIR:?}"/*-*

	# As an ordinary user into somebody else's.
	start "$java" -cp "$classes" Spin "$work/stop"
	wait_for 60 up
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$attach" "$jvm" "$agent"
	answer '^E(PERM|ACCES|NOEXEC): ' "$name: a user cannot into root's"
	stop
	quiet_target "$name, refused"

	# Its own mount and pid namespaces, /tmp of its own, as root and as a user.
	for user in 0 65534; do
		# The outer shell's words are for the inner one.
		# shellcheck disable=SC2016
		start unshare -mpf --mount-proc sh -c 'mkdir -p "$1/own" && mount -t tmpfs none /tmp -o mode=1777 && mkdir -p "$1" && mount -t tmpfs none "$1" -o mode=0755 &&
			cp -r /proc/self/fd/3/. "$1/classes" 2>/dev/null; cd / && exec setpriv --reuid="$2" --regid="$2" --clear-groups "$3" -cp "$1/classes" Spin /tmp/stop' \
			sh "$work" "$user" "$java" 3<"$classes"
		wait_for 60 up
		run "$attach" "$jvm" "$agent" "dir=/tmp"
		answer '^loaded: ' "$name: uid $user in namespaces of its own"
		check "$name: the instance is in its /tmp" sh -c "ls -d /proc/$jvm/root/tmp/*-*/ring >/dev/null"
		no_attach_litter "$name, namespaces" "$jvm" "/proc/$jvm/root/tmp" "$work" "$PWD"
		touch "/proc/$jvm/root/tmp/stop"
		wait "$shell"
		status=$?
		quiet_target "$name, namespaces"
	done
done

run "$attach" $$ "$agent"
answer '^ENOEXEC: ' 'a process that is no JVM'
sleep 60 &
p=$!
kill -9 $p
wait $p 2>/dev/null
run "$attach" $p "$agent"
answer '^ESRCH: ' 'no such process'
run "$attach" $$ /no/such/agent.so
answer '^ENOENT: .*/no/such/agent.so' 'no such agent'

# What is put into a command.
export OPJIT_AGENT_DIR=$build/agents/jvmti/.libs OPJIT_DIR="$work/with,comma"
option="-agentpath:$agent=dir=$work/with\\,comma"
words() { "$attach" --command "$@" | tr '\n' ' '; }
jdk=$(jdks | head -n 1)
ln -s "$jdk/bin/java" "$work/my java"
# shellcheck disable=SC2016
printf '#!/bin/sh\nexec java "$@"\n' >"$work/java"
cp /bin/true "$work/fake"
chmod 0755 "$work/java"
mkdir -p "$work/bin" && cp /bin/true "$work/bin/java"
is "$jdk/bin/java $option -cp x Main " "$(words "$jdk/bin/java" -cp x Main)" 'java by its path'
is "java $option Main " "$(PATH=$jdk/bin:$PATH words java Main)" 'java along PATH'
is "$work/my java $option -version " "$(words "$work/my java" -version)" 'java by a link of another name'
is "$jdk/bin/java $option " "$(words "$jdk/bin/java")" 'java alone'
is "$jdk/bin/javac -J$option A.java " "$(words "$jdk/bin/javac" A.java)" 'a tool of the JDK'
is "$work/java Main " "$(words "$work/java" Main)" 'a script is left alone'
is "$work/bin/java Main " "$(words "$work/bin/java" Main)" 'a program that is only called java too'
is "$jdk/bin/java -agentpath:/x/libjvmti_oprofile.so A " "$(words "$jdk/bin/java" -agentpath:/x/libjvmti_oprofile.so A)" 'who has it gets no second'
is "no-such-program a " "$(words no-such-program a)" 'what is not there is left alone'
done_testing
