// Package quote makes foreign text safe to show: the text of a program, a host, a tool or a file is data, and must not
// become a command to a terminal or a CI system, nor mislead a reader's eye.
//
// Text is cleaned twice. On input, Line reduces it to one bounded line of printable characters. On output, each report
// escapes the characters that are special in its own language, and Text, JSON and Terminal are the safety net: text
// that was not cleaned on input comes out escaped.
//
// An escape is \n, \xNN for a byte (of control characters below U+0080, and where the text is no UTF-8) or \u{N} for a
// character. A backslash is not escaped, so cleaning is idempotent; escapes are for people, and no code decodes them.
package quote

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of one line, in bytes.
const (
	Name     = 64   // a name: of a program, a device, a host
	Sentence = 1000 // one message of a program, a tool or a log
	Message  = 8192 // an error of this project, which may quote several such messages
)

// left is the format of the end of a line that was cut, and leftMax its largest length in bytes.
const (
	left    = "… (%d bytes left out)"
	leftMax = 40
)

// Line returns s as one line of printable text of at most limit bytes, or of 40 where limit is less. A tab becomes a
// space, and spaces at the ends are dropped. A line that is too long ends with how many bytes are not there.
func Line(s string, limit int) string {
	limit = max(limit, leftMax)
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "::") {
		s = `\x3a` + s[1:]
	}
	s = inline.ReplaceAllString(s, `\x23$1`)
	var b strings.Builder
	fits, used := 0, 0 // bytes of the line, and of s in it, that leave room to say that the rest is left out
	for i := 0; i < len(s); {
		n := escape(&b, s[i:], ' ')
		if b.Len() > limit {
			return b.String()[:fits] + fmt.Sprintf(left, len(s)-used)
		}
		if i += n; b.Len() <= limit-leftMax {
			fits, used = b.Len(), i
		}
	}
	return b.String()
}

// Text returns s with its line ends and tabs, and with escapes for other characters that do not print.
func Text(s string) string {
	if printable(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for len(s) > 0 {
		if s[0] == '\n' {
			b.WriteByte('\n')
			s = s[1:]
			continue
		}
		s = s[escape(&b, s, '\t'):]
	}
	return b.String()
}

// Clean reports whether Line would leave s unchanged, apart from its limit on length.
func Clean(s string) bool { return Line(s, len(s)) == s }

// printable reports whether Text would leave s unchanged.
func printable(s string) bool {
	for i := 0; i < len(s); {
		if ' ' <= s[i] && s[i] <= '~' { // the usual case
			i++
			continue
		}
		c, n := utf8.DecodeRuneInString(s[i:])
		if c == utf8.RuneError || c != '\n' && c != '\t' && !Shows(c) {
			return false
		}
		i += n
	}
	return true
}

// Shows reports whether a character is displayed as itself and in place: it is no control character, has a width, does
// not change the direction of the following text, and is assigned. No-break spaces are allowed: the reports put them
// between a number and its unit.
func Shows(c rune) bool { return unicode.IsPrint(c) || c == '\u00a0' }

// escape appends the first character of s, or its escape, and returns the number of bytes of s that it consumed. A tab
// is written as the byte tab.
func escape(b *strings.Builder, s string, tab byte) int {
	c, n := utf8.DecodeRuneInString(s)
	switch {
	case c == '\t':
		b.WriteByte(tab)
	case c == '\n':
		b.WriteString(`\n`)
	case c == utf8.RuneError && n == 1, c < utf8.RuneSelf && !Shows(c):
		fmt.Fprintf(b, `\x%02x`, s[0])
	case !Shows(c):
		fmt.Fprintf(b, `\u{%x}`, c)
	default:
		b.WriteString(s[:n])
	}
	return n
}

// Workflow commands of CI systems in a log. GitHub recognises a line that begins with ::, after any white space, and an
// older form, ##[…], anywhere in a line, as are Azure's ##vso[…] and TeamCity's ##teamcity[…]. An inserted space would
// not disarm them, so one character is escaped.
var (
	command = regexp.MustCompile(`(?m)^([\s\p{Z}]*):(:)`)
	inline  = regexp.MustCompile(`#(#[[:alpha:]]*\[)`)
)

// escapeCommands escapes one character of each workflow command of a CI system in s.
func escapeCommands(s string) string {
	if strings.Contains(s, "::") {
		s = command.ReplaceAllString(s, `$1\x3a$2`)
	}
	if strings.Contains(s, "##") {
		s = inline.ReplaceAllString(s, `\x23$1`)
	}
	return s
}
