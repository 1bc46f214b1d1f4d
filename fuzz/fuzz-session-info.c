/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A session's info file and paths of sample files, of any bytes. */
#include <assert.h>
#include <string.h>

#include "session/info.h"
#include "session/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_STRBUF text = STRBUF_INIT, again = STRBUF_INIT, path = STRBUF_INIT_CAP(SESSION_MAX_PATH);
	struct session_info i = { 0 }, j = { 0 };
	struct session_file f;
	const char *event;
	char *strings = NULL;
	unsigned int line;

	if (session_info_read(&i, (const char *)data, size, &line) == 0) {
		/* What was read is written the same way for ever after. */
		assert(session_info_write(&i, &text) == 0);
		assert(session_info_read(&j, text.buf, text.len, &line) == 0);
		assert(session_info_write(&j, &again) == 0);
		assert(text.len == again.len && !memcmp(text.buf, again.buf, text.len));
	}
	session_info_done(&i);
	session_info_done(&j);
	if (!memchr(data, 0, size) && strbuf_add(&path, data, size) == 0 &&
	    session_path_parse(strbuf_str(&path), &f, &event, &strings) == 0) {
		strbuf_reset(&again);
		assert(session_path_make(&again, &f, event) == 0 && !strcmp(again.buf, path.buf));
		free(strings);
	}
	return 0;
}
