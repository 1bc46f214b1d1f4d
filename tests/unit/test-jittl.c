/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The timeline at sizes where its memory comes in chunks, with regions in and out of order, and what it gives back. */
#include "daemon/jittl.h"

#include <string.h>

#include "lib/tap.h"

#define N 400000u
#define BASE UINT64_C(0x7f0000000000)

static bool post(struct jittl *j, uint8_t type, uint32_t i, uint64_t time_ns)
{
	struct jit_event e = { .type = type, .addr = BASE + i * 128ul, .size = 96, .time_ns = time_ns, .id = i + 1, .image_offset = i * 16ul };

	return jittl_event(j, &e) == 0;
}

static uint32_t wrong(const struct jittl *j, uint64_t t, bool there)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < N; i++) {
		struct jittl_find f;

		jittl_find(j, BASE + i * 128ul + 95, t, &f);
		n += there ? !f.has_live || f.live.id != i + 1 || f.live.image_offset != i * 16ul : f.has_live;
		jittl_find(j, BASE + i * 128ul + 96, t, &f);
		n += f.has_live;
	}
	return n;
}

static uint64_t bytes_of(const struct jittl *j)
{
	struct jittl_stats st;

	jittl_stats(j, &st);
	return st.bytes;
}

/* step 1: by address; else in an order that meets each once (N and step have no common factor). */
static void fill_and_prune(uint32_t step, const char *how, double most_bytes)
{
	struct jittl *j;
	uint64_t full, i;
	bool good = true;

	if (jittl_new(&j) < 0)
		return;
	for (i = 0; i < N; i++)
		good &= post(j, JIT_EVENT_LOAD, (uint32_t)(i * step % N), 1000 + i);
	full = bytes_of(j);
	ok(good && wrong(j, 1000 + N, true) == 0, "%s: each address has its region", how);
	ok((double)full / N <= most_bytes, "%s: %.1f bytes a region, at most %.0f", how, (double)full / N, most_bytes);
	for (i = 0; i < N; i++)
		good &= i % 1000 == 0 || post(j, JIT_EVENT_UNLOAD, (uint32_t)(i * step % N), 2 * N);
	jittl_prune(j, 3 * N, NULL, 0);
	ok(good && bytes_of(j) < full / 10, "%s: memory follows what lives: %llu of %llu bytes are kept", how, (unsigned long long)bytes_of(j),
	   (unsigned long long)full);
	for (i = 0; i < N; i++)
		good &= i % 1000 == 0 || post(j, JIT_EVENT_LOAD, (uint32_t)(i * step % N), 4 * N + i);
	ok(good && wrong(j, 5 * N, true) == 0, "%s: filled again, each address has its region", how);
	for (i = 0; i < N; i++)
		good &= post(j, JIT_EVENT_UNLOAD, (uint32_t)i, 6 * N);
	ok(good && wrong(j, 7 * N, false) == 0, "%s: unloaded, none has", how);
	jittl_free(j);
}

/*
 * Runs of loads that go on here and there, some over older ones, with unloads and prunings between them, against a plain array of each
 * address's newest region. What was just done is asked for at once, and all addresses now and then: no event may leave the table of
 * blocks in a state that a question does not understand.
 */
#define PLACES 20000u
#define RUNS 4000u

struct newest {
	uint32_t id;
	bool live;
};

static bool as_known(const struct jittl *j, const struct newest *known, uint32_t i, uint64_t t)
{
	struct jittl_find f;

	jittl_find(j, BASE + i * 128ul + 7, t, &f);
	return f.has_live == known[i].live && (!f.has_live || f.live.id == known[i].id);
}

static void against_an_array(uint32_t longest, uint64_t seed)
{
	static struct newest known[PLACES];
	uint64_t t = 1000, x = seed;
	uint32_t id = 0, bad = 0, bad_all = 0, n_prunes = 0;
	struct jittl *j;

	if (jittl_new(&j) < 0)
		return;
	memset(known, 0, sizeof(known));
	for (uint32_t run = 0; run < RUNS; run++) {
		uint32_t i, n;

		x = x * 6364136223846793005u + 1442695040888963407u;
		i = (uint32_t)(x >> 33) % PLACES;
		n = (uint32_t)(x >> 20) % longest + 1;
		for (; n > 0; n--, i = (x >> 10) % 8 ? (i + 1) % PLACES : (i + PLACES - 1) % PLACES) { /* one run in eight goes down */
			bool unload = (x >> 13) % 4 == 0 && known[i].live;
			struct jit_event e = {
				.type = unload ? JIT_EVENT_UNLOAD : JIT_EVENT_LOAD, .addr = BASE + i * 128ul, .size = 96, .time_ns = ++t,
				.id = unload ? known[i].id : ++id,
			};

			bad += jittl_event(j, &e) != 0;
			known[i] = (struct newest){ (uint32_t)e.id, !unload };
			bad += !as_known(j, known, i, t);
		}
		if (run % 500 == 499) {
			if (run % 1000 == 999) {
				jittl_prune(j, t, NULL, 0);
				n_prunes++;
			}
			for (uint32_t k = 0; k < PLACES; k++)
				bad_all += !as_known(j, known, k, t);
		}
	}
	ok(bad == 0 && bad_all == 0 && n_prunes == RUNS / 1000, "runs of up to %u here and there, %u loads: %u events and %u questions differ from an array",
	   longest, id, bad, bad_all);
	jittl_free(j);
}

int main(void)
{
	fill_and_prune(1, "by address", 48);
	fill_and_prune(N - 1, "backwards", 100);
	fill_and_prune(7919, "in no order", 90);
	against_an_array(1, 1);
	against_an_array(32, 2);
	against_an_array(300, 3);
	return done_testing();
}
