# SPDX-License-Identifier: LGPL-2.1-or-later
EXTRA_DIST += tests/run-check tests/install-packages tests/demo tests/fresh-clone tests/cli/lib.sh

# --- jvmti: agents/jvmti, control/attach, control/agents ---
check_PROGRAMS += tests/tools/attach tests/tools/instance-dump tests/tools/fake-jvm
tests_tools_fake_jvm_LDADD = lib/libbase.la
CLI_TESTS += tests/cli/attach-hostile.sh
CLI_TESTS += tests/cli/attach-twice.sh
EXTRA_DIST += tests/cli/attach-hostile.sh
EXTRA_DIST += tests/cli/attach-twice.sh
tests_tools_attach_LDADD = control/libagents.la
tests_tools_instance_dump_LDADD = jitconv/libsource.la format/jit/libjit.la lib/libbase.la
CLI_TESTS += tests/cli/jvmti.sh tests/cli/attach.sh tests/cli/attach-hidden.sh
# It leaves copies of the agent in /tmp for a moment, where attach.sh looks for what is left behind.
CLI_ALONE += tests/cli/attach-hidden.sh
EXTRA_DIST += tests/cli/jvmti.sh tests/cli/attach.sh tests/cli/attach-hidden.sh tests/workloads.sh tests/java/Bounded.java tests/java/com/acme/Hot.java \
	tests/java/Churn.java tests/java/Spin.java

# lib/ and the tree itself
check_PROGRAMS += tests/unit/test-base
UNIT_TESTS += tests/unit/test-base
VALGRIND_TESTS += tests/unit/test-base
tests_unit_test_base_LDADD = lib/libbase.la
CLI_TESTS += tests/cli/tree.sh
EXTRA_DIST += tests/cli/tree.sh

# --- abi: format/abi and session ---
check_PROGRAMS += tests/unit/test-session
tests_unit_test_session_SOURCES = tests/unit/test-session.c
tests_unit_test_session_LDADD = session/libsession.la
UNIT_TESTS += tests/unit/test-session

# report/: query library, opreport, opannotate
check_PROGRAMS += tests/tools/mksession
tests_tools_mksession_LDADD = session/libsession.la format/abi/libabi.la lib/libbase.la
check_PROGRAMS += tests/unit/test-report
tests_unit_test_report_LDADD = jitconv/libsource.la $(REPORT_LIBS) libopagent/libopagent-test.la
UNIT_TESTS += tests/unit/test-report
CLI_TESTS += tests/cli/opreport.sh tests/cli/opannotate.sh tests/cli/man-options.sh
EXTRA_DIST += tests/cli/opreport.sh tests/cli/opannotate.sh tests/cli/man-options.sh
# libopagent, its formats and the live reader
check_PROGRAMS += tests/unit/test-opagent
tests_unit_test_opagent_LDADD = jitconv/libsource.la format/jit/libjit.la libopagent/libopagent-test.la lib/libbase.la
UNIT_TESTS += tests/unit/test-opagent
check_PROGRAMS += tests/unit/test-abi tests/unit/test-opdb
tests_unit_test_abi_SOURCES = tests/unit/test-abi.c tests/unit/abi-vectors.h
tests_unit_test_abi_LDADD = format/abi/libabi.la
tests_unit_test_opdb_LDADD = session/libsession.la
UNIT_TESTS += tests/unit/test-abi tests/unit/test-opdb

