#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# inlines.sh: a hot method with two more inlined into it, run in a real VM under operf, its image sealed: six readers show the same
# three frames and lines. With OPJIT_LONG=1 (the long tests) the images of javac and of sunflow have nothing that linters find.
. "$(dirname "$0")/lib.sh"
. "$src/tests/workloads.sh"
may_sample || skip_all "perf_event_open is not allowed here"
[ -e "$build/agents/jvmti/libjvmti_oprofile.la" ] || skip_all "built without JVMTI"
cd "$work" || exit 1
hot=$src/tests/java/com/acme/Hot.java
line() { grep -n "// $1" "$hot" | cut -d: -f1; }
want=$(printf '%s\n' "com.acme.Hot\$Inner.leaf(long, int[]) Hot.java:$(line LEAF)" "com.acme.Hot.mid(long, int[]) Hot.java:$(line MID)" \
	"com.acme.Hot.top(int, String, int[]) Hot.java:$(line TOP)")
llvm=$(command -v llvm-symbolizer || command -v llvm-symbolizer-14)
dwarfdump=$(command -v llvm-dwarfdump || command -v llvm-dwarfdump-14)

# Two lines a frame (function, then ./com/acme/file:line) to one.
pairs() { sed -e 's, inlined at .*,,' | paste -d' ' - - | sed -E 's, [^ ]*/, ,; s/:([0-9]+):0$/:\1/; s, \(discriminator [0-9]+\),,'; }
frames_gdb() { # IMAGE ADDRESS
	printf '%s\n' 'set confirm off' 'set width 0' starti "add-symbol-file $1 -o 0x500000000000" "set \$pc = 0x500000000000 + $2" 'bt 3' >cmd.gdb
	gdb -nx -batch -x cmd.gdb /bin/true 2>/dev/null | sed -nE 's,^#[0-2] +(0x[0-9a-f]+ in )?(.*\))(\(void\))? \(\) at .*/([^/]*:[0-9]+)$,\2 \4,p' |
		sed 's/(void) / /'
}
frames_perf() { # the innermost is the last
	"$src/tests/tools/perf-data.py" perf.data "$1" "${2#0x}" &&
		perf report -i perf.data --stdio --no-children -g caller,srcline --inline 2>/dev/null |
		sed -nE 's/^ +(---|\|)? *(com\..*\)) ([^ ]+:[0-9]+)( \(inlined\))?$/\2 \3/p' | tac
}
# An address whose line is LEAF, in the middle of those in the versions of top().
hot_address() { # IMAGE
	nm -S "$1" | awk '/com.acme.Hot.top\(/ { print $1, $2 }' | while read -r at size; do
		for ((i = 0x$at; i < 0x$at + 0x$size; i += 4)); do printf '0x%x\n' $i; done
	done | xargs eu-addr2line -afie "$1" |
		awk -v leaf="/Hot.java:$(line LEAF)" '/^0x/ { at = $1; first = 1; next } /^[^ ]*:[0-9]+$/ && first { first = 0; if ($1 ~ leaf "$") a[++n] = at }
			END { print a[int((n + 1) / 2)] }'
}
lint() { # IMAGE WHAT
	run eu-elflint --gnu-ld "$1"
	is 'No errors' "$(cat out)" "$2: eu-elflint"
	run readelf -aW --debug-dump "$1"
	is '' "$(head -n 5 err)" "$2: readelf -a --debug-dump has nothing to say"
	if [ -n "$dwarfdump" ]; then
		run "$dwarfdump" --verify "$1"
		is 0 "$status" "$2: llvm-dwarfdump --verify"
		[ "$status" = 0 ] || tail -n 5 out | sed 's/^/# /'
	else
		skip 'no llvm-dwarfdump here'
	fi
}
sealed_of() { # SESSION: the largest of its images
	opjitconv --seal-session "$1" 2>seal.err || show seal.err
	find "$1/jit" -name '*.jo' -printf '%s %p\n' | sort -n | sed -n '$s/[^ ]* //p'
}

for jdk in $(workload_jdks); do
	name=${jdk##*/}
	mkdir -p "c-$name"
	"$jdk/bin/javac" -g -d "c-$name" "$hot" || continue
	run operf --freq 1997 -d "s-$name" "$jdk/bin/java" -cp "c-$name" com.acme.Hot
	is 0 "$status" "$name: runs"
	opreport --session-dir="s-$name" --inlines >before 2>/dev/null
	img=$(sealed_of "s-$name")
	opreport --session-dir="s-$name" --inlines >after 2>/dev/null
	check "$name: sealed or not, opreport --inlines says the same" cmp before after
	chain=$(echo "$want" | sed -E 's/ (Hot.java:[0-9]+)$/ (\1)/' | sed ':a; N; $!ba; s/\n/ < /g')
	check "$name: opreport --inlines" grep -qF "$chain" after
	at=$(hot_address "$img")
	[ -n "$at" ] || { fail "$name: an address three deep"; continue; }
	echo "# $name: $at of $img"
	is "$want" "$(addr2line -fie "$img" "$at" | pairs)" "$name: addr2line -i"
	is "$want" "$(eu-addr2line -fie "$img" "$at" | pairs)" "$name: eu-addr2line -i"
	if [ -n "$llvm" ]; then
		is "$want" "$("$llvm" --inlines -e "$img" "$at" | sed '/^$/d' | pairs)" "$name: llvm-symbolizer --inlines"
	else
		skip 'no llvm-symbolizer here'
	fi
	is "$want" "$(frames_gdb "$img" "$at")" "$name: gdb"
	if command -v perf >/dev/null && command -v python3 >/dev/null; then
		is "$want" "$(frames_perf "$img" "$at")" "$name: perf report --inline"
	else
		skip 'no perf or python3 here'
	fi
	lint "$img" "$name"
	[ -n "${OPJIT_LONG-}" ] || continue
	export JAVA_HOME=$jdk
	for w in javac sunflow; do
		"workload_$w" "$work" || { skip "no $w with $name"; continue; }
		[ $w = javac ] || workload_bounded "$work" 10 || continue
		(cd "$WORKLOAD_CWD" && exec operf -d "$work/s-$w" "${WORKLOAD[@]}") >out 2>err || show err
		img=$(sealed_of "$work/s-$w")
		[ -n "$img" ] || { fail "$w, $name: an image"; continue; }
		echo "# $w, $name: $(nm "$img" | wc -l) symbols, $(stat -c %s "$img") bytes"
		lint "$img" "$w, $name"
		rm -rf "$work/s-$w" "${work:?}/javac-$name"
	done
done
done_testing
