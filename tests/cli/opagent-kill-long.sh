#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Kill -9 of a posting process at 200 random instants, and for real at every instruction of a post.
exec "${abs_top_builddir:-.}/tests/unit/test-opagent-kill" 200 1
