# SPDX-License-Identifier: GPL-3.0-or-later
noinst_LTLIBRARIES += jitconv/libsource.la
jitconv_libsource_la_SOURCES = jitconv/source.h jitconv/source.c jitconv/instances.h jitconv/instances.c \
	jitconv/saveimage.h jitconv/saveimage.c
