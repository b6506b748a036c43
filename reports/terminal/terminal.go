// Package terminal writes the result of a run for people at a terminal: the numbers, the failures with their ladders,
// the state of the link, and the path of the report.
package terminal

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Options of Write.
type Options struct {
	Color bool // ANSI colours
}

// ladderLines bounds the excerpt of a ladder; the report has the rest.
const ladderLines = 14

// failuresShown bounds the failures that are shown in full; more do not fit a terminal.
const failuresShown = 10

// printer collects the text before it is shown.
type printer struct {
	bytes.Buffer
	color bool
}

// Write writes the result of r.
func Write(w io.Writer, r *model.Result, o Options) error {
	p := &printer{color: o.Color}
	p.heading(r)
	p.capture(r)
	p.numbers(r)
	p.shared(r)
	p.certificates(r)
	p.verdicts(r)
	p.remarks(r)
	return p.show(w)
}

// The colours of SGR, by meaning.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// paint colours s if colours are enabled.
func (p *printer) paint(sgr, s string) string {
	if !p.color {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}

// tone returns the colour of a status.
func tone(status string) string {
	switch status {
	case "PASS":
		return green
	case "FAIL", "XPASS", "ERROR", "INVALID", model.Incomplete:
		return red
	case "XFAIL":
		return yellow
	}
	return dim
}

func (p *printer) heading(r *model.Result) {
	impls := r.Impl[0]
	if r.Impl[1] != r.Impl[0] {
		impls += " and " + r.Impl[1]
	}
	fmt.Fprintf(p, "%s  ", p.paint(bold+";"+tone(r.Status), r.Beside(r.Status)))
	if r.Capture != nil {
		p.WriteString("a capture")
	} else {
		fmt.Fprintf(p, "%s on %s, seed %d", plain(impls), plain(r.Where()), r.Seed)
	}
	if len(r.SpecHash) >= 12 {
		fmt.Fprintf(p, ", spec %.12s", r.SpecHash)
	}
	p.WriteString("\n")
	fmt.Fprintf(p, "      %s\n", plain(model.Headline(&r.Work)))
	for _, why := range []string{r.Reason, r.Note(r.Status)} {
		if why != "" {
			fmt.Fprintf(p, "      %s\n", plain(why))
		}
	}
	p.WriteString("\n")
}

// capture writes how a foreign capture was interpreted.
func (p *printer) capture(r *model.Result) {
	if r.Capture == nil {
		return
	}
	for _, l := range r.Capture.Lines() {
		p.WriteString(plain(l) + "\n")
	}
	p.WriteString("\n")
}

// number is a line of the table of results.
type number struct{ name, value, detail string }

// numbers writes the results, the values aligned at their units.
func (p *printer) numbers(r *model.Result) {
	rows := results(r)
	names, values, units := 0, 0, 0
	for _, n := range rows {
		value, unit, _ := strings.Cut(n.value, " ")
		names, values, units = max(names, width(n.name)), max(values, width(value)), max(units, width(unit))
	}
	for _, n := range rows {
		value, unit, _ := strings.Cut(n.value, " ")
		line := fmt.Sprintf("  %s  %s %s  %s", pad(n.name, names), lead(value, values), pad(unit, units),
			p.paint(dim, n.detail))
		p.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	p.WriteString("\n")
}

func results(r *model.Result) []number {
	use := ""
	if r.Utilisation > 0 {
		use = quantity.Share(r.Utilisation) + " of the line rate"
	}
	spread := func(count, p95, p99, greatest int64) string {
		if count == 0 {
			return ""
		}
		return fmt.Sprintf("95 %% %s, 99 %% %s, longest %s", quantity.Duration(p95), quantity.Duration(p99),
			quantity.Duration(greatest))
	}
	median := func(count, p50 int64) string {
		if count == 0 {
			return "–"
		}
		return quantity.Duration(p50)
	}
	timeouts := "; " + quantity.Plural(r.Timeouts, "timeout", "timeouts")
	if r.Capture != nil { // only endpoints report them
		timeouts = ""
	}
	rows := []number{
		{"goodput", quantity.Rate(r.GoodputBps), use},
		{"delivered", quantity.Bytes(r.PayloadBytes), quantity.Plural(r.Messages, "message", "messages") + " in " +
			quantity.Duration(r.ElapsedNs)},
		{"FCT, median", median(r.FCT.Count, r.FCT.P50), spread(r.FCT.Count, r.FCT.P95, r.FCT.P99, r.FCT.Max)},
		{"recovery, median", median(r.RecoveryNs.Count, r.RecoveryNs.P50), spread(r.RecoveryNs.Count, r.RecoveryNs.P95,
			r.RecoveryNs.P99, r.RecoveryNs.Max)},
		{"data packets", quantity.Count(r.DataPackets), fmt.Sprintf("%s on the link", quantity.Rate(r.ThroughputBps))},
		{"retransmitted", quantity.Count(r.Retransmitted), fmt.Sprintf("%s, %s spurious",
			quantity.ShareOf(r.Retransmitted, r.DataPackets), quantity.Count(r.Spurious))},
		{"lost", quantity.Count(r.Lost), fmt.Sprintf("%s of %s packets", quantity.ShareOf(r.Lost, r.Packets),
			quantity.Count(r.Packets))},
		{"signals", quantity.Count(r.Acknowledges + r.NAKs + r.RNRs), fmt.Sprintf("%s ACK, %s NAK, %s RNR%s",
			quantity.Count(r.Acknowledges), quantity.Count(r.NAKs), quantity.Count(r.RNRs), timeouts)},
	}
	if r.OneTap() {
		rows = oneTap(rows, r)
	}
	if p := r.Processor; p != nil {
		rows = append(rows, number{"processor", quantity.Duration(p.Ns[0] + p.Ns[1]),
			fmt.Sprintf("%s per GB at A, %s at B",
				quantity.Duration(p.NsPerGB[0]), quantity.Duration(p.NsPerGB[1]))})
	}
	if s := r.Slowdown; s != nil {
		rows = append(rows, number{"slowdown, median", fmt.Sprintf("%.2f", s.All.P50),
			fmt.Sprintf("95 %% %.2f, 99 %% %.2f of %s, against a link of their own",
				s.All.P95, s.All.P99, quantity.Plural(int64(s.All.Count), "flow", "flows"))})
	}
	if r.Fairness > 0 {
		rows = append(rows, number{"fairness", fmt.Sprintf("%.3f", r.Fairness),
			"Jain's index of the connections' goodputs"})
	}
	return rows
}

// oneTap removes the rows that one tap cannot show: losses and spurious retransmissions.
func oneTap(rows []number, r *model.Result) []number {
	for i := range rows {
		switch n := &rows[i]; n.name {
		case "lost":
			n.value, n.detail = "unknown", fmt.Sprintf("one tap; it saw %s packets", quantity.Count(r.Packets))
		case "recovery, median":
			n.value, n.detail = "unknown", ""
		case "retransmitted":
			n.detail = quantity.ShareOf(r.Retransmitted, r.DataPackets) + ", those that passed the tap"
		}
	}
	return rows
}

// shared writes the resources that the QPs of a side share at the end of the run, a line per side.
func (p *printer) shared(r *model.Result) {
	var side string
	for _, f := range r.Shared {
		at, name, _ := strings.Cut(f.Name, " ")
		if at != side {
			if side != "" {
				p.WriteString("\n")
			}
			side = at
			fmt.Fprintf(p, "shared by the QPs of %s: ", plain(at))
		} else {
			p.WriteString(", ")
		}
		fmt.Fprintf(p, "%s %s", plain(name), plain(f.Value))
	}
	if side != "" {
		p.WriteString("\n\n")
	}
}

// certificates writes a line for each certificate: the items out of bounds, or that there are none.
func (p *printer) certificates(r *model.Result) {
	for _, c := range r.Certificates {
		if c.Valid {
			fmt.Fprintf(p, "link, %s: %s, %s within bounds\n", plain(c.When), p.paint(green, "valid"),
				quantity.Plural(int64(len(c.Items)), "property", "properties"))
			continue
		}
		fmt.Fprintf(p, "link, %s: %s, %s\n", plain(c.When), p.paint(red, "invalid"), plain(c.Reason))
		for _, i := range c.Items {
			if !i.OK {
				fmt.Fprintf(p, "    %s: wanted %s, measured %s, bound %s\n", plain(i.Name), plain(i.Want),
					plain(i.Got), plain(i.Bound))
			}
		}
	}
	if len(r.Certificates) > 0 {
		p.WriteString("\n")
	}
}

// verdicts counts the verdicts and shows those that decide the result, each with its findings.
func (p *printer) verdicts(r *model.Result) {
	var counts []string
	for _, c := range r.Counts() {
		counts = append(counts, p.paint(tone(c.Name), c.Value+" "+c.Name))
	}
	if len(counts) > 0 {
		fmt.Fprintf(p, "%d rules: %s\n", len(r.Verdicts), strings.Join(counts, ", "))
	}
	var advice []string
	shown := 0
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		switch {
		case v.Status < rule.XPass:
		case v.Status == rule.Invalid: // written together by invalid
		case v.Status == rule.Fail && !v.Required:
			advice = append(advice, plain(v.Rule))
		case shown < failuresShown:
			p.failure(r, v)
			shown++
		default:
			fmt.Fprintf(p, "%s %s: %s\n", p.paint(bold+";"+tone(v.Status.String()), v.Status.String()),
				plain(v.Rule), plain(v.Title))
		}
	}
	p.invalid(r)
	if len(advice) > 0 {
		fmt.Fprintf(p, "\n%s not required, see the report: %s\n", quantity.Plural(int64(len(advice)),
			"failure is of a rule that is", "failures are of rules that are"), strings.Join(advice, ", "))
	}
}

// invalid writes the reasons for INVALID verdicts, and the number of rules.
func (p *printer) invalid(r *model.Result) {
	for _, why := range r.Invalidated() {
		fmt.Fprintf(p, "\n%s %s: %s\n", p.paint(bold+";"+tone(validity.Invalid), validity.Invalid),
			quantity.Plural(int64(len(why.Rules)), "rule rests on what failed", "rules rest on what failed"),
			plain(why.Reason))
	}
}

// failure writes a broken rule, its findings, and the packets around the first.
func (p *printer) failure(r *model.Result, v *rule.Verdict) {
	fmt.Fprintf(p, "\n%s %s: %s", p.paint(bold+";"+tone(v.Status.String()), v.Status.String()),
		p.paint(bold, plain(v.Rule)), plain(v.Title))
	if v.Source.Ref != "" {
		fmt.Fprintf(p, " [%s]", plain(v.Source.Ref))
	}
	p.WriteString("\n")
	if v.Reason != "" {
		fmt.Fprintf(p, "    %s\n", plain(v.Reason))
	}
	for _, f := range v.Findings {
		fmt.Fprintf(p, "    %s, connection %d, %s us: %s\n", f.Blame, f.Conn, f.At.Micros(), plain(f.Line()))
	}
	if n := v.More(); n > 0 {
		fmt.Fprintf(p, "    … and %d more\n", n)
	}
	if v.Explain != "" {
		fmt.Fprintf(p, "    %s\n", p.paint(dim, plain(v.Explain)))
	}
	for _, l := range r.Ladders {
		if l.Rule == v.Rule && l.Finding == 0 {
			p.ladder(l.Text)
		}
	}
}

// ladder prints an excerpt of a ladder with the line of the finding.
func (p *printer) ladder(text string) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	head, body := lines[:1], lines[1:]
	if from := marked(body) - ladderLines*2/3; len(body) > ladderLines {
		from = min(max(from, 0), len(body)-ladderLines)
		body = body[from : from+ladderLines]
	}
	for _, l := range append(head[:1:1], body...) {
		l = strings.TrimRight(quote.Text(l), " ")
		if strings.Contains(l, "  <== ") {
			l = p.paint(bold, l)
		}
		fmt.Fprintf(p, "    %s\n", l)
	}
}

