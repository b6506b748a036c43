// The lines of the contract. Each is a flat object, so a field is found by its name: inside a string every quotation mark is
// escaped, hence "name": with its own marks cannot occur there.
#include "example.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *value(const char *line, const char *name)
{
	char key[40];
	snprintf(key, sizeof key, "\"%s\":", name);
	const char *at = strstr(line, key);
	return at ? at + strlen(key) : NULL;
}

// text copies a string; false when the field is absent, is no string, or is too long for us.
bool text(const char *line, const char *name, char *into, size_t size)
{
	const char *v = value(line, name);
	into[0] = 0;
	if (!v || *v++ != '"')
		return false;
	size_t n = strcspn(v, "\"\\");
	if (v[n] != '"' || n >= size)
		return false;
	memcpy(into, v, n);
	into[n] = 0;
	return true;
}

// number returns 0 for a field that is absent. Addresses and IDs have 64 bits without a sign; the bits are what counts.
int64_t number(const char *line, const char *name)
{
	const char *v = value(line, name);
	if (!v)
		return 0;
	return *v == '-' ? strtoll(v, NULL, 10) : (int64_t)strtoull(v, NULL, 10);
}

bool truth(const char *line, const char *name)
{
	const char *v = value(line, name);
	return v && !strncmp(v, "true", 4);
}

// say writes one line. It is in a buffer until flush, which is called before every wait: a write for each line would
// wake the reader each time, and on a small machine that is where the time goes.
void say(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

void flush(void) { fflush(stdout); }

// unsupported ends the program as the contract asks of one that lacks something.
_Noreturn void unsupported(const char *what, const char *which)
{
	fprintf(stderr, "example-c: %s %s: not supported\n", what, which);
	exit(127);
}

_Noreturn void broken(const char *what)
{
	perror(what);
	exit(1);
}
