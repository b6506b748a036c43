package contract

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// said is the output of a correct program, line by line.
var said = []string{
	`{"event":"capabilities","contract":1,"program":"x","version":"1","operations":"SEND WRITE","serves":"SEND",` +
		`"mtus":"1024","recovery":"gbn","max_qps":4,"reports":"cqe"}`,
	`{"event":"ready"}`,
	`{"event":"posted","at_ns":5,"wr":1,"operation":"WRITE","bytes":4096}`,
	`{"event":"share","share":0.5}`,
	`{"event":"completed","at_ns":9,"wr":1,"operation":"WRITE","status":"SUCCESS","psn":3}`,
	`{"event":"idle"}`,
	`{"event":"counter","variable":"icrc","value":2}`,
	`{"event":"stopped"}`,
}

// hear returns the number of lines that a dialog accepts, and the error of the next line.
func hear(lines ...string) (n int, err error) {
	d := NewDialog(strings.NewReader(strings.Join(lines, "\n") + "\n"))
	for {
		if _, err := d.Next(); err != nil {
			return n, err
		}
		n++
	}
}

func TestDialog(t *testing.T) {
	if n, err := hear(said...); n != len(said) || !errors.Is(err, io.EOF) {
		t.Errorf("took %d lines of %d: %v", n, len(said), err)
	}
}

// Each error of a program is reported in one line with the line number, the fault and the remedy.
func TestDialogRefuses(t *testing.T) {
	for _, c := range []struct {
		at   int    // index of the replaced line of a correct program
		line string // its replacement
		want string
	}{
		{0, `hello`, `line 1: "hello" is no line of the contract: invalid character`},
		{0, `[1]`, `line 1: "[1]" is no line of the contract: array; want an object`},
		{0, strings.Replace(said[0], `"1024"`, `[1024]`, 1), `is no line of the contract: mtus: array; want a string`},
		{0, strings.Replace(said[0], `:4`, `:"4"`, 1), `max_qps: string; want a whole number in its range`},
		{2, strings.Replace(said[2], `:5`, `:5.5`, 1), `at_ns: number 5.5; want a whole number in its range`},
		{3, `{"event":"share","share":"half"}`, `share: string; want a number`},
		{0, `{"event":"ready"}`, `line 1: ready before capabilities, which come first`},
		{0, `{"event":"capabilities"}`, `line 1: capabilities: contract 0; this bench speaks version 1`},
		{0, strings.Replace(said[0], "1024", "1500", 1),
			`line 1: capabilities: mtus: "1500" is unknown; known: 256 512`},
		{0, strings.Replace(said[0], "SEND WRITE", "send", 1),
			`line 1: capabilities: operations: "send" is unknown; known: SEND`},
		{0, strings.Replace(said[0], `"gbn"`, `"gbn irn"`, 1),
			`line 1: capabilities: recovery "gbn irn"; want one word`},
		{0, strings.Replace(said[0], `"gbn"`, `""`, 1),
			`line 1: capabilities: recovery ""; want one word of fasr gb1 gbn irn`},
		{0, strings.Replace(said[0], `"gbn"`, `"go-back-n"`, 1),
			`line 1: capabilities: recovery: "go-back-n" is unknown; known: fasr gb1 gbn irn iwarp-ud rciw srn other`},
		{0, strings.Replace(said[0], `"gbn"`, `"gbn","features":"cm gbn"`, 1),
			`line 1: capabilities: features: "gbn" is unknown; known: backto0 direct`},
		{0, strings.Replace(said[0], `"gbn"`, `"gbn","params":"a \u001b[2J"`, 1),
			`line 1: capabilities: params: "\x1b[2J"; want names`},
		{0, strings.Replace(said[0], `"x"`, `"\u202ex"`, 1), `line 1: capabilities: program "\u202ex"; want a name`},
		{0, strings.Replace(said[0], `"1"`, `"1\u009b2J"`, 1), `line 1: capabilities: version "1\u009b2J"; want 1 to`},
		{6, `{"event":"counter","variable":"a\nb"}`, `line 7: counter: variable "a\nb"; want a name`},
		{0, strings.Replace(said[0], `:4`, `:0`, 1), `line 1: capabilities: max_qps 0; want 1 or more`},
		{1, said[0], `line 2: capabilities said twice`},
		{1, said[7], `line 2: stopped after "capabilities"; want it after "ready"`},
		{1, said[2], `line 2: posted after "capabilities"; want it between ready and stopped`},
		{2, `{"event":"posted","at_ns":5,"operation":"WRITE","colour":1}`, `line 3: "{\"event\":\"posted\"`},
		{2, `{"event":"posted","operation":"write"}`, `line 3: posted: operation "write"; want one of SEND`},
		{2, `{"event":"posted","operation":"WRITE","qp":-1}`, `line 3: posted: qp -1; want the n of a qp line`},
		{3, `{"event":"share","share":50}`, `line 4: share: 50; want 0 to 1`},
		{4, `{"event":"completed","at_ns":9,"operation":"WRITE","status":"OK"}`,
			`line 5: completed: status "OK"; want SUCCESS`},
		{4, strings.Replace(said[4], `9`, `4`, 1),
			`line 5: completed: at_ns 4 is before the line before it (5); say events in the order`},
		{4, strings.Replace(said[4], `"psn":3`, `"psn":16777216`, 1), `line 5: completed: psn 16777216; want 24 bits`},
		{5, `{"event":"done"}`, `line 6: event "done": unknown; known: capabilities ready`},
		{5, `{"event":"idle"}{"event":"idle"}`, `more than one value on the line`},
		{6, `{"event":"counter"}`, `line 7: counter: variable ""; want a name`},
		{6, `{"event":"error"}`, `line 7: error: says nothing; want the reason`},
		{7, strings.Repeat("x", LineLimit+1), `line 8: longer than 65536 bytes: "xxx`},
	} {
		lines := append([]string(nil), said...)
		lines[c.at] = c.line
		n, err := hear(lines...)
		if n != c.at || err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("line %d %.60q: took %d, %v; want %q", c.at+1, c.line, n, err, c.want)
		}
	}
	if _, err := NewDialog(strings.NewReader(`{"event"`)).Next(); err == nil ||
		!strings.Contains(err.Error(), "has no end") {
		t.Errorf("a line without an end: %v", err)
	}
}

