/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "lib/io.h"
#include "lib/msg.h"
#include "report/opevlog.h"

/* What is being read must not be written to: it would be gone before it was read. */
static const struct evfile *inputs;

int evfile_may_write(const char *name)
{
	struct stat st;

	if (stat(name, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	for (const struct evfile *f = inputs; f; f = f->next)
		if (f->dev == st.st_dev && f->ino == st.st_ino) {
			msg_error("%s: is read too; give another --output", name);
			return -EINVAL;
		}
	return 0;
}

int evfile_open(struct evfile *f, const char *name)
{
	AUTO_CLOSE int fd = -1;
	struct strbuf sb = STRBUF_INIT_CAP((size_t)8 << 30);
	struct stat st;
	int ret;

	*f = (struct evfile){ .name = name };
	fd = strcmp(name, "-") ? open(name, O_RDONLY | O_CLOEXEC) : dup(0);
	if (fd < 0)
		return msg_errno(errno, "%s", name);
	if (fstat(fd, &st) < 0)
		return msg_errno(errno, "%s", name);
	if (S_ISDIR(st.st_mode))
		return msg_errno(EISDIR, "%s", name);
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	if (S_ISREG(st.st_mode) && st.st_size > 0) {
		void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p != MAP_FAILED) {
			f->data = p;
			f->len = (size_t)st.st_size;
			f->mapped = true;
			f->next = inputs;
			inputs = f;
			return 0;
		}
	}
	ret = io_read_all(fd, &sb);
	if (ret < 0) {
		strbuf_done(&sb);
		return msg_errno(ret, "%s", name);
	}
	f->len = sb.len;
	f->data = (const uint8_t *)strbuf_steal(&sb);
	return 0;
}

void evfile_close(struct evfile *f)
{
	for (const struct evfile **p = &inputs; *p; p = (const struct evfile **)&(*p)->next)
		if (*p == f) {
			*p = f->next;
			break;
		}
	if (f->mapped)
		munmap((void *)f->data, f->len);
	else
		free((void *)f->data);
	*f = (struct evfile){ 0 };
}

void evwalk_begin(struct evwalk *w, const struct evfile *f)
{
	*w = (struct evwalk){ .f = f };
}

void evwalk_end(struct evwalk *w)
{
	evlog_meta_done(&w->meta);
}

/* The last page, of which a part is there. */
static int walk_cut(struct evwalk *w, size_t at)
{
	size_t left = w->f->len - at;

	w->pos = w->f->len;
	w->at = at;
	w->cut = true;
	if (left < EVLOG_PAGE_HEADER || evlog_page_parse(w->f->data + at, w->blocks.swap, &w->pg) < 0 || !w->pg.stream)
		return 0;
	w->pg.used = (uint32_t)MIN(w->pg.used, (left - EVLOG_PAGE_HEADER) & ~(size_t)3);
	w->body = w->f->data + at + EVLOG_PAGE_HEADER;
	return 1;
}

int evwalk_next(struct evwalk *w)
{
	for (;;) {
		const uint8_t *p = w->f->data + w->pos;
		size_t skip, block;
		uint64_t bad = w->blocks.bad_blocks;
		int ret = evlog_blocks_next(&w->blocks, p, w->f->len - w->pos, true, &skip, &block);
		if (ret < 0)
			return ret;
		if (w->blocks.bad_blocks != bad && !w->bad++)
			w->bad_at = w->pos;
		if (!ret) {
			if (!w->blocks.started)
				return -EBADMSG;
			return w->pos + skip < w->f->len ? walk_cut(w, w->pos + skip) : 0;
		}
		p += skip;
		w->at = w->pos + skip;
		w->pos = w->at + block;
		if (!memcmp(p, "opel", 4)) {
			evlog_meta_done(&w->meta);
			continue;
		}
		evlog_page_parse(p, w->blocks.swap, &w->pg);
		w->body = p + EVLOG_PAGE_HEADER;
		if (w->pg.stream)
			return 1;
		ret = evlog_meta_feed(&w->meta, w->body, w->pg.used, w->blocks.swap, w->pg.flags & PGF_LAST);
		if (ret == -ENOMEM)
			return ret;
		if (ret < 0 && !w->bad++)
			w->bad_at = w->at;
	}
}

bool event_is_state(const struct ev *e)
{
	return e->type != EV_SAMPLE && e->type != EV_LOST && e->type != EV_SYNC && e->type != EV_THROTTLE;
}

bool filter_takes(const struct filter *f, const struct evlog_meta *meta, const struct ev *e)
{
	double t = ((double)e->time_ns - (double)meta->anchor_mono) / 1e9;

	return (f->from < 0 || t >= f->from) && (f->to < 0 || t < f->to) && (f->pid < 0 || e->pid == f->pid) &&
	       (f->cpu < 0 || e->cpu == (uint32_t)f->cpu);
}

int evfile_merge(const struct evfile *f, ev_sink_fn *fn, evlog_user_fn *user, void *arg, struct evlog_merge **keep)
{
	struct evlog_merge *m = NULL;
	struct evlog_blocks b = { 0 };
	struct evlog_merge_stats st;
	size_t pos = 0, skip, block;
	int ret = evlog_merge_new(&m, 0, fn, NULL, arg);

	if (ret < 0)
		return ret;
	evlog_merge_set_user(m, user);
	*keep = m;
	while ((ret = evlog_blocks_next(&b, f->data + pos, f->len - pos, true, &skip, &block)) > 0) {
		ret = evlog_merge_feed(m, f->data + pos + skip, block);
		if (ret < 0 && ret != -EBADMSG)
			return ret;
		pos += skip + block;
	}
	if (!ret && !b.started)
		ret = -EBADMSG;
	if (ret < 0)
		return msg_errno(ret, "%s: offset %zu: not an event log that can be read", f->name, pos);
	pos += skip;
	ret = evlog_merge_feed_cut(m, f->data + pos, f->len - pos);
	if (!ret)
		ret = evlog_merge_finish(m);
	evlog_merge_stats(m, &st);
	if (!st.closed)
		msg_warn("%s: ends at offset %zu without being closed", f->name, f->len);
	if (b.bad_blocks + st.bad_pages)
		msg_warn("%s: %llu pages could not be read and were left out", f->name,
			 (unsigned long long)(b.bad_blocks + st.bad_pages));
	return ret;
}

static int out_page(void *arg, const void *page, size_t len)
{
	return fwrite(page, 1, len, arg) == len ? 0 : -EIO;
}

int evout_open(struct evout *o, const char *name, uint32_t n_streams, const struct evlog_meta *meta)
{
	struct evlog_writer_opts wo = { .n_streams = n_streams, .page = out_page };
	int ret;

	*o = (struct evout){ 0 };
	if (!name) {
		msg_error("say where to with --output=FILE");
		return -EINVAL;
	}
	if (meta && meta->have_init) {
		wo.page_size = meta->page_size;
		wo.anchor_mono_ns = meta->anchor_mono;
		wo.anchor_real_ns = meta->anchor_real ? meta->anchor_real : 1;
		wo.machine = meta->machine;
	}
	if (evfile_may_write(name) < 0)
		return -EINVAL;
	o->f = strcmp(name, "-") ? fopen(name, "we") : stdout;
	if (!o->f)
		return msg_errno(errno, "%s", name);
	wo.arg = o->f;
	ret = evlog_writer_new(&o->w, &wo);
	return ret < 0 ? msg_errno(ret, "%s", name) : 0;
}

int evout_close(struct evout *o, int ret)
{
	if (o->w && !ret)
		ret = evlog_writer_finish(o->w);
	evlog_writer_free(o->w);
	if (o->f && (fflush(o->f) || ferror(o->f)) && !ret)
		ret = -EIO;
	if (o->f && o->f != stdout && fclose(o->f) && !ret)
		ret = -EIO;
	if (ret == -EIO)
		msg_error("cannot write the output: is the disk full?");
	return ret;
}
