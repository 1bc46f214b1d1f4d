#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# libopagent inside somebody else's process: what it exports and needs, what it costs, and what it does when everything fails.
. "$(dirname "$0")/lib.sh"
need readelf objdump nm gcc strace
lib=$build/libopagent/.libs/libopagent.so.1
poster=$build/tests/tools/poster
dump=$build/tests/tools/jit-dump
refuse=$build/tests/tools/refuse

ring_of() { echo "$(echo "$1"/*-*)/ring"; }
fresh() { rm -rf "$work/jit" "$work/poster.out"; mkdir -p "$work/jit"; }

# --- what it exports and needs
readelf -d "$lib" >"$work/dyn"
like "$work/dyn" 'SONAME.*\[libopagent\.so\.1\]' 'soname'
is 0 "$(grep NEEDED "$work/dyn" | grep -cvE '\[(libc|ld-linux[^]]*)\.so\.[0-9]\]')" 'needs libc (and its loader) alone'
check 'bare name is there' test -e "$build/libopagent/.libs/libopagent.so"
objdump -T "$lib" >"$work/syms"
sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' "$work/syms" | sort -Vu >"$work/glibc"
is 2.17 "$(printf '%s\n2.17\n' "$(tail -1 "$work/glibc")" | sort -V | tail -1)" 'no glibc symbol newer than 2.17'
is 'op_close_agent op_major_version op_minor_version op_open_agent op_unload_native_code op_write_debug_line_info op_write_native_code' \
	"$(awk '/ OPAGENT_1.0 / && $NF != "OPAGENT_1.0" {print $NF}' "$work/syms" | sort | tr '\n' ' ' | sed 's/ $//')" 'OPAGENT_1.0 has the seven'
is 8 "$(awk '/ OPAGENT_2.0 / && $NF != "OPAGENT_2.0"' "$work/syms" | wc -l)" 'OPAGENT_2.0 has eight'
unlike "$work/syms" '\*UND\*.* (f?printf|v?snprintf|fopen|fwrite|puts|stdout|stderr|exit|abort|signal|sigaction|pthread_create)$' 'no stdio, exit, signal or thread'
readelf -sW "$build/libopagent/.libs/libopagent-core.a" 2>/dev/null | awk '$5 == "GLOBAL" && $7 != "UND" && $6 != "HIDDEN"' >"$work/visible"
is 0 "$(wc -l <"$work/visible")" 'the archive for the agents hides every symbol'

# --- a growing image and other tools
mkdir "$work/grow"
"$poster" 0 forever lines unload dir="$work/grow" >"$work/poster.out" & later $!; p=$!
wait_for 20 test -s "$work/poster.out"
image=$(head -1 "$work/poster.out")/0.jo
bad=
for _ in 1 2 3 4 5; do
	readelf -aW "$image" >/dev/null 2>"$work/err" && ! [ -s "$work/err" ] || bad+=' readelf'
	eu-elflint --gnu-ld "$image" >"$work/lint" 2>&1 || bad+=' eu-elflint'
	nm "$image" >"$work/nm" 2>&1 || bad+=' nm'
	objdump -d --stop-address=0x2000 "$image" >"$work/od" 2>&1 || bad+=' objdump'
	grep -q '<void pkg.Class0.method0(int)>:' "$work/od" || bad+=' objdump-name'
	a=$(sed -n '50s/ .*//p' "$work/nm")
	gdb -nx -batch -ex "info symbol 0x$a" -ex "disassemble 0x$a,+4" "$image" >"$work/gdb" 2>&1 || bad+=' gdb'
	grep -q '^void pkg.Class0.method[0-9]*(int) in section .text' "$work/gdb" || bad+=' gdb-symbol'
	grep -q 'push   %rbp' "$work/gdb" || bad+=' gdb-code'
