/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What HotSpot tells about itself in its exported tables (gHotSpotVMStructs and gHotSpotVMTypes, made for its
 * serviceability agent): field offsets and the addresses of static fields. From them come the code heap's bounds, a
 * method's compile tier, OSR bci, frame size and whole code range, and the codelets of the interpreter.
 *
 * Nothing found there is believed. At start every structure is read through process_vm_readv, which fails where a load would crash. Later
 * only addresses inside the committed part of a code heap are read, and a blob counts only if it says itself that its
 * code begins at the address of the event.
 */
#include <dlfcn.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agents/jvmti/agent.h"

/*
 * Built on glibc 2.34 or later these would bind to versions that older systems lack; a container's JVM may get this very file.
 * The old versions are still there, and whoever runs a JVM has libdl.
 */
#if defined(__GLIBC__) && defined(__x86_64__)
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver dlclose,dlclose@GLIBC_2.2.5");
__asm__(".symver dladdr,dladdr@GLIBC_2.2.5");
#endif

#define MAX_HEAPS 8
#define MAX_ENTRIES 20000 /* of a table; JDK 25 has about 800 */
#define NO_FIELD UINT64_MAX

/* --- the tables ---------------------------------------------------------------------------------------- */
struct table {
	const char *base;
	uint64_t stride, type_name, field_name, type_string, is_static, offset, address, size;
};

/* A field we want: where it is, and how many bytes it has. */
struct field {
	const char *type, *name;
	uint64_t offset;  /* of a field, or the address of a static one; NO_FIELD */
	uint8_t bytes;
};

