/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/io.h"
#include "report/symimage.h"
#include "report/text.h"

int symbols_new(struct symbols **ret, struct session *s, const struct symbols_opts *o)
{
	struct symbols *y = calloc(1, sizeof(*y));
	size_t n = 0;

	if (!y)
		return -ENOMEM;
	elf_version(EV_CURRENT);
	y->session = s;
	y->kallsyms.cap = (size_t)256 << 20;
	y->kallsyms_error = 1;
	y->tiers = o && o->tiers;
	y->rootfd = o && o->in_root ? o->rootfd : -1;
	while (o && o->dirs && o->dirs[n])
		n++;
	y->dirs = calloc(n + 1, sizeof(*y->dirs));
	if (!y->dirs)
		goto fail;
	for (size_t i = 0; i < n; i++)
		if (!(y->dirs[i] = strdup(o->dirs[i])))
			goto fail;
	if (o && o->root && !(y->root = strdup(o->root)))
		goto fail;
	if (o && o->archive && !(y->archive = strdup(o->archive)))
		goto fail;
	*ret = y;
	return 0;
fail:
	symbols_free(y);
	return -ENOMEM;
}

static void image_free(struct sym_image *img)
{
	if (!img)
		return;
	dwarf_lines_free(img->dwarf);
	jit_lines_free(img->jit);
	elfsyms_close(img);
	free(img->image);
	free(img->path);
	free(img->debug_path);
	free(img->segments);
	free(img->syms);
	free(img->max_end);
	for (struct sym_word *w = img->words, *next; w; w = next) {
		next = w->next;
		free(w);
	}
	free(img);
}

void symbols_free(struct symbols *y)
{
	if (!y)
		return;
	for (size_t i = 0; i < y->n_images; i++)
		image_free(y->images[i]);
	free(y->images);
	for (size_t i = 0; y->dirs && y->dirs[i]; i++)
		free(y->dirs[i]);
	free(y->dirs);
	free(y->root);
	free(y->archive);
	strpool_done(&y->keys);
	strpool_done(&y->names);
	strbuf_done(&y->kallsyms);
	free(y->ksyms);
	free(y);
}

int64_t symbols_name_id(struct symbols *y, const char *name)
{
	return strpool_id(&y->names, name, strlen(name));
}

