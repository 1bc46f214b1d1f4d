# SPDX-License-Identifier: LGPL-2.1-or-later
noinst_LTLIBRARIES += format/rst/librst.la
format_rst_librst_la_SOURCES = format/rst/rst.h format/rst/rst.c format/rst/fields.c format/rst/sparc.h \
	format/rst/sparc.c format/rst/sparc-dis.c format/rst/stream.h format/rst/stream.c format/rst/out.c \
	format/rst/codec.h format/rst/rz2.h format/rst/rz2.c format/rst/rz2-enc.c format/rst/rz3.h format/rst/rz3.c \
	format/rst/rz3-instr.c format/rst/rzx.h format/rst/rzx-bits.c format/rst/rzx.c format/rst/rzx-file.c
format_rst_librst_la_LIBADD = lib/libbase.la $(ZLIB_LIBS)
