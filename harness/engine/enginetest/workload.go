package enginetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/splitmix"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// The address space of a workload. Work request i uses slot i of its region, so no two touch the same byte, except that
// all FETCH_ADDs count in one cell.
const (
	localBase   = 1 << 20 // end 0: sources, and targets of READs and atomics
	remoteBase  = 1 << 30 // end 1: targets of WRITEs and sources of READs
	receiveBase = 1 << 40 // end 1: receive buffers
	cellBase    = 1 << 41 // end 1: the cell of FETCH_ADD
	windowBase  = 1 << 42 // end 1: the window that SEND with invalidate closes
	localKey    = 1
	remoteKey   = 2
	receiveKey  = 3
	cellKey     = 4
	windowKey   = 1000
)

// slotSize returns the bytes of a slot: the largest message of lengths, and bytes after it that must not change.
func slotSize(mtu int) int { return 9 * mtu }

// Seeds of the memory patterns, local and remote.
const (
	localSeed  = 11
	remoteSeed = 22
)

// attributes returns the QP of one end before Options.QP changes it.
func attributes(side int, start psn.PSN) engine.QP {
	return engine.QP{
		QPN: uint32(0x11 + side), DestQPN: uint32(0x12 - side), PD: 7, PKey: roce.DefaultPKey, MTU: 1024,
		SendPSN: start, RecvPSN: start,
		RTO: 200 * vtime.Microsecond, RetryCount: 7, RNRRetry: 7, MinRNRTimer: 1,
		QueueDepth: 16, ReceiveDepth: 8, AckReqEvery: 4, AckCoalesce: 2, MaxRdAtomic: 4, MaxDestRd: 4,
		Access: engine.AllAccess,
	}
}

// newPair builds two ends of a QP whose first PSNs are start.
func newPair(impl engine.Implementation, opts Options, start psn.PSN) (*pair, error) {
	d := &pair{base: start, accepts: impl.Accepts, readStart: opts.ReadStart}
	for side := range d.ends {
		qp := attributes(side, start)
		if opts.QP != nil {
			opts.QP(&qp)
		}
		mem := &memory.Host{}
		req, resp, err := impl.New(qp, mem)
		if err != nil {
			return nil, fmt.Errorf("%s rejects the QP of the suite: %w", impl.Name, err)
		}
		d.ends[side] = &end{qp: qp, mem: mem, req: req, resp: resp}
	}
	return d, nil
}

// lengths returns the message sizes around which errors in counting packets show.
func lengths(mtu int) []int { return []int{0, 1, mtu - 1, mtu, mtu + 1, 2 * mtu, 8*mtu + 3} }

// mixed returns n work requests that use every operation and every length.
func mixed(ops []engine.Op, mtu, n int) []engine.WorkRequest {
	sizes, slot := lengths(mtu), uint64(slotSize(mtu))
	wrs := make([]engine.WorkRequest, n)
	for i := range wrs {
		wr := engine.WorkRequest{
			ID: uint64(i), Op: ops[i%len(ops)], Len: uint32(sizes[(i/len(ops)+i)%len(sizes)]),
			LocalVA: localBase + uint64(i)*slot, RemoteVA: remoteBase + uint64(i)*slot, RKey: remoteKey,
			Imm: uint32(i), InvKey: windowKey + uint32(i), Solicited: i%3 == 0, Unsignal: i%5 == 4,
		}
		switch wr.Op {
		case engine.OpCompareSwap:
			var old [8]byte
			memory.Pattern(old[:], splitmix.Stream(remoteSeed+uint64(i)), 0)
			wr.Len, wr.Compare, wr.SwapAdd = 8, binary.LittleEndian.Uint64(old[:]), uint64(i)
		case engine.OpFetchAdd:
			wr.Len, wr.RemoteVA, wr.RKey, wr.SwapAdd = 8, cellBase, cellKey, uint64(i)
		}
		wrs[i] = wr
	}
	return wrs
}

// consumes reports operations that use up a receive.
func consumes(op engine.Op) bool { return op <= engine.OpSendInv || op == engine.OpWriteImm }

// load gives the pair its work: regions at both ends, receives, and the requests to post.
func (d *pair) load(wrs []engine.WorkRequest) error {
	slot := d.slot()
	n := uint64(len(wrs) * slot)
	regions := [2][]memory.Region{
		{{RKey: localKey, Base: localBase, Len: n, Access: engine.LocalWrite}},
		{{RKey: remoteKey, Base: remoteBase, Len: n, Access: engine.AllAccess},
			{RKey: receiveKey, Base: receiveBase, Len: n, Access: engine.LocalWrite},
			{RKey: cellKey, Base: cellBase, Len: 8, Access: engine.RemoteAtomic}},
	}
	d.posts, d.receives = wrs, 0
	for i, wr := range wrs {
		if consumes(wr.Op) {
			d.receives++
		}
		if wr.Op == engine.OpSendInv {
			window := memory.Region{RKey: wr.InvKey, Base: windowBase + uint64(i)*8, Len: 8, Access: engine.RemoteRead}
			regions[1] = append(regions[1], window)
		}
	}
	for side, e := range d.ends {
		for _, r := range regions[side] {
			r.PD, r.Bytes = e.qp.PD, make([]byte, r.Len)
			if err := e.mem.Register(r); err != nil {
				return err
			}
		}
	}
	for i := range wrs {
		d.ends[0].mem.Fill(localBase+uint64(i*slot), slot, localSeed+uint64(i))
		d.ends[1].mem.Fill(remoteBase+uint64(i*slot), slot, remoteSeed+uint64(i))
	}
	return nil
}

