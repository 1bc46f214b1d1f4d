/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The live reader of an instance. Files are read with pread, never mapped: a writer that truncates one cannot raise
 * SIGBUS here. Short path: entries from the ring; where the ring has gone round, or tables are wanted: the journals.
 */
#include "jitconv/source.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/jit/image.h"
#include "format/jit/ring.h"
#include "jitconv/instances.h"
#include "jitconv/saveimage.h"
#include "lib/io.h"
#include "lib/strbuf.h"

#define CHUNK ((size_t)256 << 10)
#define WINDOW ((size_t)64 << 10)
#define BATCH 256u

struct seg {
	int fd;          /* -1 = not opened yet */
	struct jit_part strtab, journal; /* places; sizes are taken anew */
};

struct jit_source {
	const struct jit_source_ops *ops; /* another kind: all calls go to impl */
	void *impl;
	int dirfd, ringfd;
	uint64_t ring_bytes;
	struct jit_ring_header h; /* as read last */
	char instance[64];
	int32_t pid;
	struct seg *segs;
	uint32_t n_segs;
	/* cursor: everything up to event seq, which ended at journal_pos of segment journal_seg */
	uint64_t seq, journal_pos;
	uint32_t journal_seg;
	bool want_tables, broken;
	uint64_t n_events, n_overruns, n_bad;
	char why[256];
	/* a piece of a .strtab */
	uint32_t win_seg;
	uint64_t win_at;
	size_t win_len;
	char *window;
	struct strbuf chunk, strings, source_file, name;
};

static __thread char open_why[256];

static int refuse(char *why, size_t room, int err, const char *file, const struct jit_fault *f)
{
	snprintf(why, room, "%s: offset %llu: %s", file, (unsigned long long)f->at, f->what);
	return err;
}

static int broken(struct jit_source *s, int err, const char *file, const struct jit_fault *f)
{
	s->broken = true;
	return refuse(s->why, sizeof(s->why), err, file, f);
}

/* Exactly len bytes, or -EBADMSG. */
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

bool jit_source_is_marker(const char *path)
{
	const char *end = path + strlen(path), *dir;

	if (!strncmp(path, "/memfd:opjit:", 13) || !strncmp(path, "memfd:opjit:", 12))
		return true;
	if (end - path < 6 || strcmp(end - 5, "/ring"))
		return false;
	dir = end - 5;
	while (dir > path && dir[-1] != '/')
		dir--;
	return jit_instance_is_name(dir, (size_t)(end - 5 - dir));
}

/* The header once more. */
static int ring_read(struct jit_source *s, char *why, size_t room)
{
	uint8_t buf[JIT_RING_HEADER_BYTES];
	struct jit_fault f;
	int r = read_at(s->ringfd, buf, sizeof(buf), 0);

	if (r < 0) {
		f = (struct jit_fault){ .what = r == -EBADMSG ? "shorter than a ring header" : strerror(-r) };
		return refuse(why, room, r, "ring", &f);
	}
	r = jit_ring_parse(&s->h, buf, sizeof(buf), s->ring_bytes, &f);
	return r < 0 ? refuse(why, room, r, "ring", &f) : 0;
}

/* Directory and instance name of a marker's path; the memfd's name holds the path of the directory. */
static int marker_split(const char *path, struct strbuf *dir, char instance[64])
{
	const char *p = strstr(path, "memfd:opjit:"), *base;

	if (p) {
		strbuf_addstr(dir, p + 12);
		if (dir->len > 10 && !strcmp(dir->buf + dir->len - 10, " (deleted)"))
			dir->buf[dir->len -= 10] = '\0';
	} else {
		strbuf_add(dir, path, strlen(path) - 5);
	}
	if (dir->error)
		return dir->error;
	base = strrchr(dir->buf, '/');
	base = base ? base + 1 : dir->buf;
	if (!jit_instance_is_name(base, strlen(base)))
		return -EINVAL;
	snprintf(instance, 64, "%s", base);
	return 0;
}

/* Opens the directory below root ("" or /proc/PID/root) and its ring; device and inode may have to match. */
static int try_open(struct jit_source *s, const char *root, const char *dir, uint64_t dev, uint64_t ino, struct stat *st)
{
	AUTO_STRBUF path = STRBUF_INIT_CAP(8192);
	AUTO_CLOSE int dirfd = -1, fd = -1;

	strbuf_addstr(&path, root);
	if (strbuf_addstr(&path, dir) < 0)
		return path.error;
	dirfd = open(path.buf, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dirfd < 0)
		return -errno;
	fd = io_open_regular(dirfd, "ring", O_RDONLY);
	if (fd < 0)
		return fd;
	if (fstat(fd, st) < 0)
		return -errno;
	if ((dev || ino) && (st->st_dev != dev || st->st_ino != ino))
		return -ESTALE;
	s->dirfd = TAKE_FD(dirfd);
	s->ringfd = TAKE_FD(fd);
	s->ring_bytes = (uint64_t)st->st_size;
	return 0;
}

