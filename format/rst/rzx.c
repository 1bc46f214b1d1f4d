/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rzx: every record is predicted whole from what followed the same place before; one bit says whether that was right, and
 * only what was not is sent. Writer and reader are the same code (see rz3.h). The file around it: rzx-file.c. The form:
 * doc/format-rst.md, "rzx".
 */
#include <errno.h>

#include "format/rst/rzx.h"
#include "format/rst/sparc.h"

#define STREAMS 1024
#define ORDERS 3
#define CANDS 6
#define EASY 8      /* score of a candidate that is taken without asking the far tables */
#define SURE 3      /* confidence from which shorter contexts are not looked at */

/* A record as four numbers; h without the stream's bits. */
struct quad {
	uint32_t h, w;
	uint64_t p, e;
};
/* What came last time in a context. */
struct next {
	uint32_t check;
	uint32_t h, w;
	uint32_t conf;
	uint64_t p;
};
/* How a number moves at one place. */
struct value {
	uint64_t last, stride, d1, d2;
	uint32_t check, run;
	uint8_t score[CANDS];
};
struct stream {
	uint64_t pc, npc;      /* expected next, as SPARC runs or, in x86 traces, npc is not used */
	uint64_t last_pc, last_mem;
	uint64_t h_short, h_long;
	uint32_t since;        /* records since the last INSTR */
	uint32_t last_h, last_w;
	uint8_t last_type, x86_len;
	uint32_t outcomes;     /* of the last 32 whole predictions */
	uint64_t ras[16];
	uint32_t ras_at;
};
/* Where the stream number lies in h: low part, high part. */
struct stream_bits {
	uint8_t shift, width, hi_shift, hi_width;
};
enum { M_HIT = 0, M_SAME = 256, M_PICK = 320, M_BYTES = 384, N_MIXERS = 384 + 24 * 16 };

struct rzx {
	struct rzx_bits b;
	struct rzx_mixer mixers[N_MIXERS];
	unsigned int bits; /* of the tables */
	struct next *next[ORDERS];
	struct value *values;
	uint64_t *fcm, *by_history;
	uint32_t *words;   /* of pcs */
	struct stream streams[STREAMS];
	uint16_t follower[STREAMS][2];
	unsigned int last_stream;
	bool x86;
	uint8_t x86_bytes[4];
	struct stream_bits where[64];
	uint64_t last_value[64][2]; /* of each type, for raw bytes */
	uint32_t prev_word;
};

/* --- streams -------------------------------------------------------------------------------------------- */

static void find_stream_bits(struct rzx *x, unsigned int version)
{
	for (unsigned int t = 0; t < 64; t++) {
		uint8_t rec[RST_REC_SIZE] = { (uint8_t)t };
		const struct rst_field *f = rst_field_find((uint8_t)t, rec, version, "cpu");

		/* Only what lies in the first four bytes serves; elsewhere it is an ordinary part of the record. */
		if (!f || f->bit + f->width > 32)
			continue;
		x->where[t] = (struct stream_bits){ .shift = (uint8_t)(32 - f->bit - f->width), .width = MIN(f->width, 10) };
		if (f->hi_width && f->hi_bit + f->hi_width <= 32 && f->width + f->hi_width <= 10) {
			x->where[t].hi_shift = (uint8_t)(32 - f->hi_bit - f->hi_width);
			x->where[t].hi_width = f->hi_width;
		}
		if (f->width > 10)
			x->where[t].width = 0;
	}
}

static inline const struct stream_bits *bits_of(const struct rzx *x, uint32_t h)
{
	return &x->where[h >> 24 < 64 ? h >> 24 : 0];
}

static inline unsigned int stream_of(const struct stream_bits *s, uint32_t h)
{
	return (h >> s->shift & ((1u << s->width) - 1)) | (h >> s->hi_shift & ((1u << s->hi_width) - 1)) << s->width;
}

static inline uint32_t without_stream(const struct stream_bits *s, uint32_t h)
{
	return h & ~(((1u << s->width) - 1) << s->shift | ((1u << s->hi_width) - 1) << s->hi_shift);
}

static inline uint32_t with_stream(const struct stream_bits *s, uint32_t h, unsigned int stream)
{
	return h | (stream & ((1u << s->width) - 1)) << s->shift | (stream >> s->width & ((1u << s->hi_width) - 1)) << s->hi_shift;
}

