/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/msg.h"
#include "rst/syms.h"

#define MAX_SYMS (4u << 20)

void syms_done(struct syms *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i].name);
	free(s->v);
	memset(s, 0, sizeof(*s));
}

/* Index of the first symbol above addr. */
static size_t above(const struct syms *s, uint64_t addr)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->v[mid].addr > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static void drop(struct syms *s, size_t i)
{
	free(s->v[i].name);
	memmove(s->v + i, s->v + i + 1, (s->n - i - 1) * sizeof(*s->v));
	s->n--;
}

int syms_add(struct syms *s, uint64_t addr, uint64_t size, const char *name)
{
	size_t at = above(s, addr);
	char *copy;

	/* What it covers is gone: code memory is used again. */
	while (at && (s->v[at - 1].addr == addr || (size && s->v[at - 1].size && s->v[at - 1].addr + s->v[at - 1].size > addr)))
		drop(s, --at);
	while (size && at < s->n && s->v[at].addr < addr + size)
		drop(s, at);
	if (s->n >= MAX_SYMS)
		return -E2BIG;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	if (s->n == s->room) {
		size_t room = s->room ? s->room * 2 : 64;
		struct sym *p = realloc(s->v, room * sizeof(*p));

		if (!p) {
			free(copy);
			return -ENOMEM;
		}
		s->v = p;
		s->room = room;
	}
	memmove(s->v + at + 1, s->v + at, (s->n - at) * sizeof(*s->v));
	s->v[at] = (struct sym){ addr, size, copy };
	s->n++;
	return 0;
}

void syms_remove(struct syms *s, uint64_t addr)
{
	size_t at = above(s, addr);

	if (at && s->v[at - 1].addr == addr)
		drop(s, at - 1);
}

const struct sym *syms_find(const struct syms *s, uint64_t addr)
{
	size_t at = above(s, addr);

	if (!at || (s->v[at - 1].size && addr - s->v[at - 1].addr >= s->v[at - 1].size))
		return NULL;
	return &s->v[at - 1];
}

int syms_load_file(struct syms *s, const char *path)
{
	FILE *f = fopen(path, "re");
	AUTO_FREE char *line = NULL;
	size_t room = 0, lineno = 0;

	if (!f)
		return msg_errno(errno, "%s", path);
	while (getline(&line, &room, f) > 0) {
		unsigned long long addr, size = 0;
		char type[8] = "";
		int at = 0;

		lineno++;
		line[strcspn(line, "\n")] = 0;
		if (!line[0] || line[0] == '#')
			continue;
		if ((sscanf(line, "%llx %llx %7[A-Za-z?] %n", &addr, &size, type, &at) < 3 || type[1] || !at || !line[at]) &&
		    (size = 0, sscanf(line, "%llx %7[A-Za-z?] %n", &addr, type, &at) < 2 || type[1] || !at || !line[at]) &&
		    (sscanf(line, "%llx %llx %n", &addr, &size, &at) < 2 || !at || !line[at]) &&
		    (size = 0, sscanf(line, "%llx %n", &addr, &at) < 1 || !at || !line[at])) {
			msg_warn("%s:%zu: not a symbol", path, lineno);
			continue;
		}
		if (syms_add(s, addr, size, line + at))
			break;
	}
	fclose(f);
	return 0;
}

bool syms_take_string(struct syms *s, const char *text)
{
	unsigned long long addr, size;
	int at = 0;

	if (sscanf(text, "jit load 0x%llx %llu %n", &addr, &size, &at) >= 2 && at) {
		syms_add(s, addr, size, text + at);
		return true;
	}
	if (sscanf(text, "jit unload 0x%llx", &addr) == 1) {
		syms_remove(s, addr);
		return true;
	}
	return false;
}
