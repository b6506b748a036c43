package quote

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf16"
)

// Terminal returns text for people at a terminal, or for the log of a CI job, without control characters except line
// ends, tabs and the colours of our reports, and without commands to a CI system.
func Terminal(text string) string { return escapeCommands(coloured(text)) }

// Writer passes its input to To, cleaned by Terminal. Workflow commands are recognised in whole lines only, so a line
// is held until its end, or until Flush.
type Writer struct {
	To   io.Writer
	line []byte // the last line, as long as it has no end
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	whole := bytes.LastIndexByte(p, '\n') + 1
	if whole == 0 {
		w.line = append(w.line, p...)
		return len(p), nil
	}
	text := string(w.line) + string(p[:whole])
	w.line = append(w.line[:0], p[whole:]...)
	_, err := io.WriteString(w.To, Terminal(text))
	return len(p), err
}

// Flush writes a last line that has no end.
func (w *Writer) Flush() error {
	if len(w.line) == 0 {
		return nil
	}
	text := string(w.line)
	w.line = nil
	_, err := io.WriteString(w.To, Terminal(text))
	return err
}

// sgr is a colour as our reports have them: bold, dim, red, green, yellow, two of these, or none.
var sgr = regexp.MustCompile(`\x1b\[(?:0|[12]|3[123]|[12];(?:[12]|3[123]))m`)

// coloured is like Text, but keeps colours.
func coloured(s string) string {
	if !strings.Contains(s, "\x1b") {
		return Text(s)
	}
	var b strings.Builder
	last := 0
	for _, at := range sgr.FindAllStringIndex(s, -1) {
		b.WriteString(Text(s[last:at[0]]))
		b.WriteString(s[at[0]:at[1]])
		last = at[1]
	}
	b.WriteString(Text(s[last:]))
	return b.String()
}

// JSON writes indented JSON, in which every character that does not show, and every workflow command of a CI system, is
// written with a JSON escape: a decoder finds the strings unchanged.
func JSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, plain(b.String()))
	return err
}

// plain escapes JSON that is valid already.
func plain(s string) string {
	s = strings.ReplaceAll(s, "##", `#\u0023`)
	if printable(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for _, c := range s {
		switch {
		case c == '\n' || Shows(c):
			b.WriteRune(c)
		case c > 0xFFFF:
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}
