/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pages of ftrace, with libtraceevent as the witness, and headers of CTF. */
#include <dlfcn.h>
#include <endian.h>
#include <errno.h>

#include "format/evlog/ctf.h"
#include "format/evlog/ftracepage.h"
#include "lib/tap.h"
#include "tests/unit/vectors.h"

/* --- libtraceevent, as its kbuffer.h declares it ------------------------------------------------------- */
struct kbuffer;
static struct kbuffer *(*kb_alloc)(int size, int endian);
static void (*kb_free)(struct kbuffer *);
static int (*kb_load)(struct kbuffer *, void *);
static void *(*kb_read)(struct kbuffer *, unsigned long long *);
static void *(*kb_next)(struct kbuffer *, unsigned long long *);
static int (*kb_missed)(struct kbuffer *);
static int (*kb_size)(struct kbuffer *);
static void (*kb_old)(struct kbuffer *);

static bool witness(void)
{
	void *h = dlopen("libtraceevent.so.1", RTLD_NOW);

	if (!h)
		return false;
	*(void **)&kb_alloc = dlsym(h, "kbuffer_alloc");
	*(void **)&kb_free = dlsym(h, "kbuffer_free");
	*(void **)&kb_load = dlsym(h, "kbuffer_load_subbuffer");
	*(void **)&kb_read = dlsym(h, "kbuffer_read_event");
	*(void **)&kb_next = dlsym(h, "kbuffer_next_event");
	*(void **)&kb_missed = dlsym(h, "kbuffer_missed_events");
	*(void **)&kb_size = dlsym(h, "kbuffer_event_size");
	*(void **)&kb_old = dlsym(h, "kbuffer_set_old_format");
	return kb_alloc && kb_free && kb_load && kb_read && kb_next && kb_missed && kb_size && kb_old;
}

static bool first_is_event(struct ftrace_page pg)
{
	struct ftrace_event e;
	const uint8_t *first = pg.p;

	return ftrace_page_next(&pg, &e) == 1 && pg.data + e.offset == first;
}

/* Both readers over one page; the number of events, or -1 where they differ. */
static int compare(uint8_t *page, size_t len, bool big, unsigned int lsize, bool old)
{
	struct kbuffer *k = kb_alloc(lsize == 4 ? 0 : 1, big ? 0 : 1);
	struct ftrace_page pg;
	struct ftrace_event e;
	unsigned long long ts;
	void *d;
	int n = 0, ret;

	if (old)
		kb_old(k);
	kb_load(k, page);
	if (ftrace_page_open(&pg, page, len, big, lsize, old))
		n = -1;
	/* The witness tells losses only where the page's first item is an event with data. */
	if (n >= 0 && kb_missed(k) != pg.lost && (kb_missed(k) || first_is_event(pg))) {
		printf("# lost: %lld, witness %d\n", (long long)pg.lost, kb_missed(k));
		n = -1;
	}
	d = kb_read(k, &ts);
	while (n >= 0) {
		ret = ftrace_page_next(&pg, &e);
		if (!d != (ret != 1)) {
			printf("# after %d events: %d, witness %s\n", n, ret, d ? "has more" : "has no more");
			n = -1;
			break;
		}
		if (!d)
			break;
		if (e.data != d || e.time != ts || (int)e.len != kb_size(k)) {
			printf("# event %d at %u: time %llu, witness %llu; len %u, witness %d; data %+td\n", n, e.offset,
			       (unsigned long long)e.time, ts, e.len, kb_size(k), (uint8_t *)e.data - (uint8_t *)d);
			n = -1;
			break;
		}
		n++;
		d = kb_next(k, &ts);
	}
	kb_free(k);
	return n;
}

static uint64_t seed = 7;
static uint32_t below(uint32_t n)
{
	seed += 0x9e3779b97f4a7c15ULL;
	return (uint32_t)(util_hash_u64(seed) >> 33) % n;
}
static void w32(uint8_t *p, uint32_t v, bool big)
{
	v = big ? htobe32(v) : htole32(v);
	memcpy(p, &v, 4);
}
static void w64(uint8_t *p, uint64_t v, bool big)
{
	v = big ? htobe64(v) : htole64(v);
	memcpy(p, &v, 8);
}

