# SPDX-License-Identifier: GPL-3.0-or-later
# How agents get into virtual machines: the attach protocol, and whom to give what.
noinst_LTLIBRARIES += control/libagents.la
control_libagents_la_SOURCES = control/attach.h control/attach-impl.h control/attach.c control/attach-child.c control/hidden.h control/hidden.c \
	control/agents.h control/agents.c control/jvmflag.h control/jvmflag.c
control_libagents_la_CPPFLAGS = $(AM_CPPFLAGS) -DAGENTDIR='"$(libdir)"'
control_libagents_la_LIBADD = lib/libbase.la $(LIBELF_LIBS)

bin_PROGRAMS += control/operf
control_operf_SOURCES = control/runtimes.h control/runtimes.c control/operf.h control/operf.c control/run.c control/replay.c control/command.c control/said.c
control_operf_LDADD = $(live_libs)
bin_PROGRAMS += control/opcontrol
control_opcontrol_SOURCES = control/opcontrol.c control/doctor.h control/doctor.c control/doctor-process.c \
	control/symbolize.h control/symbolize.c
control_opcontrol_CPPFLAGS = $(AM_CPPFLAGS) -DSBINDIR='"$(sbindir)"'
control_opcontrol_LDADD = $(live_libs) $(REPORT_LIBS)