enum {
	HEAPS, HEAP, MEMORY, SEGMAP, LOG2_SEGMENT, SPACE_LOW_BOUND, SPACE_HIGH_BOUND, SPACE_LOW, SPACE_HIGH,
	ARRAY_LEN, ARRAY_DATA, BLOCK_LENGTH, BLOCK_USED, BLOB_NAME, BLOB_SIZE, BLOB_HEADER, BLOB_CODE_BEGIN, BLOB_CODE_END,
	BLOB_CODE_OFFSET, BLOB_DATA_OFFSET, BLOB_FRAME_SIZE, BLOB_FRAME_COMPLETE, NM_LEVEL, NM_COMPILE_ID, NM_BCI, NM_METHOD, NM_METHOD_17,
	METHOD_CONST, CONST_POOL, CONST_NAME, CONST_SIGNATURE, SYMBOL_LENGTH, SYMBOL_BODY,
	INTERPRETER, QUEUE_BUFFER, QUEUE_LIMIT, QUEUE_BEGIN, QUEUE_END, QUEUE_N, CODELET_SIZE, CODELET_TEXT,
	FLAGS, FLAGS_N, FLAG_NAME, FLAG_ADDR, N_FIELDS
};
static struct field fields[N_FIELDS] = {
	[HEAPS] = { "CodeCache", "_heaps", NO_FIELD, 8 },
	[HEAP] = { "CodeCache", "_heap", NO_FIELD, 8 }, /* JDK 8: one heap */
	[MEMORY] = { "CodeHeap", "_memory", NO_FIELD, 0 },
	[SEGMAP] = { "CodeHeap", "_segmap", NO_FIELD, 0 },
	[LOG2_SEGMENT] = { "CodeHeap", "_log2_segment_size", NO_FIELD, 4 },
	[SPACE_LOW_BOUND] = { "VirtualSpace", "_low_boundary", NO_FIELD, 8 },
	[SPACE_HIGH_BOUND] = { "VirtualSpace", "_high_boundary", NO_FIELD, 8 },
	[SPACE_LOW] = { "VirtualSpace", "_low", NO_FIELD, 8 },
	[SPACE_HIGH] = { "VirtualSpace", "_high", NO_FIELD, 8 },
	[ARRAY_LEN] = { "GrowableArrayBase", "_len", NO_FIELD, 4 },
	[ARRAY_DATA] = { "GrowableArray<int>", "_data", NO_FIELD, 8 },
	[BLOCK_LENGTH] = { "HeapBlock::Header", "_length", NO_FIELD, 8 },
	[BLOCK_USED] = { "HeapBlock::Header", "_used", NO_FIELD, 1 },
	[BLOB_NAME] = { "CodeBlob", "_name", NO_FIELD, 8 },
	[BLOB_SIZE] = { "CodeBlob", "_size", NO_FIELD, 4 },
	[BLOB_HEADER] = { "CodeBlob", "_header_size", NO_FIELD, 4 },
	[BLOB_CODE_BEGIN] = { "CodeBlob", "_code_begin", NO_FIELD, 8 }, /* JDK 9 to 22 */
	[BLOB_CODE_END] = { "CodeBlob", "_code_end", NO_FIELD, 8 },
	[BLOB_CODE_OFFSET] = { "CodeBlob", "_code_offset", NO_FIELD, 4 }, /* the others */
	[BLOB_DATA_OFFSET] = { "CodeBlob", "_data_offset", NO_FIELD, 4 },
	[BLOB_FRAME_SIZE] = { "CodeBlob", "_frame_size", NO_FIELD, 4 },
	[BLOB_FRAME_COMPLETE] = { "CodeBlob", "_frame_complete_offset", NO_FIELD, 4 },
	[NM_LEVEL] = { "nmethod", "_comp_level", NO_FIELD, 4 },
	[NM_COMPILE_ID] = { "nmethod", "_compile_id", NO_FIELD, 4 },
	[NM_BCI] = { "nmethod", "_entry_bci", NO_FIELD, 4 },
	[NM_METHOD] = { "nmethod", "_method", NO_FIELD, 8 },
	[NM_METHOD_17] = { "CompiledMethod", "_method", NO_FIELD, 8 }, /* JDK 9 to 22 */
	[METHOD_CONST] = { "Method", "_constMethod", NO_FIELD, 8 },
	[CONST_POOL] = { "ConstMethod", "_constants", NO_FIELD, 8 },
	[CONST_NAME] = { "ConstMethod", "_name_index", NO_FIELD, 2 },
	[CONST_SIGNATURE] = { "ConstMethod", "_signature_index", NO_FIELD, 2 },
	[SYMBOL_LENGTH] = { "Symbol", "_length", NO_FIELD, 2 },
	[SYMBOL_BODY] = { "Symbol", "_body", NO_FIELD, 0 },
	[INTERPRETER] = { "AbstractInterpreter", "_code", NO_FIELD, 8 },
	[QUEUE_BUFFER] = { "StubQueue", "_stub_buffer", NO_FIELD, 8 },
	[QUEUE_LIMIT] = { "StubQueue", "_buffer_limit", NO_FIELD, 4 },
	[QUEUE_BEGIN] = { "StubQueue", "_queue_begin", NO_FIELD, 4 },
	[QUEUE_END] = { "StubQueue", "_queue_end", NO_FIELD, 4 },
	[QUEUE_N] = { "StubQueue", "_number_of_stubs", NO_FIELD, 4 },
	[CODELET_SIZE] = { "InterpreterCodelet", "_size", NO_FIELD, 4 },
	[CODELET_TEXT] = { "InterpreterCodelet", "_description", NO_FIELD, 8 },
	[FLAGS] = { "JVMFlag", "flags", NO_FIELD, 8 },
	[FLAGS_N] = { "JVMFlag", "numFlags", NO_FIELD, 8 },
	[FLAG_NAME] = { "JVMFlag", "_name", NO_FIELD, 8 },
	[FLAG_ADDR] = { "JVMFlag", "_addr", NO_FIELD, 8 },
};
static uint64_t block_bytes, flag_bytes, codelet_bytes, pool_bytes;

