package rulebook

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule/example"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ladder"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Limits of the drawing of a fixture.
const (
	findingsShown = 5
	linesShown    = 32 // of a ladder
	linesBefore   = 20 // of these, the lines before the first finding
)

// draw judges a fixture and draws it.
func draw(r *rule.Rule, f *rules.Fixture) (*model.RuleExample, error) {
	start, _, err := example.Start(f.Text)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", r.ID, f.Name, err)
	}
	e, err := example.Parse(r, f.Text, start)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", r.ID, f.Name, err)
	}
	x := &model.RuleExample{Name: f.Name, About: example.Prose(f.Text), Given: given(e, f.Text)}
	opt := ladder.Options{AllEvents: true, Marks: map[uint64]string{}}
	findings := e.Judge(0).Findings
	for i := range findings {
		if n := findings[i].Record; n != rule.NoRecord {
			opt.Marks[n] = r.ID
		}
		if i < findingsShown {
			x.Findings = append(x.Findings, findings[i].Line())
		}
	}
	if n := len(findings) - findingsShown; n > 0 {
		x.Findings = append(x.Findings, fmt.Sprintf("… and %d more", n))
	}
	x.Ladder, err = drawing(e, f.Text, findings, opt)
	return x, err
}

// drawing returns the ladder of a fixture, or for a long one the lines around the first finding.
func drawing(e *example.Example, text []byte, findings []rule.Finding, opt ladder.Options) (string, error) {
	plain, err := rungs(e, e.Records, opt)
	if err != nil {
		return "", err
	}
	lines, err := rungs(e, annotated(e, strings.Split(string(text), "\n"), plain), opt)
	if err != nil || len(lines) <= linesShown {
		return strings.Join(lines, "\n") + "\n", err
	}
	from := max(1, slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "  <== ") })-linesBefore)
	if from = min(from, len(lines)-linesShown); firstEnd(findings) {
		from = len(lines) - linesShown
	}
	shown := append(lines[:1:1], lines[from:from+linesShown]...)
	return fmt.Sprintf("%s\n(%s of %d)\n", strings.Join(shown, "\n"), quantity.Plural(linesShown, "line", "lines"),
		len(lines)-1), nil
}

// rungs returns the lines of a ladder.
func rungs(e *example.Example, records []trace.Record, opt ladder.Options) ([]string, error) {
	var b strings.Builder
	err := ladder.Draw(&b, &e.Header, records, e.Events, opt)
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n"), err
}

// firstEnd reports whether the first finding has no packet: a packet that is missing is missed at the end of the trace.
func firstEnd(findings []rule.Finding) bool {
	return len(findings) > 0 && findings[0].Record == rule.NoRecord
}

// given returns the lines of a fixture that set up its packets: attributes, taps, and comments that are directives,
// except want-end.
func given(e *example.Example, text []byte) (list []string) {
	first := slices.Min(append(slices.Concat(e.RecordLines, e.EventLines), 1<<30))
	for i, line := range strings.Split(string(text), "\n") {
		said, comment := strings.CutPrefix(strings.TrimSpace(line), "# ")
		said, _, _ = strings.Cut(said, " #")
		switch {
		case comment && example.Directive(said) && !strings.HasPrefix(said, "want-end"), !comment &&
			said != "" && i+1 < first:
			list = append(list, strings.TrimSpace(said))
		}
	}
	return list
}

// annotated returns the records with the words of their lines in the fixture that its ladder does not show: fields of
// headers, bytes, connections.
func annotated(e *example.Example, lines, drawn []string) []trace.Record {
	drawn = slices.DeleteFunc(drawn[1:], func(l string) bool { return strings.HasPrefix(l, "event ") })
	records := make([]trace.Record, len(e.Records))
	for i := range e.Records {
		r := e.Records[i].Clone()
		r.Cause = strings.TrimSpace(r.Cause + " " + unseen(lines[e.RecordLines[i]-1], drawn[i]))
		records[i] = *r
	}
	return records
}

// unseen returns the words name=value of a line whose name a drawing does not have.
func unseen(line, drawn string) string {
	line, _, _ = strings.Cut(line, "//")
	line, _, _ = strings.Cut(line, " #")
	var words []string
	for _, w := range strings.Fields(line) {
		if name, _, pair := strings.Cut(w, "="); pair && name != "cause" && !strings.Contains(drawn, " "+name+"=") {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}
