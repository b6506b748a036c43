package quote_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

func TestLine(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"  no route to host\r\n", "no route to host"},
		{"3 µs – 40 %, 4\u00a0ms", "3 µs – 40 %, 4\u00a0ms"},
		{"\x1b]0;mine\a", `\x1b]0;mine\x07`},
		{"\x1b[2J\x1b[31mred", `\x1b[2J\x1b[31mred`},
		{"one\ntwo\tthree", `one\ntwo three`},
		{"PASS\rFAIL", `PASS\x0dFAIL`},
		{"a\x00b\x7fc\u009bd", `a\x00b\x7fc\u{9b}d`},
		{"\u202eneves\u2066\u200b\ufeff", `\u{202e}neves\u{2066}\u{200b}\u{feff}`},
		{"\xff\xc0\xaf", `\xff\xc0\xaf`},
		{"a\u2028\U000e0041", `a\u{2028}\u{e0041}`},
		{"a \ufffd b", "a \ufffd b"},
		{`C:\new`, `C:\new`},
		{"::error::x", `\x3a:error::x`},
		{"\u00a0::set-output name=a::b", `\x3a:set-output name=a::b`},
		{"see ##[group]a and ##vso[task.x]", `see \x23#[group]a and \x23#vso[task.x]`},
		{"###[add-mask]", `#\x23#[add-mask]`},
		{"std::string ## note", "std::string ## note"},
		{"a\n::error::b", `a\n::error::b`},
	} {
		if got := quote.Line(c.in, quote.Sentence); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
		if quote.Clean(c.in) != (c.in == c.want) {
			t.Errorf("%q: Clean is %v", c.in, quote.Clean(c.in))
		}
	}
}

func TestLineIsCut(t *testing.T) {
	got := quote.Line("é"+strings.Repeat("\x1b", 1<<20), 100)
	if want := `é\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b… (1048562 bytes left out)`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := quote.Line(strings.Repeat("x", 40), 0); len(got) != 40 || strings.Contains(got, "…") {
		t.Errorf("%q", got)
	}
}

// For any input Line returns printable text of bounded length, which it does not change again.
func TestLineOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, limit := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))+rapid.String().Draw(t, "text"),
			rapid.IntRange(40, 200).Draw(t, "limit")
		got := quote.Line(in, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\t\x1b") ||
			quote.Line(got, limit) != got {
			t.Fatalf("%q of at most %d: %q", in, limit, got)
		}
	})
}

func TestText(t *testing.T) {
	if got, want := quote.Text("A\tB\n\x1b[1m\u202e\xff::x\n"), "A\tB\n"+`\x1b[1m\u{202e}\xff::x`+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Writer passes the colours of reports and no other control sequence, and escapes commands for CI systems however they
// are written.
func TestWriter(t *testing.T) {
	in := "\x1b[1;31mFAIL\x1b[0m \x1b[8mx\x1b[2J\n  \t::error::a\n:\x1b[0m:stop\n##vso[x]\n::end"
	want := "\x1b[1;31mFAIL\x1b[0m " + `\x1b[8mx\x1b[2J` + "\n  \t" + `\x3a:error::a` + "\n:\x1b[0m:stop\n" +
		`\x23#vso[x]` + "\n" + `\x3a:end`
	for size := 1; size < len(in); size++ {
		var b bytes.Buffer
		w := &quote.Writer{To: &b}
		for rest := in; rest != ""; rest = rest[min(size, len(rest)):] {
			if n, err := io.WriteString(w, rest[:min(size, len(rest))]); n != min(size, len(rest)) || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := w.Flush(); err != nil || b.String() != want {
			t.Fatalf("in pieces of %d: %v\n%q, want\n%q", size, err, b.String(), want)
		}
	}
}

// Readers of JSON get the original strings.
func TestJSON(t *testing.T) {
	want := []string{"\x1b]0;a\a", "\u009b\u202e\x7f\U000e0041", "##vso[task] ###", "<é>\u2028\n"}
	var b bytes.Buffer
	if err := quote.JSON(&b, want); err != nil {
		t.Fatal(err)
	}
	if quote.Text(b.String()) != b.String() || strings.Contains(b.String(), "##") {
		t.Errorf("%q", b.String())
	}
	var got []string
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if quote.JSON(&b, func() {}) == nil {
		t.Error("a function is JSON")
	}
}
