#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# oparchive: a session with everything its reports need, moved elsewhere with the originals gone; also as a .tar and as
# another word size and byte order.
. "$(dirname "$0")/lib.sh"
need cc objcopy
cd "$work" || exit 1
mk=$build/tests/tools/mksession

# a program with lines and inlines, one whose debug information is a file of its own, and a JIT image
mkdir -p bin jit
cat >prog.c <<'END'
static inline __attribute__((always_inline)) int inner(int x) { return x * 3 + 1; }
__attribute__((noinline)) int outer(int x) { int s = 0; for (int i = 0; i < x; i++) s += inner(i); return s; }
int main(int argc, char **argv) { (void)argv; return outer(argc * 1000) & 1; }
END
cc -g -O1 -o bin/plain prog.c || skip_all 'no compiler that works'
cc -g -O1 -o bin/split prog.c
objcopy --only-keep-debug bin/split bin/split.debug
objcopy --strip-debug --remove-section=.note.gnu.build-id --add-gnu-debuglink=bin/split.debug bin/split 2>/dev/null
off=$(( 0x$(nm bin/plain | awk '$3 == "outer" {print $1}') )) # PIE: address = file offset in .text
{
	printf 'session\t%s\tstacks\ncpu\tCPU with timer interrupt\t0\nevent\t0\tcpu-clock\ttimer\t0\t997\t0\t1\n' "$work/s"
	n=0
	for p in plain split; do
		printf 'file\tfile\t%s\t%s\t%s\t0\t-1\t-1\t-1\t0\t0\n' "$work/bin/$p" "$work/bin/$p" $p
		for k in 0 3 8 12; do printf 'add\t%d\t%d\t%d\n' $n $((off + k)) $((k + 10)); done
		n=$((n + 1))
	done
	printf 'file\tjit\t77-00aa/0.jo\t/usr/bin/java\tjava:App\t0\t77\t-1\t-1\t0\t0\nadd\t2\t4112\t50\nadd\t2\t4200\t20\n'
	printf 'file\tkernel\tvmlinux\t\t\t0\t-1\t-1\t-1\t0\t0\nadd\t3\t16\t5\n'
	printf 'flush\njo\t%s\nsym\t0\t64\tcom.acme.A.run(int)\nsym\t64\t64\tcom.acme.B.go()\nend\n' "$work/s/jit/77-00aa/0.jo"
} >script
check 'a session is made' "$mk" <script
printf 'ffffffff81000000 T _stext\nffffffff81000010 T do_it\nffffffff81000100 T other\n' >s/kallsyms

report() { opreport "$@" 2>/dev/null; }
report -l -g --session-dir=s >before
report -d --session-dir=s >before-d
like before 'prog.c:2' 'lines are there before'
like before 'com.acme.A.run' 'and JIT names'
run oparchive -l -d s
like out "/bin/split.debug\$" '-l lists the debug file'
like out '/jit/77-00aa/0.jo$' '-l lists the JIT image'
check '-l copies nothing' test ! -e arch
run oparchive -o arch -d s
is 0 "$status" 'oparchive into a directory'
show err
run oparchive -o arch.tar -d s
is 0 "$status" 'oparchive into a .tar'
oparchive -o arch2.tar -d s 2>/dev/null
check 'the same session gives the same bytes' cmp arch.tar arch2.tar
check 'tar reads it' sh -c 'tar -tf arch.tar >names'
like names 'jit/77-00aa/0.jo' 'and finds the images'
# A session is somebody else's: what only we can read does not come out of it by a link.
cp -r s linked
echo 'only ours' >secret
for f in kallsyms jit/77-00aa/0.jo; do
	rm -f linked/$f
	ln -s "$work/secret" linked/$f
done
ln -s "$work/secret" linked/vdso
run oparchive -o linked.arch -d linked
is 0 "$status" 'oparchive of a session with links in place of its files'
is '' "$(grep -rl 'only ours' linked.arch)" 'what they lead to is not in it'
is 3 "$(grep -c ': a symbolic link: left out$' err)" 'which is said of each'
run oparchive -o arch -d s
is 1 "$status" 'a directory that is there is not written into'

