/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef OPJIT_CONTROL_RUNTIMES_H
#define OPJIT_CONTROL_RUNTIMES_H
/*
 * Switches of runtimes that have no agent but tell their code by themselves once they are asked: node, PHP, Erlang, CPython,
 * .NET. Given only where the runtime understands the switch and stays quiet: as arguments where the command itself is the
 * runtime, in the environment for what it starts. What the user gave already is left alone.
 */
#include "lib/strbuf.h"

enum {
	RUNTIMES_JAVA = 1, RUNTIMES_MONO = 2, RUNTIMES_NODE = 4, RUNTIMES_PHP = 8, RUNTIMES_ERLANG = 16, RUNTIMES_LUA = 32,
	RUNTIMES_PYPY = 64, RUNTIMES_DOTNET = 128, RUNTIMES_PYTHON = 256, RUNTIMES_JITAPI = 512, RUNTIMES_ALL = 1023
};

struct runtimes_opts {
	unsigned int off;  /* RUNTIMES_… that are left alone */
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
/* In the child, before exec. 0 or -errno. */
int runtimes_environment(const char *program, const struct runtimes_opts *o);
/* Adds the runtimes of a comma list to *off. -EINVAL and *bad, within list, for a name that is none; its length is *bad_len. */
int runtimes_parse(const char *list, unsigned int *off, const char **bad, size_t *bad_len);
/* The names that runtimes_parse knows, with commas. */
const char *runtimes_known(void);
/* Programs, by the begin of their names, that were asked for a map unless they are off. Valid until the next call. */
const char *const *runtimes_asked(unsigned int off);
/* Whether the user has asked for maps or dumps himself, by arguments or environment: his files are then his. */
bool runtimes_asked_already(char *const argv[]);

#endif
