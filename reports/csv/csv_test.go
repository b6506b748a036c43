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
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll() // refuses rows of different lengths
	if err != nil || len(rows) != 1+3*3+1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if got, want := strings.Join(rows[2], ","), "1e+09,0.001,0.001,1,113,irn,0.98,0.97,0.99,5,true,true,0,0,0,"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := rows[10]; got[6] != "" || got[len(got)-1] != "context canceled" {
		t.Errorf("what was not run: %v", got)
	}
}
