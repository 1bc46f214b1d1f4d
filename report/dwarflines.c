/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines and inlined frames from DWARF, of the image itself or of its separate debug file. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "report/symimage.h"

struct die_range {
	uint64_t start, end;
	Dwarf_Off die;
};

struct range_table {
	struct die_range *v; /* sorted by start */
	size_t n, room;
};

struct dwarf_lines {
	Dwarf *dw;
	int fd;
	struct range_table cus;
	struct range_table *subs; /* subprograms of a unit */
	size_t n_subs;
	struct u64map units;      /* unit -> index into subs, plus 1 */
};

static int push_range(struct range_table *t, uint64_t start, uint64_t end, Dwarf_Off die)
{
	if (start >= end)
		return 0;
	if (t->n == t->room) {
		size_t room = t->room ? 2 * t->room : 256;
		struct die_range *more = realloc(t->v, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		t->v = more;
		t->room = room;
	}
	t->v[t->n++] = (struct die_range){ start, end, die };
	return 0;
}

/* A unit without ranges of its own: those of its subprograms. */
static int add_subprograms(struct dwarf_lines *d, Dwarf_Die *cu, Dwarf_Off off)
{
	Dwarf_Die die;
	int r = dwarf_child(cu, &die);

	for (; r == 0; r = dwarf_siblingof(&die, &die)) {
		Dwarf_Addr base, lo, hi;
		ptrdiff_t at = 0;

		if (dwarf_tag(&die) != DW_TAG_subprogram)
			continue;
		while ((at = dwarf_ranges(&die, at, &base, &lo, &hi)) > 0)
			if (push_range(&d->cus, lo, hi, off) < 0)
				return -ENOMEM;
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct die_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int scan_units(struct dwarf_lines *d)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	while (dwarf_get_units(d->dw, cu, &cu, NULL, &type, &die, NULL) == 0) {
		Dwarf_Addr base, lo, hi;
		ptrdiff_t at = 0;
		size_t before = d->cus.n;
		Dwarf_Off off = dwarf_dieoffset(&die);

		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		while ((at = dwarf_ranges(&die, at, &base, &lo, &hi)) > 0)
			if (push_range(&d->cus, lo, hi, off) < 0)
				return -ENOMEM;
		if (d->cus.n == before && add_subprograms(d, &die, off) < 0)
			return -ENOMEM;
	}
	if (d->cus.n)
		qsort(d->cus.v, d->cus.n, sizeof(*d->cus.v), by_start);
	return d->cus.n ? 0 : -ENOENT;
}

int dwarf_lines_new(struct dwarf_lines **ret, struct sym_image *img)
{
	const char *paths[] = { img->path, img->debug_path };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct dwarf_lines *d;

		if (!paths[i])
			continue;
		d = calloc(1, sizeof(*d));
		if (!d)
			return -ENOMEM;
		d->fd = open(paths[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		d->dw = d->fd < 0 ? NULL : dwarf_begin(d->fd, DWARF_C_READ);
		if (d->dw && !scan_units(d)) {
			*ret = d;
			return 0;
		}
		dwarf_lines_free(d);
	}
	return -ENOENT;
}

void dwarf_lines_free(struct dwarf_lines *d)
{
	if (!d)
		return;
	dwarf_end(d->dw);
	if (d->fd >= 0)
		close(d->fd);
	free(d->cus.v);
	for (size_t i = 0; i < d->n_subs; i++)
		free(d->subs[i].v);
	free(d->subs);
	u64map_done(&d->units);
	free(d);
}

static bool find_range(struct dwarf_lines *d, const struct range_table *t, uint64_t vma, Dwarf_Die *ret)
{
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->v[mid].start <= vma)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* Ranges hardly ever overlap; a few steps back suffice where they do. */
	for (size_t tries = 0; lo-- > 0 && tries < 8; tries++)
		if (vma < t->v[lo].end)
			return dwarf_offdie(d->dw, t->v[lo].die, ret) != NULL;
	return false;
}

int dwarf_lines_find(struct dwarf_lines *d, uint64_t vma, struct sym_line *ret)
{
	Dwarf_Die cu;
	Dwarf_Line *line;
	int n = 0;

	if (!find_range(d, &d->cus, vma, &cu))
		return -ENOENT;
	line = dwarf_getsrc_die(&cu, vma);
	if (!line || dwarf_lineno(line, &n) < 0 || n <= 0)
		return -ENOENT;
	ret->file = dwarf_linesrc(line, NULL, NULL);
	ret->line = (uint32_t)n;
	return ret->file ? 0 : -ENOENT;
}

static const char *die_name(Dwarf_Die *die)
{
	static const unsigned int which[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };
	Dwarf_Attribute attr;
	const char *name;

	for (size_t i = 0; i < ARRAY_SIZE(which); i++) {
		name = dwarf_formstring(dwarf_attr_integrate(die, which[i], &attr));
		if (name && *name)
			return name;
	}
	return "??";
}

/* Where an inlined subroutine was called. */
static void call_site(Dwarf_Die *cu, Dwarf_Die *die, struct sym_line *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;
	Dwarf_Files *files;
	size_t n;

	*ret = (struct sym_line){ NULL, 0 };
	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attr), &v) == 0)
		ret->line = (uint32_t)v;
	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attr), &v) == 0 && dwarf_getsrcfiles(cu, &files, &n) == 0 &&
	    v < n)
		ret->file = dwarf_filesrc(files, v, NULL, NULL);
}

