//go:build lab

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// needSoftRoCE skips the test, with the reason, where guests lack soft-RoCE or perftest.
func needSoftRoCE(t *testing.T) {
	t.Helper()
	needLab(t)
	files := strings.Join(dut.Files(), " ")
	if !strings.Contains(files, "ib_write_bw") || !strings.Contains(files, "librxe") {
		t.Skip("no perftest, or no driver of soft-RoCE; apt-get install perftest ibverbs-providers")
	}
}

// A small cell, measured twice, gives the same bytes, which include the known properties of soft-RoCE.
func TestGoodputRepeats(t *testing.T) {
	needSoftRoCE(t)
	var said, pages [2]string
	// both runs use the same folder name, because the guest has it too and its kernel hashes names
	dir := t.TempDir()
	for n := range said {
		o := gauntlet(t, dir,
			strings.Fields("lab goodput --deterministic --rtt 4ms --loss 1e-2 --count 5 --singles 5 --msg 160KiB "+
				"--json --html cell.html")...)
		if o.code != 0 {
			t.Fatalf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
		}
		page, err := os.ReadFile(filepath.Join(dir, "cell.html"))
		must(t, err)
		must(t, os.Remove(filepath.Join(dir, "cell.html")))
		said[n], pages[n] = o.stdout, string(page)
	}
	if said[0] != said[1] || pages[0] != pages[1] {
		t.Errorf("first\n%s\nthen\n%s", said[0], said[1])
	}
	var m model.Contrast
	must(t, json.Unmarshal([]byte(said[0]), &m))
	const packets = 5 * 160
	for side, r := range m.Rows[0].Sides {
		for _, run := range []*model.ContrastRun{&r.Stream, &r.Single} {
			if run.DataPackets-run.Retransmitted != packets || run.GoodputBps < 1e6 || run.GoodputBps > 50e6 ||
				run.FCT.Count != 5 || run.Lost == 0 || run.Retransmitted == 0 {
				t.Errorf("%s: %+v; want %d packets, some lost and sent again", m.Impls[side], run.Summary, packets)
			}
		}
	}
	rxe, gbn := &m.Rows[0].Sides[0].Stream.Reasons, &m.Rows[0].Sides[1].Stream.Reasons
	if w := rxe.Window.Most; w < 120 || w > 136 {
		t.Errorf("%d packets of soft-RoCE in flight; its window is 128", w)
	}
	if w := gbn.Window.Most; w < 200 || w > 320 {
		t.Errorf("%d packets of %s in flight; two messages are 320", w, m.Impls[1])
	}
	if e := rxe.AckReqEvery; e.Median < 50 || e.Greatest > 80 {
		t.Errorf("soft-RoCE asks for an acknowledgement every %+v packets; want about 64, and never a "+
			"message of 160 without", e)
	}
}
