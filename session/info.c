/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/info.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "session/path.h"

/* The totals by name, in the order they are written. */
static const struct total {
	const char *name;
	size_t offset;
} totals[] = {
#define TOTAL(x) { #x, offsetof(struct session_totals, x) }
	TOTAL(kernel), TOTAL(native), TOTAL(jit_method), TOTAL(jit_stub), TOTAL(jit_interpreter), TOTAL(gap), TOTAL(anon),
	TOTAL(unknown), TOTAL(lost), TOTAL(exact), TOTAL(backdated), TOTAL(ambiguous), TOTAL(truncated_chains),
	TOTAL(chains), TOTAL(first_ns), TOTAL(last_ns),
#undef TOTAL
};

static void event_done(struct session_event *e)
{
	free((char *)e->name);
	free((char *)e->desc);
	*e = (struct session_event){ 0 };
}

void session_info_done(struct session_info *i)
{
	for (size_t k = 0; k < i->n_events; k++)
		event_done(&i->events[k]);
	for (size_t k = 0; k < i->n_notes; k++) {
		free(i->notes[k].key);
		free(i->notes[k].value);
	}
	free(i->events);
	free(i->notes);
	free(i->cpu_type);
	*i = (struct session_info){ 0 };
}

int session_info_event(struct session_info *i, size_t index, const struct session_event *e)
{
	struct session_event copy = *e, *more;

	if (index > i->n_events || index >= SESSION_MAX_EVENTS)
		return -EINVAL;
	copy.name = strdup(e->name ? e->name : "");
	copy.desc = strdup(e->desc ? e->desc : "");
	if (index == i->n_events && copy.name && copy.desc) {
		more = realloc(i->events, (i->n_events + 1) * sizeof(*more));
		if (more) {
			i->events = more;
			more[i->n_events++] = copy;
			return 0;
		}
	} else if (copy.name && copy.desc) {
		event_done(&i->events[index]);
		i->events[index] = copy;
		return 0;
	}
	event_done(&copy);
	return -ENOMEM;
}

/* Where key is, or where it would stand. */
static size_t note_place(const struct session_info *i, const char *key, bool *found)
{
	size_t lo = 0, hi = i->n_notes;

	*found = false;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int c = strcmp(i->notes[mid].key, key);
		if (!c) {
			*found = true;
			return mid;
		}
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int session_info_note(struct session_info *i, const char *key, const char *value)
{
	bool found;
	size_t at = note_place(i, key, &found);
	AUTO_FREE char *k = strdup(key);
	AUTO_FREE char *v = strdup(value);
	struct session_note *more;

	if (!*key || strpbrk(key, "=\n"))
		return -EINVAL;
	if (!k || !v)
		return -ENOMEM;
	if (found) {
		free(i->notes[at].value);
		i->notes[at].value = TAKE_PTR(v);
		return 0;
	}
	more = realloc(i->notes, (i->n_notes + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	i->notes = more;
	memmove(more + at + 1, more + at, (i->n_notes - at) * sizeof(*more));
	more[at] = (struct session_note){ .key = TAKE_PTR(k), .value = TAKE_PTR(v) };
	i->n_notes++;
	return 0;
}

const char *session_info_get(const struct session_info *i, const char *key)
{
	bool found;
	size_t at = note_place(i, key, &found);

	return found ? i->notes[at].value : NULL;
}

static void add_escaped(struct strbuf *ret, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c == '\\')
			strbuf_addstr(ret, "\\\\");
		else if (c == '\n')
			strbuf_addstr(ret, "\\n");
		else if (c < 0x20 || c == 0x7f)
			strbuf_addf(ret, "\\x%02x", c);
		else
			strbuf_addch(ret, (char)c);
	}
}

int session_info_write(const struct session_info *i, struct strbuf *ret)
{
	strbuf_addstr(ret, "opjit_session=1\ncpu_type=");
	add_escaped(ret, i->cpu_type ? i->cpu_type : "");
	strbuf_addf(ret, "\nmhz=%.3f\nstacks=%d\n", i->mhz, i->stacks);
	for (size_t k = 0; k < i->n_events; k++) {
		const struct session_event *e = &i->events[k];
		strbuf_addf(ret, "event=%" PRIu64 " %" PRIu64 " %" PRIu32 " %d ", e->count, e->freq, e->um, e->timer);
		add_escaped(ret, e->name);
		strbuf_addstr(ret, "\nevent_desc=");
		add_escaped(ret, e->desc);
		strbuf_addch(ret, '\n');
	}
	for (size_t k = 0; k < ARRAY_SIZE(totals); k++)
		strbuf_addf(ret, "total.%s=%" PRIu64 "\n", totals[k].name,
			    *(const uint64_t *)((const char *)&i->totals + totals[k].offset));
	for (size_t k = 0; k < i->n_notes; k++) {
		strbuf_addstr(ret, "note.");
		add_escaped(ret, i->notes[k].key);
		strbuf_addch(ret, '=');
		add_escaped(ret, i->notes[k].value);
		strbuf_addch(ret, '\n');
	}
	if (!ret->error && ret->len > SESSION_INFO_MAX)
		return -E2BIG;
	return ret->error;
}

/* In place; false for what add_escaped does not make. */
static bool unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		char two[3] = { 0 };
		uint64_t v;
		if (*s != '\\') {
			*out++ = *s;
			continue;
		}
		s++;
		if (*s == '\\' || *s == 'n') {
			*out++ = *s == 'n' ? '\n' : '\\';
		} else if (*s == 'x' && s[1] && s[2]) {
			memcpy(two, s + 1, 2);
			if (util_parse_u64(two, 16, 255, &v) < 0 || !v)
				return false;
			*out++ = (char)v;
			s += 2;
		} else {
			return false;
		}
	}
	*out = '\0';
	return true;
}

