#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
OPJIT_LONG=1 exec "$(dirname "$0")/inlines.sh"
