/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/jit/image.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "lib/reader.h"

#if __BYTE_ORDER == __LITTLE_ENDIAN
#define OUR_DATA ELFDATA2LSB
#else
#define OUR_DATA ELFDATA2MSB
#endif

static int fault(struct jit_fault *f, uint64_t at, const char *what)
{
	*f = (struct jit_fault){ .what = what, .at = at };
	return -EBADMSG;
}

static uint32_t u32_of(uint32_t v, bool swap) { return swap ? __builtin_bswap32(v) : v; }
static uint64_t u64_of(uint64_t v, bool swap) { return swap ? __builtin_bswap64(v) : v; }

void jit_identity_copy(struct jit_identity *to, const struct jit_identity *from, bool swap)
{
	memcpy(to, from, sizeof(*to));
	if (swap) {
		to->random = u64_of(to->random, true);
		to->start_time = u64_of(to->start_time, true);
		to->exec_id = u64_of(to->exec_id, true);
		to->mono_offset_ns = (int64_t)u64_of((uint64_t)to->mono_offset_ns, true);
		to->boot_offset_ns = (int64_t)u64_of((uint64_t)to->boot_offset_ns, true);
		to->open_ns = u64_of(to->open_ns, true);
		to->pid = (int32_t)u32_of((uint32_t)to->pid, true);
		to->uid = u32_of(to->uid, true);
		to->n_nspid = u32_of(to->n_nspid, true);
		for (unsigned int i = 0; i < JIT_MAX_NSPID; i++)
			to->nspid[i] = (int32_t)u32_of((uint32_t)to->nspid[i], true);
		to->lag_us = u32_of(to->lag_us, true);
		to->word_bits = u32_of(to->word_bits, true);
		to->machine = u32_of(to->machine, true);
		to->clk_tck = u32_of(to->clk_tck, true);
	}
	to->n_nspid = MIN(to->n_nspid, (uint32_t)JIT_MAX_NSPID);
	to->source[sizeof(to->source) - 1] = '\0';
	to->parent[sizeof(to->parent) - 1] = '\0';
}

enum jit_source_kind jit_identity_kind(const struct jit_identity *who)
{
	if (!strcmp(who->source, "hotspot"))
		return JIT_SOURCE_HOTSPOT;
	if (!strcmp(who->source, "mono"))
		return JIT_SOURCE_MONO;
	if (!strcmp(who->source, "opagent1"))
		return JIT_SOURCE_OPAGENT1;
	return JIT_SOURCE_OPAGENT2;
}

struct shdr { /* of either class */
	uint32_t name, type;
	uint64_t at; /* where it stands, for messages */
	struct jit_part part;
};

static void shdr_read(struct reader *r, bool is64, struct shdr *s)
{
	s->at = r->pos;
	s->name = reader_u32(r);
	s->type = reader_u32(r);
	if (is64) {
		reader_u64(r);
		s->part.addr = reader_u64(r);
		s->part.offset = reader_u64(r);
		s->part.size = reader_u64(r);
	} else {
		reader_u32(r);
		s->part.addr = reader_u32(r);
		s->part.offset = reader_u32(r);
		s->part.size = reader_u32(r);
	}
}

static int ident_check(struct jit_image *im, const uint8_t *id, struct jit_fault *f)
{
	if (memcmp(id, ELFMAG, SELFMAG))
		return fault(f, 0, "not an ELF file");
	if (id[EI_CLASS] != ELFCLASS32 && id[EI_CLASS] != ELFCLASS64)
		return fault(f, EI_CLASS, "unknown ELF class");
	if (id[EI_DATA] != ELFDATA2LSB && id[EI_DATA] != ELFDATA2MSB)
		return fault(f, EI_DATA, "unknown byte order");
	im->word_bits = id[EI_CLASS] == ELFCLASS64 ? 64 : 32;
	im->swap = id[EI_DATA] != OUR_DATA;
	return 0;
}

static struct jit_part *part_by_name(struct jit_image *im, const char *name)
{
	return !strcmp(name, ".opjit.journal") ? &im->journal :
	       !strcmp(name, ".symtab") ? &im->symtab :
	       !strcmp(name, ".strtab") ? &im->strtab :
	       !strcmp(name, ".text") ? &im->text :
	       !strcmp(name, ".opjit.code") ? &im->nobits :
	       !strcmp(name, ".opjit.info") ? &im->info : NULL;
}

