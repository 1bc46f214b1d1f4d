# SPDX-License-Identifier: LGPL-2.1-or-later
# One library for every JDK from 8 on, with libopagent inside of it. It lies in $(libdir) itself, so that
# -agentlib:jvmti_oprofile finds it.
jvmti_sources = agents/jvmti/agent.h agents/jvmti/agent.c agents/jvmti/compiled.c agents/jvmti/live.c agents/jvmti/methods.c \
	agents/jvmti/names.c agents/jvmti/options.c agents/jvmti/stubs.c agents/jvmti/vm.c
if WITH_JVMTI
lib_LTLIBRARIES += agents/jvmti/libjvmti_oprofile.la
agents_jvmti_libjvmti_oprofile_la_SOURCES = $(jvmti_sources)
agents_jvmti_libjvmti_oprofile_la_CPPFLAGS = $(AM_CPPFLAGS) $(JVMTI_CPPFLAGS) -DOPAGENT_STATIC
agents_jvmti_libjvmti_oprofile_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
agents_jvmti_libjvmti_oprofile_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -Wl,--exclude-libs,ALL
agents_jvmti_libjvmti_oprofile_la_LIBADD = libopagent/libopagent-core.la -ldl -lpthread
endif
EXTRA_DIST += $(jvmti_sources) agents/jvmti/README.md
