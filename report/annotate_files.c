/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samples by source file and line. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/io.h"
#include "lib/map.h"
#include "report/annotate.h"
#include "report/text.h"

struct making {
	struct query *q;
	struct annotate_files *files;
	struct strpool names;
	struct u64map lines; /* file << 32 | line -> index in the file + 1 */
};

static struct annotate_file *file_at(struct making *m, const char *path, uint32_t *number)
{
	int64_t id = strpool_id(&m->names, path, strlen(path));
	struct annotate_file *more;

	if (id < 0)
		return NULL;
	*number = (uint32_t)id;
	if ((size_t)id < m->files->n)
		return &m->files->v[id];
	more = realloc(m->files->v, (m->files->n + 1) * sizeof(*more));
	if (!more)
		return NULL;
	m->files->v = more;
	more[m->files->n] = (struct annotate_file){ .path = strdup(path), .counts = calloc(m->q->n_classes, sizeof(uint64_t)) };
	return &more[m->files->n++];
}

static struct annotate_line *line_at(struct making *m, const struct sym_line *at, struct annotate_file **ret)
{
	uint32_t number;
	struct annotate_file *f = file_at(m, at->file, &number);
	uint64_t *slot = f ? u64map_at(&m->lines, (uint64_t)number << 32 | at->line) : NULL;

	if (!slot || !f->path || !f->counts)
		return NULL;
	*ret = f;
	if (*slot)
		return &f->lines[*slot - 1];
	if (f->n == f->room) {
		size_t room = f->room ? 2 * f->room : 32;
		struct annotate_line *more = realloc(f->lines, room * sizeof(*more));

		if (!more)
			return NULL;
		f->lines = more;
		f->room = room;
	}
	f->lines[f->n] = (struct annotate_line){ .line = at->line, .counts = calloc(m->q->n_classes, sizeof(uint64_t)) };
	if (!f->lines[f->n].counts)
		return NULL;
	*slot = ++f->n;
	return &f->lines[f->n - 1];
}

static int add_symbol(struct making *m, struct query_row *r)
{
	const struct sym_line *at = query_row_line(r);
	struct annotate_file *f;
	struct annotate_line *l;
	AUTO_STRBUF sb = STRBUF_INIT;

	if (!at->line || !at->file)
		return 0;
	l = line_at(m, at, &f);
	if (!l)
		return -ENOMEM;
	if (l->symbols)
		strbuf_addf(&sb, "%s, ", l->symbols);
	strbuf_addf(&sb, "%s total: ", r->name);
	for (size_t c = 0; c < m->q->n_classes; c++) {
		strbuf_addf(&sb, "%6" PRIu64 " ", r->counts[c]);
		text_add_percent(&sb, r->counts[c], m->q->classes[c].total);
		if (c + 1 < m->q->n_classes)
			strbuf_addch(&sb, ' ');
	}
	free(l->symbols);
	l->symbols = strbuf_steal(&sb);
	return l->symbols ? 0 : -ENOMEM;
}

static int add_row(struct making *m, struct query_row *r)
{
	for (size_t i = 0; i < r->n_details; i++) {
		const struct query_detail *d = &r->details[i];
		struct sym_line at = { NULL, 0 };
		struct annotate_file *f;
		struct annotate_line *l;

		if (sym_line(d->img, d->key, &at) < 0 || !at.line || !at.file)
			continue;
		l = line_at(m, &at, &f);
		if (!l)
			return -ENOMEM;
		l->counts[d->class] += d->count;
		f->counts[d->class] += d->count;
	}
	return add_symbol(m, r);
}

static int by_line(const void *a, const void *b)
{
	const struct annotate_line *x = a, *y = b;

	return x->line < y->line ? -1 : x->line > y->line;
}

static int by_samples(const void *a, const void *b, void *arg)
{
	const struct annotate_file *x = a, *y = b;
	const struct query *q = arg;

	for (size_t c = 0; c < q->n_classes; c++)
		if (x->counts[c] != y->counts[c])
			return x->counts[c] > y->counts[c] ? -1 : 1;
	return strcmp(x->path, y->path);
}

int annotate_files_make(struct annotate_files *ret, struct query *q)
{
	struct making m = { .q = q, .files = ret };
	int r = 0;

	*ret = (struct annotate_files){ 0 };
	for (size_t i = 0; i < q->n_rows && !r; i++)
		r = add_row(&m, &q->rows[i]);
	strpool_done(&m.names);
	u64map_done(&m.lines);
	for (size_t i = 0; i < ret->n; i++)
		if (ret->v[i].n)
			qsort(ret->v[i].lines, ret->v[i].n, sizeof(*ret->v[i].lines), by_line);
	if (ret->n)
		qsort_r(ret->v, ret->n, sizeof(*ret->v), by_samples, q);
	return r;
}

void annotate_files_done(struct annotate_files *f)
{
	for (size_t i = 0; i < f->n; i++) {
		for (size_t k = 0; k < f->v[i].n; k++) {
			free(f->v[i].lines[k].counts);
			free(f->v[i].lines[k].symbols);
		}
		free(f->v[i].lines);
		free(f->v[i].path);
		free(f->v[i].counts);
	}
	free(f->v);
}

static int try_read(const char *dir, const char *path, struct strbuf *text)
{
	AUTO_STRBUF sb = STRBUF_INIT;
	AUTO_CLOSE int fd = -1;

	strbuf_addf(&sb, "%s%s%s", dir, *dir && *path != '/' ? "/" : "", path);
	if (sb.error)
		return sb.error;
	fd = open(sb.buf, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	return io_read_all(fd, text);
}

/* The path in a URL of a file, as V8 names an ES module's; NULL if url is none. */
static char *path_of_url(const char *url)
{
	AUTO_STRBUF sb = STRBUF_INIT;

	if (strncmp(url, "file:///", 8))
		return NULL;
	for (const char *s = url + 7; *s; s++) {
		unsigned int c = 0;

		if (*s == '%' && isxdigit((unsigned char)s[1]) && isxdigit((unsigned char)s[2]) && sscanf(s, "%%%2x", &c) == 1 && c)
			s += 2;
		else
			c = (unsigned char)*s;
		strbuf_addch(&sb, (char)c);
	}
	return strbuf_steal(&sb);
}

int annotate_read_source(const struct annotate *a, const char *path, struct strbuf *text)
{
	AUTO_FREE char *plain = path_of_url(path);
	const char *rest = path = plain ? plain : path;

	for (size_t i = 0; i < a->base.n; i++) {
		size_t n = strlen(a->base.v[i]);

		if (!strncmp(path, a->base.v[i], n) && (path[n] == '/' || (n && path[n - 1] == '/'))) {
			rest = path + n;
			break;
		}
	}
	for (size_t i = 0; i < a->search.n; i++)
		if (!try_read(a->search.v[i], rest, text) || !try_read(a->search.v[i], text_base(path), text))
			return 0;
	return try_read("", path, text);
}
