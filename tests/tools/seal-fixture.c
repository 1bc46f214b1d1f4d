/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * seal-fixture FILE [N]: writes a sealed image with known content: three regions (or N), the second with inlining three
 * deep, the third without bytes. What every address should say stands in tests/cli/seal.sh.
 *
 *	0x1000 outer: com.acme.Outer.run(int), com/acme/Outer.java
 *	  +0   own code, line 10
 *	  +16  inlined Middle.mid called at line 12, in its line 20
 *	  +32  inlined Inner.inner called at Middle's line 21, in its line 30
 *	  +48  Middle again, line 22
 *	  +64  own code, line 13
 *	  +80  Inner again, called from Middle called at line 12, line 31: a second range of both
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "format/jit/tables.h"
#include "jitconv/seal.h"
#include "lib/strbuf.h"

#define TEXT 0x1000u
#define NOBITS 0x40000000u

static struct strbuf strings = STRBUF_INIT;

static uint32_t str(const char *s)
{
	uint32_t at = (uint32_t)strings.len;
	strbuf_add(&strings, s, strlen(s) + 1);
	return at;
}

static size_t pack_inlines(uint8_t *room, const struct jit_frame *f, uint32_t nf, const struct jit_inline_range *r, uint32_t nr)
{
	struct jit_pack p = jit_pack_into(room);

	jit_pack_count(&p, nf);
	for (uint32_t i = 0; i < nf; i++)
		jit_pack_frame(&p, &f[i]);
	jit_pack_count(&p, nr);
	for (uint32_t i = 0; i < nr; i++)
		jit_pack_range(&p, &r[i]);
	return (size_t)(p.at - room);
}

static int three(struct seal *s, struct seal_text *t, uint8_t *text)
{
	uint8_t inl[256], lines[64], unwind[64];
	struct jit_frame f[2];
	struct jit_pack p;
	struct seal_region r = { .size = 96, .offset = TEXT, .source_file = "com/acme/Outer.java", .source_file_len = 19 };

	str("");
	f[0] = (struct jit_frame){ JIT_NO_FRAME, str("com.acme.Middle.mid(int)"), str("com/acme/Middle.java"), 12 };
	f[1] = (struct jit_frame){ 0, str("com.acme.Inner.inner(int)"), str("org/else/Inner.java"), 21 };
	r.inlines_len = pack_inlines(inl, f, 2, (struct jit_inline_range[]){ { 0, JIT_NO_FRAME, 10 }, { 16, 0, 20 }, { 32, 1, 30 },
		{ 48, 0, 22 }, { 64, JIT_NO_FRAME, 13 }, { 80, 1, 31 } }, 6);
	r.inlines = inl;
	p = jit_pack_into(unwind);
	jit_pack_count(&p, 2);
	jit_pack_unwind(&p, &(struct jit_unwind_row){ 0, 8, 7, -8, 0, 0 });
	jit_pack_unwind(&p, &(struct jit_unwind_row){ 4, 32, 7, -8, -16, 0 });
	r.unwind = unwind;
	r.unwind_len = (size_t)(p.at - unwind);
	r.strings = strings.buf;
	r.strings_len = strings.len;
	r.name = "com.acme.Outer.run(int)";
	r.name_len = strlen(r.name);
	if (seal_add(s, &r) < 0)
		return -EIO;
	p = jit_pack_into(lines);
	jit_pack_count(&p, 2);
	jit_pack_line(&p, &(struct jit_line){ 0, 100, 0 });
	jit_pack_line(&p, &(struct jit_line){ 8, 101, 0 });
	r = (struct seal_region){ .offset = TEXT + 128, .size = 64, .name = "plain()", .name_len = 7, .source_file = "Plain.java",
				  .source_file_len = 10, .lines = lines, .lines_len = (size_t)(p.at - lines),
				  .strings = strings.buf, .strings_len = strings.len };
	if (seal_add(s, &r) < 0)
		return -EIO;
	r = (struct seal_region){ .offset = NOBITS + 0x100, .size = 32, .name = "no bytes", .name_len = 8, .no_bytes = true };
	t->nobits_offset = NOBITS;
	t->nobits_len = 0x1000;
	memset(text, 0x90, 192);
	t->len = 192;
	return seal_add(s, &r);
}

static int many(struct seal *s, struct seal_text *t, uint8_t *text, unsigned long n)
{
	uint8_t inl[256], lines[512];
	struct jit_frame f[3];

	str("");
	for (uint32_t i = 0; i < 3; i++)
		f[i] = (struct jit_frame){ i ? i - 1 : JIT_NO_FRAME, str("pkg.Inlined.method(long, java.lang.String)"),
					   str("pkg/Inlined.java"), i + 1 };
	for (unsigned long i = 0; i < n; i++) {
		char name[96], file[64];
		struct jit_pack p = jit_pack_into(lines);
		struct seal_region r = { .offset = TEXT + i * 256, .size = 240, .name = name, .source_file = file };
		r.name_len = (size_t)snprintf(name, sizeof(name), "com.acme.pkg%lu.Class%lu.method%lu(int)", i % 100, i % 5000, i);
		r.source_file_len = (size_t)snprintf(file, sizeof(file), "com/acme/pkg%lu/Class%lu.java", i % 100, i % 5000);
		jit_pack_count(&p, 12);
		for (uint32_t k = 0; k < 12; k++)
			jit_pack_line(&p, &(struct jit_line){ k * 20, 10 + k * 3 % 7, 0 });
		r.lines = lines;
		r.lines_len = (size_t)(p.at - lines);
		r.inlines_len = pack_inlines(inl, f, 3, (struct jit_inline_range[]){ { 0, JIT_NO_FRAME, 10 }, { 50, 2, 20 },
			{ 90, 1, 30 }, { 150, JIT_NO_FRAME, 22 } }, 4);
		r.inlines = inl;
		r.strings = strings.buf;
		r.strings_len = strings.len;
		if (seal_add(s, &r) < 0)
			return -EIO;
	}
	memset(text, 0x90, n * 256);
	t->len = n * 256;
	return 0;
}

int main(int argc, char **argv)
{
	struct seal_text t = { .offset = TEXT };
	uint64_t n = 0;
	struct seal *s;
	struct seal_stats st;
	uint8_t *text;
	int fd, r;

	if (argc < 2 || (argc > 2 && util_parse_u64(argv[2], 10, 10000000, &n) < 0)) {
		fprintf(stderr, "usage: seal-fixture FILE [N]\n");
		return 2;
	}
	text = malloc(n * 256 + 4096);
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (!text || fd < 0 || seal_new(&s, &(struct seal_opts){ .name = "java:Fixture [jit]" }) < 0)
		return 1;
	r = n ? many(s, &t, text, n) : three(s, &t, text);
	t.bytes = text;
	if (!r)
		r = seal_write(s, fd, &t);
	seal_stats(s, &st);
	seal_free(s);
	free(text);
	strbuf_done(&strings);
	close(fd);
	if (r < 0)
		fprintf(stderr, "seal-fixture: %s\n", strerror(-r));
	return r < 0 || st.bad_tables;
}
