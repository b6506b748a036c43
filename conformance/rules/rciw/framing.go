package rciw

import (
	"errors"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/mpa"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/stream"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var fpduForm = define(rule.Rule{
	ID: "RCIW-MPA-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "An FPDU is length, ULPDU, padding to a multiple of four, and a CRC32c over all of it",
	Source: rule.Source{Ref: "RFC 5044 4", Requirement: "Length field, ULPDU and padding together are a multiple of four bytes, the padding is zeros, and the " +
		"CRC32c that follows covers them and the markers among them."},
	Needs: rule.TapRequester, Stimulus: "messages of several lengths",
	New: func(c *rule.Context) rule.Check {
		w := newWatch(c)
		w.sent = func(u *stream.Unit) {
			if u.FPDU == nil {
				return
			}
			c.Met()
			switch {
			case w.out.CRC() && !u.FPDU.CRCOK:
				c.Failf(rule.Requester, "the CRC of the FPDU at byte %d is %#08x; that of its bytes expected", u.From, u.FPDU.CRCSum)
			case u.Err != nil:
				c.Failf(rule.Requester, "the FPDU at byte %d holds no DDP segment, which is expected: %v", u.From, u.Err)
			}
			for _, b := range u.FPDU.Pad {
				if b != 0 {
					c.Failf(rule.Requester, "the padding of the FPDU at byte %d is % x, want zeros", u.From, u.FPDU.Pad)
					break
				}
			}
		}
		return rule.Check{Sight: w.sight}
	},
})

var markersPlaced = define(rule.Rule{
	ID: "RCIW-MPA-002", Level: rule.Must, Rests: validity.Sequence,
	Title: "When the receiver asked for markers, one stands at every 512th byte and points back to the length of its FPDU",
	Source: rule.Source{Ref: "RFC 5044 4.3", Requirement: "Markers are inserted every 512 bytes of the stream, the first before the first FPDU; FPDUPTR is the number " +
		"of bytes from the ULPDU length field to the marker, and zero for one that precedes it."},
	Needs: rule.TapRequester, Stimulus: "markers negotiated, and a message longer than 512 bytes",
	New: func(c *rule.Context) rule.Check {
		w := newWatch(c)
		w.sent = func(u *stream.Unit) {
			switch {
			case errors.Is(u.Err, mpa.ErrMarker):
				c.Failf(rule.Requester, "a marker near byte %d points elsewhere than to byte %d, where its FPDU begins; that expected", u.To, u.From)
			case u.FPDU != nil && u.FPDU.Marks > 0:
				c.Met()
			}
		}
		return rule.Check{Sight: w.sight}
	},
})

var wrongCRC = define(rule.Rule{
	ID: "RCIW-MPA-003", Level: rule.Must,
	Title: "A receiver that finds a wrong CRC takes nothing more from the stream and ends it",
	Source: rule.Source{Ref: "RFC 5044 4.4, 8", Requirement: "When the CRC of an FPDU is wrong, neither it nor anything behind it may reach DDP, and the connection is " +
		"closed with an error."},
	Needs: rule.TapResponder | rule.Completions, Stimulus: "an FPDU arrives with a CRC that is wrong",
	New: func(c *rule.Context) rule.Check {
		b := brokenFrame{c: c, w: newWatch(c)}
		b.w.arrived = b.arrived
		return rule.Check{Sight: b.sight, Event: b.event, End: b.end}
	},
})

// brokenFrame follows what the peer does after an FPDU with a wrong CRC.
type brokenFrame struct {
	c      *rule.Context
	w      *watch
	lens   sends
	taken  int // receives that completed
	found  bool
	at     vtime.Time
	record uint64
	now    *rule.Sight
}

func (b *brokenFrame) sight(s *rule.Sight) {
	b.now = s
	b.w.sight(s)
}

func (b *brokenFrame) arrived(u *stream.Unit) {
	if b.found {
		return
	}
	if u.FPDU != nil && b.w.in.CRC() && !u.FPDU.CRCOK {
		b.c.Met()
		b.found, b.at, b.record = true, b.now.At, b.now.Index
		return
	}
	b.lens.add(u)
}

// event finds a receive that completed with what came behind the wrong FPDU.
func (b *brokenFrame) event(e *trace.Event) {
	if b.c.Mine(e) || e.Kind != trace.Recv || e.Body.Status != engine.StatusSuccess {
		return
	}
	if b.taken++; b.found && b.taken > b.lens.count() {
		b.c.Fail(rule.Responder, "a receive completes with what follows an FPDU whose CRC is wrong; nothing of that expected")
	}
}

func (b *brokenFrame) end(at vtime.Time) {
	if b.found && b.w.lastWords == vtime.Never && at.Sub(b.at) > reaction {
		b.c.FailAt(b.at, b.record, rule.Responder, "the CRC of an FPDU is wrong: the end of the stream expected, and it goes on")
	}
}
