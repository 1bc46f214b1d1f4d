/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An opel log as a CTF 1.8 trace: a directory with the metadata and one file a stream, a packet for each page. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "format/evlog/ctf.h"
#include "format/evlog/fields.h"
#include "format/evlog/text.h"
#include "lib/io.h"
#include "lib/msg.h"
#include "lib/reader.h"
#include "report/opevlog.h"

static const char metadata_head[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 5; align = 1; signed = false; } := uint5_t;\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; base = hex; } := hex64_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; base = hex; } := hex32_t;\n"
	"typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n";
static const char metadata_streams[] =
	"typealias integer { size = 27; align = 1; signed = false; map = clock.monotonic.value; } := uint27_clock_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := uint64_clock_t;\n"
	"stream {\n"
	"	id = 0;\n"
	"	packet.context := struct {\n"
	"		uint64_clock_t timestamp_begin; uint64_clock_t timestamp_end; uint64_t content_size; uint64_t packet_size;\n"
	"		uint64_t packet_seq_num; uint64_t events_discarded; uint32_t cpu_id;\n"
	"	};\n"
	"	event.header := struct {\n"
	"		enum : uint5_t { compact = 0 ... 30, extended = 31 } id;\n"
	"		variant <id> {\n"
	"			struct { uint27_clock_t timestamp; } compact;\n"
	"			struct { uint32_t id; uint64_clock_t timestamp; } extended;\n"
	"		} v;\n"
	"	} align(8);\n"
	"	event.context := struct { int32_t cpu; int32_t pid; int32_t tid; };\n"
	"};\n";

/* The fields of a type as CTF declares them. */
static void put_fields(struct strbuf *sb, uint32_t type)
{
	size_t n;
	const struct evlog_field *f = evlog_fields(type, &n);

	for (; n--; f++)
		switch (f->kind) {
		case EVF_U8:
			strbuf_addf(sb, "uint8_t %s; ", f->name);
			break;
		case EVF_U32:
			strbuf_addf(sb, "%s32_t %s; ", f->show & EVF_HEX ? "hex" : "uint", strcmp(f->name, "event") ? f->name : "event_index");
			break;
		case EVF_I8:
		case EVF_I32:
			strbuf_addf(sb, "int32_t %s; ", f->name);
			break;
		case EVF_U64:
			strbuf_addf(sb, "%s64_t %s; ", f->show & EVF_HEX ? "hex" : "uint", f->name);
			break;
		case EVF_CHAIN: /* the length is named as the array */
			strbuf_addf(sb, "uint32_t n_%s; hex64_t %s[n_%s]; ", f->name, f->name, f->name);
			break;
		default:
			strbuf_addf(sb, "string %s; ", f->name);
		}
}

struct packet {
	struct strbuf b;
	uint64_t last, n;
};

static void p8(struct packet *p, uint8_t v) { strbuf_add(&p->b, &v, 1); }
static void p32(struct packet *p, uint32_t v)
{
	v = htole32(v);
	strbuf_add(&p->b, &v, 4);
}
static void p64(struct packet *p, uint64_t v)
{
	v = htole64(v);
	strbuf_add(&p->b, &v, 8);
}
static void pstr(struct packet *p, const char *s, size_t len)
{
	if (s)
		strbuf_add(&p->b, s, strnlen(s, len));
	p8(p, 0);
}
static void put_body(struct packet *p, const struct ev *e)
{
	size_t n;
	const struct evlog_field *f = evlog_fields(e->type, &n);

	for (; n--; f++)
		switch (f->kind) {
		case EVF_U8:
			p8(p, (uint8_t)evlog_field_get(e, f));
			break;
		case EVF_U32:
		case EVF_I8:
		case EVF_I32:
			p32(p, (uint32_t)evlog_field_get(e, f));
			break;
		case EVF_U64:
			p64(p, evlog_field_get(e, f));
			break;
		case EVF_CHAIN:
			p32(p, e->u.sample.n_chain);
			for (uint32_t i = 0; i < e->u.sample.n_chain; i++)
				p64(p, e->u.sample.chain[i]);
			break;
		case EVF_STR:
			pstr(p, evlog_field_str(e, f), EVLOG_MAX_STRING);
			break;
		case EVF_BYTES:
			pstr(p, evlog_field_str(e, f), evlog_field_len(e, f));
			break;
		}
}

