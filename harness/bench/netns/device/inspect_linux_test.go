package device

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// TestChanges: bytes that differ make ranges.
func TestChanges(t *testing.T) {
	got := changes([]byte("abcdefgh"), []byte("aXXdefgX"), 0x1000)
	if want := []dut.Range{{VA: 0x1001, Len: 2}, {VA: 0x1007, Len: 1}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := changes([]byte("abc"), []byte("abc"), 0); got != nil {
		t.Errorf("%v of equal memory", got)
	}
}

// TestCompleted: the completions of one queue pair are told, unless some are missing.
func TestCompleted(t *testing.T) {
	const head = "# tracer: nop\n#\n# entries-in-buffer/entries-written: %d/3   #P:1\n#\n"
	const lines = `     kworker/0:2-51      [000] d.s1.     8.203344: completion: (rxe_cq_post+0x0/0x1a0 [rdma_rxe]) status=10 qp=17
     ib_write_bw-210     [000] d.s..     8.203351: completion: (rxe_cq_post+0x0/0x1a0 [rdma_rxe]) status=0 qp=18
     kworker/0:2-51      [000] d.s1.     8.203362: completion: (rxe_cq_post+0x0/0x1a0 [rdma_rxe]) status=5 qp=17
`
	if got := completed(fmt.Sprintf(head, 3)+lines, 17); !slices.Equal(got, []int{10, 5}) {
		t.Errorf("%v", got)
	}
	if got := completed(fmt.Sprintf(head, 2)+lines, 17); got != nil {
		t.Errorf("a buffer that has lost a completion is believed: %v", got)
	}
}

// TestEnding: what happens to a tool after the end of the trace is none of the run, and memory that was read once only is not compared.
func TestEnding(t *testing.T) {
	r := &running{exited: make(chan struct{}), done: make(chan struct{}), said: &contract.Log{}, meeting: &dut.Meeting{}}
	_, _ = r.said.Write([]byte("it ends")) // never fails
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
