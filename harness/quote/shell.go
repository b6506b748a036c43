package quote

import "strings"

// Shell writes words for a POSIX shell: a word without special characters as it is, any other in single quotes.
func Shell(words ...string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = w; w == "" || strings.ContainsFunc(w, special) {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// special reports whether a character may mean something to a shell.
func special(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') &&
		!strings.ContainsRune("-_=+:,./@%", c)
}
