#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Files of other JITs that are forged, damaged or endless: refused or bounded, with one clear line each, never a hang; what is good in them is
# used. And nothing outside of the target's namespace is read.
. "$(dirname "$0")/lib.sh"
may_sample || skip_all 'perf_event_open is not for us here'
[ "$(uname -m)" = x86_64 ] || skip_all 'the fixture makes x86-64 code'
cd "$work" || exit 1
jitself=$build/tests/tools/jitself
maps=()
trap 'rm -rf "${maps[@]}"; cleanup' EXIT
# A process that says nothing itself; its map is ours to forge. It works once it is watched.
begin() {
	rm -f go
	"$jitself" none 200 go >target.out 2>&1 & target=$!
	later $target
	map=/tmp/perf-$target.map
	maps+=("$map")
}
# Its code is mapped: $start.
# shellcheck disable=SC2317
ready() { start=$(awk '$2 ~ /x/ && NF == 5 { split($1, a, "-"); print a[1]; exit }' "/proc/$target/maps"); [ -n "$start" ]; }
# profiled WHAT: until it ends by itself; bounded.
profiled() {
	local op
	rm -rf s
	timeout 60 operf --session-dir="$work/s" --pid $target >out 2>err & op=$!
	later $op
	watched s $op
	true >go
	wait $op
	is 0 $? "$1: operf ends, well"
	wait $target
	opreport --session-dir="$work/s" -l >report 2>report.err
	rm -rf "$map"
}
said_once() { is 1 "$(grep -cE -- "$1" err)" "$2"; }
no_names() { unlike report 'forged|root:' "$1: nothing of it is in the report"; }

begin; ln -s /etc/passwd "$map"; profiled 'a symbolic link'
said_once 'perf-[0-9]+.map: ignored: a symbolic link' 'a symbolic link: one line'
no_names 'a symbolic link'
begin; mkfifo "$map"; profiled 'a FIFO'
said_once 'ignored: not a regular file' 'a FIFO: one line, no hang'
begin; mkdir "$map"; profiled 'a directory'
said_once 'ignored: not a regular file' 'a directory: one line'
if [ "$(id -u)" = 0 ]; then
	begin; echo '0 ffffffffff forged' >"$map"; chown 65534 "$map"; profiled "another user's file"
	said_once "ignored: owned by uid 65534, process [0-9]+ runs as uid 0" "another user's file: whose it is"
	no_names "another user's file"
else
	skip 'another owner needs root'
fi
begin; truncate -s 10G "$map"; profiled '10 GB of nothing'
like report 'anon .*no symbols' '10 GB of nothing: the samples are there, without names'
said_once 'no longer read: /tmp/perf-[0-9]+.map: 64 MB without one good record' '10 GB of nothing: one line'

# Lines of all kinds of damage, and good ones: the good ones serve.
begin
wait_for 20 ready
{
	printf 'nonsense\n\n0 0 empty\nffffffffffffffff 10 wraps\n%s 40 good\xff\xfe name\r\n' "$start"
	printf '%x 40 a second one' $((0x$start + 1024))
} >"$map"
profiled 'a damaged map'
check 'a damaged map: what is good in it serves' grep -qa 'good.* name' report
like report 'a second one' 'a damaged map: the last line without its newline, too'
begin; wait_for 20 ready
printf '%s 40 good\n' "$start" >"$map"
(while kill -0 $target 2>/dev/null; do head -c 2000000 /dev/zero | tr '\0' 'x' | fold -w 100 >>"$map"; sleep 0.05; done) & later $!
profiled 'a map that grows for ever'
like report ' good$' 'a map that grows for ever: what is good in it serves'

