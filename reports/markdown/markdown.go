// Package markdown writes a short summary of a run for CI systems, which show it with a job: the numbers, the broken
// rules, and the command that repeats the run.
package markdown

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// failuresShown bounds the list of broken rules; job summaries have a limit, and the report has all of them.
const failuresShown = 20

// Write writes the summary of r.
func Write(w io.Writer, r *model.Result) error {
	var b bytes.Buffer
	heading(&b, r)
	numbers(&b, r)
	broken(&b, r)
	inconclusive(&b, r)
	link(&b, r)
	for _, t := range r.Warnings {
		fmt.Fprintf(&b, "> ⚠ %s\n\n", escape(t))
	}
	if r.Command != "" {
		fmt.Fprintf(&b, "Run it again:\n\n%s\n", fenced(r.Command))
	}
	_, err := io.WriteString(w, quote.Text(b.String()))
	return err
}

// heading gives the status and the counts of verdicts.
func heading(b *bytes.Buffer, r *model.Result) {
	fmt.Fprintf(b, "### %s: %s and %s on %s, seed %d\n\n", escape(r.Beside(r.Status)), code(r.Impl[0]), code(r.Impl[1]),
		escape(r.Where()), r.Seed)
	fmt.Fprintf(b, "%s.\n\n", escape(model.Headline(&r.Work)))
	for _, why := range []string{r.Reason, r.Note(r.Status)} {
		if why != "" {
			fmt.Fprintf(b, "**%s**\n\n", escape(why))
		}
	}
	var counts []string
	for _, c := range r.Counts() {
		counts = append(counts, c.Value+" "+c.Name)
	}
	if len(counts) > 0 {
		fmt.Fprintf(b, "Verdicts: %s.\n\n", strings.Join(counts, ", "))
	}
}

func numbers(b *bytes.Buffer, r *model.Result) {
	use := "–"
	if r.Utilisation > 0 {
		use = quantity.Share(r.Utilisation)
	}
	fct := func(ns int64) string {
		if r.FCT.Count == 0 {
			return "–"
		}
		return quantity.Duration(ns)
	}
	b.WriteString("| goodput | of line rate | messages | FCT p50 | FCT p99 | retransmitted | lost " +
		"|\n|--:|--:|--:|--:|--:|--:|--:|\n")
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s (%s) | %s (%s) |\n\n", quantity.Rate(r.GoodputBps), use,
		quantity.Count(r.Messages),
		fct(r.FCT.P50), fct(r.FCT.P99), quantity.Count(r.Retransmitted),
		quantity.ShareOf(r.Retransmitted, r.DataPackets),
		quantity.Count(r.Lost), quantity.ShareOf(r.Lost, r.Packets))
}

// broken lists the verdicts that a reader has to act on, each with its findings, and the first ladder.
func broken(b *bytes.Buffer, r *model.Result) {
	shown, left := 0, 0
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if v.Status < rule.XPass || v.Status == rule.Invalid {
			continue
		}
		if shown == failuresShown {
			left++
			continue
		}
		shown++
		advice := ""
		if !v.Required {
			advice = ", not required"
		}
		fmt.Fprintf(b, "- **%s** %s (%s%s): %s", v.Status, code(v.Rule), escape(string(v.Level)),
			advice, escape(v.Title))
		if v.Reason != "" {
			fmt.Fprintf(b, ". %s", escape(v.Reason))
		}
		b.WriteString("\n")
		findings(b, r, v)
	}
	if left > 0 {
		fmt.Fprintf(b, "- and %d more\n", left)
	}
	for _, why := range r.Invalidated() {
		shown++
		fmt.Fprintf(b, "- **%s** %s: %s\n", rule.Invalid, quantity.Plural(int64(len(why.Rules)), "rule", "rules"),
			escape(why.Reason))
	}
	if shown > 0 {
		b.WriteString("\n")
	}
}

// findings writes the violations of a rule, and the ladder of the first, folded.
func findings(b *bytes.Buffer, r *model.Result, v *rule.Verdict) {
	for _, f := range v.Findings {
		fmt.Fprintf(b, "  - %s, connection %d: %s\n", escape(string(f.Blame)), f.Conn, escape(f.Line()))
	}
	if n := v.More(); n > 0 {
		fmt.Fprintf(b, "  - … and %d more\n", n)
	}
	if v.Explain != "" {
		fmt.Fprintf(b, "  - %s\n", code(v.Explain))
	}
	for _, l := range r.Ladders {
		if l.Rule == v.Rule && l.Finding == 0 {
			fmt.Fprintf(b, "  <details><summary>ladder</summary>\n\n%s\n  </details>\n", indent(fenced(l.Text)))
		}
	}
}

// inconclusive lists the reasons, folded: they are many, and a reader should know that they are no passes.
func inconclusive(b *bytes.Buffer, r *model.Result) {
	var lines []string
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; v.Status == rule.Inconclusive {
			lines = append(lines, fmt.Sprintf("- %s %s\n", code(v.Rule), escape(v.Reason)))
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(b, "<details><summary>%s inconclusive</summary>\n\n%s\n</details>\n\n",
			quantity.Plural(int64(len(lines)), "rule is", "rules are"), strings.Join(lines, ""))
	}
}

// link writes one line per certificate.
func link(b *bytes.Buffer, r *model.Result) {
	for _, c := range r.Certificates {
		if c.Valid {
			fmt.Fprintf(b, "Link %s the run: valid, %s within bounds.\n\n", escape(c.When),
				quantity.Plural(int64(len(c.Items)), "property", "properties"))
		} else {
			fmt.Fprintf(b, "Link %s the run: **not what the Spec says**: %s\n\n", escape(c.When), escape(c.Reason))
		}
	}
}

// special are the characters with which text inside a line could become markup. The sign @ would call people.
const special = "\\`*_[]<>|~&@#"

// escape makes foreign text literal, on one line.
func escape(s string) string {
	var b strings.Builder
	for _, c := range strings.Join(strings.Fields(quote.Line(s, quote.Message)), " ") {
		if strings.ContainsRune(special, c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return links.Replace(b.String())
}

// links escapes the parts of addresses that GitHub turns into links automatically.
var links = strings.NewReplacer("://", `:\//`, "www.", `www\.`)

// code sets s in a code span if no character could end the span, or the table cell around it.
func code(s string) string {
	s = strings.Join(strings.Fields(quote.Line(s, quote.Message)), " ")
	switch {
	case s == "":
		return "–"
	case strings.ContainsAny(s, "`|\\"):
		return escape(s)
	}
	return "`" + s + "`"
}

// fenced sets s in a code block whose fence is longer than any in s.
func fenced(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fmt.Sprintf("%stext\n%s\n%s\n", fence, strings.TrimRight(s, "\n"), fence)
}

// indent moves a block below a list item.
func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n  ") + "\n"
}
