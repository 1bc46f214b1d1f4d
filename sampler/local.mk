# SPDX-License-Identifier: LGPL-2.1-or-later
noinst_LTLIBRARIES += sampler/libsampler.la
sampler_libsampler_la_SOURCES = sampler/sampler.h sampler/sampler.c sampler/priv.h sampler/open.c sampler/target.c \
	sampler/drain.c sampler/track.c sampler/synth.c sampler/why.h sampler/why.c sampler/perfrec.h sampler/perfrec.c \
	sampler/evspec.h sampler/evspec.c sampler/evspec_pfm.c sampler/procinfo.h sampler/procinfo.c sampler/appname.c
# Programs add lib/libbase.la themselves.
sampler_libsampler_la_LIBADD = $(PFM_LIBS)

# Tests
check_PROGRAMS += tests/tools/sampler-dump tests/unit/test-perfrec tests/unit/test-evspec tests/unit/test-procinfo tests/unit/test-track
UNIT_TESTS += tests/unit/test-perfrec tests/unit/test-evspec tests/unit/test-procinfo tests/unit/test-track
VALGRIND_TESTS += tests/unit/test-perfrec
tests_tools_sampler_dump_LDADD = sampler/libsampler.la lib/libbase.la
tests_unit_test_perfrec_LDADD = sampler/libsampler.la lib/libbase.la
tests_unit_test_evspec_LDADD = sampler/libsampler.la lib/libbase.la
tests_unit_test_procinfo_LDADD = sampler/libsampler.la lib/libbase.la
tests_unit_test_track_LDADD = sampler/libsampler.la lib/libbase.la
check_PROGRAMS += tests/unit/test-sampler
UNIT_TESTS += tests/unit/test-sampler
SERIAL_TESTS += tests/unit/test-sampler
tests_unit_test_sampler_SOURCES = tests/unit/test-sampler.c tests/unit/sampler-work.h tests/unit/sampler-work.c
tests_unit_test_sampler_LDADD = sampler/libsampler.la lib/libbase.la -lpthread
check_PROGRAMS += tests/tools/sampler-refuse
tests_tools_sampler_refuse_LDADD = -lseccomp
CLI_TESTS += tests/cli/sampler-refused.sh
EXTRA_DIST += tests/cli/sampler-refused.sh
LONG_TESTS += tests/cli/sampler-attach-long.sh
EXTRA_DIST += tests/cli/sampler-attach-long.sh
