/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jitconv/foreign.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "jitconv/seal.h"
#include "jitconv/source.h"
#include "lib/io.h"
#include "lib/strbuf.h"

#define CHUNK 65536u
#define TEXT_MAX (1ull << 32)  /* code of one image */
#define ALIGN_TEXT 16u
#define POLL_MAX (64ull << 20)    /* read in one go: a file may be endless */
#define GARBAGE_MAX (64ull << 20)
#define SPOOL_MAX (256ull << 20)  /* of a map that is larger, what was written over has no names */
#define TAIL 64u

/* Where the next region goes: the same on every reading of the same bytes. */
struct place {
	uint64_t text, nobits;
};

struct jit_foreign {
	enum jit_format format;
	int fd;
	char *path;             /* as the process has it */
	uint64_t pos;
	struct jit_parser *parser;
	struct place place;
	jit_event_fn *fn;
	void *arg;
	uint64_t n_events;
	uint64_t id_base;       /* a file that was written anew begins its numbers behind these */
	uint64_t realtime_offset_ns;
	int32_t pid;
	uint32_t uid;
	uint64_t good_pos;      /* so far records came out */
	bool gave_up;           /* nothing but rubbish for GARBAGE_MAX, or lengths that cannot be trusted */
	bool finished;          /* the process is gone, and all was taken */
	/*
	 * A map may be written anew in its place, by another writer or by the same one. So what was read of it is kept in a file without a name,
	 * where what it said before is found when names are saved; and its last bytes are remembered, to see that they still stand there.
	 */
	int spool_fd;           /* -1 = none */
	uint64_t spool_len;
	uint8_t tail[TAIL];
	size_t tail_len;
	int64_t mtime_ns;       /* when the last poll began */
	/* Where the present content of the file begins, for when there is no spool. */
	struct place base;
	uint64_t base_events;
	jit_source_wanted_fn *wanted; /* of regions without code; NULL = all */
	void *wanted_arg;
};

static _Thread_local char why_text[512];

/* --- telling files apart -------------------------------------------------------------------------------- */

enum jit_format jit_foreign_detect(const void *head, size_t len)
{
	const unsigned char *h = head;
	size_t i = 0;

	if (len >= 4 && (!memcmp(h, "DTiJ", 4) || !memcmp(h, "JiTD", 4)))
		return JIT_FORMAT_JITDUMP;
	if (len >= 4 && !memcmp(h, "jItO", 4))
		return JIT_FORMAT_OPDUMP;
	if (len > 2 && h[0] == '0' && (h[1] | 0x20) == 'x')
		i = 2;
	while (i < len && isxdigit(h[i]))
		i++;
	if (len >= 4 && h[0] == '[' && memmem(h, MIN(len, (size_t)64), "] {jit-backend-addr", 19))
		return JIT_FORMAT_PYPYLOG;
	return i && i < len && (h[i] == ' ' || h[i] == '\t') ? JIT_FORMAT_PERFMAP : (enum jit_format)0;
}

static bool name_is(const char *base, const char *prefix, const char *suffix, int32_t *pid)
{
	size_t n = strlen(prefix);
	char digits[12];
	size_t len;
	uint64_t v;

	if (strncmp(base, prefix, n) != 0)
		return false;
	base += n;
	len = strspn(base, "0123456789");
	if (!len || len >= sizeof(digits) || strcmp(base + len, suffix) != 0)
		return false;
	memcpy(digits, base, len);
	digits[len] = '\0';
	if (util_parse_u64(digits, 10, INT32_MAX, &v) < 0)
		return false;
	*pid = (int32_t)v;
	return true;
}

enum jit_format jit_foreign_name(const char *path, int32_t *pid)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

	if (name_is(base, "jit-", ".dump", pid))
		return JIT_FORMAT_JITDUMP;
	if (name_is(base, "perf-", ".map", pid))
		return JIT_FORMAT_PERFMAP;
	if (name_is(base, "opjit-pypy-", ".log", pid))
		return JIT_FORMAT_PYPYLOG;
	if (slash && slash - path >= 8 && !strncmp(slash - 8, "/jitdump", 8) && name_is(base, "", ".dump", pid))
		return JIT_FORMAT_OPDUMP;
	return (enum jit_format)0;
}

