package station

import (
	"fmt"
	"slices"
	"testing"
)

// TestCompleted: completed returns the completions of one queue pair, unless some are missing.
func TestCompleted(t *testing.T) {
	const head = "# tracer: nop\n#\n# entries-in-buffer/entries-written: %d/3   #P:1\n#\n"
	const lines = `     kworker/0:2-51      [000] d.s1.     8.203344: completion: (rxe_cq_post+0x0/0x1a0 ` +
		`[rdma_rxe]) status=10 qp=17
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
