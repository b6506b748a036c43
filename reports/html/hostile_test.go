package html

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
	"github.com/rdma-gauntlet/gauntlet/reports/passport"
)

// pages are all pages of this package, with text in every string of their models.
func pages(text string, statuses bool) map[string]func(io.Writer) error {
	return map[string]func(io.Writer) error{
		"result": func(w io.Writer) error { return Write(w, modeltest.Fill(modeltest.Result(), text, statuses)) },
		"matrix": func(w io.Writer) error { return Matrix(w, modeltest.Fill(modeltest.Matrix(), text, statuses), "") },
		"peers":  func(w io.Writer) error { return Matrix(w, modeltest.Fill(modeltest.Peers(), text, statuses), "") },
		"qualification": func(w io.Writer) error {
			return Qualification(w, modeltest.Fill(modeltest.Qualification(), text, statuses))
		},
		"passport": func(w io.Writer) error {
			return Passport(w, modeltest.Fill(modeltest.Checked(), text, statuses))
		},
		"passports": func(w io.Writer) error {
			return Passports(w, []*passport.Checked{modeltest.Fill(modeltest.Checked(), text, statuses),
				modeltest.Fill(modeltest.Checked(), text, statuses)}, []string{"1.html", "2.html"})
		},
		"perf": func(w io.Writer) error { return Perf(w, modeltest.Fill(modeltest.Perf(), text, statuses)) },
		"contrast": func(w io.Writer) error {
			return Contrast(w, modeltest.Fill(modeltest.Contrast(), text, statuses))
		},
		"atlas":     func(w io.Writer) error { return Atlas(w, modeltest.Fill(modeltest.Atlas(), text, statuses)) },
		"atlas.svg": func(w io.Writer) error { return AtlasSVG(w, modeltest.Fill(modeltest.Atlas(), text, statuses)) },
		"rulebook": func(w io.Writer) error {
			return Rulebook(w, modeltest.Fill(modeltest.Rulebook(), text, statuses))
		},
		"figures": func(w io.Writer) error { return Figures(w, modeltest.Fill(modeltest.Figures(), text, statuses)) },
		"figure.svg": func(w io.Writer) error {
			return FigureSVG(w, &modeltest.Fill(modeltest.Figures(), text, statuses).Figures[0])
		},
	}
}

// skeleton returns the elements of a page with the names of their attributes, in order. It checks that links are local.
func skeleton(t *testing.T, text string, write func(io.Writer) error) (names []string) {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if page != quote.Text(page) {
		t.Errorf("%.60q: what does not print is in the page", text)
	}
	if !strings.Contains(page, modeltest.Benign) {
		t.Errorf("%.60q: the rest of the text is lost", text)
	}
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			if !errors.Is(z.Err(), io.EOF) {
				t.Fatalf("%.60q: %v", text, z.Err())
			}
			return names
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken, html.CommentToken:
			e := z.Token()
			if e.Data == "text" { // a line of a drawing; long text has several
				continue
			}
			if kind == html.CommentToken {
				e.Data = "comment"
			}
			names = append(names, kind.String()+" "+e.Data)
			for _, a := range e.Attr {
				names = append(names, e.Data+" "+a.Key)
				if (a.Key == "href" || a.Key == "src") && !strings.HasPrefix(a.Val, "#") &&
					!strings.HasPrefix(a.Val, "./") {
					t.Errorf("%.60q: %s %s is %.60q", text, e.Data, a.Key, a.Val)
				}
				if a.Key == "id" && a.Val == "plot-data" {
					z.Next()
					if !json.Valid(z.Text()) {
						t.Errorf("%.60q: the data of the plots is no JSON", text)
					}
				}
			}
		}
	}
}

// Whatever text is in a field, a page has the same elements and attributes as with benign text.
func TestHostileTextEverywhere(t *testing.T) {
	for _, statuses := range []bool{true, false} {
		want := map[string][]string{}
		for name, write := range pages(modeltest.Benign, statuses) {
			want[name] = skeleton(t, name, write)
		}
		for n, text := range modeltest.Hostile() {
			if testing.Short() && n%4 != 0 {
				continue
			}
			for name, write := range pages(text, statuses) {
				got := skeleton(t, text, write)
				if slices.Equal(got, want[name]) {
					continue
				}
				for i := range min(len(got), len(want[name])) {
					if got[i] != want[name][i] {
						t.Errorf("%s of %.60q: name %d is %q, want %q", name, text, i, got[i], want[name][i])
						break
					}
				}
			}
		}
	}
}
