/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What opevlog convert reads that is no log of ours. The first byte chooses: a log of hwpmc; notes, samples and names, whose
 * lengths stand in two words behind it; text of perf script; or a stream of a CTF trace. What is taken becomes a log that the
 * checker takes.
 */
#include <fcntl.h>

#include "format/abi/opsd.h"
#include "fuzz/quiet.h"
#include "report/opevlog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A sample may stand for many hits, each an event: inputs of that kind take too long to say more than others do. */
static bool too_many_hits(const uint8_t *data, size_t size)
{
	struct abi_format f;
	int at = abi_prefix_read(&f, ABI_OPSD, data, size, NULL);
	size_t pos = (size_t)at;
	struct opsd_head h;
	struct opsd_sample s;
	uint64_t sum = 0;

	while (at > 0 && opsd_head_next(&f, data, size, &pos, true, &h, NULL) > 0)
		for (uint64_t i = 0; i < h.n && opsd_sample_next(&f, data, size, &pos, &s, NULL) > 0; i++)
			if ((sum += MIN(s.count, (uint64_t)1 << 20)) > 1 << 16)
				return true;
	return false;
}

static int keep(void *arg, const void *page, size_t len)
{
	return strbuf_add(arg, page, len);
}

/* A trace whose metadata is right. */
static char trace[] = "/dev/shm/opjit-fuzz-XXXXXX";
static void trace_remove(void)
{
	io_remove_tree(AT_FDCWD, trace, NULL, NULL);
}
static void trace_make(void)
{
	AUTO_STRBUF log = STRBUF_INIT;
	struct evlog_writer_opts o = { .n_streams = 1, .page = keep, .arg = &log, .anchor_real_ns = 1, .machine = "fuzz" };
	struct evlog_writer *w = NULL;

	if (!mkdtemp(trace) || evlog_writer_new(&w, &o) || evlog_writer_finish(w))
		abort();
	atexit(trace_remove);
	evlog_writer_free(w);
	if (convert_ctf(&(struct evfile){ .name = "log", .data = (const uint8_t *)log.buf, .len = log.len }, trace))
		abort();
}

static int import_ctf(const uint8_t *data, size_t size, const char *to)
{
	AUTO_STRBUF path = STRBUF_INIT;
	AUTO_CLOSE int fd = -1;
	static bool made;

	if (!made)
		trace_make();
	made = true;
	strbuf_addf(&path, "%s/stream_1", trace);
	fd = open(strbuf_str(&path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || io_write_full(fd, data, size) < 0)
		abort();
	return convert_from_ctf(trace, to);
}

static int import(const uint8_t *data, size_t size, const char *to)
{
	struct evfile f = { .name = "log", .data = data + 1, .len = size - 1 };
	struct options o = { 0 };
	struct memfile part[3];
	size_t len[2], at = 5;
	uint16_t word;
	int ret;

	if (data[0] & 0x10)
		return convert_from_script(&f, to);
	if (data[0] & 0x20)
		return import_ctf(data + 1, size - 1, to);
	if (!(data[0] & 1))
		return convert_from_pmclog(&f, to);
	if (size < at)
		return -EINVAL;
	for (int i = 0; i < 2; i++) {
		memcpy(&word, data + 1 + 2 * i, 2);
		len[i] = MIN((size_t)word, size - at - (i ? len[0] : 0));
	}
	if (too_many_hits(data + at + len[0], len[1]))
		return -EINVAL;
	part[0] = memfile_make(data + at, len[0]);
	part[1] = memfile_make(data + at + len[0], len[1]);
	part[2] = memfile_make(data + at + len[0] + len[1], size - at - len[0] - len[1]);
	o.notes = data[0] & 2 ? NULL : part[0].name;
	o.samples = data[0] & 4 ? NULL : part[1].name;
	o.names = data[0] & 8 ? NULL : part[2].name;
	ret = convert_from_abi(&o, to);
	for (int i = 0; i < 3; i++)
		close(part[i].fd);
	return ret;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct options o = { .filter = { -1, -1, -1, -1 } };
	struct memfile out;
	struct quiet q;

	if (!size)
		return 0;
	out = memfile_make("", 0);
	char *made[] = { out.name, NULL };
	quiet_begin(&q);
	if (import(data, size, out.name) >= 0 && cmd_check(&o, made) < 0)
		abort();
	quiet_end(&q);
	close(out.fd);
	return 0;
}
