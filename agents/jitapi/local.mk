# SPDX-License-Identifier: LGPL-2.1-or-later
# A JIT loads it by the path in INTEL_JIT_PROFILER64; operf sets that.
lib_LTLIBRARIES += agents/jitapi/libopagent-ittjit.la
agents_jitapi_libopagent_ittjit_la_SOURCES = agents/jitapi/jitapi.c
agents_jitapi_libopagent_ittjit_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
agents_jitapi_libopagent_ittjit_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -export-symbols-regex '^(Initialize|NotifyEvent)$$'
agents_jitapi_libopagent_ittjit_la_LIBADD = libopagent/libopagent-core.la -lpthread
EXTRA_DIST += agents/jitapi/README.md
