#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# An instance seen from outside: other pid, mount and time namespaces, exec, and perf report on its image.
. "$(dirname "$0")/lib.sh"
need gcc unshare
poster=$build/tests/tools/poster
dump=$build/tests/tools/jit-dump
ns='unshare -r'; [ "$(id -u)" = 0 ] && ns=unshare

if $ns -m -p -f --mount-proc true 2>/dev/null; then
	mkdir "$work/priv"
	$ns -m -p -f --mount-proc sh -c "mount -t tmpfs none '$work/priv' && exec '$poster' 50 keep dir='$work/priv'" >"$work/out" & later $!; sh=$!
	wait_for 20 grep -q '^posted' "$work/out"
	ring=$(head -1 "$work/out")/ring
	p=$(pgrep -P $sh | head -1)
	later "$p"
	check 'a private directory is not to be seen from here' test ! -e "$ring"
	"$dump" "$ring" pid="$p" >"$work/dump" 2>&1
	like "$work/dump" '^loads 50 names 50 .* pid 1$' 'it is read through /proc/PID/root; pid 1 in its namespace'
	run "$dump" "$ring" pid=$$
	is 1 "$status" 'not by way of another process'
	kill -9 "$p"; wait $sh 2>/dev/null
else
	skip 'no pid namespace here'
fi
"$poster" 5 keep dir="$work/jit" >"$work/out" & later $!; p=$!
wait_for 20 grep -q '^posted' "$work/out"
ring=$(head -1 "$work/out")/ring
run "$dump" "$ring" pid=$$
is 1 "$status" "another process's ring is refused"
like "$work/err" 'written by another process' 'with the cause'
run "$dump" "$ring" pid=$p
is 0 "$status" 'its own is taken'
kill -9 $p; wait $p 2>/dev/null
if unshare -rT --monotonic 100000 true 2>/dev/null || unshare -T --monotonic 100000 true 2>/dev/null; then
	t='unshare -rT'; [ "$(id -u)" = 0 ] && t='unshare -T'
	$t --monotonic 100000 --boottime 100000 --fork "$poster" 7 keep dir="$work/jit" >"$work/out" & later $!; sh=$!
	wait_for 20 grep -q '^posted' "$work/out"
	p=$(pgrep -P $sh | head -1); later "$p"
	run "$dump" "$(head -1 "$work/out")/ring" pid="$p"
	like "$work/out" '^loads 7 ' 'a process in a time namespace is known by its corrected start'
	like "$work/out" '^age [0-9]{1,4} s' 'its stamps are on the clock of the host'
	kill -9 "$p"; wait $sh 2>/dev/null
else
	skip 'no time namespace here'
fi

cat >"$work/spin.c" <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "libopagent/opagent.h"
/* Posts a loop of 2^30 turns and runs it where the image file has it. */
int main(void)
{
	static const unsigned char loop[] = { 0xb9, 0, 0, 0, 0x40, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };
	struct opagent_region r = { .size = sizeof(r), .addr = 4096, .code = loop, .code_size = sizeof(loop), .name = "void Hot.loop(int)" };
	struct opagent *a;
	char path[4200];
	if (opagent_open(&a, NULL) || opagent_load(a, &r, NULL)) return 1;
	snprintf(path, sizeof(path), "%s/0.jo", opagent_dir(a));
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, open(path, O_RDONLY), 4096);
	if (p == MAP_FAILED) return 1;
	((void (*)(void))p)();
	puts(path);
	return 0;
}
C
if [ "$(uname -m)" = x86_64 ] && command -v perf >/dev/null && may_sample; then
	gcc -I"$src" "$work/spin.c" -o "$work/spin" -L"$build/libopagent/.libs" -lopagent -Wl,-rpath,"$build/libopagent/.libs"
	perf record -q -e cpu-clock:u -o "$work/perf.data" "$work/spin" >"$work/out" 2>&1
	perf report -i "$work/perf.data" --stdio --sort dso,sym >"$work/report" 2>"$work/err"
	like "$work/report" '0\.jo +\[\.\] void Hot\.loop\(int\)' 'perf report names samples in an image that is still growing'
else
	skip 'no perf here'
fi
done_testing
