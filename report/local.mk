# SPDX-License-Identifier: LGPL-2.1-or-later
# --- query library, opreport, opannotate
noinst_LTLIBRARIES += report/libreport.la
report_libreport_la_SOURCES = report/text.h report/text.c report/names.h report/names.c report/symbols.h \
	report/symbols.c report/symimage.h report/elfsyms.c report/pltsyms.c report/kallsyms.c report/dwarflines.c report/jitlines.c report/spec.h report/spec.c \
	report/query.h report/query_index.h report/query.c report/query_open.c report/query_class.c report/query_sort.c \
	report/common.h report/common.c
report_libreport_la_CPPFLAGS = $(AM_CPPFLAGS) $(LIBDW_CFLAGS) $(LIBELF_CFLAGS)
REPORT_LIBS = report/libreport.la session/libsession.la format/jit/libjit.la format/abi/libabi.la lib/libbase.la $(LIBDW_LIBS) $(LIBELF_LIBS) \
	$(ZLIB_LIBS) -liberty -lm

bin_PROGRAMS += report/opreport
report_opreport_SOURCES = report/opreport.h report/opreport.c report/opreport_text.c report/opreport_parts.c \
	report/opreport_callgraph.c report/opreport_data.c report/opreport_xml.c
report_opreport_LDADD = $(REPORT_LIBS)

bin_PROGRAMS += report/opannotate
report_opannotate_SOURCES = report/annotate.h report/opannotate.c report/annotate_files.c report/annotate_asm.c \
	report/disasm.h report/disasm.c
report_opannotate_LDADD = $(REPORT_LIBS) $(BFD_LIBS)

# --- opevlog
bin_PROGRAMS += report/opevlog
noinst_LTLIBRARIES += report/libopevlogtool.la
report_libopevlogtool_la_SOURCES = report/opevlog.h report/opevlog-file.c report/opevlog-show.c report/opevlog-edit.c \
	report/opevlog-convert.c report/opevlog-ctf.c report/opevlog-script.c report/opevlog-rst.c
report_opevlog_SOURCES = report/opevlog.c
report_opevlog_LDADD = report/libopevlogtool.la format/rst/librst.la format/evlog/libevlog.la format/abi/libabi.la lib/libbase.la
# --- abi: the tools of the formats and of sessions that travel
bin_PROGRAMS += report/opabi
report_opabi_SOURCES = report/opabi.h report/opabi.c report/opabi_dump.c
report_opabi_LDADD = session/libsession.la format/abi/libabi.la lib/libbase.la
bin_PROGRAMS += report/oparchive
report_oparchive_SOURCES = report/elfdebug.h report/elfdebug.c report/oparchive.c
report_oparchive_CPPFLAGS = $(AM_CPPFLAGS) $(LIBELF_CFLAGS)
report_oparchive_LDADD = session/libsession.la lib/libbase.la $(LIBELF_LIBS)
bin_PROGRAMS += report/opexport report/opimport
report_opexport_SOURCES = report/upstream.h report/upstream.c report/joimage.c report/opexport.c
report_opexport_CPPFLAGS = $(AM_CPPFLAGS) $(LIBELF_CFLAGS)
report_opexport_LDADD = session/libsession.la lib/libbase.la $(LIBELF_LIBS)
report_opimport_SOURCES = report/upstream.h report/upstream.c report/joimage.c report/opimport.c
report_opimport_CPPFLAGS = $(AM_CPPFLAGS) $(LIBELF_CFLAGS)
report_opimport_LDADD = session/libsession.la lib/libbase.la $(LIBELF_LIBS)
