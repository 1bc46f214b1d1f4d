/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names as people see them, out of the VM's signatures. Anything malformed is copied as it stands. */
#include <stdlib.h>
#include <string.h>

#include "agents/jvmti/agent.h"

struct out {
	char *buf;
	size_t room, len; /* len may go beyond room: what was wanted */
};

static void put(struct out *o, const char *s, size_t n)
{
	if (o->len < o->room) {
		size_t fits = o->room - o->len;
		memcpy(o->buf + o->len, s, n < fits ? n : fits);
	}
	o->len += n;
}

/*
 * A class name's bytes: '/' becomes '.'. The VM writes a hidden class's number behind a '.' (older ones: '+', and '/' before
 * an anonymous class's number); Java's own getName() has '/' there, and so have we.
 */
static void put_class(struct out *o, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool digit = i + 1 < n && s[i + 1] >= '0' && s[i + 1] <= '9';
		char c = s[i];
		if ((c == '.' || c == '+' || c == '/') && digit)
			c = '/';
		else if (c == '/')
			c = '.';
		put(o, &c, 1);
	}
}

static const char *primitive(char c)
{
	switch (c) {
	case 'B': return "byte";
	case 'C': return "char";
	case 'D': return "double";
	case 'F': return "float";
	case 'I': return "int";
	case 'J': return "long";
	case 'S': return "short";
	case 'Z': return "boolean";
	case 'V': return "void";
	}
	return NULL;
}

/* One type of a descriptor, without its package; what follows it, NULL if malformed. */
static const char *put_type(struct out *o, const char *s)
{
	unsigned int dims = 0;
	const char *name;

	for (; *s == '['; s++)
		dims++;
	if (*s == 'L') {
		const char *end = strchr(s, ';'), *from = s + 1;
		if (!end)
			return NULL;
		for (const char *p = from; p < end; p++)
			if (*p == '/' && !(p[1] >= '0' && p[1] <= '9'))
				from = p + 1;
		put_class(o, from, (size_t)(end - from));
		s = end + 1;
	} else {
		name = primitive(*s);
		if (!name)
			return NULL;
		put(o, name, strlen(name));
		s++;
	}
	while (dims--)
		put(o, "[]", 2);
	return s;
}

static void put_owner(struct out *o, const char *signature)
{
	size_t n = strlen(signature);
	if (n > 2 && signature[0] == 'L' && signature[n - 1] == ';')
		put_class(o, signature + 1, n - 2);
	else
		put(o, signature, n);
}

size_t name_of_class(char *out, size_t room, const char *signature)
{
	struct out o = { out, room, 0 };
	put_owner(&o, signature);
	return o.len;
}

static void put_method(struct out *o, const char *class_signature, const char *name, const char *descriptor)
{
	const char *s = descriptor;
	bool first = true;

	put_owner(o, class_signature);
	put(o, ".", 1);
	put(o, name, strlen(name));
	if (*s != '(') {
		put(o, descriptor, strlen(descriptor));
		return;
	}
	put(o, "(", 1);
	for (s++; *s && *s != ')'; first = false) {
		const char *next;
		if (!first)
			put(o, ", ", 2);
		next = put_type(o, s);
		if (!next) {
			put(o, s, strlen(s));
			break;
		}
		s = next;
	}
	put(o, ")", 1);
}

char *name_of_method(const char *class_signature, const char *name, const char *descriptor)
{
	/* No type grows more than from one letter to "boolean" and its comma. */
	size_t room = strlen(class_signature) + strlen(name) + 9 * strlen(descriptor) + 4;
	struct out o = { malloc(room), room, 0 };
	char *fit;

	if (!o.buf)
		return NULL;
	put_method(&o, class_signature, name, descriptor);
	if (o.len >= room)
		o.len = room - 1;
	o.buf[o.len] = 0;
	fit = realloc(o.buf, o.len + 1);
	return fit ? fit : o.buf;
}

char *name_of_file(const char *class_signature, const char *source_file)
{
	const char *slash = NULL;
	size_t dir = 0, file = strlen(source_file);
	char *s;

	/* A source name that has a path already (some compilers do that) stands for itself. */
	if (class_signature[0] == 'L' && !strchr(source_file, '/')) {
		for (const char *p = class_signature; *p; p++)
			if (*p == '/' && !(p[1] >= '0' && p[1] <= '9'))
				slash = p;
		dir = slash ? (size_t)(slash - class_signature) : 0;
	}
	s = malloc(dir + file + 1);
	if (!s)
		return NULL;
	if (dir)
		memcpy(s, class_signature + 1, dir);
	memcpy(s + dir, source_file, file + 1);
	return s;
}
