#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Mono under operf and by hand beside a running daemon; generics, closures, async, exceptions, and an application domain that is unloaded.
. "$(dirname "$0")/lib.sh"
need mono mcs nm
may_sample || skip_all 'perf_event_open is not for us here'
[ -e "$build/agents/mono/.libs/libmono-profiler-oprofile.so" ] || skip_all 'built without the Mono agent'
export LD_LIBRARY_PATH=$build/agents/mono/.libs OPJIT_RUN_DIR=$work/run HOME=$work
mkdir "$work/m" && cd "$work/m" || exit 1
cat >All.cs <<'CS'
using System; using System.Collections.Generic; using System.Threading.Tasks;
public class Other : MarshalByRefObject { public long Inside(long n) { long s = 1; for (long i = 0; i < n; i++) s = s * 33 + i; return s; } }
class Box<T> { public T v; public long Generic(long n) { long s = 1; for (long i = 0; i < n; i++) s = s * 31 + i; return s; } }
static class All {
  static long Throws(long n) { long s = 0; for (long i = 0; i < n; i++) { try { if (i % 3 == 0) throw new InvalidOperationException(); s++; } catch (InvalidOperationException) { s += 2; } } return s; }
  static async Task<long> Async(long n) { await Task.Yield(); long s = 1;
    for (long i = 0; i < n; i++)
      s = s * 37 + i;
    return s; }
  static void Main() {
    long s = 0, k = 5; Func<long, long> closure = n => { long t = k; for (long i = 0; i < n; i++) t = t * 35 + i; return t; };
    for (int r = 0; r < 10; r++) { s += new Box<string>().Generic(20000000); s += closure(20000000); s += Async(20000000).Result; }
    s += Throws(20000);
    AppDomain d = AppDomain.CreateDomain("other");
    var o = (Other)d.CreateInstanceAndUnwrap(typeof(Other).Assembly.FullName, "Other");
    for (int r = 0; r < 10; r++) s += o.Inside(20000000);
    AppDomain.Unload(d);
    s += new Box<int>().Generic(20000000);
    Console.WriteLine(s != 0 ? "number" : ""); } }
CS
run mcs -debug -out:all.exe All.cs
is 0 "$status" 'mcs'
judged() {
	opreport --session-dir="$work/s" -l >report 2>report.err
	for n in 'Box`1<.*>:Generic \(long\)' '<Async>c__async.*:MoveNext \(\)|Async.*MoveNext' 'All/.*<Main>.*\(long\)' 'Other:Inside \(long\)'; do
		like report "\\[jit\\].* .*($n)" "$1: hot and named: $n"
	done
	local unnamed
	unnamed=$(awk '/anon .*no symbols/ { s += $1 } END { print s + 0 }' report)
	check "$1: hardly a sample without a name ($unnamed)" test "$unnamed" -lt 50
}
run operf --session-dir="$work/s" mono --debug all.exe
is '0 number' "$status $(cat "$work/out")" 'under operf: status and output are its own'
judged 'operf mono'
img=$(ls -S "$work"/s/jit/*/0.jo | head -n 1)
nm "$img" >names
like names ' T .*Generic \(long\)' 'nm on its image'
run opannotate --session-dir="$work/s" --source
like "$work/out" 's = s \* 37 \+ i' 'by line: the loop of the async method'
if [ "$(id -u)" = 0 ]; then
	rm -rf "$work/s"
	trap 'opcontrol --shutdown >/dev/null 2>&1; cleanup' EXIT
	run opcontrol --session-dir="$work/s" --separate=process --start
	is 0 "$status" 'the daemon runs'
	run mono --debug --profile=oprofile all.exe
	is '0 number' "$status $(cat "$work/out")" 'by hand: status and output are its own'
	run opcontrol --dump
	run opcontrol --shutdown
	judged 'mono --profile=oprofile beside opd'
else
	skip 'the daemon needs root'
fi
done_testing