# --- nothing outside of the namespace is read: its /tmp is empty, ours has a map for its number
if [ "$(id -u)" = 0 ] && unshare -mpf --mount-proc true 2>/dev/null; then
	echo '0 7fffffffffff forged' >/tmp/perf-1.map.new && ln /tmp/perf-1.map.new /tmp/perf-1.map 2>/dev/null && maps+=(/tmp/perf-1.map)
	rm -f /tmp/perf-1.map.new
	rm -rf s
	run timeout 60 operf --session-dir="$work/s" unshare -mpf --mount-proc sh -c "mount -t tmpfs none /tmp && exec '$jitself' none 200"
	opreport --session-dir="$work/s" -l >report 2>report.err
	no_names 'a map of the same number outside'
	run timeout 60 operf --session-dir="$work/s" unshare -mpf --mount-proc sh -c \
		"mount -t tmpfs none /tmp && ln -s /proc/1/root/etc /tmp/dir && ln -s ../../../../../../../../etc/passwd /tmp/perf-1.map && exec '$jitself' none 200"
	is 1 "$(grep -c 'a symbolic link' err)" 'a link out of the container: refused'
else
	skip 'no namespaces for us here'
fi

# --- a jitdump patched in all the ways that make others fail
if command -v perl >/dev/null; then
	perl -e 'sub rec { my ($id, $body) = @_; pack("L2 Q a*", $id, 16 + length $body, 1e9, $body) }
		sub load { my ($n, $name, $size, $code) = @_; rec(0, pack("L2 Q4 Z* a*", 7, 7, 0x1000 * $n, 0x1000 * $n, $size, $n, $name, $code)) }
		sub dump_ { my ($v, $flags, $head) = @_; pack("L2 L L L L Q Q a*", 0x4A695444, $v, $head, 62, 0, 7, 0, $flags, "x" x ($head - 40)) }
		my $c = "\x48\xff\xcf\x75\xfb\xc3" . "\x90" x 58; my $a = load(1, "first", 64, $c); my $b = load(2, "second", 64, $c);
		sub w { my ($n, $d) = @_; open my $f, ">", "$n.dump"; print $f $d }
		w("good", dump_(1, 0, 40) . $a . $b); w("version", dump_(2, 0, 40) . $a . $b); w("flags", dump_(1, 0xfff0, 40) . $a . $b);
		w("arch", dump_(1, 1, 40) . $a . $b); w("header", dump_(1, 0, 104) . $a . $b);
		for my $n (40, 57, 100) { w("cut$n", substr(dump_(1, 0, 40) . $a . $b, 0, 40 + 2 * length($a) - $n)) }
		w("short", dump_(1, 0, 40) . $a . pack("L2 Q", 0, 8, 0) . $b); w("long", dump_(1, 0, 40) . $a . pack("L2 Q", 0, 0x7ffffff0, 0) . $b);
		w("size16", dump_(1, 0, 40) . $a . pack("L2 Q", 0, 16, 0) . $b);
		w("zero", dump_(1, 0, 40) . $a . load(3, "none", 0, "") . $b); w("huge", dump_(1, 0, 40) . $a . load(3, "none", 1 << 40, "") . $b);
		w("lines", dump_(1, 0, 40) . $a . rec(2, pack("Q2", 0x2000, 1 << 28)) . $b); w("unwind", dump_(1, 0, 40) . rec(4, pack("Q3", 1 << 40, 9, 9)) . $a . $b);
		w("kind", dump_(1, 0, 40) . $a . rec(77, "what") . $b); w("move", dump_(1, 0, 40) . $a . rec(1, pack("L2 Q5", 7, 7, 9, 9, 9, 9, 9)) . $b);
		w("magic", "rubbish" x 20); w("empty", "");'
	# patched FILE NAMES MESSAGE: the names that come out, and what is said ("" = nothing)
	patched() {
		rm -f x.jo
		run timeout 20 opjitconv -o x.jo "$1.dump"
		is "${4-0} $2" "$status $(nm -n x.jo 2>/dev/null | awk '{ print $3 }' | paste -sd' ')" "$1: what is good comes out"
		if [ -n "$3" ]; then like err "$3" "$1: and one line says what was wrong"; else is '' "$(cat err)" "$1: nothing to say"; fi
		is "$([ -n "$3" ] && echo 1 || echo 0)" "$(wc -l <err)" "$1: in one line"
	}
	patched good 'first second' ''
	patched version 'first second' 'version is not 1'
	patched flags 'first second' ''
	patched arch 'first second' ''
	patched header 'first second' ''
	for n in 40 57 100; do patched cut$n 'first' 'the last record is cut'; done
	patched short 'first second' 'short.dump: record shorter than its prefix .offset'
	patched long 'first second' 'long.dump: record longer than what it holds .offset'
	patched size16 'first second' 'record shorter than its kind'
	patched zero 'first second' 'code size out of range'
	patched huge 'first second' 'code size out of range'
	patched lines 'first second' 'fewer line entries than said'
	patched unwind 'first second' 'unwinding record is cut'
	patched kind 'first second' ''
	patched move 'first second' 'move of code that was not loaded'
	patched magic '' 'magic|format|not' 1
	patched empty '' 'empty file' 1
