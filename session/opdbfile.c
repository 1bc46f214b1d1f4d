/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/opdbfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/io.h"

#define LOCK_WRITER 0
#define LOCK_CONTENT 1

struct opdb_file {
	int fd;
	bool writer, in_batch;
	uint8_t *map;
	size_t map_len;
	struct opdb_tree tree;     /* writer */
};

static int lock(struct opdb_file *f, short type, off_t at, bool wait)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1 };

	while (fcntl(f->fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &l) < 0)
		if (errno != EINTR)
			return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
	return 0;
}

/* Blocks are allocated before they are mapped, so a full disk is an error here and no signal later. */
static int allocate(int fd, off_t from, off_t to)
{
	static const char zeros[65536];
	int r = 0;

	if (to <= from)
		return 0;
	if (fallocate(fd, 0, from, to - from) == 0)
		return 0;
	if (errno != EOPNOTSUPP && errno != ENOSYS)
		return -errno;
	for (; from < to && r >= 0; from += (off_t)sizeof(zeros))
		r = io_pwrite_full(fd, zeros, (size_t)MIN((off_t)sizeof(zeros), to - from), from);
	return r;
}

static int remap(struct opdb_file *f, size_t len)
{
	int prot = f->writer ? PROT_READ | PROT_WRITE : PROT_READ;
	void *m = f->map ? mremap(f->map, f->map_len, len, MREMAP_MAYMOVE) : mmap(NULL, len, prot, MAP_SHARED, f->fd, 0);

	if (m == MAP_FAILED)
		return -errno;
	f->map = m;
	f->map_len = len;
	return 0;
}

static int grow(void *arg, size_t len, uint8_t **data)
{
	struct opdb_file *f = arg;
	size_t old = f->map_len;
	int r = allocate(f->fd, (off_t)old, (off_t)len);

	if (r >= 0)
		r = remap(f, len);
	if (r < 0) {
		(void)!ftruncate(f->fd, (off_t)old);
		return r;
	}
	*data = f->map;
	return 0;
}

static void free_ptr(struct opdb_file **f)
{
	opdb_file_close(*f);
}

void opdb_file_close(struct opdb_file *f)
{
	if (!f)
		return;
	if (f->map)
		munmap(f->map, f->map_len);
	if (f->fd >= 0)
		close(f->fd);
	free(f);
}

int opdb_file_create(struct opdb_file **ret, const char *path, const struct abi_format *fmt, uint32_t page_entries)
{
	AUTO(free_ptr) struct opdb_file *f = calloc(1, sizeof(*f));
	struct abi_format native;
	int r;

	if (!f)
		return -ENOMEM;
	if (!fmt) {
		abi_format_init(&native, ABI_OPDB, 8, NULL);
		fmt = &native;
	}
	f->writer = true;
	f->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (f->fd < 0)
		return -errno;
	f->tree.grow = grow;
	f->tree.arg = f;
	r = lock(f, F_WRLCK, LOCK_WRITER, false);
	if (r >= 0)
		r = lock(f, F_WRLCK, LOCK_CONTENT, true);
	if (r >= 0)
		r = opdb_tree_init(&f->tree, fmt, page_entries ? page_entries : 12, 4);
	if (r >= 0)
		r = lock(f, F_UNLCK, LOCK_CONTENT, true);
	if (r < 0) {
		unlink(path);
		return r;
	}
	*ret = TAKE_PTR(f);
	return 0;
}

int opdb_file_open(struct opdb_file **ret, const char *path, bool write, struct abi_fault *fault)
{
	AUTO(free_ptr) struct opdb_file *f = calloc(1, sizeof(*f));
	struct stat st;
	int r;

	if (!f)
		return -ENOMEM;
	f->writer = write;
	f->fd = open(path, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (f->fd < 0)
		return -errno;
	if (fstat(f->fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENXIO;
	if (!write) {
		*ret = TAKE_PTR(f);
		return 0;
	}
	r = lock(f, F_WRLCK, LOCK_WRITER, false);
	if (r >= 0 && fstat(f->fd, &st) < 0)
		r = -errno;
	if (r >= 0 && !st.st_size)
		r = ABI_FAULT(fault, 0, "prefix-short: the file ends inside the 8 bytes of the prefix");
	if (r >= 0)
		r = remap(f, (size_t)st.st_size);
	f->tree.grow = grow;
	f->tree.arg = f;
	if (r >= 0)
		r = opdb_tree_attach(&f->tree, f->map, f->map_len, fault);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(f);
	return 0;
}

int opdb_file_begin(struct opdb_file *f)
{
	int r;

	if (!f->writer)
		return -EBADF;
	if (f->in_batch)
		return -EALREADY;
	r = lock(f, F_WRLCK, LOCK_CONTENT, true);
	f->in_batch = r >= 0;
	return r;
}

int opdb_file_end(struct opdb_file *f)
{
	if (!f->in_batch)
		return -EINVAL;
	f->in_batch = false;
	return lock(f, F_UNLCK, LOCK_CONTENT, true);
}

int opdb_file_add(struct opdb_file *f, uint64_t key, uint64_t value)
{
	bool own = !f->in_batch;
	int r = own ? opdb_file_begin(f) : 0;

	if (r < 0)
		return r;
	r = opdb_tree_add(&f->tree, key, value);
	if (own)
		opdb_file_end(f);
	return r;
}

int opdb_file_merge(struct opdb_file *f, const struct opdb *src, struct abi_fault *fault)
{
	int r = opdb_file_begin(f);

	if (r < 0)
		return r;
	r = opdb_tree_merge(&f->tree, src, fault);
	opdb_file_end(f);
	return r;
}

/* A view under a shared lock. The writer needs none: nobody else changes the file. */
static int view(struct opdb_file *f, struct opdb *db)
{
	struct stat st;
	int r;

	if (f->writer) {
		*db = opdb_tree_view(&f->tree);
		return 0;
	}
	r = lock(f, F_RDLCK, LOCK_CONTENT, true);
	if (r < 0)
		return r;
	if (fstat(f->fd, &st) < 0)
		r = -errno;
	else if (!st.st_size)
		r = -EBADMSG;
	else if (!f->map || (size_t)st.st_size != f->map_len)
		r = remap(f, (size_t)st.st_size);
	if (r >= 0)
		r = opdb_read(db, f->map, f->map_len, NULL);
	if (r < 0)
		lock(f, F_UNLCK, LOCK_CONTENT, true);
	return r;
}

static void unview(struct opdb_file *f)
{
	if (!f->writer)
		lock(f, F_UNLCK, LOCK_CONTENT, true);
}

int opdb_file_get(struct opdb_file *f, uint64_t key, uint64_t *value)
{
	struct opdb db;
	int r = view(f, &db);

	if (r < 0)
		return r;
	r = opdb_get(&db, key, value, NULL);
	unview(f);
	return r;
}

int opdb_file_range(struct opdb_file *f, uint64_t lo, uint64_t hi, opdb_fn *fn, void *arg)
{
	struct opdb db;
	int r = view(f, &db);

	if (r < 0)
		return r;
	r = opdb_range(&db, lo, hi, fn, arg, NULL);
	unview(f);
	return r;
}

int opdb_file_sync(struct opdb_file *f)
{
	return fsync(f->fd) < 0 ? -errno : 0;
}
