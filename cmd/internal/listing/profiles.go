package listing

import (
	"fmt"
	"io"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/profiles"
)

func profileRows() any { return profiles.All() }

func printProfiles(w io.Writer) {
	for _, p := range profiles.All() {
		fmt.Fprintf(w, "%s\t%s\trules %s\tcore %s\n", p.Name, p.Title, strings.Join(p.Families, " "),
			strings.Join(p.Core, " "))
		for _, t := range p.Targets {
			fmt.Fprintf(w, "\t  target %s, bound of %s %s\t%s\n", t.Name, t.Claim, t.Check,
				strings.ReplaceAll(strings.TrimSpace(t.Text), "\n", "; "))
		}
	}
}
