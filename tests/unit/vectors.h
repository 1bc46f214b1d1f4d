/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OPJIT_TESTS_UNIT_VECTORS_H
#define OPJIT_TESTS_UNIT_VECTORS_H
/* Reads tests/data/evlog/vectors.txt. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/util.h"

struct vector {
	char name[8];
	uint8_t data[1024];
	size_t len;
};
static struct vector vectors[64];
static size_t n_vectors;

static inline void vectors_load(void)
{
	const char *src = getenv("abs_top_srcdir");
	char path[4096], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/tests/data/evlog/vectors.txt", src ? src : ".");
	f = fopen(path, "r");
	if (!f) {
		printf("Bail out! %s is missing\n", path);
		exit(1);
	}
	while (fgets(line, sizeof(line), f)) {
		struct vector *v = n_vectors ? &vectors[n_vectors - 1] : NULL;
		if (line[0] == '#')
			continue;
		if (line[0] != '\t') {
			line[strcspn(line, " \n")] = 0;
			snprintf(vectors[n_vectors++].name, sizeof(vectors[0].name), "%.7s", line);
			continue;
		}
		for (char *p = line, *end; v; p = end) {
			unsigned long x = strtoul(p, &end, 16);
			if (end == p)
				break;
			v->data[v->len++] = (uint8_t)x;
		}
	}
	fclose(f);
}
static inline struct vector *vector_named(const char *name)
{
	for (size_t i = 0; i < n_vectors; i++)
		if (!strcmp(vectors[i].name, name))
			return &vectors[i];
	printf("Bail out! no vector %s\n", name);
	exit(1);
}

#endif
