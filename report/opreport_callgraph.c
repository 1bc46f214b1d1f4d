/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Call graph from the stacks of a session. An arc is counted once a stack, so recursion and cycles inflate nothing:
 * no number exceeds the samples that were taken.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/map.h"
#include "report/opreport.h"
#include "report/text.h"

#define RULE "-------------------------------------------------------------------------------\n"

struct node {
	uint32_t row;     /* application and image are the row's */
	char *name;       /* of an inlined frame; NULL = the row's */
	uint64_t self, total; /* in the first column's terms, all columns added */
	uint64_t *counts; /* self, one a class */
};

struct arc {
	uint32_t from, to;
	uint64_t last;    /* stack that counted it last */
	uint64_t *counts;
	uint64_t sum;
};

struct graph {
	const struct opreport *o;
	struct query *q;
	size_t source;
	struct strpool keys;  /* node keys */
	struct node *nodes;
	size_t n_nodes, nodes_room;
	struct u64map arc_of; /* from << 32 | to -> arc + 1 */
	struct arc *arcs;
	size_t n_arcs, arcs_room;
	struct u64map seen;   /* node -> stack that counted it last */
	uint32_t *path;       /* nodes of the stack at hand, leaf first */
	size_t n_path, path_room;
	uint64_t n_stacks;
};

