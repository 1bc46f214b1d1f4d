/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The text behind `=` in -agentpath:…=TEXT: words separated by commas; `\,` is a comma inside a word. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/jvmti/agent.h"

#define WORD_MAX 4096

static void say(const char *a, const char *b, const char *c)
{
	char line[WORD_MAX + 256];
	size_t n = 0;
	const char *part[] = { "libjvmti_oprofile: ", a, b, c, "\n" };
	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		size_t len = strlen(part[i]);
		if (len > sizeof(line) - 1 - n)
			len = sizeof(line) - 1 - n;
		memcpy(line + n, part[i], len);
		n += len;
	}
	while (write(STDERR_FILENO, line, n) < 0 && n == 0)
		;
}

static void say_help(void)
{
	static const char text[] =
		"libjvmti_oprofile: options are a list with commas (write \\, for a comma inside one):\n"
		"  dir=DIR     where the instance directory is made, instead of $OPJIT_DIR and the default places\n"
		"  max=SIZE    cap on the bytes of all images, with k, m or g behind it (1g)\n"
		"  lines=all   line numbers and inlined methods (the default); outer: without inlined methods; none\n"
		"  log=FILE    gets a line when something fails; nothing is ever printed\n"
		"  help        this text; the VM then starts as always\n";
	while (write(STDERR_FILENO, text, sizeof(text) - 1) < 0 && sizeof(text) == 1)
		;
}

static bool parse_size(const char *s, uint64_t *ret)
{
	uint64_t v = 0;
	unsigned int shift = 0;
	const char *p = s;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (v > (UINT64_MAX - 9) / 10)
			return false;
		v = v * 10 + (uint64_t)(*p - '0');
	}
	if (p == s)
		return false;
	switch (*p) {
	case 'k': case 'K': shift = 10; p++; break;
	case 'm': case 'M': shift = 20; p++; break;
	case 'g': case 'G': shift = 30; p++; break;
	}
	if (*p || v > UINT64_MAX >> shift)
		return false;
	*ret = v << shift;
	return true;
}

static bool take_text(char **to, const char *value)
{
	char *copy = *value ? strdup(value) : NULL;
	if (!copy)
		return false;
	free(*to);
	*to = copy;
	return true;
}

static void take(struct options *o, char *word)
{
	char *value = strchr(word, '=');
	bool good;

	if (!strcmp(word, "help")) {
		say_help();
		return;
	}
	if (!value) {
		say("unknown option \"", word, "\" is ignored; help lists them");
		return;
	}
	*value++ = 0;
	if (!strcmp(word, "dir")) {
		good = take_text(&o->dir, value);
	} else if (!strcmp(word, "log")) {
		good = take_text(&o->log, value);
	} else if (!strcmp(word, "max")) {
		good = parse_size(value, &o->max_bytes);
	} else if (!strcmp(word, "lines")) {
		good = true;
		if (!strcmp(value, "all"))
			o->lines = LINES_ALL;
		else if (!strcmp(value, "outer"))
			o->lines = LINES_OUTER;
		else if (!strcmp(value, "none"))
			o->lines = LINES_NONE;
		else
			good = false;
	} else {
		say("unknown option \"", word, "\" is ignored; help lists them");
		return;
	}
	if (!good)
		say("value of option \"", word, "\" is not understood and ignored; help lists them");
}

void options_parse(struct options *o, const char *text)
{
	char word[WORD_MAX];
	size_t n = 0;

	for (const char *p = text ? text : "";; p++) {
		if (p[0] == '\\' && p[1] == ',') {
			p++;
		} else if (*p == ',' || !*p) {
			word[n] = 0;
			if (n)
				take(o, word);
			n = 0;
			if (!*p)
				return;
			continue;
		}
		if (n < sizeof(word) - 1)
			word[n++] = *p;
	}
}
