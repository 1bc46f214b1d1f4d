# SPDX-License-Identifier: GPL-3.0-or-later
noinst_LTLIBRARIES += rst/librsttools.la
rst_librsttools_la_SOURCES = rst/cli.h rst/cli.c rst/dis.h rst/dis.c rst/print.h rst/print.c rst/syms.h rst/syms.c \
	rst/check.h rst/check.c
rst_librsttools_la_LIBADD = format/rst/librst.la lib/libbase.la $(BFD_LIBS) $(ZLIB_LIBS)

# trv is trconv under a name that makes it page.
bin_PROGRAMS += rst/trconv rst/trv
rst_trconv_SOURCES = rst/trconv.c
rst_trconv_LDADD = rst/librsttools.la
rst_trv_SOURCES = rst/trconv.c
rst_trv_LDADD = rst/librsttools.la

bin_PROGRAMS += rst/rstzip rst/rstunzip rst/rstcheck rst/diffrst
rst_rstzip_SOURCES = rst/rstzip.c
rst_rstzip_LDADD = rst/librsttools.la
rst_rstunzip_SOURCES = rst/rstzip.c
rst_rstunzip_LDADD = rst/librsttools.la
rst_rstcheck_SOURCES = rst/rstcheck.c
rst_rstcheck_LDADD = rst/librsttools.la
rst_diffrst_SOURCES = rst/diffrst.c
rst_diffrst_LDADD = rst/librsttools.la

bin_PROGRAMS += rst/rstfilter rst/rstsnap
rst_rstfilter_SOURCES = rst/rstfilter.c rst/filter.h rst/filter.c
rst_rstfilter_LDADD = rst/librsttools.la
rst_rstsnap_SOURCES = rst/rstsnap.c
rst_rstsnap_LDADD = rst/librsttools.la

bin_PROGRAMS += rst/optrace
rst_optrace_SOURCES = rst/optrace.c rst/jitnames.h rst/jitnames.c rst/record.h rst/record.c rst/x86.h rst/x86.c
rst_optrace_LDADD = rst/librsttools.la jitconv/libsource.la format/jit/libjit.la lib/libbase.la