static int sections_read(struct jit_image *im, struct reader *r, uint64_t shoff, unsigned int shnum, unsigned int shstrndx,
			 uint64_t file_size, struct jit_fault *f)
{
	size_t each = im->word_bits == 64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	struct shdr str = { 0 };

	if (shnum > 64 || shstrndx >= shnum)
		return fault(f, 0, "implausible number of sections");
	if (shoff > r->len || shnum * each > r->len - shoff)
		return fault(f, shoff, "section headers do not lie in front");
	r->pos = shoff + shstrndx * each;
	shdr_read(r, im->word_bits == 64, &str);
	if (str.part.offset > r->len || str.part.size > r->len - str.part.offset)
		return fault(f, str.at, "section names do not lie in front");
	for (unsigned int i = 1; i < shnum; i++) {
		struct shdr s;
		const char *names = (const char *)r->data + str.part.offset;
		struct jit_part *p;
		r->pos = shoff + i * each;
		shdr_read(r, im->word_bits == 64, &s);
		if (s.name >= str.part.size || !memchr(names + s.name, 0, str.part.size - s.name))
			return fault(f, s.at, "section name out of range");
		if (s.type != SHT_NOBITS && (s.part.offset > file_size || s.part.size > file_size - s.part.offset))
			return fault(f, s.at, "section goes beyond the end of the file");
		p = part_by_name(im, names + s.name);
		if (p && (s.type == SHT_NOBITS) != (p == &im->nobits))
			return fault(f, s.at, "section of the wrong type");
		if (p)
			*p = s.part;
	}
	return 0;
}

static int info_read(struct jit_image *im, const uint8_t *head, size_t head_len, struct jit_fault *f)
{
	struct jit_image_info *w = &im->who;

	if (im->info.size != sizeof(*w) || im->info.offset > head_len || sizeof(*w) > head_len - im->info.offset)
		return fault(f, im->info.offset, "no .opjit.info: not an image of ours");
	memcpy(w, head + im->info.offset, sizeof(*w));
	if (memcmp(w->magic, JIT_INFO_MAGIC, sizeof(w->magic)))
		return fault(f, im->info.offset, "bad magic in .opjit.info");
	w->version = u32_of(w->version, im->swap);
	w->segment = u32_of(w->segment, im->swap);
	w->first_seq = u64_of(w->first_seq, im->swap);
	jit_identity_copy(&w->who, &w->who, im->swap);
	w->instance[sizeof(w->instance) - 1] = '\0';
	if (w->version != JIT_LAYOUT_VERSION) {
		fault(f, im->info.offset + 8, "unknown layout version");
		return -EPROTONOSUPPORT;
	}
	if (w->segment >= JIT_MAX_SEGMENTS)
		return fault(f, im->info.offset + 12, "implausible segment number");
	return 0;
}

int jit_image_parse(struct jit_image *ret, const void *head, size_t head_len, uint64_t file_size, struct jit_fault *f)
{
	struct jit_image im = { 0 };
	struct reader r = reader_of(head, head_len);
	uint64_t shoff;
	unsigned int shnum, shstrndx;
	int q;

	if (head_len < JIT_IMAGE_HEAD || file_size < head_len)
		return fault(f, head_len, "shorter than its headers");
	if (file_size > JIT_IMAGE_MAX_BYTES)
		return fault(f, 0, "implausibly large");
	q = ident_check(&im, head, f);
	if (q < 0)
		return q;
	r.swap = im.swap;
	r.pos = EI_NIDENT + 2;
	im.machine = reader_u16(&r);
	reader_take(&r, im.word_bits == 64 ? 20 : 12);
	shoff = im.word_bits == 64 ? reader_u64(&r) : reader_u32(&r);
	reader_take(&r, 10);
	if (reader_u16(&r) != (im.word_bits == 64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)))
		return fault(f, r.pos - 2, "odd section header size");
	shnum = reader_u16(&r);
	shstrndx = reader_u16(&r);
	q = sections_read(&im, &r, shoff, shnum, shstrndx, file_size, f);
	if (!q)
		q = info_read(&im, head, head_len, f);
	if (q < 0)
		return q;
	if (!im.text.offset || !im.journal.offset || !im.strtab.offset || !im.symtab.offset)
		return fault(f, shoff, "a section is missing");
	*ret = im;
	return 0;
}

static void record_swap(struct jit_record *r)
{
	r->bytes = u32_of(r->bytes, true);
	r->seq = u64_of(r->seq, true);
	r->time_ns = u64_of(r->time_ns, true);
	r->id = u64_of(r->id, true);
	r->addr = u64_of(r->addr, true);
	r->flags = u32_of(r->flags, true);
	r->region_segment = u32_of(r->region_segment, true);
	r->size = u64_of(r->size, true);
	r->image_offset = u64_of(r->image_offset, true);
	r->osr_bci = (int32_t)u32_of((uint32_t)r->osr_bci, true);
	for (uint32_t *p = &r->name_off; p <= &r->unwind_len; p++)
		*p = u32_of(*p, true);
	r->desc_off = u32_of(r->desc_off, true);
	r->desc_len = u32_of(r->desc_len, true);
}

