package contract

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// scripted is a program that has written said and has ended with the error ended.
func scripted(said string, ended error) (p *Program, killed *bool) {
	killed = new(bool)
	in, out := io.Pipe()
	go func() { _, _ = io.Copy(io.Discard, in) }()
	return &Program{Name: "it", Stdin: out, Stdout: io.NopCloser(strings.NewReader(said)), Log: &Log{},
		Signal: func(os.Signal) error { *killed = true; return nil }, Wait: func() error { return ended }}, killed
}

type code int

func (c code) Error() string { return "exit status" }
func (c code) ExitCode() int { return int(c) }

// Ask reports what is wrong with the first line, or how a program ended without one.
func TestAskTellsWhatIsWrong(t *testing.T) {
	const good = `{"event":"capabilities","contract":1,"program":"it","version":"1","operations":"WRITE",` +
		`"serves":"WRITE","mtus":"1024","recovery":"gbn","max_qps":1}` + "\n"
	for _, c := range []struct {
		said   string
		ended  error
		want   string // a part of the error; "" for none
		killed bool
	}{
		{good, code(127), "", false},
		{good, nil, "it ended with exit status 0; want exit code 127", false},
		{"", nil, "it: it said nothing; want capabilities as the first line", false},
		{"", errors.New("signal: killed (its memory is limited)"),
			"want capabilities as the first line; it ended with signal: killed (its memory", false},
		{"hello\n", code(1), `line 1: "hello" is no line of the contract`, true},
		{`{"event":"error","error":"no licence"}` + "\n", code(127), "in place of its capabilities: no licence", true},
		{`{"event":"error","error":"no licence"}` + "\n", code(1), "in place of its capabilities: no licence", true},
		{strings.Repeat("x", 2*LineLimit), code(1), "line 1: longer than 65536 bytes", true},
	} {
		p, killed := scripted(c.said, c.ended)
		caps, err := Ask(p)
		switch {
		case (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want), err == nil &&
			caps.Program != "it":
			t.Errorf("%.40q: %+v, %v; want %q", c.said, caps, err, c.want)
		case *killed != c.killed:
			t.Errorf("%.40q: killed %v", c.said, *killed)
		}
	}
}
