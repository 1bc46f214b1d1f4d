#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Fuzzes the readers of event logs, the tool's commands, and what it imports; fuzz-lib.sh says how.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fuzz-lib.sh"
fuzz_targets evlog pmclog evformats evtool evimport
done_testing
