# SPDX-License-Identifier: LGPL-2.1-or-later
noinst_LTLIBRARIES += sampler/libsampler.la
sampler_libsampler_la_SOURCES = sampler/sampler.h sampler/sampler.c sampler/priv.h sampler/open.c sampler/target.c \
	sampler/drain.c sampler/track.c sampler/synth.c sampler/why.h sampler/why.c sampler/perfrec.h sampler/perfrec.c \
	sampler/evspec.h sampler/evspec.c sampler/evspec_pfm.c sampler/procinfo.h sampler/procinfo.c sampler/appname.c
# Programs add lib/libbase.la themselves.
sampler_libsampler_la_LIBADD = $(PFM_LIBS)
