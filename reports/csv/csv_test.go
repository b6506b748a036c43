package csv

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

func TestAtlas(t *testing.T) {
	var b strings.Builder
	if err := Atlas(&b, modeltest.Atlas()); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll() // an error if rows have different lengths
	if err != nil || len(rows) != 1+3*3+1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if got, want := strings.Join(rows[2], ","),
		"1e+09,0.001,0.001,1,113,irn,0.98,0.97,0.99,5,true,true,0,0,0,"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := rows[10]; got[6] != "" || got[len(got)-1] != "context canceled" {
		t.Errorf("what was not run: %v", got)
	}
}

func TestFigure(t *testing.T) {
	m := modeltest.Figures()
	for i, want := range []int{1 + 5 + 2 + 1 + 1, 1 + 2 + 1} {
		var b strings.Builder
		if err := Figure(&b, &m.Figures[i]); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
		if err != nil || len(rows) != want {
			t.Fatalf("%d rows, want %d, %v\n%s", len(rows), want, err, b.String())
		}
		if last := strings.Join(rows[want-1], ","); i == 1 && last != "XX-2,,a level,paper,QPs,,,memory,B,700,,,," {
			t.Error(last)
		}
		if got := strings.Join(rows[1], ","); i == 0 &&
			got != "XX-1,40 ms,plain,ours,loss,,1e-05,goodput,Gb/s,6,5.5,6.5,2," {
			t.Error(got)
		}
	}
}
