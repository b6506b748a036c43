package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/shell"
)

func isSACK(p *roce.Packet) bool {
	return p.Opcode == roce.FaSRSack || p.Opcode == roce.FaSRSackOverflow
}

func isACK(p *roce.Packet) bool { return p.Opcode == roce.Acknowledge && p.AETH.Syndrome.IsACK() }

// answering sets a hook on the packets that the responder sends.
func answering(hook func(e *shell.End, p *roce.Packet) bool) func(*shell.End) {
	return func(e *shell.End) { e.Resp.Out = func(p *roce.Packet) bool { return hook(e, p) } }
}

// reporting sets a hook that changes the responder's variables.
func reporting(hook func(v shell.Vars)) func(*shell.End) {
	return func(e *shell.End) { e.Resp.Report = hook }
}

// retrying sets a hook that is called with every retransmission and with copies of all requests sent.
func retrying(again func(e *shell.End, p *roce.Packet, sent map[psn.PSN]roce.Packet) bool) func(*shell.End) {
	return func(e *shell.End) {
		next, sent := e.QP.SendPSN, map[psn.PSN]roce.Packet{}
		e.Req.Out = func(p *roce.Packet) bool {
			if p.Opcode.IsReadAck() {
				return true
			}
			if p.PSN.Less(next) {
				return again(e, p, sent)
			}
			next = p.PSN.Next()
			sent[p.PSN] = *p
			return true
		}
	}
}