/* --- opening -------------------------------------------------------------------------------------------- */

static int refuse(int err, const char **why, const char *fmt, ...) PRINTF_LIKE(3, 4);
static int refuse(int err, const char **why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why_text, sizeof(why_text), fmt, ap);
	va_end(ap);
	*why = why_text;
	return err;
}

static int open_checked(int rootfd, int32_t pid, uint32_t uid, const char *path, const char **why)
{
	struct stat st;
	AUTO_CLOSE int fd = rootfd >= 0 ? io_open_regular_in_root(rootfd, path, O_RDONLY) : io_open_regular(AT_FDCWD, path, O_RDONLY);

	if (fd == -ENXIO)
		return refuse(-ENXIO, why, "%s: ignored: not a regular file", path);
	if (fd == -ELOOP)
		return refuse(-ELOOP, why, "%s: ignored: a symbolic link", path);
	if (fd < 0)
		return refuse(fd, why, "%s: %s", path, strerror(-fd));
	if (fstat(fd, &st) < 0)
		return refuse(-errno, why, "%s: %s", path, strerror(errno));
	if (uid != (uint32_t)-1 && st.st_uid != uid)
		return refuse(-EPERM, why, "%s: ignored: owned by uid %u, process %d runs as uid %u", path, st.st_uid, pid, uid);
	return TAKE_FD(fd);
}

static int on_event(void *arg, const struct jit_event *e);

static int parser_begin(struct jit_foreign *f)
{
	struct jit_parser_opts o = { .fn = on_event, .arg = f, .realtime_offset_ns = f->realtime_offset_ns };

	return jit_parser_new(&f->parser, f->format, &o);
}

int jit_foreign_open(struct jit_foreign **ret, enum jit_format format, int rootfd, int32_t pid, uint32_t uid, const char *path,
		     const char **why)
{
	struct jit_foreign *f;
	struct timespec real;
	int fd = open_checked(rootfd, pid, uid, path, why), r;

	if (fd < 0)
		return fd;
	f = calloc(1, sizeof(*f));
	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	clock_gettime(CLOCK_REALTIME, &real);
	*f = (struct jit_foreign){ .format = format, .fd = fd, .path = strdup(path), .pid = pid, .uid = uid, .spool_fd = -1,
				   .place = { JIT_FOREIGN_TEXT, JIT_FOREIGN_NOBITS }, .base = { JIT_FOREIGN_TEXT, JIT_FOREIGN_NOBITS } };
	f->realtime_offset_ns = (uint64_t)real.tv_sec * NSEC_PER_SEC + (uint64_t)real.tv_nsec - util_now_ns();
	r = f->path ? parser_begin(f) : -ENOMEM;
	if (r < 0) {
		jit_foreign_free(f);
		return r;
	}
	*ret = f;
	return 0;
}

void jit_foreign_free(struct jit_foreign *f)
{
	if (!f)
		return;
	jit_parser_free(f->parser);
	if (f->spool_fd >= 0)
		close(f->spool_fd);
	close(f->fd);
	free(f->path);
	free(f);
}

/* --- reading -------------------------------------------------------------------------------------------- */

static bool has_bytes(const struct jit_event *e, const struct place *p)
{
	return e->code_len && e->code_len == e->size && p->text + e->size + ALIGN_TEXT < TEXT_MAX;
}

static void place_region(struct place *p, struct jit_event *e)
{
	uint64_t *at = has_bytes(e, p) ? &p->text : &p->nobits;

	if (at == &p->nobits)
		e->flags |= JIT_NO_BYTES;
	e->image_offset = *at;
	*at += ALIGN_UP(MAX(e->size, (uint64_t)1), (uint64_t)ALIGN_TEXT);
}

static int on_event(void *arg, const struct jit_event *in)
{
	struct jit_foreign *f = arg;
	struct jit_event e = *in;

	if (e.type == JIT_EVENT_LOAD)
		place_region(&f->place, &e);
	if (e.id)
		e.id += f->id_base;
	f->n_events++;
	return f->fn(f->arg, &e);
}

static int64_t mtime_of(const struct stat *st) { return st->st_mtim.tv_sec * (int64_t)NSEC_PER_SEC + st->st_mtim.tv_nsec; }

