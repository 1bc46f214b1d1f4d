# SPDX-License-Identifier: LGPL-2.1-or-later
# --- query library, opreport, opannotate
noinst_LTLIBRARIES += report/libreport.la
report_libreport_la_SOURCES = report/text.h report/text.c report/names.h report/names.c report/symbols.h \
	report/symbols.c report/symimage.h report/elfsyms.c report/kallsyms.c report/dwarflines.c
report_libreport_la_CPPFLAGS = $(AM_CPPFLAGS) $(LIBDW_CFLAGS) $(LIBELF_CFLAGS)
REPORT_LIBS = report/libreport.la lib/libbase.la $(LIBDW_LIBS) $(LIBELF_LIBS) $(ZLIB_LIBS) -liberty -lm
