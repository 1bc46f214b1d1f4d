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

# --- rst
check_PROGRAMS += fuzz/fuzz-rst
UNIT_TESTS += fuzz/fuzz-rst
fuzz_fuzz_rst_SOURCES = fuzz/fuzz-rst.c $(FUZZ_MAIN)
fuzz_fuzz_rst_LDADD = format/rst/librst.la
fuzz_fuzz_rst_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
EXTRA_DIST += fuzz/seeds/rst/raw fuzz/seeds/rst/rz2 fuzz/seeds/rst/rz3 fuzz/seeds/rst/rzx fuzz/seeds/rst/gzip