static void put_event(struct packet *p, const struct ev *e)
{
	static const struct ctf_layout layout = { CTF_COMPACT, false, true };
	struct ctf_event_head h = { .id = e->type, .extended = e->time_ns - p->last >= 1u << 27, .bits = 27 };
	uint8_t head[24];
	int n;

	/* Low bits tell the time if less than one wrap lies between two events. */
	h.time = h.extended ? e->time_ns : e->time_ns & ((1u << 27) - 1);
	n = ctf_head_make(head, sizeof(head), &layout, &h);
	strbuf_add(&p->b, head, (size_t)n);
	p32(p, e->cpu);
	p32(p, (uint32_t)e->pid);
	p32(p, (uint32_t)e->tid);
	put_body(p, e);
	p->last = e->time_ns;
	p->n++;
}

/* The metadata of a trace of ours; the reader knows one by it. */
static void make_metadata(struct strbuf *sb, const char uuid[40], int64_t offset_s, uint64_t offset)
{
	strbuf_addstr(sb, metadata_head);
	strbuf_addf(sb, "trace {\n	major = 1;\n	minor = 8;\n	uuid = \"%s\";\n	byte_order = le;\n	packet.header := struct {\n"
		    "		uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; uint64_t stream_instance_id;\n	};\n};\n", uuid);
	strbuf_addf(sb, "clock {\n	name = monotonic;\n	description = \"CLOCK_MONOTONIC\";\n	freq = 1000000000;\n	offset_s = %" PRId64 ";\n"
		    "	offset = %" PRIu64 ";\n};\n", offset_s, offset);
	strbuf_addstr(sb, metadata_streams);
	for (unsigned int i = 1; i < EV_TYPE_MAX; i++) {
		strbuf_addf(sb, "event {\n	name = \"%s\";\n	id = %u;\n	stream_id = 0;\n	fields := struct { ", evlog_type_name(i), i);
		put_fields(sb, i);
		strbuf_addstr(sb, "};\n};\n");
	}
}

