package csv

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

// cells returns the cells of a written table, row by row.
func cells(t *testing.T, write func(io.Writer) error) [][]string {
	t.Helper()
	var b strings.Builder
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// entry returns a point of a night.
func entry() *history.Entry {
	return &history.Entry{Header: &history.Header{Night: "x", Started: "x", Version: "x", Commit: "x", Host: "x",
		Kernel: "x", Firmware: "x"},
		Point: &history.Point{Series: history.Series{Name: "x", Bench: "x", Class: "x", Unit: "x", Better: "x"},
			Values: []float64{-1},
			Word:   "x", Status: "x", Spec: "x", Run: "x", Seeds: []uint64{1}}}
}

// Whatever text is in a field, a table has the same rows and cells as with benign text, and no cell is a formula.
func TestHostileTextEverywhere(t *testing.T) {
	tables := func(text string) [3][][]string {
		return [3][][]string{
			cells(t, func(w io.Writer) error { return Atlas(w, modeltest.Fill(modeltest.Atlas(), text, true)) }),
			cells(t, func(w io.Writer) error {
				return Figure(w, &modeltest.Fill(modeltest.Figures(), text, true).Figures[0])
			}),
			cells(t, func(w io.Writer) error {
				return Tracks(w, []history.Track{{Entries: []history.Entry{*modeltest.Fill(entry(), text, true)}}})
			}),
		}
	}
	want := tables(modeltest.Benign)
	for _, text := range modeltest.Hostile() {
		got, seen := tables(text), 0
		for i := range got {
			if len(got[i]) != len(want[i]) {
				t.Fatalf("%.60q: %d lines, want %d", text, len(got[i]), len(want[i]))
			}
			for _, row := range got[i] {
				for _, c := range row {
					_, err := strconv.ParseFloat(c, 64)
					if err != nil && c != "" && strings.ContainsRune("=+-@＝＋－＠\t\r", []rune(c)[0]) || !quote.Clean(c) {
						t.Errorf("%.60q: cell %.60q", text, c)
					}
					if strings.Contains(c, modeltest.Benign) {
						seen++
					}
				}
			}
		}
		if seen == 0 {
			t.Errorf("%.60q: the rest of the text is lost", text)
		}
	}
}

// A number is not quoted as a formula.
func TestNumbersAreNoFormulas(t *testing.T) {
	for in, want := range map[string]string{"-1.5e-3": "-1.5e-3", "+1": "+1", "": "", "gbn": "gbn", "-gbn": "'-gbn",
		"=1+1": "'=1+1"} {
		if got := noFormula(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
