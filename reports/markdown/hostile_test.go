package markdown

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

// summaries are all summaries of this package, with text in every string of their models.
func summaries(text string, statuses bool) map[string]func(io.Writer) error {
	return map[string]func(io.Writer) error{
		"result": func(w io.Writer) error { return Write(w, modeltest.Fill(modeltest.Result(), text, statuses)) },
		"matrix": func(w io.Writer) error { return Matrix(w, modeltest.Fill(modeltest.Matrix(), text, statuses)) },
		"peers":  func(w io.Writer) error { return Matrix(w, modeltest.Fill(modeltest.Peers(), text, statuses)) },
		"night":  func(w io.Writer) error { return Night(w, modeltest.Fill(modeltest.Night(), text, statuses)) },
		"gate":   func(w io.Writer) error { return Gate(w, modeltest.Fill(modeltest.Gate(), text, statuses)) },
		"perf":   func(w io.Writer) error { return Perf(w, modeltest.Fill(modeltest.Perf(), text, statuses)) },
	}
}

var (
	fence   = regexp.MustCompile("^ *(`{3,})")
	escaped = regexp.MustCompile(`\\[!-/:-@\[-` + "`" + `{-~]`)
	span    = regexp.MustCompile("`[^`]+`")
	// markup matches text that is markup of a line unless it is escaped or in a code span.
	markup = regexp.MustCompile("^ *(?:#+ |- |> |[0-9]+[.)] )|\\*\\*?|</?[a-z]+>|[<>\\[\\]`|~_&@]|://|www\\.")
)

// skeleton returns the markup of each line, without the content of code.
func skeleton(t *testing.T, text string, write func(io.Writer) error) (lines []string) {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	if b.String() != quote.Text(b.String()) {
		t.Errorf("%.60q: what does not print is in the summary", text)
	}
	if !strings.Contains(b.String(), modeltest.Benign) {
		t.Errorf("%.60q: the rest of the text is lost", text)
	}
	open := ""
	for line := range strings.Lines(b.String()) {
		ticks := fence.FindStringSubmatch(line)
		switch {
		case open == "" && ticks != nil:
			open = ticks[1]
			lines = append(lines, "code")
		case open != "" && ticks != nil && len(ticks[1]) >= len(open):
			open = ""
		case open == "":
			bare := span.ReplaceAllString(escaped.ReplaceAllString(line, ""), "")
			lines = append(lines, strings.Join(markup.FindAllString(bare, -1), " "))
		}
	}
	return lines
}

// Whatever text is in a field, a summary has the same markup as with benign text.
func TestHostileTextEverywhere(t *testing.T) {
	for _, statuses := range []bool{true, false} {
		want := map[string][]string{}
		for name, write := range summaries(modeltest.Benign, statuses) {
			want[name] = skeleton(t, name, write)
		}
		for n, text := range modeltest.Hostile() {
			if testing.Short() && n%4 != 0 {
				continue
			}
			for name, write := range summaries(text, statuses) {
				got := skeleton(t, text, write)
				if slices.Equal(got, want[name]) {
					continue
				}
				for i := range min(len(got), len(want[name])) {
					if got[i] != want[name][i] {
						t.Errorf("%s of %.60q: line %d is %q, want %q", name, text, i, got[i], want[name][i])
						break
					}
				}
			}
		}
	}
}