done
is '' "$bad" 'readelf, eu-elflint, nm, objdump and gdb accept the image while it grows'
kill -9 $p; wait $p 2>/dev/null
run "$dump" "$(dirname "$image")/ring"
is 0 "$status" 'and after kill -9 its reader does'
"$dump" "$(dirname "$image")/ring" save="$work/saved.jo" >/dev/null
check 'the saved image: eu-elflint' eu-elflint --gnu-ld "$work/saved.jo"
run readelf -aW "$work/saved.jo"
is 0 "$status" 'the saved image: readelf'
a=$(nm "$work/saved.jo" | sed -n '50s/ .*//p')
gdb -nx -batch -ex "info symbol 0x$a" -ex "disassemble 0x$a,+4" "$work/saved.jo" >"$work/gdb" 2>&1
like "$work/gdb" '^void pkg.Class0.method[0-9]*\(int\) in section .text' 'the saved image: gdb names an address'
like "$work/gdb" 'push   %rbp' 'the saved image: and its code'
is "$(nm "$image" | sort | md5sum)" "$(nm "$work/saved.jo" | sort | md5sum)" 'the saved image: same symbols at the same offsets'
rm -rf "$work/grow"

# --- system calls
calls() { # calls N: all calls of a run but those of opening and closing, and the growth in bytes
	fresh
	strace -f -o "$work/trace" "$poster" "$1" quiet noclose dir="$work/jit" size=400
	grep -v 'exited' "$work/trace" | sed -n '/^[0-9]* *renameat(.*"0.jo"/,$p' | sed 1d | grep -vE 'exit_group|getpid|^[0-9]+ (mmap|madvise)\((NULL|0x[0-9a-f]*), 4096|close\(' >"$work/after"
	wc -l <"$work/after"
}
c1=$(calls 10000) s1=$(du -B1 --apparent-size "$work/jit"/*/0.jo | cut -f1)
d1=$(du -B4M "$work/jit" | tail -1 | cut -f1)
c2=$(calls 100000) d2=$(du -B4M "$work/jit" | tail -1 | cut -f1)
echo "# 10,000 methods: $c1 calls, $d1 × 4 MiB; 100,000 methods: $c2 calls, $d2 × 4 MiB"
mem=$(grep -cE 'brk|mmap|munmap|mremap' "$work/after")
check '100,000 methods cost one fallocate per 4 MiB, the steps up to it, and the heap' test $((c2 - mem)) -le $((d2 + 16))
check 'ten times the methods are not ten times the calls' test "$c2" -lt $((c1 * 10))
like "$work/after" 'fallocate' 'the trace saw growth'
unlike "$work/after" 'write\(|clock_gettime|futex|open' 'no other call per method'
is 1 "$(grep -c gettid "$work/after")" 'the thread asks its number once'
: "$s1"

# --- several writers, a stopped reader
fresh
"$poster" 20000 threads=4 ring=64 keep dir="$work/jit" >"$work/poster.out" & later $!; p=$!
wait_for 20 test -s "$work/poster.out"
"$dump" "$(ring_of "$work/jit")" follow=80000 slow=100 >"$work/reader1" & later $!; r1=$!
"$dump" "$(ring_of "$work/jit")" pid=$p follow=80000 >"$work/reader2" & later $!; r2=$!
kill -STOP $r1
wait_for 60 grep -q '^posted' "$work/poster.out"
like "$work/poster.out" '^posted 80000 failed 0' 'a stopped reader delays no post'
kill -CONT $r1
wait $r1; wait $r2
like "$work/reader1" '^loads 80000 names 80000 .*bad 0' 'the stopped reader gets everything'
like "$work/reader2" '^loads 80000 names 80000 .*bad 0' 'so does the other at the same time'
"$dump" "$(ring_of "$work/jit")" pid=$p >"$work/reader3"
like "$work/reader3" '^loads 80000 names 80000 ' 'one that comes late, too'
kill -9 $p; wait $p 2>/dev/null
"$dump" "$(ring_of "$work/jit")" >"$work/reader4"
like "$work/reader4" '^loads 80000 names 80000 ' 'and one after kill -9'

# --- size cap
fresh
OPJIT_LOG=$work/log "$poster" 10000 max=300000 dir="$work/jit" >"$work/out"
like "$work/out" '^posted 10000 failed [1-9]' 'over the cap posts say so'
"$dump" "$(ring_of "$work/jit")" >"$work/out"
like "$work/out" '^loads 10000 names 10000 .*nobytes [1-9]' 'names go on over the cap'
is 1 "$(wc -l <"$work/log")" 'the log has one line'
check 'the image with a cap: eu-elflint' eu-elflint --gnu-ld "$(dirname "$(ring_of "$work/jit")")/0.jo"

# --- full disk: no SIGBUS, names go on
if unshare -rm true 2>/dev/null || unshare -m true 2>/dev/null; then
	u='unshare -rm'; [ "$(id -u)" = 0 ] && u='unshare -m'
	for what in none fallocate; do
		pre=; [ $what = fallocate ] && pre="$refuse fallocate"
		rm -f "$work/log"
		$u sh -c "mount -t tmpfs -o size=3m none '$work/jit' && { OPJIT_LOG='$work/log' $pre '$poster' 5000 size=2000 noclose dir='$work/jit'; echo status \$?; '$dump' '$work'/jit/*-*/ring; eu-elflint --gnu-ld '$work'/jit/*-*/0.jo; }" >"$work/out" 2>&1
		like "$work/out" '^status 0' "full disk ($what refused): the poster runs on"
		like "$work/out" '^posted 5000 failed [1-9]' "full disk ($what refused): posts say so"
		like "$work/out" '^loads [0-9]{4} names [0-9]{4} .*nobytes [1-9]' "full disk ($what refused): names went on"
		like "$work/out" '^No errors' "full disk ($what refused): the image is valid"
		is 1 "$(grep -c 'code bytes stop' "$work/log")" "full disk ($what refused): the log has one line of it"
	done
	$u sh -c "mount -t tmpfs -o size=64k none '$work/jit' && OPJIT_LOG='$work/log2' '$poster' 100 dir='$work/jit'; echo status \$?; ls -A '$work/jit' | wc -l" >"$work/out" 2>&1
	like "$work/out" 'open failed' 'no room at all: opening fails cleanly'
	like "$work/out" '^0$' 'and leaves nothing'
	is 1 "$(wc -l <"$work/log2")" 'and the log has one line'
	$u sh -c "mount -t tmpfs -o ro none '$work/jit' && OPJIT_LOG='$work/log3' '$poster' 100 dir='$work/jit'" >"$work/out" 2>&1
	like "$work/out" 'open failed' 'read-only directory: fails cleanly'
	like "$work/log3" 'read-only file system' 'read-only directory: the log says it'
	is 1 "$(wc -l <"$work/log3")" 'read-only directory: in one line'
	$u sh -c "mount -t tmpfs -o noexec none '$work/jit' && { '$poster' 100 keep dir='$work/jit' >'$work/out' & p=\$!; while ! grep -q posted '$work/out'; do sleep 0.05; done; m=\$(sed -n 's/.*\(\/memfd:opjit:.*\)/\1/p' /proc/\$p/maps); echo \"\$m\"; '$dump' \"\$m\" pid=\$p; kill -9 \$p; }" >"$work/out2" 2>&1
	like "$work/out2" '^/memfd:opjit:.*/[0-9]+-[0-9a-f]{16} \(deleted\)' 'noexec mount: a memfd is the marker'
	like "$work/out2" '^loads 100 names 100' 'noexec mount: and leads to the instance'
