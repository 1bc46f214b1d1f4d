/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "sampler/procinfo.h"

#define APP_MAX 200u /* becomes a part of a file name */

/* Interpreters and VMs whose own name says nothing. Lists are space-separated, with a space at both ends. */
static const struct vm {
	const char *names;    /* base names; a trailing digit or version of the executable is ignored */
	const char *prefix;
	const char *valued;   /* options whose value is the next argument */
	const char *code;     /* options with program text behind: there is no script */
	const char *unit;     /* options whose value is what runs: module, jar, class */
	const char *bundle;   /* letters of one-dash bundles that end in, or have, the code letter */
	char code_letter;
} vms[] = {
	{ " java javaw ", "java",
	  " -cp -classpath --class-path -p --module-path --upgrade-module-path --add-modules --limit-modules --add-exports "
	  "--add-reads --add-opens --patch-module --enable-native-access --source -d --describe-module --finalization ",
	  "", " -jar -m --module ", NULL, 0 },
	{ " mono mono-sgen mono-boehm ", "mono", " --config --server --assembly-loader --gc ", "", "", NULL, 0 },
	{ " dotnet ", "dotnet", " --depsfile --runtimeconfig --additionalprobingpath --fx-version ", "", "", NULL, 0 },
	{ " node nodejs ", "node",
	  " -r --require --import --loader --experimental-loader -C --conditions --title --env-file --icu-data-dir ",
	  " -e --eval -p --print -pe ", "", NULL, 0 },
	{ " python ", "python", " -W -X --check-hash-based-pycs ", " -c ", " -m ", "bBdEiIOqsSuvx", 'c' },
	{ " php php-cli ", "php", " -d -c -z -S -t ", " -r -B -R -E ", " -f --file ", NULL, 0 },
	{ " perl ", "perl", " -I ", " -e -E ", "", "acilnpstuwWX0123456789", 'e' },
	{ " ruby ", "ruby", " -I -r -C -E ", " -e ", "", "alnpsSw", 'e' },
	{ " sh bash dash zsh ksh mksh busybox ", "sh", " -o +o -O +O --rcfile --init-file ", " -c ", "", "abefhiklmnprstuvxBCEHPT", 'c' },
	{ " lua luajit luajit-2.1.0-beta ", "lua", " -l -j -O ", " -e ", "", NULL, 0 },
};

static bool in_list(const char *list, const char *word, size_t len)
{
	const char *p = list;

	if (!len)
		return false;
	while ((p = strchr(p, ' ')) && *++p)
		if (!strncmp(p, word, len) && p[len] == ' ')
			return true;
	return false;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static const struct vm *vm_find(const char *exe)
{
	static const char gone[] = " (deleted)";
	const char *base = base_of(exe);
	size_t len = strlen(base), bare;

	if (len > sizeof(gone) - 1 && !strcmp(base + len - (sizeof(gone) - 1), gone))
		len -= sizeof(gone) - 1;
	/* python3.11, php8.2, perl5.36.0 */
	for (bare = len; bare && ((base[bare - 1] >= '0' && base[bare - 1] <= '9') || base[bare - 1] == '.' || base[bare - 1] == '-');)
		bare--;
	for (size_t i = 0; i < ARRAY_SIZE(vms); i++)
		if (in_list(vms[i].names, base, len) || in_list(vms[i].names, base, bare))
			return &vms[i];
	return NULL;
}

static bool is_bundle_code(const struct vm *vm, const char *arg)
{
	bool code = false;

	if (!vm->bundle || arg[0] != '-' || arg[1] == '-')
		return false;
	for (const char *p = arg + 1; *p; p++) {
		if (*p == vm->code_letter)
			code = true;
		else if (!strchr(vm->bundle, *p))
			return false;
	}
	return code;
}

static void add_unit(struct strbuf *sb, const struct vm *vm, const char *unit, bool is_class)
{
	size_t from = sb->len, len;

	strbuf_addf(sb, "%s:", vm->prefix);
	len = strlen(unit);
	strbuf_add(sb, unit, MIN(len, (size_t)APP_MAX));
	if (!sb->error && is_class)
		for (char *p = sb->buf + from; *p; p++)
			if (*p == '/')
				*p = '.';
}

static void add_java_module(struct strbuf *sb, const struct vm *vm, const char *value)
{
	const char *slash = strchr(value, '/');

	add_unit(sb, vm, slash && slash[1] ? slash + 1 : value, true);
}

static bool has_suffix(const char *s, const char *suffix)
{
	size_t len = strlen(s), n = strlen(suffix);

	return len >= n && !strcmp(s + len - n, suffix);
}

/* The first argument that is no option: a script, an assembly, a main class. */
static void add_main(struct strbuf *sb, const struct vm *vm, const char *arg)
{
	bool java = !strcmp(vm->prefix, "java");

	if (java && !has_suffix(arg, ".java"))
		add_unit(sb, vm, arg, true);
	else
		add_unit(sb, vm, base_of(arg), false);
}

static void add_valued_unit(struct strbuf *sb, const struct vm *vm, const char *opt, const char *value)
{
	if (!strcmp(vm->prefix, "java") && strcmp(opt, "-jar"))
		add_java_module(sb, vm, value);
	else
		add_unit(sb, vm, base_of(value), false);
}

/* Arguments that say nothing and take nothing. */
static bool is_noise(const struct vm *vm, const char *arg)
{
	if (!arg[0])
		return true;
	if (!strcmp(vm->prefix, "dotnet"))
		return !strcmp(arg, "exec");
	return arg[0] == '@' && !strcmp(vm->prefix, "java"); /* argument file that was not expanded */
}

/* An option, whose value, if it takes one, is `value` (NULL at the end). true: what runs is settled by it. */
static bool add_option(struct strbuf *sb, const struct vm *vm, const char *opt, const char *value)
{
	size_t n = strlen(opt);

	if (!strncmp(opt, "--module=", 9) && !strcmp(vm->prefix, "java")) {
		add_java_module(sb, vm, opt + 9);
		return true;
	}
	if (in_list(vm->code, opt, n) || is_bundle_code(vm, opt))
		return true;
	if (!in_list(vm->unit, opt, n))
		return false;
	if (value)
		add_valued_unit(sb, vm, opt, value);
	return true;
}

void procinfo_app_name(struct strbuf *sb, const char *exe, const char *args, size_t len)
{
	const char *end = args + len, *p, *next;
	const struct vm *vm;

	if (!len || args[len - 1])
		return; /* not terminated: a process that wrote over its arguments */
	vm = vm_find(exe[0] ? exe : args);
	if (!vm)
		return;
	for (p = args + strlen(args) + 1; p < end; p = next) {
		next = p + strlen(p) + 1;
		if (is_noise(vm, p))
			continue;
		if (!strcmp(p, "--") || !strcmp(p, "-")) {
			if (p[1] && next < end)
				add_main(sb, vm, next);
			return;
		}
		if (p[0] != '-' && p[0] != '+') {
			add_main(sb, vm, p);
			return;
		}
		if (add_option(sb, vm, p, next < end ? next : NULL))
			return;
		if (in_list(vm->valued, p, strlen(p)) && next < end)
			next += strlen(next) + 1;
	}
}
