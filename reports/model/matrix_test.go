package model_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

func TestMatrixSurvivesJSON(t *testing.T) {
	want := modeltest.Matrix()
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got model.Matrix
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, &got); d != "" {
		t.Errorf("(-written +read)\n%s", d)
	}
}

func TestPeersSurviveJSON(t *testing.T) {
	want := modeltest.Peers()
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got model.Matrix
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, &got); d != "" {
		t.Errorf("(-written +read)\n%s", d)
	}
	if c := got.Met("irn", "gbn", "clean"); c == nil || c.Status != "NOT-APPLICABLE" ||
		got.Met("gbn", "nobody", "clean") != nil {
		t.Errorf("%+v", c)
	}
	if s := got.Size(); s != "3 implementations, each with each, over 1 link" {
		t.Error(s)
	}
}

func TestMatrixStatus(t *testing.T) {
	cells := func(all ...rule.Status) (out []model.Cell) {
		for _, s := range all {
			out = append(out, model.Cell{Status: s.String()})
		}
		return out
	}
	escaped := []model.Kill{{Status: rule.Pass.String()}}
	for _, c := range []struct {
		m    model.Matrix
		want rule.Status
	}{
		{model.Matrix{Cells: cells(rule.Pass, rule.Pass)}, rule.Pass},
		{model.Matrix{Cells: cells(rule.Pass, rule.Fail, rule.Pass)}, rule.Fail},
		{model.Matrix{Cells: cells(rule.Fail, rule.Invalid)}, rule.Fail},
		{model.Matrix{Cells: cells(rule.Pass, rule.Invalid)}, rule.Invalid},
		{model.Matrix{Cells: cells(rule.NotApplicable, rule.Pass, rule.NotApplicable)}, rule.Pass},
		{model.Matrix{Cells: cells(rule.Pass, rule.NotApplicable, rule.Fail)}, rule.Fail},
		{model.Matrix{Cells: cells(rule.NotApplicable)}, rule.NotApplicable},
		{model.Matrix{Cells: []model.Cell{{}}}, rule.Error},
		{model.Matrix{Cells: cells(rule.Pass), Kills: escaped}, rule.Fail},
		{model.Matrix{Cells: cells(rule.Invalid), Kills: escaped}, rule.Fail},
		{model.Matrix{Cells: cells(rule.Pass), Kills: []model.Kill{{Status: rule.Fail.String()}}}, rule.Pass},
	} {
		if c.m.Settle(); c.m.Status != c.want.String() {
			t.Errorf("%+v: %s, want %s", c.m, c.m.Status, c.want)
		}
	}
}
