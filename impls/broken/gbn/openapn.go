package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/openapn"
)

// openAPN are the variants of RDMA over Open APN: queues whose depth does not fit the path, and senders that do not
// fill their queue.
func openAPN() []recipe {
	variants := []recipe{
		{name: "apn-payload", breaks: "counts payload bytes, without the headers", catches: "APN-QD-001",
			scenarios: "openapn/frames",
			impl:      depth(func(_ engine.QP, d int) int { return d * 1106 / 1024 })},
		{name: "apn-bytes", breaks: "divides bits by bytes", catches: "APN-QD-002 APN-QD-001",
			scenarios: "openapn/frames",
			impl:      depth(func(_ engine.QP, d int) int { return 8 * d })},
		{name: "apn-idle", breaks: "keeps nine tenths of its queue outstanding", catches: "APN-QD-003",
			scenarios: "openapn/frames",
			attr:      func(req, _ *engine.QP) { req.QueueDepth = req.QueueDepth * 9 / 10 }},
		{name: "apn-half", breaks: "keeps half of a queue outstanding that is too short already", catches: "APN-QD-004",
			scenarios: "openapn/starved",
			attr:      func(req, _ *engine.QP) { req.QueueDepth /= 2 }},
		{name: "apn-uncapped", breaks: "goes deeper than the device", catches: "APN-QD-005",
			scenarios: "openapn/starved",
			impl:      depth(func(_ engine.QP, d int) int { return 2 * d })},
		{name: "apn-packets", breaks: "counts packets where the queue holds messages", catches: "APN-QD-006",
			scenarios: "openapn/messages",
			impl:      depth(func(qp engine.QP, d int) int { return d * qp.Packets(qp.Path.Message) })},
		{name: "apn-moderated", breaks: "has one message outstanding although completions come in fours",
			catches: "APN-QD-007", scenarios: "openapn/moderated",
			attr: func(req, _ *engine.QP) { req.QueueDepth = 1 }},
		{name: "apn-receives", breaks: "has more SENDs outstanding than the peer can have receives",
			catches: "APN-QD-008", scenarios: "openapn/sends",
			impl: depth(func(qp engine.QP, _ int) int { return qp.ReceiveDepth + 1 })},
	}
	for i := range variants {
		variants[i].right = openapn.Implementation
	}
	return variants
}

// depth changes the depth that the scheme chooses.
func depth(change func(qp engine.QP, depth int) int) func(*engine.Implementation) {
	return func(im *engine.Implementation) {
		right := im.QueueDepth
		im.QueueDepth = func(qp engine.QP) (int, string, error) {
			d, note, err := right(qp)
			return change(qp, d), note, err
		}
	}
}
