/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/names.h"

#include <ctype.h>
#include <errno.h>
#include <libiberty/demangle.h>
#include <string.h>

int names_style_parse(const char *word, enum names_style *ret)
{
	if (!strcmp(word, "smart"))
		*ret = NAMES_SMART;
	else if (!strcmp(word, "normal"))
		*ret = NAMES_NORMAL;
	else if (!strcmp(word, "none"))
		*ret = NAMES_NONE;
	else
		return -EINVAL;
	return 0;
}

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* Length of "/0x1f", ".0x1f" or "+0x1f" at s (the mark of a hidden class), else 0. */
static size_t hidden_suffix(const char *s)
{
	size_t n = 3;

	if ((*s != '/' && *s != '.' && *s != '+') || s[1] != '0' || s[2] != 'x')
		return 0;
	while (isxdigit((unsigned char)s[n]))
		n++;
	return n > 3 && !isalnum((unsigned char)s[n]) && s[n] != '_' ? n : 0;
}

static size_t digits(const char *s)
{
	size_t n = 0;

	while (isdigit((unsigned char)s[n]))
		n++;
	return n;
}

/* Where the place begins in what stands behind tag and mark: names and paths may both have spaces. */
static const char *v8_place(const char *s)
{
	static const char *const begin[] = { " /", " file:", " node:", " [", " wasm:" };
	const char *first = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(begin); i++) {
		const char *at = strstr(s, begin[i]);

		if (at && (!first || at < first))
			first = at;
	}
	if (!first)
		first = strchr(s, ' ');
	return first ? first + 1 : s + strlen(s);
}

bool names_v8(const char *raw, struct names_v8 *ret)
{
	static const char *const tags[] = { "JS:", "LazyCompile:", "Function:", "Script:", "Eval:" };
	static const char marks[] = "~^+*";
	const char *end;
	size_t i = 0;
	uint32_t n[2] = { 0, 0 };

	while (i < ARRAY_SIZE(tags) && !starts(raw, tags[i]))
		i++;
	if (i == ARRAY_SIZE(tags))
		return false;
	raw += strlen(tags[i]);
	end = *raw ? strchr(marks, *raw) : NULL;
	*ret = (struct names_v8){ .name = end ? raw + 1 : raw, .tier = end ? (int)(end - marks) : -1 };
	ret->file = v8_place(ret->name);
	end = ret->file + strlen(ret->file);
	for (i = 0; i < 2; i++) {
		const char *p = end;
		uint64_t v = 0;

		while (p > ret->file && isdigit((unsigned char)p[-1]))
			p--;
		for (const char *q = p; q < end && v <= UINT32_MAX; q++)
			v = v * 10 + (uint64_t)(*q - '0');
		if (p == end || p == ret->file || p[-1] != ':' || v > UINT32_MAX)
			break;
		n[i] = (uint32_t)v;
		end = p - 1;
	}
	ret->file_len = (size_t)(end - ret->file);
	ret->line = i == 2 ? n[1] : n[0];
	return true;
}

/* PHP's `JIT$A::f` and `TRACE-7$A::f$12`: what the trace of line 12 is of, and its number as the other tracers have theirs. */
static bool fold_php(struct strbuf *sb, const char *raw)
{
	const char *name, *end;

	if (starts(raw, "JIT$") && raw[4] && raw[4] != '$') {
		strbuf_addstr(sb, raw + 4);
		return true;
	}
	if (!starts(raw, "TRACE-") || !digits(raw + 6) || raw[6 + digits(raw + 6)] != '$')
		return false;
	name = raw + 6 + digits(raw + 6) + 1;
	end = strrchr(name, '$');
	if (!end || end == name || !digits(end + 1) || end[1 + digits(end + 1)])
		return false;
	strbuf_addf(sb, "%.*s:%s [trace %.*s]", (int)(end - name), name, end + 1, (int)digits(raw + 6), raw + 6);
	return true;
}

/* Erlang's `$module:function/arity`, and the piece in front of it. The VM's own code is `$global::what`. */
static bool fold_erlang(struct strbuf *sb, const char *raw)
{
	static const char prologue[] = "-CodeInfoPrologue";
	size_t len = strlen(raw);
	const char *slash;

	if (starts(raw, "$global::") && raw[9]) {
		strbuf_addstr(sb, raw + 1);
		return true;
	}
	if (len > sizeof(prologue) && !strcmp(raw + len - (sizeof(prologue) - 1), prologue))
		len -= sizeof(prologue) - 1;
	slash = memrchr(raw, '/', len);
	if (*raw != '$' || !slash || slash - raw < 4 || !memchr(raw + 1, ':', (size_t)(slash - raw - 2)) || !digits(slash + 1) ||
	    slash + 1 + digits(slash + 1) != raw + len)
		return false;
	strbuf_add(sb, raw + 1, len - 1);
	return true;
}

