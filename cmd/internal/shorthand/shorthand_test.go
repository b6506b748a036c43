package shorthand

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// common returns the defaults of the flags.
func common() Words {
	return Words{Impl: "gbn", Rate: "1G", RTT: "10ms", Jitter: "0s", Loss: "0", MTU: 1024, Message: "64KiB",
		Operation: "write", Congestion: "none",
		QPs: 1, Depth: 128, CQMod: 1, Timeout: -1, Seed: 1}
}

// A Spec from flags alone has a queue that suits the path and a workload that ends.
func TestWordsAlone(t *testing.T) {
	w := common()
	w.Impl, w.RTT, w.QPs, w.Loss = "gbn,irn", "40ms", 1000, "0.1%"
	s, err := w.Spec(nil, func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	if s.Impl != [2]string{"gbn", "irn"} || s.Loads[0].Count != 10 || s.Link.AB.Queue < 2*4500 ||
		s.Link.AB.Loss.Mean() != 0.001 || s.Link.BA.Loss.Mean() != 0.001 {
		t.Errorf("%s", s)
	}
}

// A given Spec keeps the settings that no flag changes.
func TestWordsChangeASpec(t *testing.T) {
	given, err := scenario.Parse(strings.NewReader(
		"link rate=20M delay=3ms queue=77\nqp timeout=9\nload send msg=1KiB count=3\n"))
	if err != nil {
		t.Fatal(err)
	}
	w := common()
	w.Rate, w.Duration = "30M", time.Second
	s, err := w.Spec(given, func(flag string) bool { return slices.Contains([]string{"rate", "duration"}, flag) })
	if err != nil {
		t.Fatal(err)
	}
	if ab := s.Link.AB; ab.Rate != 30e6 || ab.Queue != 77 || s.Loads[0].Count != 3 || s.QP[0].Timeout != 9 ||
		s.For.Seconds() != 1 {
		t.Errorf("%s", s)
	}
}

func TestWordsRejects(t *testing.T) {
	for want, change := range map[string]func(*Words){
		"--rtt":      func(w *Words) { w.RTT = "5" },
		"--duration": func(w *Words) { w.Duration = 25 * time.Hour },
		"--timeout":  func(w *Words) { w.Timeout = 32 },
		"msg":        func(w *Words) { w.Message = "9TiB" },
	} {
		w := common()
		change(&w)
		if _, err := w.Spec(nil, func(string) bool { return true }); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