// slot returns the bytes of a slot in this pair.
func (d *pair) slot() int { return slotSize(d.ends[0].qp.MTU) }

// images are the bytes of the regions of a workload.
type images struct{ local, remote, receive []byte }

// bytes returns the regions of the pair as they are, not copied.
func (d *pair) bytes(slots int) images {
	n := slots * d.slot()
	return images{d.ends[0].mem.Load(localBase, n), d.ends[1].mem.Load(remoteBase, n),
		d.ends[1].mem.Load(receiveBase, n)}
}

// expected returns the images after every request was executed exactly once, in order.
func (d *pair) expected(wrs []engine.WorkRequest) images {
	now := d.bytes(len(wrs))
	want := images{slices.Clone(now.local), slices.Clone(now.remote), slices.Clone(now.receive)}
	slot, receive := d.slot(), 0
	var cell uint64
	for i, wr := range wrs {
		at, n := i*slot, int(wr.Len)
		switch wr.Op {
		case engine.OpSend, engine.OpSendImm, engine.OpSendInv:
			copy(want.receive[receive*slot:], now.local[at:at+n])
		case engine.OpWrite, engine.OpWriteImm:
			copy(want.remote[at:], now.local[at:at+n])
		case engine.OpRead:
			copy(want.local[at:], now.remote[at:at+n])
		case engine.OpCompareSwap:
			copy(want.local[at:], now.remote[at:at+8])
			binary.LittleEndian.PutUint64(want.remote[at:], wr.SwapAdd)
		case engine.OpFetchAdd:
			binary.LittleEndian.PutUint64(want.local[at:], cell)
			cell += wr.SwapAdd
		}
		if consumes(wr.Op) {
			receive++
		}
	}
	return want
}

// checkImages compares memory with the expected images.
func (d *pair) checkImages(wrs []engine.WorkRequest, want images) error {
	got, slot := d.bytes(len(wrs)), d.slot()
	for _, c := range []struct {
		name      string
		got, want []byte
	}{{"requester's", got.local, want.local}, {"target", got.remote, want.remote},
		{"receive", got.receive, want.receive}} {
		for i := 0; i < len(c.got); i += slot {
			if !bytes.Equal(c.got[i:i+slot], c.want[i:i+slot]) {
				return fmt.Errorf(
					"%s memory of slot %d is not what executing every request once leaves", c.name, i/slot)
			}
		}
	}
	for _, wr := range wrs {
		if wr.Op == engine.OpSendInv && d.ends[1].mem.Invalidate(wr.InvKey) {
			return fmt.Errorf("request %d did not invalidate rkey %d", wr.ID, wr.InvKey)
		}
	}
	return nil
}

// checkCompletions requires that every signalled request has completed once, in order and with success, and every
// receive once, with the bytes that were sent.
func (d *pair) checkCompletions(wrs []engine.WorkRequest) error {
	var want [2][]engine.Event
	for _, wr := range wrs {
		if !wr.Unsignal {
			want[0] = append(want[0], engine.Event{Kind: engine.CQE, Op: wr.Op, ID: wr.ID})
		}
		if consumes(wr.Op) {
			ev := engine.Event{Kind: engine.ReceiveCQE, Op: wr.Op, ID: uint64(len(want[1])), Len: wr.Len}
			switch wr.Op {
			case engine.OpSendImm, engine.OpWriteImm:
				ev.Imm = wr.Imm
			case engine.OpSendInv:
				ev.InvKey = wr.InvKey
			}
			want[1] = append(want[1], ev)
		}
	}
	for side, e := range d.ends {
		if err := sameEvents(e.events, want[side]); err != nil {
			return fmt.Errorf("end %d: %w", side, err)
		}
	}
	return nil
}

// sameEvents compares completions without their PSNs, which depend on the scheme, and ignores timeouts.
func sameEvents(got, want []engine.Event) error {
	for _, ev := range got {
		if ev.Kind == engine.Timeout {
			continue
		}
		ev.PSN = 0
		if len(want) == 0 {
			return fmt.Errorf("event %+v, want none", ev)
		}
		if ev != want[0] {
			return fmt.Errorf("event %+v, want %+v", ev, want[0])
		}
		want = want[1:]
	}
	if len(want) > 0 {
		return fmt.Errorf("%d completions are missing, the first is %+v", len(want), want[0])
	}
	return nil
}
