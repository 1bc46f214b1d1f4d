/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_TESTS_JIT_CHECK_H
#define OPJIT_TESTS_JIT_CHECK_H
/* Is an instance directory valid as it stands, and which of the regions "method-N" does it have? Native ELF class only. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "format/jit/image.h"
#include "jitconv/source.h"
#include "lib/io.h"
#include "lib/strbuf.h"

#define CHECK_MAX 4096

struct jit_check {
	unsigned int n_symbols, n_events, n_images;
	unsigned int by_symbol[CHECK_MAX], by_event[CHECK_MAX], unloads; /* how often method-N is there */
	char why[512];
};

static int check_name(const char *name, size_t len, unsigned int *found)
{
	char buf[64];

	if (len < 8 || len >= sizeof(buf) || memcmp(name, "method-", 7))
		return -1;
	memcpy(buf, name, len);
	buf[len] = '\0';
	unsigned long n = strtoul(buf + 7, NULL, 10);
	if (n < CHECK_MAX)
		found[n]++;
	return 0;
}

static inline int check_image(int dirfd, const char *file, struct jit_check *c)
{
	AUTO_CLOSE int fd = openat(dirfd, file, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *strings = NULL;
	AUTO_FREE ElfW(Sym) *syms = NULL;
	uint8_t head[JIT_IMAGE_HEAD];
	struct jit_image im;
	struct jit_fault f = { .what = "cannot be read" };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || pread(fd, head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    jit_image_parse(&im, head, sizeof(head), (uint64_t)st.st_size, &f) < 0) {
		snprintf(c->why, sizeof(c->why), "%s: %llu: %s", file, (unsigned long long)f.at, f.what);
		return -1;
	}
	strings = malloc(im.strtab.size + 1);
	syms = malloc(im.symtab.size + 1);
	if (pread(fd, strings, im.strtab.size, (off_t)im.strtab.offset) != (ssize_t)im.strtab.size ||
	    pread(fd, syms, im.symtab.size, (off_t)im.symtab.offset) != (ssize_t)im.symtab.size ||
	    im.symtab.size % sizeof(*syms) || im.strtab.size < 1 || strings[im.strtab.size - 1]) {
		snprintf(c->why, sizeof(c->why), "%s: symbols or strings", file);
		return -1;
	}
	for (size_t i = 1; i < im.symtab.size / sizeof(*syms); i++) {
		const ElfW(Sym) *s = &syms[i];
		bool in_text = s->st_value >= im.text.addr && s->st_value + s->st_size <= im.text.addr + im.text.size;
		bool in_code = s->st_value >= im.nobits.addr && s->st_value + s->st_size <= im.nobits.addr + im.nobits.size;
		if (s->st_name >= im.strtab.size || (!in_text && !in_code) ||
		    check_name(strings + s->st_name, strlen(strings + s->st_name), c->by_symbol) < 0) {
			snprintf(c->why, sizeof(c->why), "%s: symbol %zu", file, i);
			return -1;
		}
		c->n_symbols++;
	}
	c->n_images++;
	return 0;
}

static inline int check_event(void *arg, const struct jit_event *e)
{
	struct jit_check *c = arg;

	c->n_events++;
	c->unloads += e->type == JIT_EVENT_UNLOAD;
	if (e->type == JIT_EVENT_LOAD && check_name(e->name, e->name_len, c->by_event) < 0) {
		snprintf(c->why, sizeof(c->why), "event with the name %.*s", (int)e->name_len, e->name);
		return -1;
	}
	return 0;
}

/* 0, or -1 with c->why. journal: read the journals, not the ring. */
static inline int jit_check_dir(const char *path, bool journal, struct jit_check *c)
{
	char ring[4200];
	const char *why;
	struct jit_source *s;
	DIR *dir = opendir(path);
	int r = 0;

	memset(c, 0, sizeof(*c));
	if (!dir) {
		snprintf(c->why, sizeof(c->why), "%s: %s", path, strerror(errno));
		return -1;
	}
	snprintf(ring, sizeof(ring), "%s/ring", path);
	if (jit_source_open(&s, 0, geteuid(), ring, 0, 0, &why) < 0) {
		snprintf(c->why, sizeof(c->why), "%s", why);
		closedir(dir);
		return -1;
	}
	jit_source_want_tables(s, journal);
	if (jit_source_poll(s, check_event, c) < 0) {
		if (!c->why[0])
			snprintf(c->why, sizeof(c->why), "%s", jit_source_why(s));
		r = -1;
	}
	struct jit_source_info info;
	jit_source_info(s, &info);
	if (info.n_bad) {
		snprintf(c->why, sizeof(c->why), "%llu bad records", (unsigned long long)info.n_bad);
		r = -1;
	}
	jit_source_free(s);
	for (struct dirent *e; !r && (e = readdir(dir));)
		if (strstr(e->d_name, ".jo"))
			r = check_image(dirfd(dir), e->d_name, c);
	closedir(dir);
	return r;
}

#endif
