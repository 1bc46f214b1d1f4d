#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# jvm-refused.sh: each VM here with our agent where the machine refuses what it needs: the program runs as without it, and
# log= has one line that tells.
. "$(dirname "$0")/lib.sh"
agent=$build/agents/jvmti/.libs/libjvmti_oprofile.so
refuse=$build/tests/tools/refuse
[ -f "$agent" ] || skip_all "configured --without-jvmti"
[ -n "$(jdks)" ] || skip_all "no JDK here"
cd "$work" || exit 1
# as_without WHAT [LOG-REGEX]: of the two runs that runs_as made.
as_without() {
	is "$(cat status0) $(cat out0 err0)" "$(cat status1) $(cat out1 err1)" "$1: the program runs as without the agent"
	is '0 done' "$(cat status1) $(cat out1)" "$1: to its end"
	[ -z "${2-}" ] && return
	is 1 "$(wc -l <"$log")" "$1: one line in the log"
	like "$log" "$2" "$1: which tells why"
}
# both PREFIX…: the program with and without the agent behind the words of PREFIX.
both() {
	rm -f "$log"
	"$@" "$java" -XX:+PerfDisableSharedMem -cp "$classes" com.acme.Hot >out0 2>err0
	echo $? >status0
	"$@" "$java" -XX:+PerfDisableSharedMem "-agentpath:$agent=dir=$dir,log=$log" -cp "$classes" com.acme.Hot >out1 2>err1
	echo $? >status1
}
for jdk in $(jdks); do
	name=${jdk##*/} java=$jdk/bin/java classes=$work/classes-${jdk##*/} log=$work/log
	mkdir "$classes" && "$jdk/bin/javac" -g -d "$classes" "$src/tests/java/com/acme/Hot.java" || exit 1

	"$java" -version >out0 2>err0
	"$java" "-agentpath:$agent" -version >out1 2>err1
	is "$(cat out0 err0)" "$(cat out1 err1)" "$name: -version prints the same"

	# No shared mapping: the ring cannot be.
	dir=$work/jit
	"$refuse" write-mmap-shared true
	if [ $? = 77 ]; then
		skip "$name: no seccomp filter here"
	else
		both "$refuse" write-mmap-shared
		as_without "$name, seccomp refuses mmap of the ring" '[Oo]peration not permitted'
	fi

	# All descriptors in use when the agent starts. What the VM opens itself before and after is its own matter: where it
	# does not run without the agent, this number is not tried.
	for n in 4 5 6 7 8 9 10 12; do
		rm -f "$log"
		(ulimit -n "$n"; exec "$java" -cp "$classes" com.acme.Hot) >out0 2>err0 || continue
		(ulimit -n "$n"; exec "$java" "-agentpath:$agent=dir=$dir,log=$log" -cp "$classes" com.acme.Hot) >out1 2>err1
		is "0 $(cat out0 err0)" "$? $(cat out1 err1)" "$name: $n descriptors, the least with which it runs"
		break
	done
	rm -rf "${OPJIT_DIR:?}"/*-*

	if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then
		skip "$name: full and read-only filesystems need root"
		continue
	fi
	dir=$work/small
	mkdir "$dir"
	# The inner shell's words.
	# shellcheck disable=SC2016
	on_tmpfs() { unshare -m sh -c 'mount -t tmpfs -o "$1" none "$2" && shift 2 && "$@"' sh "$@"; }
	both on_tmpfs size=16k "$dir"
	as_without "$name, no room at all" '[Nn]o space left'
	both on_tmpfs size=1m "$dir" # room for the ring, and for the code no more than begun
	as_without "$name, a disk that fills"
	is 1 "$(grep -c 'code bytes stop: no space left' "$log")" "$name, a disk that fills: one line in the log tells"
	is 0 "$(grep -cvE 'code bytes stop|no room for names' "$log")" "$name, a disk that fills: and no other, but of names in their turn"
	both on_tmpfs ro "$dir"
	as_without "$name, a read-only directory" '[Rr]ead-only'
	rmdir "$dir"

	dir=$work/theirs
	mkdir -m 0700 "$dir"
	install -m 0755 "$agent" "$work/agent.so"
	mkdir -m 1777 "$work/logs"
	chmod -R a+rX "$classes"
	log=$work/logs/log agent_kept=$agent agent=$work/agent.so
	both setpriv --reuid=65534 --regid=65534 --clear-groups
	as_without "$name, another user's directory" '[Pp]ermission denied'
	agent=$agent_kept
	rm -rf "$dir" "$work/logs"
done
done_testing
