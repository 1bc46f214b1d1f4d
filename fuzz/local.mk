# SPDX-License-Identifier: LGPL-2.1-or-later
# A target: fuzz/fuzz-NAME.c with LLVMFuzzerTestOneInput, seeds in fuzz/seeds/NAME/. Built with --enable-fuzzer it is a
# libFuzzer program; else fuzz/replay.c gives it a main() that replays the seeds, and it is one of the UNIT_TESTS.
if FUZZER
FUZZ_MAIN =
else
FUZZ_MAIN = fuzz/replay.c
endif
EXTRA_DIST += fuzz/replay.c

# --- sampler
check_PROGRAMS += fuzz/fuzz-perfrec
UNIT_TESTS += fuzz/fuzz-perfrec
fuzz_fuzz_perfrec_SOURCES = fuzz/fuzz-perfrec.c $(FUZZ_MAIN)
fuzz_fuzz_perfrec_LDADD = sampler/libsampler.la lib/libbase.la
fuzz_fuzz_perfrec_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += fuzz/seeds/perfrec/samples fuzz/seeds/perfrec/chains fuzz/seeds/perfrec/sideband fuzz/seeds/perfrec/hostile

# --- rst: records, and each packed form
RST_FUZZ = fuzz/fuzz-rst fuzz/fuzz-rz2 fuzz/fuzz-rz3 fuzz/fuzz-rzx
check_PROGRAMS += $(RST_FUZZ)
UNIT_TESTS += $(RST_FUZZ)
fuzz_fuzz_rst_SOURCES = fuzz/fuzz-rst.c $(FUZZ_MAIN)
fuzz_fuzz_rst_LDADD = rst/librsttools.la
fuzz_fuzz_rst_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_fuzz_rz2_SOURCES = fuzz/fuzz-rst-packed.c $(FUZZ_MAIN)
fuzz_fuzz_rz2_CPPFLAGS = $(AM_CPPFLAGS) -DFORM=RST_RZ2
fuzz_fuzz_rz2_LDADD = format/rst/librst.la
fuzz_fuzz_rz2_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_fuzz_rz3_SOURCES = fuzz/fuzz-rst-packed.c $(FUZZ_MAIN)
fuzz_fuzz_rz3_CPPFLAGS = $(AM_CPPFLAGS) -DFORM=RST_RZ3
fuzz_fuzz_rz3_LDADD = format/rst/librst.la
fuzz_fuzz_rz3_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_fuzz_rzx_SOURCES = fuzz/fuzz-rst-packed.c $(FUZZ_MAIN)
fuzz_fuzz_rzx_CPPFLAGS = $(AM_CPPFLAGS) -DFORM=RST_RZX
fuzz_fuzz_rzx_LDADD = format/rst/librst.la
fuzz_fuzz_rzx_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += fuzz/seeds/rst/records fuzz/seeds/rst/kinds fuzz/seeds/rst/x86 fuzz/seeds/rst/file fuzz/seeds/rst/gzip \
	fuzz/seeds/rz2/file fuzz/seeds/rz2/up fuzz/seeds/rz2/records fuzz/seeds/rz2/lossy \
	fuzz/seeds/rz3/file fuzz/seeds/rz3/minor19 fuzz/seeds/rz3/sums fuzz/seeds/rz3/records fuzz/seeds/rz3/lossy \
	fuzz/seeds/rzx/file fuzz/seeds/rzx/empty-part fuzz/seeds/rzx/sums fuzz/seeds/rzx/records fuzz/seeds/rzx/kinds