static int put_metadata(const char *dir, const struct evlog_meta *meta, const uint8_t uuid[16])
{
	AUTO_STRBUF sb = STRBUF_INIT;
	AUTO_STRBUF path = STRBUF_INIT;
	char text[40] = "";
	int ret;

	for (int i = 0, n = 0; i < 16; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	make_metadata(&sb, text, (int64_t)((meta->anchor_real - meta->anchor_mono) / NSEC_PER_SEC),
		      (uint64_t)((meta->anchor_real - meta->anchor_mono) % NSEC_PER_SEC));
	strbuf_addf(&path, "%s/metadata", dir);
	ret = sb.error ? sb.error : io_replace(strbuf_str(&path), sb.buf, sb.len, 0644);
	return ret < 0 ? msg_errno(ret, "%s/metadata", dir) : 0;
}

static int put_packet(FILE *f, const struct evwalk *w, const struct packet *p, const uint8_t uuid[16])
{
	struct ctf_packet pk = { .stream_id = 0, .stream_instance = w->pg.stream, .begin = evlog_meta_ns(&w->meta, w->pg.base),
				 .end = MAX(evlog_meta_ns(&w->meta, w->pg.end), p->last), .seq = w->pg.seq, .discarded = w->pg.lost };
	uint8_t head[CTF_PACKET_HEADER];

	memcpy(pk.uuid, uuid, 16);
	pk.content_bits = pk.packet_bits = (CTF_PACKET_HEADER + p->b.len) * 8;
	pk.cpu = w->pg.stream - 1;
	ctf_packet_make(head, &pk);
	return fwrite(head, 1, sizeof(head), f) == sizeof(head) && fwrite(p->b.buf, 1, p->b.len, f) == p->b.len ? 0 : -EIO;
}

struct ctf_out {
	const char *dir;
	FILE **files;
	uint32_t n_files;
	uint8_t uuid[16];
};

static FILE *stream_file(struct ctf_out *o, uint32_t stream)
{
	AUTO_STRBUF path = STRBUF_INIT;

	if (stream >= o->n_files)
		return NULL;
	if (!o->files[stream]) {
		strbuf_addf(&path, "%s/stream_%u", o->dir, stream);
		o->files[stream] = fopen(strbuf_str(&path), "we");
		if (!o->files[stream])
			msg_errno(errno, "%s", strbuf_str(&path));
	}
	return o->files[stream];
}

static int page_out(struct ctf_out *o, struct evwalk *w)
{
	static struct evlog_cursor c;
	static struct evlog_scratch s;
	struct packet p = { .b = STRBUF_INIT };
	struct ev e;
	FILE *f;
	int ret = 0;

	evlog_cursor_init(&c, &w->meta, &w->pg, w->body, w->blocks.swap);
	p.last = evlog_meta_ns(&w->meta, w->pg.base);
	while (evlog_cursor_next(&c) > 0)
		if (!evlog_cursor_decode(&c, &e, &s))
			put_event(&p, &e);
	/* Pages without events are packets only where they tell a loss. */
	if (p.n || w->pg.flags & PGF_MISSED) {
		f = stream_file(o, w->pg.stream);
		ret = p.b.error ? p.b.error : !f ? -EIO : put_packet(f, w, &p, o->uuid);
	}
	strbuf_done(&p.b);
	return ret;
}

int convert_ctf(const struct evfile *f, const char *dir)
{
	struct ctf_out o = { .dir = dir };
	struct evwalk w;
	uint64_t h = util_hash_bytes(f->data, MIN(f->len, (size_t)65536)), h2 = util_hash_u64(h + f->len);
	int ret = io_mkdirs(dir, 0755);

	if (ret < 0)
		return msg_errno(ret, "%s", dir);
	memcpy(o.uuid, &h, 8);
	memcpy(o.uuid + 8, &h2, 8);
	evwalk_begin(&w, f);
	ret = evwalk_next(&w);
	if (ret < 0 || !w.meta.have_init) {
		msg_error("%s: not an opel log that can be read", f->name);
		evwalk_end(&w);
		return -EBADMSG;
	}
	o.n_files = w.meta.n_streams + 1;
	o.files = calloc(o.n_files, sizeof(*o.files));
	if (!o.files) {
		evwalk_end(&w);
		return -ENOMEM;
	}
	for (int more = ret; more > 0 && ret >= 0;) {
		ret = page_out(&o, &w);
		if (ret < 0)
			break;
		more = evwalk_next(&w);
		ret = more < 0 ? more : 0;
	}
	for (uint32_t i = 0; i < o.n_files; i++)
		if (o.files[i] && fclose(o.files[i]) && ret >= 0)
			ret = msg_errno(errno, "%s/stream_%u", dir, i);
	if (ret >= 0)
		ret = put_metadata(dir, &w.meta, o.uuid);
	if (w.bad)
		msg_warn("%s: %" PRIu64 " regions could not be read, the first at offset %" PRIu64, f->name, w.bad, w.bad_at);
	free(o.files);
	evwalk_end(&w);
	return ret < 0 ? ret : 0;
}

/* --- and back ------------------------------------------------------------------------------------------ */
struct ctf_stream {
	struct evfile f;
	char *name;
	uint32_t stream;
	size_t pos;
	struct ctf_packet pk;    /* at pos; valid while more is set */
	bool more;
	uint64_t discarded;
};
struct ctf_in {
	struct ctf_stream **s;   /* each by itself: files that are open stay where they are */
	size_t n;
	uint32_t n_streams;
};

static int bad_ctf(const struct ctf_stream *s, size_t at, const char *what)
{
	msg_error("%s: offset %zu: %s", s->f.name, at, what);
	return -EBADMSG;
}

static int next_packet(struct ctf_stream *s)
{
	s->more = false;
	if (s->pos == s->f.len)
		return 0;
	if (ctf_packet_parse(s->f.data + s->pos, s->f.len - s->pos, &s->pk) < 0 || s->pk.big || s->pk.packet_bits / 8 > s->f.len - s->pos)
		return bad_ctf(s, s->pos, "not a packet, or one that was cut");
	s->more = true;
	return 0;
}

/* Stores what put_body wrote. false: it ends too early, or a text has no end. */
static bool get_body(struct reader *r, struct ev *e, struct evlog_scratch *scratch)
{
	size_t n;
	const struct evlog_field *f = evlog_fields(e->type, &n);

	for (; n-- && !r->bad; f++) {
		uint8_t *to = (uint8_t *)e + f->at;
		const char *s;
		uint32_t v32;
		uint64_t v64;
		uint8_t v8;
		size_t len;
		switch (f->kind) {
		case EVF_U8:
			v8 = reader_u8(r);
			memcpy(to, &v8, 1);
			break;
		case EVF_I8:
			v8 = (uint8_t)reader_u32(r);
			memcpy(to, &v8, 1);
			break;
		case EVF_U32:
		case EVF_I32:
			v32 = reader_u32(r);
			memcpy(to, &v32, 4);
			break;
		case EVF_U64:
			v64 = reader_u64(r);
			memcpy(to, &v64, 8);
			break;
		case EVF_CHAIN:
			e->u.sample.n_chain = reader_u32(r);
			if (e->u.sample.n_chain > EV_MAX_FRAMES)
				return false;
			for (uint32_t i = 0; i < e->u.sample.n_chain; i++)
				scratch->chain[i] = reader_u64(r);
			e->u.sample.chain = scratch->chain;
			break;
		default:
			s = reader_str(r);
			len = s ? strlen(s) : 0;
			memcpy(to, &s, sizeof(s));
			if (f->kind == EVF_BYTES)
				memcpy((uint8_t *)e + f->len_at, &len, sizeof(len));
		}
	}
	return !r->bad;
}

static int read_packet(struct ctf_stream *s, struct evlog_writer *w)
{
	static const struct ctf_layout layout = { CTF_COMPACT, false, true };
	static struct evlog_scratch scratch;
	size_t end = s->pos + s->pk.content_bits / 8, at = s->pos + CTF_PACKET_HEADER;
	uint64_t last = s->pk.begin;
	int ret = 0;

	if (s->pk.discarded > s->discarded)
		ret = evlog_writer_lost(w, s->stream, s->pk.discarded - s->discarded);
	s->discarded = MAX(s->discarded, s->pk.discarded);
	while (at < end && !ret) {
		struct ctf_event_head h;
		int n = ctf_head_parse(s->f.data + at, end - at, &layout, &h);
		struct reader r = reader_of(s->f.data + at + MAX(n, 0), end - at - (size_t)MAX(n, 0));
		struct ev e = { .type = h.id };
		r.swap = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
		if (n < 0 || !e.type || e.type >= EV_TYPE_MAX)
			return bad_ctf(s, at, "an event that is none of ours");
		e.time_ns = last = ctf_head_time(&h, last);
		e.cpu = reader_u32(&r);
		e.pid = (int32_t)reader_u32(&r);
		e.tid = (int32_t)reader_u32(&r);
		if (!get_body(&r, &e, &scratch))
			return bad_ctf(s, at, "an event that goes on behind its packet");
		ret = evlog_write(w, s->stream, &e);
		at += (size_t)n + r.pos;
	}
	if (!ret)
		ret = evlog_writer_sync(w, s->stream, s->pk.end);
	s->pos += s->pk.packet_bits / 8;
	return ret ? ret : next_packet(s);
}

static int open_streams(struct ctf_in *in, const char *dir)
{
	AUTO_STRBUF path = STRBUF_INIT;
	DIR *d = opendir(dir);
	int ret = d ? 0 : msg_errno(errno, "%s", dir);

	for (struct dirent *e; !ret && (e = readdir(d));) {
		struct ctf_stream **more, *one;
		uint64_t v;
		if (strncmp(e->d_name, "stream_", 7) || util_parse_u64(e->d_name + 7, 10, EVLOG_MAX_STREAMS, &v) < 0 || !v)
			continue;
		one = calloc(1, sizeof(*one));
		more = realloc(in->s, (in->n + 1) * sizeof(*more));
		strbuf_reset(&path);
		strbuf_addf(&path, "%s/%s", dir, e->d_name);
		if (more)
			in->s = more;
		if (!one || !more || path.error || !(one->name = strdup(path.buf))) {
			free(one);
			ret = -ENOMEM;
			break;
		}
		more[in->n++] = one;
		one->stream = (uint32_t)v;
		in->n_streams = MAX(in->n_streams, (uint32_t)v);
		ret = evfile_open(&one->f, one->name);
		if (!ret)
			ret = next_packet(one);
	}
	if (d)
		closedir(d);
	return ret;
}

/* Is it a trace of ours? Its clock's offset is the anchor then. */
static int read_metadata(const char *dir, struct evlog_meta *anchor)
{
	AUTO_STRBUF path = STRBUF_INIT, text = STRBUF_INIT_CAP(1 << 20), ours = STRBUF_INIT;
	const char *uuid, *clock;
	char copy[40] = "";
	long long offset_s = 0;
	unsigned long long offset = 0;
	int ret;

	strbuf_addf(&path, "%s/metadata", dir);
	ret = io_slurp_regular(AT_FDCWD, strbuf_str(&path), &text);
	if (ret < 0)
		return msg_errno(ret, "%s: no trace in the Common Trace Format", strbuf_str(&path));
	uuid = strstr(strbuf_str(&text), "uuid = \"");
	clock = strstr(strbuf_str(&text), "offset_s = ");
	if (uuid && clock && sscanf(uuid, "uuid = \"%36[0-9a-f-]", copy) == 1 && sscanf(clock, "offset_s = %lld; offset = %llu", &offset_s, &offset) == 2)
		make_metadata(&ours, copy, offset_s, offset);
	if (!ours.len || ours.len != text.len || memcmp(ours.buf, text.buf, text.len)) {
		msg_error("%s: not as opevlog writes it; of other traces it cannot read the fields", path.buf);
		return -ENOTSUP;
	}
	anchor->anchor_real = (uint64_t)offset_s * NSEC_PER_SEC + offset;
	anchor->anchor_real += !anchor->anchor_real; /* 0 would mean now */
	return 0;
}

int convert_from_ctf(const char *dir, const char *output)
{
	struct evlog_meta anchor = { .have_init = true, .machine = "ctf" };
	struct evout out = { 0 };
	struct ctf_in in = { 0 };
	int ret = read_metadata(dir, &anchor);

	if (!ret)
		ret = open_streams(&in, dir);
	if (!ret && !in.n) {
		msg_error("%s: no streams in it", dir);
		ret = -ENODATA;
	}
	if (!ret)
		ret = evout_open(&out, output, in.n_streams, &anchor);
	/* Packets in the order in which they begin, so that who reads the log need not hold much. */
	while (!ret) {
		struct ctf_stream *best = NULL;
		for (size_t i = 0; i < in.n; i++)
			if (in.s[i]->more && (!best || in.s[i]->pk.begin < best->pk.begin))
				best = in.s[i];
		if (!best)
			break;
		ret = read_packet(best, out.w);
	}
	ret = evout_close(&out, ret);
	for (size_t i = 0; i < in.n; i++) {
		evfile_close(&in.s[i]->f);
		free(in.s[i]->name);
		free(in.s[i]);
	}
	free(in.s);
	return ret;
}