// marked returns the index of the line that the ladder marks; 0 if it marks none.
func marked(lines []string) int {
	for i, l := range lines {
		if strings.Contains(l, "  <== ") {
			return i
		}
	}
	return 0
}

func (p *printer) remarks(r *model.Result) {
	if len(r.Warnings) > 0 {
		p.WriteString("\n")
	}
	for _, t := range r.Warnings {
		fmt.Fprintf(p, "%s %s\n", p.paint(yellow, "warning:"), plain(t))
	}
	if r.Report != "" {
		fmt.Fprintf(p, "\nreport: %s\n", plain(r.Report))
	}
}

// plain makes foreign text one printable line of bounded length.
func plain(s string) string { return quote.Line(s, quote.Message) }

// show writes the text. Foreign text has been through plain; any other character that could control a terminal is
// escaped here.
func (p *printer) show(w io.Writer) error {
	text := p.String()
	if !p.color {
		text = quote.Text(text)
	}
	_, err := io.WriteString(w, quote.Terminal(text))
	return err
}

// width counts columns; every character we print takes one.
func width(s string) int { return utf8.RuneCountInString(s) }

func pad(s string, n int) string  { return s + strings.Repeat(" ", max(0, n-width(s))) }
func lead(s string, n int) string { return strings.Repeat(" ", max(0, n-width(s))) + s }
