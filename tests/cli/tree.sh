#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Rules of the source tree: who may include whom, banned functions, sizes, complexity, licence lines.
. "$(dirname "$0")/lib.sh"
cd "$src" || exit 1
# An unpacked tarball may lie inside of some repository, which has none of its files.
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]; then files=$(git ls-files); else files=$(find . -type f -not -path './_*' -not -path './build-aux/*' | sed 's,^\./,,'); fi
sources=$(grep -E '\.[ch]$' <<<"$files")
check 'there are files to look at' test "$(wc -l <<<"$sources")" -gt 100

# --- the include rule of ARCHITECTURE.md: folder, then what it may include
rule() {
	local folder=$1 bad
	shift
	bad=$(grep -E "^$folder/" <<<"$sources" | xargs awk -v allowed="$folder/ config.h $*" '
		BEGIN { n = split(allowed, a, " ") }
		match($0, /^[ \t]*#[ \t]*include[ \t]*"[^"]*"/) {
			inc = $0; sub(/^[^"]*"/, "", inc); sub(/".*/, "", inc)
			good = 0
			for (i = 1; i <= n; i++) if (index(inc, a[i]) == 1) good = 1
			if (!good) print FILENAME ":" FNR ": includes \"" inc "\""
		}' /dev/null)
	is '' "$bad" "$folder/ includes only: $*"
}
rule lib
rule format/abi lib/
rule format/evlog lib/ format/abi/ format/jit/
rule format/jit lib/
rule format/rst lib/
rule libopagent lib/ format/jit/
rule agents libopagent/opagent.h lib/
rule jitconv lib/ format/jit/
rule sampler lib/ format/evlog/ format/jit/
rule session lib/ format/abi/
rule daemon lib/ format/ session/ sampler/ jitconv/ control/agents.h
rule report lib/ format/ session/ jitconv/
rule control lib/ format/ session/ sampler/ jitconv/ daemon/ report/symbols.h report/names.h
rule rst lib/ format/rst/ format/jit/ jitconv/

# grep_code WHERE PATTERN: lines of code (not comments) that match
grep_code() { grep -E "$1" <<<"$sources" | xargs grep -nE "$2" /dev/null | grep -vE ':[0-9]+:[ 	]*(\*|//|/\*)'; }
is '' "$(grep_code . '(^|[^_a-zA-Z>.])(strcpy|strcat|sprintf|vsprintf|gets|atoi|atol|strtok|alloca|system)[ 	]*\(')" \
	'no strcpy, sprintf, atoi, strtok, alloca, system'
is '' "$(grep_code '^format/' '(^|[^_a-zA-Z])(open|openat|fopen|mmap|opendir|shm_open)[ 	]*\(')" 'format/ never opens or maps a file'
is '' "$(grep_code '^libopagent/' '(^|[^_a-zA-Z])(printf|fprintf|fopen|pthread_create|sigaction|signal|exit|abort)[ 	]*\(')" \
	'libopagent: no stdio, thread, signal handler or exit'

# --- licence line of each source
bad=$(for f in $(grep -E '(\.([chS]|sh|mk|ac|am|java|cs|scd)|/(run|run-check|demo|install-packages)|bootstrap)$' <<<"$files"); do
	head -n 3 "$f" | grep -q 'SPDX-License-Identifier: ' || echo "$f"
done)
is '' "$bad" 'an SPDX line in each source'
bad=$(for f in $(grep -E '^(lib|format|libopagent|agents|session)/.*\.[ch]$' <<<"$files"); do
	head -n 1 "$f" | grep -q 'SPDX-License-Identifier: LGPL-2.1-or-later' || echo "$f"
done)
is '' "$bad" 'libraries are LGPL-2.1-or-later'

# --- size and complexity
code=$(grep -E '\.c$' <<<"$sources")
is '' "$(wc -l $code | awk '$2 != "total" && $1 > 800 {print $2 ": " $1 " lines"}')" 'no .c above 800 lines'
if command -v pmccabe >/dev/null; then
	is '' "$(grep -vE '^(tests|fuzz|bench)/' <<<"$code" | xargs pmccabe | awk -F'\t' '$1 > 20 {print $6 " " $7 ": complexity " $1}')" \
		'cyclomatic complexity at most 20'
else
	skip 'no pmccabe here'
fi
if command -v shellcheck >/dev/null; then
	run shellcheck -S warning -e SC1091,SC2034,SC2086,SC2046,SC2154,SC2164 \
		$(grep -E '(\.sh|/(run|run-check|demo|install-packages|workloads)|bootstrap)$' <<<"$files")
	is 0 "$status" 'shellcheck is content'
	[ "$status" = 0 ] || show "$work/out"
else
	skip 'no shellcheck here'
fi
done_testing
