/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the journal of a JIT image says beyond its symbol table: tier, lines, inlined frames. For images that are
 * not sealed (those have DWARF). Only the journal and the strings are read, into memory as large as the file of which
 * the rest is never touched: the file is not mapped, so its shrinking raises no signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "format/jit/image.h"
#include "format/jit/tables.h"
#include "lib/io.h"
#include "report/symimage.h"

struct jit_file { /* an image, sparsely in memory */
	uint8_t *data;
	size_t len;
	struct jit_image image;
};

struct jit_table {
	const void *data;
	size_t len;
	const char *strings;
	size_t strings_len;
};

struct jit_region {
	uint64_t start, end, id, addr; /* addr: in the process, when it was loaded */
	const char *name, *source, *descriptor; /* own copies, NULL = none */
	struct jit_table lines, inlines;
	int32_t osr_bci;
	uint32_t flags;
	int8_t tier;
	uint8_t kind;
};

struct jit_lines {
	struct jit_file files[2]; /* the image, and the next one, whose journal may amend it */
	struct jit_region *v;     /* ascending */
	uint32_t *by_addr;        /* the same by address; made when asked for */
	size_t n, room;
	struct u64map by_id;      /* id -> index + 1, while reading */
	struct strpool words;
	struct jit_inlines inlines; /* of the region asked for last */
	const struct jit_region *inlines_of;
};

static int read_part(int fd, struct jit_file *f, const struct jit_part *p)
{
	if (p->offset > f->len || p->size > f->len - p->offset)
		return -EBADMSG;
	for (uint64_t at = p->offset, end = at + p->size; at < end;) {
		ssize_t n = pread(fd, f->data + at, end - at, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		at += (uint64_t)n;
	}
	return 0;
}

static int file_read(struct jit_file *f, const char *path)
{
	AUTO_CLOSE int fd = io_open_regular(AT_FDCWD, path, O_RDONLY);
	struct jit_part head = { .size = JIT_IMAGE_HEAD };
	struct jit_fault fault;
	struct stat st;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size < (off_t)JIT_IMAGE_HEAD || (uint64_t)st.st_size > JIT_IMAGE_MAX_BYTES)
		return -EBADMSG;
	f->data = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (f->data == MAP_FAILED) {
		f->data = NULL;
		return -ENOMEM;
	}
	f->len = (size_t)st.st_size;
	r = read_part(fd, f, &head);
	if (!r)
		r = jit_image_parse(&f->image, f->data, JIT_IMAGE_HEAD, f->len, &fault);
	if (!r)
		r = read_part(fd, f, &f->image.journal);
	if (!r)
		r = read_part(fd, f, &f->image.strtab);
	return r;
}

static const char *word(struct jit_lines *j, const char *s, size_t n)
{
	/* the pool moves when it grows: what is kept is the number, made a pointer at the end */
	int64_t id = n && s ? strpool_id(&j->words, s, strnlen(s, n)) : -1;

	return id < 0 ? NULL : (const char *)(uintptr_t)(id + 1);
}

