#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# JVMs with file capabilities: the kernel hides their root, maps and environment from their own user, who can attach all the same
# where its /tmp is theirs; elsewhere they are left alone, with a line that tells.
. "$(dirname "$0")/lib.sh"
agent=$build/agents/jvmti/.libs/libjvmti_oprofile.so
attach=$build/tests/tools/attach
[ -f "$agent" ] || skip_all "configured --without-jvmti"
[ -n "$(jdks)" ] || skip_all "no JDK here"
[ "$(id -u)" = 0 ] || skip_all "setcap needs root"
need setcap setpriv nsenter perl ldconfig
unshare -m true 2>/dev/null || skip_all 'no mount namespaces for us here'
agent=$(readlink -f "$agent")
cd "$work" || exit 1
chmod 0755 "$work"
cp "$(command -v bash)" capable && setcap cap_net_bind_service+ep capable 2>/dev/null || skip_all "setcap is refused here"
as_user() { timeout 30 setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
# shellcheck disable=SC2016
as_user ./capable -c 'while read -r k v; do [ $k = CapEff: ] && [[ $v =~ [1-9a-f] ]] && exit 0; done </proc/self/status; exit 1' || skip_all "file capabilities do nothing here (nosuid?)"

# With capabilities the loader does not look for libjli.so beside the program, so the cache has it, in a namespace of its own.
# begin: a VM as uid 65534; its pid to $jvm once it is up
begin() {
	rm -f stop target.*
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount --bind "$1" /etc/ld.so.cache && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$2/bin/java" -cp "$3" Spin "$4"' \
		sh "$work/cache" "$work/$name" "$work/classes" "$work/stop" >target.out 2>target.err & jvm=$!
	later $jvm
	wait_for 60 up || { fail "$name: no VM"; show target.err; }
	sleep 1
}
# shellcheck disable=SC2317
up() { grep -qs '^VM Periodic' "/proc/$jvm/task/"*/comm; }
stop() { touch stop; wait $jvm; status=$?; }
quiet() { is '0 spun' "$status $(grep -v '^WARNING: ' target.out target.err -h)" "$1: the program notices nothing"; }
inside() { nsenter -m -r -t $jvm --wd="$work" setpriv --reuid=65534 --regid=65534 --clear-groups timeout 30 "$@"; }
names() { as_user "$build/tests/tools/instance-dump" "$OPJIT_DIR"/*-* >dump 2>&1; rm -rf "${OPJIT_DIR:?}"/*-*; }

for jdk in $(jdks); do
	name=$(basename "$jdk")
	rm -rf classes && mkdir -p classes "$name/bin"
	"$jdk/bin/javac" -g -d classes "$src/tests/java/Spin.java" || { fail "$name: javac"; continue; }
	ln -s "$jdk"/* "$name/" 2>/dev/null
	cp "$jdk/bin/java" "$name/bin/java" && setcap cap_net_bind_service+ep "$name/bin/java"
	printf 'include /etc/ld.so.conf\n%s\n' "$jdk/lib" >conf
	ldconfig -X -f conf -C cache
	chmod -R a+rX classes cache "$name/bin"

	begin
	check "$name: its root is hidden from its user" sh -c "! setpriv --reuid=65534 --regid=65534 --clear-groups ls /proc/$jvm/root/ >/dev/null 2>&1"
	run as_user "$attach" $jvm "$agent" "dir=$OPJIT_DIR"
	like out "^EACCES: process $jvm hides its root .*attach as root" "$name, its user in another mount namespace: refused, with the cause"
	no_attach_litter "$name, refused" "$jvm" /tmp "$work"
	run inside "$attach" $jvm "$agent" "dir=$OPJIT_DIR"
	like out '^loaded: ' "$name, its user in the same: attached"
	no_attach_litter "$name, attached" "$jvm" /tmp "$work"
	stop
	quiet "$name, by its user"
	names
	like dump 'Spin.work' "$name: and its methods have names"

	begin
	run timeout 60 "$attach" $jvm "$agent" "dir=$OPJIT_DIR"
	like out '^loaded: ' "$name, root from outside: attached"
	stop
	quiet "$name, by root"
	rm -rf "${OPJIT_DIR:?}"/*-*

	# A socket of its number that is not its own: of a VM in another container that has the same /tmp.
	begin
	as_user perl -MIO::Socket::UNIX -e 'my $s = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 1) or die; sleep 60' "/tmp/.java_pid$jvm" & other=$!
	later $other
	wait_for 20 test -S "/tmp/.java_pid$jvm"
	sleep 0.2
	run inside "$attach" $jvm "$agent" "dir=$OPJIT_DIR"
	like out "^EADDRINUSE: .*java_pid$jvm .*another process" "$name: a socket of another process is not spoken to"
	kill $other
	rm -f "/tmp/.java_pid$jvm"
	stop
	quiet "$name, a socket of another process"
done
begin
run inside opcontrol --attach $jvm
is 0 "$status" "opcontrol --attach by its user"
show err
stop

# What is no JVM may take SIGQUIT for an order to end.
# shellcheck disable=SC2016
as_user ./capable -c 'trap "echo quit" QUIT; trap "exit 0" TERM; while :; do read -rt 0.1 <> <(:); done' >other.out 2>other.err & p=$!
later $p
wait_for 20 grep -qs '^SigCgt:.*[1-9a-f]' "/proc/$p/status"
other=$(pgrep -P $p | head -n 1)
run as_user "$attach" "${other:-$p}" "$agent" "dir=$OPJIT_DIR" 3000
like out '^ENOEXEC: ' 'a process that hides itself and is no JVM: refused'
kill -TERM "${other:-$p}"
is '' "$(cat other.out)" 'and not signalled'
done_testing
