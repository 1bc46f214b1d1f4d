#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The ring's test with its loads for a minute in place of five seconds.
exec env OPJIT_TEST_SECONDS=60 "${abs_top_builddir:?}/tests/unit/test-ring"
