package sim

import (
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// boxNode is a middlebox in the path. A's line ends at its LAN port, and the link of the Spec begins at its WAN port:
//
//	A  port[A] -> LAN port   port[WAN] -> B
//	A  <- port[LAN]   WAN port <- port[B]  B
//
// On the LAN it speaks for B, on the WAN for A.
type boxNode struct {
	*drive.Box
	port  [2]port // by engine.Port: its ways onto the LAN and onto the link
	frame roce.Frame
}

// insert puts the box of an implementation between A and the link.
func (w *World) insert(impl *engine.Implementation) error {
	s := w.spec
	box, err := drive.NewBox(s, impl, &w.out)
	if err != nil {
		return err
	}
	faults, err := fault.NewSet(s.LAN.Faults)
	if err != nil {
		return err
	}
	w.scripted = w.scripted || len(s.LAN.Faults) > 0
	w.box = &boxNode{Box: box}
	wan := w.port[trace.A].channel
	var lan [2]*channel.Channel
	for side := range lan {
		if lan[side], err = channel.New(s.LAN.Link, faults, s.LANSeeds()[side]); err != nil {
			return err
		}
	}
	w.port[trace.A].init(trace.A, lan[trace.A], &roce.Packet{})
	w.port[trace.A].frame.TOS = w.end[trace.A].TOS()
	w.box.port[engine.LAN].init(trace.B, lan[trace.B], &roce.Packet{})
	w.box.port[engine.WAN].init(trace.A, wan, &roce.Packet{})
	w.box.port[engine.WAN].shift, w.port[trace.B].shift = s.QPs, s.QPs
	w.into = [2]*port{&w.box.port[engine.LAN], &w.box.port[engine.WAN]}
	return nil
}

// near is the port that a port of the box receives from.
func (w *World) near(p engine.Port) *port {
	if p == engine.LAN {
		return &w.port[trace.A]
	}
	return &w.port[trace.B]
}

// boxCandidates passes the next possible actions at the box to sooner.
func (w *World) boxCandidates(sooner func(vtime.Time, action)) {
	x := w.box
	for p := engine.LAN; p <= engine.WAN; p++ {
		sooner(w.near(p).arrival(), arriveLAN+action(p))
	}
	if at := x.Deadline(); at != vtime.Never {
		sooner(max(w.now, at), wakeBox)
	}
	for p := engine.LAN; p <= engine.WAN; p++ {
		if x.Ready(p) {
			sooner(max(w.now, x.port[p].channel.Free()), sendLAN+action(p))
		}
	}
}

// actBox performs one of these actions.
func (w *World) actBox(a action) {
	switch a {
	case arriveLAN, arriveWAN:
		w.arriveBox(engine.Port(a - arriveLAN))
	case wakeBox:
		w.box.Wake(w.now)
	default:
		w.sendBox(engine.Port(a - sendLAN))
	}
}

// arriveBox passes the frame that arrives at a port to the box.
func (w *World) arriveBox(at engine.Port) {
	p, x := w.near(at), w.box
	if len(p.held) > 0 && p.channel.NextRelease() <= w.now {
		w.releases(p)
		return
	}
	f := p.land()
	if w.opts.Bytes {
		x.ReceiveFrame(w.now, at, f.raw)
	} else {
		drive.Frame(&x.frame, p.side, f.conn, &f.packet)
		x.Receive(w.now, at, &x.frame)
	}
	p.giveBack(f)
}

// posted lists the requests of a side for the comparison of memory, in doubt where the box has broken its promise.
func (w *World) posted(side trace.Side, i int) []drive.Work {
	work := w.end[side].Posted(i)
	if w.box != nil && side == trace.A && w.box.Broke(i) {
		drive.Doubt(work)
	}
	return work
}

// sendBox pulls one frame from the box for a port whose line is free.
func (w *World) sendBox(to engine.Port) {
	x := w.box
	p := &x.port[to]
	if !x.Transmit(w.now, to, &x.frame) {
		return
	}
	f := p.take()
	f.conn = w.classify.FrameConn(p.side, &x.frame)
	if w.opts.Bytes {
		f.wireBytes = x.frame.WireLen()
		f.raw = x.Emit(to, x.frame.AppendTo(f.raw[:0]))
	} else {
		f.packet = x.frame.Packet
		f.packet.Payload = append([]byte(nil), x.frame.Packet.Payload...)
		f.wireBytes = f.packet.WireLen(false)
	}
	w.offer(p, f, &x.frame.Packet, x.Alters())
}
