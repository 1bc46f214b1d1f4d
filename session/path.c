/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/path.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char hex[] = "0123456789abcdef";

int session_escape(struct strbuf *ret, const char *s, size_t len, const char *also)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c >= 0x20 && c != 0x7f && c != '%' && c != '{' && c != '}' && c != '/' && !strchr(also, c)) {
			strbuf_addch(ret, (char)c);
		} else {
			char e[3] = { '%', hex[c >> 4], hex[c & 15] };
			strbuf_add(ret, e, 3);
		}
	}
	return ret->error;
}

static int digit(char c)
{
	const char *p = c ? strchr(hex, c) : NULL;

	return p ? (int)(p - hex) : -1;
}

bool session_unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		int hi, lo;
		if (*s == '{' || *s == '}')
			return false;
		if (*s != '%') {
			*out++ = *s;
			continue;
		}
		hi = digit(s[1]);
		lo = hi < 0 ? -1 : digit(s[2]);
		if (lo < 0 || (!hi && !lo))
			return false;
		*out++ = (char)(hi << 4 | lo);
		s += 2;
	}
	*out = '\0';
	return true;
}

/* A component of a file's path. "", "." and ".." mean something else to the kernel; six dotted fields are what a
 * sample file is called, so the first dot of such a name is escaped. */
static void add_component(struct strbuf *ret, const char *s, size_t len)
{
	unsigned int dots = 0;

	for (size_t i = 0; i < len; i++)
		dots += s[i] == '.';
	strbuf_addch(ret, '/');
	if (!len)
		strbuf_addstr(ret, "%_");
	else if (dots == len && len <= 2)
		session_escape(ret, s, len, ".");
	else if (dots == 5) {
		size_t before = (size_t)((const char *)memchr(s, '.', len) - s);
		session_escape(ret, s, before + 1, ".");
		session_escape(ret, s + before + 1, len - before - 1, "");
	} else
		session_escape(ret, s, len, "");
}

static void add_file_path(struct strbuf *ret, const char *path)
{
	if (*path == '/')
		path++;
	for (;;) {
		size_t len = strcspn(path, "/");
		add_component(ret, path, len);
		if (!path[len])
			return;
		path += len + 1;
	}
}

static void add_root(struct strbuf *ret, const char *path)
{
	strbuf_addstr(ret, *path == '/' ? "/{root}" : "/{rel}");
	add_file_path(ret, path);
}

