// Package quote makes text of others safe to show: what a program, a host, a tool or a file says of itself is data, and
// must not become an order to a terminal, to a CI system or to a reader's eye.
//
// Text is cleaned twice. Where it enters, Line makes one line of printable characters of it, with a bound. Where it
// leaves, each report escapes what means something in its own language, and Text, JSON and Terminal are the nets below
// that: whatever was forgotten on the way in comes out as an escape.
//
// An escape is \n, \xNN for a byte (of control characters below U+0080, and where the text is no UTF-8) or \u{N} for a
// character. A backslash stays one, so that cleaning twice is cleaning once; the escapes are for people, and nothing
// reads them.
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
	Name     = 64   // of whatever has a name
	Sentence = 1000 // what a program, a tool or a log says
	Message  = 8192 // an error of ours, which may have several sentences of others
)

// left is how a line ends that was cut, and leftMax the room that this takes.
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

// Text returns s with its line ends and tabs, and everything else that does not print as an escape.
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

// Clean reports whether Line would leave s as it is, but for its length.
func Clean(s string) bool { return Line(s, len(s)) == s }

// printable reports whether Text has nothing to escape.
func printable(s string) bool {
	for i := 0; i < len(s); {
		if ' ' <= s[i] && s[i] <= '~' { // nearly all of what is written
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

// Shows reports whether a character is what it looks like, at the place where it stands: no control character, none
// that has no width or turns the direction of what follows, none that is not assigned. No-break spaces are ours,
// between a number and its unit.
func Shows(c rune) bool { return unicode.IsPrint(c) || c == '\u00a0' }

// escape appends the first character of s, or its escape, and returns how many bytes it is of. Tab is what stands for a
// tab.
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

// Orders to CI systems in a log. GitHub takes a line for one that begins with ::, whatever space is before it, and an
// old form of theirs, ##[…], as Azure's ##vso[…] and TeamCity's ##teamcity[…], anywhere in a line. So no space would
// help, and one character is escaped.
var (
	command = regexp.MustCompile(`(?m)^([\s\p{Z}]*):(:)`)
	inline  = regexp.MustCompile(`#(#[[:alpha:]]*\[)`)
)

// tame takes from lines what makes them orders to a CI system.
func tame(s string) string {
	if strings.Contains(s, "::") {
		s = command.ReplaceAllString(s, `$1\x3a$2`)
	}
	if strings.Contains(s, "##") {
		s = inline.ReplaceAllString(s, `\x23$1`)
	}
	return s
}
