/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From an image of libopagent to a sealed one. */
#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/jit/image.h"
#include "jitconv/seal.h"
#include "lib/map.h"
#include "lib/strbuf.h"

#define JOURNAL_CAP ((size_t)1 << 30)
#define GIVE_BACK_EVERY 10000 /* regions */

struct regions {
	struct seal_region *r;
	size_t n, room;
	struct u64map by_id;  /* region number -> index + 1 */
	struct strbuf journal; /* records without their tables */
	struct strbuf notes;   /* per record of the journal: offsets of its strings still to be set */
};

static void regions_done(struct regions *x)
{
	free(x->r);
	u64map_done(&x->by_id);
	strbuf_done(&x->journal);
	strbuf_done(&x->notes);
}

static void set_tables(struct seal_region *r, const struct jit_event *e)
{
	if (e->lines_len) {
		r->lines = e->lines;
		r->lines_len = e->lines_len;
	}
	if (e->inlines_len) {
		r->inlines = e->inlines;
		r->inlines_len = e->inlines_len;
	}
	if (e->unwind_len) {
		r->unwind = e->unwind;
		r->unwind_len = e->unwind_len;
	}
	if (e->source_file_len) {
		r->source_file = e->source_file;
		r->source_file_len = e->source_file_len;
	}
	r->strings = e->strings;
	r->strings_len = e->strings_len;
}

static int region_new(struct regions *x, const struct jit_event *e)
{
	struct seal_region *r;

	if (x->n == x->room) {
		size_t room = x->room * 2 + 1024;
		r = realloc(x->r, room * sizeof(*r));
		if (!r)
			return -ENOMEM;
		x->r = r;
		x->room = room;
	}
	r = &x->r[x->n++];
	*r = (struct seal_region){ .offset = e->image_offset, .size = e->size, .name = e->name, .name_len = e->name_len,
				   .no_bytes = e->flags & JIT_NO_BYTES };
	set_tables(r, e);
	return u64map_put(&x->by_id, e->id, x->n);
}

struct note {
	uint64_t record; /* offset in the stripped journal */
	const char *name, *source, *descriptor;
	size_t name_len, source_len, descriptor_len;
};

/* Keeps the record, so that tiers, times and process addresses are not lost; its tables become DWARF. */
static int journal_keep(struct regions *x, const struct jit_record *rec, const struct jit_event *e)
{
	struct jit_record r = *rec;
	bool is_short = r.type == JIT_EVENT_UNLOAD || r.type == JIT_EVENT_CLOSE;
	struct note n = { x->journal.len, e->name, e->source_file, e->descriptor, e->name_len, e->source_file_len, e->descriptor_len };

	r.bytes = is_short ? JIT_RECORD_SHORT : JIT_RECORD_LONG;
	r.lines_len = r.inlines_len = r.unwind_len = 0;
	strbuf_add(&x->journal, &r, r.bytes);
	if (!is_short)
		strbuf_add(&x->notes, &n, sizeof(n));
	return x->journal.error ? x->journal.error : x->notes.error;
}

static int collect(struct regions *x, const struct jit_image *im, const void *image, struct jit_fault *f)
{
	struct jit_walk w = jit_walk_of(im, image);
	struct jit_event e;
	uint64_t *at;
	int r;

	while ((r = jit_walk_next(&w, &e, f)) > 0) {
		if (e.type == JIT_EVENT_LOAD && e.segment == im->who.segment) {
			r = region_new(x, &e);
		} else if (e.type == JIT_EVENT_AMEND) {
			at = u64map_get(&x->by_id, e.id);
			if (at)
				set_tables(&x->r[*at - 1], &e);
			continue;
		}
		if (r >= 0)
			r = journal_keep(x, &w.record, &e);
		if (r < 0)
			return r;
	}
	return r;
}

