#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# make-jit.sh BUILD: makes the seeds of fuzz-image and fuzz-ring with the poster and the reader of that build.
set -eu
build=$1
here=$(cd "$(dirname "$0")" && pwd)
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
u32() { printf "\\x$(printf %02x $(($1 & 255)))\\x$(printf %02x $(($1 >> 8 & 255)))\\x$(printf %02x $(($1 >> 16 & 255)))\\x00"; }
poke() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
seed() { # seed NAME: ring and image of $t/d as input of fuzz-ring
	{ u32 "$(stat -c %s "$t/ring")"; cat "$t/ring" "$t/image"; } >"$here/ring/$1"
}
mkdir -p "$here/image" "$here/ring"
"$build/tests/tools/poster" 3 lines unload ring=2 quiet dir="$t"
cp "$t"/*-*/ring "$t/ring"
"$build/tests/tools/jit-dump" "$t"/*-*/ring save="$t/image" >/dev/null
cp "$t/image" "$here/image/small"
j=$((0x$(readelf -SW "$t/image" | awk '/opjit.journal/ {print $6}')))
head -c $((j + 100)) "$t/image" >"$here/image/truncated"
cp "$t/image" "$here/image/bad-record"; poke "$here/image/bad-record" "$j" '\xff\xff\xff\x7f'
cp "$t/image" "$here/image/bad-table"; poke "$here/image/bad-table" $((j + 104)) '\xff\xff\xff\xff\x0f\xff'
cp "$t/image" "$here/image/bad-string"; poke "$here/image/bad-string" $((j + 68)) '\xff\xff\xff\xff'
cp "$t/image" "$here/image/bad-shoff"; poke "$here/image/bad-shoff" 40 '\xff\xff\xff\xff\xff\xff\xff\xff'
printf '\x7fELF\x01\x02\x01' >"$t/be"; head -c 5000 /dev/zero >>"$t/be"; cp "$t/be" "$here/image/big-endian-32"
seed overrun
"$build/tests/tools/poster" 1 ring=8 quiet dir="$t/" noclose
d=$(ls -td "$t"/*-* | head -1); cp "$d/ring" "$t/ring"
"$build/tests/tools/jit-dump" "$d/ring" save="$t/image" >/dev/null
seed one
cp "$t/ring" "$t/good"
poke "$t/ring" 512 '\xff\xff\xff\xff\xff\xff\xff\x0f\xff\xff\xff\xff\xff\xff\xff\x0f'; seed counts-too-much
cp "$t/good" "$t/ring"; poke "$t/ring" 4160 '\xff\xff\xff\xff\xff\xff\xff\xff'; seed bad-entry
cp "$t/good" "$t/ring"; poke "$t/ring" 20 '\x00\x00\x10\x00'; seed many-entries
