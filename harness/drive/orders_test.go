package drive

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"

	"github.com/google/go-cmp/cmp"
)

// request has the fields that a program needs to post a request.
type request struct {
	QP   int
	WR   uint64
	Op   string
	VA   uint64
	Len  uint32
	RKey uint32
}

// posts collects the requests that an endpoint posts.
type posts struct{ list []request }

func (p *posts) Event(e *trace.Event) {
	if e.Kind == trace.Post {
		p.list = append(p.list, request{e.Conn, e.Body.ID, e.Body.Op.String(), e.VA, e.Len, e.RKey})
	}
}

// worked are Specs whose requests an endpoint posts at once, up to its queue depth.
var worked = []string{
	"load write msg=1000 count=5\n",
	"qp count=3 qd=4\nload send msg=64KiB count=4\n",
	"load write from=B msg=8 count=3\nload read from=A msg=256 count=2\n",
	"device B qpn=9 key=0x77 buffer=0x5000\ndevice A qpn=8 key=0x66 buffer=0x9000\nload write msg=16 count=2\nload " +
		"read from=B msg=8 count=2\n",
	"post-write wr=7 len=100 remote=64\npost-send wr=8 len=10 imm=3\npost-write wr=9 len=4 remote=-8 rkey=bad\nload " +
		"write msg=16 count=2\n",
}

// A program that follows its orders posts the requests of an Endpoint with the same Spec, one by one.
func TestOrdersAreWhatAnEndpointDoes(t *testing.T) {
	for _, text := range worked {
		s, err := scenario.Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, side := range []trace.Side{trace.A, trace.B} {
			var seen posts
			e, err := New(s, side, gbn.Implementation(), Options{Observer: &seen})
			if err != nil {
				t.Fatal(err)
			}
			e.Start(0)
			if d := cmp.Diff(follow(Orders(s, side)), byWork(seen.list)); d != "" {
				t.Errorf("%q at %s: -told +posted\n%s", text, side, d)
			}
		}
	}
}

// follow returns the requests of orders, by the arithmetic of images/CONTRACT.md.
func follow(orders []contract.Order) map[request]bool {
	out, qps := map[request]bool{}, map[int]*contract.QP{}
	for _, o := range orders {
		if o.Op == contract.OpQP {
			qps[o.QP.Index] = o.QP
		}
		if o.Op != contract.OpWork || o.Work.Receive {
			continue
		}
		w, q := o.Work, qps[o.Work.OnQP]
		for k := range uint64(w.Count) {
			va := q.PeerVA + uint64(w.Offset) + k%w.Slots*w.Stride
			out[request{w.OnQP, w.First + k, w.Operation, va, w.Bytes, w.Key}] = true
		}
	}
	return out
}

func byWork(list []request) map[request]bool {
	out := map[request]bool{}
	for _, r := range list {
		out[r] = true
	}
	return out
}

// Needs of a side come from its own work and from the work of its peer.
func TestNeeds(t *testing.T) {
	s, err := scenario.Parse(strings.NewReader(
		"qp mtu=256 count=2\nparam cap=5\nload write msg=8 count=1\npost-send from=B len=4 imm=1\n"))
	if err != nil {
		t.Fatal(err)
	}
	for side, want := range []contract.Need{
		{Operations: []string{"WRITE"}, Serves: []string{"SEND_IMM"}, MTU: 256, QPs: 2, Params: []string{"cap"}},
		{Operations: []string{"SEND_IMM"}, Serves: []string{"WRITE"}, MTU: 256, QPs: 2, Params: []string{"cap"}},
	} {
		if d := cmp.Diff(want, Needs(s, trace.Side(side), false)); d != "" {
			t.Errorf("%s: -want +got\n%s", trace.Side(side), d)
		}
	}
}
