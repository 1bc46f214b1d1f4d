#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# image-perf.sh: an image that is still growing, named in a perf.data: perf report gives its symbols.
. "$(dirname "$0")/lib.sh"
need perf
tool=$build/tests/tools/run-image
"$tool" "$work/jit" 1 >"$work/out"
[ $? != 77 ] || skip_all "no code for this machine"
rm -rf "$work"/jit/*
perf record -q -e cpu-clock:u -F 2000 -o "$work/perf.data" -- "$tool" "$work/jit" 1500 >"$work/out" 2>"$work/err" ||
	{ show "$work/err"; skip_all "perf record does not work here"; }
check 'the image was mapped and is named' sh -c "perf script -i '$work/perf.data' --show-mmap-events 2>/dev/null | grep -q 'MMAP.* r-xp .*/0\\.jo'"
HOME=$work perf report -i "$work/perf.data" --stdio -F sample,dso,symbol >"$work/report" 2>"$work/err"
like "$work/report" '^ +[1-9][0-9]+ +0\.jo +\[\.\] void pkg\.Image\.spin\(int\)' 'perf report has the function by its name'
unlike "$work/report" ' 0\.jo +\[\.\] (0x|void pkg.Image.(before|after))' 'and no other of that image'
unlike "$work/err" '[Ff]ailed|invalid|corrupt' 'without complaint'
done_testing