static int read_event(struct session_info *i, char *value)
{
	struct session_event e = { .desc = "" };
	uint64_t v[4] = { 0 };

	for (size_t k = 0; k < ARRAY_SIZE(v); k++) {
		char *space = strchr(value, ' ');
		if (!space)
			return -EBADMSG;
		*space = '\0';
		if (util_parse_u64(value, 10, k == 2 ? UINT32_MAX : k == 3 ? 1 : UINT64_MAX, &v[k]) < 0)
			return -EBADMSG;
		value = space + 1;
	}
	if (!unescape(value))
		return -EBADMSG;
	e.name = value;
	e.count = v[0];
	e.freq = v[1];
	e.um = (uint32_t)v[2];
	e.timer = v[3];
	if (i->n_events >= SESSION_MAX_EVENTS)
		return -EBADMSG;
	return session_info_event(i, i->n_events, &e);
}

static int read_total(struct session_info *i, const char *name, const char *value)
{
	for (size_t k = 0; k < ARRAY_SIZE(totals); k++)
		if (!strcmp(name, totals[k].name))
			return util_parse_u64(value, 10, UINT64_MAX, (uint64_t *)((char *)&i->totals + totals[k].offset)) < 0 ?
			       -EBADMSG : 0;
	return 0;
}

static int read_mhz(struct session_info *i, const char *value)
{
	char *end;

	i->mhz = strtod(value, &end);
	return end == value || *end || !(i->mhz >= 0 && i->mhz < 1e9) ? -EBADMSG : 0;
}

static int read_line(struct session_info *i, char *line)
{
	char *value = strchr(line, '=');

	if (!value)
		return -EBADMSG;
	*value++ = '\0';
	if (!strcmp(line, "opjit_session"))
		return strcmp(value, "1") ? -EPROTONOSUPPORT : 0;
	if (!strcmp(line, "event"))
		return read_event(i, value);
	if (!strncmp(line, "total.", 6))
		return read_total(i, line + 6, value);
	if (!strcmp(line, "mhz"))
		return read_mhz(i, value);
	if (!unescape(value) || !unescape(line))
		return -EBADMSG;
	if (!strcmp(line, "cpu_type")) {
		free(i->cpu_type);
		i->cpu_type = strdup(value);
		return i->cpu_type ? 0 : -ENOMEM;
	}
	if (!strcmp(line, "stacks"))
		i->stacks = !strcmp(value, "1");
	if (!strcmp(line, "event_desc")) {
		struct session_event *e = i->n_events ? &i->events[i->n_events - 1] : NULL;
		char *d = e ? strdup(value) : NULL;
		if (!d)
			return e ? -ENOMEM : -EBADMSG;
		free((char *)e->desc);
		e->desc = d;
	}
	if (!strncmp(line, "note.", 5) && session_info_note(i, line + 5, value) == -ENOMEM)
		return -ENOMEM;
	return 0;
}

int session_info_read(struct session_info *ret, const char *data, size_t len, unsigned int *line)
{
	AUTO(session_info_done) struct session_info i = { 0 };
	AUTO_FREE char *copy = NULL;
	char *p, *nl;
	int r;

	*line = 1;
	if (len > SESSION_INFO_MAX)
		return -E2BIG;
	if (!len || memchr(data, 0, len) || data[len - 1] != '\n' || strncmp(data, "opjit_session=", MIN(len, (size_t)14)) != 0)
		return -EBADMSG;
	copy = malloc(len + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, len);
	copy[len] = '\0';
	for (p = copy; *p; p = nl + 1, ++*line) {
		nl = strchr(p, '\n');
		*nl = '\0';
		r = read_line(&i, p);
		if (r < 0)
			return r;
	}
	*ret = i;
	i = (struct session_info){ 0 };
	return 0;
}

int session_info_copy(struct session_info *ret, const struct session_info *i)
{
	AUTO_STRBUF text = STRBUF_INIT;
	unsigned int line;
	int r = session_info_write(i, &text);

	return r < 0 ? r : session_info_read(ret, text.buf, text.len, &line);
}

int session_info_event_path(const struct session_info *i, size_t k, struct strbuf *ret)
{
	AUTO_STRBUF mine = STRBUF_INIT, other = STRBUF_INIT;
	unsigned int twin = 0;
	int r = session_path_event(&mine, &i->events[k], 0);

	for (size_t j = 0; j < k && r >= 0; j++) {
		strbuf_reset(&other);
		r = session_path_event(&other, &i->events[j], 0);
		twin += r >= 0 && !strcmp(mine.buf, other.buf);
	}
	return r < 0 ? r : session_path_event(ret, &i->events[k], twin);
}
