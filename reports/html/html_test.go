package html

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

func write(t testing.TB, r *model.Result) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The files of uPlot are those of its release: their hashes are in SHA256SUMS.
func TestAssetsAreTheReleasedOnes(t *testing.T) {
	sums := strings.Fields(asset("uplot/SHA256SUMS"))
	if len(sums) != 6 {
		t.Fatalf("SHA256SUMS lists %d words, want three files", len(sums))
	}
	for i := 0; i < len(sums); i += 2 {
		text := asset("uplot/" + sums[i+1])
		if sum := sha256.Sum256([]byte(text)); hex.EncodeToString(sum[:]) != sums[i] {
			t.Errorf("%s has another hash", sums[i+1])
		}
		if strings.Contains(text, "</script") || strings.Contains(text, "<!--") {
			t.Errorf("%s cannot be inlined", sums[i+1])
		}
	}
	if !strings.Contains(asset("uplot/LICENSE"), "MIT") {
		t.Error("the licence of uPlot is missing")
	}
}

func TestEverythingIsShown(t *testing.T) {
	r := modeltest.Result()
	got := write(t, r)
	want := []string{"<title>FAIL · gbn on netns", "66.4", "20.7 % of data packets", "131", r.Notes[0],
		r.Environment[0].Value, "loss A&gt;B random p=0.001",
		r.Command, "A&gt;B dropped: loss", "14ms", "✗ not ok", "✓ ok",
		"B&gt;A delay p99 was 14ms, and at most 11ms will do", "&lt;== RC-NAK-002", "third NAK for psn=&#43;1",
		"stimulus not seen: a SEND without a posted receive", "… and 1 more",
		"60 of 200 requests done, 1 failed (RETRY_EXC_ERR), 127 flushed", "SHOULD, not required", "second NAK",
		"A paraphrase of RC-NAK-002", "IBTA 9.7.5.2", r.Warnings[0]}
	for _, v := range r.Verdicts {
		want = append(want, v.Rule, v.Title, v.Status.String())
	}
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("the report does not show %q", w)
		}
	}
	if n := strings.Count(got, `<tr class="v-`); n != len(r.Verdicts) {
		t.Errorf("%d rows of verdicts, want %d", n, len(r.Verdicts))
	}
}

// Failures come first, and each status that occurs has a filter.
func TestOrderAndFilters(t *testing.T) {
	rows, filters := rows(modeltest.Result())
	var ids, chips []string
	for _, r := range rows {
		ids = append(ids, r.Rule)
	}
	for _, f := range filters {
		chips = append(chips, fmt.Sprintf("%s %d", f.Slug, f.Count))
	}
	want := "RC-NAK-002 RC-ACK-004 NEG-PSN-001 RC-TMO-003 RC-TMO-001 RC-TMO-002 WIRE-BTH-001 RC-ACK-001 " +
		"RC-RNR-001 WIRE-UD-001"
	if got := strings.Join(ids, " "); got != want {
		t.Errorf("order %s\nwant  %s", got, want)
	}
	want = "all 10, fail 2, error 1, xpass 1, invalid 1, xfail 1, pass 2, inconclusive 1, not-applicable 1"
	if got := strings.Join(chips, ", "); got != want {
		t.Errorf("filters %s\nwant    %s", got, want)
	}
	css := asset("style.css")
	for s := rule.Pass; s <= rule.Fail; s++ {
		if !strings.Contains(css, fmt.Sprintf("#f-%s:checked", slug(s))) || !strings.Contains(css, ".s-"+slug(s)) {
			t.Errorf("the style sheet has no filter or colour for %s", s)
		}
	}
}

// withoutScripts removes the scripts, which include foreign code, and keeps the data.
func withoutScripts(page string) string {
	return regexp.MustCompile(`(?s)<script>.*?</script>`).ReplaceAllString(page, "")
}

var loads = regexp.MustCompile(`(?i)(<link\b|<img\b|<iframe\b|<object\b|\bsrc\s*=|@import|url\(|<base\b)`)

