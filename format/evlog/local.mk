# SPDX-License-Identifier: LGPL-2.1-or-later
noinst_LTLIBRARIES += format/evlog/libevlog.la
format_evlog_libevlog_la_SOURCES = format/evlog/event.h format/evlog/evlog.h format/evlog/wire.h format/evlog/wire.c \
	format/evlog/meta.c format/evlog/cursor.h format/evlog/cursor.c format/evlog/writer.c format/evlog/merge.h \
	format/evlog/merge.c format/evlog/replay.c format/evlog/text.h format/evlog/text.c
format_evlog_libevlog_la_LIBADD = lib/libbase.la
