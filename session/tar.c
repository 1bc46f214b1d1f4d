/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "session/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/io.h"

struct head { /* ustar, 512 bytes, numbers in octal text */
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, linkname[100];
	char magic[6], version[2], uname[32], gname[32], major[8], minor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct head) == 512, "one block");

static const char zeros[1024];

static unsigned int checksum(const struct head *h)
{
	const unsigned char *p = (const unsigned char *)h;
	unsigned int sum = 8 * ' ';

	for (size_t i = 0; i < sizeof(*h); i++)
		if (i < offsetof(struct head, sum) || i >= offsetof(struct head, type))
			sum += p[i];
	return sum;
}

/* --- writing ------------------------------------------------------------------------------------------- */
/* Copies without a NUL where the field is full, as ustar wants it. */
static void field(char *to, size_t room, const char *s)
{
	memcpy(to, s, MIN(strlen(s), room));
}

static int put_head(int fd, char type, const char *path, const char *target, uint64_t len)
{
	struct head h = { .type = type };
	char octal[32];

	field(h.name, sizeof(h.name), path);
	field(h.linkname, sizeof(h.linkname), target);
	field(h.mode, sizeof(h.mode), "0000644");
	field(h.uid, sizeof(h.uid), "0000000");
	field(h.gid, sizeof(h.gid), "0000000");
	field(h.mtime, sizeof(h.mtime), "00000000000");
	snprintf(octal, sizeof(octal), "%011" PRIo64, MIN(len, (uint64_t)077777777777));
	field(h.size, sizeof(h.size), octal);
	memcpy(h.magic, "ustar", 6);
	memcpy(h.version, "00", 2);
	snprintf(octal, sizeof(octal), "%06o", checksum(&h));
	field(h.sum, 7, octal);
	h.sum[7] = ' ';
	return io_write_full(fd, &h, sizeof(h));
}

static int put_pad(int fd, uint64_t len)
{
	return io_write_full(fd, zeros, (512 - len % 512) % 512);
}

/* "LEN key=value\n", LEN counting itself. */
static void pax_record(struct strbuf *sb, const char *key, const char *value)
{
	size_t rest = strlen(key) + strlen(value) + 3, len = rest + 1;
	char digits[32];

	while (len != rest + (size_t)snprintf(digits, sizeof(digits), "%zu", len))
		len = rest + strlen(digits);
	strbuf_addf(sb, "%zu %s=%s\n", len, key, value);
}

static int put_entry(int fd, char type, const char *path, const char *target, uint64_t len)
{
	AUTO_STRBUF pax = STRBUF_INIT;
	char size[32];
	int r;

	snprintf(size, sizeof(size), "%" PRIu64, len);
	if (strlen(path) > sizeof(((struct head *)0)->name))
		pax_record(&pax, "path", path);
	if (strlen(target) > sizeof(((struct head *)0)->linkname))
		pax_record(&pax, "linkpath", target);
	if (len > 077777777777)
		pax_record(&pax, "size", size);
	if (pax.error)
		return pax.error;
	if (pax.len) {
		r = put_head(fd, 'x', "pax", "", pax.len);
		if (r >= 0)
			r = io_write_full(fd, pax.buf, pax.len);
		if (r >= 0)
			r = put_pad(fd, pax.len);
		if (r < 0)
			return r;
	}
	return put_head(fd, type, path, target, len);
}

int tar_put_file(int fd, const char *path, const void *data, size_t len)
{
	int r = put_entry(fd, '0', path, "", len);

	if (r >= 0)
		r = io_write_full(fd, data, len);
	return r < 0 ? r : put_pad(fd, len);
}

int tar_put_file_from(int fd, const char *path, int from, uint64_t len)
{
	char buf[65536];
	int r = put_entry(fd, '0', path, "", len);

	for (uint64_t left = len; left && r >= 0;) {
		ssize_t n = io_read_full(from, buf, (size_t)MIN(left, (uint64_t)sizeof(buf)));
		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		r = io_write_full(fd, buf, (size_t)n);
		left -= (uint64_t)n;
	}
	return r < 0 ? r : put_pad(fd, len);
}

int tar_put_link(int fd, const char *path, const char *target)
{
	return put_entry(fd, '2', path, target, 0);
}

int tar_put_end(int fd)
{
	return io_write_full(fd, zeros, 1024);
}

/* --- reading ------------------------------------------------------------------------------------------- */
struct unpack {
	int fd, dirfd;
	uint64_t at;             /* offset of the entry that is being read */
	struct strbuf path, link; /* of the pax header before, or empty */
	uint64_t size;
	bool has_size;
	struct strbuf *why;
};

static int bad(struct unpack *u, const char *text)
{
	strbuf_addf(u->why, "offset 0x%" PRIx64 ": %s", u->at, text);
	return -EBADMSG;
}

static int read_exact(struct unpack *u, void *buf, size_t len)
{
	ssize_t n = io_read_full(u->fd, buf, len);

	if (n < 0)
		return (int)n;
	return (size_t)n == len ? 0 : bad(u, "the archive is cut short");
}

static bool number(const char *s, size_t room, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;

	while (i < room && s[i] == ' ')
		i++;
	for (; i < room && s[i] >= '0' && s[i] <= '7'; i++)
		v = v << 3 | (uint64_t)(s[i] - '0');
	*ret = v;
	return i == room || !s[i] || s[i] == ' ';
}

static bool is_safe(const char *path)
{
	if (!*path || *path == '/')
		return false;
	for (const char *p = path; *p;) {
		size_t len = strcspn(p, "/");
		if (len == 2 && !strncmp(p, "..", 2))
			return false;
		p += len + (p[len] == '/');
	}
	return true;
}

