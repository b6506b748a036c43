package gbn

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// benchPair returns a requester and its responder, with 16 MiB of memory each.
func benchPair(b *testing.B) (*Requester, *Responder) {
	b.Helper()
	const size = 16 << 20
	qp := engine.QP{MTU: 1024, QueueDepth: 128, ReceiveDepth: 8, AckReqEvery: 64, MaxRdAtomic: 4, MaxDestRd: 4,
		RTO: vtime.Second, RetryCount: 7, RNRRetry: 7, Access: engine.AllAccess, PKey: roce.DefaultPKey}
	var mem memory.Host
	for _, r := range []memory.Region{
		{RKey: 1, Base: 1 << 30, Len: size, Access: engine.AllAccess, Bytes: make([]byte, size)},
		{RKey: 2, Base: 1 << 40, Len: size, Access: engine.AllAccess, Bytes: make([]byte, size)},
	} {
		if err := mem.Register(r); err != nil {
			b.Fatal(err)
		}
	}
	req, resp, err := New(qp, &mem)
	if err != nil {
		b.Fatal(err)
	}
	return req, resp
}

// write is a request of 1 MiB.
var write = engine.WorkRequest{Op: engine.OpWrite, Len: 1 << 20, LocalVA: 1 << 30, RemoteVA: 1 << 40, RKey: 2}

func BenchmarkRequesterTransmit(b *testing.B) {
	req, _ := benchPair(b)
	ack := roce.Packet{BTH: roce.BTH{Opcode: roce.Acknowledge}, AETH: roce.AETH{Syndrome: roce.SyndromeACK}}
	var p roce.Packet
	b.ReportAllocs()
	for b.Loop() {
		if req.PollTransmit(0, &p) {
			if p.AckReq {
				ack.PSN = p.PSN
				req.HandlePacket(0, &ack)
				req.PollEvent()
			}
			continue
		}
		if err := req.Post(0, write); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResponderReceive(b *testing.B) {
	req, resp := benchPair(b)
	if err := req.Post(0, write); err != nil {
		b.Fatal(err)
	}
	message := make([]roce.Packet, 0, 1024)
	for p := (roce.Packet{}); req.PollTransmit(0, &p); {
		message = append(message, p)
	}
	var out roce.Packet
	next, i := psn.PSN(0), 0
	b.ReportAllocs()
	for b.Loop() {
		p := &message[i]
		p.PSN = next
		resp.HandlePacket(0, p)
		resp.PollTransmit(0, &out)
		next, i = next.Next(), (i+1)%len(message)
	}
	if resp.msn == 0 && b.N > len(message) {
		b.Fatal("nothing completed")
	}
}

func BenchmarkReadResponse(b *testing.B) {
	_, resp := benchPair(b)
	read := roce.Packet{BTH: roce.BTH{Opcode: roce.ReadRequest}, RETH: roce.RETH{VA: 1 << 40, RKey: 2, DMALen: 1 << 20}}
	var p roce.Packet
	b.ReportAllocs()
	for b.Loop() {
		if !resp.PollTransmit(0, &p) {
			read.PSN = resp.epsn
			resp.HandlePacket(0, &read)
		}
	}
}
