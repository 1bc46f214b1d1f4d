#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The binary interface of libopagent.so.1 against the snapshot in tests/abi. To take a new one, on purpose:
#	abidw --no-corpus-path --no-comp-dir-path --no-show-locs --exported-interfaces-only --headers-dir libopagent --drop-private-types --out-file tests/abi/libopagent.abi LIB; paths made relative
. "$(dirname "$0")/lib.sh"
need abidiff
[ "$(uname -m)" = x86_64 ] || skip_all 'the snapshot is of x86-64'
lib=$build/libopagent/.libs/libopagent.so.1
run abidiff --headers-dir2 "$src/libopagent" --drop-private-types "$src/tests/abi/libopagent.abi" "$lib"
is 0 "$status" 'nothing removed, changed or added unseen'
[ "$status" = 0 ] || show "$work/out"
# A function with a changed argument is seen: the test can fail.
sed 's/int opagent_heap(struct opagent \*a, const char \*name, uint64_t addr, uint64_t size)/int opagent_heap(struct opagent *a, const char *name, uint32_t addr, uint64_t size)/' \
	"$src/libopagent/opagent.h" >"$work/opagent.h"
mkdir -p "$work/libopagent" && mv "$work/opagent.h" "$work/libopagent/opagent.h"
cat >"$work/changed.c" <<'C'
#include "libopagent/opagent.h"
int opagent_heap(struct opagent *a, const char *name, uint32_t addr, uint64_t size) { return 0; }
C
gcc -g -shared -fPIC -I"$work" -Wl,-soname,libopagent.so.1 "$work/changed.c" -o "$work/libchanged.so"
run abidiff "$src/tests/abi/libopagent.abi" "$work/libchanged.so"
check 'another interface is told' test "$status" != 0
done_testing