var handler = regexp.MustCompile(`(?i)<[^>]*\son[a-z]+\s*=`)

// The file is self-contained and has no inline event handler; the policy of the page would stop both.
func TestLoadsNothing(t *testing.T) {
	got := write(t, modeltest.Result())
	html := withoutScripts(got)
	for _, re := range []*regexp.Regexp{loads, handler} {
		if m := re.FindString(html); m != "" {
			t.Errorf("found %q", m)
		}
	}
	for _, m := range regexp.MustCompile(`https?://[^"'\s<]*`).FindAllString(html, -1) {
		t.Errorf("the page refers to %s", m)
	}
	if !strings.Contains(html, "default-src &#39;none&#39;") && !strings.Contains(html, "default-src 'none'") {
		t.Error("no content security policy")
	}
}

// hostile returns a result with markup in every field with foreign text.
func hostile() *model.Result {
	r := modeltest.Result()
	nasty := `</script></style></title><script>alert(1)</script><img src=x onerror=alert(2)>"'` + "`${alert(3)}\u2028"
	r.Version, r.Commit, r.Started, r.Command, r.Bench, r.Impl = nasty, nasty, nasty, nasty, nasty,
		[2]string{nasty, nasty}
	r.Spec, r.SpecHash, r.Folder, r.Reason = nasty, nasty, nasty, nasty
	r.Warnings, r.Notes = []string{nasty}, []string{nasty}
	r.Environment, r.Counters = []model.Fact{{Name: nasty, Value: nasty}}, []model.Fact{{Name: nasty, Value: nasty}}
	r.Ladders[0].Text, r.Sequences[0].From = nasty, nasty
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		v.Title, v.Reason, v.Level, v.Source = nasty, nasty, rule.Level(nasty),
			rule.Source{Ref: nasty, Requirement: nasty}
		for k := range v.Findings {
			v.Findings[k].Text, v.Findings[k].Blame = nasty, rule.Blame(nasty)
		}
	}
	for i := range r.Certificates {
		c := &r.Certificates[i]
		c.When, c.Reason = nasty, nasty
		c.Items[0].Name, c.Items[0].Want, c.Items[0].Got, c.Items[0].Bound = nasty, nasty, nasty, nasty
	}
	return r
}

func TestEscapesEverything(t *testing.T) {
	got := write(t, hostile())
	plain := write(t, modeltest.Result())
	for _, tag := range []string{"<script", "</script", "<style", "</style", "<title", "<img", "onerror=alert(2)>"} {
		if g, w := strings.Count(got, tag), strings.Count(plain, tag); g != w {
			t.Errorf("%d of %q, want %d", g, tag, w)
		}
	}
}

func TestOddResults(t *testing.T) {
	for name, r := range map[string]*model.Result{
		"nothing": {},
		"error":   {Status: rule.Error.String(), Reason: "sim: limit reached"},
		"no rates": {Summary: metrics.Summary{PayloadBytes: 1, ElapsedNs: 1},
			Timeline: metrics.Timeline{Step: 1, Bytes: []int64{1}}},
		"no marks": {Sequences: []metrics.Sequence{{}}},
		"one mark": {Sequences: []metrics.Sequence{{Marks: []metrics.Mark{{}}}}},
		"bad kind": {Sequences: []metrics.Sequence{{Marks: []metrics.Mark{{Kind: 200}, {At: 5, Offset: -3}}}}},
		"bad steps": {Summary: metrics.Summary{PayloadBytes: 1, ElapsedNs: -5},
			Timeline: metrics.Timeline{Step: -1, Bytes: []int64{1}}},
	} {
		got := withoutScripts(write(t, r))
		if strings.Contains(got, "NaN") || strings.Contains(got, "Inf") ||
			!strings.HasSuffix(strings.TrimSpace(got), "</html>") {
			t.Errorf("%s: report is broken\n%s", name, got)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriteErrorIsReturned(t *testing.T) {
	if err := Write(full{}, modeltest.Result()); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error %v", err)
	}
}
