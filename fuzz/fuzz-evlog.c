/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An event log as the merge and the recorder take it, block by block; what comes out is put into text. */
#include "format/evlog/merge.h"
#include "format/evlog/recorder.h"
#include "format/evlog/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int sink(void *arg, const struct ev *e)
{
	struct strbuf *sb = arg;

	strbuf_reset(sb);
	evlog_text(sb, e);
	evlog_json(sb, e);
	return 0;
}
static int page(void *arg, const void *p, size_t len)
{
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_STRBUF sb = STRBUF_INIT;
	struct evlog_blocks b = { 0 };
	struct evlog_merge *m = NULL;
	struct evlog_recorder *r = NULL;
	size_t pos = 0, skip, block;
	bool early = size & 1, rec = true;

	if (evlog_merge_new(&m, size & 2 ? 1000 : 0, sink, early ? sink : NULL, &sb) || evlog_recorder_new(&r, 4096, 4096))
		return 0;
	while (evlog_blocks_next(&b, data + pos, size - pos, true, &skip, &block) > 0) {
		evlog_merge_feed(m, data + pos + skip, block);
		/* a recorder is fed by one writer: one log */
		rec = rec && (!pos || memcmp(data + pos + skip, "opel", MIN(block, (size_t)4)));
		if (rec)
			evlog_recorder_page(r, data + pos + skip, block);
		pos += skip + block;
	}
	evlog_merge_feed_cut(m, data + pos, size - pos);
	evlog_merge_finish(m);
	evlog_recorder_save(r, page, NULL);
	evlog_merge_free(m);
	evlog_recorder_free(r);
	return 0;
}