else
	skip 'no mount namespace here'
fi
fresh
(ulimit -f 4; "$poster" 100 dir="$work/jit" >"$work/out" 2>&1; echo "status $?" >>"$work/out")
like "$work/out" '^(open failed|posted)' 'a file size limit raises no signal'
unlike "$work/out" '^status 1[0-9][0-9]' 'and kills nobody'

# --- refusals
fresh
OPJIT_LOG=$work/log4 run "$refuse" mmap-shared "$poster" 100 dir="$work/jit"
like "$work/out" 'open failed' 'mmap of the ring refused: fails cleanly'
is 1 "$(wc -l <"$work/log4")" 'mmap of the ring refused: one line in the log'
OPJIT_LOG=/dev/stderr run sh -c "ulimit -n 3; exec '$poster' 100 dir='$work/jit'"
[ -s "$work/out" ] || OPJIT_LOG=/dev/stderr run bash -c "exec 3<&- ; ulimit -n 3; exec '$poster' 100 dir='$work/jit'"
cat >"$work/nofd.c" <<'C'
#include <stdio.h>
#include <sys/resource.h>
#include <stdlib.h>
#include "libopagent/opagent.h"
int main(int argc, char **argv)
{
	struct rlimit l = { strtoul(argv[1], NULL, 10), 64 };
	struct opagent *a;
	setrlimit(RLIMIT_NOFILE, &l);
	printf("open %d\n", opagent_open(&a, NULL));
	return 0;
}
C
gcc -I"$src" "$work/nofd.c" -o "$work/nofd" -L"$build/libopagent/.libs" -lopagent
OPJIT_LOG=/dev/stderr LD_LIBRARY_PATH=$build/libopagent/.libs run "$work/nofd" 0
like "$work/out" '^open -' 'no descriptor left: fails cleanly'
is 0 "$status" 'no descriptor left: and the program runs on'
like "$work/err" 'too many open files' 'no descriptor left: the log says it'
is 1 "$(wc -l <"$work/err")" 'no descriptor left: in one line'
fresh
OPJIT_DIR=$work/jit LD_LIBRARY_PATH=$build/libopagent/.libs run "$work/nofd" 10
like "$work/out" '^open -' 'only a few descriptors left: none is taken'
is '' "$(ls "$work/jit")" 'only a few descriptors left: nothing is made'
OPJIT_DIR=$work/jit LD_LIBRARY_PATH=$build/libopagent/.libs run "$work/nofd" 20
like "$work/out" '^open 0' 'some descriptors left: it works'
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	fresh
	mkdir "$work/theirs"; chown 1234 "$work/theirs"
	chmod 755 "$work"
	OPJIT_LOG=/dev/stderr run setpriv --reuid 65534 --clear-groups "$poster" 10 dir="$work/theirs"
	like "$work/out" 'open failed' "another user's directory: fails cleanly"
	like "$work/err" 'permission denied' "another user's directory: the log says it"
	chmod 1777 "$work/jit"
	run setpriv --reuid 65534 --clear-groups "$poster" 10 dir="$work/jit"
	like "$work/out" 'posted 10 failed 0' 'a sticky directory of root serves everybody'
