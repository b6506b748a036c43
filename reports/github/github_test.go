package github

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

func annotations(t *testing.T, g *model.Gate) []string {
	t.Helper()
	var b strings.Builder
	if err := Annotations(&b, g); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

func TestAnnotations(t *testing.T) {
	got := annotations(t, modeltest.Gate())
	want := "::error title=GBN-NAK-002 FAIL::What GBN-NAK-002 asks for%0Asecond NAK of psn=+2"
	if len(got) != 2 || got[0] != want || !strings.HasPrefix(got[1], "::error title=NEG-ACK-001 XPASS::") {
		t.Errorf("%q", got)
	}
	broken := modeltest.Gate()
	broken.Stages[1].Rules = nil
	if got := annotations(t, broken); len(got) != 1 ||
		!strings.HasPrefix(got[0], "::error title=gauntlet gate FAIL::") {
		t.Errorf("%q", got)
	}
	if got := annotations(t, &model.Gate{Status: "PASS"}); len(got) != 1 || got[0] != "" {
		t.Errorf("%q of what passed", got)
	}
}

// A step shows ten annotations; the tenth gives the number of the other rules.
func TestTenAtMost(t *testing.T) {
	g := modeltest.Gate()
	one := g.Broken()[0]
	g.Stages[1].Rules = nil
	for i := range 14 {
		one.Rule = fmt.Sprintf("GBN-NAK-%03d", i)
		g.Stages[1].Rules = append(g.Stages[1].Rules, one)
	}
	got := annotations(t, g)
	if len(got) != most || !strings.Contains(got[most-1], "and 4 more rules are broken") {
		t.Errorf("%d: %q", len(got), got[len(got)-1])
	}
}

// Whatever text is in a field, each line is one command of this package with one title, and the outputs have fixed
// names.
func TestHostileTextEverywhere(t *testing.T) {
	order := regexp.MustCompile(`^::error title=[^:,\r]*::[^\r]*$`)
	output := regexp.MustCompile(`^(verdict|subject|broken|new-failures|changes|folder)=[^\r]*$`)
	for _, text := range modeltest.Hostile() {
		for _, statuses := range []bool{true, false} {
			g := modeltest.Fill(modeltest.Gate(), text, statuses)
			for _, line := range annotations(t, g) {
				if !order.MatchString(line) {
					t.Errorf("%.60q: %q", text, line)
				}
			}
			var b strings.Builder
			if err := Outputs(&b, g); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
			if len(lines) != 6 {
				t.Errorf("%.60q: %d outputs", text, len(lines))
			}
			for _, line := range lines {
				if !output.MatchString(line) {
					t.Errorf("%.60q: %q", text, line)
				}
			}
		}
	}
}
