package device

import (
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// introduction is this program's communication manager on the cable of a device. It is attached between the cable and
// the link, so that its messages are not part of the run: the link neither delays nor loses them, and the taps leave
// them out.
type introduction struct {
	cm      *dut.CM
	port    *packetio.Port // receives frames from the device
	past    *packetio.Port // sends, past all that acts where frames leave the device
	clock   *packetio.Clock
	leaving atomic.Bool
	ended   chan struct{}
}

// rdmaPort is the port on which either side's manager listens, this end's or the tool's.
const rdmaPort = 7174

// call starts the tool, and meets it by RDMA CM.
func (t *Tools) call(r *running, mine dut.Identity) error {
	cm, err := t.patch(r.side)
	if err != nil {
		return err
	}
	if r.tool.Active {
		cm.Listen(rdmaPort)
	}
	at := r.at
	at.Port = rdmaPort
	if err := r.start(at); err != nil {
		return err
	}
	r.meeting, err = r.tool.Call(cm, rdmaPort, mine)
	return r.met(err)
}

// patch opens the cable of a device.
func (t *Tools) patch(side trace.Side) (*dut.CM, error) {
	network := t.site.Network
	in := &introduction{clock: packetio.NewClock(t.site.Base), ended: make(chan struct{})}
	var err error
	device := network.Ends()[side].Port
	if in.port, err = network.M.Open(device, in.clock, packetio.Options{RoCE: true}); err != nil {
		return nil, err
	}
	if in.past, err = network.M.Open(device, in.clock, packetio.Options{Past: true}); err != nil {
		return nil, errors.Join(err, in.port.Close())
	}
	in.cm = dut.NewCM(drive.Addr(side.Other()), drive.Addr(side), func(p *roce.Packet) error {
		return in.send(side.Other(), p)
	})
	go in.listen()
	t.later(in.close)
	return in.cm, nil
}

// send sends a packet on the cable that appears to come from a side.
func (in *introduction) send(from trace.Side, p *roce.Packet) error {
	var f roce.Frame
	drive.Frame(&f, from, 0, p)
	n, err := in.past.Send([][]byte{f.AppendTo(nil)})
	if err == nil && n == 0 {
		err = errors.New("the device takes no more packets")
	}
	return err
}

// listen passes the packets of the device to the manager.
func (in *introduction) listen() {
	defer close(in.ended)
	wait := packetio.NewWaiter(in.clock, in.port.Fd())
	for !in.leaving.Load() {
		if wait.Wait(in.clock.Now().Add(50*vtime.Millisecond)) != nil {
			return
		}
		frames, err := in.port.Receive()
		if err != nil {
			return
		}
		for i := range frames {
			var f roce.Frame
			if f.Decode(frames[i].Data) == nil {
				in.cm.Receive(&f.Packet)
			}
		}
	}
}

func (in *introduction) close() error {
	in.leaving.Store(true)
	<-in.ended
	return errors.Join(in.past.Close(), in.port.Close())
}

// introduces reports whether a frame is for QP 1, or for a QP that serves only the exchange of parameters: this end's
// or the device's, depending on the sender, because both assign QP numbers of their own.
func introduces(frame []byte, aside dut.Aside, device [4]byte) bool {
	// after the Ethernet header; after IPv4 and UDP, where a byte precedes the number
	const source, destQP = 14 + 12, 14 + 20 + 8 + 4
	if len(frame) < destQP+4 {
		return false
	}
	qpn, own := binary.BigEndian.Uint32(frame[destQP:])&psn.Mask, aside.Device
	if [4]byte(frame[source:]) == device {
		own = aside.Own
	}
	return qpn == roce.CMQueuePair || own != 0 && qpn == own
}