/* --- reading memory that may not be there ---------------------------------------------------------------- */
static bool peek(uint64_t addr, void *to, size_t n)
{
	struct iovec l = { to, n }, r = { (void *)(uintptr_t)addr, n };
	return addr >= 4096 && process_vm_readv(getpid(), &l, 1, &r, 1, 0) == (ssize_t)n;
}

static uint64_t number(const void *p, unsigned int bytes)
{
	uint64_t v8;
	uint32_t v4;
	uint16_t v2;

	switch (bytes) {
	case 8: memcpy(&v8, p, 8); return v8;
	case 4: memcpy(&v4, p, 4); return v4;
	case 2: memcpy(&v2, p, 2); return v2;
	default: return *(const uint8_t *)p;
	}
}

static bool peek_field(uint64_t object, int f, uint64_t *ret)
{
	char b[8];
	if (fields[f].offset == NO_FIELD || !peek(object + fields[f].offset, b, fields[f].bytes))
		return false;
	*ret = number(b, fields[f].bytes);
	return true;
}

/* A string somewhere in the VM, cut to room - 1 bytes. */
static bool peek_text(uint64_t addr, char *to, size_t room)
{
	size_t n = 0;
	while (n < room - 1) {
		/* Up to the end of a page at a time, so that a string before a hole is read. */
		size_t piece = 4096 - (addr + n) % 4096;
		char *nul;
		if (piece > room - 1 - n)
			piece = room - 1 - n;
		if (!peek(addr + n, to + n, piece))
			return false;
		nul = memchr(to + n, 0, piece);
		if (nul)
			return true;
		n += piece;
	}
	to[n] = 0;
	return true;
}

/* --- finding the fields ---------------------------------------------------------------------------------- */
static bool symbol_number(void *lib, const char *name, uint64_t *ret)
{
	const uint64_t *p = dlsym(lib, name);
	if (!p)
		return false;
	*ret = *p;
	return true;
}

static bool open_structs(void *lib, struct table *t)
{
	char *const *base = dlsym(lib, "gHotSpotVMStructs");
	if (!base || !*base)
		return false;
	t->base = *base;
	return symbol_number(lib, "gHotSpotVMStructEntryArrayStride", &t->stride) &&
	       symbol_number(lib, "gHotSpotVMStructEntryTypeNameOffset", &t->type_name) &&
	       symbol_number(lib, "gHotSpotVMStructEntryFieldNameOffset", &t->field_name) &&
	       symbol_number(lib, "gHotSpotVMStructEntryTypeStringOffset", &t->type_string) &&
	       symbol_number(lib, "gHotSpotVMStructEntryIsStaticOffset", &t->is_static) &&
	       symbol_number(lib, "gHotSpotVMStructEntryOffsetOffset", &t->offset) &&
	       symbol_number(lib, "gHotSpotVMStructEntryAddressOffset", &t->address) && t->stride >= 24 && t->stride <= 256;
}

static bool open_types(void *lib, struct table *t)
{
	char *const *base = dlsym(lib, "gHotSpotVMTypes");
	if (!base || !*base)
		return false;
	t->base = *base;
	return symbol_number(lib, "gHotSpotVMTypeEntryArrayStride", &t->stride) &&
	       symbol_number(lib, "gHotSpotVMTypeEntryTypeNameOffset", &t->type_name) &&
	       symbol_number(lib, "gHotSpotVMTypeEntrySizeOffset", &t->size) && t->stride >= 16 && t->stride <= 256;
}

static const char *text_at(const struct table *t, size_t i, uint64_t offset)
{
	return *(char *const *)(t->base + i * t->stride + offset);
}

static uint64_t type_size(const struct table *types, const char *name)
{
	for (size_t i = 0; i < MAX_ENTRIES && text_at(types, i, types->type_name); i++)
		if (!strcmp(text_at(types, i, types->type_name), name))
			return *(const uint64_t *)(types->base + i * types->stride + types->size);
	return 0;
}

