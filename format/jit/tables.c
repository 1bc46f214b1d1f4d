/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/jit/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void put(struct jit_pack *p, uint32_t v)
{
	while (v >= 0x80) {
		*p->at++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p->at++ = (uint8_t)v;
}

static uint32_t zigzag(int32_t v) { return (uint32_t)v << 1 ^ (uint32_t)(v >> 31); }
static int32_t unzigzag(uint32_t v) { return (int32_t)(v >> 1 ^ -(v & 1)); }

void jit_pack_count(struct jit_pack *p, uint32_t n)
{
	put(p, n);
	p->offset = p->line = p->file = 0;
}

void jit_pack_line(struct jit_pack *p, const struct jit_line *l)
{
	uint32_t d = (l->offset - p->offset) & 0x7fffffff; /* a region is smaller than 2 GiB */
	bool other = l->file != p->file;

	put(p, d << 1 | other);
	put(p, zigzag((int32_t)(l->line - p->line)));
	if (other)
		put(p, l->file);
	p->offset = l->offset;
	p->line = l->line;
	p->file = l->file;
}

void jit_pack_frame(struct jit_pack *p, const struct jit_frame *f)
{
	put(p, f->caller + 1);
	put(p, f->name);
	put(p, f->file);
	put(p, f->call_line);
}

void jit_pack_range(struct jit_pack *p, const struct jit_inline_range *r)
{
	put(p, r->offset - p->offset);
	put(p, r->frame + 1);
	put(p, r->line);
	p->offset = r->offset;
}

void jit_pack_unwind(struct jit_pack *p, const struct jit_unwind_row *u)
{
	put(p, u->offset - p->offset);
	put(p, u->cfa_reg);
	put(p, zigzag(u->cfa_offset));
	put(p, zigzag(u->ra_offset));
	put(p, zigzag(u->fp_offset));
	put(p, u->flags);
	p->offset = u->offset;
}

static bool get(struct jit_unpack *u, uint32_t *ret)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 35 && u->at < u->end; shift += 7) {
		uint8_t b = *u->at++;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*ret = (uint32_t)v;
			return v <= UINT32_MAX;
		}
	}
	return false;
}

/* The count in front of a list whose entries take at least `least` bytes each. */
static bool get_count(struct jit_unpack *u, size_t least, uint32_t *ret)
{
	return get(u, ret) && *ret <= (size_t)(u->end - u->at) / least;
}

static int begin(struct jit_unpack *u, size_t least)
{
	if (!u->begun) {
		u->begun = true;
		if (u->at < u->end && !get_count(u, least, &u->left))
			return -EBADMSG;
	}
	if (!u->left)
		return u->at == u->end ? 0 : -EBADMSG;
	u->left--;
	return 1;
}

static bool advance(uint32_t *offset, uint32_t delta)
{
	return !__builtin_add_overflow(*offset, delta, offset);
}

int jit_unpack_line(struct jit_unpack *u, struct jit_line *ret)
{
	uint32_t head, line;
	int r = begin(u, 2);

	if (r <= 0)
		return r;
	if (!get(u, &head) || !get(u, &line) || !advance(&u->offset, head >> 1))
		return -EBADMSG;
	if (head & 1 && !get(u, &u->file))
		return -EBADMSG;
	u->line += (uint32_t)unzigzag(line);
	*ret = (struct jit_line){ .offset = u->offset, .line = u->line, .file = u->file };
	return 1;
}

int jit_unpack_unwind(struct jit_unpack *u, struct jit_unwind_row *ret)
{
	uint32_t d, reg, cfa, ra, fp, flags;
	int r = begin(u, 6);

	if (r <= 0)
		return r;
	if (!get(u, &d) || !get(u, &reg) || !get(u, &cfa) || !get(u, &ra) || !get(u, &fp) || !get(u, &flags) ||
	    !advance(&u->offset, d) || reg > UINT16_MAX || ra > UINT16_MAX || fp > UINT16_MAX || flags > UINT16_MAX)
		return -EBADMSG;
	*ret = (struct jit_unwind_row){ .offset = u->offset, .cfa_reg = (uint16_t)reg, .cfa_offset = unzigzag(cfa),
					.ra_offset = (int16_t)unzigzag(ra), .fp_offset = (int16_t)unzigzag(fp),
					.flags = (uint16_t)flags };
	return 1;
}

/* Every chain of callers must end. Each frame is walked once: `seen` holds the walk that visited it. */
static bool frames_end(const struct jit_inlines *i)
{
	uint32_t *seen = calloc(i->n_frames + (size_t)1, sizeof(*seen));
	bool good = seen;

	for (uint32_t f = 0; good && f < i->n_frames; f++)
		for (uint32_t at = f; at != JIT_NO_FRAME; at = i->frames[at].caller) {
			if (seen[at]) {
				good = seen[at] != f + 1;
				break;
			}
			seen[at] = f + 1;
		}
	free(seen);
	return good;
}

static int unpack_frames(struct jit_unpack *u, struct jit_inlines *i)
{
	uint32_t n;

	if (!get_count(u, 4, &n))
		return -EBADMSG;
	i->frames = calloc(n + (size_t)1, sizeof(*i->frames));
	if (!i->frames)
		return -ENOMEM;
	i->n_frames = n;
	for (uint32_t k = 0; k < n; k++) {
		struct jit_frame *f = &i->frames[k];
		if (!get(u, &f->caller) || !get(u, &f->name) || !get(u, &f->file) || !get(u, &f->call_line) ||
		    f->caller > n)
			return -EBADMSG;
		f->caller--; /* 0 becomes JIT_NO_FRAME */
	}
	return frames_end(i) ? 0 : -EBADMSG;
}

static int unpack_ranges(struct jit_unpack *u, struct jit_inlines *i)
{
	uint32_t n, offset = 0;

	if (!get_count(u, 3, &n))
		return -EBADMSG;
	i->ranges = calloc(n + (size_t)1, sizeof(*i->ranges));
	if (!i->ranges)
		return -ENOMEM;
	i->n_ranges = n;
	for (uint32_t k = 0; k < n; k++) {
		struct jit_inline_range *r = &i->ranges[k];
		uint32_t d;
		if (!get(u, &d) || !get(u, &r->frame) || !get(u, &r->line) || !advance(&offset, d) ||
		    r->frame > i->n_frames)
			return -EBADMSG;
		r->offset = offset;
		r->frame--;
	}
	return u->at == u->end ? 0 : -EBADMSG;
}

int jit_inlines_unpack(struct jit_inlines *ret, const void *data, size_t len)
{
	struct jit_unpack u = jit_unpack_of(data, len);
	struct jit_inlines i = { 0 };
	int r = 0;

	if (len) {
		r = unpack_frames(&u, &i);
		if (!r)
			r = unpack_ranges(&u, &i);
	}
	if (r < 0)
		jit_inlines_done(&i);
	else
		*ret = i;
	return r;
}

void jit_inlines_done(struct jit_inlines *i)
{
	free(i->frames);
	free(i->ranges);
	*i = (struct jit_inlines){ 0 };
}

const char *jit_string(const char *strings, size_t strings_len, uint32_t offset)
{
	if (!offset || offset >= strings_len || !memchr(strings + offset, 0, strings_len - offset))
		return NULL;
	return strings + offset;
}