/* The session's copy of what the kernel maps into 64-bit processes, if f is samples of it. NULL otherwise. */
static char *vdso_path(const struct symbols *y, const struct session_file *f)
{
	AUTO_STRBUF path = STRBUF_INIT;
	struct stat st;

	if (!y->session || strcmp(f->image, "[vdso]") != 0 || f->start <= UINT32_MAX)
		return NULL;
	strbuf_addf(&path, "%s/vdso", session_dir(y->session));
	if (path.error || stat(path.buf, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != f->end - f->start ||
	    st.st_size > SESSION_VDSO_MAX)
		return NULL;
	return strbuf_steal(&path);
}

struct sym_image *symbols_image(struct symbols *y, const struct session_file *f)
{
	AUTO_STRBUF key = STRBUF_INIT;
	struct sym_image *img, **more;
	int64_t id;

	strbuf_addf(&key, "%d:%s", f->kind, f->image);
	if (f->kind == SESSION_ANON)
		strbuf_addf(&key, ":%d:%" PRIx64, f->tgid, f->start);
	if (key.error)
		return NULL;
	id = strpool_id(&y->keys, key.buf, key.len);
	if (id < 0)
		return NULL;
	if ((size_t)id < y->n_images)
		return y->images[id];
	more = realloc(y->images, (y->n_images + 1) * sizeof(*more));
	if (!more)
		return NULL;
	y->images = more;
	img = calloc(1, sizeof(*img));
	if (!img)
		return NULL;
	img->fd = img->debug_fd = -1;
	img->owner = y;
	img->kind = f->kind;
	img->image = strdup(f->image);
	if (!img->image) {
		image_free(img);
		return NULL;
	}
	if (f->kind == SESSION_FILE || f->kind == SESSION_JIT) {
		AUTO_STRBUF path = STRBUF_INIT;

		if (!y->session)
			img->path = strdup(f->image);
		else if (!session_image_path(y->session, f, &path))
			img->path = strbuf_steal(&path);
	} else if (f->kind == SESSION_ANON) {
		img->path = vdso_path(y, f);
	}
	img->number = y->n_images;
	y->images[y->n_images++] = img;
	return img;
}

/* --- where the file is ---------------------------------------------------------------------------------- */

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

static bool try_path(struct sym_image *img, const char *dir, const char *name)
{
	AUTO_STRBUF sb = STRBUF_INIT;

	strbuf_addf(&sb, "%s%s%s", dir, *name == '/' ? "" : "/", name);
	if (sb.error || !is_file(sb.buf))
		return false;
	free(img->path);
	img->path = strbuf_steal(&sb);
	return true;
}

static void image_locate(struct sym_image *img)
{
	struct symbols *y = img->owner;

	if (img->kind != SESSION_FILE)
		return;
	if (y->archive) {
		if (!try_path(img, y->archive, img->image) && img->path && strncmp(img->path, y->archive, strlen(y->archive))) {
			free(img->path); /* this machine's file may be another one */
			img->path = NULL;
		}
		return;
	}
	if (y->root && try_path(img, y->root, img->image))
		return;
	if (img->path)
		return;
	for (size_t i = 0; y->dirs[i]; i++)
		if (try_path(img, y->dirs[i], img->image) || try_path(img, y->dirs[i], text_base(img->image)))
			return;
}

static void journal_open(struct sym_image *img)
{
	if (img->jit_opened || img->kind != SESSION_JIT || !img->path)
		return;
	img->jit_opened = true;
	(void)jit_lines_new(&img->jit, img->path);
}

static void add_tiers(struct sym_image *img)
{
	struct names_v8 v8;

	if (!sym_is_jit(img))
		return;
	journal_open(img);
	for (size_t i = 0; i < img->n; i++) {
		struct sym *s = &img->syms[i];

		if (img->jit)
			(void)jit_lines_facts(img->jit, s->start, s);
		if (s->tier < 0 && names_v8(s->name, &v8))
			s->tier = (int8_t)v8.tier;
	}
}

/* There is one for each process, all of the same small file: none keeps it open. */
static void keep_in_memory(struct sym_image *img)
{
	if (img->fd < 0 || (img->elf && elf_cntl(img->elf, ELF_C_FDREAD) < 0))
		return;
	close(img->fd);
	img->fd = -1;
}

static void image_open(struct sym_image *img)
{
	if (img->opened)
		return;
	img->opened = true;
	image_locate(img);
	switch (img->kind) {
	case SESSION_KERNEL:
		img->error = kallsyms_open(img);
		break;
	case SESSION_FILE:
	case SESSION_JIT:
		img->error = img->path ? elfsyms_open(img) : -ENOENT;
		break;
	case SESSION_ANON:
		img->error = img->path ? elfsyms_open(img) : 0;
		keep_in_memory(img);
		break;
	}
	if (!img->error)
		img->error = sym_image_finish(img);
	if (img->error)
		img->n = 0;
	else if (img->owner->tiers)
		add_tiers(img);
}

/* --- the table ------------------------------------------------------------------------------------------- */

int sym_image_add(struct sym_image *img, const struct sym *s)
{
	if (img->n == img->room) {
		size_t room = img->room ? 2 * img->room : 1024;
		struct sym *more = realloc(img->syms, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		img->syms = more;
		img->room = room;
	}
	img->syms[img->n++] = *s;
	return 0;
}

struct sym_word *sym_word_new(struct sym_image *img, const char *s, size_t len, const char *after)
{
	size_t more = strlen(after) + 1;
	struct sym_word *w = malloc(sizeof(*w) + len + more);

	if (!w)
		return NULL;
	memcpy(w->text, s, len);
	memcpy(w->text + len, after, more);
	w->next = img->words;
	return img->words = w;
}

static int by_start(const void *a, const void *b)
{
	const struct sym *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return strncmp(x->name, y->name, SYM_NAME_CMP_MAX);
}

int sym_image_finish(struct sym_image *img)
{
	size_t n = 0;
	uint64_t max = 0;

	for (size_t i = 1; i < img->n; i++)
		if (by_start(&img->syms[i - 1], &img->syms[i]) > 0) {
			qsort(img->syms, img->n, sizeof(*img->syms), by_start);
			break;
		}
	for (size_t i = 0; i < img->n; i++)
		if (!n || img->syms[n - 1].start != img->syms[i].start)
			img->syms[n++] = img->syms[i];
	img->n = n;
	img->max_end = malloc((n + 1) * sizeof(*img->max_end));
	if (!img->max_end)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct sym *s = &img->syms[i];

		if (!s->rank && i + 1 < n && (s->end > img->syms[i + 1].start || !s->end))
			s->end = img->syms[i + 1].start; /* a symbol without size ends where the next begins */
		if (s->end > max)
			max = s->end;
		img->max_end[i] = max;
	}
	return 0;
}

const struct sym *sym_at_vma(struct sym_image *img, uint64_t vma)
{
	size_t lo = 0, hi;

	image_open(img);
	for (hi = img->n; lo < hi;) { /* the first that starts after vma */
		size_t mid = lo + (hi - lo) / 2;

		if (img->syms[mid].start <= vma)
			lo = mid + 1;
		else
			hi = mid;
	}
	while (lo-- > 0 && img->max_end[lo] > vma)
		if (img->syms[lo].end > vma)
			return &img->syms[lo];
	return NULL;
}

static uint64_t vma_of(const struct sym_image *img, uint64_t key)
{
	if (img->kind == SESSION_KERNEL)
		return img->base + key;
	for (size_t i = 0; i < img->n_segments && img->kind != SESSION_JIT; i++) { /* executable ones stand in front */
		const struct sym_segment *g = &img->segments[i];

		if (key >= g->offset && key - g->offset < g->filesz)
			return key - g->offset + g->vaddr;
	}
	return key;
}

const struct sym *sym_find(struct sym_image *img, uint64_t key, uint64_t *ret_vma)
{
	uint64_t vma;

	image_open(img);
	vma = vma_of(img, key);
	if (ret_vma)
		*ret_vma = vma;
	return sym_at_vma(img, vma);
}

bool sym_offset(struct sym_image *img, uint64_t vma, uint64_t *offset)
{
	image_open(img);
	if (img->kind == SESSION_JIT) {
		*offset = vma;
		return true;
	}
	for (size_t i = 0; i < img->n_segments; i++) {
		const struct sym_segment *g = &img->segments[i];

		if (vma >= g->vaddr && vma - g->vaddr < g->filesz) {
			*offset = vma - g->vaddr + g->offset;
			return true;
		}
	}
	return false;
}

int64_t sym_code(struct sym_image *img, uint64_t vma, void *buf, size_t len)
{
	AUTO_CLOSE int again = -1;
	uint64_t offset;
	ssize_t n;
	int fd;

	if (!sym_offset(img, vma, &offset))
		return -ENOENT;
	if (img->fd < 0 && img->kind == SESSION_ANON && img->path)
		again = io_open_regular(AT_FDCWD, img->path, O_RDONLY);
	fd = again < 0 ? img->fd : again;
	if (fd < 0)
		return -ENOENT;
	do
		n = pread(fd, buf, len, (off_t)offset);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

const struct sym *sym_all(struct sym_image *img, size_t *n)
{
	image_open(img);
	*n = img->n;
	return img->syms;
}

unsigned int sym_machine(struct sym_image *img, bool *is64)
{
	image_open(img);
	*is64 = img->is64;
	return img->machine;
}

size_t sym_image_number(const struct sym_image *img)
{
	return img->number;
}

bool sym_is_jit(const struct sym_image *img)
{
	return img->kind == SESSION_JIT;
}

const char *sym_image_path(struct sym_image *img)
{
	image_open(img);
	return img->path;
}

int sym_image_error(struct sym_image *img)
{
	image_open(img);
	return img->error;
}

void symbols_each_missing(struct symbols *y, void (*fn)(void *arg, const char *image, int error), void *arg)
{
	for (size_t i = 0; i < y->n_images; i++)
		if (y->images[i]->opened && y->images[i]->error)
			fn(arg, y->images[i]->image, y->images[i]->error);
}

/* --- lines ----------------------------------------------------------------------------------------------- */

/* DWARF where there is some, else the journal. */
static void lines_open(struct sym_image *img)
{
	image_open(img);
	if (img->lines_opened)
		return;
	img->lines_opened = true;
	if (img->elf)
		(void)dwarf_lines_new(&img->dwarf, img);
	if (!img->dwarf)
		journal_open(img);
}

/* No lines told: where the function begins may stand in its name. */
static int line_of_name(struct sym_image *img, uint64_t key, struct sym_line *ret)
{
	const struct sym *s = sym_is_jit(img) ? sym_find(img, key, NULL) : NULL;
	struct names_v8 v8;
	struct sym_word *w;

	if (!s || !names_v8(s->name, &v8) || !v8.file_len || !v8.line)
		return -ENOENT;
	for (w = img->words; w; w = w->next)
		if (!strncmp(w->text, v8.file, v8.file_len) && !w->text[v8.file_len])
			break;
	if (!w && !(w = sym_word_new(img, v8.file, v8.file_len, "")))
		return -ENOMEM;
	*ret = (struct sym_line){ w->text, v8.line };
	return 0;
}

int sym_line(struct sym_image *img, uint64_t key, struct sym_line *ret)
{
	int r = -ENOENT;

	lines_open(img);
	if (img->dwarf)
		r = dwarf_lines_find(img->dwarf, vma_of(img, key), ret);
	if (r < 0 && img->jit)
		r = jit_lines_find(img->jit, key, ret);
	if (r == -ENOENT)
		r = line_of_name(img, key, ret);
	return r;
}

int sym_inlines(struct sym_image *img, uint64_t key, struct sym_frame frames[SYM_FRAMES_MAX])
{
	const struct sym *s = sym_find(img, key, NULL);
	int n = -ENOENT;

	lines_open(img);
	if (img->dwarf)
		n = dwarf_lines_inlines(img->dwarf, vma_of(img, key), frames);
	if (n <= 0 && img->jit)
		n = jit_lines_inlines(img->jit, key, frames);
	if (n <= 0 && s) {
		frames[0] = (struct sym_frame){ .name = s->name };
		if (sym_line(img, key, &frames[0].at) < 0)
			frames[0].at = (struct sym_line){ NULL, 0 };
		n = 1;
	}
	if (n > 0 && s) /* the outermost is the symbol, whatever DWARF calls it */
		frames[n - 1].name = s->name;
	return n > 0 ? n : -ENOENT;
}

bool sym_jit_address(struct sym_image *img, uint64_t key, uint64_t *addr)
{
	image_open(img);
	journal_open(img);
	return img->jit && jit_lines_address(img->jit, key, addr);
}

const char *sym_jit_name(struct sym_image *img, uint64_t key, uint64_t addr, uint64_t *offset)
{
	image_open(img);
	journal_open(img);
	return img->jit ? jit_lines_at(img->jit, key, addr, offset) : NULL;
}
