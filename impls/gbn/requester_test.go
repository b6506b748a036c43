package gbn

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// set returns a change of the QP's parameters.
func set(name, value string) func(*engine.QP) {
	return func(qp *engine.QP) { qp.Params = engine.Params{name: value} }
}

var requesterScripts = []script{
	{"opcode by position", nil, `
		post 1 WRITE 0
		post 2 SEND 256 solicited
		post 3 WRITE 513 solicited
		post 4 SEND_IMM 257
		post 5 SEND_INV 1
		post 6 WRITE_IMM 512 solicited
		> WRITE_ONLY psn=+0 A
		> SEND_ONLY psn=+1 len=256 A SE
		> WRITE_FIRST psn=+2 len=256
		> WRITE_MIDDLE psn=+3 len=256
		> WRITE_LAST psn=+4 len=1 A
		> SEND_FIRST psn=+5 len=256
		> SEND_LAST_IMM psn=+6 len=1 imm=0x4d A
		> SEND_ONLY_INV psn=+7 len=1 ikey=0x63 A
		> WRITE_FIRST psn=+8 len=256
		> WRITE_LAST_IMM psn=+9 len=256 imm=0x4d A SE
		idle`},

	{"ACK requested every second packet", func(qp *engine.QP) { qp.AckReqEvery = 2 }, `
		post 1 WRITE 1280
		> WRITE_FIRST psn=+0 len=256
		> WRITE_MIDDLE psn=+1 len=256 A
		> WRITE_MIDDLE psn=+2 len=256
		> WRITE_MIDDLE psn=+3 len=256 A
		> WRITE_LAST psn=+4 len=256 A`},

	{"cumulative ACK completes in order", nil, `
		post 1 WRITE 1
		post 2 WRITE 512 unsignalled
		post 3 SEND 512
		> WRITE_ONLY psn=+0 len=1 A
		> WRITE_FIRST psn=+1 len=256
		> WRITE_LAST psn=+2 len=256 A
		> SEND_FIRST psn=+3 len=256
		> SEND_LAST psn=+4 len=256 A
		< ACK psn=+3 msn=2
		CQE 1 WRITE SUCCESS psn=+0
		snd_una=4
		timer 100us
		< ACK psn=+4 msn=3
		CQE 3 SEND SUCCESS psn=+4
		timer none`},

	{"ghost responses", nil, `
		post 1 WRITE 1
		< ACK psn=+0 msn=1
		< ACK psn=-8388608
		> WRITE_ONLY psn=+0 len=1 A
		< ACK psn=-1 msn=1
		< ACK psn=+1 msn=1
		< ACK psn=-8388608 msn=1
		< ACK psn=+8388607 msn=1
		< NAK psn=+1 PSN_SEQ_ERR
		< READ_RESP_ONLY psn=+0
		< ATOMIC_ACK psn=+0
		< SEND_ONLY psn=+0
		ignored=10
		idle
		snd_una=0`},

	{"reserved syndromes", nil, `
		post 1 WRITE 1
		> WRITE_ONLY psn=+0 len=1 A
		< ACKNOWLEDGE psn=+0 syndrome=0x5f
		< ACKNOWLEDGE psn=+0 syndrome=0x7f
		< NAK psn=+0 INVALID_RD
		reserved=3
		idle`},

	{"NAK goes back to its PSN, once", nil, `
		post 1 WRITE 1024
		> WRITE_FIRST psn=+0 len=256
		> WRITE_MIDDLE psn=+1 len=256
		> WRITE_MIDDLE psn=+2 len=256
		> WRITE_LAST psn=+3 len=256 A
		< NAK psn=+1 PSN_SEQ_ERR
		snd_una=1
		timer none
		> WRITE_MIDDLE psn=+1 len=256
		< NAK psn=+1 PSN_SEQ_ERR
		> WRITE_MIDDLE psn=+2 len=256
		< NAK psn=+2 PSN_SEQ_ERR
		> WRITE_MIDDLE psn=+2 len=256
		> WRITE_LAST psn=+3 len=256 A
		timer 100us
		idle
		< ACK psn=+3 msn=1
		CQE 1 WRITE SUCCESS psn=+3`},

	{"an ACK overtakes the retransmission", nil, `
		post 1 WRITE 1024
		> WRITE_FIRST psn=+0 len=256
		> WRITE_MIDDLE psn=+1 len=256
		> WRITE_MIDDLE psn=+2 len=256
		> WRITE_LAST psn=+3 len=256 A
		+100us
		TIMEOUT psn=+0
		> WRITE_FIRST psn=+0 len=256
		< ACK psn=+2
		> WRITE_LAST psn=+3 len=256 A
		idle
		< ACK psn=+3 msn=1
		CQE 1 WRITE SUCCESS psn=+3`},

	{"timeouts until the retries are spent", nil, `
		post 1 WRITE 1
		post 2 SEND 1
		post 3 SEND 600 unsignalled
		> WRITE_ONLY psn=+0 len=1 A
		+40us
		> SEND_ONLY psn=+1 len=1 A
		timer 60us
		> SEND_FIRST psn=+2 len=256
		> SEND_MIDDLE psn=+3 len=256
		> SEND_LAST psn=+4 len=88 A
		+59us
		idle
		+1us
		TIMEOUT psn=+0
		timer none
		> WRITE_ONLY psn=+0 len=1 A
		timer 100us
		+100us
		TIMEOUT psn=+0
		> WRITE_ONLY psn=+0 len=1 A
		+100us
		CQE 1 WRITE RETRY_EXC_ERR psn=+0
		FATAL RETRY_EXC_ERR psn=+0
		CQE 2 SEND WR_FLUSH_ERR psn=+1
		CQE 3 SEND WR_FLUSH_ERR psn=+4
		idle
		timer none
		reject 4 WRITE 1 error state
		< ACK psn=+1
		idle`},

	{"progress reloads the retries", nil, `
		post 1 WRITE 512
		> WRITE_FIRST psn=+0 len=256
		> WRITE_LAST psn=+1 len=256 A
		+100us
		TIMEOUT psn=+0
		> WRITE_FIRST psn=+0 len=256
		> WRITE_LAST psn=+1 len=256 A
		+100us
		TIMEOUT psn=+0
		retry=0
		> WRITE_FIRST psn=+0 len=256
		< ACK psn=+0
		retry=2
		> WRITE_LAST psn=+1 len=256 A
		+100us
		TIMEOUT psn=+1
		> WRITE_LAST psn=+1 len=256 A`},

	{"timer restarts with progress and only then", nil, `
		post 1 WRITE 1
		post 2 WRITE 1
		> WRITE_ONLY psn=+0 len=1 A
		> WRITE_ONLY psn=+1 len=1 A
		+60us
		< ACK psn=-1
		timer 40us
		< ACK psn=+0
		timer 100us
		CQE 1 WRITE SUCCESS psn=+0`},

	{"the first NAK after a timeout is news", func(qp *engine.QP) { qp.RetryCount = 3 }, `
		post 1 WRITE 512
		> WRITE_FIRST psn=+0 len=256
		timer none
		> WRITE_LAST psn=+1 len=256 A
		timer 100us
		< NAK psn=+0 PSN_SEQ_ERR
		> WRITE_FIRST psn=+0 len=256
		> WRITE_LAST psn=+1 len=256 A
		+100us
		TIMEOUT psn=+0
		> WRITE_FIRST psn=+0 len=256
		< ACK psn=+0
		> WRITE_LAST psn=+1 len=256 A
		< NAK psn=+1 PSN_SEQ_ERR
		> WRITE_LAST psn=+1 len=256 A
		+100us
		TIMEOUT psn=+1
		> WRITE_LAST psn=+1 len=256 A
		idle
		< NAK psn=+1 PSN_SEQ_ERR
		> WRITE_LAST psn=+1 len=256 A
		retry=0`},

	{"no timeout, no timer", func(qp *engine.QP) { qp.RTO = 0 }, `
		post 1 WRITE 1
		> WRITE_ONLY psn=+0 len=1 A
		timer none
		+10s
		idle`},

	{"retry count 7 for ever", func(qp *engine.QP) { qp.RetryCount = 7; set("rxe_infinite7", "true")(qp) }, `
		post 1 WRITE 1
		> WRITE_ONLY psn=+0 len=1 A
		+100us
		TIMEOUT psn=+0
		> WRITE_ONLY psn=+0 len=1 A
		+100us
		TIMEOUT psn=+0
		retry=7`},

	{"RNR NAK waits and counts", nil, `
		post 1 WRITE 1
		post 2 SEND 1
		> WRITE_ONLY psn=+0 len=1 A
		> SEND_ONLY psn=+1 len=1 A
		< RNR psn=+1 timer=12
		CQE 1 WRITE SUCCESS psn=+0
		timer 640us
		rnr_retry=0
		< RNR psn=+1 timer=0
		+639us
		idle
		+1us
		> SEND_ONLY psn=+1 len=1 A
		timer 100us
		< RNR psn=+1 timer=12
		CQE 2 SEND RNR_RETRY_EXC_ERR psn=+1
		FATAL RNR_RETRY_EXC_ERR psn=+1`},

	{"RNR retry 7 never ends", func(qp *engine.QP) { qp.RNRRetry = 7 }, `
		post 1 SEND 1
		> SEND_ONLY psn=+0 len=1 A
		< RNR psn=+0 timer=1
		+10us
		> SEND_ONLY psn=+0 len=1 A
		< RNR psn=+0 timer=1
		+10us
		> SEND_ONLY psn=+0 len=1 A`},

	{"an ACK ends the RNR wait", nil, `
		post 1 SEND 1
		post 2 WRITE 1
		> SEND_ONLY psn=+0 len=1 A
		> WRITE_ONLY psn=+1 len=1 A
		< RNR psn=+0 timer=12
		< ACK psn=+0
		CQE 1 SEND SUCCESS psn=+0
		> WRITE_ONLY psn=+1 len=1 A`},

	{"fatal NAK fails the owner", nil, `
		post 1 WRITE 1 unsignalled
		post 2 WRITE 512 unsignalled
		post 3 SEND 1
		> WRITE_ONLY psn=+0 len=1 A
		> WRITE_FIRST psn=+1 len=256
		> WRITE_LAST psn=+2 len=256 A
		< NAK psn=+2 REM_ACCESS
		CQE 2 WRITE REM_ACCESS_ERR psn=+2
		FATAL REM_ACCESS_ERR psn=+2
		CQE 3 SEND WR_FLUSH_ERR psn=+3`},
	{"invalid request", nil, `
		post 1 WRITE 1
		> WRITE_ONLY psn=+0 len=1 A
		< NAK psn=+0 INVALID_REQ
		CQE 1 WRITE REM_INV_REQ_ERR psn=+0
		FATAL REM_INV_REQ_ERR psn=+0`},
	{"operational error", nil, `
		post 1 WRITE 1
		> WRITE_ONLY psn=+0 len=1 A
		< NAK psn=+0 REM_OP
		CQE 1 WRITE REM_OP_ERR psn=+0
		FATAL REM_OP_ERR psn=+0`},

	{"READ takes the PSNs of its responses", nil, `
		post 1 READ 600
		post 2 READ 0
		post 3 WRITE 1
		> READ_REQUEST psn=+0 va=0x8000 dmalen=600 A
		> READ_REQUEST psn=+3 va=0x8000 A
		> WRITE_ONLY psn=+4 len=1 A
		< READ_RESP_FIRST psn=+0 len=256
		< READ_RESP_MIDDLE psn=+1 len=256
		< READ_RESP_LAST psn=+2 len=88
		CQE 1 READ SUCCESS psn=+2
		stored 600
		< READ_RESP_ONLY psn=+3
		CQE 2 READ SUCCESS psn=+3
		< ACK psn=+4
		CQE 3 WRITE SUCCESS psn=+4
		timer none`},

	{"a response acknowledges the WRITEs before it", nil, `
		post 1 WRITE 1
		post 2 READ 1
		> WRITE_ONLY psn=+0 len=1 A
		> READ_REQUEST psn=+1 va=0x8000 dmalen=1 A
		< READ_RESP_ONLY psn=+1 len=1
		CQE 1 WRITE SUCCESS psn=+0
		CQE 2 READ SUCCESS psn=+1`},

	{"READ gap is asked for at once, once", nil, `
		post 1 READ 1024
		> READ_REQUEST psn=+0 va=0x8000 dmalen=1024 A
		< READ_RESP_FIRST psn=+0 len=256
		< READ_RESP_MIDDLE psn=+2 len=256
		< READ_RESP_LAST psn=+3 len=256
		> READ_REQUEST psn=+1 va=0x8100 dmalen=768 A
		idle
		< READ_RESP_MIDDLE psn=+0 len=256
		< READ_RESP_FIRST psn=+1 len=256
		< READ_RESP_MIDDLE psn=+2 len=256
		< READ_RESP_LAST psn=+3 len=256
		CQE 1 READ SUCCESS psn=+3
		stored 1024`},

	{"READ gap left to the timer", set("read_gap", "wait"), `
		post 1 READ 768
		post 2 READ 1
		> READ_REQUEST psn=+0 va=0x8000 dmalen=768 A
		> READ_REQUEST psn=+3 va=0x8000 dmalen=1 A
		< READ_RESP_MIDDLE psn=+1 len=256
		idle
		< READ_RESP_ONLY psn=+3 len=1
		> READ_REQUEST psn=+0 va=0x8000 dmalen=768 A
		> READ_REQUEST psn=+3 va=0x8000 dmalen=1 A`},

	{"an ACK past a READ is an implied NAK", nil, `
		post 1 WRITE 1
		post 2 READ 512
		post 3 WRITE 1
		> WRITE_ONLY psn=+0 len=1 A
		> READ_REQUEST psn=+1 va=0x8000 dmalen=512 A
		> WRITE_ONLY psn=+3 len=1 A
		< ACK psn=+3
		CQE 1 WRITE SUCCESS psn=+0
		> READ_REQUEST psn=+1 va=0x8000 dmalen=512 A
		> WRITE_ONLY psn=+3 len=1 A
		idle`},

	{"NAKs past a READ are implied NAKs first", nil, `
		post 1 READ 1
		post 2 SEND 1
		> READ_REQUEST psn=+0 va=0x8000 dmalen=1 A
		> SEND_ONLY psn=+1 len=1 A
		< NAK psn=+1 REM_ACCESS
		> READ_REQUEST psn=+0 va=0x8000 dmalen=1 A
		> SEND_ONLY psn=+1 len=1 A
		< RNR psn=+1
		idle
		timer 100us`},

	{"an original response completes what is being asked for again", nil, `
		post 1 READ 512
		> READ_REQUEST psn=+0 va=0x8000 dmalen=512 A
		+100us
		TIMEOUT psn=+0
		< READ_RESP_FIRST psn=+0 len=256
		> READ_REQUEST psn=+1 va=0x8100 dmalen=256 A
		< READ_RESP_LAST psn=+1 len=256
		CQE 1 READ SUCCESS psn=+1
		idle`},

	{"READ response of the wrong length", nil, `
		post 1 READ 512
		> READ_REQUEST psn=+0 va=0x8000 dmalen=512 A
		< READ_RESP_FIRST psn=+0 len=255
		CQE 1 READ LOC_LEN_ERR psn=+1
		FATAL LOC_LEN_ERR psn=+0
		stored 0`},

	{"READ into memory that is not there", nil, `
		post 1 READ 512 nowhere
		post 2 FETCH_ADD 8 nowhere
		> READ_REQUEST psn=+0 va=0x8000 dmalen=512 A
		< READ_RESP_FIRST psn=+0 len=256
		CQE 1 READ LOC_PROT_ERR psn=+1
		FATAL LOC_PROT_ERR psn=+0
		CQE 2 FETCH_ADD WR_FLUSH_ERR psn=+2`},

	{"atomic into memory that is not there", nil, `
		post 1 FETCH_ADD 8 nowhere
		> FETCH_ADD psn=+0 A
		< ATOMIC_ACK psn=+0
		CQE 1 FETCH_ADD LOC_PROT_ERR psn=+0
		FATAL LOC_PROT_ERR psn=+0`},

	{"READs and atomics outstanding are limited", nil, `
		post 1 READ 1
		post 2 FETCH_ADD 8
		post 3 READ 1
		post 4 WRITE 1
		> READ_REQUEST psn=+0 va=0x8000 dmalen=1 A
		> FETCH_ADD psn=+1 A
		idle
		rd_atomic=2
		< READ_RESP_ONLY psn=+0 len=1
		CQE 1 READ SUCCESS psn=+0
		> READ_REQUEST psn=+2 va=0x8000 dmalen=1 A
		> WRITE_ONLY psn=+3 len=1 A`},

	{"atomic result lands in local memory", nil, `
		post 1 FETCH_ADD 8
		post 2 CMP_SWAP 8
		> FETCH_ADD psn=+0 A
		> CMP_SWAP psn=+1 A
		< ATOMIC_ACK psn=+1 result=0x7
		> FETCH_ADD psn=+0 A
		> CMP_SWAP psn=+1 A
		< ATOMIC_ACK psn=+0 result=0x9
		word 9
		CQE 1 FETCH_ADD SUCCESS psn=+0
		< ATOMIC_ACK psn=+1 result=0xa
		word 10
		CQE 2 CMP_SWAP SUCCESS psn=+1`},

	{"queue depth", func(qp *engine.QP) { qp.QueueDepth = 2 }, `
		post 1 WRITE 1
		post 2 WRITE 1
		reject 3 WRITE 1 queue full
		> WRITE_ONLY psn=+0 len=1 A
		< ACK psn=+0
		CQE 1 WRITE SUCCESS psn=+0
		post 3 WRITE 1`},

	{"malformed requests", func(qp *engine.QP) { qp.MaxRdAtomic = 0 }, `
		reject 1 WRITE 2147483649 2^31
		reject 2 FETCH_ADD 4 an atomic has 8
		reject 3 READ 1 MaxRdAtomic
		reject 4 FETCH_ADD 8 MaxRdAtomic
		idle`},
	{"a READ of half the PSN space", nil, `
		reject 1 READ 2147483648 raise the MTU
		reject 2 READ 2147483393 raise the MTU
		post 3 READ 2147483392`},
	{"READs share the PSN space", nil, `
		post 1 READ 1073741824
		post 2 READ 1073741824
		> READ_REQUEST psn=+0 va=0x8000 dmalen=1073741824 A
		idle
		< READ_RESP_FIRST psn=+0 len=256
		> READ_REQUEST psn=+4194304 va=0x8000 dmalen=1073741824 A`},

	{"go back to a chunk", set("backto0", "512"), `
		post 1 WRITE 1280
		> WRITE_FIRST psn=+0 len=256
		> WRITE_MIDDLE psn=+1 len=256
		> WRITE_MIDDLE psn=+2 len=256
		> WRITE_MIDDLE psn=+3 len=256
		> WRITE_LAST psn=+4 len=256 A
		< NAK psn=+3 PSN_SEQ_ERR
		snd_una=3
		> WRITE_MIDDLE psn=+2 len=256
		> WRITE_MIDDLE psn=+3 len=256
		< ACK psn=+3
		> WRITE_LAST psn=+4 len=256 A
		idle`},

	{"repeated NAKs with an interval", set("nack_interval", "20us"), `
		post 1 WRITE 512
		> WRITE_FIRST psn=+0 len=256
		> WRITE_LAST psn=+1 len=256 A
		< NAK psn=+0 PSN_SEQ_ERR
		> WRITE_FIRST psn=+0 len=256
		> WRITE_LAST psn=+1 len=256 A
		+19us
		< NAK psn=+0 PSN_SEQ_ERR
		idle
		+1us
		< NAK psn=+0 PSN_SEQ_ERR
		> WRITE_FIRST psn=+0 len=256`},

	{"NAKs of what still waits for the line spend no retry", func(qp *engine.QP) {
		qp.RetryCount = 1
		set("nack_interval", "20us")(qp)
	}, `
		post 1 WRITE 512
		> WRITE_FIRST psn=+0 len=256
		> WRITE_LAST psn=+1 len=256 A
		< NAK psn=+0 PSN_SEQ_ERR
		retry=0
		+20us
		< NAK psn=+0 PSN_SEQ_ERR
		> WRITE_FIRST psn=+0 len=256
		< NAK psn=+0 PSN_SEQ_ERR
		+20us
		< NAK psn=+0 PSN_SEQ_ERR
		CQE 1 WRITE RETRY_EXC_ERR psn=+1
		FATAL RETRY_EXC_ERR psn=+0`},
	{"a NAK that comes with the timeout spends no retry of its own", func(qp *engine.QP) { qp.RetryCount = 1 }, `
		post 1 WRITE 512
		> WRITE_FIRST psn=+0 len=256
		> WRITE_LAST psn=+1 len=256 A
		+100us
		TIMEOUT psn=+0
		retry=0
		< NAK psn=+0 PSN_SEQ_ERR
		> WRITE_FIRST psn=+0 len=256
		> WRITE_LAST psn=+1 len=256 A
		< NAK psn=+0 PSN_SEQ_ERR
		CQE 1 WRITE RETRY_EXC_ERR psn=+1
		FATAL RETRY_EXC_ERR psn=+0`},

	{"sequence NAKs spend retries", func(qp *engine.QP) { qp.RetryCount = 0 }, `
		post 1 WRITE 512
		> WRITE_FIRST psn=+0 len=256
		> WRITE_LAST psn=+1 len=256 A
		< NAK psn=+0 PSN_SEQ_ERR
		CQE 1 WRITE RETRY_EXC_ERR psn=+1
		FATAL RETRY_EXC_ERR psn=+0`},
}

