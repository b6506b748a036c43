// Package github writes the results of a step of GitHub Actions for the runner: annotations, which are workflow
// commands in the log, and outputs.
//
// Both contain foreign text, as one line of printable characters, in which the special characters of workflow commands
// are escaped as the runner unescapes them.
package github

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// most is the number of annotations of a kind that GitHub shows for a step.
const most = 10

// Annotations writes one error for each rule that is broken, ten at most, or one for the whole where no rule is and the
// gate is not PASS.
func Annotations(w io.Writer, g *model.Gate) error {
	var b strings.Builder
	broken := g.Broken()
	for i := range broken[:min(most, len(broken))] {
		r := &broken[i]
		text := fmt.Sprintf("%s\n%s\n%s", r.Title, cmp.Or(r.Finding, r.Reason), r.Explain)
		if i == most-1 && len(broken) > most {
			text += fmt.Sprintf("\n… and %d more rules are broken; see the summary", len(broken)-most)
		}
		order(&b, r.Rule+" "+r.Status, text)
	}
	if g.Status != "PASS" && len(broken) == 0 {
		order(&b, "gauntlet gate "+g.Status, strings.Join(g.Reasons[:min(most, len(g.Reasons))], "\n"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// order writes one annotation. Of its message only ends of lines are kept as such, each as its escape.
func order(b *strings.Builder, title, message string) {
	var lines []string
	for line := range strings.SplitSeq(message, "\n") {
		if line = quote.Line(line, quote.Sentence); line != "" {
			lines = append(lines, value.Replace(line))
		}
	}
	fmt.Fprintf(
		b,
		"::error title=%s::%s\n",
		property.Replace(quote.Line(title, quote.Name)),
		strings.Join(lines, "%0A"),
	)
}

// Escapes of the runner, in a message and in a property.
var (
	value    = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// Outputs writes the outputs of the step, a line each: only the subject's name is foreign text, and it is cleaned.
func Outputs(w io.Writer, g *model.Gate) error {
	_, err := fmt.Fprintf(
		w,
		"verdict=%s\nsubject=%s\nbroken=%d\nnew-failures=%d\nchanges=%d\nfolder=%s\n",
		quote.Line(g.Status, quote.Name),
		quote.Line(g.Subject, quote.Name),
		len(g.Broken()),
		g.Count(model.NewFailure),
		len(g.Changes),
		quote.Line(g.Folder, quote.Sentence),
	)
	return err
}