static int add_region(struct jit_lines *j, const struct jit_event *e)
{
	struct jit_region *g;
	uint64_t end;

	if (!util_add_u64(e->image_offset, e->size, &end))
		return 0;
	if (j->n == j->room) {
		size_t room = j->room ? 2 * j->room : 1024;
		struct jit_region *more = realloc(j->v, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		j->v = more;
		j->room = room;
	}
	g = &j->v[j->n];
	*g = (struct jit_region){ .start = e->image_offset, .end = end, .id = e->id, .addr = e->addr, .tier = e->tier, .kind = e->kind,
				  .flags = e->flags, .osr_bci = e->flags & JIT_OSR ? e->osr_bci : -1 };
	g->name = word(j, e->name, e->name_len);
	g->source = word(j, e->source_file, e->source_file_len);
	g->descriptor = word(j, e->descriptor, e->descriptor_len);
	return u64map_put(&j->by_id, e->id, ++j->n);
}

static int take_event(struct jit_lines *j, const struct jit_event *e)
{
	uint64_t *at;

	if (e->type != JIT_EVENT_LOAD && e->type != JIT_EVENT_AMEND)
		return 0;
	if (e->type == JIT_EVENT_LOAD) {
		int r = add_region(j, e);

		if (r < 0)
			return r;
	}
	at = u64map_get(&j->by_id, e->id);
	if (!at)
		return 0;
	if (e->lines_len)
		j->v[*at - 1].lines = (struct jit_table){ e->lines, e->lines_len, e->strings, e->strings_len };
	if (e->inlines_len)
		j->v[*at - 1].inlines = (struct jit_table){ e->inlines, e->inlines_len, e->strings, e->strings_len };
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct jit_region *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* A damaged journal gives what stands before the fault. */
static int walk(struct jit_lines *j, const struct jit_file *f, uint32_t segment)
{
	struct jit_walk w = jit_walk_of(&f->image, f->data);
	struct jit_fault fault;
	struct jit_event e;
	int r = 0;

	while (!r && jit_walk_next(&w, &e, &fault) > 0)
		if (e.segment == segment)
			r = take_event(j, &e);
	return r;
}

int jit_lines_new(struct jit_lines **ret, const char *path)
{
	struct jit_lines *j = calloc(1, sizeof(*j));
	const char *slash = strrchr(path, '/');
	unsigned int number;
	int r;

	if (!j)
		return -ENOMEM;
	r = file_read(&j->files[0], path);
	if (!r)
		r = walk(j, &j->files[0], j->files[0].image.who.segment);
	if (!r && slash && sscanf(slash + 1, "%u.jo", &number) == 1) {
		AUTO_STRBUF next = STRBUF_INIT;

		strbuf_addf(&next, "%.*s/%u.jo", (int)(slash - path), path, number + 1);
		if (!next.error && !file_read(&j->files[1], next.buf))
			r = walk(j, &j->files[1], j->files[0].image.who.segment);
	}
	if (r < 0 || !j->n) {
		jit_lines_free(j);
		return r < 0 ? r : -ENOENT;
	}
	u64map_done(&j->by_id);
	qsort(j->v, j->n, sizeof(*j->v), by_start);
	for (size_t i = 0; i < j->n; i++) {
		if (j->v[i].name)
			j->v[i].name = strpool_str(&j->words, (uint32_t)(uintptr_t)j->v[i].name - 1);
		if (j->v[i].source)
			j->v[i].source = strpool_str(&j->words, (uint32_t)(uintptr_t)j->v[i].source - 1);
		if (j->v[i].descriptor)
			j->v[i].descriptor = strpool_str(&j->words, (uint32_t)(uintptr_t)j->v[i].descriptor - 1);
	}
	*ret = j;
	return 0;
}

void jit_lines_free(struct jit_lines *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(j->files); i++)
		if (j->files[i].data)
			munmap(j->files[i].data, j->files[i].len);
	free(j->v);
	free(j->by_addr);
	u64map_done(&j->by_id);
	strpool_done(&j->words);
	jit_inlines_done(&j->inlines);
	free(j);
}

static const struct jit_region *find(const struct jit_lines *j, uint64_t key)
{
	size_t lo = 0, hi = j->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (j->v[mid].start <= key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && key < j->v[lo - 1].end ? &j->v[lo - 1] : NULL;
}

bool jit_lines_facts(const struct jit_lines *j, uint64_t key, struct sym *ret)
{
	const struct jit_region *g = find(j, key);

	if (!g)
		return false;
	ret->tier = g->tier;
	ret->kind = g->kind;
	ret->osr_bci = g->osr_bci;
	ret->descriptor = g->descriptor;
	return true;
}

bool jit_lines_address(const struct jit_lines *j, uint64_t key, uint64_t *addr)
{
	const struct jit_region *g = find(j, key);

	if (g)
		*addr = g->addr + (key - g->start);
	return g != NULL;
}

static int by_address(const void *a, const void *b, void *arg)
{
	const struct jit_lines *j = arg;
	const struct jit_region *x = &j->v[*(const uint32_t *)a], *y = &j->v[*(const uint32_t *)b];

	return x->addr != y->addr ? (x->addr < y->addr ? -1 : 1) : x->id < y->id ? -1 : x->id > y->id;
}

const char *jit_lines_at(struct jit_lines *j, uint64_t key, uint64_t addr, uint64_t *offset)
{
	const struct jit_region *from = find(j, key), *best = NULL;
	size_t lo = 0, hi = j->n;

	if (!j->by_addr) {
		j->by_addr = malloc((j->n + 1) * sizeof(*j->by_addr));
		if (!j->by_addr)
			return NULL;
		for (size_t i = 0; i < j->n; i++)
			j->by_addr[i] = (uint32_t)i;
		qsort_r(j->by_addr, j->n, sizeof(*j->by_addr), by_address, j);
	}
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (j->v[j->by_addr[mid]].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* where an address was used again: what was there when the code at key was posted, else the next that came */
	for (size_t tries = 0; lo-- > 0 && tries < 64; tries++) {
		const struct jit_region *g = &j->v[j->by_addr[lo]];

		if (addr - g->addr >= g->end - g->start)
			continue;
		if (!best || !from || (g->id <= from->id ? best->id > from->id || g->id > best->id :
							   best->id > from->id && g->id < best->id))
			best = g;
	}
	if (!best)
		return NULL;
	*offset = addr - best->addr;
	return best->name;
}

static const struct jit_inlines *inlines_of(struct jit_lines *j, const struct jit_region *g)
{
	if (j->inlines_of != g) {
		jit_inlines_done(&j->inlines);
		j->inlines = (struct jit_inlines){ 0 };
		if (g->inlines.len && jit_inlines_unpack(&j->inlines, g->inlines.data, g->inlines.len) < 0)
			j->inlines = (struct jit_inlines){ 0 };
		j->inlines_of = g;
	}
	return &j->inlines;
}

static const struct jit_inline_range *range_at(const struct jit_inlines *in, uint64_t off)
{
	const struct jit_inline_range *found = NULL;

	for (uint32_t i = 0; i < in->n_ranges && in->ranges[i].offset <= off; i++)
		found = &in->ranges[i];
	return found;
}

int jit_lines_find(struct jit_lines *j, uint64_t key, struct sym_line *ret)
{
	const struct jit_region *g = find(j, key);
	const struct jit_inline_range *range;
	struct jit_unpack u;
	struct jit_line l, at = { 0 };
	bool any = false;

	if (!g)
		return -ENOENT;
	u = jit_unpack_of(g->lines.data, g->lines.len);
	while (jit_unpack_line(&u, &l) > 0 && (l.offset <= key - g->start || (!any && key == g->start))) {
		/* at its very start a method is at its first line, even where the table begins later */
		at = l;
		any = true;
	}
	if (any && at.line) {
		ret->file = at.file ? jit_string(g->lines.strings, g->lines.strings_len, at.file) : g->source;
		ret->line = at.line;
		return ret->file ? 0 : -ENOENT;
	}
	range = range_at(inlines_of(j, g), key - g->start);
	if (!range || !range->line)
		return -ENOENT;
	ret->line = range->line;
	ret->file = range->frame == JIT_NO_FRAME ? g->source :
		    jit_string(g->inlines.strings, g->inlines.strings_len, j->inlines.frames[range->frame].file);
	return ret->file ? 0 : -ENOENT;
}

int jit_lines_inlines(struct jit_lines *j, uint64_t key, struct sym_frame frames[SYM_FRAMES_MAX])
{
	const struct jit_region *g = find(j, key);
	const struct jit_inlines *in;
	const struct jit_inline_range *range;
	uint32_t frame, line;
	int n = 0;

	if (!g || !g->inlines.len)
		return -ENOENT;
	in = inlines_of(j, g);
	range = range_at(in, key - g->start);
	if (!range)
		return -ENOENT;
	frame = range->frame;
	line = range->line;
	for (; frame != JIT_NO_FRAME && n < SYM_FRAMES_MAX - 1; frame = in->frames[frame].caller) {
		const struct jit_frame *f = &in->frames[frame];
		const char *name = jit_string(g->inlines.strings, g->inlines.strings_len, f->name);

		frames[n++] = (struct sym_frame){ name ? name : "??",
						  { jit_string(g->inlines.strings, g->inlines.strings_len, f->file), line } };
		line = f->call_line;
	}
	frames[n++] = (struct sym_frame){ g->name ? g->name : "??", { g->source, line } };
	return n;
}
