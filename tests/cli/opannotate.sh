#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# opannotate and the line views of opreport on a real binary with debug information.
. "$(dirname "$0")/lib.sh"
need gcc nm readelf
cd "$work" || exit 1
mksession=$build/tests/tools/mksession
cat >prog.c <<'END'
static inline __attribute__((always_inline)) int inner(int x)
{
	volatile int s = x;
	s = s * 7;
	return s;
}
static inline __attribute__((always_inline)) int middle(int x)
{
	return inner(x) + 1;
}
__attribute__((noinline)) int hot(int x)
{
	return middle(x) * 2;
}
__attribute__((noinline)) int cold(int x)
{
	return x + 3;
}
int main(int argc, char **argv)
{
	(void)argv;
	return hot(argc) + cold(argc);
}
END
gcc -g -O2 -gdwarf-5 -o prog prog.c || skip_all 'gcc makes no programs here'
mkdir -p stripped/.debug && objcopy --only-keep-debug prog stripped/.debug/prog.debug && strip -o stripped/prog prog &&
	(cd stripped/.debug && objcopy --add-gnu-debuglink=prog.debug ../prog)

# offset of an address of the executable segment
offset_of() {
	readelf -lW prog | awk -v a="$1" '$1 == "LOAD" && /R E/ { o = strtonum($2); v = strtonum($3); n = strtonum($5)
		if (a >= v && a < v + n) printf "%d\n", a - v + o }' 2>/dev/null
}
if ! awk 'BEGIN { exit strtonum("0x10") != 16 }' 2>/dev/null; then
	offset_of() {
		local o v n f
		while read -r _ o v _ n _ f _; do
			[ $(($1 >= v && $1 < v + n)) = 1 ] && [[ $f == *E* || $f == R ]] && echo $(($1 - v + o))
		done < <(readelf -lW prog | grep 'LOAD.*R E')
	}
fi
hot=$((0x$(nm prog | awk '$3 == "hot" { print $1 }')))
size=$((0x$(nm -S prog | awk '$4 == "hot" { print $2 }')))
cold=$((0x$(nm prog | awk '$3 == "cold" { print $1 }')))
# an instruction of the multiplication in inner(), as addr2line sees it
at=
for ((i = hot; i < hot + size; i++)); do
	case $(addr2line -i -e prog "$(printf '%x' $i)" | tr '\n' ' ') in
	*prog.c:4*prog.c:9*prog.c:13*) at=$i; break ;;
	esac
done
[ -n "$at" ] || skip_all 'this compiler keeps no line of the inlined function'