bool jit_foreign_pending(struct jit_foreign *f)
{
	struct stat st;

	if (fstat(f->fd, &st) < 0)
		return false;
	return (uint64_t)st.st_size != f->pos || (f->format == JIT_FORMAT_PERFMAP && f->pos && mtime_of(&st) != f->mtime_ns);
}

/* --- maps that are written anew --- */

static void spool_drop(struct jit_foreign *f)
{
	if (f->spool_fd >= 0)
		close(f->spool_fd);
	f->spool_fd = -1;
}

static void spool_open(struct jit_foreign *f)
{
	static const char *const dirs[] = { "/var/tmp", "/tmp" };

	for (size_t i = 0; i < ARRAY_SIZE(dirs) && f->spool_fd < 0; i++)
		f->spool_fd = open(dirs[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static void spool_add(struct jit_foreign *f, const char *buf, size_t n)
{
	if (f->format == JIT_FORMAT_PERFMAP) {
		size_t k = MIN(n, (size_t)TAIL);
		memcpy(f->tail, buf + n - k, k);
		f->tail_len = k;
	}
	if (f->spool_fd < 0)
		return;
	if (f->spool_len + n > SPOOL_MAX || io_pwrite_full(f->spool_fd, buf, n, (off_t)f->spool_len) < 0)
		spool_drop(f);
	else
		f->spool_len += n;
}

/* Shorter than what was read, or (a map) other bytes at the end of what was read. */
static bool is_rewritten(struct jit_foreign *f, const struct stat *now)
{
	uint8_t tail[TAIL];

	if ((uint64_t)now->st_size < f->pos)
		return true;
	return f->tail_len && (pread(f->fd, tail, f->tail_len, (off_t)(f->pos - f->tail_len)) != (ssize_t)f->tail_len ||
			       memcmp(tail, f->tail, f->tail_len) != 0);
}

/* Then it is read again from its start; places and numbers go on behind those of the old content. */
static int check_rewritten(struct jit_foreign *f)
{
	struct jit_parser_stats st;
	struct stat now;

	if (fstat(f->fd, &now) < 0)
		return -errno;
	f->mtime_ns = mtime_of(&now);
	if (!is_rewritten(f, &now))
		return 0;
	jit_parser_stats(f->parser, &st);
	f->id_base += st.loads;
	f->base = f->place;
	f->base_events = f->n_events;
	f->spool_len -= MIN(f->spool_len, (uint64_t)jit_parser_unfinished(f->parser)); /* a line whose end never came */
	jit_parser_free(f->parser);
	f->parser = NULL;
	f->pos = f->good_pos = 0;
	f->tail_len = 0;
	return parser_begin(f);
}

int jit_foreign_poll(struct jit_foreign *f, uint64_t max, jit_event_fn *fn, void *arg)
{
	uint64_t before = f->n_events, now = util_now_ns(), left = max ? max : UINT64_MAX;
	AUTO_FREE char *buf = NULL;
	int r = check_rewritten(f);

	if (r < 0)
		return r;
	buf = malloc(CHUNK);
	if (!buf)
		return -ENOMEM;
	f->fn = fn;
	f->arg = arg;
	while (left) {
		ssize_t n = pread(f->fd, buf, MIN((uint64_t)CHUNK, left), (off_t)f->pos);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		uint64_t had = f->n_events;
		r = jit_parser_feed(f->parser, buf, (size_t)n, now);
		f->pos += (uint64_t)n;
		spool_add(f, buf, (size_t)n);
		left -= (uint64_t)n;
		if (f->n_events != had)
			f->good_pos = f->pos;
		if (r >= 0 && f->pos - f->good_pos > GARBAGE_MAX)
			r = -EBADMSG;
		if (r < 0) {
			f->gave_up |= r == -EBADMSG;
			return r;
		}
	}
	return (int)MIN(f->n_events - before, (uint64_t)INT32_MAX);
}

int jit_foreign_finish(struct jit_foreign *f, jit_event_fn *fn, void *arg)
{
	int n = jit_foreign_poll(f, 0, fn, arg), r;
	uint64_t before = f->n_events;

	if (n < 0)
		return n;
	r = jit_parser_finish(f->parser, util_now_ns());
	return r < 0 ? r : n + (int)(f->n_events - before);
}

void jit_foreign_stats(const struct jit_foreign *f, struct jit_parser_stats *ret) { jit_parser_stats(f->parser, ret); }
enum jit_format jit_foreign_format(const struct jit_foreign *f) { return f->format; }

/* --- the image ------------------------------------------------------------------------------------------ */

struct saver {
	struct seal *seal;
	struct place place;
	struct strbuf text;
	uint64_t events;
	/* regions without bytes come after all with bytes: kept until then */
	struct strbuf nobits, names;
	/* OProfile's dump tells lines behind their code: the last region waits for them */
	bool lines_follow;
	uint64_t id_base;
	jit_source_wanted_fn *wanted;
	void *wanted_arg;
	struct seal_region held;
	uint64_t held_id;
	struct strbuf held_name, held_lines, held_strings;
};

static int held_out(struct saver *s)
{
	uint64_t id = s->held_id;

	s->held_id = 0;
	return id ? seal_add(s->seal, &s->held) : 0;
}

static int hold(struct saver *s, const struct seal_region *r, uint64_t id)
{
	int ret = held_out(s);

	if (ret < 0)
		return ret;
	strbuf_reset(&s->held_name);
	if (strbuf_add(&s->held_name, r->name, r->name_len) < 0)
		return -ENOMEM;
	s->held = *r;
	s->held.name = s->held_name.buf;
	s->held_id = id;
	return 0;
}

static int amend_held(struct saver *s, const struct jit_event *e)
{
	if (!s->held_id || e->id != s->held_id || !e->lines_len)
		return 0;
	strbuf_reset(&s->held_lines);
	strbuf_reset(&s->held_strings);
	if (strbuf_add(&s->held_lines, e->lines, e->lines_len) < 0 || strbuf_add(&s->held_strings, e->strings, e->strings_len) < 0)
		return -ENOMEM;
	s->held.lines = s->held_lines.buf;
	s->held.lines_len = s->held_lines.len;
	s->held.strings = s->held_strings.buf;
	s->held.strings_len = s->held_strings.len;
	return 0;
}

struct nobits {
	uint64_t offset, size, name;
	uint64_t name_len;
};

static int save_nobits(struct saver *s, const struct jit_event *e)
{
	struct nobits n = { e->image_offset, e->size, s->names.len, e->name_len };

	if (s->wanted && !s->wanted(s->wanted_arg, s->id_base + e->id))
		return 0;
	strbuf_add(&s->names, e->name, e->name_len);
	return strbuf_add(&s->nobits, &n, sizeof(n));
}

static int save_event(void *arg, const struct jit_event *in)
{
	struct saver *s = arg;
	struct jit_event e = *in;
	struct seal_region r;

	if (!s->events)
		return -ECANCELED; /* that far it was delivered; the rest comes another time */
	s->events--;
	if (e.type == JIT_EVENT_AMEND)
		return amend_held(s, &e);
	if (e.type != JIT_EVENT_LOAD)
		return 0;
	place_region(&s->place, &e);
	if (e.flags & JIT_NO_BYTES)
		return save_nobits(s, &e);
	if (strbuf_reserve(&s->text, (size_t)(e.image_offset + e.size - JIT_FOREIGN_TEXT) - s->text.len) < 0)
		return -ENOMEM;
	memset(s->text.buf + s->text.len, 0, (size_t)(e.image_offset - JIT_FOREIGN_TEXT) - s->text.len);
	s->text.len = (size_t)(e.image_offset - JIT_FOREIGN_TEXT);
	strbuf_add(&s->text, e.code, e.code_len);
	r = (struct seal_region){ .offset = e.image_offset, .size = e.size, .name = e.name, .name_len = e.name_len,
				  .lines = e.lines, .lines_len = e.lines_len, .strings = e.strings, .strings_len = e.strings_len,
				  .own_strings = true, .eh_frame = e.eh_frame, .eh_frame_len = e.eh_frame_len };
	return s->lines_follow ? hold(s, &r, e.id) : seal_add(s->seal, &r);
}

static int add_nobits(struct saver *s)
{
	for (size_t i = 0; i < s->nobits.len; i += sizeof(struct nobits)) {
		struct seal_region r = { .no_bytes = true };
		struct nobits n;
		int ret;
		memcpy(&n, s->nobits.buf + i, sizeof(n));
		r.offset = n.offset;
		r.size = n.size;
		r.name = s->names.buf + n.name;
		r.name_len = n.name_len;
		ret = seal_add(s->seal, &r);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int read_again(struct jit_foreign *f, struct saver *s)
{
	struct jit_parser_opts o = { .fn = save_event, .arg = s, .realtime_offset_ns = f->realtime_offset_ns };
	struct jit_parser *p;
	AUTO_FREE char *buf = malloc(CHUNK);
	int r = buf ? jit_parser_new(&p, f->format, &o) : -ENOMEM, fd = f->spool_fd >= 0 ? f->spool_fd : f->fd;
	uint64_t end = f->spool_fd >= 0 ? f->spool_len : f->pos;

	if (r < 0)
		return r;
	for (uint64_t at = 0; at < end && !r;) {
		ssize_t n = pread(fd, buf, MIN((uint64_t)CHUNK, end - at), (off_t)at);
		if (n <= 0)
			break;
		r = jit_parser_feed(p, buf, (size_t)n, 0);
		at += (uint64_t)n;
	}
	if (!r && s->events)
		r = jit_parser_finish(p, 0);
	jit_parser_free(p);
	return r == -ECANCELED || r == -EBADMSG ? 0 : r;
}

int jit_foreign_save(struct jit_foreign *f, int dirfd, const char *path)
{
	struct seal_opts o = { .name = f->format == JIT_FORMAT_JITDUMP ? "jitdump" : "jit" };
	struct saver s = { .place = { JIT_FOREIGN_TEXT, JIT_FOREIGN_NOBITS }, .wanted = f->wanted, .wanted_arg = f->wanted_arg, .text = STRBUF_INIT_CAP(TEXT_MAX), .events = f->n_events,
			   .nobits = STRBUF_INIT_CAP(TEXT_MAX), .names = STRBUF_INIT_CAP(TEXT_MAX),
			   .lines_follow = f->format == JIT_FORMAT_OPDUMP, .held_name = STRBUF_INIT_CAP(TEXT_MAX),
			   .held_lines = STRBUF_INIT_CAP(TEXT_MAX), .held_strings = STRBUF_INIT_CAP(TEXT_MAX) };
	struct jit_parser_stats st;
	struct seal_text t = { .offset = JIT_FOREIGN_TEXT };
	AUTO_STRBUF tmp = STRBUF_INIT_CAP(8192);
	AUTO_CLOSE int fd = -1;
	int r;

	if (f->spool_fd < 0) { /* what stood before the present content is gone */
		s.place = f->base;
		s.events -= f->base_events;
		s.id_base = f->id_base;
	}
	jit_parser_stats(f->parser, &st);
	o.machine = st.machine;
	r = seal_new(&s.seal, &o);
	if (r < 0)
		return r;
	r = read_again(f, &s);
	if (!r)
		r = held_out(&s);
	if (!r)
		r = add_nobits(&s);
	t.bytes = s.text.buf;
	t.len = s.text.len;
	if (s.nobits.len) {
		t.nobits_offset = JIT_FOREIGN_NOBITS;
		t.nobits_len = s.place.nobits - JIT_FOREIGN_NOBITS;
	}
	fd = r < 0 ? -1 : io_beside_open(dirfd, path, 0644, &tmp);
	if (!r)
		r = fd < 0 ? fd : io_beside_commit(dirfd, path, &tmp, seal_write(s.seal, fd, &t));
	seal_free(s.seal);
	strbuf_done(&s.text);
	strbuf_done(&s.nobits);
	strbuf_done(&s.names);
	strbuf_done(&s.held_name);
	strbuf_done(&s.held_lines);
	strbuf_done(&s.held_strings);
	return r;
}

/* --- as a jit_source ------------------------------------------------------------------------------------ */

static void src_free(void *impl) { jit_foreign_free(impl); }

/* Gone, or a zombie: it writes no more. */
static bool has_ended(int32_t pid)
{
	AUTO_STRBUF text = STRBUF_INIT_CAP(4096);
	char path[32];
	const char *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (io_slurp(AT_FDCWD, path, &text) < 0 || !text.len)
		return true;
	state = strrchr(strbuf_str(&text), ')');
	return state && state[1] == ' ' && (state[2] == 'Z' || state[2] == 'X');
}

/* Once nobody can write the rest of it, a last line counts without its newline, and a last record is cut for good. */
static bool last_is_due(const struct jit_foreign *f)
{
	return !f->finished && jit_parser_unfinished(f->parser) && has_ended(f->pid);
}

static bool src_pending(void *impl)
{
	struct jit_foreign *f = impl;

	return !f->gave_up && !f->finished && (jit_foreign_pending(f) || last_is_due(f));
}

static int src_poll(void *impl, jit_event_fn *fn, void *arg)
{
	struct jit_foreign *f = impl;
	int n = jit_foreign_poll(f, POLL_MAX, fn, arg), r;
	uint64_t before = f->n_events;

	if (n < 0 || jit_foreign_pending(f) || !last_is_due(f))
		return n;
	f->finished = true;
	r = jit_parser_finish(f->parser, util_now_ns());
	return r < 0 ? r : n + (int)(f->n_events - before);
}

static void src_info(void *impl, struct jit_source_info *ret)
{
	static const struct {
		enum jit_source_kind kind;
		const char *name;
		uint64_t lag_ns;
	} kinds[] = {
		[JIT_FORMAT_JITDUMP] = { JIT_SOURCE_JITDUMP, "jitdump", 20 * NSEC_PER_MSEC },
		[JIT_FORMAT_PERFMAP] = { JIT_SOURCE_PERFMAP, "perf map", 20 * NSEC_PER_MSEC },
		[JIT_FORMAT_OPDUMP] = { JIT_SOURCE_OPDUMP, "OProfile dump", NSEC_PER_SEC },
		[JIT_FORMAT_PYPYLOG] = { JIT_SOURCE_PYPYLOG, "PyPy log", 20 * NSEC_PER_MSEC },
	};
	struct jit_foreign *f = impl;
	struct jit_parser_stats st;
	struct stat file = { 0 };
	uint64_t id[3];

	jit_parser_stats(f->parser, &st);
	(void)fstat(f->fd, &file);
	id[0] = file.st_dev;
	id[1] = file.st_ino;
	id[2] = (uint64_t)f->format;
	*ret = (struct jit_source_info){ .kind = kinds[f->format].kind, .lag_ns = kinds[f->format].lag_ns, .pid = f->pid, .nspid = f->pid,
					 .uid = f->uid, .heap_bytes = (uint64_t)file.st_blocks * 512, .n_events = f->n_events,
					 .n_bad = st.bad };
	snprintf(ret->name, sizeof(ret->name), "%s", kinds[f->format].name);
	snprintf(ret->instance, sizeof(ret->instance), "%d-%016llx", f->pid, (unsigned long long)util_hash_bytes(id, sizeof(id)));
}

static int src_save(void *impl, uint32_t segment, int dirfd, const char *path)
{
	return segment ? -ENOENT : jit_foreign_save(impl, dirfd, path);
}

static const char *src_why(void *impl)
{
	struct jit_foreign *f = impl;
	struct jit_parser_stats st;

	jit_parser_stats(f->parser, &st);
	if (f->pos - f->good_pos > GARBAGE_MAX)
		snprintf(why_text, sizeof(why_text), "%.400s: %llu MB without one good record", f->path, GARBAGE_MAX >> 20);
	else
		snprintf(why_text, sizeof(why_text), "%.400s: %s (offset %llu)", f->path, st.first_bad ? st.first_bad : "read error",
			 (unsigned long long)st.first_bad_at);
	return why_text;
}

static void src_keep_only(void *impl, jit_source_wanted_fn *wanted, void *arg)
{
	struct jit_foreign *f = impl;

	f->wanted = wanted;
	f->wanted_arg = arg;
}

int jit_foreign_source(struct jit_source **ret, struct jit_foreign *f)
{
	static const struct jit_source_ops ops = { src_free, src_pending, src_poll, src_info, src_save, src_why, src_keep_only };

	if (f->format == JIT_FORMAT_PERFMAP && !f->pos)
		spool_open(f);
	return jit_source_wrap(ret, &ops, f);
}
