# SPDX-License-Identifier: LGPL-2.1-or-later
# Mono looks for libmono-profiler-NAME.so in its own library directory and along LD_LIBRARY_PATH. Mono's symbols come
# from the process that loads the module; linking libmono would bring a second runtime into it.
if WITH_MONO
lib_LTLIBRARIES += agents/mono/libmono-profiler-oprofile.la
# lib/map.c and lib/util.c are in the core already.
agents_mono_libmono_profiler_oprofile_la_SOURCES = agents/mono/mono-oprofile.c lib/strbuf.c
agents_mono_libmono_profiler_oprofile_la_CPPFLAGS = $(AM_CPPFLAGS) $(MONO_CPPFLAGS)
agents_mono_libmono_profiler_oprofile_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
agents_mono_libmono_profiler_oprofile_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -export-symbols-regex '^mono_profiler_init_oprofile$$'
agents_mono_libmono_profiler_oprofile_la_LIBADD = libopagent/libopagent-core.la -lpthread
endif
EXTRA_DIST += agents/mono/README.md
