package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// measure is the width of prose.
const measure = 100

// bookPrinter prints a rulebook.
type bookPrinter struct{ *printer }

func newBookPrinter(o Options) *bookPrinter { return &bookPrinter{&printer{color: o.Color}} }

// Rulebook writes the explanations of the rules of b.
func Rulebook(w io.Writer, b *model.Rulebook, o Options) error {
	p := newBookPrinter(o)
	first := true
	for _, f := range b.Families {
		for i := range f.Rules {
			if !first {
				fmt.Fprintf(p, "\n%s\n\n", p.paint(dim, strings.Repeat("─", measure)))
			}
			first = false
			p.rule(&f.Rules[i])
		}
	}
	return p.show(w)
}

// Rules writes the rules of b, a line each, below their families.
func Rules(w io.Writer, b *model.Rulebook, o Options) error {
	p := newBookPrinter(o)
	for i, f := range b.Families {
		if i > 0 {
			p.WriteString("\n")
		}
		p.family(&f)
		for _, r := range f.Rules {
			fmt.Fprintf(p, "  %s  %s  %s\n", pad(plain(r.ID), 14), pad(plain(string(r.Level)), 11), plain(r.Title))
		}
	}
	return p.show(w)
}

// Families writes the families of b, a line each.
func Families(w io.Writer, b *model.Rulebook, o Options) error {
	p := newBookPrinter(o)
	for _, f := range b.Families {
		p.family(&f)
	}
	return p.show(w)
}

// family writes the line of a family.
func (p *bookPrinter) family(f *model.RuleFamily) {
	fmt.Fprintf(p, "%s  %s  %s\n", p.paint(bold, pad(plain(f.Name), 6)),
		p.paint(dim, pad(quantity.Plural(int64(len(f.Rules)), "rule", "rules"), 8)), plain(f.About))
}

// rule writes the explanation of a rule.
func (p *bookPrinter) rule(r *model.RuleEntry) {
	fmt.Fprintf(p, "%s  %s\n", p.paint(bold, plain(r.ID)), plain(string(r.Level)))
	p.prose("", plain(r.Title))
	p.WriteString("\n")
	p.term("requirement", fmt.Sprintf("%s [%s]", r.Source.Requirement, r.Source.Ref))
	p.term("arises with", r.Stimulus)
	p.term("seen from", strings.Join(r.Needs, ", "))
	p.term("applies to", strings.Join(r.Features, ", "))
	p.term("can judge", strings.Join(r.Devices, ", "))
	p.term("rests on", r.RestsOn)
	p.term("not built", r.Unbuilt)
	if len(r.Causes) > 0 {
		p.title("Usual causes of a failure")
	}
	for _, c := range r.Causes {
		p.prose("  - ", plain(c))
	}
	p.example("Kept", r.Kept)
	p.example("Broken", r.Broken)
	p.engines(r)
	if len(r.Others) > 0 {
		p.title("More fixtures")
		p.prose("  ", plain(strings.Join(r.Others, ", ")))
	}
}

// title writes the title of a paragraph.
func (p *bookPrinter) title(text string) { fmt.Fprintf(p, "\n%s\n", p.paint(bold, text)) }

// term writes a word and its meaning, if there is one.
func (p *bookPrinter) term(name, text string) {
	if text != "" {
		p.prose("  "+pad(name, 13), plain(text))
	}
}

// example writes a fixture: its attributes and orders, the ladder, and the findings of the rule.
func (p *bookPrinter) example(title string, x *model.RuleExample) {
	if x == nil {
		return
	}
	p.title(title + ", as in fixture " + plain(x.Name))
	if x.About != "" {
		p.prose("  ", plain(x.About))
	}
	for _, g := range x.Given {
		fmt.Fprintf(p, "  %s %s\n", p.paint(dim, "given"), plain(g))
	}
	for l := range strings.Lines(x.Ladder) {
		l = strings.TrimRight(quote.Text(strings.TrimSuffix(l, "\n")), " ")
		if strings.Contains(l, "  <== ") {
			l = p.paint(bold, l)
		}
		fmt.Fprintf(p, "  %s\n", l)
	}
	for _, f := range x.Findings {
		p.prose("  "+p.paint(red, "✗")+" ", plain(f))
	}
}

// engines writes the broken engines that the rule catches.
func (p *bookPrinter) engines(r *model.RuleEntry) {
	if len(r.Engines) > 0 || r.Uncaught != "" {
		p.title("Proved by engines that are wrong on purpose")
	}
	for _, e := range r.Engines {
		p.prose("  - ", plain(e.Name)+": "+plain(e.Breaks))
	}
	if r.Uncaught != "" {
		p.prose("  ", "none: "+plain(r.Uncaught))
	}
}

// prose writes wrapped text, the first line after lead and the others aligned with it.
func (p *bookPrinter) prose(lead, text string) {
	margin := width(quote.Text(strings.NewReplacer("\x1b["+red+"m", "", "\x1b[0m", "").Replace(lead)))
	p.WriteString(lead)
	at := margin
	for i, w := range strings.Fields(text) {
		switch {
		case i == 0:
		case at+1+width(w) > measure:
			p.WriteString("\n" + strings.Repeat(" ", margin))
			at = margin
		default:
			p.WriteString(" ")
			at++
		}
		p.WriteString(w)
		at += width(w)
	}
	p.WriteString("\n")
}
