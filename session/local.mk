# SPDX-License-Identifier: LGPL-2.1-or-later
noinst_LTLIBRARIES += session/libsession.la
session_libsession_la_SOURCES = session/session.h session/path.h session/path.c session/info.h session/info.c \
	session/gen.h session/gen.c session/store.h session/store.c session/stacks.c session/flush.c \
	session/read.h session/read.c session/image.c session/opdbfile.h session/opdbfile.c \
	session/convert.h session/convert.c session/tar.h session/tar.c \
	session/archive.h session/archive.c session/manage.h session/manage.c
session_libsession_la_LIBADD = format/abi/libabi.la lib/libbase.la