int session_path_event(struct strbuf *ret, const struct session_event *e, unsigned int twin)
{
	const char *name = e->name && *e->name ? e->name : "event";

	session_escape(ret, name, strlen(name), ".~");
	if (twin)
		strbuf_addf(ret, "~%u", twin);
	if (e->freq && !e->count)
		return strbuf_addf(ret, ".f%" PRIu64 ".%u", e->freq, e->um);
	return strbuf_addf(ret, ".%" PRIu64 ".%u", e->count, e->um);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void add_number(struct strbuf *ret, int32_t n)
{
	if (n < 0)
		strbuf_addstr(ret, ".all");
	else
		strbuf_addf(ret, ".%" PRId32, n);
}

static void add_image(struct strbuf *ret, const struct session_file *f)
{
	switch (f->kind) {
	case SESSION_FILE:
		add_root(ret, f->image);
		break;
	case SESSION_KERNEL:
		strbuf_addstr(ret, "/{kern}/");
		session_escape(ret, f->image, strlen(f->image), ".");
		break;
	case SESSION_JIT:
		strbuf_addstr(ret, "/{jit}");
		add_file_path(ret, f->image);
		break;
	case SESSION_ANON:
		strbuf_addstr(ret, "/{anon:");
		session_escape(ret, f->image, strlen(f->image), "");
		strbuf_addstr(ret, "}/");
		if (f->tgid >= 0)
			strbuf_addf(ret, "%" PRId32, f->tgid);
		else
			strbuf_addstr(ret, "all");
		strbuf_addf(ret, ".0x%" PRIx64 ".0x%" PRIx64, f->start, f->end);
		break;
	}
}

int session_path_make(struct strbuf *ret, const struct session_file *f, const char *event)
{
	const char *app = f->app ? f->app : "", *path = f->app_path ? f->app_path : "";
	size_t start = ret->len;

	if (!f->image || !*f->image || (f->kind == SESSION_JIT && *f->image == '/'))
		return -EINVAL;
	if (*path) {
		add_root(ret, path);
	} else if (f->kind == SESSION_KERNEL) {
		strbuf_addstr(ret, "/{kern}/");
		session_escape(ret, f->image, strlen(f->image), ".");
	} else {
		strbuf_addstr(ret, "/{none}");
	}
	if (*app && strcmp(app, base_name(path)) != 0) {
		strbuf_addstr(ret, "/{app:");
		session_escape(ret, app, strlen(app), "");
		strbuf_addstr(ret, "}");
	}
	strbuf_addstr(ret, "/{dep}");
	add_image(ret, f);
	strbuf_addch(ret, '/');
	strbuf_addstr(ret, event);
	add_number(ret, f->tgid);
	add_number(ret, f->tid);
	add_number(ret, f->cpu);
	if (ret->error)
		return ret->error;
	return ret->len - start > SESSION_MAX_PATH ? -E2BIG : 0;
}

int session_path_location(struct strbuf *ret, const char *path, uint32_t slot)
{
	size_t len = 0, longest = 0, n = 0;

	for (const char *c = path; *c; c += len) {
		len = strcspn(++c, "/");
		longest = MAX(longest, len);
		n++;
	}
	if (longest > 255 || n > 100 || strlen(path) > 2000)
		return strbuf_addf(ret, "{long}/%" PRIu32, slot);
	return strbuf_addstr(ret, path + 1);
}

/* --- and back ------------------------------------------------------------------------------------------ */
struct parse {
	char *next;      /* rest of the path, behind a '/', or NULL at its end */
};

/* The next component, NUL-terminated in place. */
static char *take(struct parse *p)
{
	char *c = p->next, *slash;

	if (!c)
		return NULL;
	slash = strchr(c, '/');
	if (slash)
		*slash++ = '\0';
	p->next = slash;
	return c;
}

static bool peek(const struct parse *p, const char *prefix)
{
	return p->next && !strncmp(p->next, prefix, strlen(prefix));
}

/* Components up to one that begins with '{' or to the last: joined, unescaped, in place. NULL if there is none. */
static char *take_file_path(struct parse *p, bool absolute, bool keep_last)
{
	char *start = p->next, *out;

	if (!start)
		return NULL;
	out = absolute ? start - 1 : start;
	start = out;
	while (p->next && *p->next != '{' && !(keep_last && !strchr(p->next, '/'))) {
		char *c = take(p);
		if (!strcmp(c, "%_"))
			*c = '\0';
		else if (!*c || !session_unescape(c))
			return NULL;
		if (absolute || out != start)
			*out++ = '/';
		memmove(out, c, strlen(c));
		out += strlen(c);
	}
	if (out == start)
		return NULL;
	*out = '\0';
	return start;
}

/* "{app:NAME}" to NAME. */
static char *take_braced(struct parse *p, const char *prefix)
{
	char *c = take(p);
	size_t len = strlen(c);

	if (len <= strlen(prefix) || c[len - 1] != '}')
		return NULL;
	c[len - 1] = '\0';
	c += strlen(prefix);
	return session_unescape(c) ? c : NULL;
}

static bool parse_number(const char *s, int32_t *ret)
{
	uint64_t v;

	if (!strcmp(s, "all")) {
		*ret = -1;
		return true;
	}
	if (util_parse_u64(s, 10, INT32_MAX, &v) < 0)
		return false;
	*ret = (int32_t)v;
	return true;
}

/* EVENT.COUNT.UM.TGID.TID.CPU */
static bool parse_leaf(char *leaf, struct session_file *f, const char **event)
{
	int32_t *numbers[] = { &f->cpu, &f->tid, &f->tgid };
	unsigned int dots = 0;

	for (const char *c = leaf; *c; c++)
		dots += *c == '.';
	if (dots != 5)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		char *dot = strrchr(leaf, '.');
		*dot = '\0';
		if (!parse_number(dot + 1, numbers[i]))
			return false;
	}
	*event = leaf;
	return true;
}

