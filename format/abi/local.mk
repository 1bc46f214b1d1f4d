# SPDX-License-Identifier: LGPL-2.1-or-later
noinst_LTLIBRARIES += format/abi/libabi.la
format_abi_libabi_la_SOURCES = format/abi/abi.h format/abi/word.c \
	format/abi/opnd.h format/abi/opnd.c format/abi/opsd.h format/abi/opsd.c \
	format/abi/ophd.h format/abi/ophd.c format/abi/ophd-build.c \
	format/abi/opdb.h format/abi/opdb.c format/abi/opdb-build.c format/abi/opdb-tree.c \
	format/abi/file.h format/abi/file.c
format_abi_libabi_la_LIBADD = lib/libbase.la