# sealing and foreign formats
check_PROGRAMS += tests/tools/seal-fixture tests/unit/test-foreign
tests_tools_seal_fixture_LDADD = jitconv/libseal.la jitconv/libsource.la format/jit/libjit.la lib/libbase.la $(LIBELF_LIBS)
tests_unit_test_foreign_LDADD = format/jit/libjit.la lib/libbase.la
UNIT_TESTS += tests/unit/test-foreign
CLI_TESTS += tests/cli/seal.sh
EXTRA_DIST += tests/cli/seal.sh
CLI_TESTS += tests/cli/mono-agent.sh
EXTRA_DIST += tests/cli/mono-agent.sh tests/java/Hot.cs
# --- rst: format/rst and the trace tools
check_PROGRAMS += tests/unit/test-rst-records tests/unit/test-rst-codec tests/unit/test-rst-check
tests_unit_test_rst_records_SOURCES = tests/unit/test-rst-records.c tests/unit/rst-gen.h tests/unit/rst-mem.h
tests_unit_test_rst_records_LDADD = format/rst/librst.la
tests_unit_test_rst_codec_SOURCES = tests/unit/test-rst-codec.c tests/unit/rst-gen.h
tests_unit_test_rst_codec_LDADD = format/rst/librst.la
tests_unit_test_rst_check_SOURCES = tests/unit/test-rst-check.c tests/unit/rst-gen.h
tests_unit_test_rst_check_LDADD = rst/librsttools.la
check_PROGRAMS += tests/unit/test-rst-print
tests_unit_test_rst_print_LDADD = rst/librsttools.la
check_PROGRAMS += tests/unit/test-rst-real
UNIT_TESTS += tests/unit/test-rst-real
tests_unit_test_rst_real_LDADD = rst/librsttools.la $(ZLIB_LIBS)
UNIT_TESTS += tests/unit/test-rst-records tests/unit/test-rst-codec tests/unit/test-rst-check tests/unit/test-rst-print
CLI_TESTS += tests/cli/rst.sh tests/cli/optrace.sh tests/cli/optrace-process.sh
LONG_TESTS += tests/cli/fuzz-rst-long.sh
EXTRA_DIST += tests/cli/rst.sh tests/cli/optrace.sh tests/cli/optrace-process.sh tests/cli/fuzz-rst-long.sh
CLI_TESTS += tests/unit/test-opagent-kill
check_PROGRAMS += tests/unit/test-opagent-kill tests/tools/poster
tests_unit_test_opagent_kill_SOURCES = tests/unit/test-opagent-kill.c tests/unit/jit-check.h
tests_unit_test_opagent_kill_LDADD = $(tests_unit_test_opagent_LDADD)
LONG_TESTS += tests/cli/opagent-kill-long.sh tests/cli/opagent-stopped-long.sh
EXTRA_DIST += tests/cli/opagent-kill-long.sh tests/cli/opagent-stopped-long.sh
check_PROGRAMS += tests/tools/jit-dump tests/tools/refuse
tests_tools_jit_dump_LDADD = jitconv/libsource.la format/jit/libjit.la lib/libbase.la
CLI_TESTS += tests/cli/opagent.sh
EXTRA_DIST += tests/cli/opagent.sh
check_PROGRAMS += tests/unit/test-opagent-threads
UNIT_TESTS += tests/unit/test-opagent-threads
TSAN_TESTS += tests/unit/test-opagent-threads
tests_unit_test_opagent_threads_LDADD = $(tests_unit_test_opagent_LDADD) -lpthread
tests_tools_poster_LDADD = libopagent/libopagent.la -lpthread
VALGRIND_TESTS += tests/unit/test-opagent tests/unit/test-session tests/unit/test-foreign tests/unit/test-evspec tests/unit/test-report
check_PROGRAMS += tests/unit/test-flush-kill tests/unit/test-flush-random
tests_unit_test_flush_kill_LDADD = session/libsession.la
tests_unit_test_flush_random_SOURCES = tests/unit/test-flush-kill.c
tests_unit_test_flush_random_CPPFLAGS = $(AM_CPPFLAGS) -DRANDOM_KILLS
tests_unit_test_flush_random_LDADD = session/libsession.la
CLI_TESTS += tests/unit/test-flush-kill
LONG_TESTS += tests/unit/test-flush-random tests/cli/fuzz-abi-long.sh
LONG_TESTS += tests/cli/hostile-options.sh
EXTRA_DIST += tests/cli/hostile-options.sh
EXTRA_DIST += tests/cli/fuzz-abi-long.sh
CLI_TESTS += tests/cli/abi.sh tests/cli/archive.sh tests/cli/oprofile.sh tests/cli/abi-jvm.sh
EXTRA_DIST += tests/cli/abi.sh tests/cli/archive.sh tests/cli/oprofile.sh tests/cli/abi-jvm.sh
CLI_TESTS += tests/cli/opagent-abi.sh tests/cli/opagent-outside.sh
EXTRA_DIST += tests/cli/opagent-abi.sh tests/cli/opagent-outside.sh tests/abi/libopagent.abi doc/format-ring.md doc/format-image.md
CLI_TESTS += tests/cli/runtimes.sh tests/cli/no-agents.sh
EXTRA_DIST += tests/cli/runtimes.sh tests/cli/no-agents.sh tests/hot/hot.js tests/hot/hot.php tests/hot/hot.erl tests/hot/hot.lua tests/hot/hot.py tests/hot/hot.cs tests/hot/hot.java
# fakejit: a JIT with a known truth, and the judge of what was made of it
check_PROGRAMS += tests/fakejit/fakejit tests/fakejit/judge
tests_fakejit_fakejit_SOURCES = tests/fakejit/fakejit.c tests/fakejit/post.c tests/fakejit/post.h
tests_fakejit_fakejit_CPPFLAGS = $(AM_CPPFLAGS) -DOPAGENT_STATIC
tests_fakejit_fakejit_LDADD = libopagent/libopagent-test.la -lpthread
tests_fakejit_judge_LDADD = daemon/libpipeline.la lib/libbase.la -lm
CLI_TESTS += tests/cli/fakejit.sh tests/cli/symbolize.sh
EXTRA_DIST += tests/cli/fakejit.sh tests/cli/symbolize.sh
# a real VM against an independent witness, and killed
CLI_TESTS += tests/cli/jvm-kill.sh
LONG_TESTS += tests/cli/jvm-kill-long.sh
EXTRA_DIST += tests/cli/jvm-kill.sh tests/cli/jvm-kill-long.sh
CLI_TESTS += tests/cli/witness.sh
EXTRA_DIST += tests/cli/witness.sh
CLI_TESTS += tests/cli/jvm-refused.sh
EXTRA_DIST += tests/cli/jvm-refused.sh
CLI_TESTS += tests/cli/jvm-many.sh
EXTRA_DIST += tests/cli/jvm-many.sh tests/java/Phases.java
CLI_TESTS += tests/cli/jvm-daemon.sh
EXTRA_DIST += tests/cli/jvm-daemon.sh
check_PROGRAMS += tests/tools/run-image
tests_tools_run_image_LDADD = libopagent/libopagent.la
CLI_TESTS += tests/cli/image-perf.sh
EXTRA_DIST += tests/cli/image-perf.sh
# other JITs: fixtures that tell of their code in their own ways
check_PROGRAMS += tests/tools/jitself
tests_tools_jitself_LDADD = -ldl
CLI_TESTS += tests/cli/other-jits.sh tests/cli/perf-map.sh
EXTRA_DIST += tests/cli/other-jits.sh tests/cli/perf-map.sh
# attribution on a real VM: HotSpot's own probes as the witness
check_PROGRAMS += tests/tools/uprobe-log tests/tools/resolve-dump
tests_tools_resolve_dump_LDADD = daemon/libpipeline.la lib/libbase.la
CLI_TESTS += tests/cli/inlines.sh tests/cli/lines.sh
LONG_TESTS += tests/cli/hotspot-probes.sh tests/cli/hotspot-probes-long.sh tests/cli/inlines-long.sh
EXTRA_DIST += tests/cli/hotspot-probes.sh tests/cli/hotspot-probes-long.sh tests/cli/inlines.sh tests/cli/inlines-long.sh tests/cli/lines.sh \
	tests/tools/hotspot-judge.py tests/tools/perf-data.py tests/java/Flush.java tests/java/Lines.java
CLI_TESTS += tests/cli/doctor.sh
EXTRA_DIST += tests/cli/doctor.sh
LONG_TESTS += tests/cli/runtimes-long.sh
EXTRA_DIST += tests/cli/runtimes-long.sh
LONG_TESTS += tests/cli/hostile-files.sh
EXTRA_DIST += tests/cli/hostile-files.sh
LONG_TESTS += tests/cli/mono-long.sh
EXTRA_DIST += tests/cli/mono-long.sh doc/field-problems.md
CLI_TESTS += tests/cli/jvm-ways.sh
EXTRA_DIST += tests/cli/jvm-ways.sh tests/java/Redefined.java
LONG_TESTS += tests/cli/attach-exiting-long.sh
EXTRA_DIST += tests/cli/attach-exiting-long.sh
