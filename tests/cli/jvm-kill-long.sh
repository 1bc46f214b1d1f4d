#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
OPJIT_KILLS=200 exec "$(dirname "$0")/jvm-kill.sh"
