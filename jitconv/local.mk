# SPDX-License-Identifier: GPL-3.0-or-later
noinst_LTLIBRARIES += jitconv/libsource.la
jitconv_libsource_la_SOURCES = jitconv/source.h jitconv/source.c jitconv/instances.h jitconv/instances.c \
	jitconv/saveimage.h jitconv/saveimage.c

# sealed images: DWARF, call frames; and what other JITs write
noinst_LTLIBRARIES += jitconv/libseal.la
jitconv_libseal_la_SOURCES = jitconv/seal.h jitconv/seal.c jitconv/sealimage.c jitconv/dwarf.h jitconv/dwarf.c jitconv/ehframe.c \
	jitconv/foreign.h jitconv/foreign.c jitconv/gdbjit.h jitconv/gdbjit.c
jitconv_libseal_la_CPPFLAGS = $(AM_CPPFLAGS) $(LIBELF_CFLAGS) $(LIBDW_CFLAGS)
jitconv_libseal_la_LIBADD = format/jit/libjit.la lib/libbase.la $(LIBELF_LIBS)

bin_PROGRAMS += jitconv/opjitconv
jitconv_opjitconv_SOURCES = jitconv/opjitconv.c
jitconv_opjitconv_LDADD = jitconv/libseal.la jitconv/libsource.la format/jit/libjit.la lib/libbase.la $(LIBELF_LIBS)
