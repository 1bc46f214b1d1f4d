#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Fuzzes the records of traces and each packed form (RZ2, RZ3, rzx): FUZZ_SECONDS each (default 1440, 24 minutes), all
# seeds as the start. Needs clang with libFuzzer; builds the targets in a directory of its own.
. "$(dirname "$0")/lib.sh"
clang=$(command -v clang-14 || command -v clang) || skip_all 'no clang here'
echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return 0 * n * !d; }' >"$work/t.c"
"$clang" -fsanitize=fuzzer -o "$work/t" "$work/t.c" 2>/dev/null || skip_all 'this clang has no libFuzzer'
targets=(rst rz2 rz3 rzx)
seconds=${FUZZ_SECONDS:-1440}
mkdir "$work/b" && cd "$work/b" || exit 1
if ! "$src/configure" --quiet --enable-fuzzer --without-jvmti --without-mono CC="$clang" CFLAGS='-O1 -g' >"$work/log" 2>&1 ||
	! make -s "${targets[@]/#/fuzz/fuzz-}" >>"$work/log" 2>&1; then
	fail 'fuzz targets build'
	show "$work/log"
	done_testing
fi
for t in "${targets[@]}"; do
	mkdir -p "$work/corpus-$t"
	if ASAN_OPTIONS=quarantine_size_mb=16 "fuzz/fuzz-$t" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=20 -max_len=8192 \
		-print_final_stats=1 -artifact_prefix="$work/finding-$t-" "$work/corpus-$t" "$src/fuzz/seeds/$t" >"$work/log-$t" 2>&1; then
		pass "$t: $seconds s, $(sed -nE 's/stat::number_of_executed_units: *//p' "$work/log-$t") inputs, no finding"
	else
		fail "$t: a finding"
		tail -n 40 "$work/log-$t" | sed 's/^/# /'
		for f in "$work"/finding-"$t"-*; do [ -e "$f" ] && { echo "# $f"; od -An -tx1 -v "$f" | head -n 40 | sed 's/^/# /'; }; done
	fi
done
done_testing