else
	skip 'not root'
fi
run "$poster" 10 dir="$work/jit" quiet
is '' "$(cat "$work/out" "$work/err")" 'nothing is printed'

# --- 32 bits, musl, dlopen, an older libopagent in the same process
core="$src/libopagent/core.c $src/libopagent/open.c $src/libopagent/place.c $src/libopagent/segment.c $src/libopagent/ringw.c
	$src/libopagent/regions.c $src/libopagent/recover.c $src/libopagent/log.c $src/libopagent/lock.c $src/libopagent/sys.c
	$src/libopagent/api1.c $src/libopagent/api2.c $src/format/jit/tables.c $src/format/jit/image.c $src/lib/map.c $src/lib/util.c"
defs="-D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I$src -O1 -Wall"
if echo 'int main(void){return 0;}' | gcc -m32 -x c - -o "$work/m32" 2>/dev/null; then
	fresh
	# shellcheck disable=SC2086
	check 'builds with -m32' gcc -m32 $defs -DOPAGENT_STATIC $core "$src/tests/tools/poster.c" -o "$work/poster32" -lpthread
	# shellcheck disable=SC2086
	gcc -m32 -shared -fPIC $defs $core -o "$work/lib32.so" 2>/dev/null
	is 2.17 "$(printf '%s\n2.17\n' "$(objdump -T "$work/lib32.so" | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -Vu | tail -1)" | sort -V | tail -1)" '32 bits: no glibc symbol newer than 2.17'
