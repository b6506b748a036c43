package party

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
)

var errFault = errors.New("its fault")

func blamed(err error) error { return fmt.Errorf("%w: %w", errFault, err) }

// A failure of a program under test is its fault unless it refused an option; a failure of an own program is not.
func TestBlame(t *testing.T) {
	refusal, crash := exec.Command("sh", "-c", "exit 127").Run(), exec.Command("sh", "-c", "kill -SEGV $$").Run()
	theirs, ours := named("endpoint A (exec:./mine)"), named("endpoint A")
	theirs.fault = blamed
	for _, err := range []error{crash, errors.New("line 3: garbage"), fmt.Errorf("ended: %w", crash)} {
		if !errors.Is(theirs.blame(err), errFault) || errors.Is(ours.blame(err), errFault) {
			t.Errorf("%v: %v, %v", err, theirs.blame(err), ours.blame(err))
		}
	}
	if errors.Is(theirs.blame(fmt.Errorf("ended: %w", refusal)), errFault) || theirs.blame(nil) != nil {
		t.Error("a refusal, or nothing, is a fault")
	}
	if theirs.begun = true; !errors.Is(theirs.blame(fmt.Errorf("ended: %w", refusal)), errFault) {
		t.Error("exit code 127 in the middle of a run is no fault")
	}
}

// Late lists the parties that are not done, those under test first, and Left tells the work that each has left.
func TestLate(t *testing.T) {
	for _, c := range []struct {
		reports    string
		work, done int
		share      float64
		want       string
	}{
		{"cqe", 100, 10, 0, "10 of 100 requests completed"},
		{"cqe", 100, 100, 0, "it did not say idle, with all of its 100 requests completed"},
		{"cqe", 0, 0, 0, "it did not say idle, with no requests of its own to make"},
		{"cqe file", 100, 0, 0.25, "25 % of 100 requests completed, as far as it tells"},
		{"", 100, 0, 0.5, "50 % of 100 requests completed, as far as it tells"},
	} {
		e := named("x")
		e.Caps, e.work, e.done, e.Share = &contract.Capabilities{Reports: c.reports}, c.work, c.done, c.share
		if got := e.Left(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	ours, theirs, more := named("A"), named("B"), named("box")
	theirs.fault = blamed
	p := &Parties{Ends: [2]*Party{ours, theirs}, Box: more}
	if got := p.Late(); !slices.Equal(got, []*Party{theirs, ours, more}) {
		t.Errorf("%v", got)
	}
	ours.fault, more.Idle = blamed, true
	if got := p.Late(); !slices.Equal(got, []*Party{ours, theirs}) {
		t.Errorf("of two under test: %v", got)
	}
	if n := requests([]contract.Order{{}, {Work: &contract.Work{Count: 5}},
		{Work: &contract.Work{Count: 3, Receive: true}}, {Work: &contract.Work{Count: 2}}}); n != 7 {
		t.Errorf("%d requests", n)
	}
}