/* The directory that path goes into, every step made if it is not there and no link followed. */
static int open_parent(struct unpack *u, char *path, char **last)
{
	AUTO_CLOSE int dir = openat(u->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *p = path, *slash;

	while (dir >= 0 && (slash = strchr(p, '/'))) {
		int next;
		*slash = '\0';
		if (*p && strcmp(p, ".") != 0) {
			if (mkdirat(dir, p, 0755) < 0 && errno != EEXIST)
				return -errno;
			next = openat(dir, p, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (next < 0)
				return -errno;
			close(dir);
			dir = next;
		}
		p = slash + 1;
	}
	*last = p;
	return dir < 0 ? -errno : TAKE_FD(dir);
}

static int copy_out(struct unpack *u, int out, uint64_t len)
{
	uint64_t padded = ALIGN_UP(len, 512u);
	char buf[65536];
	int r = 0;

	while (padded && r >= 0) {
		size_t n = (size_t)MIN(padded, (uint64_t)sizeof(buf));
		r = read_exact(u, buf, n);
		if (r >= 0 && out >= 0)
			r = io_write_full(out, buf, (size_t)MIN(len, (uint64_t)n));
		len -= MIN(len, (uint64_t)n);
		padded -= n;
	}
	return r;
}

static int read_pax(struct unpack *u, uint64_t len)
{
	AUTO_STRBUF sb = STRBUF_INIT;
	char *p, *end;
	int r;

	if (len > 1 << 20)
		return bad(u, "an extended header of more than 1 MiB");
	r = strbuf_reserve(&sb, ALIGN_UP(len, 512u));
	if (r >= 0)
		r = read_exact(u, sb.buf, ALIGN_UP(len, 512u));
	if (r < 0)
		return r;
	for (p = sb.buf, end = sb.buf + len; p < end;) {
		char *key, *value;
		unsigned long n = strtoul(p, &key, 10);
		if (n < 5 || n > (unsigned long)(end - p) || *key != ' ' || p[n - 1] != '\n')
			return bad(u, "a bad extended header");
		p[n - 1] = '\0';
		value = strchr(++key, '=');
		if (!value || strlen(value) > TAR_MAX_PATH)
			return bad(u, "a bad extended header");
		*value++ = '\0';
		if (!strcmp(key, "path"))
			strbuf_addstr((strbuf_reset(&u->path), &u->path), value);
		else if (!strcmp(key, "linkpath"))
			strbuf_addstr((strbuf_reset(&u->link), &u->link), value);
		else if (!strcmp(key, "size"))
			u->has_size = util_parse_u64(value, 10, UINT64_MAX >> 1, &u->size) == 0;
		p += n;
	}
	return u->path.error ? u->path.error : u->link.error;
}

static int make_entry(struct unpack *u, char type, char *path, const char *target, uint64_t len)
{
	AUTO_CLOSE int dir = -1, out = -1;
	char *last = path;

	if (type == '5')
		return is_safe(path) ? 0 : bad(u, "a path that leads out of the archive");
	if (!is_safe(path) || path[strlen(path) - 1] == '/')
		return bad(u, "a path that leads out of the archive");
	dir = open_parent(u, path, &last);
	if (dir < 0)
		return dir;
	if (type == '2') {
		if (!*target || strchr(target, '/') || !strcmp(target, "..") || !strcmp(target, "."))
			return bad(u, "a link that leads out of its directory");
		return symlinkat(target, dir, last) < 0 ? -errno : 0;
	}
	out = openat(dir, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	return out < 0 ? -errno : copy_out(u, out, len);
}

static int read_entry(struct unpack *u, const struct head *h)
{
	char name[sizeof(h->prefix) + sizeof(h->name) + 2], link[sizeof(h->linkname) + 1];
	char *path = name;
	uint64_t len, sum;
	int r;

	if (!number(h->sum, sizeof(h->sum), &sum) || sum != checksum(h) || !number(h->size, sizeof(h->size), &len))
		return bad(u, "not the header of a file (bad checksum or size)");
	if (h->type == 'x')
		return read_pax(u, len);
	if (h->type == 'g')
		return copy_out(u, -1, len);
	snprintf(name, sizeof(name), "%.*s%s%.*s", (int)sizeof(h->prefix), h->prefix, *h->prefix ? "/" : "", (int)sizeof(h->name), h->name);
	snprintf(link, sizeof(link), "%.*s", (int)sizeof(h->linkname), h->linkname);
	if (u->path.len)
		path = u->path.buf;
	if (u->has_size)
		len = u->size;
	if (h->type != '0' && h->type != '\0' && h->type != '2' && h->type != '5')
		return bad(u, "neither a file, a directory nor a link");
	r = make_entry(u, h->type ? h->type : '0', path, u->link.len ? u->link.buf : link, len);
	strbuf_reset(&u->path);
	strbuf_reset(&u->link);
	u->has_size = false;
	return r;
}

int tar_unpack(int fd, int dirfd, struct strbuf *why)
{
	struct unpack u = { .fd = fd, .dirfd = dirfd, .why = why, .path = STRBUF_INIT, .link = STRBUF_INIT };
	struct head h;
	int r = 0;

	for (unsigned int n = 0; r >= 0; n++) {
		off_t at = lseek(fd, 0, SEEK_CUR);
		u.at = at < 0 ? 0 : (uint64_t)at;
		r = n > TAR_MAX_ENTRIES ? -E2BIG : read_exact(&u, &h, sizeof(h));
		if (r < 0 || !memcmp(&h, zeros, sizeof(h)))
			break;
		r = read_entry(&u, &h);
	}
	if (r < 0 && !why->len)
		strbuf_addf(why, "offset 0x%" PRIx64 ": %s", u.at, strerror(-r));
	strbuf_done(&u.path);
	strbuf_done(&u.link);
	return r;
}
