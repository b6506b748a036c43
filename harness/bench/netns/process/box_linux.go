package process

import (
	"io"
	"os"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// BoxMain is the body of a middlebox process, which has been started in its namespace: it drives the box of the
// implementation at A on two real devices, of which the first faces the LAN. find looks implementations up by name.
func BoxMain(stdin *os.File, stdout io.Writer, name string, find func(string) (engine.Implementation, bool)) error {
	return runProcess(plan.RoleBox, stdin, stdout, name, find, newBox)
}

// box is the node in the path as an actor. Its devices are numbered as its ports.
type box struct {
	*drive.Box
	qps int
}

// newBox builds the box.
func newBox(p *process, _ *contract.Order, _, path *engine.Implementation) (actor, []unit.Rate, error) {
	b, err := drive.NewBox(p.spec, path, p.events)
	if err != nil {
		return nil, nil, err
	}
	return &box{Box: b, qps: p.spec.QPs}, plan.RouteOf(p.spec, true).BoxLines(), nil
}

// Start implements actor: a middlebox does nothing until a frame arrives.
func (b *box) Start(vtime.Time) {}

// Share implements actor. A middlebox has no requests to make.
func (b *box) Share() float64 { return 1 }

func (b *box) receive(now vtime.Time, port int, frame []byte) {
	b.ReceiveFrame(now, engine.Port(port), frame)
}

func (b *box) transmit(now vtime.Time, port int, f *roce.Frame) bool {
	return b.Transmit(now, engine.Port(port), f)
}

func (b *box) ready(port int) bool { return b.Ready(engine.Port(port)) }

func (b *box) emit(port int, frame []byte) []byte { return b.Emit(engine.Port(port), frame) }

// stopped reports the counters, and the connections on which a promise was broken.
func (b *box) stopped(a *farewell) {
	a.counters = b.Counters()
	for i := range b.qps {
		if b.Broke(i) {
			a.shared = append(a.shared, engine.Var{Name: plan.BrokePromise, Value: int64(i)})
		}
	}
}

// verify implements actor. A middlebox has no memory to compare.
func (b *box) verify(vtime.Time, int, []drive.Work) {}
