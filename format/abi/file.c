/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/abi/file.h"

static int truncated(struct abi_fault *fault, size_t at)
{
	return ABI_FAULT(fault, at, "truncated: the file ends inside a note or buffer");
}

/* --- check --------------------------------------------------------------------------------------------- */
static int check_opnd(struct abi_file_stat *s, const uint8_t *data, size_t len, struct abi_fault *fault)
{
	size_t pos = abi_prefix_len(&s->fmt);
	struct opnd_note n;
	int r;

	while ((r = opnd_next(&s->fmt, data, len, &pos, &n, fault)) > 0) {
		s->items++;
		s->unknown += !opnd_type_known(n.type);
	}
	return r == -EAGAIN ? truncated(fault, pos) : r;
}

static int check_opsd(struct abi_file_stat *s, const uint8_t *data, size_t len, struct abi_fault *fault)
{
	size_t pos = abi_prefix_len(&s->fmt);
	struct opsd_head h;
	struct opsd_sample x;
	int r;

	while ((r = opsd_head_next(&s->fmt, data, len, &pos, true, &h, fault)) > 0) {
		s->items++;
		for (uint64_t i = 0; i < h.n; i++) {
			r = opsd_sample_next(&s->fmt, data, len, &pos, &x, fault);
			if (r <= 0)
				return r < 0 && r != -EAGAIN ? r : truncated(fault, pos);
			s->samples++;
			s->sum = opdb_add(s->sum, x.count);
		}
	}
	return r == -EAGAIN ? truncated(fault, pos) : r;
}

static int check_ophd(struct abi_file_stat *s, const uint8_t *data, size_t len, struct abi_fault *fault)
{
	AUTO(ophd_done) struct ophd h = { 0 };
	int r = ophd_read(&h, data, len, fault);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < h.n; i++)
		s->items += ophd_used(&h, i);
	s->slots = h.n;
	s->pool = h.pool_len;
	return 0;
}

static int check_opdb(struct abi_file_stat *s, const uint8_t *data, size_t len, struct abi_fault *fault)
{
	struct opdb db;
	int r = opdb_read(&db, data, len, fault);

	if (r >= 0)
		r = opdb_check(&db, &s->opdb, fault);
	if (r < 0)
		return r;
	s->items = s->samples = s->opdb.pairs;
	s->sum = s->opdb.sum;
	s->total = db.total;
	s->used = db.used;
	s->page_entries = db.page_entries;
	return 0;
}

int abi_file_check(const void *data, size_t len, struct abi_file_stat *ret, struct abi_fault *fault)
{
	static int (*const checks[])(struct abi_file_stat *, const uint8_t *, size_t, struct abi_fault *) = {
		[ABI_OPND] = check_opnd, [ABI_OPSD] = check_opsd, [ABI_OPHD] = check_ophd, [ABI_OPDB] = check_opdb,
	};
	struct abi_file_stat s = { 0 };
	int r = abi_prefix_read(&s.fmt, 0, data, len, fault);

	if (r >= 0)
		r = checks[s.fmt.kind](&s, data, len, fault);
	if (r >= 0 && ret)
		*ret = s;
	return r < 0 ? r : 0;
}

/* --- convert ------------------------------------------------------------------------------------------- */
struct convert {
	struct abi_format from, to;
	const uint8_t *data;
	size_t len;
	uint8_t *out;
	struct abi_fault *fault;
};

static int word(struct convert *c, size_t at, uint8_t *out, bool nil)
{
	uint64_t v;
	int r = nil ? abi_word_nil(&c->from, c->data + at, &v) : abi_word_num(&c->from, c->data + at, &v);

	if (r < 0) {
		(void)ABI_FAULT(c->fault, at, "word-range: a word does not fit 64 bits");
		return r;
	}
	r = nil ? abi_word_put_nil(&c->to, out, v) : abi_word_put(&c->to, out, v);
	if (r < 0) {
		(void)ABI_FAULT(c->fault, at, "fit: a word does not fit the new width");
		if (c->fault)
			c->fault->value = v;
	}
	return r;
}

