#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The real programs that tests, the demo and the benchmarks profile.
#
# As a library (`. tests/workloads.sh`): each function prepares what it needs below the scratch directory DIR (once;
# absolute path) and sets two variables:
#	WORKLOAD      the command, an array whose first word is a java binary
#	WORKLOAD_CWD  the directory to run it in
# As a program: `tests/workloads.sh [-t SECONDS] NAME DIR [PREFIX…]` runs PREFIX… COMMAND… in place of itself, for
# instance `tests/workloads.sh -t 10 sunflow /tmp/w operf -d /tmp/s`. `-n` prints the command instead.
#
#	workload_javac DIR [PACKAGE]   javac compiles java.base (about 3,100 files), or PACKAGE of it (java/util) with what is below: start-up heavy
#	workload_sunflow DIR       a ray tracer on all CPUs: steady
#	workload_h2 DIR [ROUNDS]   H2 in memory running SQL, 10 rounds unless told
#	workload_bounded DIR SECONDS   turns WORKLOAD into one that ends with status 0 after SECONDS
# A function returns 77 and says on stderr what is missing if the machine lacks its parts.
#
# JAVA_HOME chooses the JDK, else the first below /usr/lib/jvm that has javac.

workload_jdks() { # the homes of all JDKs here, each once, one a line
	local d seen=' '
	for d in ${JAVA_HOME:+"$JAVA_HOME"} /usr/lib/jvm/*; do
		[ -x "$d/bin/javac" ] || continue
		d=$(readlink -f "$d")
		case $seen in *" $d "*) continue ;; esac
		seen="$seen$d "
		echo "$d"
	done
}

workload_jdk() { workload_jdks | head -n 1; }

workload_missing() {
	echo "workload: $*" >&2
	return 77
}

workload_javac() {
	local dir=$1 package=${2-} jdk src
	jdk=$(workload_jdk)
	[ -n "$jdk" ] || { workload_missing "no JDK below /usr/lib/jvm"; return; }
	src=$jdk/lib/src.zip
	[ -r "$src" ] || { workload_missing "$src: not there (openjdk-17-source)"; return; }
	command -v unzip >/dev/null || { workload_missing "no unzip"; return; }
	# A package has a root of its own: javac compiles all that it finds and somebody names.
	dir=$dir/javac-$(basename "$jdk")${package:+-${package//\//.}}
	if [ ! -f "$dir/files" ]; then
		mkdir -p "$dir" && unzip -q -o "$src" "java.base/${package:+$package/}*" -d "$dir/src" &&
			(cd "$dir/src" && find java.base -name '*.java' | LC_ALL=C sort) >"$dir/files.tmp" &&
			mv "$dir/files.tmp" "$dir/files" || return
	fi
	WORKLOAD_CWD=$dir/src
	WORKLOAD=("$jdk/bin/java" -Xmx3g -m jdk.compiler/com.sun.tools.javac.Main -proc:none -nowarn
		-XDignore.symbol.file --patch-module java.base=java.base -d "$dir/out" "@$dir/files")
}

workload_sunflow() {
	local dir=$1 jar=/usr/share/java jdk cp=
	jdk=$(workload_jdk)
	[ -n "$jdk" ] || { workload_missing "no JDK below /usr/lib/jvm"; return; }
	for j in sunflow janino commons-compiler; do
		[ -r "$jar/$j.jar" ] || { workload_missing "$jar/$j.jar: not there (libsunflow-java, libjanino-java)"; return; }
		cp=$cp${cp:+:}$jar/$j.jar
	done
	mkdir -p "$dir/sunflow/resources" || return
	WORKLOAD_CWD=$dir/sunflow
	WORKLOAD=("$jdk/bin/java" -Xmx2g -cp "$cp" org.sunflow.Benchmark -regen)
}

workload_h2() {
	local dir=$1 rounds=${2:-10} jar=/usr/share/java/h2.jar jdk i
	jdk=$(workload_jdk)
	[ -n "$jdk" ] || { workload_missing "no JDK below /usr/lib/jvm"; return; }
	[ -r "$jar" ] || { workload_missing "$jar: not there (libh2-java)"; return; }
	mkdir -p "$dir/h2" || return
	{
		echo 'CREATE TABLE t(id INT PRIMARY KEY, name VARCHAR(64), v DOUBLE);'
		echo "INSERT INTO t SELECT x, 'name ' || MOD(x, 997), RAND(1) FROM SYSTEM_RANGE(1, 100000);"
		for ((i = 0; i < rounds; i++)); do
			echo "SELECT COUNT(*), SUM(v) FROM t WHERE name LIKE '%$i%';"
			echo 'SELECT a.name, SUM(a.v * b.v) FROM t a JOIN t b ON a.id = b.id + 1 GROUP BY a.name ORDER BY 2 DESC LIMIT 5;'
			echo "UPDATE t SET v = v + 1 WHERE MOD(id, 7) = MOD($i, 7);"
		done
		echo 'DROP TABLE t;'
	} >"$dir/h2/rounds-$rounds.sql" || return
	WORKLOAD_CWD=$dir/h2
	WORKLOAD=("$jdk/bin/java" -Xmx1g -cp "$jar" org.h2.tools.RunScript -url jdbc:h2:mem:w
		-script "$dir/h2/rounds-$rounds.sql")
}

workload_bounded() {
	local dir=$1 seconds=$2 i main=Bounded src
	src=$(dirname "${BASH_SOURCE[0]}")/java/Bounded.java
	"$(dirname "${WORKLOAD[0]}")/javac" -d "$dir" "$src" || return
	for ((i = 1; i < ${#WORKLOAD[@]}; i++)); do
		case ${WORKLOAD[i]} in
		-cp)
			WORKLOAD[i + 1]=$dir:${WORKLOAD[i + 1]}
			i=$((i + 1))
			;;
		-m) # MODULE/CLASS: the class from the class path
			WORKLOAD=("${WORKLOAD[@]:0:i}" --add-modules "${WORKLOAD[i + 1]%%/*}" -cp "$dir" "$main" "$seconds"
				"${WORKLOAD[i + 1]#*/}" "${WORKLOAD[@]:i + 2}")
			return
			;;
		-*) ;;
		*)
			WORKLOAD=("${WORKLOAD[@]:0:i}" "$main" "$seconds" "${WORKLOAD[@]:i}")
			return
			;;
		esac
	done
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	set -eu
	seconds='' print=
	while getopts nt: o; do
		case $o in
		n) print=1 ;;
		t) seconds=$OPTARG ;;
		*) exit 2 ;;
		esac
	done
	shift $((OPTIND - 1))
	[ $# -ge 2 ] || { echo "usage: ${0##*/} [-n] [-t SECONDS] javac|sunflow|h2 DIR [PREFIX…]" >&2; exit 2; }
	name=$1
	mkdir -p "$2"
	dir=$(readlink -f "$2")
	shift 2
	case $name in
	javac | sunflow | h2) "workload_$name" "$dir" ;;
	*) echo "${0##*/}: no workload «$name»" >&2; exit 2 ;;
	esac
	[ -z "$seconds" ] || workload_bounded "$dir" "$seconds"
	if [ -n "$print" ]; then
		printf '%q ' cd "$WORKLOAD_CWD" '&&' "$@" "${WORKLOAD[@]}" | sed "s/'&&'/\&\&/; s/\\\\&\\\\&/\&\&/"
		echo
	else
		cd "$WORKLOAD_CWD"
		exec "$@" "${WORKLOAD[@]}"
	fi
fi
