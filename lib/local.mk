# SPDX-License-Identifier: LGPL-2.1-or-later
noinst_LTLIBRARIES += lib/libbase.la
lib_libbase_la_SOURCES = lib/util.h lib/util.c lib/strbuf.h lib/strbuf.c lib/map.h lib/map.c lib/reader.h lib/elfnames.h \
	lib/io.h lib/io.c lib/msg.h lib/msg.c lib/tap.h