// A program may declare a recovery of its own.
func TestOtherRecovery(t *testing.T) {
	if n, err := hear(strings.Replace(said[0], `"gbn"`, `"other"`, 1)); n != 1 || !errors.Is(err, io.EOF) {
		t.Errorf("took %d lines: %v", n, err)
	}
}

// Text of a program is cleaned to one printable line of bounded length.
func TestWordsOfAProgramAreCleaned(t *testing.T) {
	for in, want := range map[string]string{
		`\u001b]0;mine\u0007done`: `\x1b]0;mine\x07done`,
		`::error::a\nb\rc\u202e`:  `\x3a:error::a\nb\x0dc\u{202e}`,
		strings.Repeat("x", 3*quote.Sentence) + `\t`: strings.Repeat("x", quote.Sentence-40) +
			"… (2040 bytes left out)",
	} {
		for _, line := range []string{`{"event":"error","error":"` + in + `"}`, `{"event":"stopped","undone":"` + in +
			`"}`, `{"event":"ready","tcp":"` + in + `"}`} {
			r, err := DecodeReport([]byte(line))
			if got := r.Error + r.Undone + r.TCP; err != nil || got != want {
				t.Errorf("%.60s: %q, %v; want %q", line, got, err, want)
			}
		}
		raw, err := strconv.Unquote(`"` + in + `"`)
		if err != nil {
			t.Fatal(err)
		}
		var l Log
		_, _ = l.Write([]byte("before\n" + strings.ReplaceAll(raw, "\n", " ") + "\r\n"))
		if got := l.Last(); got != ": "+strings.ReplaceAll(want, `\n`, " ") {
			t.Errorf("%.60q: %q, want %q", raw, got, want)
		}
	}
}

