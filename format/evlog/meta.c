/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/evlog/cursor.h"

#include <errno.h>

#include "lib/reader.h"

void evlog_meta_done(struct evlog_meta *m)
{
	for (uint32_t i = 0; i < m->n_strings; i++)
		free(m->strings[i]);
	free(m->strings);
	free(m->syncs);
	for (unsigned int i = 0; i < ARRAY_SIZE(m->user); i++) {
		free(m->user[i].name);
		free(m->user[i].fields);
	}
	*m = (struct evlog_meta){ 0 };
}

const char *evlog_meta_string(const struct evlog_meta *m, uint32_t id)
{
	return id < m->n_strings ? m->strings[id] : NULL;
}

static uint64_t ticks_ns(uint64_t from_ns, uint64_t ticks, uint64_t mult)
{
	__int128 d = (__int128)(int64_t)ticks * (__int128)mult;

	return from_ns + (uint64_t)(int64_t)(d >> 32);
}

/* The last sync not after a clock value, or (ns) a time; NULL if there is none. */
static const struct evlog_timesync *sync_at(const struct evlog_meta *m, uint64_t at, bool ns)
{
	uint32_t lo = 0, hi = m->n_syncs;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if ((ns ? m->syncs[mid].ns : m->syncs[mid].clock) <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &m->syncs[lo - 1] : NULL;
}

uint64_t evlog_meta_ns(const struct evlog_meta *m, uint64_t clock)
{
	const struct evlog_timesync *s;

	if (m->clock_kind != EVLOG_CLOCK_TSC)
		return clock;
	s = sync_at(m, clock, false);
	return s ? ticks_ns(s->ns, clock - s->clock, s->mult) : ticks_ns(m->anchor_mono, clock - m->anchor_clock, m->mult);
}

uint64_t evlog_meta_realtime(const struct evlog_meta *m, uint64_t ns)
{
	const struct evlog_timesync *s = sync_at(m, ns, true);

	return s ? ns - s->mono + s->real : ns - m->anchor_mono + m->anchor_real;
}

static int meta_init(struct evlog_meta *m, struct reader *r)
{
	uint32_t version = reader_u32(r), n = reader_u32(r), page = reader_u32(r), kind = reader_u32(r);
	uint64_t hz = reader_u64(r), clock = reader_u64(r), mono = reader_u64(r), real = reader_u64(r);
	const char *machine = reader_str(r);

	if (m->have_init || r->bad || !n || n > EVLOG_MAX_STREAMS || page > EVLOG_PAGE_MAX || !hz ||
	    (kind != EVLOG_CLOCK_MONOTONIC && kind != EVLOG_CLOCK_TSC))
		return -EBADMSG;
	m->have_init = true;
	m->version = version;
	m->n_streams = n;
	m->page_size = page;
	m->clock_kind = kind;
	m->freq_hz = hz;
	m->anchor_clock = clock;
	m->anchor_mono = mono;
	m->anchor_real = real;
	m->mult = (uint64_t)(((unsigned __int128)NSEC_PER_SEC << 32) / hz);
	strncpy(m->machine, machine, sizeof(m->machine) - 1);
	return 0;
}

static int meta_string(struct evlog_meta *m, struct reader *r)
{
	uint32_t id = reader_u32(r), parent = reader_u32(r), len = reader_u32(r);
	const char *bytes = reader_take(r, len), *up = "";
	size_t up_len;
	char *s;

	if (!bytes || id >= EVLOG_MAX_STRINGS)
		return -EBADMSG;
	if (parent != EVLOG_NO_STRING) {
		up = evlog_meta_string(m, parent);
		if (!up)
			up = "?"; /* its piece was lost */
	}
	up_len = strlen(up);
	if (up_len + len > EVLOG_MAX_STRING || m->string_bytes + up_len + len > EVLOG_MAX_STRING_BYTES)
		return -E2BIG;
	if (id >= m->strings_room) {
		uint32_t room = MAX(64u, m->strings_room);
		char **p;
		while (room <= id)
			room *= 2;
		p = realloc(m->strings, room * sizeof(*p));
		if (!p)
			return -ENOMEM;
		m->strings = p;
		m->strings_room = room;
	}
	while (m->n_strings <= id)
		m->strings[m->n_strings++] = NULL;
	if (m->strings[id]) /* told before: the first meaning stays, events may point to it */
		return strlen(m->strings[id]) == up_len + len ? 0 : -EBADMSG;
	s = malloc(up_len + len + 1);
	if (!s)
		return -ENOMEM;
	memcpy(s, up, up_len);
	memcpy(s + up_len, bytes, len);
	s[up_len + len] = 0;
	m->strings[id] = s;
	m->string_bytes += up_len + len;
	return 0;
}

static int meta_event(struct evlog_meta *m, struct reader *r)
{
	uint32_t id = reader_u32(r) & 0xffff, words = reader_u32(r);
	const char *name, *fields;

	name = reader_str(r);
	fields = reader_str(r);
	if (r->bad)
		return -EBADMSG;
	if (id >= ID_USER && id < ID_LONG && words < EVLOG_PAGE_MAX / 4 && !m->user[id].name)
		m->user_words[id] = (uint16_t)words;
	if (id < ARRAY_SIZE(m->user) && !m->user[id].name) {
		m->user[id].name = strdup(name);
		m->user[id].fields = strdup(fields);
		if (!m->user[id].name || !m->user[id].fields)
			return -ENOMEM;
	}
	return 0;
}

/*
 * From its instant on a sync is the anchor. Ticks are measured anew over all the time since INIT; a clock that had run ahead stays
 * ahead by what it was, since times must not go back.
 */
static int meta_timesync(struct evlog_meta *m, struct reader *r)
{
	struct evlog_timesync s = { .clock = reader_u64(r), .mono = reader_u64(r), .real = reader_u64(r), .mult = m->mult };
	const struct evlog_timesync *last = m->n_syncs ? &m->syncs[m->n_syncs - 1] : NULL;

	if (r->bad || !m->have_init || s.clock < (last ? last->clock : m->anchor_clock) || s.mono < (last ? last->mono : m->anchor_mono))
		return -EBADMSG;
	s.ns = s.mono;
	if (m->clock_kind == EVLOG_CLOCK_TSC) {
		uint64_t ticks = s.clock - m->anchor_clock, ns = s.mono - m->anchor_mono;
		unsigned __int128 mult = ticks ? ((unsigned __int128)ns << 32) / ticks : 0;
		/* Over a second the first measure is good to parts of a thousand: what differs by more is no measure of this clock. */
		if (ns >= NSEC_PER_SEC && (mult > (unsigned __int128)m->mult + m->mult / 64 || mult < m->mult - m->mult / 64))
			return -EBADMSG;
		if (ns >= NSEC_PER_SEC)
			s.mult = (uint64_t)mult;
		s.ns = MAX(s.mono, evlog_meta_ns(m, s.clock));
	}
	if (m->n_syncs == EVLOG_MAX_TIMESYNCS)
		return -E2BIG;
	if (m->n_syncs == m->syncs_room) {
		uint32_t room = MAX(8u, m->syncs_room * 2);
		struct evlog_timesync *p = realloc(m->syncs, room * sizeof(*p));
		if (!p)
			return -ENOMEM;
		m->syncs = p;
		m->syncs_room = room;
	}
	m->syncs[m->n_syncs++] = s;
	return 0;
}

static int meta_record(struct evlog_meta *m, uint32_t id, struct reader *r)
{
	if (id == META_CLOSELOG) {
		m->closed = true;
		return 0;
	}
	if (id == ID_TIMESYNC)
		return meta_timesync(m, r);
	reader_u32(r); /* the count of words */
	switch (id) {
	case META_INIT:
		return meta_init(m, r);
	case META_EVENT:
		return meta_event(m, r);
	case META_STRING:
		return meta_string(m, r);
	}
	return 0; /* of a later minor version */
}

/* Words of the payload that starts at r, by the id; -1 if it cannot be. */
static int64_t meta_words(const struct reader *r, uint32_t id)
{
	if (id == META_CLOSELOG)
		return 0;
	if (id == ID_TIMESYNC)
		return 6;
	if (reader_left(r) < 4)
		return -1;
	return wire_ld32(r->data + r->pos, r->swap);
}

int evlog_meta_feed(struct evlog_meta *m, const void *data, size_t len, bool swap, bool last)
{
	struct reader r = reader_of(data, len);
	int ret = 0;

	r.swap = swap;
	while (reader_left(&r)) {
		uint32_t head = reader_u32(&r), id = head & 31;
		int64_t words;
		struct reader body;

		if (id == ID_LONG || id == ID_DISCARDED || id == ID_FULL) {
			uint32_t iw = reader_u32(&r);
			if (id == ID_FULL)
				reader_u64(&r);
			words = iw >> 16;
			id = id == ID_DISCARDED ? id : iw & 0xffff;
		} else {
			words = meta_words(&r, id);
		}
		if (r.bad || words < 0 || (uint64_t)words * 4 > reader_left(&r) ||
		    (words == 0 && id != META_CLOSELOG && id != ID_DISCARDED))
			goto bad;
		body = reader_of(r.data + r.pos, (size_t)words * 4);
		body.swap = swap;
		r.pos += (size_t)words * 4;
		ret = id == META_CLOSELOG && !last ? -EBADMSG : meta_record(m, id, &body);
		if (ret == -ENOMEM)
			return ret;
		if (ret < 0) /* this record alone is left out */
			m->bad++;
	}
	return 0;
bad:
	m->bad++;
	return -EBADMSG;
}
