package progress

import (
	"bytes"
	"testing"
	"time"
)

func TestTimeLeft(t *testing.T) {
	for _, c := range []struct {
		spent time.Duration
		share float64
		want  string
	}{{time.Second, 0, "…"}, {time.Second, 0.01, "…"}, {10 * time.Second, 0.5, "10s left"},
		{10 * time.Second, 1, "0s left"}} {
		if got := remaining(c.spent, c.share); got != c.want {
			t.Errorf("%s at %g: %q, want %q", c.spent, c.share, got, c.want)
		}
	}
}

// A bar on a file, which is no terminal, writes lines, and only those of Say.
func TestBarOfAFile(t *testing.T) {
	var out bytes.Buffer
	b := &Bar{out: &out, plain: true, began: time.Now()}
	b.Show(0.5, "half")
	b.Say("half done")
	b.Say("\x1b[2J\rall\n::error::x")
	b.Note("stays")
	b.Done()
	if out.String() != "half done\n"+`\x1b[2J\x0dall\n::error::x`+"\nstays\n" {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	b = &Bar{out: &out, on: true, began: time.Now()}
	b.Say("not on a terminal")
	b.Note("stays")
	if out.String() != "stays\n" {
		t.Errorf("%q", out.String())
	}
}