/* A page as a kernel could write it. */
static size_t random_page(uint8_t *page, size_t len, bool big, unsigned int lsize, bool old)
{
	size_t head = 8 + lsize, at = head, commit;
	uint64_t flags = 0, time = (uint64_t)below(1u << 30) << 20;
	uint32_t lost = old || below(3) ? 0 : 1 + below(1000); /* 2.6.28 had no flags in commit */

	memset(page, 0, len);
	w64(page, time, big);
	for (;;) {
		uint32_t delta = below(1 << 27), what = below(10), n = below(28) + 1, word;
		if (at + 4 + 4 * n + 16 > len - 16)
			break;
		if (!old) {
			uint32_t type = what < 6 ? n : what == 6 ? 0 : what == 7 ? 30 : what == 8 ? 31 : 29;
			if (type == 29)
				delta = 2 + delta / 2; /* taken back */
			word = big ? type << 27 | delta : delta << 5 | type;
			w32(page + at, word, big);
			time += type < 30 ? delta : 0;
			at += 4;
			if (type == 0 || type == 29) {
				w32(page + at, 4 * n + 4 * (type == 0), big);
				at += 4 * n + 4 * (type == 0);
			} else if (type >= 30) {
				uint32_t high = below(31); /* the witness loses what is beyond 32 bits of an extension */
				if (type == 31) { /* absolute: later than all before */
					high += (uint32_t)(time >> 27) + 1;
					time = ((uint64_t)high << 27) + delta;
				} else {
					time += ((uint64_t)high << 27) + delta;
				}
				w32(page + at, high, big);
				at += 4;
			} else {
				at += 4 * n;
			}
			continue;
		}
		n = what < 5 ? 1 + n % 7 : n;
		word = what == 9 ? 1 : 3;
		word = big ? word << 30 | (what < 5 ? n : 0) << 27 | delta : delta << 5 | (what < 5 ? n : 0) << 2 | word;
		w32(page + at, word, big);
		at += 4;
		if (what == 9) {
			w32(page + at, below(31), big);
			at += 4;
		} else if (what < 5) {
			at += 4 * n;
		} else {
			w32(page + at, 4 * n + 4, big);
			at += 4 * n + 4;
		}
	}
	commit = at - head;
	if (lost) {
		flags = 1u << 31;
		if (below(2)) {
			flags |= 1u << 30;
			lsize == 8 ? w64(page + at, lost, big) : w32(page + at, lost, big);
		}
	}
	lsize == 8 ? w64(page + 8, commit | flags, big) : w32(page + 8, (uint32_t)(commit | flags), big);
	return at;
}

static void test_ftrace(void)
{
	struct vector *c1 = vector_named("C1"), *c2 = vector_named("C2");
	struct ftrace_page pg;
	struct ftrace_event e;
	uint8_t page[4096];
	bool have = witness();

	is_int(0, ftrace_page_open(&pg, c1->data, c1->len, false, 8, false), "C1 opens");
	is_int(3, pg.lost, "3 events lost before it");
	is_int(1, ftrace_page_next(&pg, &e), "an event");
	ok(e.time == 0x100000010 && e.len == 8 && !memcmp(e.data, "\0\1\2\3\4\5\6\7", 8), "its time and data");
	is_int(1, ftrace_page_next(&pg, &e), "behind a time extension");
	ok(e.time == 0x100000010 + (1u << 27) + 5 && e.len == 4 && !memcmp(e.data, "\xaa\xbb\xcc\xdd", 4), "its time and data");
	is_int(1, ftrace_page_next(&pg, &e), "behind one taken back and an absolute time");
	ok(e.time == (((uint64_t)0x2468ac << 27) + 0x789abcd) && e.len == 4, "0x%llx", (unsigned long long)e.time);
	is_int(0, ftrace_page_next(&pg, &e), "then padding");
	is_int(0, ftrace_page_open(&pg, c2->data, c2->len, true, 4, false), "C2 opens");
	is_int(3, pg.lost, "3 lost");
	is_int(-EBADMSG, ftrace_page_open(&pg, c1->data, 15, false, 8, false), "too short for a header");
	is_int(-EBADMSG, ftrace_page_open(&pg, c1->data, 60, false, 8, false), "commit beyond the page");
	is_int(-EINVAL, ftrace_page_open(&pg, c1->data, 128, false, 5, false), "a long of 5 bytes");
	/* cut anywhere, spoilt anywhere: no read beyond the end (the sanitizers watch) */
	for (size_t at = 0; at < c1->len * 8; at++) {
		uint8_t *d = malloc(c1->len);
		memcpy(d, c1->data, c1->len);
		d[at / 8] ^= (uint8_t)(1 << at % 8);
		if (!ftrace_page_open(&pg, d, c1->len, false, 8, false))
			while (ftrace_page_next(&pg, &e) > 0)
				;
		free(d);
	}
	if (!have) {
		skip("libtraceevent is not here");
		return;
	}
	is_int(3, compare(c1->data, c1->len, false, 8, false), "C1 as libtraceevent reads it");
	is_int(3, compare(c2->data, c2->len, true, 4, false), "C2 as libtraceevent reads it");
	for (int form = 0; form < 8; form++) {
		bool big = form & 1, old = form & 4;
		unsigned int lsize = form & 2 ? 4 : 8;
		int events = 0, bad = 0;
		if (big && old) /* the witness takes the type from the wrong bits there */
			continue;
		for (int i = 0; i < 300; i++) {
			int n;
			random_page(page, sizeof(page), big, lsize, old);
			n = compare(page, sizeof(page), big, lsize, old);
			bad += n < 0;
			events += n;
		}
		ok(!bad && events > 3000, "300 pages, %s-endian, long of %u, %s heads: %d events as libtraceevent reads them",
		   big ? "big" : "little", lsize, old ? "2.6.28's" : "today's", events);
	}
}

