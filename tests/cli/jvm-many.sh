#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# jvm-many.sh: several VMs in one run. Each sample is under the process that the kernel gave it to, each application has
# its name, and none has another's methods: two at once, a build that starts many short ones, one in a chroot.
. "$(dirname "$0")/lib.sh"
may_sample || skip_all "perf_event_open is not allowed here"
jdk=$(jdks | head -n 1)
[ -n "$jdk" ] || skip_all "no JDK below /usr/lib/jvm"
[ -e "$build/agents/jvmti/libjvmti_oprofile.la" ] || skip_all "built without JVMTI"
cd "$work" || exit 1
"$jdk/bin/javac" -d . "$src"/tests/java/{Hot,Phases}.java || exit 1
export PATH=$jdk/bin:$PATH HOME=$work

log() { opevlog dump "$1/log/events.opel" 2>/dev/null; }
# same_by_process SESSION WHAT: the samples of each process in the event log, and in the report of that process.
same_by_process() {
	local pid n
	log "$1" | sed -n 's/^[^ ]* sample .* pid=\(-*[0-9]*\) .*/\1/p' | sort -n | uniq -c | awk '{ print $2, $1 }' >in-log
	while read -r pid n; do
		echo "$pid $(opreport --session-dir="$1" -l -n "tgid:$pid" 2>/dev/null | awk '$1 ~ /^[0-9]+$/ { n += $1 } END { print n + 0 }')"
	done <in-log >in-report
	is "$(cat in-log)" "$(cat in-report)" "$2: each of $(wc -l <in-log) processes has in the report what it has in the log"
}
# apps SESSION: the applications with samples
apps() { opreport --session-dir="$1" -n 2>/dev/null | sed -n 's/^ *[0-9][0-9]* *[0-9.]* \([^ ].*\)$/\1/p' | sort -u; }
# methods SESSION APP: its JIT methods
methods() { opreport --session-dir="$1" -l -n 2>/dev/null | grep -F "$2 [jit]"; }

# --- two at once, started by a script
cat >script <<'END'
#!/bin/sh
java -cp . Hot 4000 &
java -XX:-Inline -cp . Phases next end & p=$!
# used N: process $p has used N/100 s of CPU time
used() { n=0; while [ $n -lt 600 ] && [ "$(awk '{ print $14 + $15 }' /proc/$p/stat)" -lt $1 ]; do n=$((n + 1)); sleep 0.1; done; }
used 200
: >next
used 400
: >end
wait
END
chmod +x script
run operf --keep-log -d two ./script
is 0 "$status" 'two VMs at once: status'
is 'done 1 phases 2' "$(sort out | xargs)" 'two VMs at once: both ran'
same_by_process two 'two VMs at once'
apps two >apps
like apps '^java:Hot$' 'two VMs at once: one has its name'
like apps '^java:Phases$' 'two VMs at once: so has the other'
methods two java:Hot >hot
methods two java:Phases >phases
like hot 'Hot\.hot\(int\)' 'two VMs at once: the methods of one'
like phases 'Phases\.phase1\(int\)' 'two VMs at once: the methods of the other'
unlike hot 'Phases\.' 'two VMs at once: one has none of the other'
unlike phases 'Hot\.' 'two VMs at once: nor the other of the one'

# --- one that an agent is attached to: what it ran until then has the names that the agent tells, if it took no longer than a second
mkdir late
cat >late/Late.java <<'END'
import java.nio.file.*;

public class Late {
	static int spin(int n) { int s = 0; for (int i = 0; i < n; i++) s = s * 31 + i; return s; }
	static long cpu() { return ProcessHandle.current().info().totalCpuDuration().get().toMillis(); }
	public static void main(String[] args) throws Exception {
		int s = 0;
		long more = 0;
		for (long end = System.nanoTime() + 60_000_000_000L; System.nanoTime() < end && (more == 0 || cpu() < more); ) {
			for (int i = 0; i < 1000; i++) s ^= spin(20000);
			if (more == 0 && new String(Files.readAllBytes(Paths.get("/proc/self/maps"))).contains("/ring")) more = cpu() + 200;
		}
		System.out.println(s);
	}
}
END
"$jdk/bin/javac" -d late late/Late.java
for try in 1 2 3; do
	run operf -d late/s sh -c 'java -cp late Late; exit 0'
	opreport --session-dir="$work/late/s" -l 2>/dev/null >late/report
	named=$(awk '/Late\.spin|Late\.main/ { n += $1 } END { print n + 0 }' late/report) without=$(awk '/anon \(tgid/ { n += $1 } END { print n + 0 }' late/report)
	echo "# try $try: $named named, $without not"
	[ $((without * 50)) -gt "$named" ] || break
