/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_CONTROL_RUNTIMES_H
#define OPJIT_CONTROL_RUNTIMES_H
/*
 * Switches of runtimes that have no agent but tell their code by themselves once they are asked: node, PHP, Erlang, CPython,
 * .NET. Given only where the runtime understands the switch and stays quiet: as arguments where the command itself is the
 * runtime, in the environment for what it starts. What the user gave already is left alone.
 */
#include "lib/strbuf.h"

struct runtimes_opts {
	bool off;
	bool callgraph;    /* CPython's trampolines only show in call stacks */
	bool mono;         /* Mono finds our module */
	bool env;          /* --agents=env: also what may show in a program's output where it cannot work */
	/* paths of agents, NULL = not there */
	const char *jitapi, *lua, *libopagent, *php_dir;
};

/*
 * argv as agents_prepare_command makes it (strings and array are malloc'ed); may be replaced. Adds to *said what was put in,
 * one line. 1 if something was, 0, or -ENOMEM (then argv is as it was).
 */
int runtimes_prepare_command(char ***argv, const struct runtimes_opts *o, struct strbuf *said);
/* In the child, before exec. 1 if something was set, 0 or -errno. */
int runtimes_environment(const char *program, const struct runtimes_opts *o);
/* Whether the user has asked for maps or dumps himself, by arguments or environment: his files are then his. */
bool runtimes_asked_already(char *const argv[]);

#endif
