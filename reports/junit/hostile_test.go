package junit

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

// documents are all documents of this package, with text in every string of their models.
func documents(text string, statuses bool) map[string]func(io.Writer) error {
	return map[string]func(io.Writer) error{
		"result": func(w io.Writer) error { return Write(w, modeltest.Fill(modeltest.Result(), text, statuses)) },
		"gate":   func(w io.Writer) error { return Gate(w, modeltest.Fill(modeltest.Gate(), text, statuses)) },
		"qualification": func(w io.Writer) error {
			return Qualification(w, modeltest.Fill(modeltest.Qualification(), text, statuses))
		},
	}
}

// skeleton returns the elements and attributes of a document, in order.
func skeleton(t *testing.T, text string, write func(io.Writer) error) (names []string) {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	if b.String() != quote.Text(b.String()) {
		t.Errorf("%.60q: what does not print is in the document", text)
	}
	found := false
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			if !found {
				t.Errorf("%.60q: the rest of the text is lost", text)
			}
			return names
		}
		if err != nil {
			t.Fatalf("%.60q: %v", text, err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			names = append(names, e.Name.Local)
			for _, a := range e.Attr {
				names = append(names, " "+a.Name.Local)
				found = found || strings.Contains(a.Value, modeltest.Benign)
			}
		case xml.EndElement:
			names = append(names, "/")
		case xml.Comment, xml.ProcInst, xml.Directive:
			names = append(names, "other")
		}
	}
}

// Whatever text is in a field, the document is XML with the same elements and attributes as with benign text.
func TestHostileTextEverywhere(t *testing.T) {
	for _, statuses := range []bool{true, false} {
		want := map[string][]string{}
		for name, write := range documents(modeltest.Benign, statuses) {
			want[name] = skeleton(t, name, write)
		}
		for _, text := range modeltest.Hostile() {
			for name, write := range documents(text, statuses) {
				if got := skeleton(t, text, write); !slices.Equal(got, want[name]) {
					t.Errorf("%s of %.60q: has %d names, want %d", name, text, len(got), len(want[name]))
				}
			}
		}
	}
}