else
	skip 'no perl here'
fi
# The same in place to one that a JIT with a known content wrote: six functions, lines in front of each.
cat >patch.pl <<'P'
# patch.pl WAY FILE: in place. Prints where the reader must find the fault ("" = it need not find any).
my ($way, $file) = @ARGV;
open my $f, '+<', $file or die; binmode $f; local $/; my $d = <$f>;
my (@at, @load, @lines, $fault);
for (my $o = 40; $o + 16 <= length $d;) { my ($id, $n) = unpack 'L2', substr $d, $o; push @at, $o; push @load, $o if $id == 0; push @lines, $o if $id == 2; $o += $n }
sub at { my ($o, $pack, @v) = @_; my $s = pack $pack, @v; substr($d, $o, length $s) = $s; $fault = $_[3] // $o }
if ($way eq 'version') { at(4, 'L', 2) } elsif ($way eq 'flags') { at(32, 'Q', 0xfff0); $fault = '' } elsif ($way eq 'arch') { at(32, 'Q', 1); $fault = '' }
elsif ($way eq 'header') { at(8, 'L', 104); $fault = 104 } elsif ($way eq 'wide') { at(8, 'L', 104); substr($d, 40, 0) = 'x' x 64; $fault = '' }
elsif ($way =~ /^cut(\d+)/) { $d = substr $d, 0, length($d) - $1; ($fault) = grep { $_ < length $d } reverse @at }
elsif ($way eq 'first16') { at($at[0] + 4, 'L', 16); $fault = $at[0] } elsif ($way eq 'first2G') { at($at[0] + 4, 'L', 0x7ffffff0); $fault = $at[0] }
elsif ($way eq 'load16') { at($load[0] + 4, 'L', 16); $fault = $load[0] } elsif ($way eq 'load2G') { at($load[0] + 4, 'L', 0x7ffffff0); $fault = $load[0] }
elsif ($way eq 'zero') { at($load[2] + 40, 'Q', 0) } elsif ($way eq 'huge') { at($load[2] + 40, 'Q', 1 << 40) }
elsif ($way eq 'lines') { at($lines[2] + 24, 'Q', 1 << 28) } else { die "no way $way" }
print $fault; truncate $f, 0; seek $f, 0, 0; print $f $d;
P
# WAY, the functions that must come out, what is said
ways="version 012345 version.is.not.1
flags 012345
arch 012345
wide 012345
header 012345 record.shorter|no.record.begins.here
cut40 01234 the.last.record.is.cut
cut57 01234 the.last.record.is.cut
cut100 01234 the.last.record.is.cut
cut1000 0123 the.last.record.is.cut
first16 012345 record.shorter.than.its.kind
first2G 012345 record.longer.than.what.it.holds
load16 12345 record.shorter.than.its.kind
load2G 12345 record.longer.than.what.it.holds
zero 01345 code.size.out.of.range
huge 01345 code.size.out.of.range
lines 012345 fewer.line.entries.than.said"
{
	printf 'area anon 65536\nsource jitdump\n'
	for i in 0 1 2 3 4 5; do echo "make f$i $((i * 4096)) 512"; done
	echo 'await go'
	for _ in 1 2 3 4 5 6 7 8 9 10; do for i in 0 1 2 3 4 5; do echo "spin f$i 10"; done; done
} >six.jit
grep -v await six.jit | head -n 9 >quick.jit
fakejit=$build/tests/fakejit/fakejit
export FAKEJIT_DIR=$work
functions() { grep -o '\<f[0-5]$' | sort -u | tr -d 'f\n'; }
if command -v perl >/dev/null && "$fakejit" six.truth quick.jit && mv jit-*.dump six.dump; then
	run opjitconv -o six.jo six.dump
	is '012345 ' "$(nm six.jo | functions) $(cat err)" "the fixture's dump: six functions"
	is 'fake.js:30' "$(addr2line -e six.jo "0x$(nm six.jo | awk '$3 == "f2" { print $1 }')" | sed 's,^\(\./\)*,,')" 'with their lines'
	while read -r way want text <&3; do
		cp six.dump "$way.dump"
		at=$(perl patch.pl "$way" "$way.dump")
		rm -f x.jo
		run timeout 20 opjitconv -o x.jo "$way.dump"
		is "0 $want" "$status $(nm x.jo 2>/dev/null | functions)" "the fixture's, $way: what is good comes out"
		if [ -n "$text" ]; then like err "$way\.dump: ($text).* \(offset $at\)" "the fixture's, $way: what was wrong, and where"; fi
		is "${text:+1}" "$(grep -c . err | grep -v '^0$')" "the fixture's, $way: in one line, if anything"
	done 3<<<"$ways"
	# And while it runs: found by its mapping.
	while read -r way want text <&3; do
		case $way in version | arch | header | cut57 | load16 | load2G | huge | lines) ;; *) continue ;; esac
		rm -f go
		"$fakejit" six.truth six.jit & target=$!
		later $target
		dump=jit-$target.dump
		wait_for 20 sh -c "[ \$(stat -c %s '$dump' 2>/dev/null || echo 0) -eq $(stat -c %s six.dump) ]"
		at=$(perl patch.pl "$way" "$dump")
		profiled "$way, live"
		is "$want" "$(functions <report)" "$way, live: what is good serves"
		if [ -n "$text" ]; then like err "process $target: .*$dump: ($text).* \(offset $at\)" "$way, live: what was wrong, and where"; fi
		is "${text:+1}" "$(grep -c "$dump" err | grep -v '^0$')" "$way, live: in one line, if anything"
	done 3<<<"$ways"
