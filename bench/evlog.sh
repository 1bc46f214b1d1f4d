#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The event log: ns an event of 16 bytes with 1 and 2 threads against the clock read, a memcpy ring and LTTng-UST in the
# same run; rates of writing, merging and reading; bytes a sample against perf.data.
set -eu
src=${abs_top_srcdir:?} b=${abs_top_builddir:?}
dir=$(mktemp -d)
session=opjit-bench-$$ daemon=
cleanup() {
	[ -z "$daemon" ] || { lttng destroy "$session" >/dev/null 2>&1 || :; kill "$daemon" 2>/dev/null || :; }
	rm -rf "$dir"
}
trap cleanup EXIT
prog=$b/bench/evlog
# With LTTng-UST: a second program, since the tree itself does not need it.
if command -v lttng-sessiond lttng >/dev/null && cc -std=gnu11 -O2 -g -w -DBENCH_LTTNG -I"$src" -include "$b/config.h" \
	"$src/bench/evlog.c" "$src"/format/evlog/*.c "$src"/lib/{util,strbuf,map,io,msg}.c -o "$dir/evlog" -pthread \
	-llttng-ust -llttng-ust-common -ldl 2>"$dir/cc.log"; then
	export LTTNG_HOME=$dir
	lttng-sessiond --no-kernel >"$dir/sessiond.log" 2>&1 &
	daemon=$!
	for _ in $(seq 50); do lttng list >/dev/null 2>&1 && break; sleep 0.1; done
	lttng create "$session" --output="$dir/trace" >/dev/null
	lttng enable-channel --userspace --overwrite --subbuf-size=1M --num-subbuf=4 c >/dev/null
	lttng enable-event --userspace --channel=c 'opjit_bench:*' >/dev/null
	lttng start >/dev/null
	prog=$dir/evlog
else
	echo 'evlog: no LTTng-UST here, its line is missing (install lttng-tools and liblttng-ust-dev)'
fi
"$prog" 5 1
"$prog" 5 2
if command -v perf >/dev/null && perf record -q -e cpu-clock -F 20000 -o "$dir/perf.data" -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done' \
	>/dev/null 2>&1; then
	n=$(perf script -i "$dir/perf.data" -F time 2>/dev/null | wc -l)
	echo "perf.data: $(($(stat -c %s "$dir/perf.data") / (n ? n : 1))) bytes a sample without call chains, all told ($n samples)"
fi