/* --- bits and bytes --------------------------------------------------------------------------------------- */

static inline bool flag(struct rzx *x, unsigned int mixer, uint64_t c0, uint64_t c1, uint64_t c2, bool v)
{
	uint64_t ctx[3] = { c0 + mixer, c1 + mixer * 3, c2 + mixer * 7 };

	return rzx_bit(&x->b, &x->mixers[mixer], ctx, 3, v);
}

/* n bytes of `data` (written to by the reader). kind tells apart what they are; pred is what might have been. */
static void bytes(struct rzx *x, unsigned int kind, uint8_t *data, const uint8_t *pred, const uint8_t *before, size_t n)
{
	bool same = true;
	uint64_t all = kind * 0x1000193ULL;
	unsigned int b1 = 0, b2 = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t k = kind << 8 | i, h[6];
		unsigned int c0 = 1;

		h[0] = rzx_hash(k, 1);
		h[1] = rzx_hash(k, 0x100 | b1);
		h[2] = rzx_hash(kind, 0x1000000 | b1 << 8 | b2);
		h[3] = rzx_hash(k, 0x2000000 | (same ? 256u | pred[i] : 0) << 8 | (i + 1 < n && same));
		h[4] = rzx_hash(all, 5);
		h[5] = rzx_hash(k, 0x3000000 | before[i] << 8 | b1);
		while (c0 < 256) {
			uint64_t ctx[6];
			unsigned int shift = 7 - (31 - (unsigned int)__builtin_clz(c0));

			for (unsigned int j = 0; j < 6; j++)
				ctx[j] = h[j] + c0 * 0x9e3779b97f4a7c15ULL;
			c0 = c0 << 1 |
			     rzx_bit(&x->b, &x->mixers[M_BYTES + MIN(i, 23u) * 16 + (kind & 7) * 2 + same], ctx, 6, data[i] >> shift & 1);
		}
		data[i] = (uint8_t)c0;
		same &= data[i] == pred[i];
		b2 = b1;
		b1 = data[i];
		all = rzx_hash(all, b1 + 1);
	}
}

static uint64_t number(struct rzx *x, unsigned int kind, uint64_t v, uint64_t pred, uint64_t before)
{
	uint8_t data[8], p[8], b[8];

	rst_put64(data, v);
	rst_put64(p, pred);
	rst_put64(b, before);
	bytes(x, kind, data, p, b, 8);
	return rst_be64(data);
}

static uint32_t word32(struct rzx *x, unsigned int kind, uint32_t v, uint32_t pred, uint32_t before)
{
	uint8_t data[4], p[4], b[4];

	rst_put32(data, v);
	rst_put32(p, pred);
	rst_put32(b, before);
	bytes(x, kind, data, p, b, 4);
	return rst_be32(data);
}

/* --- the prediction of numbers ----------------------------------------------------------------------------- */

struct guess {
	struct value *v;
	uint64_t cand[CANDS];
	uint64_t *fcm, *hist;
	unsigned int best;
	bool known;
};

/* calc: what the instruction itself says (the target of a branch, the return address), or what was near before */
static void guess_number(struct rzx *x, struct stream *s, uint64_t key, uint64_t calc, uint64_t near, struct guess *g)
{
	struct value *v = &x->values[key >> (64 - x->bits)];
	uint32_t check = (uint32_t)key | 1;
	unsigned int best = 0;

	g->known = v->check == check;
	if (!g->known) {
		memset(v, 0, sizeof(*v));
		v->check = check;
		v->last = calc;
		v->d2 = near;
		v->score[4] = 3;
	}
	g->v = v;
	g->cand[0] = g->cand[2] = g->cand[3] = v->last;
	g->cand[1] = v->last + v->stride;
	g->cand[4] = calc;
	g->cand[5] = near + v->d2;
	for (unsigned int i = 1; i < CANDS; i++)
		if (v->score[i] > v->score[best])
			best = i;
	g->best = best;
	/* Two far tables are asked only about what is not easy. */
	g->fcm = g->hist = NULL;
	if (best != 2 && best != 3 && v->score[best] >= EASY)
		return;
	g->fcm = &x->fcm[rzx_hash(key, v->d1 * 3 + v->stride) >> (64 - x->bits)];
	g->hist = &x->by_history[rzx_hash(key, s->h_short) >> (64 - x->bits)];
	g->cand[2] = v->last + *g->fcm;
	g->cand[3] = *g->hist;
}