/* --- inlined frames -------------------------------------------------------------------------------------- */

/* Subprograms with code below die; Rust and others put them into namespaces. */
static int collect_subs(struct range_table *t, Dwarf_Die *parent, unsigned int depth)
{
	Dwarf_Die die;

	for (int r = dwarf_child(parent, &die); r == 0; r = dwarf_siblingof(&die, &die)) {
		Dwarf_Addr base, lo, hi;
		ptrdiff_t at = 0;

		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			while ((at = dwarf_ranges(&die, at, &base, &lo, &hi)) > 0)
				if (push_range(t, lo, hi, dwarf_dieoffset(&die)) < 0)
					return -ENOMEM;
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
			if (depth < 16 && collect_subs(t, &die, depth + 1) < 0)
				return -ENOMEM;
			break;
		default:
			break;
		}
	}
	return 0;
}

/* The subprogram at vma; the table of a unit is made at the first question about it. */
static bool find_sub(struct dwarf_lines *d, Dwarf_Die *cu, uint64_t vma, Dwarf_Die *ret)
{
	Dwarf_Off off = dwarf_dieoffset(cu);
	uint64_t *seen = u64map_at(&d->units, off);

	if (!seen)
		return false;
	if (!*seen) {
		struct range_table *more = realloc(d->subs, (d->n_subs + 1) * sizeof(*more));
		struct range_table *t;

		if (!more)
			return false;
		d->subs = more;
		t = &more[d->n_subs];
		*t = (struct range_table){ 0 };
		*seen = ++d->n_subs;
		(void)collect_subs(t, cu, 0);
		if (t->n)
			qsort(t->v, t->n, sizeof(*t->v), by_start);
	}
	return find_range(d, &d->subs[*seen - 1], vma, ret);
}

int dwarf_lines_inlines(struct dwarf_lines *d, uint64_t vma, struct sym_frame frames[SYM_FRAMES_MAX])
{
	Dwarf_Die cu, die, child, chain[SYM_FRAMES_MAX];
	struct sym_line at = { NULL, 0 };
	int n = 0;

	if (!find_range(d, &d->cus, vma, &cu) || !find_sub(d, &cu, vma, &die))
		return -ENOENT;
	chain[n++] = die;
	for (int r = dwarf_child(&die, &child); r == 0 && n < SYM_FRAMES_MAX;) {
		int tag = dwarf_tag(&child);

		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) && dwarf_haspc(&child, vma) > 0) {
			if (tag == DW_TAG_inlined_subroutine)
				chain[n++] = child;
			die = child;
			r = dwarf_child(&die, &child);
		} else {
			r = dwarf_siblingof(&child, &child);
		}
	}
	(void)dwarf_lines_find(d, vma, &at);
	for (int i = 0; i < n; i++) {
		Dwarf_Die *scope = &chain[n - 1 - i];

		frames[i].name = die_name(scope);
		frames[i].at = at;
		call_site(&cu, scope, &at);
	}
	return n;
}