static int by_offset(const void *a, const void *b)
{
	const struct seal_region *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Names in the kept journal point into the new string table. */
static int journal_rename(struct regions *x, struct seal *s)
{
	for (size_t at = 0; at < x->notes.len; at += sizeof(struct note)) {
		struct jit_record *rec;
		struct note n;
		int r;
		memcpy(&n, x->notes.buf + at, sizeof(n));
		rec = (void *)(x->journal.buf + n.record); /* records are multiples of 8 in malloc'ed memory */
		r = seal_string(s, n.name, n.name_len, &rec->name_off);
		if (!r)
			r = seal_string(s, n.source, n.source_len, &rec->source_off);
		if (!r)
			r = seal_string(s, n.descriptor, n.descriptor_len, &rec->desc_off);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool inside(const struct seal_region *r, const struct jit_image *im)
{
	const struct jit_part *p = r->no_bytes ? &im->nobits : &im->text;
	uint64_t low = r->no_bytes ? p->addr : p->offset;

	return r->offset >= low && r->offset - low <= p->size && r->size <= p->size - (r->offset - low);
}

static uint16_t language_of(const struct jit_image *im)
{
	return jit_identity_kind(&im->who.who) == JIT_SOURCE_HOTSPOT ? DW_LANG_Java : DW_LANG_C11;
}

/* What lies before and behind .text was read: two thirds of the memory that an image takes. It is there again if it is touched. */
static void give_back(const void *image, size_t len, const struct jit_part *text)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), base = (uintptr_t)image;
	uintptr_t before = (base + text->offset) & ~(page - 1), behind = (base + text->offset + text->size + page - 1) & ~(page - 1);

	if (base % page)
		return;
	if (before > base)
		madvise((void *)base, before - base, MADV_DONTNEED);
	if (behind < base + len)
		madvise((void *)behind, base + len - behind, MADV_DONTNEED);
}

static int seal_all(struct regions *x, struct seal *s, const struct jit_image *im, const void *image, int fd, size_t mapped)
{
	const char *data = image;
	struct seal_text t = { .bytes = data + im->text.offset, .offset = im->text.offset, .len = im->text.size };
	uint64_t nobits_end = 0;
	int r;

	if (x->n)
		qsort(x->r, x->n, sizeof(*x->r), by_offset);
	for (size_t i = 0; i < x->n; i++) {
		/* Tables are read in the order of the text, once; the strings come back. */
		if (mapped && i % GIVE_BACK_EVERY == 0)
			give_back(image, mapped, &im->text);
		if (!inside(&x->r[i], im))
			continue;
		if (x->r[i].no_bytes)
			nobits_end = MAX(nobits_end, x->r[i].offset + x->r[i].size);
		r = seal_add(s, &x->r[i]);
		if (r < 0)
			return r;
	}
	if (nobits_end) {
		t.nobits_offset = im->nobits.addr;
		t.nobits_len = nobits_end - im->nobits.addr;
	}
	free(x->r);
	x->r = NULL;
	u64map_done(&x->by_id);
	r = journal_rename(x, s);
	strbuf_done(&x->notes);
	if (!r)
		r = seal_section(s, ".opjit.journal", x->journal.buf, x->journal.len);
	if (!r)
		r = seal_section(s, ".opjit.info", data + im->info.offset, im->info.size);
	if (mapped)
		give_back(image, mapped, &im->text);
	return r < 0 ? r : seal_write(s, fd, &t);
}

int seal_image(const void *image, size_t len, int fd, const struct seal_opts *o, struct seal_stats *stats, const char **why,
	       uint64_t *bad_at)
{
	AUTO(regions_done) struct regions x = { .journal = STRBUF_INIT_CAP(JOURNAL_CAP), .notes = STRBUF_INIT_CAP(JOURNAL_CAP) };
	struct seal_opts opts = o ? *o : (struct seal_opts){ 0 };
	struct jit_fault f = { 0 };
	struct jit_image im;
	struct seal *s;
	int r;

	r = jit_image_parse(&im, image, len, len, &f);
	if (!r && im.swap) {
		f.what = "an image of the other byte order is sealed on a machine of that order";
		r = -EPROTONOSUPPORT;
	}
	if (!r)
		r = collect(&x, &im, image, &f);
	if (r == -EBADMSG && x.n) {
		r = 0; /* damage in the journal: what stands before it is good */
		f.what = NULL;
	}
	if (r < 0) {
		*why = f.what;
		*bad_at = f.at;
		return r;
	}
	opts.machine = im.machine;
	opts.elf_class = im.word_bits == 64 ? ELFCLASS64 : ELFCLASS32;
	opts.language = opts.language ? opts.language : language_of(&im);
	r = seal_new(&s, &opts);
	if (r < 0)
		return r;
	r = seal_all(&x, s, &im, image, fd, opts.mapped ? len : 0);
	if (stats)
		seal_stats(s, stats);
	seal_free(s);
	return r;
}