done
check 'attached to: no more than 2 % of what it generated is without a name' test "$named" -gt 100 -a $((without * 50)) -le "$named"

# --- a jar, by its name
mkdir jar && printf 'Main-Class: Hot\n' >manifest && "$jdk/bin/jar" cfm jar/my-app.jar manifest Hot.class
run operf -d jarred java -jar jar/my-app.jar 2500
apps jarred >apps
like apps '^java:my-app' 'a jar: named by the jar'

# --- a build with short-lived VMs
if command -v make >/dev/null; then
	mkdir b
	cat >b/Makefile <<'END'
all: a b c d
a b c d:
	@mkdir -p $@ && printf 'public class X { public static void main(String[] a) { System.out.println("%s"); } }' $@ >$@/X.java
	@javac -d $@ $@/X.java && java -cp $@ X
END
	run operf --keep-log -d build make -s -j2 -C b
	is '0 a b c d' "$status $(sort out | xargs)" 'a build: status and output'
	is '' "$(grep -v '^operf: ' err)" 'a build: nothing on standard error'
	same_by_process build 'a build'
	apps build >apps
	like apps '^java:X$' 'a build: the programs that it starts are named'
	like apps '^javac$' 'a build: and its compilers'
	# By their mappings: /proc tells nothing of one that is over before it is asked.
	is 8 "$(log build | sed -n 's/.* mmap .* pid=\([0-9]*\) .*\/bin\/java.*/\1/p' | sort -u | wc -l)" 'a build: eight VMs were seen'
else
	skip 'no make here'
fi

# --- a root that lacks our agent
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	mkdir root
	cat >chrooted <<'END'
R=$1
shift
for d in usr etc lib lib64 dev proc; do
	[ -e /$d ] && mkdir -p "$R/$d" && mount --rbind /$d "$R/$d"
done
mkdir -p "$R/tmp" && mount -t tmpfs none "$R/tmp" && cp Hot.class "$R/tmp/" && mount -t tmpfs none /var
exec "$@"
END
	java -version >v.out 2>v.err
	case $build in /usr/* | /etc/*) seen=1 ;; *) seen= ;; esac
	[ -z "$seen" ] || skip 'the agent is built where that root sees it'
	java=$(readlink -f "$jdk/bin/java")
	run unshare -m sh chrooted root env -u OPJIT_DIR -u XDG_RUNTIME_DIR "$build/control/operf" -d ch1 sh -c "chroot root '$java' -version"
	is "0 $(cat v.out v.err)" "$status $(cat out; grep -v '^operf: ' err)" 'chroot: java -version prints what it printed before'
	run unshare -m sh chrooted root env -u OPJIT_DIR -u XDG_RUNTIME_DIR "$build/control/operf" -d ch2 sh -c "chroot root '$java' -cp /tmp Hot 5000"
	is '0 done 1' "$status $(cat out)" 'chroot: a program runs'
	is 'to stderr' "$(grep -v '^operf: ' err)" 'chroot: and prints what it prints'
	check 'chroot: its methods are named, although that root does not exist any more' sh -c "opreport --session-dir=ch2 -l -n 2>/dev/null | grep -q 'java:Hot .*Hot.hot(int)'"
	# Told to keep its files where that root has nothing: the program starts all the same.
	run unshare -m sh chrooted root "$build/control/operf" -d ch3 sh -c "chroot root '$java' -cp /tmp Hot 5000"
	is '0 done 1 to stderr' "$status $(cat out) $(grep -v '^operf: ' err)" 'chroot without the directory for JIT code: the program runs the same'
	check 'chroot without the directory for JIT code: another one serves' sh -c "opreport --session-dir=ch3 -l -n 2>/dev/null | grep -q 'java:Hot .*Hot.hot(int)'"
else
	skip 'chroot needs root'
fi
done_testing