// Dialog ends after too many lines, also when all are valid.
func TestDialogEndsAFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: reads a million lines")
	}
	flood := &repeat{once: []byte(said[0] + "\n" + said[1] + "\n"), again: []byte(said[3] + "\n")}
	for d := NewDialog(flood); ; {
		if _, err := d.Next(); err != nil {
			if !strings.Contains(err.Error(), "it said more than 1048576 lines") {
				t.Error(err)
			}
			return
		}
	}
}

// repeat is an endless reader.
type repeat struct{ once, again []byte }

func (r *repeat) Read(p []byte) (n int, err error) {
	if n = copy(p, r.once); n > 0 {
		r.once = r.once[n:]
		return n, nil
	}
	for len(p)-n >= len(r.again) {
		n += copy(p[n:], r.again)
	}
	return n, nil
}

func TestLacks(t *testing.T) {
	c := Capabilities{Operations: "SEND WRITE", Serves: "SEND", MTUs: "256 1024", Params: "cap", MaxQPs: 2}
	for _, k := range []struct {
		need Need
		want string
	}{
		{Need{Operations: []string{"WRITE"}, Serves: []string{"SEND"}, MTU: 1024, QPs: 2, Params: []string{"cap"}}, ""},
		{Need{Operations: []string{"SEND", "READ"}, MTU: 1024}, "operation READ"},
		{Need{Serves: []string{"WRITE"}, MTU: 1024}, "answering WRITE"},
		{Need{MTU: 512}, "MTU 512"},
		{Need{MTU: 256, Params: []string{"rto"}}, "parameter rto"},
		{Need{MTU: 256, QPs: 3}, "3 QPs; it has 2"},
		{Need{MTU: 256, Flows: true}, "messages that vary in size or arrive by the clock (feature spec)"},
		{Need{MTU: 256, Management: true}, "set-up by messages (feature cm)"},
	} {
		if got := c.Lacks(k.need); got != k.want {
			t.Errorf("%+v: lacks %q, want %q", k.need, got, k.want)
		}
	}
}

// A program reads the orders that a bench writes.
func TestOrderRoundTrip(t *testing.T) {
	for _, o := range []Order{
		{Op: OpSetup, Contract: Version, Side: "B", Device: "b0", QPs: 1, Spec: "seed 1\n"},
		{Op: OpQP, QP: &QP{QPN: 17, MTU: 1024, VA: 1 << 45}},
		{Op: OpWork, Work: &Work{Operation: "WRITE", Bytes: 8, Offset: -64, Slots: 1}},
		{Op: OpVerify, Memory: json.RawMessage(`[[{"Done":true}]]`)},
	} {
		line, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeOrder(line)
		if d := cmp.Diff(o, got); err != nil || d != "" {
			t.Errorf("%s: %v\n%s", line, err, d)
		}
	}
	if o, err := DecodeOrder([]byte(`{"op":"stop","later":1}`)); err != nil || o.Op != OpStop {
		t.Errorf("a field of a later bench: %+v, %v", o, err)
	}
	if _, err := DecodeOrder([]byte(`stop`)); err == nil || !strings.Contains(err.Error(), `order "stop"`) {
		t.Errorf("no JSON: %v", err)
	}
}

// No input of a program does more than end its dialog with an error of one line.
func FuzzDialog(f *testing.F) {
	f.Add(strings.Join(said, "\n"))
	for _, line := range said {
		f.Add(said[0] + "\n" + line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := NewDialog(strings.NewReader(text))
		for n := 0; ; n++ {
			r, err := d.Next()
			if err == nil {
				if _, err := json.Marshal(r); err != nil {
					t.Fatalf("%+v: %v", r, err)
				}
				continue
			}
			if n > len(text) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%d lines, %q", n, err)
			}
			return
		}
	})
}
