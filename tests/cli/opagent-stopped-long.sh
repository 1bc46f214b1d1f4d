#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A reader that is stopped for more than a minute delays no post: the poster's thread gives the CPU away as often as it rests of
# itself, and no more. Then the reader goes on, and gets everything.
. "$(dirname "$0")/lib.sh"
poster=$build/tests/tools/poster dump=$build/tests/tools/jit-dump
posts=600000
holds_ring() { find "/proc/$1/fd" -lname "*/ring" 2>/dev/null | grep -q .; }
stopped_reader() { # stopped_reader RING-ENTRIES: the poster's words in $work/poster.out, the reader's in $work/reader
	rm -rf "$work"/jit/*
	"$poster" $posts ring="$1" rest=52 keep dir="$work/jit" >"$work/poster.out" & later $!; p=$!
	wait_for 20 test -s "$work/poster.out" || { fail 'the poster posts'; return; }
	"$dump" "$(echo "$work"/jit/*-*/ring)" pid=$p follow=$posts >"$work/reader" & later $!; r=$!
	wait_for 20 holds_ring $r || { fail 'the reader reads'; return; }
	kill -STOP $r
	local from=$SECONDS
	wait_for 300 grep -q '^posted' "$work/poster.out"
	check "ring of $1: the reader was stopped for a minute" test $((SECONDS - from)) -ge 60
	is "posted $posts failed 0" "$(grep '^posted' "$work/poster.out")" "ring of $1: no post failed"
	read -r _ rests _ waits <<<"$(grep '^rested' "$work/poster.out")"
	echo "# $rests rests, $waits voluntary context switches"
	# a few more: the disk, where the image grows
	check "ring of $1: no post waited" test "$waits" -le $((rests + 20))
	kill -CONT $r
	wait $r
	like "$work/reader" "^loads $posts names $posts .*bad 0" "ring of $1: then it gets everything"
	kill -9 $p
}
stopped_reader 64
done_testing
