#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Fuzzes the records of traces and each packed form (RZ2, RZ3, rzx); fuzz-lib.sh says how.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fuzz-lib.sh"
export ASAN_OPTIONS=quarantine_size_mb=16 # each input allocates the coder's tables anew
fuzz_targets rst rz2 rz3 rzx
done_testing
