# SPDX-License-Identifier: LGPL-2.1-or-later
# Manual pages are written in scdoc's language as man/NAME.SECTION.scd. Each part adds a line to both lists; the
# made pages go into the distribution, so that building from it needs no scdoc. tests/cli/man-options.sh compares the
# options of each page with what the tool's --help says.
man_scd =
MAINTAINERCLEANFILES = $(dist_man_MANS)

# report/
dist_man_MANS += man/opreport.1 man/opannotate.1
man_scd += man/opreport.1.scd man/opannotate.1.scd

# abi
dist_man_MANS += man/opabi.1 man/oparchive.1 man/opexport.1 man/opimport.1
man_scd += man/opabi.1.scd man/oparchive.1.scd man/opexport.1.scd man/opimport.1.scd

# jvmti
dist_man_MANS += man/libjvmti_oprofile.7
man_scd += man/libjvmti_oprofile.7.scd
# event log
dist_man_MANS += man/opevlog.1 man/pmclog.3
man_scd += man/opevlog.1.scd man/pmclog.3.scd
# daemon/ and control/
dist_man_MANS += man/operf.1 man/opd.8 man/opcontrol.8
man_scd += man/operf.1.scd man/opd.8.scd man/opcontrol.8.scd

# rst
dist_man_MANS += man/rstzip.1 man/rstcheck.1 man/rstfilter.1 man/rstsnap.1 man/optrace.1 man/diffrst.1 man/trconv.1
man_scd += man/rstzip.1.scd man/rstcheck.1.scd man/rstfilter.1.scd man/rstsnap.1.scd man/optrace.1.scd man/diffrst.1.scd man/trconv.1.scd

EXTRA_DIST += $(man_scd)
man/%: man/%.scd
	@command -v scdoc >/dev/null || { echo 'scdoc not found: install scdoc' >&2; exit 1; }
	$(AM_V_GEN)$(MKDIR_P) man && scdoc <$< >$@.tmp && mv $@.tmp $@

# libopagent/
dist_man_MANS += man/opagent.3
man_scd += man/opagent.3.scd

# jitconv/
dist_man_MANS += man/opjitconv.1
man_scd += man/opjitconv.1.scd