static int open_files(struct jit_source *s, int32_t pid, const char *path, uint64_t dev, uint64_t ino, struct stat *st)
{
	AUTO_STRBUF dir = STRBUF_INIT_CAP(8192);
	char root[32];
	int r = marker_split(path, &dir, s->instance);

	if (r < 0)
		return r;
	/* A memfd's own numbers say nothing about the ring file. */
	if (strstr(path, "memfd:opjit:"))
		dev = ino = 0;
	if (dir.buf[0] != '/')
		return jit_instance_find(s->instance, pid, st, &s->dirfd, &s->ringfd, &s->ring_bytes);
	if (!pid)
		return try_open(s, "", dir.buf, dev, ino, st);
	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	/* Behind overlays st_dev is not what the mapping shows: in the process's own view the name is enough. */
	r = try_open(s, root, dir.buf, 0, 0, st);
	return r < 0 ? try_open(s, "", dir.buf, dev, ino, st) : 0;
}

static int open_checked(struct jit_source *s, int32_t pid, uint32_t uid, const char *path, uint64_t dev, uint64_t ino)
{
	struct stat st;
	int r = open_files(s, pid, path, dev, ino, &st);

	if (r < 0) {
		snprintf(open_why, sizeof(open_why), "%s: %s", path, r == -ESTALE ? "another file has that name now" : strerror(-r));
		return r;
	}
	if (uid != UINT32_MAX && st.st_uid != uid) {
		snprintf(open_why, sizeof(open_why), "%s: owned by uid %u, not by the process's %u", path, (unsigned int)st.st_uid, uid);
		return -EPERM;
	}
	r = ring_read(s, open_why, sizeof(open_why));
	if (!r && pid && !jit_instance_of_process(&s->h.who, pid)) {
		snprintf(open_why, sizeof(open_why), "%s: written by another process or before the last boot", path);
		r = -ESTALE;
	}
	return r;
}

