/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/evlog/fields.h"

#include <stddef.h>

static const char *const modes[] = { "unknown", "kernel", "user", "hypervisor" };
static const char *const whats[] = { "?", "load", "unload", "move", "amend", "heap", "close" };

#define AT(m) offsetof(struct ev, u.m)
#define U8(n, m) { .name = n, .kind = EVF_U8, .at = AT(m) }
#define U32(n, m) { .name = n, .kind = EVF_U32, .at = AT(m) }
#define I32(n, m) { .name = n, .kind = EVF_I32, .at = AT(m) }
#define U64(n, m) { .name = n, .kind = EVF_U64, .at = AT(m) }
#define X32(n, m) { .name = n, .kind = EVF_U32, .show = EVF_HEX, .at = AT(m) }
#define X64(n, m) { .name = n, .kind = EVF_U64, .show = EVF_HEX, .at = AT(m) }
#define STR(n, m) { .name = n, .kind = EVF_STR, .at = AT(m) }
#define BYTES(n, m) { .name = n, .kind = EVF_BYTES, .at = AT(m), .len_at = AT(m##_len) }
#define NAMED(n, m, w) { .name = n, .kind = EVF_U8, .show = EVF_NAMED, .at = AT(m), .words = w, .n_words = ARRAY_SIZE(w) }

static const struct evlog_field sample[] = {
	X64("ip", sample.ip), U64("period", sample.period), U32("event", sample.event), NAMED("mode", sample.mode, modes),
	{ .name = "truncated", .kind = EVF_U8, .show = EVF_NOT_0, .at = AT(sample.truncated) },
	{ .name = "n_kernel", .kind = EVF_U32, .show = EVF_CHAINED, .at = AT(sample.n_kernel) },
	{ .name = "chain", .kind = EVF_CHAIN, .show = EVF_CHAINED, .at = AT(sample.chain), .len_at = AT(sample.n_chain) },
};
static const struct evlog_field map[] = {
	X64("addr", mmap.addr), X64("len", mmap.len), X64("pgoff", mmap.pgoff), X64("dev", mmap.dev), U64("ino", mmap.ino),
	U64("ino_gen", mmap.ino_gen), X32("prot", mmap.prot), X32("flags", mmap.flags), STR("path", mmap.path),
};
static const struct evlog_field unmap[] = { X64("addr", mmap.addr), X64("len", mmap.len) };
static const struct evlog_field comm[] = { STR("comm", comm.comm), U32("exec", comm.flags) };
static const struct evlog_field fork_[] = { I32("ppid", fork.ppid), I32("ptid", fork.ptid) };
static const struct evlog_field lost[] = { U64("count", lost.count) };
static const struct evlog_field ksymbol[] = {
	X64("addr", ksymbol.addr), X64("len", ksymbol.len), U32("unregister", ksymbol.unregister), STR("name", ksymbol.name),
};
static const struct evlog_field jit[] = {
	U32("source", jit.source), NAMED("what", jit.e.type, whats), U8("kind", jit.e.kind),
	{ .name = "tier", .kind = EVF_I8, .at = AT(jit.e.tier) }, X32("flags", jit.e.flags), I32("osr_bci", jit.e.osr_bci),
	U64("jit_time", jit.e.time_ns), X64("addr", jit.e.addr), U64("size", jit.e.size),
	{ .name = "old_addr", .kind = EVF_U64, .show = EVF_HEX | EVF_NOT_0, .at = AT(jit.e.old_addr) }, U64("id", jit.e.id),
	U32("segment", jit.e.segment), X64("image_offset", jit.e.image_offset), BYTES("name", jit.e.name),
	BYTES("source_file", jit.e.source_file),
};
static const struct evlog_field jitsrc[] = {
	U32("source", jitsrc.source), U32("kind", jitsrc.kind), U64("lag", jitsrc.lag_ns), STR("instance", jitsrc.instance),
};
static const struct evlog_field proc[] = {
	U64("start_time", proc.start_time), I32("ppid", proc.ppid), I32("nspid", proc.nspid), U32("uid", proc.uid),
	U32("exec_count", proc.exec_count), STR("exe", proc.exe), STR("app", proc.app),
};
static const struct evlog_field desc[] = {
	U32("index", desc.index), STR("name", desc.name), STR("desc", desc.desc), U64("count", desc.count), U64("freq", desc.freq),
	U32("um", desc.um), U32("flags", desc.flags),
};

static const struct {
	const struct evlog_field *fields;
	size_t n;
} types[EV_TYPE_MAX] = {
#define TYPE(t, f) [t] = { f, ARRAY_SIZE(f) }
	TYPE(EV_SAMPLE, sample), TYPE(EV_MMAP, map), TYPE(EV_COMM, comm), TYPE(EV_FORK, fork_), TYPE(EV_LOST, lost),
	TYPE(EV_KSYMBOL, ksymbol), TYPE(EV_JIT, jit), TYPE(EV_JITSRC, jitsrc), TYPE(EV_PROC, proc), TYPE(EV_MUNMAP, unmap),
	TYPE(EV_EVENTDESC, desc),
};

const struct evlog_field *evlog_fields(uint32_t type, size_t *n)
{
	*n = type < EV_TYPE_MAX ? types[type].n : 0;
	return *n ? types[type].fields : NULL;
}
