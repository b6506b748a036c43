package writerecord

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// Source is the requester: it sends each message once, in segments. An engine.OpWrite is sent as a Write-Record.
type Source struct {
	host     *Host
	qp       engine.QP
	mem      engine.Memory
	queue    ring.Ring[engine.WorkRequest]
	events   ring.Ring[engine.Event]
	sent     uint32 // bytes of the oldest request that have been sent
	nextMSN  uint32 // of the next SEND; numbers begin with 1 (RFC 5041, 5.1)
	nextID   uint32 // of the next Write-Record
	datagram []byte
	segment  iwarp.Segment
	failed   bool
}

// Post implements engine.Requester. Only SEND and WRITE are accepted, because the other operations need a connection.
func (s *Source) Post(_ vtime.Time, wr engine.WorkRequest) error {
	switch {
	case s.failed:
		return engine.ErrQPState
	case wr.Op != engine.OpSend && wr.Op != engine.OpWrite:
		return fmt.Errorf("writerecord: %v: datagrams carry SEND and WRITE only", wr.Op)
	case s.queue.Len() >= s.qp.QueueDepth:
		return engine.ErrQueueFull
	}
	s.queue.Push(wr)
	return nil
}

// PollTransmit implements engine.Engine: the next segment of the oldest request. "The source completes the operation at
// the moment that the last bit of the message is passed to transport layer" (IV-B3).
func (s *Source) PollTransmit(_ vtime.Time, p *roce.Packet) bool {
	for s.queue.Len() > 0 {
		wr := s.queue.At(0)
		n := min(wr.Len-s.sent, uint32(s.host.cfg.segment))
		data := s.mem.Load(wr.LocalVA+uint64(s.sent), int(n))
		if n > 0 && data == nil {
			s.complete(wr, engine.StatusLocalProtection)
			continue
		}
		s.emit(p, wr, data)
		if s.sent += n; s.sent == wr.Len {
			s.complete(wr, engine.StatusSuccess)
		}
		return true
	}
	return false
}

// emit builds in p the datagram of the segment that begins at s.sent.
func (s *Source) emit(p *roce.Packet, wr *engine.WorkRequest, data []byte) {
	seg := &s.segment
	*seg = iwarp.Segment{DDP: iwarp.Version, RDMAP: iwarp.Version,
		Last: s.sent+uint32(len(data)) == wr.Len, Payload: data}
	if wr.Op == engine.OpWrite {
		seg.Opcode, seg.Tagged = iwarp.WriteRecord, true
		seg.STag, seg.TO = wr.RKey, wr.RemoteVA+uint64(s.sent)
		seg.Record = iwarp.Record{ID: s.nextID, Len: wr.Len, Off: s.sent}
	} else {
		seg.Opcode = iwarp.Send
		seg.MSN, seg.MO = s.nextMSN, s.sent
	}
	s.datagram = iwarp.AppendDatagram(s.datagram[:0], iwarp.PortOf(s.qp.QPN), iwarp.Port, seg)
	*p = roce.Packet{Payload: s.datagram, Len: len(s.datagram)}
	p.Opcode = roce.UDP
}

// complete ends the oldest request and numbers the next one of its kind. An error is signalled even if the request is
// unsignalled.
func (s *Source) complete(wr *engine.WorkRequest, status engine.Status) {
	if wr.Op == engine.OpWrite {
		s.nextID++
	} else {
		s.nextMSN++
	}
	if !wr.Unsignal || status != engine.StatusSuccess {
		s.events.Push(engine.Event{Kind: engine.CQE, Status: status, Op: wr.Op, ID: wr.ID})
	}
	s.sent = 0
	s.queue.Drop()
}

// HandlePacket implements engine.Engine: "no further communication is required between the source and target" (IV-B3).
func (s *Source) HandlePacket(vtime.Time, *roce.Packet) {}

// HandleTimer implements engine.Engine.
func (s *Source) HandleTimer(vtime.Time) {}

// PollTimer implements engine.Engine: a source does not retransmit and needs no timer.
func (s *Source) PollTimer() (vtime.Time, bool) { return 0, false }

// PollEvent implements engine.Engine.
func (s *Source) PollEvent() (engine.Event, bool) { return s.events.Pop() }

// Flush implements engine.Engine.
func (s *Source) Flush(vtime.Time) {
	s.failed = true
	for s.queue.Len() > 0 {
		s.complete(s.queue.At(0), engine.StatusFlushed)
	}
}

// Vars implements engine.Inspector.
func (s *Source) Vars(list []engine.Var) []engine.Var {
	return append(list,
		engine.Var{Name: "next_msn", Value: int64(s.nextMSN)},
		engine.Var{Name: "next_id", Value: int64(s.nextID)},
		engine.Var{Name: "queued", Value: int64(s.queue.Len())})
}