void names_fold(struct strbuf *sb, const char *raw)
{
	static const char *const numbered[] = { /* a number follows that is drawn anew in each run */
		"GeneratedMethodAccessor", "GeneratedConstructorAccessor", "GeneratedSerializationConstructorAccessor",
		"$Proxy",
	};
	struct names_v8 v8;
	const char *s = raw;

	if (fold_php(sb, raw) || fold_erlang(sb, raw))
		return;
	/* Which compiler made it is no part of the function's name: its code of all tiers is one row. */
	if (names_v8(raw, &v8)) {
		s = v8.name;
		if (*s == ' ')
			strbuf_addstr(sb, "(anonymous)");
	}
	while (*s) {
		size_t n = hidden_suffix(s);

		if (n) {
			s += n;
			continue;
		}
		if (starts(s, "$$Lambda")) {
			strbuf_addstr(sb, "$$Lambda");
			s += 8;
			if (*s == '$' && digits(s + 1))
				s += 1 + digits(s + 1);
			if (*s == '/' && digits(s + 1) && !hidden_suffix(s)) /* JDK 8: a decimal number */
				s += 1 + digits(s + 1);
			continue;
		}
		for (size_t i = 0; i < ARRAY_SIZE(numbered); i++)
			if (*s == *numbered[i] && starts(s, numbered[i])) {
				n = strlen(numbered[i]);
				strbuf_add(sb, s, n);
				s += n + digits(s + n);
				break;
			}
		if (!n)
			strbuf_addch(sb, *s++);
	}
}

/* --- C++ and Rust --------------------------------------------------------------------------------------- */

/* The end of the template argument list that starts after '<' at s, NULL if it does not end. */
static const char *skip_angle(const char *s)
{
	int depth = 1;

	for (; *s; s++) {
		if (*s == '<')
			depth++;
		else if (*s == '>' && s[-1] != '-' && !--depth)
			return s + 1;
	}
	return NULL;
}

/* Spellings that the standard library makes long; the allocator and char_traits arguments are dropped first. */
static void smart_cxx(struct strbuf *sb, const char *s)
{
	static const char *const dropped[] = { ", std::allocator<", ", std::char_traits<", ", std::less<", ", std::hash<",
					       ", std::equal_to<", ", std::default_delete<" };
	static const char *const words[][2] = {
		{ "__cxx11::", "" },
		{ "std::__debug::", "std::" },
		{ "basic_string<char>", "string" },
		{ "basic_string<wchar_t>", "wstring" },
		{ "basic_ostream<char>", "ostream" },
		{ "basic_istream<char>", "istream" },
		{ "basic_string_view<char>", "string_view" },
	};
	AUTO_STRBUF a = STRBUF_INIT;

	while (*s) {
		const char *end = NULL;

		for (size_t i = 0; i < ARRAY_SIZE(dropped) && !end; i++)
			if (*s == ',' && starts(s, dropped[i]))
				end = skip_angle(s + strlen(dropped[i]));
		if (end) {
			s = *end == ' ' && end[1] == '>' ? end + 1 : end;
			continue;
		}
		strbuf_addch(&a, *s++);
	}
	for (s = strbuf_str(&a); *s;) {
		size_t i;

		if (starts(s, " [clone ")) /* a part that the compiler split off */
			return;

		for (i = 0; i < ARRAY_SIZE(words); i++)
			if (*s == *words[i][0] && starts(s, words[i][0]))
				break;
		if (i < ARRAY_SIZE(words)) {
			strbuf_addstr(sb, words[i][1]);
			s += strlen(words[i][0]);
		} else {
			strbuf_addch(sb, *s++);
		}
	}
}

static bool pretty_mangled(struct strbuf *sb, const char *raw, enum names_style style)
{
	int how = DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO;
	AUTO_FREE char *plain = NULL, *stem = NULL;
	size_t len = strlen(raw);
	bool plt = len > 4 && !strcmp(raw + len - 4, "@plt");

	if (!starts(raw, "_Z") && !starts(raw, "_R") && !starts(raw, "__Z"))
		return false;
	if (len > 65535)
		return false;
	if (style == NAMES_SMART)
		how |= DMGL_RET_DROP;
	if (plt && !(stem = strndup(raw, len - 4)))
		return false;
	plain = cplus_demangle(stem ? stem : raw, how);
	if (!plain)
		return false;
	if (style == NAMES_SMART)
		smart_cxx(sb, plain);
	else
		strbuf_addstr(sb, plain);
	if (plt)
		strbuf_addstr(sb, "@plt");
	return true;
}

/* --- Java ------------------------------------------------------------------------------------------------ */

