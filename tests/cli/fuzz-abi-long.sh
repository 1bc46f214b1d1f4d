#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Fuzzes the readers of the ABI files, of a session's text, of archives, and of OProfile's own sessions; fuzz-lib.sh says how.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fuzz-lib.sh"
fuzz_targets opnd opsd ophd opdb session-info tar upstream
done_testing