mkdir elsewhere
mv arch elsewhere/moved
mv arch.tar elsewhere/
mv bin bin.gone
mv s s.gone
cd elsewhere || exit 1
report -l -g archive:moved >after
check 'moved, originals gone: the same report, lines included' cmp ../before after
diff ../before after | head -n 5 | sed 's/^/# /'
report -d archive:moved >after-d
check 'and the same details' cmp ../before-d after-d
report -l -g --session-dir=moved >after2
check 'read as a plain session too' cmp ../before after2
TMPDIR=$work/tmp; mkdir -p "$TMPDIR"; export TMPDIR
report -l -g archive:arch.tar >after-tar
check 'straight out of the .tar' cmp ../before after-tar
is '' "$(ls "$TMPDIR")" 'nothing is left of the unpacking'
if opannotate --help >/dev/null 2>&1 && [ -x "$build/report/opannotate" ]; then
	opannotate --assembly archive:moved >asm 2>/dev/null
	like asm 'outer' 'disassembly out of the archive'
	like asm 'com.acme.A.run' 'also of JIT code'
else
	skip 'no opannotate here'
fi
for to in '4 be' '8 be'; do
	# shellcheck disable=SC2086
	set -- $to
	rm -rf conv
	check "the archive converted to width $1, order $2" opabi convert --width="$1" --order="$2" moved conv
	report -l -g archive:conv >after
	check 'reports the same' cmp ../before after
done

# hostile archives
cp arch.tar bad.tar
printf 'x' | dd of=bad.tar bs=1 seek=10 conv=notrunc 2>/dev/null
run opreport archive:bad.tar
is 1 "$status" 'a bad checksum is refused'
like "$work/err" 'bad.tar: offset 0x0: ' 'with file and offset'
head -c 3000 arch.tar >short.tar
run opreport archive:short.tar
like "$work/err" 'short.tar: offset 0x[0-9a-f]+: ' 'one cut short too'
mkdir -p t/samples
echo gotcha >t/evil
(cd t && tar --transform 's,evil,../../evil,' -P -cf ../dots.tar evil) 2>/dev/null
run opreport archive:dots.tar
like "$work/err" 'leads out of the archive' 'no way out by ..'
ln -s /etc t/samples/current
(cd t && tar -cf ../link.tar samples)
run opreport archive:link.tar
like "$work/err" 'leads out of its directory' 'no way out by a link'
is '' "$(ls "$TMPDIR")" 'nothing is left of those'
check 'no file got out' test ! -e ../../evil

# debug information found by build-id: below the system's directory for it, which here is one that only this test sees
cd "$work" || exit 1
mkdir bb
cc -g -O1 -Wl,--build-id=sha1 -o bb/built prog.c
id=$(readelf -n bb/built | sed -n 's/.*Build ID: //p')
if [ -d /usr/lib/debug ] && [ -n "$id" ] && unshare -m mount -t tmpfs none /usr/lib/debug 2>/dev/null; then
	objcopy --only-keep-debug bb/built bb.debug
	objcopy --strip-debug bb/built
	{
		printf 'session\t%s\tstacks\ncpu\tCPU with timer interrupt\t0\nevent\t0\tcpu-clock\ttimer\t0\t997\t0\t1\n' "$work/sb"
		printf 'file\tfile\t%s\t%s\tbuilt\t0\t-1\t-1\t-1\t0\t0\n' "$work/bb/built" "$work/bb/built"
		for k in 0 3 8 12; do printf 'add\t0\t%d\t%d\n' $((off + k)) $((k + 10)); done
		printf 'flush\n'
	} | "$mk"
	where=/usr/lib/debug/.build-id/${id:0:2}
	# shellcheck disable=SC2016
	unshare -m bash -c 'mount -t tmpfs none /usr/lib/debug && mkdir -p "$1" && cp bb.debug "$1/$2.debug" &&
		opreport -l -g --session-dir=sb >before-b 2>/dev/null && oparchive -o arch-b -d sb' - "$where" "${id:2}" 2>err
	is 0 $? 'oparchive of a binary whose debug file is found by its build-id'
	like before-b 'prog.c:2' 'its lines are known where the debug file is'
	check 'the debug file is in the archive' cmp bb.debug "$(find arch-b -name "${id:2}.debug")"
	rm -rf bb sb bb.debug
	report -l -g archive:arch-b >after-b
	check 'and told by the archive alone, the originals gone' cmp before-b after-b
else
	skip 'no private file system here (needs root), or no /usr/lib/debug'
fi
done_testing
