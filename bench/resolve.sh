#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Samples resolved, and resolved and counted, on one core: the promise is 3 M resolved a second, with 200,000 regions live in one process and with
# 1,000 in each of 1,000, at 64 bytes a region beside names.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
b=${abs_top_builddir:?}/bench/resolve
echo "resolve: one core, samples of user, JIT and kernel code; aim: 3 M samples/s, 64 bytes a region"
for how in skewed flat; do
	"$b" 200000 1 6000000 "$dir/a" $how
	"$b" 1000 1000 6000000 "$dir/b" $how
done
