# SPDX-License-Identifier: LGPL-2.1-or-later
# What LuaJIT and PHP load because operf tells them so by their own variables (control/runtimes.c). The copies below .libs are for
# operf in the build tree, which looks for agents there.
runtimedir = $(libdir)
dist_runtime_DATA = agents/luajit/opjit.lua
runtimephpdir = $(libdir)/opjit-php
dist_runtimephp_DATA = agents/php/opjit.ini
agents/luajit/.libs/opjit.lua: agents/luajit/opjit.lua
	@$(MKDIR_P) agents/luajit/.libs && cp $< $@
agents/php/.libs/opjit-php/opjit.ini: agents/php/opjit.ini
	@$(MKDIR_P) agents/php/.libs/opjit-php && cp $< $@
all-local: agents/luajit/.libs/opjit.lua agents/php/.libs/opjit-php/opjit.ini
CLEANFILES += agents/luajit/.libs/opjit.lua agents/php/.libs/opjit-php/opjit.ini
EXTRA_DIST += agents/luajit/README.md