static void learn_number(struct guess *g, uint64_t actual, uint64_t near)
{
	struct value *v = g->v;
	uint64_t d = actual - v->last;

	for (unsigned int i = 0; i < CANDS; i++) {
		if (g->cand[i] == actual)
			v->score[i] += v->score[i] < 30;
		else
			v->score[i] /= 2;
	}
	if (g->fcm) {
		*g->fcm = d;
		*g->hist = actual;
	}
	if (d == v->d1)
		v->stride = d;
	v->d1 = d;
	v->d2 = actual - near;
	v->last = actual;
}

/* Sends a number that may be one of the candidates. */
static uint64_t pick_number(struct rzx *x, unsigned int type, unsigned int slot, const struct guess *g, uint64_t v)
{
	unsigned int tried[CANDS], n = 0, at = g->best;

	for (unsigned int i = 0; i < CANDS; i++, at = i - 1) {
		unsigned int k = i ? (at >= g->best ? at + 1 : at) : g->best;
		bool dup = false;

		if (k >= CANDS)
			continue;
		for (unsigned int j = 0; j < n; j++)
			dup |= g->cand[tried[j]] == g->cand[k];
		if (dup)
			continue;
		tried[n++] = k;
		if (flag(x, M_PICK + slot * 8 + k, rzx_hash(type, k), rzx_hash(type << 8 | g->v->score[k], k),
			 rzx_hash(g->v->check, k), v == g->cand[k]))
			return g->cand[k];
	}
	v = number(x, 16 + type * 2 + slot, v, g->cand[g->best], x->last_value[type & 63][slot]);
	return v;
}

/* --- one record -------------------------------------------------------------------------------------------- */

/* What the instruction says of its own address field. */
static uint64_t calc_ea(const struct rzx *x, const struct stream *s, const struct quad *q)
{
	enum sparc_kind k;

	if (x->x86)
		return q->h >> 16 & RST_I_BT ? s->ras[s->ras_at & 15] : s->last_mem;
	k = sparc_kind(q->w);
	if (k == SPARC_JMPL && sparc_is_ret(q->w))
		return s->ras[s->ras_at & 15] + 8;
	if (!sparc_is_pcrel(k))
		return 0;
	return q->h >> 16 & RST_I_BT ? q->p + (uint64_t)sparc_disp(q->w, k) : q->p + 8;
}

static inline bool is_instr(uint32_t h)
{
	return h >> 24 == RST_INSTR;
}

static uint64_t key_of(unsigned int stream, const struct stream *s, const struct quad *q, unsigned int slot)
{
	uint64_t where = is_instr(q->h) ? q->p : s->last_pc * 31 + s->since;

	return rzx_hash(where, (uint64_t)q->h << 32 | stream << 2 | slot);
}

/* Where a number that no instruction explains may lie near to. */
static uint64_t near_of(const struct rzx *x, const struct stream *s, const struct quad *q, unsigned int slot)
{
	if (is_instr(q->h))
		return s->last_mem;
	return slot ? q->p : x->last_value[q->h >> 24 & 63][0];
}

struct prediction {
	struct next *n[ORDERS];
	uint32_t check[ORDERS];
	struct quad q;
	unsigned int order, conf;
	unsigned int first; /* the shortest context that was looked at */
	uint64_t place;
	bool known;
};

static void predict(struct rzx *x, const struct stream *s, struct prediction *p)
{
	uint64_t at = rzx_hash(s->pc, (uint64_t)s->since << 8 | s->last_type);
	uint64_t ctx[ORDERS] = { at, rzx_hash(at, s->h_short), rzx_hash(at, s->h_long) };

	p->known = false;
	p->order = ORDERS;
	p->conf = 0;
	for (unsigned int i = ORDERS; i-- > 0;) {
		struct next *n = &x->next[i][ctx[i] >> (64 - x->bits)];

		p->first = i;
		p->n[i] = n;
		p->check[i] = (uint32_t)ctx[i] | 1;
		if (n->check != p->check[i])
			continue;
		if (!p->known || n->conf > p->conf + 1) {
			p->known = true;
			p->order = i;
			p->conf = n->conf;
			p->q = (struct quad){ n->h, n->w, n->p, 0 };
		}
		if (n->conf >= SURE)
			break;
	}
	p->place = at;
	if (!p->known) {
		/* New code: an instruction like the last one, at the place it leads to. */
		p->q = (struct quad){ (uint32_t)RST_INSTR << 24 | (s->last_h & (uint32_t)(RST_I_PR | RST_I_HPRIV) << 16), s->last_w, s->pc, 0 };
		if (x->x86 && !s->since)
			p->q.h = (uint32_t)RST_X86_INSTR << 24;
	}
	if (x->x86 && is_instr(p->q.h) && s->last_type == RST_X86_INSTR)
		p->q.w = rst_be32(x->x86_bytes);
}

