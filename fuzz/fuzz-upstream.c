/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What opimport reads: a sample file of OProfile, and an image of JIT code, which is written again and read again. */
#include <assert.h>

#include "fuzz/quiet.h"
#include "report/upstream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct upstream_pair pairs[4096];
static int keep(void *arg, uint64_t key, uint64_t value)
{
	size_t *n = arg;

	if (*n < ARRAY_SIZE(pairs))
		pairs[(*n)++] = (struct upstream_pair){ key, value };
	return 0;
}

static void samples(const uint8_t *data, size_t size)
{
	AUTO_STRBUF out = STRBUF_INIT;
	struct upstream_head h, again;
	const char *what = NULL;
	size_t n = 0, m = 0;
	uint64_t at = 0;

	if (upstream_read(&h, data, size, keep, &n, &what, &at) < 0) {
		assert(what && at <= size);
		return;
	}
	assert(upstream_write(&out, &h, pairs, n) == 0);
	assert(upstream_read(&again, out.buf, out.len, keep, &m, &what, &at) == 0 && m == n);
}

static void image(const uint8_t *data, size_t size)
{
	struct jo_image im = JO_IMAGE_INIT, again = JO_IMAGE_INIT;
	struct memfile in = memfile_make(data, size);
	char to[] = "/dev/shm/opjit-fuzz-XXXXXX";
	AUTO_CLOSE int fd = -1;

	if (jo_image_read(&im, in.name) == 0 && im.n) {
		jo_image_find(&im, im.symbols[0].addr + 1);
		fd = mkstemp(to);
		assert(fd >= 0);
		if (jo_image_write(&im, im.symbols[0].addr, to) == 0)
			assert(jo_image_read(&again, to) == 0);
		unlink(to);
	}
	jo_image_done(&im);
	jo_image_done(&again);
	close(in.fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[0] == 'D')
		samples(data, size);
	else if (size)
		image(data, size);
	return 0;
}
