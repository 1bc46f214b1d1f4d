#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A session of a real JVM: as other machines would have written it, archived with the original gone, to OProfile and back.
. "$(dirname "$0")/lib.sh"
may_sample || skip_all 'perf_event_open is refused here'
jdk=$(jdks | head -n 1)
[ -n "$jdk" ] || skip_all 'no JDK here'
cd "$work" || exit 1
cat >Hot.java <<'END'
public class Hot {
	static int f(int x) { int s = 0; for (int i = 0; i < x; i++) s += i * 31 ^ s; return s; }
	static int g(String a) { int h = 0; for (int i = 0; i < a.length(); i++) h = h * 31 + a.charAt(i); return h; }
	public static void main(String[] a) {
		long z = 0;
		for (int i = 0; i < 1500000; i++) { z += f(1500); z += g("hello" + i); }
		System.out.println(z != 0);
	}
}
END
"$jdk/bin/javac" Hot.java || exit 1
run operf -g -d s "$jdk/bin/java" -cp . Hot
is 0 "$status" 'operf java'
show err
opreport -l --session-dir=s >l0 2>/dev/null
opreport -c --session-dir=s >c0 2>/dev/null
like l0 'Hot.f\(int\)' 'the session has names of JIT code'
for w in 4 8; do
	check "converted to $w bytes, big-endian" opabi convert --width=$w --order=be s be$w
	opreport -l --session-dir=be$w >l1 2>/dev/null
	opreport -c --session-dir=be$w >c1 2>/dev/null
	check 'the report is the same, byte for byte' cmp l0 l1
	check 'and the call graph' cmp c0 c1
done
check 'every file of the session obeys every rule' sh -c 'find s/samples -type f ! -name info -print0 | xargs -0 opabi check >/dev/null'
run opabi convert --width=1 --order=be s be1
is 1 "$status" 'one byte is not enough'
like err 'offset 0x[0-9a-f]+: fit: .*\(0x' 'and the word is named'
check 'archived' oparchive -o arch.tar -d s
mv s gone
opreport -l archive:arch.tar >l1 2>/dev/null
check 'the archive reports the same' cmp l0 l1
check 'to OProfile' opexport --oprofile=up -d gone
check 'and back' opimport --oprofile=up -d back
opreport -l -n --session-dir=back >l1 2>/dev/null
sum() { awk '$1 ~ /^[0-9]+$/ {s += $1} END {print s + 0}' "$1"; }
is "$(sum l0)" "$(sum l1)" 'no sample is lost on the way'
is "$(awk '/Hot.f\(int\)/ {print $1; exit}' l0)" "$(awk '/Hot.f\(int\)/ {print $1; exit}' l1)" 'names of JIT code and their counts came back'
done_testing