else
	skip 'no 32-bit compiler'
fi
emulator=
"$work/m32" 2>/dev/null || emulator=$(command -v qemu-i386)
if [ -x "$work/poster32" ] && $emulator "$work/m32" 2>/dev/null; then
	run $emulator "$work/poster32" 5000 lines unload dir="$work/jit"
	like "$work/out" 'posted 5000 failed 0' '32-bit poster posts'
	"$dump" "$(ring_of "$work/jit")" >"$work/out"; "$dump" "$(ring_of "$work/jit")" tables >>"$work/out"
	is 2 "$(grep -c '^loads 5000 names 5000 unloads 4999 .*bad 0 closed 1' "$work/out")" 'the 64-bit reader reads it, ring and journal'
	f=$(dirname "$(ring_of "$work/jit")")/0.jo
	like <(readelf -hW "$f") 'ELF32' 'its image is ELF32'
	check 'its image: eu-elflint' eu-elflint --gnu-ld "$f"
	like <(objdump -d --stop-address=0x1010 "$f") 'file format elf32-i386' 'its image: objdump'
	"$dump" "$(ring_of "$work/jit")" save="$work/s32.jo" >/dev/null
	check 'its saved image: eu-elflint' eu-elflint --gnu-ld "$work/s32.jo"
else
	skip 'this kernel runs no 32-bit programs, and there is no qemu-i386'
fi
if command -v musl-gcc >/dev/null; then
	fresh
	# shellcheck disable=SC2086
	check 'builds with musl' musl-gcc -static $defs -DOPAGENT_STATIC $core "$src/tests/tools/poster.c" -o "$work/poster-musl"
	run "$work/poster-musl" 5000 threads=3 lines dir="$work/jit"
	like "$work/out" 'posted 15000 failed 0' 'musl poster posts'
	like <("$dump" "$(ring_of "$work/jit")") '^loads 15000 names 15000 .*bad 0' 'and is read'
else
	skip 'no musl-gcc'