else
	skip 'no perl here'
fi
# The same to a dump that node wrote.
if command -v node >/dev/null; then
	echo 'function f(n) { let s = 0; for (let i = 0; i < n; i++) s += i; return s } let t = 0; for (let i = 0; i < 300; i++) t += f(1e5)' >a.js
	rm -f jit-*.dump
	node --perf-prof a.js
	mv jit-*.dump node.dump; rm -f isolate-*
	opjitconv -o whole.jo node.dump
	whole=$(nm whole.jo | wc -l)
	check "node's dump as it is: hundreds of names" test "$whole" -gt 100
	for n in 40 57 100 1000; do
		head -c -$n node.dump >cut.dump
		run timeout 20 opjitconv -o cut.jo cut.dump
		check "node's dump less $n bytes: all but the last few of $whole names ($(nm cut.jo | wc -l)), and a line" \
			sh -c "[ $(nm cut.jo | wc -l) -ge $((whole - 20)) ] && [ $(wc -l <err) -le 1 ]"
	done
	for at in 4:2 32:1 8:104; do
		cp node.dump patched.dump
		printf "\\x$(printf %02x "${at#*:}")" | dd of=patched.dump bs=1 seek="${at%:*}" conv=notrunc status=none
		run timeout 20 opjitconv -o patched.jo patched.dump
		check "node's dump with byte ${at%:*} as ${at#*:}: it ends (status $status, $(nm patched.jo 2>/dev/null | wc -l) names)" test $status -lt 2
	done
else
	skip 'no node here'
fi
done_testing
