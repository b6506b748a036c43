package rule

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/shim"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// CodesBlocks is the feature of transports above an error-correcting shim: LoWAR.
const CodesBlocks = "lowar"

// above is a half-conversation as a decoder below it sees it.
type above struct{ *Conversation }

// First implements shim.Transport.
func (a above) First() (psn.PSN, bool) { return a.Start, a.Started }

// PathMTU implements shim.Transport.
func (a above) PathMTU() int { return a.MTU }

// interpose makes the decoders of a half-conversation, whose output goes to pass.
func (j *Judge) interpose(h *half) {
	c := &h.conv
	requests := shim.Source{Receiver: c.PeerAttr, Known: c.Known}
	c.Decoders[0] = shim.New(requests, above{c}, &j.buffers[c.Req.Other()], func(a *shim.Arrival) {
		j.sight.Point = trace.ResponderIn
		j.pass(h, int(trace.ResponderIn), &a.Sight, a.Recovered)
	})
	responses := shim.Source{Reads: true, Receiver: c.Attr, Known: c.Known}
	c.Decoders[1] = shim.New(responses, above{c}, &j.buffers[c.Req], func(a *shim.Arrival) {
		j.sight.Point = trace.RequesterIn
		j.pass(h, int(trace.RequesterIn), &a.Sight, a.Recovered)
	})
}

// decoderOf returns the decoder through which a sight passes; nil when there is none, and for a packet that the shim
// does not process: one that is damaged or not for this QP is dropped below the shim, and packets of list listForeign
// bypass it.
func (c *Conversation) decoderOf(t *trace.Sight, list int) *shim.Decoder {
	if c.Decoders[0] == nil || t.Out || list == listForeign {
		return nil
	}
	s := Sight{Sight: *t, Point: trace.ResponderIn}
	d := c.Decoders[0]
	if t.Pkt.ToRequester() {
		d, s.Point = c.Decoders[1], trace.RequesterIn
	}
	if o := t.Pkt.Opcode; !s.Intact() || o != roce.LoWAR && !c.Addressed(&s) {
		return nil
	}
	return d
}

// decoderAt returns the decoder at side: of requests at the responder, of READ responses at the requester.
func (c *Conversation) decoderAt(side trace.Side) *shim.Decoder {
	if side == c.Req {
		return c.Decoders[1]
	}
	return c.Decoders[0]
}

// admits gives up a hole when its end asks for the missing packet: by a response, or by a READ that it sends again. It
// reports whether it did.
func admits(c *Conversation, t *trace.Sight, list int) bool {
	var d *shim.Decoder
	switch p := t.Pkt; {
	case c.Decoders[0] == nil:
	case list == int(trace.ResponderOut) && (IsNAK(p) || Selective(p) && !p.AETH.Syndrome.IsACK()):
		d = c.Decoders[0]
	case list == int(trace.RequesterOut) && p.Opcode.IsRead() && p.PSN.Less(c.MAX):
		d = c.Decoders[1]
	}
	return d != nil && d.Admit(t.At, tickOf(c.owner))
}

// announces records the parameters that an announcement gives when it leaves a sender, which uses them before the
// receiver knows.
func (c *Conversation) announces(p *roce.Packet) {
	h := &p.Repair
	switch {
	case c.Decoders[0] == nil || h.Type != roce.RepairAnnounce:
	case h.Responses:
		c.Decoders[1].Deepen(int(h.R), int(h.C))
	default:
		c.Decoders[0].Deepen(int(h.R), int(h.C))
	}
}

// speaks reports whether a LoWAR packet belongs to a connection whose ends understand it.
func (j *Judge) speaks(r *trace.Record) bool {
	return r.Conn >= 0 && r.Conn < len(j.halves) && r.Defect == "" && j.coded[trace.A]
}

// placeRepair is place for a LoWAR packet, which belongs to the half-conversation whose data it protects.
func (j *Judge) placeRepair(t *trace.Sight) (h *half, list int) {
	r := t.Rec
	req := r.From
	list, j.sight.Point = listRepairOut, trace.RequesterOut
	if r.Packet.ToRequester() {
		req, j.sight.Point = r.From.Other(), trace.ResponderOut
	}
	if !t.Out {
		list, j.sight.Point = listRepairIn, j.sight.Point+1
	}
	return j.half(r.Conn, req), list
}