static void learn_next(const struct prediction *p, const struct quad *q)
{
	for (unsigned int i = p->first; i < ORDERS; i++) {
		struct next *n = p->n[i];

		if (n->check == p->check[i] && n->h == q->h && n->w == q->w && n->p == q->p) {
			n->conf += n->conf < 15;
			continue;
		}
		if (n->check == p->check[i] && n->conf > 3) {
			n->conf /= 2;
			continue;
		}
		*n = (struct next){ p->check[i], q->h, q->w, 0, q->p };
	}
}

/* Where it goes on, and what was called. */
static void learn_x86(struct stream *s, const struct quad *q, uint8_t f)
{
	bool to = f & RST_I_BT && f & RST_I_EA;

	s->pc = to ? q->e : q->p + s->x86_len;
	if (to && (q->w >> 24 == 0xe8 || (q->w >> 16 & 0xff38) == 0xff10))
		s->ras[++s->ras_at & 15] = q->p + s->x86_len;
	else if (to && (q->w >> 24 == 0xc3 || q->w >> 16 == 0xf2c3 || q->w >> 16 == 0xf3c3))
		s->ras_at--;
	if (!to && f & RST_I_EA)
		s->last_mem = q->e;
}

static void learn_sparc(struct stream *s, const struct quad *q, uint8_t f)
{
	enum sparc_kind k = sparc_kind(q->w);
	uint64_t npc = q->p == s->pc ? s->npc : q->p + 4;

	s->pc = npc;
	s->npc = npc + 4;
	if (f & RST_I_AN)
		return;
	if (k == SPARC_MEMORY && f & RST_I_EA)
		s->last_mem = q->e;
	if (!sparc_is_transfer(k) && k != SPARC_DONE_RETRY)
		return;
	if (f & RST_I_BT && f & RST_I_EA)
		s->npc = q->e;
	if (k == SPARC_CALL || (k == SPARC_JMPL && sparc_rd(q->w) == 15))
		s->ras[++s->ras_at & 15] = q->p;
	else if (k == SPARC_JMPL && sparc_is_ret(q->w))
		s->ras_at--;
}

static void learn_stream(struct rzx *x, unsigned int stream, struct stream *s, const struct quad *q, bool hit)
{
	unsigned int type = q->h >> 24;
	uint8_t f = (uint8_t)(q->h >> 16);

	s->outcomes = s->outcomes << 1 | hit;
	s->last_type = (uint8_t)type;
	x->last_value[type & 63][0] = q->p;
	x->last_value[type & 63][1] = q->e;
	x->follower[x->last_stream][x->streams[x->last_stream].last_type == RST_INSTR] = (uint16_t)stream;
	x->last_stream = stream;
	if (type == RST_X86_INSTR) {
		x->x86 = true;
		s->x86_len = (uint8_t)(q->h >> 16);
		rst_put32(x->x86_bytes, (uint32_t)(q->p >> 32));
	}
	if (type != RST_INSTR) {
		s->since++;
		s->h_short = s->h_short << 10 ^ rzx_hash(q->h, 1) >> 40;
		return;
	}
	s->since = 0;
	s->last_pc = q->p;
	s->last_h = q->h;
	s->last_w = q->w;
	s->h_short = s->h_short << 10 ^ rzx_hash(q->p, f) >> 40;
	s->h_long = s->h_long << 3 ^ rzx_hash(q->p, f) >> 40;
	if (x->x86)
		learn_x86(s, q, f);
	else
		learn_sparc(s, q, f);
}

