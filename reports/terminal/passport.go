package terminal

import (
	"fmt"
	"io"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/reports/passport"
)

// doubtsShown bounds the doubts that are shown; the JSON has all.
const doubtsShown = 20

// Passport writes the outcome of the check of a passport: its signer, and whether it agrees with its evidence.
func Passport(w io.Writer, c *passport.Checked, o Options) error {
	p := &printer{color: o.Color}
	s := c.Passport
	fmt.Fprintf(p, "%s  %s for %s, on %s: %s\n\n", p.paint(bold+";"+checkTone(c), c.Verdict()),
		plain(s.Subject.Label()), plain(s.Profile.Name), plain(s.Bench), s.Verdict())
	fact(p, "who says so", plain(signed(c)))
	fact(p, "when", plain(s.Made)+", as it says itself")
	fact(p, "by which rules", plain(fmt.Sprintf("of gauntlet %s %.12s, catalogue %.12s; this program has %s",
		s.Tool.Version, s.Tool.Commit, s.Tool.Rules, c.Rules)))
	fact(p, "evidence", evidenceFound(c))
	if c.Evidence {
		fact(p, "judged again", fmt.Sprintf("%s of %s", quantity.Plural(int64(c.Verdicts), "verdict", "verdicts"),
			quantity.Plural(int64(c.Whole), "run", "runs")))
	}
	if n := len(s.Beyond); n > 0 {
		fact(p, "only said", quantity.Plural(int64(n), "verdict", "verdicts")+" that the stored traces do not show")
	}
	if n := len(s.Targets); n > 0 {
		fact(p, "only said", quantity.Plural(int64(n), "target", "targets")+", of whose runs no trace is kept")
	}
	if len(c.Doubts) > 0 {
		p.WriteString("\n")
	}
	for i, d := range c.Doubts {
		if i == doubtsShown {
			fmt.Fprintf(p, "  and %s\n", quantity.Plural(int64(len(c.Doubts)-i), "more", "more"))
			break
		}
		fmt.Fprintf(p, "  %s\n", p.paint(red, plain(d)))
	}
	return p.show(w)
}

// fact writes a name and its text.
func fact(p *printer, name, text string) { fmt.Fprintf(p, "  %s  %s\n", pad(name, 14), text) }

// checkTone returns the colour of a check.
func checkTone(c *passport.Checked) string {
	switch {
	case !c.So():
		return red
	case c.Evidence && c.Rules == passport.SameRules:
		return green
	}
	return yellow
}

// signed returns the signer in words.
func signed(c *passport.Checked) string {
	if c.Signer == "" {
		return "the key " + c.Key + "; whose that is was not asked"
	}
	return c.Signer + ", with the key " + c.Key
}

// evidenceFound states how much of the evidence was found.
func evidenceFound(c *passport.Checked) string {
	if !c.Evidence {
		return "not looked at; --evidence DIR names the report folder, and judges it again"
	}
	return fmt.Sprintf("%d of %s as the passport has them", c.Whole, quantity.Plural(int64(c.Runs), "run", "runs"))
}

// Difference writes the differences between two passports.
func Difference(w io.Writer, d *passport.Difference, o Options) error {
	p := &printer{color: o.Color}
	fmt.Fprintf(p, "%s → %s\n", plain(d.Of[0]), plain(d.Of[1]))
	for _, part := range []struct {
		title string
		list  []passport.Change
	}{{"IDENTITY", d.Identity}, {"VERDICTS", d.Verdicts}, {"TARGETS", d.Targets}, {"DATASHEET", d.Sheet},
		{"COUNTERS", d.Counters}} {
		if len(part.list) == 0 {
			fmt.Fprintf(p, "\n%s  the same\n", p.paint(bold, part.title))
			continue
		}
		p.WriteString("\n")
		differing(p, part.title, part.list)
	}
	return p.show(w)
}

// differing writes a table of changes.
func differing(p *printer, title string, list []passport.Change) {
	t := table{left: 4}
	t.add(title, "OLD", "NEW", "")
	for _, c := range list {
		t.add(plain(c.Name), plain(c.Of[0]), plain(c.Of[1]), plain(c.How))
	}
	p.table(&t, func(row, column int, s string) string {
		switch {
		case row == 0:
			return p.paint(bold, s)
		case column == 3 && slices.Contains([]string{passport.Worse, passport.Better}, list[row-1].How):
			return p.paint(map[string]string{passport.Worse: red, passport.Better: green}[list[row-1].How], s)
		}
		return s
	})
}