static uint8_t width(const struct table *types, const char *type, uint8_t wanted)
{
	uint64_t n;
	if (wanted == 0 || !type || strchr(type, '*') || !strcmp(type, "address"))
		return wanted;
	if (!strcmp(type, "u2") || !strcmp(type, "int16_t"))
		return 2;
	if (!strcmp(type, "uint32_t") || !strcmp(type, "int"))
		return 4;
	n = type_size(types, type);
	return n == 1 || n == 2 || n == 4 || n == 8 ? (uint8_t)n : wanted;
}

static void find_fields(const struct table *s, const struct table *types)
{
	for (size_t i = 0; i < MAX_ENTRIES && text_at(s, i, s->type_name); i++) {
		const char *type = text_at(s, i, s->type_name), *name = text_at(s, i, s->field_name), *e = s->base + i * s->stride;
		for (int f = 0; name && f < N_FIELDS; f++) {
			struct field *want = &fields[f];
			if (strcmp(type, want->type) || strcmp(name, want->name))
				continue;
			want->offset = *(const int *)(e + s->is_static) ? *(const uint64_t *)(e + s->address)
									: *(const uint64_t *)(e + s->offset);
			want->bytes = width(types, text_at(s, i, s->type_string), want->bytes);
		}
	}
	block_bytes = type_size(types, "HeapBlock");
	flag_bytes = type_size(types, "JVMFlag");
	codelet_bytes = type_size(types, "InterpreterCodelet");
	pool_bytes = type_size(types, "ConstantPool");
}

/* --- code heaps ------------------------------------------------------------------------------------------ */
struct heap {
	uint64_t object;       /* the CodeHeap */
	uint64_t low, high;    /* reserved */
	uint64_t memory;       /* address of its VirtualSpace, and of the one of its segment map */
	uint64_t segmap;
	unsigned int log2_segment;
};
static struct heap heaps[MAX_HEAPS];
static size_t n_heaps;
static bool blobs_known;

static bool heap_read(struct heap *h, uint64_t object)
{
	uint64_t log2;
	if (fields[MEMORY].offset == NO_FIELD)
		return false;
	h->object = object;
	h->memory = object + fields[MEMORY].offset;
	if (!peek_field(h->memory, SPACE_LOW_BOUND, &h->low) || !peek_field(h->memory, SPACE_HIGH_BOUND, &h->high) ||
	    h->low >= h->high || h->high - h->low > (1ull << 40))
		return false;
	h->segmap = fields[SEGMAP].offset == NO_FIELD ? 0 : object + fields[SEGMAP].offset;
	h->log2_segment = peek_field(object, LOG2_SEGMENT, &log2) && log2 >= 4 && log2 <= 20 ? (unsigned int)log2 : 0;
	return true;
}

static void heaps_read(void)
{
	uint64_t array, n, data, object;

	n_heaps = 0;
	if (fields[HEAPS].offset != NO_FIELD && peek(fields[HEAPS].offset, &array, 8) && array && peek_field(array, ARRAY_LEN, &n) &&
	    n <= MAX_HEAPS && peek_field(array, ARRAY_DATA, &data)) {
		for (uint64_t i = 0; i < n; i++)
			if (peek(data + i * 8, &object, 8) && heap_read(&heaps[n_heaps], object))
				n_heaps++;
	} else if (fields[HEAP].offset != NO_FIELD && peek(fields[HEAP].offset, &object, 8) && object && heap_read(&heaps[0], object)) {
		n_heaps = 1;
	}
}

static bool have(int f)
{
	return fields[f].offset != NO_FIELD;
}

