// The lines of the contract. Each is a flat object, so a field is found by searching for "name": with its quotation
// marks. Inside a string they would be escaped.
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

// text copies a string. It returns false if the field is absent, not a string, or too long.
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

// number returns 0 for a field that is absent. Addresses and IDs are unsigned; the caller converts the 64 bits back.
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

// say appends one line to the buffer of standard output. flush, called before every wait, writes it: a write for each
// line would wake the reader each time, which costs most of the time on a small machine.
void say(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

void flush(void) { fflush(stdout); }

// unsupported ends the program with exit code 127: it does not have what an order asks for.
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
