# SPDX-License-Identifier: LGPL-2.1-or-later
noinst_LTLIBRARIES += format/evlog/libevlog.la
format_evlog_libevlog_la_SOURCES = format/evlog/event.h format/evlog/evlog.h format/evlog/wire.h format/evlog/wire.c \
	format/evlog/meta.c format/evlog/cursor.h format/evlog/cursor.c format/evlog/writer.c format/evlog/merge.h \
	format/evlog/merge.c format/evlog/replay.c format/evlog/fields.h format/evlog/fields.c format/evlog/text.h format/evlog/text-out.h format/evlog/text.c format/evlog/text-pmclog.c \
	format/evlog/pmclog.h format/evlog/pmclog-private.h format/evlog/pmclog.c format/evlog/pmclog-hwpmc.c \
	format/evlog/pmclog-opel.c format/evlog/recorder.h format/evlog/recorder.c \
	format/evlog/ftracepage.h format/evlog/ftracepage.c format/evlog/ctf.h format/evlog/ctf.c \
	format/evlog/ring.h format/evlog/ring.c format/evlog/ring-file.c
format_evlog_libevlog_la_LIBADD = lib/libbase.la
EXTRA_DIST += doc/format-evlog.md

# What others link: the same objects, with the symbols of pmclog.h and ring.h alone.
lib_LTLIBRARIES += format/evlog/libopevlog.la
format_evlog_libopevlog_la_SOURCES =
format_evlog_libopevlog_la_LIBADD = format/evlog/libevlog.la
format_evlog_libopevlog_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined \
	-Wl,--version-script=$(top_srcdir)/format/evlog/libopevlog.map
EXTRA_format_evlog_libopevlog_la_DEPENDENCIES = format/evlog/libopevlog.map
opevlogincludedir = $(includedir)/opevlog
opevloginclude_HEADERS = format/evlog/pmclog.h format/evlog/ring.h
EXTRA_DIST += format/evlog/libopevlog.map

# --- tests ---
check_PROGRAMS += tests/unit/test-evlog tests/unit/test-pmclog tests/unit/test-evformats tests/unit/test-ring tests/unit/test-recorder
UNIT_TESTS += tests/unit/test-evlog tests/unit/test-pmclog tests/unit/test-evformats tests/unit/test-ring tests/unit/test-recorder
tests_unit_test_evlog_SOURCES = tests/unit/test-evlog.c tests/unit/evlog-gen.h
tests_unit_test_evlog_LDADD = format/evlog/libevlog.la
tests_unit_test_pmclog_SOURCES = tests/unit/test-pmclog.c tests/unit/evlog-gen.h tests/unit/vectors.h
tests_unit_test_pmclog_LDADD = format/evlog/libevlog.la
tests_unit_test_evformats_SOURCES = tests/unit/test-evformats.c tests/unit/vectors.h
tests_unit_test_evformats_LDADD = format/evlog/libevlog.la
TSAN_TESTS += tests/unit/test-ring tests/unit/test-evlog
tests_unit_test_recorder_SOURCES = tests/unit/test-recorder.c tests/unit/evlog-gen.h
tests_unit_test_recorder_LDADD = format/evlog/libevlog.la
tests_unit_test_ring_LDADD = format/evlog/libevlog.la
tests_unit_test_ring_LDFLAGS = -pthread
check_PROGRAMS += tests/tools/mkevlog
tests_tools_mkevlog_SOURCES = tests/tools/mkevlog.c tests/unit/evlog-gen.h tests/unit/vectors.h
tests_tools_mkevlog_LDADD = format/evlog/libevlog.la
CLI_TESTS += tests/cli/opevlog.sh
LONG_TESTS += tests/cli/evlog-long.sh tests/cli/replay-long.sh tests/cli/fuzz-evlog-long.sh
EXTRA_DIST += tests/cli/evlog-long.sh tests/cli/replay-long.sh tests/cli/fuzz-evlog-long.sh tests/cli/fuzz-lib.sh format/evlog/README.md
EXTRA_DIST += tests/cli/opevlog.sh
EXTRA_DIST += tests/data/evlog/vectors.txt