int jit_record_parse(struct jit_record *ret, const void *data, size_t len, bool swap, struct jit_fault *f)
{
	struct jit_record r = { 0 };
	uint64_t tables;

	ret->bytes = JIT_RECORD_SHORT;
	if (len < JIT_RECORD_SHORT)
		return -EAGAIN;
	memcpy(&r, data, JIT_RECORD_SHORT);
	ret->bytes = u32_of(r.bytes, swap);
	if (ret->bytes < JIT_RECORD_SHORT || ret->bytes > JIT_RECORD_MAX || ret->bytes % 8)
		return fault(f, 0, "bad record size");
	if (ret->bytes > len)
		return -EAGAIN;
	if (r.type < JIT_EVENT_LOAD || r.type > JIT_EVENT_CLOSE)
		return fault(f, 4, "unknown record type");
	if (r.type != JIT_EVENT_UNLOAD && r.type != JIT_EVENT_CLOSE) {
		if (ret->bytes < JIT_RECORD_LONG)
			return fault(f, 0, "record too short for its type");
		memcpy(&r, data, JIT_RECORD_LONG);
	}
	if (swap)
		record_swap(&r);
	tables = (uint64_t)r.lines_len + r.inlines_len + r.unwind_len;
	if (tables && tables > r.bytes - JIT_RECORD_LONG)
		return fault(f, 84, "tables go beyond their record");
	if (r.addr + r.size < r.addr)
		return fault(f, 48, "region goes round the address space");
	if (r.kind > JIT_TRAMPOLINE || r.region_segment >= JIT_MAX_SEGMENTS || r.name_len > JIT_NAME_MAX ||
	    r.source_len > JIT_NAME_MAX || r.desc_len > JIT_NAME_MAX)
		return fault(f, 5, "record field out of range");
	*ret = r;
	return 0;
}

void jit_record_event(struct jit_event *e, const struct jit_record *r, const void *data, const struct jit_identity *who)
{
	const uint8_t *tables = (const uint8_t *)data + JIT_RECORD_LONG;

	*e = (struct jit_event){
		.type = r->type, .kind = r->kind, .tier = r->tier, .flags = r->flags, .osr_bci = r->osr_bci,
		.time_ns = jit_identity_time(who, r->time_ns), .addr = r->addr, .size = r->size, .id = r->id,
		.segment = r->region_segment,
	};
	if (r->type == JIT_EVENT_MOVE)
		e->old_addr = r->image_offset;
	else
		e->image_offset = r->image_offset;
	if (r->lines_len)
		e->lines = tables, e->lines_len = r->lines_len;
	if (r->inlines_len)
		e->inlines = tables + r->lines_len, e->inlines_len = r->inlines_len;
	if (r->unwind_len)
		e->unwind = tables + r->lines_len + r->inlines_len, e->unwind_len = r->unwind_len;
}

/* A string of known length inside .strtab. */
static bool string_in(const struct jit_image *im, const uint8_t *data, uint32_t off, uint32_t len, const char **ret, size_t *n)
{
	if (!len)
		return true;
	if (off >= im->strtab.size || len > im->strtab.size - off)
		return false;
	*ret = (const char *)data + im->strtab.offset + off;
	*n = len;
	return true;
}

int jit_walk_next(struct jit_walk *w, struct jit_event *e, struct jit_fault *f)
{
	const struct jit_image *im = w->image;
	const uint8_t *at = w->data + im->journal.offset + w->pos;
	struct jit_record r;
	int q;

	if (w->pos >= im->journal.size)
		return 0;
	q = jit_record_parse(&r, at, im->journal.size - w->pos, im->swap, f);
	if (q == -EAGAIN)
		q = fault(f, 0, "record goes beyond the journal");
	if (!q && w->seq && r.seq != w->seq + 1)
		q = fault(f, 8, "record out of sequence");
	if (!q) {
		jit_record_event(e, &r, at, &im->who.who);
		e->strings = (const char *)w->data + im->strtab.offset;
		e->strings_len = im->strtab.size;
		if (!string_in(im, w->data, r.name_off, r.name_len, &e->name, &e->name_len) ||
		    !string_in(im, w->data, r.source_off, r.source_len, &e->source_file, &e->source_file_len) ||
		    !string_in(im, w->data, r.desc_off, r.desc_len, &e->descriptor, &e->descriptor_len))
			q = fault(f, 68, "string goes beyond .strtab");
	}
	if (q < 0) {
		f->at += im->journal.offset + w->pos;
		return q;
	}
	w->pos += r.bytes;
	w->seq = r.seq;
	w->record = r;
	return 1;
}
