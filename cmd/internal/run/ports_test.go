package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/recording"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// TestPortsCertify: a capture with as many frames as the mirrored ports counted is valid. Any other number makes
// INVALID the verdicts that rest on the completeness of the capture, and no others.
func TestPortsCertify(t *testing.T) {
	const held = 64 + 4 // a flow of 64 packets, with an answer to every 16th
	capture := filepath.Join(t.TempDir(), "left.pcap")
	if err := os.WriteFile(capture, crowd{1, 64, 8}.pcap(), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rx, tx  int
		invalid bool
		says    string
	}{{64, 4, false, ""}, {64, 7, true, "3 frames are missing"}, {60, 4, true, "4 frames are too many"}} {
		r, err := judgePorts(t, capture,
			fmt.Sprintf("gauntlet-counters 1\nleft.pcap swp1 rx 100 %d\nleft.pcap swp1 tx 7 %d\n", 100+c.rx, 7+c.tx))
		if err != nil {
			t.Fatal(err)
		}
		passed, fell := 0, 0
		for _, v := range r.Verdicts {
			switch {
			case v.Status == rule.Invalid && v.Rests.Has(validity.Capture):
				fell++
			case v.Status == rule.Pass:
				passed++
			// WIRE-LEN-001 may fail: the payload has another length
			case v.Status != rule.Inconclusive && v.Status != rule.NotApplicable && v.Rule != "WIRE-LEN-001":
				t.Errorf("%+v: %s is %v", c, v.Rule, v.Status)
			}
		}
		cert := r.Certificates[0]
		if cert.Valid == c.invalid || !strings.Contains(cert.Reason, c.says) || cert.Items[0].Got != fmt.Sprint(held) {
			t.Errorf("%+v: %+v", c, cert)
		}
		if passed < 5 || (fell >= 5) != c.invalid {
			t.Errorf("%+v: %d verdicts pass, %d fall", c, passed, fell)
		}
	}
	for text, want := range map[string]string{
		"left.pcap swp1 rx 1 2\n":                        "line 1: want gauntlet-counters 1 first",
		"gauntlet-counters 1\nright.pcap swp1 rx 1 2\n":  "no counters of ",
		"gauntlet-counters 1\nleft.pcap swp1 both 1 2\n": "line 2: both: want rx",
	} {
		if _, err := judgePorts(t, capture, text); !errors.As(err, new(*Unreadable)) || !strings.Contains(err.Error(),
			want) || !strings.Contains(err.Error(), "ports.txt") {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

// judgePorts judges a capture with counters.
func judgePorts(t *testing.T, capture, counters string) (*model.Result, error) {
	t.Helper()
	ports := filepath.Join(t.TempDir(), "ports.txt")
	if err := os.WriteFile(ports, []byte(counters), 0o644); err != nil {
		t.Fatal(err)
	}
	at, err := recording.ParseTap("requester")
	if err != nil {
		t.Fatal(err)
	}
	return Judge(context.Background(), JudgeOptions{Path: capture, Ports: ports, Tap: at, Rules: rules.All(),
		Schemes: registry.Schemes()})
}
