#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The sample store against hash + sort + write, SQLite and LMDB: time a sample, bytes on disk, look-ups and scans.
set -eu
src=${abs_top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
build=${abs_top_builddir:-$src}
dir=$(mktemp -d "${TMPDIR:-/tmp}/opjit-bench-XXXXXX")
trap 'rm -rf "$dir"' EXIT
flags=() libs=()
have() { echo "#include <$1>" | ${CC:-cc} -E -x c - >/dev/null 2>&1; }
if have sqlite3.h; then flags+=(-DHAVE_SQLITE) libs+=(-lsqlite3); else echo '# no sqlite3.h (libsqlite3-dev): left out'; fi
if have lmdb.h; then flags+=(-DHAVE_LMDB) libs+=(-llmdb); else echo '# no lmdb.h (liblmdb-dev): left out'; fi
${CC:-cc} -O2 -I"$src" -include "$build/config.h" "${flags[@]}" -o "$dir/store" "$src/bench/store.c" \
	"$build/session/.libs/libsession.a" "$build/format/abi/.libs/libabi.a" "$build/lib/.libs/libbase.a" "${libs[@]}"
"$dir/store" "$dir"