# --- abi: the four files, info and paths of a session, archives
ABI_FUZZ = fuzz/fuzz-opnd fuzz/fuzz-opsd fuzz/fuzz-ophd fuzz/fuzz-opdb fuzz/fuzz-session-info fuzz/fuzz-tar
check_PROGRAMS += $(ABI_FUZZ)
UNIT_TESTS += $(ABI_FUZZ)
fuzz_fuzz_opnd_SOURCES = fuzz/fuzz-opnd.c $(FUZZ_MAIN)
fuzz_fuzz_opnd_LDADD = session/libsession.la
fuzz_fuzz_opnd_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_fuzz_opsd_SOURCES = fuzz/fuzz-opsd.c $(FUZZ_MAIN)
fuzz_fuzz_opsd_LDADD = session/libsession.la
fuzz_fuzz_opsd_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_fuzz_ophd_SOURCES = fuzz/fuzz-ophd.c $(FUZZ_MAIN)
fuzz_fuzz_ophd_LDADD = session/libsession.la
fuzz_fuzz_ophd_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_fuzz_opdb_SOURCES = fuzz/fuzz-opdb.c $(FUZZ_MAIN)
fuzz_fuzz_opdb_LDADD = session/libsession.la
fuzz_fuzz_opdb_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_fuzz_session_info_SOURCES = fuzz/fuzz-session-info.c $(FUZZ_MAIN)
fuzz_fuzz_session_info_LDADD = session/libsession.la
fuzz_fuzz_session_info_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_fuzz_tar_SOURCES = fuzz/fuzz-tar.c $(FUZZ_MAIN)
fuzz_fuzz_tar_LDADD = session/libsession.la
fuzz_fuzz_tar_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += fuzz/abi-files.h fuzz/quiet.h fuzz/seeds/opnd/a1 fuzz/seeds/opnd/ax1 fuzz/seeds/opnd/ax2 fuzz/seeds/opsd/a3 fuzz/seeds/opsd/a4 fuzz/seeds/opsd/a5 \
	fuzz/seeds/opsd/a6 fuzz/seeds/opsd/a14 fuzz/seeds/opsd/ax4 fuzz/seeds/opsd/ax5 fuzz/seeds/opsd/count-2to60 fuzz/seeds/ophd/a7 \
	fuzz/seeds/ophd/ax9 fuzz/seeds/ophd/cycle fuzz/seeds/opdb/a9 fuzz/seeds/opdb/a10 fuzz/seeds/opdb/a12 fuzz/seeds/opdb/ax7 \
	fuzz/seeds/opdb/loop fuzz/seeds/opdb/wild fuzz/seeds/opdb/huge-total fuzz/seeds/opdb/huge-page fuzz/seeds/session-info/plain fuzz/seeds/session-info/hostile \
	fuzz/seeds/session-info/path fuzz/seeds/session-info/path-anon fuzz/seeds/tar/long fuzz/seeds/tar/link-out fuzz/seeds/tar/dots
check_PROGRAMS += fuzz/fuzz-upstream
UNIT_TESTS += fuzz/fuzz-upstream
fuzz_fuzz_upstream_SOURCES = fuzz/fuzz-upstream.c report/upstream.c report/joimage.c $(FUZZ_MAIN)
fuzz_fuzz_upstream_CPPFLAGS = $(AM_CPPFLAGS) $(LIBELF_CFLAGS)
fuzz_fuzz_upstream_LDADD = lib/libbase.la $(LIBELF_LIBS)
fuzz_fuzz_upstream_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += fuzz/seeds/upstream/samples fuzz/seeds/upstream/too-many fuzz/seeds/upstream/image
# --- libopagent's formats and the live reader
check_PROGRAMS += fuzz/fuzz-image fuzz/fuzz-ring
UNIT_TESTS += fuzz/fuzz-image fuzz/fuzz-ring
fuzz_fuzz_image_SOURCES = fuzz/fuzz-image.c $(FUZZ_MAIN)
fuzz_fuzz_image_LDADD = format/jit/libjit.la lib/libbase.la
fuzz_fuzz_image_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_fuzz_ring_SOURCES = fuzz/fuzz-ring.c $(FUZZ_MAIN)
fuzz_fuzz_ring_LDADD = jitconv/libsource.la format/jit/libjit.la lib/libbase.la
fuzz_fuzz_ring_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += fuzz/seeds/make-jit.sh fuzz/seeds/image/small fuzz/seeds/image/truncated fuzz/seeds/image/bad-record \
	fuzz/seeds/image/bad-table fuzz/seeds/image/bad-string fuzz/seeds/image/bad-shoff fuzz/seeds/image/big-endian-32 \
	fuzz/seeds/ring/overrun fuzz/seeds/ring/one fuzz/seeds/ring/counts-too-much fuzz/seeds/ring/bad-entry \
	fuzz/seeds/ring/many-entries
# --- event log
check_PROGRAMS += fuzz/fuzz-evlog fuzz/fuzz-pmclog fuzz/fuzz-evformats
UNIT_TESTS += fuzz/fuzz-evlog fuzz/fuzz-pmclog fuzz/fuzz-evformats
fuzz_fuzz_evlog_SOURCES = fuzz/fuzz-evlog.c $(FUZZ_MAIN)
fuzz_fuzz_evlog_LDADD = format/evlog/libevlog.la
fuzz_fuzz_evlog_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_fuzz_pmclog_SOURCES = fuzz/fuzz-pmclog.c $(FUZZ_MAIN)
fuzz_fuzz_pmclog_LDADD = format/evlog/libevlog.la
fuzz_fuzz_pmclog_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_fuzz_evformats_SOURCES = fuzz/fuzz-evformats.c $(FUZZ_MAIN)
fuzz_fuzz_evformats_LDADD = format/evlog/libevlog.la
fuzz_fuzz_evformats_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EVLOG_SEEDS = fuzz/seeds/evlog/cut fuzz/seeds/evlog/random1 fuzz/seeds/evlog/random2 fuzz/seeds/evlog/random3 fuzz/seeds/evlog/odd-page-size \
	fuzz/seeds/pmclog/B1 fuzz/seeds/pmclog/B1-lenient fuzz/seeds/pmclog/B2 fuzz/seeds/pmclog/B2-lenient \
	fuzz/seeds/pmclog/B3 fuzz/seeds/pmclog/B3-lenient fuzz/seeds/pmclog/B5 fuzz/seeds/pmclog/B5-lenient \
	fuzz/seeds/pmclog/BX1 fuzz/seeds/pmclog/BX1-lenient fuzz/seeds/pmclog/BX3 fuzz/seeds/pmclog/BX3-lenient \
	fuzz/seeds/pmclog/BX4 fuzz/seeds/pmclog/BX4-lenient fuzz/seeds/pmclog/BX5 fuzz/seeds/pmclog/BX5-lenient \
	fuzz/seeds/pmclog/BX7 fuzz/seeds/pmclog/BX7-lenient fuzz/seeds/pmclog/opel1 fuzz/seeds/pmclog/opel2 \
	fuzz/seeds/pmclog/opel3 fuzz/seeds/evformats/C1 fuzz/seeds/evformats/C2 fuzz/seeds/evformats/C4 \
	fuzz/seeds/evformats/C5 fuzz/seeds/evformats/C7 fuzz/seeds/evformats/C8 \
	fuzz/seeds/evformats/ring-far-ahead fuzz/seeds/evformats/ring-far-ahead-2
