#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# jvm-kill.sh: a VM in a storm of compilations and unloads, killed by SIGKILL at random instants. What it leaves is read
# to its end, and other tools accept each of its images. OPJIT_KILLS says how often; the long tests have 200.
. "$(dirname "$0")/lib.sh"
need eu-elflint nm readelf
agent=$build/agents/jvmti/.libs/libjvmti_oprofile.so
[ -f "$agent" ] || skip_all "configured --without-jvmti"
mapfile -t homes < <(jdks)
[ ${#homes[@]} -gt 0 ] || skip_all "no JDK here"
kills=${OPJIT_KILLS:-10}
for jdk in "${homes[@]}"; do
	mkdir "$work/${jdk##*/}"
	"$jdk/bin/javac" -d "$work/${jdk##*/}" "$src/tests/java/Churn.java" || exit 1
done
# Methods posted so far: what is in the ring is in the image.
has_methods() { nm "$OPJIT_DIR"/*-*/0.jo 2>/dev/null | grep -q 'Churn'; }

bad='' images=0 methods=0 early=0
for ((k = 0; k < kills; k++)); do
	jdk=${homes[k % ${#homes[@]}]}
	"$jdk/bin/java" -Xmx64m -XX:ReservedCodeCacheSize=3m -agentpath:"$agent" -cp "$work/${jdk##*/}" Churn 1000000 >/dev/null 2>&1 &
	vm=$!
	later $vm
	if [ $((k % 5)) = 4 ]; then # while it starts
		wait_for 60 sh -c "ls '$OPJIT_DIR'/*-*/ring >/dev/null 2>&1" || bad+=" $k:no-ring"
		early=$((early + 1))
	else
		wait_for 60 has_methods || bad+=" $k:no-method"
		sleep "0.$((RANDOM % 9))$((RANDOM % 10))"
	fi
	kill -9 $vm
	wait $vm 2>/dev/null
	for dir in "$OPJIT_DIR"/*-*; do
		[ -e "$dir/ring" ] || continue # made, and killed before it was whole
		"$build/tests/tools/instance-dump" "$dir" >"$work/dump" 2>"$work/dump.err" || bad+=" $k:dump"
		grep -q '^source hotspot .* bad=0$' "$work/dump" || bad+=" $k:bad-events"
		for image in "$dir"/*.jo; do
			[ -e "$image" ] || continue
			eu-elflint --gnu-ld "$image" >"$work/lint" 2>&1 || bad+=" $k:eu-elflint"
			# All that nm may say is that nothing was told yet.
			nm "$image" >"$work/nm" 2>"$work/nm.err" || bad+=" $k:nm"
			grep -v ': no symbols$' "$work/nm.err" && bad+=" $k:nm"
			[ ! -s "$work/nm.err" ] || grep -q '^source hotspot .* events=0 ' "$work/dump" || bad+=" $k:no-symbols"
			readelf -aW "$image" >/dev/null 2>"$work/re.err" && [ ! -s "$work/re.err" ] || bad+=" $k:readelf"
			images=$((images + 1))
			n=$(grep -c ' T ' "$work/nm")
			methods=$((methods + n))
			# A symbol comes before its record (core.h), and they are made one after the other: the journal tells of each name
			# in the image but the last, whose post may have been under way.
			[ "$n" -le $(($(grep -c '^load ' "$work/dump") + 1)) ] || bad+=" $k:more-symbols-than-records"
		done
	done
	case $bad in *" $k:"*) show "$work/dump.err" "$work/lint" "$work/nm.err"; tail -n 3 "$work/dump" ;; esac
	rm -rf "${OPJIT_DIR:?}"/*-*
done
is '' "$bad" "kill -9 of a VM at $kills instants ($early of them while it starts): all that is left is valid"
check "$images images with $methods symbols were looked at" test "$images" -ge $((kills * 7 / 10)) -a "$methods" -ge $((kills * 200))
done_testing
