# SPDX-License-Identifier: LGPL-2.1-or-later
noinst_LTLIBRARIES += daemon/libresolver.la daemon/libpipeline.la daemon/liblive.la
daemon_libresolver_la_SOURCES = daemon/resolver.h daemon/resolver.c daemon/procs.h daemon/procs.c \
	daemon/jittl.h daemon/jittl.c daemon/jitblock.h daemon/jitblock.c daemon/jittable.h daemon/jittable.c daemon/maps.h daemon/maps.c
daemon_libpipeline_la_SOURCES = daemon/account.h daemon/account.c daemon/pipeline.h daemon/pipeline.c
daemon_libpipeline_la_LIBADD = daemon/libresolver.la format/evlog/libevlog.la session/libsession.la
daemon_liblive_la_SOURCES = daemon/live.h daemon/live.c daemon/found.h daemon/found.c
noinst_LTLIBRARIES += daemon/libctl.la
daemon_libctl_la_SOURCES = daemon/ctl.h daemon/ctl.c daemon/cleanup.h daemon/cleanup.c

# Programs that run the pipeline live link all of these, in this order.
live_libs = daemon/liblive.la daemon/libctl.la jitconv/libseal.la jitconv/libsource.la format/jit/libjit.la control/libagents.la \
	daemon/libpipeline.la sampler/libsampler.la lib/libbase.la
sbin_PROGRAMS += daemon/opd
daemon_opd_SOURCES = daemon/opd.c
daemon_opd_LDADD = $(live_libs)

# Tests of daemon/ and control/ (tests/unit, tests/cli)
check_PROGRAMS += tests/unit/test-resolver tests/unit/test-jittl
UNIT_TESTS += tests/unit/test-resolver tests/unit/test-jittl
tests_unit_test_jittl_LDADD = daemon/libresolver.la lib/libbase.la
tests_unit_test_resolver_LDADD = daemon/libresolver.la lib/libbase.la
check_PROGRAMS += tests/unit/test-ctl tests/unit/test-pipeline tests/unit/test-found
UNIT_TESTS += tests/unit/test-found
tests_unit_test_found_LDADD = $(live_libs)
UNIT_TESTS += tests/unit/test-ctl tests/unit/test-pipeline
tests_unit_test_ctl_LDADD = daemon/libctl.la jitconv/libsource.la format/jit/libjit.la lib/libbase.la
tests_unit_test_pipeline_LDADD = daemon/libpipeline.la lib/libbase.la
CLI_TESTS += tests/cli/operf.sh tests/cli/opd.sh tests/cli/jvm.sh tests/cli/jvm-named.sh
LONG_TESTS += tests/cli/jvm-named-long.sh
EXTRA_DIST += tests/cli/operf.sh tests/cli/opd.sh tests/cli/jvm.sh tests/cli/jvm-named.sh tests/cli/jvm-named-long.sh \
	tests/java/Hot.java doc/attribution.md daemon/README.md control/README.md
BENCHES += bench/resolve.sh
EXTRA_DIST += bench/resolve.sh
check_PROGRAMS += bench/resolve
bench_resolve_LDADD = daemon/libpipeline.la lib/libbase.la
# opd and operf --system-wide attach to every VM they see.
CLI_ALONE += tests/cli/jvm-ways.sh tests/cli/operf.sh tests/cli/opd.sh tests/cli/jvm.sh tests/cli/jvm-daemon.sh
