# SPDX-License-Identifier: LGPL-2.1-or-later
noinst_LTLIBRARIES += format/jit/libjit.la
format_jit_libjit_la_SOURCES = format/jit/event.h format/jit/layout.h format/jit/tables.h format/jit/tables.c \
	format/jit/image.h format/jit/image.c format/jit/ring.h format/jit/ring.c \
	format/jit/parser.h format/jit/parser-impl.h format/jit/parser.c format/jit/jitdump.c format/jit/perfmap.c format/jit/opdump.c format/jit/pypylog.c
