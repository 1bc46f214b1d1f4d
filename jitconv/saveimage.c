/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jitconv/saveimage.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "format/jit/image.h"
#include "lib/io.h"
#include "lib/strbuf.h"

#define COPY ((size_t)1 << 20)
#define PAGE 4096u

static int read_at(int fd, void *buf, size_t len, uint64_t at)
{
	char *p = buf;

	while (len) {
		ssize_t n = pread(fd, p, len, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		p += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

static int copy(int from, uint64_t at, int to, uint64_t to_at, uint64_t len)
{
	AUTO_FREE char *buf = malloc(COPY);

	if (!buf)
		return -ENOMEM;
	while (len) {
		size_t n = (size_t)MIN(len, COPY);
		int r = read_at(from, buf, n, at);
		if (!r)
			r = io_pwrite_full(to, buf, n, (off_t)to_at);
		if (r < 0)
			return r;
		at += n;
		to_at += n;
		len -= n;
	}
	return 0;
}

static uint64_t get_word(const uint8_t *p, bool is64, bool swap)
{
	uint32_t v = 0;
	uint64_t w = 0;

	memcpy(is64 ? (void *)&w : (void *)&v, p, is64 ? 8 : 4);
	if (is64)
		return swap ? __builtin_bswap64(w) : w;
	return swap ? __builtin_bswap32(v) : v;
}

static void put_word(uint8_t *p, uint64_t v, bool is64, bool swap)
{
	uint32_t half = swap ? __builtin_bswap32((uint32_t)v) : (uint32_t)v;

	if (swap)
		v = __builtin_bswap64(v);
	memcpy(p, is64 ? (void *)&v : (void *)&half, is64 ? 8 : 4);
}

/* Gives the section header whose file offset was `old` its new offset and size. */
static void shdr_move(uint8_t *head, const struct jit_image *im, const struct jit_part *old, uint64_t offset)
{
	bool is64 = im->word_bits == 64;
	size_t each = is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), at_off = is64 ? 24 : 16, at_size = is64 ? 32 : 20;
	uint64_t shoff = get_word(head + (is64 ? 40 : 32), is64, im->swap);
	unsigned int n = head[is64 ? 60 : 48] | head[is64 ? 61 : 49]; /* fewer than 64: one of the bytes is zero */

	for (unsigned int i = 1; i < n; i++) {
		uint8_t *sh = head + shoff + i * each;
		if (get_word(sh + at_off, is64, im->swap) == old->offset && get_word(sh + 4, false, im->swap) != SHT_NOBITS) {
			put_word(sh + at_off, offset, is64, im->swap);
			put_word(sh + at_size, old->size, is64, im->swap);
			return;
		}
	}
}

/* The first program header spans the file. */
static void phdr_size(uint8_t *head, const struct jit_image *im, uint64_t bytes)
{
	bool is64 = im->word_bits == 64;
	uint8_t *ph = head + (is64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr));

	put_word(ph + (is64 ? offsetof(Elf64_Phdr, p_filesz) : offsetof(Elf32_Phdr, p_filesz)), bytes, is64, im->swap);
	put_word(ph + (is64 ? offsetof(Elf64_Phdr, p_memsz) : offsetof(Elf32_Phdr, p_memsz)), bytes, is64, im->swap);
}

static int save(int fd, int to, const char **why)
{
	uint8_t head[JIT_IMAGE_HEAD] __attribute__((aligned(8)));
	struct jit_image im;
	struct jit_fault f;
	struct stat st;
	uint64_t end;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	r = read_at(fd, head, sizeof(head), 0);
	f.what = "shorter than its headers";
	if (!r)
		r = jit_image_parse(&im, head, sizeof(head), (uint64_t)st.st_size, &f);
	if (r < 0) {
		if (why)
			*why = f.what;
		return r;
	}
	const struct jit_part *parts[] = { &im.symtab, &im.strtab, &im.journal };
	end = im.text.offset + im.text.size;
	r = copy(fd, im.text.offset, to, im.text.offset, im.text.size);
	for (unsigned int i = 0; !r && i < ARRAY_SIZE(parts); i++) {
		end = ALIGN_UP(end, (uint64_t)16);
		r = copy(fd, parts[i]->offset, to, end, parts[i]->size);
		shdr_move(head, &im, parts[i], end);
		end += parts[i]->size;
	}
	if (r < 0)
		return r;
	shdr_move(head, &im, &im.text, im.text.offset);
	end = ALIGN_UP(end, (uint64_t)PAGE);
	phdr_size(head, &im, end);
	if (ftruncate(to, (off_t)end) < 0)
		return -errno;
	return io_pwrite_full(to, head, sizeof(head), 0);
}

int jit_image_save(int fd, int dirfd, const char *path, const char **why)
{
	AUTO_STRBUF tmp = STRBUF_INIT_CAP(8192);
	AUTO_CLOSE int to = io_beside_open(dirfd, path, 0644, &tmp);

	return to < 0 ? to : io_beside_commit(dirfd, path, &tmp, save(fd, to, why));
}