for where in prog stripped/prog; do
	name=s-${where/\//-}
	printf '%b' "session\t$name\nevent\t0\tcycles\tCycles\t1000\t0\t0\t0\n" \
		"file\tfile\t$work/$where\t$work/$where\tprog\t0\t-1\t-1\t-1\t0\t0\n" \
		"add\t0\t$(offset_of $at)\t70\nadd\t0\t$(offset_of $cold)\t30\nflush\n" | "$mksession"
	run opreport --session-dir=$name -l -n
	is '70 70.0000 hot
30 30.0000 cold' "$(sed 's/  */ /g' out)" "$where: symbols"
	run opreport --session-dir=$name -n --inlines -i hot
	is '  70       100.000  inner (prog.c:4) < middle (prog.c:9) < hot (prog.c:13)' "$(sed -n 2p out)" "$where: three inlined frames with their lines"
	run opreport --session-dir=$name -n --lines -i hot
	is '  70       100.000  prog.c:4' "$(sed -n 2p out)" "$where: samples by line"
	run opreport --session-dir=$name -n -d -g -i hot
	like out '^  [0-9a-f]+ 70 +100.000  prog.c:4$' "$where: line of an instruction"
	run opreport --session-dir=$name -n -g -f -i cold
	like out "^30 +100.000  $work/prog.c:1[5-7] +cold\$" "$where: whole path of a symbol's line"
done

run opannotate --session-dir=s-prog -s
is 0 "$status" 'source'
like out '^ \* Total samples for file : "'"$work"'/prog.c"$' 'names the file'
like out '^ \*    100 100.000$' 'and its samples'
like out '^    70 70.0000 :	s = s \* 7;$' 'the hot line'
like out '^               :	return middle\(x\) \* 2;$' 'a line without samples'
is "$(cat prog.c)" "$(sed -n '/^\*\/$/!{/^ *[0-9. ]*:/{s/^[^:]*://;s, /\* .* total:.*\*/$,,;p}}' out)" 'the source is all there'
is 100 "$(awk -F: '/^ +[0-9]+ / { split($1, a, " "); n += a[1] } END { print n }' <(grep -v '^ \*' out))" 'lines sum up to the total'
run opannotate --session-dir=s-prog -s -o annotated
is 0 "$status" 'output directory'
like "annotated/$work/prog.c" '^    70 70.0000 :	s = s \* 7;$' 'holds the file'
is '' "$(cat out)" 'nothing on standard output then'
mv prog.c elsewhere.c && mkdir -p srcs/deep && cp elsewhere.c srcs/prog.c && mv elsewhere.c srcs/deep/prog.c
run opannotate --session-dir=s-prog -s
like err 'prog.c: source not found.*--search-dirs' 'a missing source is told'
like out '^    70 70.0000 :\(line 4\)' 'its lines are counted all the same'
run opannotate --session-dir=s-prog -s -d "$work/srcs"
like out ':	s = s \* 7;$' 'found by --search-dirs'
run opannotate --session-dir=s-prog -s -b "$work" -d "$work/srcs/deep"
like out ':	s = s \* 7;$' 'found by --base-dirs and --search-dirs'
run opannotate --session-dir=s-prog -s -d srcs --exclude-file '*.c'
is 1 "$status" 'nothing left is an error'
run opannotate --session-dir=s-prog -s -d srcs --include-file prog.c -t 50
is 0 "$status" 'the file alone'

run opannotate --session-dir=s-prog -a
is 0 "$status" 'instructions'
like out '<hot>: /\* prog total:     70 70.0000 \*/' 'a block for each symbol'
like out "^    70 70.0000 : +$(printf '%x' "$at"):	" 'the hot instruction'
is 100 "$(awk -F: '/^ +[0-9]+ / { split($1, a, " "); n += a[1] } END { print n }' <(grep -v '^ \*' out))" 'instructions sum up to the total'
# the same instructions as objdump
run opannotate --session-dir=s-prog -a -i hot
sed -nE 's/^[ 0-9.]+: +([0-9a-f]+):.*/\1/p' out | sort >ours
objdump -d --no-show-raw-insn --start-address=$hot --stop-address=$((hot + size)) prog | grep -oE '^ +[0-9a-f]+:' | tr -d ' :' | sort >theirs
check 'all instructions of the symbol' cmp ours theirs
run opannotate --session-dir=s-prog -a --objdump-params='-M intel --no-show-raw-insn' -i hot
like out "^    70 100.000 : +$(printf '%x' "$at"):	mov +[a-z]+,DWORD PTR" 'by objdump, in another syntax'
run opannotate --session-dir=s-prog -a -s -d srcs -i hot
like out ':prog.c:4: *s = s \* 7;$' 'source between instructions'

# --- JIT code, gaps and what has no bytes
tr '|' '\t' <<'END' | "$mksession"
jo|j/jit/7-00000000deadbeef/0.jo
sym|0|4|App.f()
sym|16|4|App.f()
end
session|j
event|0|cpu-clock|x|0|1000|0|1
file|jit|7-00000000deadbeef/0.jo|/usr/bin/java|java:App|0|7|-1|-1|0|0
add|0|4097|5
add|0|4112|6
add|0|4120|7
file|anon|anon|/usr/bin/java|java:App|0|7|-1|-1|0x1000|0x2000
add|1|16|8
flush
END
run opannotate --session-dir=j -a
like out '^     5 19.2308 :    1001:	nop' 'JIT code is disassembled'
is 2 "$(grep -c '<App.f()>: /\* java:App \[jit\] total:' out)" 'each version in a block of its own'
is 26 "$(awk -F: '/^ +[0-9]+ / { split($1, a, " "); n += a[1] } END { print n }' <(grep -v '^ \*' out))" 'samples without code are counted'
run opannotate --session-dir=j -s
is 1 "$status" 'no lines at all is an error'
like err 'no samples with known source lines' 'with its cause'
run opannotate --session-dir=j
is 1 "$status" 'neither -s nor -a'
run opannotate --session-dir=nowhere -s
like err 'no profile in nowhere: record one with' 'no session: what to run'
done_testing
