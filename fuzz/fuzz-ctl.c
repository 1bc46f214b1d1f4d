/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines to the daemon's control socket: a verb with its operand, both inside the line, or refused. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/ctl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len = MIN(size, (size_t)CTL_MAX_LINE);
	char *line = malloc(len + 1);
	const char *verb = NULL, *operand = NULL;

	if (!line)
		return 0;
	memcpy(line, data, len);
	line[len] = '\0';
	int r = ctl_parse(line, len, &verb, &operand);
	assert(r == 0 || r == -EBADMSG);
	if (!r) {
		assert(verb >= line && verb + strlen(verb) <= line + len);
		assert(!operand || (operand > verb && *operand && operand + strlen(operand) <= line + len));
		for (const char *p = verb; *p; p++)
			assert(*p >= 'a' && *p <= 'z');
	}
	free(line);
	return 0;
}