bool vm_init(JavaVM *vm)
{
	struct table structs = { 0 }, types = { 0 };
	Dl_info at;
	void *lib;

	if (sizeof(void *) != 8 || have(MEMORY))
		return have(MEMORY);
	if (!dladdr((void *)(uintptr_t)(*vm)->DestroyJavaVM, &at) || !at.dli_fname)
		return false;
	lib = dlopen(at.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!lib)
		return false;
	if (open_structs(lib, &structs) && open_types(lib, &types))
		find_fields(&structs, &types);
	dlclose(lib);
	blobs_known = have(SEGMAP) && have(LOG2_SEGMENT) && have(SPACE_LOW) && have(SPACE_HIGH) && have(BLOCK_USED) && block_bytes &&
		      block_bytes <= 64 && have(BLOB_NAME) && have(BLOB_SIZE) &&
		      ((have(BLOB_CODE_BEGIN) && have(BLOB_CODE_END)) || (have(BLOB_CODE_OFFSET) && have(BLOB_DATA_OFFSET)));
	return have(MEMORY);
}

void vm_heaps(void (*fn)(const char *name, uint64_t addr, uint64_t size))
{
	/* The heaps have names in the VM, but no table tells where. */
	static const char *const names[] = { "CodeHeap 1", "CodeHeap 2", "CodeHeap 3", "CodeHeap 4",
					     "CodeHeap 5", "CodeHeap 6", "CodeHeap 7", "CodeHeap 8" };
	heaps_read();
	for (size_t i = 0; i < n_heaps; i++)
		fn(n_heaps == 1 ? "CodeCache" : names[i], heaps[i].low, heaps[i].high - heaps[i].low);
}

/* --- blobs: plain reads inside of a committed code heap ---------------------------------------------------- */
struct span { /* memory known to be there */
	uint64_t low, high;
};

static bool get(const struct span *s, uint64_t addr, unsigned int bytes, uint64_t *ret)
{
	if (addr < s->low || addr > s->high - bytes)
		return false;
	*ret = number((const void *)(uintptr_t)addr, bytes);
	return true;
}

static bool get_field(const struct span *s, uint64_t object, int f, uint64_t *ret)
{
	return have(f) && get(s, object + fields[f].offset, fields[f].bytes, ret);
}

/* The bounds of a VirtualSpace that lies in a CodeHeap, which is never freed. */
static bool committed(uint64_t space, uint64_t low, uint64_t high, struct span *ret)
{
	ret->low = *(const volatile uint64_t *)(uintptr_t)(space + fields[SPACE_LOW].offset);
	ret->high = *(const volatile uint64_t *)(uintptr_t)(space + fields[SPACE_HIGH].offset);
	return ret->low >= low && ret->high <= high && ret->low + 64 <= ret->high;
}

/* The blob whose block has addr in it, through the segment map: each byte tells how far back its block begins. */
static uint64_t blob_at(const struct heap *h, const struct span *mem, uint64_t addr)
{
	struct span map;
	uint64_t segment, back, used;

	if (!committed(h->segmap, 0, UINT64_MAX, &map))
		return 0;
	segment = (addr - mem->low) >> h->log2_segment;
	for (unsigned int hops = 0; hops < 100000; hops++) {
		if (!get(&map, map.low + segment, 1, &back) || back == 0xff || back > segment)
			return 0;
		if (back == 0) {
			uint64_t block = mem->low + (segment << h->log2_segment);
			if (!get_field(mem, block, BLOCK_USED, &used) || used != 1)
				return 0;
			return block + block_bytes;
		}
		segment -= back;
	}
	return 0;
}

static bool code_range(const struct span *mem, uint64_t blob, uint64_t *begin, uint64_t *end)
{
	uint64_t size, a, b;

	if (!get_field(mem, blob, BLOB_SIZE, &size) || size > mem->high - blob)
		return false;
	if (have(BLOB_CODE_BEGIN)) {
		if (!get_field(mem, blob, BLOB_CODE_BEGIN, begin) || !get_field(mem, blob, BLOB_CODE_END, end))
			return false;
	} else {
		if (!get_field(mem, blob, BLOB_CODE_OFFSET, &a) || !get_field(mem, blob, BLOB_DATA_OFFSET, &b))
			return false;
		*begin = blob + a;
		*end = blob + b;
	}
	return *begin > blob && *begin < *end && *end <= blob + size;
}

