package process

import (
	"fmt"
	"io"
	"os"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// EndpointMain is the body of an endpoint process, which has been started in its namespace: it drives one side of a
// Spec on a real device, as package contract requires of any program. The error wraps contract.ErrUnsupported when an
// order needs a feature that the implementation lacks. find looks implementations up by name.
func EndpointMain(stdin *os.File, stdout io.Writer, name string,
	find func(string) (engine.Implementation, bool)) error {
	return runProcess(plan.RoleEndpoint, stdin, stdout, name, find, newEndpoint)
}

// endpoint is one side of the Spec as an actor.
type endpoint struct {
	*drive.Endpoint
	side   trace.Side
	qps    int
	packet roce.Packet
}

// newEndpoint builds the endpoint of the process's side.
func newEndpoint(p *process, s *contract.Order, own, path *engine.Implementation) (actor, []unit.Rate, error) {
	boxed := path.NewBox != nil
	line := plan.RouteOf(p.spec, boxed).Line(p.side)
	end, err := drive.New(p.spec, p.side, *own,
		drive.Options{Bytes: true, Observer: p.events, Managed: p.spec.CM.Managed(boxed), Streams: s.Streams})
	if err == nil && s.Streams {
		if p.tcp, err = openSockets(end, p.spec, p.side, line); err == nil {
			p.tcp.where, err = together(s.Device, int(p.side))
		}
	}
	return &endpoint{Endpoint: end, side: p.side, qps: p.spec.QPs}, []unit.Rate{line}, err
}

// together puts an endpoint and the TCP below it on one processor, the n-th that it may use. By default the kernel
// processes a frame on the processor where it was sent, which is that of the link: the link would be late, and two
// processors that send at once would pass the tap in one order and the link in another. where reports whether the
// kernel accepted the setting; if it did not, the certificate shows the effects. together must be called by the loop's
// thread, which packetio.LockThread has locked.
func together(device string, n int) (where string, err error) {
	allowed, err := packetio.Allowed()
	if err != nil {
		return "", err
	}
	processor := allowed[n%len(allowed)]
	if err := packetio.Pin(processor); err != nil {
		return "", err
	}
	if err := topology.ReceiveOn(device, processor); err != nil {
		return fmt.Sprintf("on any processor (%v)", err), nil
	}
	return fmt.Sprintf("on processor %d", processor), nil
}

func (e *endpoint) receive(now vtime.Time, _ int, frame []byte) { e.ReceiveFrame(now, frame) }

func (e *endpoint) transmit(now vtime.Time, _ int, f *roce.Frame) bool {
	conn, ok := e.Transmit(now, &e.packet)
	if ok {
		drive.Frame(f, e.side, conn, &e.packet)
		f.TOS = e.TOS()
	}
	return ok
}

func (e *endpoint) ready(int) bool { return e.Ready() }

func (e *endpoint) emit(_ int, frame []byte) []byte { return e.Emit(frame) }

// stopped reports the posted requests.
func (e *endpoint) stopped(a *farewell) {
	a.Undone, a.counters, a.shared = e.Shortfall(), e.Counters(), e.Shared()
	for i := range e.qps {
		a.work = append(a.work, e.Posted(i))
	}
}

func (e *endpoint) verify(now vtime.Time, i int, peers []drive.Work) { e.Verify(now, i, peers) }