int jit_source_open(struct jit_source **ret, int32_t pid, uint32_t uid, const char *path, uint64_t dev, uint64_t ino,
		    const char **why)
{
	struct jit_source *s = calloc(1, sizeof(*s));
	int r;

	if (why)
		*why = open_why;
	snprintf(open_why, sizeof(open_why), "out of memory");
	if (!s)
		return -ENOMEM;
	s->dirfd = s->ringfd = -1;
	s->win_seg = UINT32_MAX;
	s->pid = pid;
	s->chunk.cap = JIT_RECORD_MAX + CHUNK;
	s->strings.cap = s->source_file.cap = s->name.cap = STRBUF_CAP;
	s->window = malloc(WINDOW);
	r = s->window ? open_checked(s, pid, uid, path, dev, ino) : -ENOMEM;
	if (r < 0) {
		jit_source_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

int jit_source_wrap(struct jit_source **ret, const struct jit_source_ops *ops, void *impl)
{
	struct jit_source *s = calloc(1, sizeof(*s));

	if (!s) {
		ops->free(impl);
		return -ENOMEM;
	}
	s->ops = ops;
	s->impl = impl;
	s->dirfd = s->ringfd = -1;
	*ret = s;
	return 0;
}

void jit_source_free(struct jit_source *s)
{
	if (!s)
		return;
	if (s->ops)
		s->ops->free(s->impl);
	for (uint32_t i = 0; i < s->n_segs; i++)
		if (s->segs[i].fd >= 0)
			close(s->segs[i].fd);
	free(s->segs);
	if (s->ringfd >= 0)
		close(s->ringfd);
	if (s->dirfd >= 0)
		close(s->dirfd);
	free(s->window);
	strbuf_done(&s->chunk);
	strbuf_done(&s->strings);
	strbuf_done(&s->source_file);
	strbuf_done(&s->name);
	free(s);
}

bool jit_source_pending(const struct jit_source *s)
{
	uint64_t committed;

	if (s->ops)
		return s->ops->pending(s->impl);
	return !s->broken &&
	       read_at(s->ringfd, &committed, sizeof(committed), offsetof(struct jit_ring_header, committed)) == 0 &&
	       committed != s->seq;
}

static int seg_room(struct jit_source *s, uint32_t n)
{
	struct seg *more;

	if (n <= s->n_segs)
		return 0;
	more = realloc(s->segs, n * sizeof(*more));
	if (!more)
		return -ENOMEM;
	for (uint32_t i = s->n_segs; i < n; i++)
		more[i] = (struct seg){ .fd = -1 };
	s->segs = more;
	s->n_segs = n;
	return 0;
}

/* The present sizes of a segment's sections. */
static int seg_read(struct jit_source *s, uint32_t n, struct jit_image *image)
{
	uint8_t head[JIT_IMAGE_HEAD];
	struct jit_fault f = { .what = "cannot be read" };
	struct stat st;
	char name[32];
	int r = seg_room(s, n + 1);

	snprintf(name, sizeof(name), "%u.jo", n);
	if (r < 0)
		return r;
	if (s->segs[n].fd < 0) {
		r = io_open_regular(s->dirfd, name, O_RDONLY);
		if (r < 0) {
			f.what = strerror(-r);
			return broken(s, -EBADMSG, name, &f);
		}
		s->segs[n].fd = r;
	}
	if (fstat(s->segs[n].fd, &st) < 0 || read_at(s->segs[n].fd, head, sizeof(head), 0) < 0)
		return broken(s, -EBADMSG, name, &f);
	r = jit_image_parse(image, head, sizeof(head), (uint64_t)st.st_size, &f);
	if (r < 0)
		return broken(s, r, name, &f);
	if (image->who.segment != n) {
		f = (struct jit_fault){ .what = "another segment's number", .at = image->info.offset };
		return broken(s, -EBADMSG, name, &f);
	}
	s->segs[n].strtab = image->strtab;
	s->segs[n].journal = image->journal;
	return 0;
}

/* A string out of a segment's .strtab, through a window that moves forward. NULL if it does not lie there. */
static const char *seg_string(struct jit_source *s, uint32_t n, uint32_t off, uint32_t len)
{
	struct jit_image image;

	if (n >= s->n_segs || s->segs[n].fd < 0 || off + (uint64_t)len > s->segs[n].strtab.size)
		if (seg_read(s, n, &image) < 0)
			return NULL;
	if (off + (uint64_t)len > s->segs[n].strtab.size)
		return NULL;
	if (s->win_seg != n || off < s->win_at || off + (uint64_t)len > s->win_at + s->win_len) {
		uint64_t left = s->segs[n].strtab.size - off;
		s->win_seg = n;
		s->win_at = off;
		s->win_len = MIN(left, WINDOW);
		if (read_at(s->segs[n].fd, s->window, s->win_len, s->segs[n].strtab.offset + off) < 0) {
			s->win_seg = UINT32_MAX;
			return NULL;
		}
	}
	return s->window + (off - s->win_at);
}

/*
 * One batch from the ring. > 0: delivered; 0: nothing; -EOVERFLOW: the journal has to serve.
 */
static int from_ring(struct jit_source *s, uint64_t to, jit_event_fn *fn, void *arg)
{
	struct jit_ring_entry batch[BATCH];
	uint64_t first = s->seq + 1, slot = (first - 1) & (s->h.n_entries - 1);
	uint32_t n = (uint32_t)MIN(MIN(to - s->seq, (uint64_t)BATCH), s->h.n_entries - slot);
	struct jit_fault f;
	int r, done = 0;

	r = read_at(s->ringfd, batch, n * sizeof(batch[0]), jit_ring_offset(&s->h, first));
	if (r < 0)
		return r;
	r = ring_read(s, s->why, sizeof(s->why));
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < n; i++, done++) {
		const struct jit_ring_entry *e = &batch[i];
		struct jit_event ev;
		if (!jit_ring_whole(&s->h, first + i) || jit_ring_entry_check(e, first + i, s->h.n_segments, &f) < 0)
			return done ? done : -EOVERFLOW;
		jit_ring_entry_event(&ev, e, &s->h.who);
		if (e->name_len) {
			ev.name = seg_string(s, e->segment, e->name_off, e->name_len);
			if (!ev.name)
				return done ? done : -EOVERFLOW;
			ev.name_len = e->name_len;
		}
		s->seq++;
		s->journal_seg = e->segment;
		s->journal_pos = e->journal_next;
		s->n_events++;
		r = fn(arg, &ev);
		if (r < 0)
			return r;
	}
	return done;
}

/* Strings of a record into own buffers, and the string section if it has tables. */
static int record_strings(struct jit_source *s, uint32_t seg, const struct jit_record *r, struct jit_event *e)
{
	const char *p;

	if (r->name_len) {
		p = seg_string(s, seg, r->name_off, r->name_len);
		strbuf_reset(&s->name);
		if (!p || strbuf_add(&s->name, p, r->name_len) < 0)
			return -EBADMSG;
		e->name = s->name.buf;
		e->name_len = r->name_len;
	}
	if (!s->want_tables) {
		e->lines = e->inlines = e->unwind = NULL;
		e->lines_len = e->inlines_len = e->unwind_len = 0;
		return 0;
	}
	if (r->source_len) {
		p = seg_string(s, seg, r->source_off, r->source_len);
		strbuf_reset(&s->source_file);
		if (!p || strbuf_add(&s->source_file, p, r->source_len) < 0)
			return -EBADMSG;
		e->source_file = s->source_file.buf;
		e->source_file_len = r->source_len;
	}
	if (e->lines_len || e->inlines_len) {
		struct seg *g = &s->segs[seg];
		strbuf_reset(&s->strings);
		if (strbuf_reserve(&s->strings, g->strtab.size) < 0)
			return s->strings.error;
		if (read_at(g->fd, s->strings.buf, g->strtab.size, g->strtab.offset) < 0)
			return -EBADMSG;
		e->strings = s->strings.buf;
		e->strings_len = g->strtab.size;
	}
	return 0;
}

static int deliver_record(struct jit_source *s, const struct jit_record *r, const void *data, jit_event_fn *fn, void *arg)
{
	struct jit_event e;

	if (r->seq <= s->seq) /* had from the ring */
		return 0;
	jit_record_event(&e, r, data, &s->h.who);
	if (r->region_segment >= s->h.n_segments || record_strings(s, s->journal_seg, r, &e) < 0) {
		s->n_bad++;
		s->seq = r->seq;
		return 0;
	}
	s->seq = r->seq;
	s->n_events++;
	return fn(arg, &e) < 0 ? -ECANCELED : 1;
}

/* The rest of one journal, a chunk at a time. *stop: what the callback returned. Number delivered. */
static int from_journal(struct jit_source *s, const struct jit_image *im, jit_event_fn *fn, void *arg)
{
	const uint64_t end = im->journal.size;
	char name[32];
	struct jit_fault f = { .what = "cannot be read" };
	int done = 0;

	snprintf(name, sizeof(name), "%u.jo", s->journal_seg);
	while (s->journal_pos < end) {
		size_t want = (size_t)MIN(end - s->journal_pos, CHUNK), used = 0;
		struct jit_record r;
		int q = 0;
again:
		strbuf_reset(&s->chunk);
		if (strbuf_reserve(&s->chunk, want) < 0)
			return s->chunk.error;
		f.at = im->journal.offset + s->journal_pos;
		if (read_at(s->segs[s->journal_seg].fd, s->chunk.buf, want, f.at) < 0)
			return broken(s, -EBADMSG, name, &f);
		while (used < want && (q = jit_record_parse(&r, s->chunk.buf + used, want - used, im->swap, &f)) == 0) {
			int d = deliver_record(s, &r, s->chunk.buf + used, fn, arg);
			used += r.bytes;
			s->journal_pos += r.bytes;
			if (d < 0)
				return d;
			done += d;
		}
		if (q == -EAGAIN && !used && r.bytes > want && r.bytes <= end - s->journal_pos) {
			want = r.bytes; /* one large record */
			goto again;
		}
		if (q == -EBADMSG || (q == -EAGAIN && !used)) {
			if (q == -EAGAIN)
				f = (struct jit_fault){ .what = "record goes beyond the journal" };
			f.at += im->journal.offset + s->journal_pos;
			return broken(s, -EBADMSG, name, &f);
		}
	}
	return done;
}

/* Everything the journals have beyond the cursor. */
static int from_journals(struct jit_source *s, jit_event_fn *fn, void *arg)
{
	int done = 0;

	for (;;) {
		struct jit_image image;
		uint32_t n = s->h.n_segments; /* read before the sizes: an older journal is then complete */
		int r = seg_read(s, s->journal_seg, &image);
		if (r < 0)
			return r;
		r = from_journal(s, &image, fn, arg);
		if (r < 0)
			return r;
		done += r;
		if (s->journal_seg + 1 >= n)
			return done;
		s->journal_seg++;
		s->journal_pos = 0;
	}
}

int jit_source_poll(struct jit_source *s, jit_event_fn *fn, void *arg)
{
	uint64_t to, before = s->n_events;
	bool journal = s->want_tables;
	int r;

	if (s->ops)
		return s->ops->poll(s->impl, fn, arg);
	if (s->broken)
		return -EBADMSG;
	r = ring_read(s, s->why, sizeof(s->why));
	if (r < 0) {
		s->broken = true;
		return r == -EPROTONOSUPPORT ? r : -EBADMSG;
	}
	to = s->h.committed;
	while (s->seq < to) {
		if (!journal) {
			r = s->h.committed - s->seq > s->h.n_entries ? -EOVERFLOW : from_ring(s, to, fn, arg);
			if (r == -EOVERFLOW) {
				s->n_overruns++;
				journal = true;
				continue;
			}
			if (r < 0)
				return r;
			continue;
		}
		r = from_journals(s, fn, arg);
		if (r < 0)
			return r;
		if (s->seq < to) {
			struct jit_fault f = { .what = "counts events that the journal does not have",
					       .at = offsetof(struct jit_ring_header, committed) };
			return broken(s, -EBADMSG, "ring", &f);
		}
	}
	return (int)MIN(s->n_events - before, (uint64_t)INT32_MAX);
}

void jit_source_want_tables(struct jit_source *s, bool on) { s->want_tables = on; }

void jit_source_keep_only(struct jit_source *s, jit_source_wanted_fn *wanted, void *arg)
{
	if (s->ops && s->ops->keep_only)
		s->ops->keep_only(s->impl, wanted, arg);
}

const char *jit_source_why(const struct jit_source *s) { return s->ops ? s->ops->why(s->impl) : s->why; }
uint32_t jit_source_n_segments(const struct jit_source *s) { return s->ops ? 1 : s->h.n_segments; }
const struct jit_identity *jit_source_identity(const struct jit_source *s) { return s->ops ? NULL : &s->h.who; }

void jit_source_info(const struct jit_source *s, struct jit_source_info *ret)
{
	const struct jit_identity *w = &s->h.who;
	uint32_t closed = 0;

	if (s->ops) {
		s->ops->info(s->impl, ret);
		return;
	}
	*ret = (struct jit_source_info){
		.kind = jit_identity_kind(w), .lag_ns = w->lag_us * 1000ull, .pid = s->pid,
		.nspid = w->n_nspid ? w->nspid[w->n_nspid - 1] : w->pid, .start_time = w->start_time, .uid = w->uid,
		.n_events = s->n_events, .n_overruns = s->n_overruns, .n_bad = s->n_bad,
	};
	memcpy(ret->name, w->source, sizeof(ret->name));
	memcpy(ret->instance, s->instance, sizeof(ret->instance));
	for (uint32_t i = 0; i < MIN(s->h.n_segments, JIT_MAX_SEGMENTS); i++) {
		struct stat st;
		char name[32];
		snprintf(name, sizeof(name), "%u.jo", i);
		if (fstatat(s->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			ret->heap_bytes += (uint64_t)st.st_blocks * 512;
	}
	if (read_at(s->ringfd, &closed, sizeof(closed), offsetof(struct jit_ring_header, closed)) == 0)
		ret->closed = closed != 0;
}

int jit_source_save_image(struct jit_source *s, uint32_t segment, int dirfd, const char *path)
{
	struct jit_image image;
	int r;

	if (s->ops)
		return s->ops->save_image(s->impl, segment, dirfd, path);
	if (segment >= s->h.n_segments)
		return -ENOENT;
	r = seg_read(s, segment, &image);
	return r < 0 ? r : jit_image_save(s->segs[segment].fd, dirfd, path, NULL);
}

/* No process has its pid any more. A zombie or another that got the number counts as alive: then the copy stays a copy. */
static bool is_over(const struct jit_source *s) { return s->pid > 0 && kill(s->pid, 0) < 0 && errno == ESRCH; }

int jit_source_share_image(struct jit_source *s, uint32_t segment, int dirfd, const char *path)
{
	struct stat dir, opened, there;
	char name[32], tmp[32];

	if (s->ops || segment >= s->n_segs || s->segs[segment].fd < 0)
		return -ENOENT;
	if (!is_over(s))
		return -EBUSY;
	snprintf(name, sizeof(name), "%u.jo", segment);
	snprintf(tmp, sizeof(tmp), ".%u.jo", segment);
	if (fstat(s->dirfd, &dir) < 0 || fstat(s->segs[segment].fd, &opened) < 0 || fstatat(s->dirfd, name, &there, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (dir.st_uid != geteuid())
		return -EPERM;
	if (opened.st_dev != there.st_dev || opened.st_ino != there.st_ino)
		return -ESTALE;
	(void)unlinkat(s->dirfd, tmp, 0);
	if (linkat(dirfd, path, s->dirfd, tmp, 0) < 0)
		return -errno;
	if (renameat(s->dirfd, tmp, s->dirfd, name) < 0) {
		int r = -errno;

		(void)unlinkat(s->dirfd, tmp, 0);
		return r;
	}
	return 0;
}
