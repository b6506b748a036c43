package terminal

import (
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

// pages are all pages of this package, with text in every string of their models.
func pages(text string, statuses bool) map[string]func(io.Writer, Options) error {
	return map[string]func(io.Writer, Options) error{
		"result": func(w io.Writer, o Options) error {
			return Write(w, modeltest.Fill(modeltest.Result(), text, statuses), o)
		},
		"matrix": func(w io.Writer, o Options) error {
			return Matrix(w, modeltest.Fill(modeltest.Matrix(), text, statuses), o)
		},
		"peers": func(w io.Writer, o Options) error {
			return Matrix(w, modeltest.Fill(modeltest.Peers(), text, statuses), o)
		},
		"qualification": func(w io.Writer, o Options) error {
			return Qualification(w, modeltest.Fill(modeltest.Qualification(), text, statuses), o)
		},
		"gate": func(w io.Writer, o Options) error {
			return Gate(w, modeltest.Fill(modeltest.Gate(), text, statuses), o)
		},
		"night": func(w io.Writer, o Options) error {
			return Night(w, modeltest.Fill(modeltest.Night(), text, statuses), o)
		},
		"bisection": func(w io.Writer, o Options) error {
			return Bisection(w, modeltest.Fill(modeltest.Bisection(), text, statuses), o)
		},
		"tracks": func(w io.Writer, o Options) error {
			return Tracks(w, modeltest.Fill(modeltest.Tracks(), text, statuses), o)
		},
		"perf": func(w io.Writer, o Options) error {
			return Perf(w, modeltest.Fill(modeltest.Perf(), text, statuses), o)
		},
		"changes": func(w io.Writer, o Options) error {
			return Changes(w, modeltest.Fill(modeltest.Changes(), text, statuses), o)
		},
		"contrast": func(w io.Writer, o Options) error {
			return Contrast(w, modeltest.Fill(modeltest.Contrast(), text, statuses), o)
		},
		"rulebook": func(w io.Writer, o Options) error {
			return Rulebook(w, modeltest.Fill(modeltest.Rulebook(), text, statuses), o)
		},
		"rules": func(w io.Writer, o Options) error {
			return Rules(w, modeltest.Fill(modeltest.Rulebook(), text, statuses), o)
		},
		"families": func(w io.Writer, o Options) error {
			return Families(w, modeltest.Fill(modeltest.Rulebook(), text, statuses), o)
		},
		"passport": func(w io.Writer, o Options) error {
			return Passport(w, modeltest.Fill(modeltest.Checked(), text, statuses), o)
		},
		"difference": func(w io.Writer, o Options) error {
			return Difference(w, modeltest.Fill(modeltest.Difference(), text, statuses), o)
		},
		"atlas": func(w io.Writer, o Options) error {
			return Atlas(w, modeltest.Fill(modeltest.Atlas(), text, statuses), o)
		},
	}
}

var (
	ours = regexp.MustCompile(`\x1b\[(0|1|2|[12];?3?[123]?|3[123])m`)
	// order matches the commands of GitHub, Azure and TeamCity in a line of a log.
	order = regexp.MustCompile(`(?m)^[\s\p{Z}]*::|##[[:alpha:]]*\[`)
)

// Whatever text is in a field, a terminal gets only text and our colours, and the log of a CI job gets no commands.
func TestHostileTextEverywhere(t *testing.T) {
	for n, text := range modeltest.Hostile() {
		if testing.Short() && n%4 != 0 {
			continue
		}
		for name, page := range pages(text, true) {
			check(t, name, text, page)
		}
		for name, page := range pages(text, false) {
			check(t, name+", statuses too", text, page)
		}
	}
}

func check(t *testing.T, name, text string, page func(io.Writer, Options) error) {
	t.Helper()
	for _, color := range []bool{false, true} {
		var b strings.Builder
		if err := page(&b, Options{Color: color}); err != nil {
			t.Fatalf("%s of %.60q: %v", name, text, err)
		}
		got := b.String()
		if !utf8.ValidString(got) {
			t.Errorf("%s of %.60q: no UTF-8", name, text)
		}
		if o := order.FindString(got); o != "" {
			t.Errorf("%s of %.60q: orders %q", name, text, o)
		}
		if color {
			got = ours.ReplaceAllString(got, "") // also those in the text, because colours do no harm here
		}
		if i := strings.IndexFunc(got, func(c rune) bool {
			return c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c))
		}); i >= 0 {
			t.Errorf("%s of %.60q: %.60q", name, text, got[i:])
		}
		if !strings.Contains(got, modeltest.Benign) {
			t.Errorf("%s of %.60q: the rest of the text is lost", name, text)
		}
	}
}
