#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes the seeds of fuzz-evtool, fuzz-evimport and fuzz-upstream from those of the formats: BUILD-DIRECTORY as the argument.
set -eu
build=$(cd "${1:?build directory}" && pwd)
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p evtool evimport upstream

# byte N FILE…: the byte N, then the files
byte() { local n=$1; shift; printf "\\x$(printf %02x "$n")"; cat "$@"; }
at=0
for name in dump raw stat check cut merge ftrace follow ctf abi opel pmclog script json rst; do
	if [ $name = ftrace ]; then byte $((at << 4)) evformats/C1; else byte $((at << 4)) evlog/random1; fi >evtool/$name
	at=$((at + 1))
done
byte $((0x4c)) evlog/random1 >evtool/cut-some
byte 1 evlog/cut >evtool/dump-json-cut
{ byte 0 /dev/null; tail -c +2 pmclog/B5; } >evtool/hwpmc

for v in B1 B2 B3 B5; do { byte 0 /dev/null; tail -c +2 pmclog/$v; } >evimport/$v; done
word() { printf "\\x$(printf %02x $(($1 & 255)))\\x$(printf %02x $(($1 >> 8)))"; }
abi() { byte 1 /dev/null; word "$(stat -c %s "$1")"; word "$(stat -c %s "$2")"; cat "$@"; }
abi opnd/a1 opsd/a3 ophd/a7 >evimport/abi
abi opnd/a1 opsd/a6 ophd/cycle >evimport/abi-odd

"$build/report/opevlog" convert --format=script -o "$work/script" evlog/random1
byte 16 "$work/script" >evimport/script
perf_like='java 12/13 12345.678901: 250000 cpu-clock:pppH: \n\tffffffff81000001 do_it+0x1 ([kernel.kallsyms])\n\t    7f0000001234 main (/bin/x)\n\n'
{ byte 16 /dev/null; printf "$perf_like"; } >evimport/perf
{ byte 16 /dev/null; printf 'x 1/2 [000] 1.5: 7 a\0b: 12\n'; } >evimport/script-nul
"$build/report/opevlog" convert --format=ctf -o "$work/ctf" evlog/random1
byte 32 "$work/ctf/stream_1" >evimport/ctf

cd "$work"
{
	printf 'session\t%s\nevent\t0\tcpu-clock\ttimer\t0\t997\t0\t1\n' "$work/s"
	printf 'file\tfile\t/bin/prog\t/bin/prog\tprog\t0\t-1\t-1\t-1\t0\t0\nadd\t0\t4096\t7\nadd\t0\t8192\t5\n'
	printf 'file\tjit\t77-00aa/0.jo\t/usr/bin/java\tjava:App\t0\t77\t-1\t-1\t0\t0\nadd\t1\t4112\t50\nflush\n'
	printf 'jo\t%s\nsym\t0\t64\tcom.acme.A.run(int)\nsym\t64\t64\tcom.acme.B.go()\nend\n' "$work/s/jit/77-00aa/0.jo"
} | "$build/tests/tools/mksession"
"$build/report/opexport" --oprofile=up -d s
cd - >/dev/null
find "$work/up" -path '*/bin/prog/*' -name 'TIMER*' -exec cp {} upstream/samples \;
find "$work/up" -name '*.jo' -exec cp {} upstream/image \;
{ head -c 76 upstream/samples; printf '\377\377'; tail -c +79 upstream/samples; } >upstream/too-many
