# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# fuzz_targets NAME…: builds the targets with clang and libFuzzer in a directory of their own and runs each for FUZZ_SECONDS
# seconds (default 1440: 24 minutes), all seeds as the start. Sourced behind lib.sh.
fuzz_targets() {
	local clang t f seconds=${FUZZ_SECONDS:-1440}
	clang=$(command -v clang-14 || command -v clang) || skip_all 'no clang here'
	echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return 0 * n * !d; }' >"$work/t.c"
	"$clang" -fsanitize=fuzzer -o "$work/t" "$work/t.c" 2>/dev/null || skip_all 'this clang has no libFuzzer'
	mkdir "$work/b" && cd "$work/b" || exit 1
	if ! "$src/configure" --quiet --enable-fuzzer --without-jvmti --without-mono CC="$clang" CFLAGS='-O1 -g' >"$work/log" 2>&1 ||
		! make -s "${@/#/fuzz/fuzz-}" >>"$work/log" 2>&1; then
		fail 'fuzz targets build'
		show "$work/log"
		return
	fi
	for t; do
		mkdir -p "$work/corpus-$t"
		# a target that writes files leaves them below TMPDIR
		if TMPDIR=$work "fuzz/fuzz-$t" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=20 -max_len=65536 -print_final_stats=1 \
			-artifact_prefix="$work/finding-$t-" "$work/corpus-$t" "$src/fuzz/seeds/$t" >"$work/log-$t" 2>&1; then
			pass "$t: $seconds s, $(sed -nE 's/stat::number_of_executed_units: *//p' "$work/log-$t") inputs, no finding"
		else
			fail "$t: a finding"
			tail -n 40 "$work/log-$t" | sed 's/^/# /'
			for f in "$work"/finding-"$t"-*; do [ -e "$f" ] && { echo "# $f"; od -An -tx1 -v "$f" | head -n 40 | sed 's/^/# /'; }; done
		fi
	done
}