static bool parse_range(const char *s, struct session_file *f, int32_t *tgid)
{
	char text[64], *start, *end;

	if (snprintf(text, sizeof(text), "%s", s) >= (int)sizeof(text))
		return false;
	start = strchr(text, '.');
	end = start ? strchr(start + 1, '.') : NULL;
	if (!end)
		return false;
	*start++ = *end++ = '\0';
	return parse_number(text, tgid) && !strncmp(start, "0x", 2) && !strncmp(end, "0x", 2) &&
	       util_parse_u64(start, 0, UINT64_MAX, &f->start) == 0 && util_parse_u64(end, 0, UINT64_MAX, &f->end) == 0;
}

static bool parse_image(struct parse *p, struct session_file *f, int32_t *anon_tgid)
{
	char *c;

	*anon_tgid = -2;
	if (peek(p, "{root}/") || peek(p, "{rel}/")) {
		bool absolute = peek(p, "{root}/");
		take(p);
		f->kind = SESSION_FILE;
		f->image = take_file_path(p, absolute, true);
	} else if (peek(p, "{kern}/")) {
		take(p);
		f->kind = SESSION_KERNEL;
		c = take(p);
		f->image = session_unescape(c) ? c : NULL;
	} else if (peek(p, "{jit}/")) {
		take(p);
		f->kind = SESSION_JIT;
		f->image = take_file_path(p, false, true);
	} else if (peek(p, "{anon:")) {
		f->kind = SESSION_ANON;
		f->image = take_braced(p, "{anon:");
		c = take(p);
		if (!c || !parse_range(c, f, anon_tgid))
			return false;
	}
	return f->image && *f->image;
}

static bool parse_app(struct parse *p, struct session_file *f)
{
	if (peek(p, "{root}/") || peek(p, "{rel}/")) {
		bool absolute = peek(p, "{root}/");
		take(p);
		f->app_path = take_file_path(p, absolute, false);
		if (!f->app_path)
			return false;
	} else if (peek(p, "{kern}/")) {
		take(p);
		if (!take(p))
			return false;
	} else if (peek(p, "{none}/")) {
		take(p);
	} else {
		return false;
	}
	f->app = base_name(f->app_path);
	if (peek(p, "{app:"))
		f->app = take_braced(p, "{app:");
	return f->app != NULL;
}

int session_path_parse(const char *path, struct session_file *ret, const char **event, char **strings)
{
	struct session_file f = { .app_path = "", .tgid = -1, .tid = -1, .cpu = -1 };
	AUTO_FREE char *copy = strdup(path);
	AUTO_STRBUF again = STRBUF_INIT;
	struct parse p;
	const char *ev, *dep;
	int32_t anon_tgid;
	char *leaf;

	if (!copy)
		return -ENOMEM;
	if (*copy != '/')
		return -EBADMSG;
	p.next = copy + 1;
	if (!parse_app(&p, &f) || !(dep = take(&p)) || strcmp(dep, "{dep}") != 0 || !parse_image(&p, &f, &anon_tgid))
		return -EBADMSG;
	leaf = take(&p);
	if (!leaf || p.next || !parse_leaf(leaf, &f, &ev) || (anon_tgid != -2 && anon_tgid != f.tgid))
		return -EBADMSG;
	/* One spelling only: else two paths could mean one file. */
	if (session_path_make(&again, &f, ev) < 0 || strcmp(again.buf, path) != 0)
		return -EBADMSG;
	*ret = f;
	*event = ev;
	*strings = TAKE_PTR(copy);
	return 0;
}
