/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* mkevlog OUT [EVENTS [SEED [open]]]: a log of random events for the tests of opevlog; `open`: without CLOSELOG.
 * mkevlog --vectors FILE DIR: the vectors of that file, each as DIR/NAME. */
#include <stdio.h>

#include "tests/unit/evlog-gen.h"
#include "tests/unit/vectors.h"

static int page_out(void *arg, const void *page, size_t len)
{
	return fwrite(page, 1, len, arg) == len ? 0 : -1;
}

static int put_vectors(const char *dir)
{
	vectors_load();
	for (size_t i = 0; i < n_vectors; i++) {
		char path[4096];
		FILE *f;
		snprintf(path, sizeof(path), "%.4000s/%.7s", dir, vectors[i].name);
		f = fopen(path, "w");
		if (!f || fwrite(vectors[i].data, 1, vectors[i].len, f) != vectors[i].len || fclose(f))
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct evlog_writer_opts o = { .page_size = 4096, .n_streams = 4, .page = page_out, .anchor_mono_ns = 1000,
				       .anchor_real_ns = 1700000000000000000, .machine = "test" };
	struct gen *g = calloc(1, sizeof(*g));
	struct evlog_writer *w = NULL;
	uint64_t n = 1000, seed = 1, t = 1000;

	if (argc == 3 && !strcmp(argv[1], "--vectors"))
		return put_vectors(argv[2]);
	if (argc < 2 || (argc > 2 && util_parse_u64(argv[2], 10, 1 << 30, &n)) || (argc > 3 && util_parse_u64(argv[3], 10, 1 << 30, &seed)))
		return 2;
	o.arg = fopen(argv[1], "w");
	g->seed = seed;
	if (!o.arg || evlog_writer_new(&w, &o))
		return 1;
	for (uint64_t i = 0; i < n; i++) {
		struct ev e;
		gen_event(g, &e, gen_below(g, 3) ? EV_SAMPLE : 0, 20);
		t += gen_below(g, 2000000);
		if (!gen_below(g, 500))
			t += 1000000000;
		e.time_ns = t;
		if (e.type == EV_LOST)
			e.u.lost.count = 1 + i % 9;
		if (evlog_write(w, 1 + (uint32_t)(i / 7 % 4), &e))
			return 1;
		if (i % 100 == 99)
			for (uint32_t s = 1; s <= 4; s++)
				evlog_writer_sync(w, s, t);
	}
	if (argc > 4) {
		for (uint32_t s = 1; s <= 4; s++)
			evlog_writer_sync(w, s, t);
	} else if (evlog_writer_finish(w)) {
		return 1;
	}
	evlog_writer_free(w);
	free(g);
	return fclose(o.arg) ? 1 : 0;
}