/* One type of a descriptor at *s appended as Java writes it; false if there is none. */
static bool java_type(struct strbuf *sb, const char **s, bool full)
{
	static const char letters[] = "BCDFIJSZV";
	static const char *const words[] = { "byte", "char", "double", "float", "int", "long", "short", "boolean", "void" };
	const char *at, *end;
	unsigned int arrays = 0;

	while (**s == '[')
		arrays++, ++*s;
	if (!**s)
		return false;
	at = strchr(letters, **s);
	if (at) {
		strbuf_addstr(sb, words[at - letters]);
		++*s;
	} else if (**s == 'L' && (end = strchr(*s, ';')) && end > *s + 1) {
		const char *from = *s + 1;

		if (memchr(from, '(', (size_t)(end - from)) || memchr(from, ')', (size_t)(end - from)))
			return false;
		for (at = from; !full && at < end; at++)
			if (*at == '/')
				from = at + 1;
		for (; from < end; from++)
			strbuf_addch(sb, *from == '/' ? '.' : *from);
		*s = end + 1;
	} else {
		return false;
	}
	while (arrays--)
		strbuf_addstr(sb, "[]");
	return true;
}

static void dotted(struct strbuf *sb, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		strbuf_addch(sb, s[i] == '/' ? '.' : s[i]);
}

/* Lcom/acme/Foo;.baz(ILjava/lang/String;)V, with or without L; and with . :: or nothing before the method. */
static bool pretty_descriptor(struct strbuf *sb, const char *raw, enum names_style style)
{
	const char *paren = strchr(raw, '('), *s, *semi;
	AUTO_STRBUF args = STRBUF_INIT;
	AUTO_STRBUF ret = STRBUF_INIT;

	if (!paren || paren == raw)
		return false;
	for (s = paren + 1; *s && *s != ')';) {
		if (args.len)
			strbuf_addstr(&args, ", ");
		if (!java_type(&args, &s, style == NAMES_NORMAL))
			return false;
	}
	if (*s++ != ')' || !java_type(&ret, &s, style == NAMES_NORMAL) || *s)
		return false;
	if (style == NAMES_NORMAL)
		strbuf_addf(sb, "%s ", strbuf_str(&ret));
	semi = *raw == 'L' ? memchr(raw, ';', (size_t)(paren - raw)) : NULL;
	if (semi) {
		dotted(sb, raw + 1, (size_t)(semi - raw - 1));
		strbuf_addch(sb, '.');
		for (s = semi + 1; *s == '.' || *s == ':';)
			s++;
		strbuf_add(sb, s, (size_t)(paren - s));
	} else {
		dotted(sb, raw, (size_t)(paren - raw));
	}
	strbuf_addf(sb, "(%s)", strbuf_str(&args));
	return true;
}

void names_raw(struct strbuf *sb, const char *name, const char *descriptor)
{
	size_t n = strcspn(name, "("), dot = n;

	while (dot && name[dot - 1] != '.')
		dot--;
	if (dot > 1) {
		strbuf_addch(sb, 'L');
		for (size_t i = 0; i < dot - 1; i++) /* a hidden class's number stands behind a slash there, a dot here */
			strbuf_addch(sb, name[i] == '.' ? '/' : name[i] == '/' ? '.' : name[i]);
		strbuf_addch(sb, ';');
	}
	strbuf_add(sb, name + dot, n - dot);
	strbuf_addstr(sb, descriptor);
}

/* "void com.acme.Foo.baz(int)": where the return type ends and the class begins, else NULL. */
static const char *after_return_type(const char *raw)
{
	static const char *const words[] = { "byte", "char", "double", "float", "int", "long", "short", "boolean", "void" };
	const char *paren = strchr(raw, '('), *space = strchr(raw, ' ');
	size_t n;

	if (!paren || !space || space > paren || space + 1 == paren || paren[-1] == ' ')
		return NULL;
	if (memchr(space + 1, ' ', (size_t)(paren - space - 1)) || !memchr(space + 1, '.', (size_t)(paren - space - 1)))
		return NULL;
	for (n = (size_t)(space - raw); n >= 2 && raw[n - 1] == ']' && raw[n - 2] == '[';)
		n -= 2;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i]) == n && !memcmp(words[i], raw, n))
			return space + 1;
	for (size_t i = 0; i < n; i++)
		if (isupper((unsigned char)raw[i])) /* a class */
			return space + 1;
	return NULL;
}

void names_pretty(struct strbuf *sb, const char *raw, enum names_style style, bool jit)
{
	if (style == NAMES_NONE) {
		strbuf_addstr(sb, raw);
		return;
	}
	if (pretty_mangled(sb, raw, style))
		return;
	if (jit && pretty_descriptor(sb, raw, style))
		return;
	if (jit && style == NAMES_SMART) {
		const char *rest = after_return_type(raw);

		raw = rest ? rest : raw;
	}
	strbuf_addstr(sb, raw);
}
