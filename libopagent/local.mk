# SPDX-License-Identifier: LGPL-2.1-or-later
# The core twice: in libopagent.so.1, and with every symbol hidden in libopagent-core.la for the agents, so that another
# libopagent in their process cannot stand in front of it.
opagent_core_sources = libopagent/opagent.h libopagent/core.h libopagent/core.c libopagent/open.c libopagent/place.c \
	libopagent/segment.c libopagent/ringw.c libopagent/regions.c libopagent/recover.c libopagent/log.c \
	libopagent/lock.h libopagent/lock.c libopagent/sys.h libopagent/sys.c libopagent/api2.c \
	format/jit/event.h format/jit/layout.h format/jit/tables.h format/jit/tables.c format/jit/image.h format/jit/image.c \
	lib/map.c lib/util.c
opagent_cflags = $(AM_CFLAGS) -fvisibility=hidden -fno-math-errno

lib_LTLIBRARIES += libopagent/libopagent.la
libopagent_libopagent_la_SOURCES = $(opagent_core_sources) libopagent/api1.c
libopagent_libopagent_la_CFLAGS = $(opagent_cflags)
libopagent_libopagent_la_LDFLAGS = $(AM_LDFLAGS) -version-info 1:0:0 \
	-Wl,--version-script=$(top_srcdir)/libopagent/libopagent.map
EXTRA_libopagent_libopagent_la_DEPENDENCIES = libopagent/libopagent.map

noinst_LTLIBRARIES += libopagent/libopagent-core.la
libopagent_libopagent_core_la_SOURCES = $(opagent_core_sources)
libopagent_libopagent_core_la_CFLAGS = $(opagent_cflags) -DOPAGENT_STATIC

include_HEADERS += libopagent/opagent.h
pkgconfig_DATA += libopagent/opagent.pc
EXTRA_DIST += libopagent/libopagent.map

# For unit tests: the same objects as the shared library, both interfaces.
check_LTLIBRARIES += libopagent/libopagent-test.la
libopagent_libopagent_test_la_SOURCES = $(opagent_core_sources) libopagent/api1.c
libopagent_libopagent_test_la_CFLAGS = $(opagent_cflags) -DOPAGENT_STATIC
