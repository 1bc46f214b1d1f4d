#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Each manual page says the same options as the tool's --help. In man/TOOL.N.scd an option's line begins with "*-".
. "$(dirname "$0")/lib.sh"

# short and long options of --help: lines that begin with spaces and a dash, up to the description
help_options() {
	sed -nE 's/^ +(-.*)/\1/p' | sed -E 's/  .*//' | grep -oE -- '(^|[ ,])(--[a-zA-Z0-9][a-zA-Z0-9-]*|-[^ ,-])' | tr -d ' ,' | sort -u
}
man_options() {
	grep -E '^\*-' "$1" | tr -d '\\' | grep -oE -- '\*(--[a-zA-Z0-9][a-zA-Z0-9-]*|-[^*])\*' | tr -d '*' | sort -u
}
for page in "$src"/man/*.scd; do
	name=$(basename "$page" .scd)
	tool=${name%.*}
	path=$(find "$build" -maxdepth 2 -type f -name "$tool" -perm -u+x -not -path '*/.libs/*' | head -n 1)
	[ -n "$path" ] || { [ "$name" != "${name%.[18]}" ] && fail "$tool: has a page but is not built"; continue; }
	run "$path" --help
	help_options <"$work/out" >"$work/help"
	man_options "$page" >"$work/man"
	is 0 "$status" "$tool --help"
	check "$tool: --help names options" test -s "$work/help"
	is '' "$(comm -23 "$work/help" "$work/man" | tr '\n' ' ')" "$tool: all options are in the manual page"
	is '' "$(comm -13 "$work/help" "$work/man" | tr '\n' ' ')" "$tool: the manual page names no other"
	if command -v scdoc >/dev/null; then
		scdoc <"$page" >"$work/page" 2>"$work/err"
		is 0 $? "$tool: scdoc takes the page"
	fi
done
done_testing
