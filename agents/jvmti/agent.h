/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_AGENTS_JVMTI_AGENT_H
#define OPJIT_AGENTS_JVMTI_AGENT_H
/*
 * Inside of the Java agent. The rules that every part keeps: nothing is printed, no lock is held while a JVMTI
 * function runs (one may wait for a safepoint, and the VM thread at that safepoint may call us), and nothing that fails
 * here keeps the VM from running.
 */
#include <jvmti.h>
#include <jvmticmlr.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libopagent/opagent.h"

#define HOTSPOT_LAG_US 1000000 /* an event may come that much later than the change, on a machine with more work than it has time for */

/* --- options.c --- */
enum lines_mode {
	LINES_ALL,   /* lines and inlined frames */
	LINES_OUTER, /* lines of the method itself, inlined code at its call */
	LINES_NONE,
};
struct options {
	char *dir, *log;
	uint64_t max_bytes;
	enum lines_mode lines;
};
/* Takes what it understands and says the rest on stderr, a line each. */
void options_parse(struct options *o, const char *text);

/* --- methods.c: what is known of a method, by its jmethodID --- */
struct method_line {
	int32_t bci;
	uint32_t line;
};
struct method {
	struct method *next;     /* in its bucket */
	jmethodID id;            /* a key: never given to the VM outside the callback it came with */
	uintptr_t version;       /* changes when the class is redefined; 0 = cannot be told */
	const char *name;        /* com.acme.Foo$Bar.baz(int, String) */
	const char *descriptor;  /* (ILjava/lang/String;)V */
	const char *file;        /* com/acme/Foo.java, NULL = unknown */
	uint32_t n_lines;
	struct method_line lines[]; /* sorted by bci */
};
/*
 * The method of an id that the running callback was given. NULL when memory ends. Valid until methods_leave.
 */
const struct method *methods_get(jvmtiEnv *ti, jmethodID id);
uint32_t method_line_at(const struct method *m, int32_t bci);
void methods_enter(void); /* at the start of a callback that will call methods_get */
void methods_leave(void);
void methods_init(JavaVM *vm, int vm_version);

/* --- names.c --- */
/* Java's way to write a class: `Lcom/acme/Foo;` to com.acme.Foo. Appends to out (room bytes), gives the length wanted. */
size_t name_of_class(char *out, size_t room, const char *signature);
/* class.method(types) from the VM's three strings; a malloc'd string or NULL. */
char *name_of_method(const char *class_signature, const char *name, const char *descriptor);
/* com/acme/Foo.java; malloc'd, NULL if memory ends. */
char *name_of_file(const char *class_signature, const char *source_file);

/* --- vm.c: HotSpot's own tables --- */
struct vm_blob {
	uint64_t end;              /* of its code; 0 = unknown */
	uint64_t blob;             /* the VM's object in front of it */
	uint64_t compile_id;       /* tells it from what takes its room; UINT64_MAX = unknown */
	int32_t tier;              /* -1 = unknown */
	int32_t osr_bci;           /* -1 = no OSR */
	int32_t frame_words;       /* 0 = unknown */
	int32_t frame_complete;    /* offset from the start of the code; -1 = unknown */
};
struct vm_codelet {
	const char *name;
	uint64_t addr, size;
};
/* False if this VM has no tables, or not the ones known; everything else is then unknown. */
bool vm_init(JavaVM *vm);
bool vm_method(struct vm_blob *ret, uint64_t addr, uint64_t size);
/*
 * Whether something else has a part of the room that the method at addr had; a room that is only free again is not taken. every: each
 * segment of it is looked at, else its ends, from where HotSpot takes pieces. False also where it cannot be known.
 */
bool vm_room_taken(const struct vm_blob *b, uint64_t addr, bool every);
/* vm_room_taken will be asked about b soon: what it reads is fetched meanwhile. */
void vm_room_soon(const struct vm_blob *b);
/* Name and descriptor of the method whose code begins at addr, from the VM's own structures. */
struct vm_name {
	char name[128], signature[1024];
};
bool vm_method_name(uint64_t addr, struct vm_name *ret);
/* Up to max codelets of the interpreter, which lies at [addr, addr + size). The number, 0 if unsure. */
size_t vm_codelets(struct vm_codelet *ret, size_t max, uint64_t addr, uint64_t size);
/* Calls fn for each code heap. */
void vm_heaps(void (*fn)(const char *name, uint64_t addr, uint64_t size));
/* Value of a bool flag of the VM; -1 = unknown. */
int vm_flag(const char *name);

/* --- live.c: which method lives where --- */
enum live_answer { LIVE_POST, LIVE_DROP };
/* A load is about to be posted. replay: it comes out of GenerateEvents. b: NULL = nothing known. */
enum live_answer live_load(uint64_t addr, const void *id, bool replay, const struct vm_blob *b, uint64_t now_ns);
/*
 * An unload came. LIVE_DROP: it is that of a forerunner at the address, not of what lives there. Else *late_us: how long before now_ns
 * other code may have had the room already, 0 if none has it yet.
 */
enum live_answer live_unload(uint64_t addr, const void *id, uint64_t now_ns, uint32_t *late_us);
/* In each callback: looks, not too often, whose room is taken, and tells of each, for how long that may be so. */
void live_look(uint64_t now_ns, void (*gone)(uint64_t addr, uint64_t now_ns, uint32_t late_us));
void live_replay(bool on);
/* The lock of this table, held over the question and the posting so that both have one order. */
void live_lock(void);
void live_unlock(void);

/* --- stubs.c: what DynamicCodeGenerated does not tell of, but GenerateEvents does --- */
/* Whether this code is to be told. again: it comes out of GenerateEvents. attached: that is all there is of what was there before. */
bool stubs_wanted(const char *name, uint64_t addr, bool again, bool attached);
void stubs_done(bool attached); /* GenerateEvents has told */

/* --- compiled.c --- */
/* Fills tables of r from the records of a load. The memory belongs to the pool and is given back by tables_done. */
struct tables;
struct tables *tables_of_load(jvmtiEnv *ti, struct opagent_region *r, const struct method *own, enum lines_mode mode,
			      jint n_map, const jvmtiAddrLocationMap *map, const void *compile_info);
void tables_done(struct tables *t);

#endif
