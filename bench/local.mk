# SPDX-License-Identifier: LGPL-2.1-or-later

# --- abi: the store
BENCHES += bench/store.sh
EXTRA_DIST += bench/store.sh bench/store.c
# libopagent: what a posted method costs
BENCHES += bench/opagent.sh
EXTRA_DIST += bench/run bench/opagent.sh

# --- jvmti: the Java agent
if WITH_JVMTI
check_LTLIBRARIES += bench/cbcount.la
bench_cbcount_la_SOURCES = bench/cbcount.c
bench_cbcount_la_CPPFLAGS = $(AM_CPPFLAGS) $(JVMTI_CPPFLAGS)
# An -rpath makes libtool build the shared one of a library that is not installed.
bench_cbcount_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -rpath $(abs_top_builddir)/bench
bench_cbcount_la_LIBADD = -ldl
endif
BENCHES += bench/jvmti.sh bench/operf.sh
EXTRA_DIST += bench/javac.sh bench/jvmti.sh bench/operf.sh bench/cbcount.c

# --- event log
check_PROGRAMS += bench/evlog
bench_evlog_SOURCES = bench/evlog.c
bench_evlog_LDADD = format/evlog/libevlog.la
bench_evlog_LDFLAGS = -pthread
BENCHES += bench/evlog.sh
EXTRA_DIST += bench/evlog.sh bench/evlog-lttng.h
# rst: packed traces
BENCHES += bench/rst.sh
EXTRA_DIST += bench/rst.sh
# other JITs' files
check_PROGRAMS += bench/jits
bench_jits_LDADD = daemon/libresolver.la jitconv/libseal.la jitconv/libsource.la format/jit/libjit.la lib/libbase.la
BENCHES += bench/jits.sh
EXTRA_DIST += bench/jits.sh
# sealed images beside perf inject --jit
check_PROGRAMS += bench/seal
bench_seal_LDADD = libopagent/libopagent-test.la
BENCHES += bench/seal.sh
EXTRA_DIST += bench/seal.sh
