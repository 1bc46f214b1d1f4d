/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "format/evlog/evlog.h"
#include "format/evlog/merge.h"
#include "lib/io.h"

static int blocks_prefix(struct evlog_blocks *b, const uint8_t *data, size_t len, size_t *block)
{
	int ret = evlog_prefix_parse(data, len, block, &b->swap);

	if (ret == -EAGAIN)
		return 0;
	if (ret < 0)
		return ret;
	b->started = true;
	b->in_bad = false;
	return 1;
}

int evlog_blocks_next(struct evlog_blocks *b, const uint8_t *data, size_t len, bool last, size_t *skip, size_t *block)
{
	struct evlog_page pg;
	size_t at = 0;
	int ret;

	*skip = *block = 0;
	if (!b->started)
		return blocks_prefix(b, data, len, block);
	/* Blocks stand at multiples of 4 from the log's start, so a page that was spoilt is passed over in words. */
	for (;; at += 4) {
		if (len - at < EVLOG_PAGE_HEADER && !(len - at >= 8 && !memcmp(data + at, "opel", 4)))
			break;
		if (!memcmp(data + at, "opel", 4)) {
			ret = blocks_prefix(b, data + at, len - at, block);
			*skip = at;
			if (ret >= 0)
				return ret;
		} else if (!evlog_page_parse(data + at, b->swap, &pg)) {
			*skip = at;
			b->in_bad = false;
			*block = pg.block_len;
			if (len - at >= pg.block_len)
				return 1;
			return 0;
		}
		if (!b->in_bad)
			b->bad_blocks++;
		b->in_bad = true;
	}
	/* Too short for a header: wait, or, at the end, it is a cut header and no fault. */
	*skip = at;
	(void)last;
	return 0;
}

#define REPLAY_BUF ((size_t)1 << 20)

int evlog_replay_fd(int fd, struct evlog_merge *m, uint64_t *bad_blocks, uint64_t *cut_at)
{
	AUTO_FREE uint8_t *buf = malloc(REPLAY_BUF);
	struct evlog_blocks b = { 0 };
	struct evlog_merge_stats st;
	size_t have = 0, pos = 0, skip, block;
	uint64_t offset = 0, bad0;
	bool eof = false;
	int ret = 0;

	if (!buf)
		return -ENOMEM;
	evlog_merge_stats(m, &st);
	bad0 = st.bad_pages;
	for (;;) {
		ret = evlog_blocks_next(&b, buf + pos, have - pos, eof, &skip, &block);
		if (ret < 0)
			return ret;
		pos += skip;
		if (ret > 0) {
			ret = evlog_merge_feed(m, buf + pos, block);
			if (ret < 0 && ret != -EBADMSG)
				return ret;
			pos += block;
			continue;
		}
		if (eof)
			break;
		memmove(buf, buf + pos, have - pos);
		offset += pos;
		have -= pos;
		pos = 0;
		ssize_t n = read(fd, buf + have, REPLAY_BUF - have);
		if (n < 0 && errno != EINTR)
			return -errno;
		eof = n == 0;
		have += n > 0 ? (size_t)n : 0;
	}
	if (!b.started)
		return -EBADMSG; /* not even a prefix */
	ret = evlog_merge_feed_cut(m, buf + pos, have - pos);
	evlog_merge_stats(m, &st);
	if (bad_blocks)
		*bad_blocks = b.bad_blocks + st.bad_pages - bad0;
	if (cut_at)
		*cut_at = st.closed && pos == have ? UINT64_MAX : offset + have;
	return ret;
}
