#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# SIGQUIT asks a JVM for its attach listener, and where nothing asks for that any more, or the listener is there by now, it is
# answered with a thread dump on the program's output. So: given up at any moment, and several at once, the output stays.
. "$(dirname "$0")/lib.sh"
agent=$build/agents/jvmti/.libs/libjvmti_oprofile.so
attach=$build/tests/tools/attach
[ -f "$agent" ] || skip_all "configured --without-jvmti"
[ -n "$(jdks)" ] || skip_all "no JDK here"
agent=$(readlink -f "$agent")
cd "$work" || exit 1
as=()
# start [OPTION…]: $jvm is up, and has no listener yet.
start() {
	rm -f stop
	"${as[@]}" "$java" "$@" -cp classes Spin "$work/stop" >target.out 2>target.err & jvm=$!
	later $jvm
	wait_for 60 up
}
# shellcheck disable=SC2317
up() { grep -qs '^VM Periodic' "/proc/$jvm/task/"*/comm; }
end() { touch stop; wait $jvm; is '0 spun' "$? $(cat target.out target.err)" "$1: the program notices nothing"; }
for jdk in $(jdks); do
	name=$(basename "$jdk") java=$jdk/bin/java
	rm -rf classes && mkdir classes
	"$jdk/bin/javac" -g -d classes "$src/tests/java/Spin.java" || { fail "$name: javac"; continue; }
	for ms in 1 2 5 10 20 30 40; do
		start
		timeout 30 "$attach" "$jvm" "$agent" "dir=$OPJIT_DIR" $ms >out 2>&1
		sleep 0.3
		run timeout 30 "$attach" "$jvm" "$agent" "dir=$OPJIT_DIR"
		like out '^loaded: ' "$name, given up after $ms ms: the next attempt loads it"
		no_attach_litter "$name, given up after $ms ms" "$jvm" /tmp "$work"
		end "$name, given up after $ms ms"
		rm -rf "${OPJIT_DIR:?}"/*-*
	done
	# Files that others left: of now, and of a while ago.
	start
	file=/tmp/.attach_pid$jvm
	: >"$file"
	run timeout 30 "$attach" "$jvm" "$agent" "dir=$OPJIT_DIR" 1000
	like out "^ETIMEDOUT: .*which stays: .attach_pid$jvm" "$name, somebody else asks: waited for, not signalled again"
	check "$name, somebody else asks: his file stays" test -e "$file"
	touch -d '2 minutes ago' "$file"
	run timeout 30 "$attach" "$jvm" "$agent" "dir=$OPJIT_DIR"
	like out '^loaded: ' "$name, a file of a while ago is in nobody's way"
	no_attach_litter "$name, a file of a while ago" "$jvm" /tmp "$work"
	end "$name, files of others"
	start
	file=/tmp/.attach_pid$jvm
	: >"$file"
	touch -d '30 seconds ago' "$file"
	run timeout 30 "$attach" "$jvm" "$agent" "dir=$OPJIT_DIR"
	like out '^loaded: ' "$name, a file of a process that had this number before: nor is that"
	end "$name, a file of a process before"
	start -XX:+DisableAttachMechanism
	file=/tmp/.attach_pid$jvm
	: >"$file"
	run timeout 30 "$attach" "$jvm" "$agent" "dir=$OPJIT_DIR"
	like out '^EOPNOTSUPP: ' "$name, attach disabled: refused"
	check "$name, attach disabled: another's file is left alone" test -e "$file"
	rm -f "$file"
	end "$name, attach disabled"
	rm -rf "${OPJIT_DIR:?}"/*-*
	for _ in 1 2 3; do
		start
		for i in 1 2 3 4 5 6; do timeout 30 "$attach" "$jvm" "$agent" "dir=$OPJIT_DIR" >out.$i 2>&1 & tries[i]=$!; done
		wait "${tries[@]}"
		is 6 "$(cat out.* | grep -c '^loaded: ')" "$name, six at once: each loads it"
		no_attach_litter "$name, six at once" "$jvm" /tmp "$work"
		end "$name, six at once"
		rm -rf "${OPJIT_DIR:?}"/*-*
	done
	if [ "$(id -u)" != 0 ] || ! unshare -m setpriv --reuid=65534 --clear-groups test -x "$java"; then
		skip "$name: another user's VM, and namespaces, need root"
		continue
	fi
	# The VM looks into its working directory first, and for its own or root's file: another's there makes it print.
	as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	start
	as=()
	: >".attach_pid$jvm"
	chown 1 ".attach_pid$jvm"
	run timeout 30 "$attach" "$jvm" "$agent" "dir=$OPJIT_DIR"
	like out "^EEXIST: cannot make .attach_pid$jvm in the working directory" "$name, the file is another user's: refused"
	rm ".attach_pid$jvm"
	run timeout 30 "$attach" "$jvm" "$agent" "dir=$OPJIT_DIR"
	like out '^loaded: ' "$name: and loaded once it is gone"
	end "$name, the file is another user's"
	rm -rf "${OPJIT_DIR:?}"/*-*
	# Without a socket there is nobody to talk to: it is said at once, and nothing is left in the working directory.
	here=$(mktemp -d /var/tmp/opjit-cli-XXXXXX)
	cp classes/*.class "$here"
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount -t tmpfs -o ro none /tmp && cd "$1" && exec "$0" Spin stop' "$java" "$here" >target.out 2>target.err & jvm=$!
	later $jvm
	wait_for 60 up
	run timeout 30 "$attach" "$jvm" "$agent" "dir=$OPJIT_DIR"
	like out '^EROFS: .*Read-only' "$name, a read-only /tmp: said"
	is '' "$(find "$here" -name '.attach*')" "$name, a read-only /tmp: nothing is left"
	touch "$here/stop"
	wait $jvm
	is '0 spun' "$? $(cat target.out target.err)" "$name, a read-only /tmp: the program notices nothing"
	rm -rf "$here"
done
done_testing
