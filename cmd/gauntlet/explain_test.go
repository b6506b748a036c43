package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

func TestExplain(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		code int
		want []string // texts on either stream
	}{
		{nil, 0, []string{"RC      47 rules", "gauntlet explain RC-PSN-005"}},
		{[]string{"gbn-nak"}, 0, []string{"GBN-NAK-002", "GBN-NAK-004"}},
		{[]string{"GBN-NAK-002"}, 0,
			[]string{"MUST NOT", "IBTA 9.7.5.2", "the responder's tap", "<== GBN-NAK-002", "broken-nak-always"}},
		{[]string{"--list", "GBN-NAK-002"}, 0, []string{"GBN     1 rule", "No second sequence NAK"}},
		{[]string{"second", "sequence", "NAK"}, 0, []string{"GBN     2 rules", "GBN-NAK-002"}},
		{[]string{"second", "sequence", "NAK", "gap", "silence"}, exitUsage, []string{"none says that"}},
		{[]string{"GBN-NACK-002"}, exitUsage, []string{"similar: GBN-NAK-002"}},
		{[]string{"no-such-thing"}, exitUsage, []string{"lists the families"}},
	} {
		o := inProcess(t, dir, append([]string{"explain"}, c.args...)...)
		for _, want := range c.want {
			if o.code != c.code || !strings.Contains(o.stdout+o.stderr, want) {
				t.Errorf("explain %v: exit %d, %q is missing:\n%s%s", c.args, o.code, want, o.stdout, o.stderr)
			}
		}
	}
	var b model.Rulebook
	must(t, json.Unmarshal([]byte(inProcess(t, dir, "explain", "GBN-NAK-002", "--json").stdout), &b))
	if len(b.Families) != 1 || len(b.Families[0].Rules) != 1 || b.Families[0].Rules[0].Broken == nil {
		t.Errorf("as JSON: %+v", b)
	}
	if o := inProcess(t, dir, "explain", "GBN", "--html", "book.html"); o.code != 0 {
		t.Errorf("as a page: exit %d, %s", o.code, o.stderr)
	}
	page, err := os.ReadFile(filepath.Join(dir, "book.html"))
	must(t, err)
	if n := strings.Count(string(page), `<details class="entry" id="GBN-`); n != 16 {
		t.Errorf("the page has %d rules", n)
	}
}
