#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes the seeds of fuzz-resolver: records of 8 bytes, each here as a line.
set -eu
cd "$(dirname "$0")"
mkdir -p resolver

# made NAME: WHAT[/FLAGS] PROCESS ADDRESS SIZE SOURCE OTHER TIME, a line each; TIME in steps of 256 µs
made() {
	local name=$1 what process address size source other time flags n i
	: >"resolver/$name"
	while read -r what process address size source other time; do
		flags=0
		case $what in */*) flags=${what#*/} what=${what%/*} ;; esac
		n=0
		for i in load unload move heap sample mmap munmap fork exec exit source marker proc filemap ksymbol kernel; do
			[ "$i" = "$what" ] && break
			n=$((n + 1))
		done
		for i in $((n | flags << 4)) "$process" "$address" "$size" "$source" "$other" "$time" 0; do
			printf '%b' "\\x$(printf %02x "$i")" >>"resolver/$name"
		done
	done
}

# one VM: its life, code that comes, is run, goes, and is followed; an end that is told late (8)
made life <<'END'
exec 0 0 0 0 0 1
mmap 0 0 240 0 0 1
source 0 0 3 1 0 1
marker 0 200 2 1 0 1
heap 0 0 240 1 0 1
load 0 16 32 1 0 10
sample 0 20 0 0 0 10
sample 0 32 0 0 0 0
sample 0 15 0 0 0 0
unload 0 16 0 1 1 10
sample 0 20 0 0 0 1
load 0 16 32 1 0 2
sample 0 20 0 0 0 10
unload/13 0 16 200 1 2 10
load 0 24 16 1 0 1
sample 0 20 0 0 0 200
move 0 100 0 1 3 10
sample 0 104 0 0 0 10
sample 0 24 0 0 0 10
exit 0 0 0 0 0 1
END
# a fork in the middle, an exec in the child, the pid used again, two sources
made family <<'END'
exec 0 0 0 0 0 1
mmap 0 0 240 0 0 1
source 0 0 2 1 0 1
marker 0 200 2 1 0 1
source 0 0 1 2 4 1
load 0 8 64 1 0 1
load/1 0 12 64 2 0 1
fork 1 0 0 0 0 10
unload 0 8 0 1 1 10
sample 1 9 0 0 0 10
sample 0 9 0 0 0 1
exec 1 0 0 0 0 10
sample 1 9 0 0 0 1
filemap 1 0 64 1 0 1
sample 1 9 0 0 0 1
exit 0 0 0 0 0 1
fork 0 0 0 1 0 200
sample 0 9 0 0 0 1
proc 0 0 0 1 0 1
munmap 1 0 4 0 0 1
sample 1 1 0 0 0 1
ksymbol 0 4 64 0 0 1
kernel 0 4 0 0 0 1
END
# ends before starts, odd addresses and sizes, clocks that go back and beyond all times
made hostile <<'END'
source 0 0 4 1 0 1
source/1 64 0 4 3 8 200
load 0 250 250 1 0 1
load 0 248 254 1 255 1
load/4 0 250 249 1 0 1
load 255 10 250 1 0 2
load 255 10 100 1 0 3
sample 255 10 0 0 0 2
sample/1 255 250 0 0 1 2
unload/15 255 10 255 1 3 0
unload 64 10 0 1 0 9
move 64 250 0 1 4 100
move 0 4 0 1 0 1
mmap/4 0 250 250 0 255 1
munmap 0 0 250 0 0 1
heap 0 250 251 1 0 1
heap 0 3 0 1 0 1
fork 0 0 0 0 0 1
exit 128 0 0 0 0 255
sample 128 3 0 0 0 255
END
