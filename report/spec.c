/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/spec.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "report/text.h"

static const char *const tags[SPEC_N] = {
	[SPEC_ARCHIVE] = "archive", [SPEC_SESSION] = "session", [SPEC_SESSION_EXCLUDE] = "session-exclude",
	[SPEC_IMAGE] = "image", [SPEC_IMAGE_EXCLUDE] = "image-exclude", [SPEC_LIB_IMAGE] = "lib-image",
	[SPEC_EVENT] = "event", [SPEC_COUNT] = "count", [SPEC_UNIT_MASK] = "unit-mask", [SPEC_CPU] = "cpu",
	[SPEC_TGID] = "tgid", [SPEC_TID] = "tid",
};

static int list_add(struct spec_list *l, const char *s, size_t n)
{
	char **more = realloc(l->v, (l->n + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	l->v = more;
	l->v[l->n] = strndup(s, n);
	if (!l->v[l->n])
		return -ENOMEM;
	l->n++;
	return 0;
}

/* The comma-separated words of s; a backslash takes the next byte literally (so a comma, but not a wildcard). */
static int list_split(struct spec_list *l, const char *s)
{
	AUTO_STRBUF sb = STRBUF_INIT;

	for (;; s++) {
		if (*s == '\\' && s[1] == ',') {
			strbuf_addch(&sb, *++s);
		} else if (*s == ',' || !*s) {
			int r = sb.len ? list_add(l, strbuf_str(&sb), sb.len) : 0;

			if (r < 0 || !*s)
				return r;
			strbuf_reset(&sb);
		} else {
			strbuf_addch(&sb, *s);
		}
	}
}

static bool numeric(enum spec_tag t)
{
	return t == SPEC_COUNT || t == SPEC_UNIT_MASK || t == SPEC_CPU || t == SPEC_TGID || t == SPEC_TID;
}

static int check_numbers(const struct spec_list *l, enum spec_tag t, struct strbuf *why)
{
	uint64_t v;

	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i], "all") && util_parse_u64(l->v[i], 0, UINT64_MAX, &v) < 0) {
			strbuf_addf(why, "%s:%s: not a number", tags[t], l->v[i]);
			return -EINVAL;
		}
	return 0;
}

int spec_parse(struct spec *ret, const char *const *words, size_t n, struct strbuf *why)
{
	*ret = (struct spec){ 0 };
	for (size_t i = 0; i < n; i++) {
		const char *colon = strchr(words[i], ':');
		size_t len = colon ? (size_t)(colon - words[i]) : 0, t;
		int r;

		for (t = 0; t < SPEC_N; t++)
			if (colon && strlen(tags[t]) == len && !memcmp(tags[t], words[i], len))
				break;
		if (t == SPEC_N) { /* "java:App" is a name too */
			r = list_add(&ret->of[SPEC_IMAGE], words[i], strlen(words[i]));
			if (r < 0)
				return r;
			continue;
		}
		if (!colon[1]) {
			strbuf_addf(why, "%s needs a value", words[i]);
			return -EINVAL;
		}
		r = list_split(&ret->of[t], colon + 1);
		if (!r && numeric(t))
			r = check_numbers(&ret->of[t], t, why);
		if (r < 0)
			return r;
	}
	return 0;
}

void spec_done(struct spec *s)
{
	for (size_t t = 0; t < SPEC_N; t++) {
		for (size_t i = 0; i < s->of[t].n; i++)
			free(s->of[t].v[i]);
		free(s->of[t].v);
	}
	*s = (struct spec){ 0 };
}

int32_t spec_file_tgid(const struct session_file *f)
{
	int tgid;

	if (f->tgid >= 0)
		return f->tgid;
	if (f->kind == SESSION_JIT && sscanf(f->image, "%d-", &tgid) == 1 && tgid > 0)
		return tgid;
	return -1;
}

static bool name_matches(const char *pattern, const char *name)
{
	return !strcmp(pattern, name) || !strcmp(pattern, text_base(name)) || !fnmatch(pattern, name, 0) ||
	       !fnmatch(pattern, text_base(name), 0);
}

static bool any_name(const struct spec_list *l, const char *a, const char *b, const char *c)
{
	for (size_t i = 0; i < l->n; i++)
		if ((a && name_matches(l->v[i], a)) || (b && name_matches(l->v[i], b)) || (c && name_matches(l->v[i], c)))
			return true;
	return false;
}

static bool number_in(const struct spec_list *l, int64_t n)
{
	uint64_t v;

	if (!l->n)
		return true;
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i], "all") || (!util_parse_u64(l->v[i], 0, INT64_MAX, &v) && (int64_t)v == n))
			return true;
	return false;
}

bool spec_match(const struct spec *s, const struct session_event *e, const struct session_file *f)
{
	if (s->of[SPEC_EVENT].n && !any_name(&s->of[SPEC_EVENT], e->name, NULL, NULL))
		return false;
	if (!number_in(&s->of[SPEC_COUNT], (int64_t)(e->count ? e->count : e->freq)) ||
	    !number_in(&s->of[SPEC_UNIT_MASK], e->um) || !number_in(&s->of[SPEC_CPU], f->cpu) ||
	    !number_in(&s->of[SPEC_TGID], spec_file_tgid(f)) || !number_in(&s->of[SPEC_TID], f->tid))
		return false;
	if (s->of[SPEC_IMAGE].n && !any_name(&s->of[SPEC_IMAGE], f->app_path, f->app, f->image))
		return false;
	if (s->of[SPEC_IMAGE_EXCLUDE].n && any_name(&s->of[SPEC_IMAGE_EXCLUDE], f->app_path, f->app, f->image))
		return false;
	return !s->of[SPEC_LIB_IMAGE].n || any_name(&s->of[SPEC_LIB_IMAGE], f->image, NULL, NULL);
}