fi
fresh
cat >"$work/dl.c" <<'C'
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
int main(void)
{
	void *h = dlopen("libopagent.so", RTLD_NOW);
	void *(*open_agent)(void);
	int (*write_code)(void *, const char *, uint64_t, const void *, unsigned int), (*close_agent)(void *);
	if (!h) return puts(dlerror()), 1;
	open_agent = (void *(*)(void))dlsym(h, "op_open_agent");
	write_code = (int (*)(void *, const char *, uint64_t, const void *, unsigned int))dlsym(h, "op_write_native_code");
	close_agent = (int (*)(void *))dlsym(h, "op_close_agent");
	void *a = open_agent();
	return !a || write_code(a, "jitted", 0x1000, "code", 4) || close_agent(a);
}
C
gcc "$work/dl.c" -o "$work/dl" -ldl
LD_LIBRARY_PATH=$build/libopagent/.libs run "$work/dl"
is 0 "$status" 'opened by its bare name, as LLVM does'
like <("$dump" "$(ring_of "$work/jit")" names) '^load jitted' 'and its region is there'
fresh
cat >"$work/fake.c" <<'C'
#include <stdint.h>
#include <stddef.h>
void *op_open_agent(void) { return NULL; }
int op_write_native_code(void *h, const char *n, uint64_t v, const void *c, unsigned int s) { return -1; }
int opagent_open(void **r, const void *o) { return -1; }
int opagent_load(void *a, const void *r, uint64_t *id) { return -1; }
int opagent_close(void *a) { return -1; }
int core_load(void) { return -1; }
int lock_take(void) { return -1; }
uint64_t *u64map_get(const void *m, uint64_t k) { return NULL; }
C
cat >"$work/static.c" <<'C'
#include "libopagent/opagent.h"
int post_something(void);
int post_something(void)
{
	struct opagent *a;
	struct opagent_region r = { .size = sizeof(r), .addr = 4096, .code_size = 4, .code = "code", .name = "static core" };
	return opagent_open(&a, NULL) || opagent_load(a, &r, NULL) || opagent_unload(a, 4096, 0) || opagent_close(a);
}
C
echo 'int post_something(void); int main(void) { return post_something(); }' >"$work/main.c"
gcc -shared -fPIC -Wl,-soname,libopagent.so.1 "$work/fake.c" -o "$work/libopagent.so.1"
gcc -shared -fPIC -I"$src" "$work/static.c" "$build/libopagent/.libs/libopagent-core.a" -o "$work/libstatic.so"
gcc "$work/main.c" -o "$work/main" -L"$work" -lstatic -Wl,-rpath,"$work"
LD_PRELOAD=$work/libopagent.so.1 run "$work/main"
is 0 "$status" 'another libopagent in the process does not stand in front of the static core'
like <("$dump" "$(ring_of "$work/jit")" names) '^load static core' 'its region is there'

# --- bad input is refused with file and offset
d=$(dirname "$(ring_of "$work/jit")")
refused() { # refused PATTERN DESCRIPTION
	run timeout 60 "$dump" "$d/ring" tables
	is 1 "$status" "$2: refused"
	like "$work/err" "$1" "$2: with file, offset and cause"
}
cp -a "$d" "$work/keep"; restore() { rm -rf "$d"; cp -a "$work/keep" "$d"; }
poke() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
head -c 100 /dev/urandom >"$d/ring"; refused 'ring: offset [0-9]+: ' 'short garbage as ring'
head -c 500000 /dev/urandom >"$d/ring"; refused 'ring: offset 0: not a ring' 'garbage as ring'
restore; truncate -s 5000 "$d/ring"; refused 'ring: offset 5000: shorter' 'truncated ring'
restore; poke "$d/ring" 8 '\x09'; refused 'ring: offset 8: unknown layout version' 'a ring of the future'
restore; poke "$d/ring" 20 '\xff\xff\xff\xff'; refused 'ring: offset 20: ' 'a ring with 2^32 entries'
restore; poke "$d/ring" 518 '\x40'; refused 'ring: offset [0-9]+: ' 'a ring that counts 2^54 events'
restore; poke "$d/ring" 544 '\xff\xff\xff\xff'; refused 'ring: offset 544: ' 'a ring with 2^32 segments'
restore; : >"$d/0.jo"; refused '0.jo: offset [0-9]+: ' 'an empty image'
restore; truncate -s 4096 "$d/0.jo"; refused '0.jo: offset [0-9]+: section goes beyond' 'a truncated image'
restore; head -c 8192 /dev/urandom >"$d/0.jo"; refused '0.jo: offset 0: not an ELF' 'garbage as image'
restore; j=$((0x$(readelf -SW "$d/0.jo" | awk '/opjit.journal/ {print $6}')))
poke "$d/0.jo" $j '\x01\x02\x03\x7f'; refused '0.jo: offset [0-9]+: bad record size' 'a journal record of 2 GB'
restore; rm "$d/0.jo"; mkfifo "$d/0.jo"; refused '0.jo: offset 0: ' 'a FIFO as image'
restore; rm "$d/ring"; ln -s /etc/passwd "$d/ring"; run "$dump" "$d/ring"; is 1 "$status" 'a link as ring is refused'
done_testing
