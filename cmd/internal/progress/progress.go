// Package progress shows people how far a command is: on a terminal by a line that is rewritten in place, elsewhere by
// lines.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
)

// Bar draws one line that is rewritten in place; it draws nothing when its output is not a terminal.
type Bar struct {
	out   io.Writer
	on    bool
	plain bool // not a terminal: what is said goes there line by line
	began time.Time
	last  time.Time
	drawn bool
}

// New makes a bar on f, which draws nothing unless it is wanted.
func New(f *os.File, wanted bool) *Bar {
	terminal := term.IsTerminal(int(f.Fd()))
	return &Bar{out: f, on: wanted && terminal, plain: wanted && !terminal, began: time.Now()}
}

// Show draws the line, ten times a second at most.
func (p *Bar) Show(share float64, what string) {
	now := time.Now()
	if !p.on || now.Sub(p.last) < 100*time.Millisecond {
		return
	}
	p.last, p.drawn = now, true
	share = min(max(share, 0), 1)
	const width = 30
	bar := strings.Repeat("█", int(share*width))
	fmt.Fprintf(p.out, "\r\x1b[K%-*s %3.0f%%  %s  %s", width, bar, 100*share, remaining(now.Sub(p.began), share),
		quote.Line(what, quote.Sentence))
}

// remaining estimates the time to go from the time spent.
func remaining(spent time.Duration, share float64) string {
	if share < 0.02 {
		return "…"
	}
	return (time.Duration(float64(spent) * (1 - share) / share)).Round(time.Second).String() + " left"
}

// Say writes a line of its own where nothing is rewritten.
func (p *Bar) Say(what string) {
	if p.plain {
		fmt.Fprintln(p.out, quote.Line(what, quote.Sentence))
	}
}

// Note writes a line that stays, on a terminal too.
func (p *Bar) Note(what string) {
	if p.on {
		p.Done()
		fmt.Fprintln(p.out, quote.Line(what, quote.Sentence))
	}
	p.Say(what)
}

// Restart begins to estimate again, for work of another kind.
func (p *Bar) Restart() { p.began = time.Now() }

// Done removes the line.
func (p *Bar) Done() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
