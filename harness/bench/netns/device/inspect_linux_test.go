package device

import (
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// TestChanges: adjacent bytes that differ make one range.
func TestChanges(t *testing.T) {
	got := changes([]byte("abcdefgh"), []byte("aXXdefgX"), 0x1000)
	if want := []dut.Range{{VA: 0x1001, Len: 2}, {VA: 0x1007, Len: 1}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := changes([]byte("abc"), []byte("abc"), 0); got != nil {
		t.Errorf("%v of equal memory", got)
	}
}

// TestEnding: the end of a tool after the end of the trace is not part of the run, and memory that was read only once
// is not compared.
func TestEnding(t *testing.T) {
	r := &running{exited: make(chan struct{}), done: make(chan struct{}), said: &contract.Log{},
		meeting: &dut.Meeting{}}
	_, _ = r.said.Write([]byte("it ends")) // always succeeds
	r.doneAt, r.goneAt = vtime.Time(15), vtime.Time(30)
	close(r.exited)
	close(r.done)
	r.found.before = []byte{1}
	r.compare(nil)
	e := r.ending(10, 9)
	if e.Done != 5 || e.Gone != vtime.Never || e.End != 9 || e.Said != "it ends" || e.Compared {
		t.Errorf("%+v", e)
	}
	r.compare([]byte{1})
	if e = r.ending(10, 20); e.Gone != 20 || !e.Compared || e.Changed != nil {
		t.Errorf("%+v, want gone at 20, and nothing changed", e)
	}
}