static void head_is(const char *name, struct ctf_layout l, struct ctf_event_head h, const void *want, size_t len)
{
	struct ctf_event_head back;
	uint8_t p[24];

	is_int(len, ctf_head_make(p, sizeof(p), &l, &h), "%s: %zu bytes", name, len);
	ok(!memcmp(p, want, len), "%s: bytes", name);
	is_int(len, ctf_head_parse(p, len, &l, &back), "%s: read back", name);
	ok(back.id == h.id && back.time == h.time && back.extended == h.extended, "%s: id and time", name);
	for (size_t cut = 0; cut < len; cut++)
		if (ctf_head_parse(p, cut, &l, &back) != -EAGAIN)
			ok(false, "%s cut to %zu", name, cut);
}

static void test_ctf(void)
{
	struct ctf_event_head compact = { .id = 3, .time = 0x123456, .bits = 27 };
	struct ctf_event_head ext = { .id = 42, .time = 0x123456789abcdef0, .extended = true, .bits = 64 };
	struct ctf_event_head wrap = { .time = 5, .bits = 27 };
	struct vector *v = vector_named("C8");
	struct ctf_packet pk;
	uint8_t p[CTF_PACKET_HEADER];

	head_is("C4", (struct ctf_layout){ CTF_COMPACT, false, true }, compact, vector_named("C4")->data, 4);
	head_is("C5", (struct ctf_layout){ CTF_COMPACT, true, true }, compact, vector_named("C5")->data, 4);
	head_is("byte-packed, little", (struct ctf_layout){ CTF_COMPACT, false, true }, ext,
		"\x1f\x2a\0\0\0\xf0\xde\xbc\x9a\x78\x56\x34\x12", 13);
	head_is("byte-packed, big", (struct ctf_layout){ CTF_COMPACT, true, true }, ext,
		"\xf8\0\0\0\x2a\x12\x34\x56\x78\x9a\xbc\xde\xf0", 13);
	head_is("C7", (struct ctf_layout){ CTF_COMPACT, false, false }, ext, vector_named("C7")->data, 24);
	head_is("large", (struct ctf_layout){ CTF_LARGE, false, true }, compact, "\3\0\x56\x34\x12\0", 6);
	head_is("large, aligned", (struct ctf_layout){ CTF_LARGE, false, false }, compact, "\3\0\0\0\x56\x34\x12\0", 8);
	head_is("large, extended", (struct ctf_layout){ CTF_LARGE, true, true }, ext, "\xff\xff\0\0\0\x2a\x12\x34\x56\x78\x9a\xbc\xde\xf0", 14);
	compact.id = 31;
	is_int(-EINVAL, ctf_head_make(p, 24, &(struct ctf_layout){ CTF_COMPACT, false, true }, &compact), "id 31 is the extended form's");
	ok(ctf_head_time(&wrap, 0x8000004) == 0x8000005, "low bits that grew");
	ok(ctf_head_time(&wrap, 0x8000006) == 0x10000005, "low bits that went back have wrapped once");
	is_int(0, ctf_packet_parse(v->data, v->len, &pk), "C8");
	ok(pk.stream_id == 0 && pk.stream_instance == 1 && pk.begin == 1000 && pk.end == 2000 && pk.content_bits == 84 * 8 &&
	   pk.packet_bits == 4096 * 8 && pk.seq == 0 && pk.discarded == 3 && pk.cpu == 1 && pk.uuid[15] == 15, "its fields");
	ctf_packet_make(p, &pk);
	ok(!memcmp(p, v->data, CTF_PACKET_HEADER), "and written again");
	pk.big = true;
	ctf_packet_make(p, &pk);
	ok(p[0] == 0xc1 && p[1] == 0xfc && !ctf_packet_parse(p, 84, &pk) && pk.begin == 1000 && pk.big, "big-endian");
	is_int(-EAGAIN, ctf_packet_parse(p, 83, &pk), "short");
	p[0] = 0;
	is_int(-EBADMSG, ctf_packet_parse(p, 84, &pk), "no magic");
}

int main(void)
{
	vectors_load();
	test_ftrace();
	test_ctf();
	return done_testing();
}
