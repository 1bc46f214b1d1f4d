#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Attaching to JVMs that end in the middle of it: each attempt ends with one clear line, none hangs, nothing is left behind.
. "$(dirname "$0")/lib.sh"
attach=$build/tests/tools/attach agent=$(readlink -f "$build/agents/jvmti/.libs/libjvmti_oprofile.so")
[ -f "$agent" ] || skip_all 'configured --without-jvmti'
[ -n "$(jdks)" ] || skip_all 'no JDK here'
cd "$work" || exit 1
cat >End.java <<'J'
public class End { public static void main(String[] a) throws Exception {
  Runtime.getRuntime().addShutdownHook(new Thread(() -> { try { Thread.sleep(1500); } catch (Exception e) { } }));
  Thread.sleep(Integer.parseInt(a[0])); System.exit(0); } }
J
for jdk in $(jdks); do
	name=$(basename "$jdk")
	rm -f *.class
	"$jdk/bin/javac" End.java
	hung=0 unclear=0 answers=
	for ms in 0 0 50 100 200 400; do
		"$jdk/bin/java" -cp . End $ms >target 2>&1 & jvm=$!
		later $jvm
		wait_for 20 grep -qs libjvm.so "/proc/$jvm/maps"
		sleep "0.$ms"
		run timeout 30 "$attach" $jvm "$agent" "dir=$OPJIT_DIR" 5000
		[ $status = 124 ] && hung=$((hung + 1))
		grep -qE '^(loaded|E[A-Z]+): .' "$work/out" || unclear=$((unclear + 1))
		answers="$answers $(cut -d: -f1 "$work/out" | head -n 1)"
		wait $jvm
		[ -s target ] && grep -qvi warning target && { fail "$name: its output"; show target; }
	done
	is '0 0' "$hung $unclear" "$name: ending JVMs: no attempt hangs, each has its answer ($answers)"
	# In the middle of System.exit: the hook runs, the VM still listens.
	"$jdk/bin/java" -cp . End 300 >target 2>&1 & jvm=$!
	later $jvm
	sleep 1.3
	kill -9 $jvm; wait $jvm 2>/dev/null
	run timeout 30 "$attach" $jvm "$agent" "dir=$OPJIT_DIR" 5000
	like "$work/out" '^ESRCH: ' "$name: one that was killed"
	no_attach_litter "$name" "$jvm" /tmp "$work"
done
done_testing
