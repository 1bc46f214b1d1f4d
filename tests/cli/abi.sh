#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# opabi: dump, check, convert, merge and stat of files of any word size and byte order, and whole sessions converted.
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
mk=$build/tests/tools/mksession

# vector NAME FILE: the bytes of a vector of the unit test
vector() {
	sed -n '/"'"$1"'"/,/},/p' "$src/tests/unit/abi-vectors.h" | sed 1d | tr -dc '0-9a-f\n' | tr -d '\n' | sed 's/../\\x&/g' >"$2.esc"
	printf '%b' "$(cat "$2.esc")" >"$2" # the shell drops no NUL here: printf writes them
	rm -f "$2.esc"
}
for v in A1 A6 A7 A10 AX5 AX7; do vector $v $v; done
is 528 "$(stat -c %s A10)" 'the vectors are there'

run opabi check A1 A6 A7 A10
is 0 "$status" 'check: good files'
run opabi check A1 AX5 AX7
is 1 "$status" 'check: a broken one gives exit status 1'
like err 'AX5: offset 0x10: sample-count: ' 'check names file, offset and rule'
like err 'AX7: offset 0x14: root-range: ' 'check names each broken file'
run opabi dump A1
like out '^FORK parent 1234 child 4321$' 'dump for people'
run opabi dump A7
like out '2 parent .* /usr/bin/vi$' 'dump of names'
run opabi dump --pages A10
like out '^page 3 \(root\): 1 entries, left 1$' 'dump of pages'
run opabi stat A10
like out 'pairs 5$' 'stat'
if command -v jq >/dev/null; then
	for v in A1 A6 A7 A10; do
		opabi dump --json $v | jq -e '.kind and (.width > 0)' >/dev/null && pass "dump --json of $v is JSON" || fail "dump --json of $v"
	done
	is 0x1e "$(opabi dump --json A10 | jq -r '.pairs[2].key')" 'JSON: a key'
	is '/usr/bin/vi' "$(opabi dump --json A7 | jq -r '.entries[] | select(.index == 2).path')" 'JSON: a path'
	is '[1,2,3,4,5]' "$(opabi dump --json A10 | jq -c '[.pairs[].value]')" 'JSON: all values'
else
	skip 'no jq here'
fi

# there and back, through the five-byte order too
for v in A1 A6 A7 A10; do
	for to in '8 be' '4 le' '5 3,4,2,0,1' '16 le' '200 be'; do
		# shellcheck disable=SC2086
		set -- $to
		if [ $v = A6 ] && [ "$1" = 4 ]; then continue; fi
		w=$(od -An -tu1 -j6 -N1 $v | tr -d ' ')
		o=$(od -An -tu1 -j8 -N"$w" -w"$w" $v | sed 's/^ *//; s/  */,/g')
		rm -f there back
		opabi convert --width="$1" --order="$2" $v there && opabi check there >/dev/null &&
			opabi convert --width="$w" --order="$o" there back && cmp -s $v back &&
			pass "$v to width $1, order $2 and back: the same bytes" || fail "$v to width $1, order $2 and back"
	done
done
run opabi convert --width=4 --order=le A6 there
is 1 "$status" 'a value that does not fit is refused'
like err 'A6: offset 0x1c: fit: .*0x12345678ab' 'and the word is named'
run opabi convert --width=0 A6 there
is 2 "$status" 'no width 0'
run opabi convert --width=5 --order=0,1,2,3,3 A6 there
is 1 "$status" 'no order that repeats'
run opabi merge -o sum A10 A10
opabi dump sum >sumdump
like sumdump '0x32 10$' 'merge adds counts up'
run opabi merge -o sum A10 A7
is 1 "$status" 'two kinds do not merge'
run opabi check /dev/null
like err 'offset 0x0: prefix-short' 'an empty file'
head -c 100000 /dev/urandom >noise
run opabi check noise
is 1 "$status" 'noise'
like err 'offset 0x0: magic' 'noise is no file of these'

# --- a session as other machines would have written it
t=$(printf '\t')
cat >script <<END
session${t}here${t}stacks
cpu${t}CPU with timer interrupt${t}0
event${t}0${t}cpu-clock${t}timer${t}0${t}997${t}0${t}1
file${t}file${t}/bin/true${t}/bin/true${t}true${t}0${t}-1${t}-1${t}-1${t}0${t}0
file${t}kernel${t}vmlinux${t}${t}${t}0${t}-1${t}-1${t}-1${t}0${t}0
file${t}anon${t}anon${t}/bin/true${t}true${t}0${t}7${t}-1${t}-1${t}0x1000${t}0x9000
add${t}0${t}4096${t}70000
add${t}0${t}4097${t}3
add${t}1${t}12345678${t}5
add${t}2${t}16${t}255
frame${t}0${t}0${t}4096
frame${t}1${t}0${t}4097
stack${t}2${t}9
flush
END
"$mk" <script || fail 'mksession'
run opreport -l --session-dir=here
is 0 "$status" 'opreport of the session'
cp out before
[ -s before ] || fail 'a report to compare with'
for to in '4 be' '8 be' '8 le' '4 le' '5 3,4,2,0,1' '255 be'; do
	# shellcheck disable=SC2086
	set -- $to
	rm -rf there
	opabi convert --width="$1" --order="$2" here there || fail "convert the session to $to"
	f=$(find there/samples -name 'cpu-clock*' | head -n 1)
	is "$1" "$(od -An -tu1 -j6 -N1 "$f" | tr -d ' ')" "a session of width $1, order $2"
	opreport -l --session-dir=there >after 2>/dev/null
	check "its report is the same, byte for byte" cmp before after
	opreport -c --session-dir=here >cg1 2>/dev/null
	opreport -c --session-dir=there >cg2 2>/dev/null
	check 'and its call graph' cmp cg1 cg2
done
rm -rf there
run opabi convert --width=2 --order=be here there
is 1 "$status" 'a session that does not fit 2 bytes is refused'
like err 'cpu-clock.*: offset 0x[0-9a-f]+: fit: .*\(0x' 'and the word is named'
done_testing