func TestRequester(t *testing.T) {
	play(t, requesterScripts, func(a *actor) engine.Engine { return a.req })
}

// TestUnacknowledgedSpan sends the largest message in the smallest packets: the requester stops below 2^23 packets,
// with AckReq, and continues after the ACK (IBTA 9.7.2).
func TestUnacknowledgedSpan(t *testing.T) {
	qp := scriptQP(1<<24 - 3)
	req, _, err := New(qp, &memory.Host{})
	if err != nil {
		t.Fatal(err)
	}
	if err := req.Post(0, engine.WorkRequest{Op: engine.OpWrite, Len: rc.MaxMessage}); err != nil {
		t.Fatal(err)
	}
	var p roce.Packet
	req.PollTransmit(0, &p)
	// Skip to the end of the span, as if the packets in between had been sent.
	n := psn.Half - 5
	req.sq.pkt, req.win.nxt, req.win.max = n, qp.SendPSN.Add(n), qp.SendPSN.Add(n)
	for req.PollTransmit(0, &p) {
		n++
	}
	if n != psn.Half-1 || !p.AckReq || p.Opcode != roce.WriteMiddle {
		t.Fatalf("stopped after %d packets with %s", n, &p)
	}
	req.HandlePacket(0, &roce.Packet{BTH: roce.BTH{Opcode: roce.Acknowledge, PSN: p.PSN},
		AETH: roce.AETH{Syndrome: roce.SyndromeACK}})
	if !req.PollTransmit(0, &p) || p.Opcode != roce.WriteLast {
		t.Errorf("after the ACK comes %s, want the last packet", &p)
	}
}

func TestRNRTable(t *testing.T) {
	for code := range roce.RNRTimer(32) {
		a := newActor(t, scriptQP(0))
		a.half = a.req
		a.step("post 1 SEND 1")
		a.step("> SEND_ONLY psn=+0 len=1 A")
		nak := a.packet("RNR psn=+0")
		nak.AETH.Syndrome = roce.SyndromeRNR | roce.Syndrome(code)
		a.req.HandlePacket(0, &nak)
		if at, _ := a.req.PollTimer(); at != vtime.Time(code.Duration()) || a.req.PollTransmit(at-1, &nak) ||
			!a.req.PollTransmit(at, &nak) {
			t.Errorf("code %d: deadline %d, want %d, and no packet before", code, at, code.Duration())
		}
	}
}