/* What was predicted wrongly, part by part. */
static void send_parts(struct rzx *x, struct stream *s, const struct prediction *p, struct quad *q)
{
	unsigned int type = p->q.h >> 24 & 63;
	uint64_t at = rzx_hash(s->pc, s->since);
	bool same;

	same = flag(x, M_SAME, rzx_hash(p->conf, p->order), rzx_hash(at, 1), rzx_hash(s->last_type, type), q->h == p->q.h);
	if (same)
		q->h = p->q.h;
	else
		q->h = word32(x, 8, q->h, p->q.h, s->last_h);
	type = q->h >> 24 & 63;
	if (is_instr(q->h)) {
		uint32_t *known;
		bool from_place;

		if (flag(x, M_SAME + 1, rzx_hash(same, p->conf), rzx_hash(at, 2), s->last_type, q->p == p->q.p))
			q->p = p->q.p;
		else if (flag(x, M_SAME + 2, 2, rzx_hash(at, 3), s->last_type, q->p == s->pc))
			q->p = s->pc;
		else
			q->p = number(x, 9, q->p, s->pc, s->last_pc);
		known = &x->words[rzx_hash(q->p, 77) >> (64 - x->bits)];
		from_place = flag(x, M_SAME + 3, rzx_hash(*known != 0, p->known), rzx_hash(q->p, 4), rzx_hash(p->order, p->conf),
				  q->w == *known);
		if (from_place)
			q->w = *known;
		else if (x->x86 && flag(x, M_SAME + 4, 1, 2, 3, q->w == rst_be32(x->x86_bytes)))
			q->w = rst_be32(x->x86_bytes);
		else
			q->w = word32(x, 10, q->w, p->q.w, s->last_w);
		*known = q->w;
	} else {
		if (flag(x, M_SAME + 5, rzx_hash(type, same), rzx_hash(at, q->h), p->conf, q->w == p->q.w))
			q->w = p->q.w;
		else
			q->w = word32(x, 11 + 8 * type, q->w, p->q.w, 0);
	}
}

/* Numbers of a record whose other parts are known; only then can their place be looked up. */
static void send_numbers(struct rzx *x, unsigned int stream, struct stream *s, struct quad *q)
{
	unsigned int type = q->h >> 24 & 63;
	struct guess g;

	if (!is_instr(q->h)) {
		guess_number(x, s, key_of(stream, s, q, 0), 0, near_of(x, s, q, 0), &g);
		q->p = pick_number(x, type, 0, &g, q->p);
		learn_number(&g, q->p, near_of(x, s, q, 0));
	}
	guess_number(x, s, key_of(stream, s, q, 1), is_instr(q->h) ? calc_ea(x, s, q) : 0, near_of(x, s, q, 1), &g);
	q->e = pick_number(x, type, 1, &g, q->e);
	g.v->run = 0;
	learn_number(&g, q->e, near_of(x, s, q, 1));
}

static unsigned int send_stream(struct rzx *x, unsigned int guess, unsigned int stream)
{
	uint8_t v[2] = { (uint8_t)(stream >> 8), (uint8_t)stream }, p[2] = { (uint8_t)(guess >> 8), (uint8_t)guess };

	if (flag(x, M_SAME + 6, x->last_stream, x->streams[guess].last_type, 3, stream == guess))
		return guess;
	bytes(x, 12, v, p, p, 2);
	return (v[0] << 8 | v[1]) & (STREAMS - 1);
}

