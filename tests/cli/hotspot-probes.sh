#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hotspot-probes.sh: the name of each sample against HotSpot's own probes compiled__method__load and _unload, recorded at the same time:
# a small code cache in which code is flushed and its room used again; the same while the VM's thread that tells is kept from the CPU. With OPJIT_LONG=1 (the long tests) on each JDK, more of it, and javac.
. "$(dirname "$0")/lib.sh"
. "$src/tests/workloads.sh"
may_sample || skip_all "perf_event_open is not allowed here"
need python3 readelf taskset renice
[ -e "$build/agents/jvmti/libjvmti_oprofile.la" ] || skip_all "built without JVMTI"
cd "$work" || exit 1

# probes LIBJVM: the definitions for uprobe-log, out of the notes of the library.
probes() {
	readelf -nW "$1" | awk -v lib="$1" '
		function reg(r) {
			sub(/^%/, "", r)
			if (r ~ /^r[0-9]+d?$/) { sub(/d$/, "", r); return r }
			sub(/^[re]/, "", r)
			return r
		}
		$1 == "Provider:" { provider = $2 }
		/Provider: / { provider = $NF }
		$1 == "Name:" { name = $2 }
		$1 == "Location:" { at = $2; sub(/,/, "", at) }
		$1 == "Arguments:" && provider == "hotspot" && name ~ /^compiled__method__(load|unload)$/ {
			for (i = 2; i <= NF; i++) { split($i, a, "@"); r[i - 1] = reg(a[2]) }
			printf "p:GROUP/%s%d %s:%s", name ~ /unload/ ? "unload" : "load", ++n, lib, at
			for (i = 1; i <= 3; i++) {
				f = substr("cms", i, 1)
				printf " %sl=%%%s:u32 %s=+0(%%%s):u64[24]", f, r[2 * i], f, r[2 * i - 1]
			}
			if (name ~ /unload/) {
				k = split("ax bx cx dx si di bp r8 r9 r10 r11 r12 r13 r14 r15", all, " ")
				for (i = 1; i <= k; i++) printf " r_%s=%%%s:u64", all[i], all[i]
			} else printf " code=%%%s:u64 size=%%%s:u32", r[7], r[8]
			printf "\n"
		}'
}
# starve: HotSpot's Service Thread, which tells of loads and unloads, has the last place on the one CPU of its VM. CPU: the first that is ours.
starve() {
	local t n cpu
	cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
	for ((n = 0; n < 400; n++)); do
		for t in $(grep -ls '^Service Thread' /proc/[0-9]*/task/*/comm); do
			t=${t%/comm}
			grep -qs "$work" "$t/cmdline" && taskset -acp "$cpu" "${t##*/}" && renice -n 19 -p "${t##*/}" && return
		done
		sleep 0.05
	done
}
# judged WHAT DIRECTORY COMMAND…: under operf and the probes of $jdk
judged() {
	local what=$1 cwd=$2 status
	shift 2
	probes "$(readlink -f "$jdk/lib/server/libjvm.so")" >probes.def
	[ -s probes.def ] || { skip "$what: its libjvm has no such probes"; return; }
	rm -rf hold s scratch probes.out
	mkfifo hold
	"$build/tests/tools/uprobe-log" probes.def probes.out <hold >ready 2>probes.err &
	local p=$!
	later $p
	exec 8>hold
	is_ready() { [ -s ready ] || ! kill -0 "$p" 2>/dev/null; }
	wait_for 60 is_ready
	if ! [ -s ready ]; then
		exec 8>&-
		wait $p
		skip "$what: user-space probes are refused here: $(head -n 1 probes.err)"
		return
	fi
	[ -z "$late" ] || starve >starved 2>&1 &
	later $!
	(cd "$cwd" && exec operf --freq 1997 --keep-log -d "$work/s" "$@") >out 2>err 8>&-
	status=$?
	exec 8>&-
	wait $p
	is 0 $status "$what: runs" || show err
	"$build/tests/tools/resolve-dump" s/log/events.opel scratch >resolved 2>resolved.err || show resolved.err
	python3 "$src/tests/tools/hotspot-judge.py" ${late:+--late} probes.out resolved >verdict 2>&1
	status=$?
	sed "s/^/# $what: /" verdict
	is 0 $status "$what: at least 99.9 % of the samples have the method that the probes say was live"
}
churn() { # ROUNDS CALLS: code really comes and goes at the same addresses
	mkdir -p classes && "$jdk/bin/javac" -d classes "$src/tests/java/Flush.java" || return
	judged "churn, ${jdk##*/}${late:+, told late}" "$work" "$jdk/bin/java" -XX:ReservedCodeCacheSize=8m -XX:+UseCodeCacheFlushing -cp "$work/classes" Flush "$1" "$2"
	check 'and addresses had several owners' awk '/took an address/ { for (i = 1; i < NF; i++) if ($i == "took") n = $(i - 1) } END { exit n < '"$3"' }' verdict
}
late=
for jdk in $(workload_jdks); do
	if [ -z "${OPJIT_LONG-}" ]; then
		churn 60 1000 20
		# A judge that cannot fail would be worth nothing: the names turned by one must not pass.
		awk '$1 == "L" { n = $0; sub(/^([^ ]+ ){7}/, "", n); m = last; last = n
			printf "%s %s %s %s %s %s %s %s\n", $1, $2, $3, $4, $5, $6, $7, m; next } { print }' resolved >turned
		check 'names turned by one are found wrong' sh -c "! python3 '$src/tests/tools/hotspot-judge.py' probes.out turned >turned.verdict"
		like turned.verdict 'agreement .*: ([0-8]?[0-9])\.[0-9]+ %' 'most of them'
		late=yes
		churn 60 1000 5
		break
	fi
	churn 400 3000 200
	late=yes
	churn 100 1000 5
	late=
	export JAVA_HOME=$jdk
	workload_javac "$work" || { skip "no javac workload with $jdk"; continue; }
	judged "javac, ${jdk##*/}" "$WORKLOAD_CWD" "${WORKLOAD[@]}"
	rm -rf "${work:?}/javac-${jdk##*/}"
done
done_testing