/* n plain words, the one at index `nil` (from 0) with a "none". */
static int words(struct convert *c, size_t at, uint8_t *out, uint64_t n, uint64_t nil)
{
	for (uint64_t i = 0; i < n; i++) {
		int r = word(c, at + i * c->from.width, out + i * c->to.width, i == nil);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Streams: every word stands for itself. */
static int convert_stream(struct convert *c)
{
	size_t head = abi_prefix_len(&c->from), n = (c->len - head) / c->from.width;
	uint8_t *out = c->out;

	for (size_t i = 0; i < n; i++, out += c->to.width) {
		int r = word(c, head + i * c->from.width, out, c->from.kind == ABI_OPND && i % OPND_WORDS == 3);
		if (r < 0)
			return r;
	}
	return 0;
}

static int convert_ophd(struct convert *c, const struct abi_file_stat *s)
{
	size_t at = abi_prefix_len(&c->from);
	uint8_t *out = c->out;
	int r = words(c, at, out, 2, UINT64_MAX);

	for (uint64_t i = 0; i < s->slots && r >= 0; i++)
		r = words(c, at + (2 + 2 * i) * c->from.width, out + (2 + 2 * i) * c->to.width, 2, 1);
	if (r >= 0)
		memcpy(out + (2 + 2 * s->slots) * c->to.width, c->data + c->len - s->pool, s->pool);
	return r;
}

static int convert_page(struct convert *c, size_t at, uint8_t *out, uint64_t page_entries)
{
	uint64_t n;

	if (abi_word_num(&c->from, c->data + at, &n) < 0 || n > page_entries)
		return ABI_FAULT(c->fault, at, "occupation: a page has no entry or more than it has room for");
	if (!n)
		return 0; /* in use and empty: nobody can reach it */
	int r = words(c, at, out, 2, UINT64_MAX);
	for (uint64_t i = 0; i < n && r >= 0; i++)
		r = words(c, at + (2 + 3 * i) * c->from.width, out + (2 + 3 * i) * c->to.width, 3, 1);
	return r;
}

static int convert_opdb(struct convert *c, const struct abi_file_stat *s)
{
	size_t at = abi_prefix_len(&c->from), record = 3 * s->page_entries + 2;
	int r = words(c, at, c->out, 4, UINT64_MAX);

	for (uint64_t i = 1; i < s->used && r >= 0; i++)
		r = convert_page(c, at + (OPDB_HEAD_WORDS + i * record) * c->from.width,
				 c->out + (OPDB_HEAD_WORDS + i * record) * c->to.width, s->page_entries);
	return r;
}

int abi_file_convert(const void *data, size_t len, const struct abi_format *to, struct strbuf *ret,
		     struct abi_fault *fault)
{
	struct abi_file_stat s;
	struct convert c = { .data = data, .len = len, .to = *to, .fault = fault };
	size_t start = ret->len, prefix, total;
	int r = abi_file_check(data, len, &s, fault);

	if (r < 0)
		return r;
	c.from = s.fmt;
	c.to.kind = s.fmt.kind;
	c.to.minor = s.fmt.minor;
	prefix = abi_prefix_len(&c.to);
	if (__builtin_mul_overflow((len - abi_prefix_len(&c.from) - s.pool) / c.from.width, c.to.width, &total) ||
	    __builtin_add_overflow(total, prefix + s.pool, &total))
		return -E2BIG;
	r = strbuf_reserve(ret, total);
	if (r < 0)
		return r;
	c.out = (uint8_t *)ret->buf + start;
	memset(c.out, 0, total + 1);
	abi_prefix_write(&c.to, c.out);
	c.out += prefix;
	r = c.from.kind == ABI_OPHD ? convert_ophd(&c, &s) : c.from.kind == ABI_OPDB ? convert_opdb(&c, &s) : convert_stream(&c);
	if (r >= 0)
		ret->len = start + total;
	return r;
}

/* --- merge --------------------------------------------------------------------------------------------- */
struct pairs {
	struct opdb_pair *p;
	size_t n, room;
};

static int put_pair(void *arg, uint64_t key, uint64_t value)
{
	struct pairs *to = arg;

	if (to->n == to->room) {
		size_t room = to->room ? to->room * 2 : 256;
		struct opdb_pair *p = realloc(to->p, room * sizeof(*p));
		if (!p)
			return -ENOMEM;
		to->p = p;
		to->room = room;
	}
	to->p[to->n++] = (struct opdb_pair){ key, value };
	return 0;
}

static int read_pairs(struct pairs *to, const void *data, size_t len, uint64_t *page_entries, struct abi_fault *fault)
{
	struct opdb db;
	int r = opdb_read(&db, data, len, fault);

	*page_entries = r < 0 ? 0 : db.page_entries;
	return r < 0 ? r : opdb_each(&db, put_pair, to, fault);
}

static int merge_opdb(const void *a, size_t a_len, const void *b, size_t b_len, const struct abi_format *fmt,
		      struct strbuf *ret, struct abi_fault *fault)
{
	struct pairs x = { 0 }, y = { 0 }, z = { 0 };
	uint64_t p, q;
	size_t i = 0, j = 0, bad;
	int r = read_pairs(&x, a, a_len, &p, fault);

	if (r >= 0)
		r = read_pairs(&y, b, b_len, &q, fault);
	while (r >= 0 && (i < x.n || j < y.n)) {
		if (j == y.n || (i < x.n && x.p[i].key < y.p[j].key)) {
			r = put_pair(&z, x.p[i].key, x.p[i].value);
			i++;
		} else if (i == x.n || y.p[j].key < x.p[i].key) {
			r = put_pair(&z, y.p[j].key, y.p[j].value);
			j++;
		} else {
			r = put_pair(&z, x.p[i].key, opdb_add(x.p[i].value, y.p[j].value));
			i++;
			j++;
		}
		/* The sum saturates at the width that it is written with. */
		if (r >= 0 && fmt->width < 8 && z.p[z.n - 1].value >= abi_max(fmt))
			z.p[z.n - 1].value = UINT64_MAX;
	}
	if (r >= 0)
		r = opdb_build(z.p, z.n, fmt, 0, ret, &bad);
	if (r == -ERANGE && fault)
		*fault = (struct abi_fault){ .rule = "fit: a word does not fit the new width", .value = bad < z.n ? z.p[bad].key : 0 };
	free(x.p);
	free(y.p);
	free(z.p);
	return r;
}

static int merge_ophd(const void *a, size_t a_len, const void *b, size_t b_len, const struct abi_format *fmt,
		      struct strbuf *ret, struct abi_fault *fault)
{
	AUTO(ophd_done) struct ophd first = { 0 };
	AUTO(ophd_done) struct ophd second = { 0 };
	AUTO(ophd_builder_done) struct ophd_builder out = { 0 };
	AUTO_STRBUF path = STRBUF_INIT;
	uint32_t n = 0;
	int r = ophd_read(&first, a, a_len, fault);

	if (r >= 0)
		r = ophd_read(&second, b, b_len, fault);
	if (r < 0)
		return r;
	for (uint32_t i = 1; i < MAX(first.n, second.n); i++)
		n += (uint32_t)ophd_used(&first, i) + ophd_used(&second, i);
	r = ophd_builder_init(&out, ophd_size_for(n), false);
	for (int k = 0; k < 2; k++) {
		const struct ophd *from = k ? &second : &first;
		for (uint32_t i = 1; i < from->n && r >= 0; i++) {
			int64_t slot;
			if (!ophd_used(from, i))
				continue;
			strbuf_reset(&path);
			r = ophd_path(from, i, &path);
			slot = r < 0 ? r : ophd_builder_add_path(&out, path.buf);
			r = slot < 0 ? (int)slot : 0;
		}
	}
	return r < 0 ? r : ophd_builder_write(&out, fmt, ret);
}

int abi_file_merge(const void *a, size_t a_len, const void *b, size_t b_len, const struct abi_format *fmt,
		   struct strbuf *ret, struct abi_fault *fault)
{
	struct abi_format fa, fb;
	AUTO_STRBUF tail = { .cap = ret->cap };
	int r = abi_prefix_read(&fa, 0, a, a_len, fault);

	if (r >= 0)
		r = abi_prefix_read(&fb, 0, b, b_len, fault);
	if (r < 0)
		return r;
	if (fa.kind != fb.kind)
		return -EINVAL;
	if (!fmt)
		fmt = &fa;
	if (fa.kind == ABI_OPDB)
		return merge_opdb(a, a_len, b, b_len, fmt, ret, fault);
	if (fa.kind == ABI_OPHD)
		return merge_ophd(a, a_len, b, b_len, fmt, ret, fault);
	r = abi_file_convert(a, a_len, fmt, ret, fault);
	if (r >= 0)
		r = abi_file_convert(b, b_len, fmt, &tail, fault);
	return r < 0 ? r : strbuf_add(ret, tail.buf + abi_prefix_len(fmt), tail.len - abi_prefix_len(fmt));
}