static int64_t node_number(struct graph *g, uint32_t row, const char *raw)
{
	AUTO_STRBUF key = STRBUF_INIT;
	AUTO_STRBUF name = STRBUF_INIT;
	const struct query_row *r = &g->q->rows[row];
	int64_t id;

	if (raw && (!r->sym || strcmp(raw, r->sym->name))) {
		struct sym s = { .name = raw, .tier = -1, .osr_bci = -1 };

		query_symbol_name(&g->q->opts, r->img, &s, &name);
		strbuf_addf(&key, "%u %u %s", r->app, r->image, strbuf_str(&name));
	} else {
		strbuf_addf(&key, "%u", row);
	}
	id = key.error ? key.error : strpool_id(&g->keys, key.buf, key.len);
	if (id < 0 || (size_t)id < g->n_nodes)
		return id;
	if (g->n_nodes == g->nodes_room) {
		size_t room = g->nodes_room ? 2 * g->nodes_room : 256;
		struct node *more = realloc(g->nodes, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		g->nodes = more;
		g->nodes_room = room;
	}
	g->nodes[g->n_nodes] = (struct node){ .row = row };
	if (name.len && !(g->nodes[g->n_nodes].name = strbuf_steal(&name)))
		return -ENOMEM;
	g->nodes[g->n_nodes].counts = calloc(g->q->n_classes, sizeof(uint64_t));
	if (!g->nodes[g->n_nodes++].counts)
		return -ENOMEM;
	return id;
}

static int push(struct graph *g, int64_t node)
{
	if (node < 0)
		return (int)node;
	if (g->n_path == g->path_room) {
		size_t room = g->path_room ? 2 * g->path_room : 256;
		uint32_t *more = realloc(g->path, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		g->path = more;
		g->path_room = room;
	}
	g->path[g->n_path++] = (uint32_t)node;
	return 0;
}

/* One machine frame becomes one node, or with --inlines as many as it holds source-level frames. */
static int push_frame(struct graph *g, const struct session_frame *f)
{
	uint64_t key = f->key; /* a caller's lies inside its call instruction already */
	int64_t row = query_row_at(g->q, g->source, f->file, key);
	struct sym_frame frames[SYM_FRAMES_MAX];
	int n = 0, r = 0;

	if (row < 0)
		return (int)row;
	if (g->o->inlines && g->q->rows[row].sym)
		n = sym_inlines(g->q->rows[row].img, key, frames);
	if (n <= 1)
		return push(g, node_number(g, (uint32_t)row, NULL));
	for (int i = 0; i < n && !r; i++)
		r = push(g, node_number(g, (uint32_t)row, i == n - 1 ? NULL : frames[i].name));
	return r;
}

static struct arc *arc_at(struct graph *g, uint32_t from, uint32_t to)
{
	uint64_t *at = u64map_at(&g->arc_of, (uint64_t)from << 32 | to);

	if (!at)
		return NULL;
	if (*at)
		return &g->arcs[*at - 1];
	if (g->n_arcs == g->arcs_room) {
		size_t room = g->arcs_room ? 2 * g->arcs_room : 1024;
		struct arc *more = realloc(g->arcs, room * sizeof(*more));

		if (!more)
			return NULL;
		g->arcs = more;
		g->arcs_room = room;
	}
	g->arcs[g->n_arcs] = (struct arc){ .from = from, .to = to };
	g->arcs[g->n_arcs].counts = calloc(g->q->n_classes, sizeof(uint64_t));
	if (!g->arcs[g->n_arcs].counts)
		return NULL;
	*at = ++g->n_arcs;
	return &g->arcs[g->n_arcs - 1];
}

static int add_stack(void *arg, const struct session_frame *frames, size_t n, uint64_t count)
{
	struct graph *g = arg;
	int class = n ? query_class_of(g->q, g->source, frames[0].file) : -1;

	if (class < 0)
		return 0;
	g->n_path = 0;
	g->n_stacks++;
	for (size_t i = 0; i < n; i++) {
		int r = push_frame(g, &frames[i]);

		if (r < 0)
			return r;
	}
	g->nodes[g->path[0]].counts[class] += count;
	g->nodes[g->path[0]].self += count;
	for (size_t i = 0; i < g->n_path; i++) {
		uint64_t *seen = u64map_at(&g->seen, g->path[i]);
		struct arc *a;

		if (!seen)
			return -ENOMEM;
		if (*seen != g->n_stacks) {
			*seen = g->n_stacks;
			g->nodes[g->path[i]].total += count;
		}
		if (!i)
			continue;
		a = arc_at(g, g->path[i], g->path[i - 1]);
		if (!a)
			return -ENOMEM;
		if (a->last == g->n_stacks)
			continue;
		a->last = g->n_stacks;
		a->counts[class] += count;
		a->sum += count;
	}
	return 0;
}

/* Samples without a stack (or all, where inlined frames do not divide a row) are the row's own. */
static int add_rows(struct graph *g)
{
	uint64_t *with = calloc(g->q->n_rows + 1, g->q->n_classes * sizeof(*with));
	size_t nc = g->q->n_classes;
	int r = with ? 0 : -ENOMEM;

	for (size_t i = 0; i < g->n_nodes && !r; i++)
		for (size_t c = 0; c < nc; c++)
			with[g->nodes[i].row * nc + c] += g->nodes[i].counts[c];
	for (size_t i = 0; i < g->q->n_rows && !r; i++)
		for (size_t c = 0; c < nc; c++) {
			uint64_t have = with[i * nc + c], want = g->q->rows[i].counts[c];
			int64_t node;

			if (have >= want)
				continue;
			node = node_number(g, (uint32_t)i, NULL);
			if (node < 0) {
				r = (int)node;
				break;
			}
			g->nodes[node].counts[c] += want - have;
			g->nodes[node].self += want - have;
			g->nodes[node].total += want - have;
		}
	free(with);
	return r;
}

/* --- printing -------------------------------------------------------------------------------------------------- */

static const char *node_name(const struct graph *g, const struct node *n)
{
	return n->name ? n->name : g->q->rows[n->row].name;
}

static int compare_nodes(const struct graph *g, uint32_t a, uint32_t b)
{
	const struct node *x = &g->nodes[a], *y = &g->nodes[b];
	const struct query_row *rx = &g->q->rows[x->row], *ry = &g->q->rows[y->row];
	int r = strcmp(node_name(g, x), node_name(g, y));

	if (!r)
		r = strcmp(g->q->images[rx->image].label, g->q->images[ry->image].label);
	if (!r)
		r = strcmp(g->q->apps[rx->app].name, g->q->apps[ry->app].name);
	return r ? r : rx->vma < ry->vma ? -1 : rx->vma > ry->vma;
}

static int by_self(const void *a, const void *b, void *arg)
{
	const struct graph *g = arg;
	const struct node *x = &g->nodes[*(const uint32_t *)a], *y = &g->nodes[*(const uint32_t *)b];
	int r;

	if (x->self != y->self)
		r = x->self > y->self ? -1 : 1;
	else if (x->total != y->total)
		r = x->total > y->total ? -1 : 1;
	else
		r = compare_nodes(g, *(const uint32_t *)a, *(const uint32_t *)b);
	return g->o->reverse ? -r : r;
}

static int by_caller(const void *a, const void *b, void *arg) /* ascending: the most important next to the function */
{
	const struct graph *g = arg;
	const struct arc *x = &g->arcs[*(const uint32_t *)a], *y = &g->arcs[*(const uint32_t *)b];

	return x->sum != y->sum ? (x->sum < y->sum ? -1 : 1) : compare_nodes(g, y->from, x->from);
}

static int by_callee(const void *a, const void *b, void *arg)
{
	const struct graph *g = arg;
	const struct arc *x = &g->arcs[*(const uint32_t *)a], *y = &g->arcs[*(const uint32_t *)b];

	return x->sum != y->sum ? (x->sum > y->sum ? -1 : 1) : compare_nodes(g, x->to, y->to);
}

static void line(const struct graph *g, const char *indent, const uint64_t *counts, const uint64_t *whole,
		 const struct node *n, const char *mark, struct strbuf *out)
{
	const struct query_row *r = &g->q->rows[n->row];
	AUTO_STRBUF sb = STRBUF_INIT;

	strbuf_addstr(out, indent);
	for (size_t c = 0; c < g->q->n_classes; c++) {
		strbuf_addf(out, "%-8" PRIu64 " ", counts[c]);
		text_add_percent(out, counts[c], whole[c]);
		strbuf_addstr(out, "  ");
	}
	if (g->o->debug_info) {
		struct sym_line at = *query_row_line(&g->q->rows[n->row]);

		opreport_add_location(g->o, &at, &sb);
		text_add_padded(out, strbuf_str(&sb), 28);
	}
	text_add_padded(out, g->o->long_names ? g->q->images[r->image].long_label : g->q->images[r->image].label, 25);
	text_add_padded(out, g->q->apps[r->app].name, 25);
	text_add_plain(out, node_name(g, n));
	strbuf_addstr(out, mark);
	strbuf_addch(out, '\n');
}

struct adjacency { /* arcs of each node: list[first[n]..first[n + 1]) */
	uint32_t *list, *first;
};

static int adjacency_make(const struct graph *g, bool callers, struct adjacency *ret)
{
	ret->list = calloc(g->n_arcs + 1, sizeof(*ret->list));
	ret->first = calloc(g->n_nodes + 2, sizeof(*ret->first));
	if (!ret->list || !ret->first)
		return -ENOMEM;
	for (size_t i = 0; i < g->n_arcs; i++)
		ret->first[(callers ? g->arcs[i].to : g->arcs[i].from) + 2]++;
	for (size_t i = 2; i < g->n_nodes + 2; i++)
		ret->first[i] += ret->first[i - 1];
	for (size_t i = 0; i < g->n_arcs; i++)
		ret->list[ret->first[(callers ? g->arcs[i].to : g->arcs[i].from) + 1]++] = (uint32_t)i;
	for (size_t i = 0; i < g->n_nodes; i++)
		if (ret->first[i + 1] > ret->first[i])
			qsort_r(ret->list + ret->first[i], ret->first[i + 1] - ret->first[i], sizeof(*ret->list),
				callers ? by_caller : by_callee, (void *)g);
	return 0;
}

static void sum_arcs(const struct graph *g, const struct adjacency *a, uint32_t node, uint64_t *sums)
{
	for (size_t i = a->first[node]; i < a->first[node + 1]; i++)
		for (size_t c = 0; c < g->q->n_classes; c++)
			sums[c] += g->arcs[a->list[i]].counts[c];
}

static void block(const struct graph *g, uint32_t node, const struct adjacency *callers, const struct adjacency *callees,
		  const uint64_t *whole, struct strbuf *out)
{
	const struct node *n = &g->nodes[node];
	uint64_t in[QUERY_CLASSES_MAX] = { 0 }, under[QUERY_CLASSES_MAX] = { 0 };
	bool self_done = !n->self;

	sum_arcs(g, callers, node, in);
	sum_arcs(g, callees, node, under);
	for (size_t c = 0; c < g->q->n_classes; c++)
		under[c] += n->counts[c];
	for (size_t i = callers->first[node]; i < callers->first[node + 1]; i++) {
		const struct arc *a = &g->arcs[callers->list[i]];

		line(g, "  ", a->counts, in, &g->nodes[a->from], "", out);
	}
	line(g, "", n->counts, whole, n, "", out);
	for (size_t i = callees->first[node]; i < callees->first[node + 1]; i++) {
		const struct arc *a = &g->arcs[callees->list[i]];

		if (!self_done && n->self >= a->sum) {
			line(g, "  ", n->counts, under, n, " [self]", out);
			self_done = true;
		}
		line(g, "  ", a->counts, under, &g->nodes[a->to], "", out);
	}
	if (!self_done)
		line(g, "  ", n->counts, under, n, " [self]", out);
	strbuf_addstr(out, RULE);
}

static int print(struct graph *g, struct strbuf *out)
{
	struct adjacency callers = { 0 }, callees = { 0 };
	uint32_t *order = calloc(g->n_nodes + 1, sizeof(*order));
	uint64_t whole[QUERY_CLASSES_MAX];
	int r = order ? adjacency_make(g, true, &callers) : -ENOMEM;

	if (!r)
		r = adjacency_make(g, false, &callees);
	if (!r) {
		for (size_t i = 0; i < g->n_nodes; i++)
			order[i] = (uint32_t)i;
		qsort_r(order, g->n_nodes, sizeof(*order), by_self, g);
		for (size_t c = 0; c < g->q->n_classes; c++)
			whole[c] = opreport_whole(g->o, g->q, c);
		if (!g->o->no_header) {
			report_add_header(out, g->q);
			for (size_t c = 0; c < g->q->n_classes; c++)
				strbuf_addstr(out, "samples  %        ");
			if (g->o->debug_info)
				strbuf_addf(out, "%-28s", "linenr info");
			strbuf_addf(out, "%-25s%-25ssymbol name\n", "image name", "app name");
		}
		strbuf_addstr(out, RULE);
		for (size_t i = 0; i < g->n_nodes; i++)
			if (!opreport_too_small(g->o, g->q, g->nodes[order[i]].counts) || g->o->common.threshold <= 0)
				block(g, order[i], &callers, &callees, whole, out);
	}
	free(order);
	free(callers.list);
	free(callers.first);
	free(callees.list);
	free(callees.first);
	return r;
}

static int name_new_rows(struct graph *g)
{
	for (size_t i = 0; i < g->q->n_rows; i++) {
		struct query_row *r = &g->q->rows[i];
		AUTO_STRBUF sb = STRBUF_INIT;

		if (r->name)
			continue;
		query_symbol_name(&g->q->opts, r->img, r->sym, &sb);
		r->name = strbuf_steal(&sb);
		if (!r->name)
			return -ENOMEM;
	}
	return 0;
}

int opreport_callgraph(const struct opreport *o, struct query *q, struct strbuf *out, struct strbuf *why)
{
	struct graph g = { .o = o, .q = q };
	int r = 0;

	for (g.source = 0; g.source < q->n_sources && r >= 0; g.source++) {
		r = session_stacks_each(q->sources[g.source].session, add_stack, &g);
		if (r < 0)
			strbuf_addstr(why, session_error(q->sources[g.source].session));
	}
	g.source = 0;
	if (r >= 0 && !g.n_stacks) {
		strbuf_addstr(why, "no call stacks in this profile: record with `operf --callgraph`");
		r = -ENOENT;
	}
	if (r >= 0)
		r = add_rows(&g);
	if (r >= 0)
		r = name_new_rows(&g);
	if (r >= 0)
		r = print(&g, out);
	for (size_t i = 0; i < g.n_nodes; i++) {
		free(g.nodes[i].name);
		free(g.nodes[i].counts);
	}
	for (size_t i = 0; i < g.n_arcs; i++)
		free(g.arcs[i].counts);
	free(g.nodes);
	free(g.arcs);
	free(g.path);
	u64map_done(&g.arc_of);
	u64map_done(&g.seen);
	strpool_done(&g.keys);
	return r < 0 ? r : out->error;
}