EXTRA_DIST += $(EVLOG_SEEDS)
# the commands of opevlog
EVTOOL_LIBS = report/libopevlogtool.la format/rst/librst.la format/evlog/libevlog.la format/abi/libabi.la lib/libbase.la
check_PROGRAMS += fuzz/fuzz-evtool fuzz/fuzz-evimport
UNIT_TESTS += fuzz/fuzz-evtool fuzz/fuzz-evimport
fuzz_fuzz_evtool_SOURCES = fuzz/fuzz-evtool.c $(FUZZ_MAIN)
fuzz_fuzz_evtool_LDADD = $(EVTOOL_LIBS)
fuzz_fuzz_evtool_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
fuzz_fuzz_evimport_SOURCES = fuzz/fuzz-evimport.c $(FUZZ_MAIN)
fuzz_fuzz_evimport_LDADD = $(EVTOOL_LIBS)
fuzz_fuzz_evimport_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += fuzz/seeds/make-tools.sh fuzz/seeds/evtool/abi fuzz/seeds/evtool/check fuzz/seeds/evtool/ctf \
	fuzz/seeds/evtool/cut fuzz/seeds/evtool/cut-some fuzz/seeds/evtool/dump fuzz/seeds/evtool/dump-json-cut \
	fuzz/seeds/evtool/follow fuzz/seeds/evtool/ftrace fuzz/seeds/evtool/hwpmc fuzz/seeds/evtool/json \
	fuzz/seeds/evtool/merge fuzz/seeds/evtool/opel fuzz/seeds/evtool/pmclog fuzz/seeds/evtool/raw \
	fuzz/seeds/evtool/rst fuzz/seeds/evtool/script fuzz/seeds/evtool/stat fuzz/seeds/evimport/B1 \
	fuzz/seeds/evimport/B2 fuzz/seeds/evimport/B3 fuzz/seeds/evimport/B5 fuzz/seeds/evimport/abi \
	fuzz/seeds/evimport/abi-odd fuzz/seeds/evimport/ctf fuzz/seeds/evimport/perf fuzz/seeds/evimport/script fuzz/seeds/evimport/script-nul

# --- formats of other JITs
check_PROGRAMS += fuzz/fuzz-foreign
UNIT_TESTS += fuzz/fuzz-foreign
fuzz_fuzz_foreign_SOURCES = fuzz/fuzz-foreign.c $(FUZZ_MAIN)
fuzz_fuzz_foreign_LDADD = format/jit/libjit.la lib/libbase.la
fuzz_fuzz_foreign_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += fuzz/seeds/foreign/jitdump fuzz/seeds/foreign/jitdump-small-steps fuzz/seeds/foreign/perfmap fuzz/seeds/foreign/opdump
# --- the control socket
check_PROGRAMS += fuzz/fuzz-ctl
UNIT_TESTS += fuzz/fuzz-ctl
fuzz_fuzz_ctl_SOURCES = fuzz/fuzz-ctl.c $(FUZZ_MAIN)
fuzz_fuzz_ctl_LDADD = $(tests_unit_test_ctl_LDADD)
fuzz_fuzz_ctl_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += fuzz/seeds/ctl/save fuzz/seeds/ctl/status fuzz/seeds/ctl/attach fuzz/seeds/ctl/bytes

# --- the resolver: forged streams of events
check_PROGRAMS += fuzz/fuzz-resolver
UNIT_TESTS += fuzz/fuzz-resolver
fuzz_fuzz_resolver_SOURCES = fuzz/fuzz-resolver.c $(FUZZ_MAIN)
fuzz_fuzz_resolver_LDADD = daemon/libresolver.la lib/libbase.la
fuzz_fuzz_resolver_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += fuzz/seeds/make-resolver.sh fuzz/seeds/resolver/life fuzz/seeds/resolver/family fuzz/seeds/resolver/hostile
