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
