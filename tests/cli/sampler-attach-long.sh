#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Attaching to a process that makes threads as fast as it can: each thread has exactly its own samples. A clone that is under way
# when its maker's events are opened may inherit only some of them, and nothing in the kernel tells; on a machine that is
# far overloaded the sampler's margin for that (50 ms) can be too small.
. "$(dirname "$0")/lib.sh"
may_sample || skip_all 'perf_event_open is not for us here'
for i in 1 2 3 4 5 6 7 8 9 10; do
	run "$build/tests/unit/test-sampler" attach
	is 0 "$status" "round $i"
	[ "$status" = 0 ] || show "$work/out"
done
done_testing
