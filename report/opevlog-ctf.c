/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An opel log as a CTF 1.8 trace: a directory with the metadata and one file a stream, a packet for each page. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "format/evlog/ctf.h"
#include "format/evlog/text.h"
#include "lib/io.h"
#include "lib/msg.h"
#include "report/opevlog.h"

static const char metadata_head[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 5; align = 1; signed = false; } := uint5_t;\n"
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; base = hex; } := hex64_t;\n"
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

static const char *const fields[EV_TYPE_MAX] = {
	[EV_SAMPLE] = "hex64_t ip; uint64_t period; uint32_t event_index; uint8_t mode; uint8_t truncated; uint32_t n_kernel; "
		      "uint32_t n_chain; hex64_t chain[n_chain];",
	[EV_MMAP] = "hex64_t addr; uint64_t len; hex64_t pgoff; hex64_t dev; uint64_t ino; uint64_t ino_gen; uint32_t prot; "
		    "uint32_t flags; string path;",
	[EV_COMM] = "uint32_t exec; string comm;",
	[EV_FORK] = "int32_t ppid; int32_t ptid;",
	[EV_EXIT] = "",
	[EV_LOST] = "uint64_t count;",
	[EV_KSYMBOL] = "hex64_t addr; uint64_t len; uint32_t unregister; string name;",
	[EV_JIT] = "uint32_t source; uint8_t what; uint8_t kind; int32_t tier; uint32_t flags; int32_t osr_bci; uint32_t segment; "
		   "uint64_t jit_time; hex64_t addr; uint64_t size; hex64_t old_addr; uint64_t region; hex64_t image_offset; "
		   "string name; string source_file;",
	[EV_JITSRC] = "uint32_t source; uint32_t kind; uint64_t lag; string instance;",
	[EV_PROC] = "uint64_t start_time; int32_t ppid; int32_t nspid; uint32_t uid; uint32_t exec_count; string exe; string app;",
	[EV_SYNC] = "",
	[EV_MUNMAP] = "hex64_t addr; uint64_t len;",
	[EV_EVENTDESC] = "uint32_t index; uint32_t um; uint32_t flags; uint64_t count; uint64_t freq; string name; string desc;",
	[EV_THROTTLE] = "",
};

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
static void pcstr(struct packet *p, const char *s)
{
	pstr(p, s, EVLOG_MAX_STRING);
}

static void put_jit(struct packet *p, const struct ev *e)
{
	const struct jit_event *j = &e->u.jit.e;

	p32(p, e->u.jit.source);
	p8(p, j->type);
	p8(p, j->kind);
	p32(p, (uint32_t)j->tier);
	p32(p, j->flags);
	p32(p, (uint32_t)j->osr_bci);
	p32(p, j->segment);
	p64(p, j->time_ns);
	p64(p, j->addr);
	p64(p, j->size);
	p64(p, j->old_addr);
	p64(p, j->id);
	p64(p, j->image_offset);
	pstr(p, j->name, j->name_len);
	pstr(p, j->source_file, j->source_file_len);
}

static void put_body(struct packet *p, const struct ev *e)
{
	switch (e->type) {
	case EV_SAMPLE:
		p64(p, e->u.sample.ip);
		p64(p, e->u.sample.period);
		p32(p, e->u.sample.event);
		p8(p, e->u.sample.mode);
		p8(p, e->u.sample.truncated);
		p32(p, e->u.sample.n_kernel);
		p32(p, e->u.sample.n_chain);
		for (uint32_t i = 0; i < e->u.sample.n_chain; i++)
			p64(p, e->u.sample.chain[i]);
		break;
	case EV_MMAP:
		p64(p, e->u.mmap.addr);
		p64(p, e->u.mmap.len);
		p64(p, e->u.mmap.pgoff);
		p64(p, e->u.mmap.dev);
		p64(p, e->u.mmap.ino);
		p64(p, e->u.mmap.ino_gen);
		p32(p, e->u.mmap.prot);
		p32(p, e->u.mmap.flags);
		pcstr(p, e->u.mmap.path);
		break;
	case EV_COMM:
		p32(p, e->u.comm.flags);
		pcstr(p, e->u.comm.comm);
		break;
	case EV_FORK:
		p32(p, (uint32_t)e->u.fork.ppid);
		p32(p, (uint32_t)e->u.fork.ptid);
		break;
	case EV_LOST:
		p64(p, e->u.lost.count);
		break;
	case EV_KSYMBOL:
		p64(p, e->u.ksymbol.addr);
		p64(p, e->u.ksymbol.len);
		p32(p, e->u.ksymbol.unregister);
		pcstr(p, e->u.ksymbol.name);
		break;
	case EV_JIT:
		put_jit(p, e);
		break;
	case EV_JITSRC:
		p32(p, e->u.jitsrc.source);
		p32(p, e->u.jitsrc.kind);
		p64(p, e->u.jitsrc.lag_ns);
		pcstr(p, e->u.jitsrc.instance);
		break;
	case EV_PROC:
		p64(p, e->u.proc.start_time);
		p32(p, (uint32_t)e->u.proc.ppid);
		p32(p, (uint32_t)e->u.proc.nspid);
		p32(p, e->u.proc.uid);
		p32(p, e->u.proc.exec_count);
		pcstr(p, e->u.proc.exe);
		pcstr(p, e->u.proc.app);
		break;
	case EV_MUNMAP:
		p64(p, e->u.mmap.addr);
		p64(p, e->u.mmap.len);
		break;
	case EV_EVENTDESC:
		p32(p, e->u.desc.index);
		p32(p, e->u.desc.um);
		p32(p, e->u.desc.flags);
		p64(p, e->u.desc.count);
		p64(p, e->u.desc.freq);
		pcstr(p, e->u.desc.name);
		pcstr(p, e->u.desc.desc);
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

static int put_metadata(const char *dir, const struct evlog_meta *meta, const uint8_t uuid[16])
{
	AUTO_STRBUF sb = STRBUF_INIT;
	AUTO_STRBUF path = STRBUF_INIT;
	int ret;

	strbuf_addstr(&sb, metadata_head);
	strbuf_addstr(&sb, "trace {\n	major = 1;\n	minor = 8;\n	uuid = \"");
	for (int i = 0; i < 16; i++)
		strbuf_addf(&sb, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	strbuf_addstr(&sb, "\";\n	byte_order = le;\n	packet.header := struct {\n"
		      "		uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; uint64_t stream_instance_id;\n	};\n};\n");
	strbuf_addf(&sb, "clock {\n	name = monotonic;\n	description = \"CLOCK_MONOTONIC\";\n	freq = 1000000000;\n	offset_s = %" PRId64 ";\n"
		    "	offset = %" PRIu64 ";\n};\n", (int64_t)((meta->anchor_real - meta->anchor_mono) / NSEC_PER_SEC),
		    (uint64_t)((meta->anchor_real - meta->anchor_mono) % NSEC_PER_SEC));
	strbuf_addstr(&sb, metadata_streams);
	for (unsigned int i = 1; i < EV_TYPE_MAX; i++)
		strbuf_addf(&sb, "event {\n	name = \"%s\";\n	id = %u;\n	stream_id = 0;\n	fields := struct { %s };\n};\n", evlog_type_name(i), i,
			    fields[i]);
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
