#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Every runtime: plainly, attached late, in a container. See runtimes.sh.
OPJIT_LONG=1 exec "$(dirname "$0")/runtimes.sh"
