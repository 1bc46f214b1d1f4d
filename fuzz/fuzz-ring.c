/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The live reader on a hostile instance: the input becomes the ring; a length in front of it, the image 0.jo behind it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "jitconv/source.h"
#include "lib/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static volatile unsigned long sink;

static int take(void *arg, const struct jit_event *e)
{
	for (size_t i = 0; i < e->name_len; i++)
		sink += (unsigned char)e->name[i];
	sink += e->lines_len + e->image_offset;
	return 0;
}

static void put(int dirfd, const char *name, const uint8_t *data, size_t len)
{
	AUTO_CLOSE int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd >= 0 && io_write_full(fd, data, len) < 0)
		abort();
}

static void read_all(int dirfd, const char *path, bool tables)
{
	struct jit_source *s;
	const char *why;

	if (jit_source_open(&s, 0, UINT32_MAX, path, 0, 0, &why) < 0)
		return;
	jit_source_want_tables(s, tables);
	if (jit_source_poll(s, take, NULL) >= 0)
		jit_source_save_image(s, 0, dirfd, "saved");
	jit_source_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char root[] = "/tmp/opjit-fuzz-XXXXXX", dir[64], path[80];
	AUTO_CLOSE int dirfd = -1;
	uint32_t ring;

	if (len < 4)
		return 0;
	memcpy(&ring, data, 4);
	ring = MIN(ring, (uint32_t)(len - 4));
	if (!mkdtemp(root))
		abort();
	snprintf(dir, sizeof(dir), "%s/1-0123456789abcdef", root);
	snprintf(path, sizeof(path), "%s/ring", dir);
	mkdir(dir, 0700);
	dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put(dirfd, "ring", data + 4, ring);
	put(dirfd, "0.jo", data + 4 + ring, len - 4 - ring);
	read_all(dirfd, path, false);
	read_all(dirfd, path, true);
	io_remove_tree(AT_FDCWD, root, NULL, NULL);
	return 0;
}
