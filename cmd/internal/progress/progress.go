// Package progress shows the progress of a command: on a terminal by a line that is rewritten in place, elsewhere by
// separate lines.
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

// Bar draws one line that is rewritten in place. It draws nothing if its output is not a terminal.
type Bar struct {
	out   io.Writer
	on    bool
	plain bool // wanted, but not on a terminal: Say writes lines
	began time.Time
	last  time.Time
	drawn bool
}

// New makes a bar on f. It draws nothing unless wanted.
func New(f *os.File, wanted bool) *Bar {
	terminal := term.IsTerminal(int(f.Fd()))
	return &Bar{out: f, on: wanted && terminal, plain: wanted && !terminal, began: time.Now()}
}

// Show draws the line, at most ten times a second.
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

// remaining estimates the remaining time from the time spent.
func remaining(spent time.Duration, share float64) string {
	if share < 0.02 {
		return "…"
	}
	return (time.Duration(float64(spent) * (1 - share) / share)).Round(time.Second).String() + " left"
}

// Say writes a separate line if the output is not a terminal.
func (p *Bar) Say(what string) {
	if p.plain {
		fmt.Fprintln(p.out, quote.Line(what, quote.Sentence))
	}
}

// Note writes a line that stays, also on a terminal.
func (p *Bar) Note(what string) {
	if p.on {
		p.Done()
		fmt.Fprintln(p.out, quote.Line(what, quote.Sentence))
	}
	p.Say(what)
}

// Restart restarts the estimate, for work of another kind.
func (p *Bar) Restart() { p.began = time.Now() }

// Done removes the line.
func (p *Bar) Done() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
