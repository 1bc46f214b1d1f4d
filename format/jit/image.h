/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_FORMAT_JIT_IMAGE_H
#define OPJIT_FORMAT_JIT_IMAGE_H
/*
 * Checked reading of an image of ours (NAME.jo): growing, dead or saved, of either ELF class and byte order.
 *
 *	struct jit_image im; struct jit_fault f;
 *	if (jit_image_parse(&im, data, len, len, &f) < 0) … f.what, f.at …
 *	struct jit_walk w = jit_walk_of(&im, data);
 *	while ((r = jit_walk_next(&w, &event, &f)) > 0) …
 *
 * The image may be growing meanwhile: parse takes the sizes once, and what lies below them does not change any more. So
 * map or read a file only as far as it goes, and parse a *copy* of its first 4096 bytes.
 */
#include "format/jit/event.h"
#include "format/jit/layout.h"
#include "lib/util.h"

#define JIT_IMAGE_HEAD 4096u /* headers, section names and .opjit.info lie in here */
#define JIT_IMAGE_MAX_BYTES (1ull << 32)

struct jit_fault { /* why something was refused, and where in the file */
	const char *what; /* static */
	uint64_t at;
};

struct jit_part {
	uint64_t offset, size, addr;
};

struct jit_image {
	bool swap;              /* of the other byte order */
	uint8_t word_bits;      /* ELF class: 32 or 64 */
	uint16_t machine;
	struct jit_part journal, symtab, strtab, text, nobits, info;
	struct jit_image_info who; /* in our byte order; strings NUL-terminated */
};

/* head: the first bytes of the file, at least JIT_IMAGE_HEAD. 0, -EBADMSG or -EPROTONOSUPPORT (version). */
int jit_image_parse(struct jit_image *ret, const void *head, size_t head_len, uint64_t file_size, struct jit_fault *f);

/*
 * One journal record out of `len` bytes that begin at a record. 0 and *ret in our byte order; -EBADMSG with the
 * offset of the fault from `data` in f->at. -EAGAIN: it goes on behind len (ret->bytes tells how far).
 */
int jit_record_parse(struct jit_record *ret, const void *data, size_t len, bool swap, struct jit_fault *f);
/* Fills everything but the name, source_file and strings; tables point into data. segment etc. as recorded. */
void jit_record_event(struct jit_event *e, const struct jit_record *r, const void *data, const struct jit_identity *who);

/* Walks the whole journal of an image whose bytes are all in memory (at least up to the end of its sections). */
struct jit_walk {
	const uint8_t *data;
	const struct jit_image *image;
	uint64_t pos;   /* in the journal */
	uint64_t seq;   /* of the record before */
	struct jit_record record; /* of the event given last */
};
static inline struct jit_walk jit_walk_of(const struct jit_image *image, const void *data)
{
	return (struct jit_walk){ .data = data, .image = image };
}
/* 1, 0 (end) or -EBADMSG. Everything e points to lies in the image's bytes. */
int jit_walk_next(struct jit_walk *w, struct jit_event *e, struct jit_fault *f);

/* Copies an identity that may be of the other byte order, and terminates its strings. */
void jit_identity_copy(struct jit_identity *to, const struct jit_identity *from, bool swap);
enum jit_source_kind jit_identity_kind(const struct jit_identity *who);
/* A writer's stamp on the host's CLOCK_MONOTONIC. */
static inline uint64_t jit_identity_time(const struct jit_identity *who, uint64_t ns)
{
	return ns - (uint64_t)who->mono_offset_ns;
}

#endif
