package selfcheck

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
)

// Print writes a line for each rule, and its findings.
func Print(out io.Writer, verdicts []rule.Verdict) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, v := range verdicts {
		fmt.Fprintf(w, "%s\t%s\t%v\t%d times\t%s\n", v.Rule, v.Level, v.Status, v.Met, cmp.Or(v.Reason, v.Title))
		for _, f := range v.Findings {
			fmt.Fprintf(w, "\t\t\t\t  %s\n", f.Line())
		}
		if n := v.More(); n > 0 {
			fmt.Fprintf(w, "\t\t\t\t  … and %d more\n", n)
		}
		if v.Explain != "" {
			fmt.Fprintf(w, "\t\t\t\t  %s\n", v.Explain)
		}
	}
	return w.Flush()
}

// Failed counts the rules that failed.
func Failed(verdicts []rule.Verdict) (n int) {
	for _, v := range verdicts {
		if v.Status == rule.Fail {
			n++
		}
	}
	return n
}