/* The heap that has addr in its committed part. */
static const struct heap *heap_of(uint64_t addr, struct span *mem)
{
	for (size_t i = 0; blobs_known && i < n_heaps; i++) {
		const struct heap *h = &heaps[i];
		if (addr >= h->low && addr < h->high)
			return h->log2_segment && h->segmap && committed(h->memory, h->low, h->high, mem) && addr >= mem->low &&
			       addr < mem->high ? h : NULL;
	}
	return NULL;
}

/* A field below a limit, else what stands for unknown. (Negative numbers are huge here.) */
static int32_t small_field(const struct span *mem, uint64_t blob, int f, uint64_t limit, int32_t unknown)
{
	uint64_t v;
	return get_field(mem, blob, f, &v) && v < limit ? (int32_t)v : unknown;
}

bool vm_method(struct vm_blob *ret, uint64_t addr, uint64_t size)
{
	struct span mem;
	const struct heap *h = heap_of(addr, &mem);
	uint64_t blob, begin, end;

	*ret = (struct vm_blob){ .compile_id = UINT64_MAX, .tier = -1, .osr_bci = -1, .frame_complete = -1 };
	blob = h ? blob_at(h, &mem, addr) : 0;
	if (!blob || !code_range(&mem, blob, &begin, &end) || begin != addr || end - begin < size)
		return false;
	ret->end = end;
	ret->blob = blob;
	if (!get_field(&mem, blob, NM_COMPILE_ID, &ret->compile_id))
		ret->compile_id = UINT64_MAX;
	ret->tier = small_field(&mem, blob, NM_LEVEL, 5, -1);
	ret->osr_bci = small_field(&mem, blob, NM_BCI, 65536, -1); /* InvocationEntryBci is negative */
	ret->frame_words = small_field(&mem, blob, BLOB_FRAME_SIZE, 100000, 0);
	ret->frame_complete = small_field(&mem, blob, BLOB_FRAME_COMPLETE, 32768, -1);
	return true;
}

/* Something lives at addr that is not the method of b. */
static bool is_stranger(const struct heap *h, const struct span *mem, const struct vm_blob *b, uint64_t addr)
{
	uint64_t blob = blob_at(h, mem, addr), id;

	return blob && (blob != b->blob || !get_field(mem, blob, NM_COMPILE_ID, &id) || id != b->compile_id);
}

/* Its block is in use and has its number: nobody else has any of it. (A block given back is marked free where its head was.) */
static bool is_at_home(const struct span *mem, const struct vm_blob *b)
{
	uint64_t used, id;

	return get_field(mem, b->blob - block_bytes, BLOCK_USED, &used) && used == 1 && get_field(mem, b->blob, NM_COMPILE_ID, &id) &&
	       id == b->compile_id;
}

void vm_room_soon(const struct vm_blob *b)
{
	__builtin_prefetch((const void *)(uintptr_t)(b->blob - block_bytes));
	__builtin_prefetch((const void *)(uintptr_t)(b->blob + fields[NM_COMPILE_ID].offset));
}

bool vm_room_taken(const struct vm_blob *b, uint64_t addr, bool every)
{
	struct span mem;
	const struct heap *h = b->compile_id == UINT64_MAX ? NULL : heap_of(addr, &mem);

	if (!h || is_at_home(&mem, b))
		return false;
	if (is_stranger(h, &mem, b, addr) || is_stranger(h, &mem, b, b->end - 1))
		return true;
	for (uint64_t at = addr; every && at < b->end; at += 1ull << h->log2_segment)
		if (is_stranger(h, &mem, b, at))
			return true;
	return false;
}

/* The symbol that a constant pool has at an index. */
static bool peek_symbol(uint64_t pool, uint64_t index, char *to, size_t room)
{
	uint64_t symbol, len;

	if (!pool_bytes || pool_bytes > 1024 || !peek(pool + pool_bytes + index * 8, &symbol, 8) ||
	    !peek_field(symbol, SYMBOL_LENGTH, &len) || !len || len >= room || !peek(symbol + fields[SYMBOL_BODY].offset, to, len))
		return false;
	to[len] = 0;
	return !memchr(to, 0, len);
}