void rzx_record(struct rzx *x, uint8_t *rec)
{
	unsigned int guess = x->follower[x->last_stream][x->streams[x->last_stream].last_type == RST_INSTR], stream = guess;
	struct stream *s = &x->streams[guess];
	struct prediction p;
	struct guess gp = { 0 }, ge;
	struct quad q = { 0 }, want;
	const struct stream_bits *sb;
	uint64_t ctx[RZX_MAX_INPUTS];
	unsigned int confidence;
	bool hit = false;

	if (x->b.enc) {
		q.h = rst_be32(rec);
		sb = bits_of(x, q.h);
		if (sb->width)
			stream = stream_of(sb, q.h);
		q.h = without_stream(sb, q.h);
		q.w = rst_be32(rec + 4);
		q.p = rst_be64(rec + 8);
		q.e = rst_be64(rec + 16);
	}
	predict(x, s, &p);
	want = p.q;
	if (!is_instr(want.h)) {
		guess_number(x, s, key_of(guess, s, &want, 0), 0, near_of(x, s, &want, 0), &gp);
		want.p = gp.cand[gp.best];
	}
	guess_number(x, s, key_of(guess, s, &want, 1), is_instr(want.h) ? calc_ea(x, s, &want) : 0, near_of(x, s, &want, 1), &ge);
	want.e = ge.cand[ge.best];
	if (x->b.enc)
		hit = stream == guess && q.h == want.h && q.w == want.w && q.p == want.p && q.e == want.e;
	confidence = MIN(p.conf, 7u) << 5 | p.order << 3 | MIN(ge.v->score[ge.best] / 2u, 7u);
	if ((s->outcomes & 0xff) == 0xff && p.conf >= SURE && ge.v->score[ge.best] >= EASY) {
		ctx[0] = rzx_hash(p.place, 0x10);
		hit = rzx_bit(&x->b, &x->mixers[M_HIT], ctx, 1, hit);
	} else {
		ctx[0] = rzx_hash(p.check[2], 0x12);
		ctx[1] = rzx_hash(confidence << 8 | ge.best, 0x13 | (uint64_t)(want.h >> 24) << 16);
		ctx[2] = rzx_hash(p.place, 0x14 | (s->outcomes & 0xfff) << 8);
		ctx[3] = rzx_hash(p.place, 0x16 | (uint64_t)ge.v->run << 8 | (uint64_t)want.h << 40);
		hit = rzx_bit(&x->b, &x->mixers[M_HIT + (confidence & 255)], ctx, 4, hit);
	}
	if (hit) {
		q = want;
		ge.v->run += ge.v->run < 0xffffff;
		if (!is_instr(q.h))
			learn_number(&gp, q.p, near_of(x, s, &q, 0));
		learn_number(&ge, q.e, near_of(x, s, &q, 1));
	} else {
		stream = send_stream(x, guess, stream);
		if (stream != guess) {
			s = &x->streams[stream];
			predict(x, s, &p);
		}
		ge.v->run = 0;
		send_parts(x, s, &p, &q);
		send_numbers(x, stream, s, &q);
	}
	if (is_instr(q.h))
		x->words[rzx_hash(q.p, 77) >> (64 - x->bits)] = q.w;
	learn_next(&p, &q);
	learn_stream(x, stream, s, &q, hit);
	if (x->b.enc)
		return;
	rst_put32(rec, with_stream(bits_of(x, q.h), q.h, stream));
	rst_put32(rec + 4, q.w);
	rst_put64(rec + 8, q.p);
	rst_put64(rec + 16, q.e);
}

/* --- the tables -------------------------------------------------------------------------------------------- */

void rzx_free(struct rzx *x)
{
	rzx_bits_done(&x->b);
	for (unsigned int i = 0; i < ORDERS; i++)
		free(x->next[i]);
	free(x->values);
	free(x->fcm);
	free(x->by_history);
	free(x->words);
	free(x);
}

int rzx_make(struct rzx **ret, bool enc, unsigned int level, unsigned int version)
{
	struct rzx *x = calloc(1, sizeof(*x));
	size_t n = (size_t)1 << (10 + level);
	int rc;

	if (!x)
		return -ENOMEM;
	x->bits = 10 + level;
	rc = rzx_bits_init(&x->b, enc, 15 + level);
	for (unsigned int i = 0; i < ORDERS; i++)
		x->next[i] = calloc(n, sizeof(**x->next));
	x->values = calloc(n, sizeof(*x->values));
	x->fcm = calloc(n, sizeof(*x->fcm));
	x->by_history = calloc(n, sizeof(*x->by_history));
	x->words = calloc(n, sizeof(*x->words));
	if (rc || !x->next[0] || !x->next[1] || !x->next[2] || !x->values || !x->fcm || !x->by_history || !x->words) {
		rzx_free(x);
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < N_MIXERS; i++)
		rzx_mixer_init(&x->mixers[i], !i ? 1 : i < M_SAME ? 4 : i < M_BYTES ? 3 : 6);
	find_stream_bits(x, version);
	*ret = x;
	return 0;
}

struct rzx_bits *rzx_coder(struct rzx *x)
{
	return &x->b;
}
