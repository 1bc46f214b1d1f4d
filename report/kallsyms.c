/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Symbols of the kernel and its modules from the session's copy of /proc/kallsyms: "address type name [module]". */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/io.h"
#include "report/symimage.h"

static uint64_t hex(const char **s)
{
	uint64_t v = 0;

	for (;; ++*s) {
		char c = **s;

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint64_t)(c - 'a' + 10);
		else
			return v;
	}
}

/* One line [s, end), which is cut into strings. False if it is not a line of a text symbol. */
static bool parse_line(char *s, char *end, struct kallsym *ret)
{
	const char *p = s;
	char *name, *tab;

	ret->start = hex(&p);
	if (p == s || end - p < 4 || p[0] != ' ' || p[2] != ' ' || !strchr("tTwW", p[1]) || !ret->start)
		return false;
	*end = '\0';
	name = s + (p - s) + 3;
	ret->name = name;
	ret->module = end;
	tab = strchr(name, '\t');
	if (tab && tab[1] == '[') {
		*tab = '\0';
		ret->module = tab + 2;
		end = strchr(tab + 2, ']');
		if (end)
			*end = '\0';
	}
	return *name != '\0';
}

static int by_address(const void *a, const void *b)
{
	const struct kallsym *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int read_all(struct symbols *y)
{
	AUTO_STRBUF path = STRBUF_INIT;
	size_t lines = 1, n = 0;
	char *s, *end;
	int r;

	strbuf_addf(&path, "%s/kallsyms", session_dir(y->session));
	r = io_slurp_regular(AT_FDCWD, strbuf_str(&path), &y->kallsyms);
	if (r < 0)
		return r;
	if (!y->kallsyms.len)
		return -ENOENT;
	end = y->kallsyms.buf + y->kallsyms.len;
	for (s = y->kallsyms.buf; (s = memchr(s, '\n', (size_t)(end - s))); s++)
		lines++;
	y->ksyms = calloc(lines, sizeof(*y->ksyms));
	if (!y->ksyms)
		return -ENOMEM;
	for (s = y->kallsyms.buf; s < end;) {
		char *nl = memchr(s, '\n', (size_t)(end - s));

		nl = nl ? nl : end;
		if (parse_line(s, nl, &y->ksyms[n]))
			n++;
		s = nl + 1;
	}
	qsort(y->ksyms, n, sizeof(*y->ksyms), by_address);
	for (size_t i = n, next = 0; i-- > 0;) { /* no sizes there: each ends where any other begins */
		if (!next)
			y->ksyms[i].end = y->ksyms[i].start + 4096;
		else
			y->ksyms[i].end = y->ksyms[next].start > y->ksyms[i].start ? y->ksyms[next].start : y->ksyms[next].end;
		next = i;
	}
	y->n_ksyms = n;
	return n ? 0 : -ENOENT;
}

static uint64_t note_base(const struct sym_image *img)
{
	AUTO_STRBUF key = STRBUF_INIT;
	const char *v;
	uint64_t base = 0;

	strbuf_addf(&key, "kernel.%s.base", img->image);
	v = session_note(img->owner->session, strbuf_str(&key));
	if (v && util_parse_u64(v, 0, UINT64_MAX, &base) < 0)
		base = 0;
	return base;
}

int kallsyms_open(struct sym_image *img)
{
	struct symbols *y = img->owner;
	bool kernel = !strcmp(img->image, "vmlinux");

	if (y->kallsyms_error > 0)
		y->kallsyms_error = read_all(y);
	if (y->kallsyms_error)
		return y->kallsyms_error;
	img->base = note_base(img);
	for (size_t i = 0; i < y->n_ksyms; i++) {
		const struct kallsym *k = &y->ksyms[i];
		struct sym out = { .start = k->start, .end = k->end, .name = k->name, .osr_bci = -1, .tier = -1, .rank = 1 };
		int r;

		if (kernel ? *k->module : strcmp(k->module, img->image))
			continue;
		r = sym_image_add(img, &out);
		if (r < 0)
			return r;
	}
	return 0;
}