bool vm_method_name(uint64_t addr, struct vm_name *ret)
{
	struct span mem;
	const struct heap *h = have(SYMBOL_BODY) ? heap_of(addr, &mem) : NULL;
	uint64_t blob = h ? blob_at(h, &mem, addr) : 0, begin, end, method, constant, pool, name, signature;

	return blob && code_range(&mem, blob, &begin, &end) && begin == addr &&
	       (get_field(&mem, blob, NM_METHOD, &method) || get_field(&mem, blob, NM_METHOD_17, &method)) &&
	       peek_field(method, METHOD_CONST, &constant) && peek_field(constant, CONST_POOL, &pool) &&
	       peek_field(constant, CONST_NAME, &name) && peek_field(constant, CONST_SIGNATURE, &signature) &&
	       peek_symbol(pool, name, ret->name, sizeof(ret->name)) && peek_symbol(pool, signature, ret->signature, sizeof(ret->signature));
}

/* --- the interpreter --------------------------------------------------------------------------------------- */
struct queue {
	uint64_t buffer, begin, end, count;
};

static bool queue_read(struct queue *q)
{
	uint64_t object;
	return have(INTERPRETER) && peek(fields[INTERPRETER].offset, &object, 8) && object && peek_field(object, QUEUE_BUFFER, &q->buffer) &&
	       peek_field(object, QUEUE_BEGIN, &q->begin) && peek_field(object, QUEUE_END, &q->end) && peek_field(object, QUEUE_N, &q->count);
}

size_t vm_codelets(struct vm_codelet *ret, size_t max, uint64_t addr, uint64_t size)
{
	static char names[600][48];
	uint64_t header = (codelet_bytes + 31) & ~31ull; /* code begins aligned to CodeEntryAlignment */
	struct queue q;
	struct span mem;
	uint64_t bytes, text;
	size_t n = 0;

	if (max > sizeof(names) / sizeof(names[0]))
		max = sizeof(names) / sizeof(names[0]);
	if (!codelet_bytes || codelet_bytes > 64 || !queue_read(&q) || q.begin != 0 || q.end > size + 4096 || q.count > max)
		return 0;
	/* The event's range is the queue's buffer, or begins at its first codelet's code. */
	if (q.buffer > addr || addr - q.buffer > 4096)
		return 0;
	mem = (struct span){ q.buffer, addr + size };
	for (uint64_t at = q.buffer; at < q.buffer + q.end && n < q.count; at += bytes, n++) {
		if (!get_field(&mem, at, CODELET_SIZE, &bytes) || bytes < header || bytes > q.buffer + q.end - at ||
		    !get_field(&mem, at, CODELET_TEXT, &text) || !peek_text(text, names[n], sizeof(names[n])))
			return 0;
		ret[n] = (struct vm_codelet){ names[n], at, bytes };
	}
	return n == q.count ? n : 0;
}

/* --- flags ------------------------------------------------------------------------------------------------- */
int vm_flag(const char *wanted)
{
	uint64_t flags, n, name, addr;
	char text[64];
	uint8_t value;

	if (!have(FLAGS) || !have(FLAGS_N) || !have(FLAG_NAME) || !have(FLAG_ADDR) || flag_bytes < 16 || flag_bytes > 256 ||
	    !peek(fields[FLAGS].offset, &flags, 8) || !peek(fields[FLAGS_N].offset, &n, 8) || n > MAX_ENTRIES)
		return -1;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = flags + i * flag_bytes;
		if (!peek_field(at, FLAG_NAME, &name) || !name || !peek_text(name, text, sizeof(text)) || strcmp(text, wanted))
			continue;
		if (!peek_field(at, FLAG_ADDR, &addr) || !peek(addr, &value, 1) || value > 1)
			return -1;
		return value;
	}
	return -1;
}
