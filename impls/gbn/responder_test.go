package gbn

import (
	"fmt"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

var responderScripts = []script{
	{"executes in order and acknowledges what asks", nil, `
		recv 1 1024
		recv 2 1024
		< WRITE_FIRST psn=+0 len=256 dmalen=300
		idle
		< WRITE_LAST psn=+1 len=44 A
		> ACK psn=+1 msn=1
		< SEND_ONLY psn=+2 len=8 A
		RECV 1 SEND SUCCESS len=8 imm=0 inv=0 psn=+2
		> ACK psn=+2 msn=2
		< WRITE_ONLY_IMM psn=+3 len=5 dmalen=5 imm=0x9 A
		RECV 2 WRITE_IMM SUCCESS len=5 imm=9 inv=0 psn=+3
		> ACK psn=+3 msn=3
		stored 313
		epsn=4`},

	{"multi-packet SEND with immediate", nil, `
		recv 1 513
		< SEND_FIRST psn=+0 len=256
		< SEND_MIDDLE psn=+1 len=256
		< SEND_LAST_IMM psn=+2 len=1 imm=0x9 A
		RECV 1 SEND_IMM SUCCESS len=513 imm=9 inv=0 psn=+2
		> ACK psn=+2 msn=1`},

	{"SEND with invalidate", nil, `
		recv 1 8
		< SEND_ONLY_INV psn=+0 len=8 ikey=0x2 A
		RECV 1 SEND_INV SUCCESS len=8 imm=0 inv=2 psn=+0
		> ACK psn=+0 msn=1
		< WRITE_ONLY psn=+1 len=1 dmalen=1 A
		FATAL REM_ACCESS_ERR psn=+1
		> NAK psn=+1 msn=1 REM_ACCESS`},
	{"SEND with invalidate of an unknown key", nil, `
		recv 1 8
		< SEND_ONLY_INV psn=+0 len=8 ikey=0x63 A
		RECV 1 SEND REM_ACCESS_ERR len=0 imm=0 inv=0 psn=+0
		FATAL REM_ACCESS_ERR psn=+0
		> NAK psn=+0 msn=0 REM_ACCESS`},

	{"one NAK per gap", nil, `
		< WRITE_ONLY psn=+0 len=1 dmalen=1 A
		> ACK psn=+0 msn=1
		< WRITE_ONLY psn=+2 len=1 dmalen=1 A
		nak_sent=1
		> NAK psn=+1 msn=1 PSN_SEQ_ERR
		< WRITE_ONLY psn=+3 len=1 dmalen=1 A
		< WRITE_ONLY psn=+4194304 len=1 dmalen=1 A
		< WRITE_ONLY psn=+8388607 len=1 dmalen=1 A
		idle
		stored 1
		< WRITE_ONLY psn=+1 len=1 dmalen=1 A
		> ACK psn=+1 msn=2
		< WRITE_ONLY psn=+3 len=1 dmalen=1 A
		> NAK psn=+2 msn=2 PSN_SEQ_ERR
		early=5`},

	{"the NAK repeats with an interval", set("nack_interval", "4us"), `
		< SEND_ONLY psn=+1 len=1
		> NAK psn=+0 msn=0 PSN_SEQ_ERR
		+3us
		< SEND_ONLY psn=+2 len=1
		idle
		+1us
		< SEND_ONLY psn=+3 len=1
		> NAK psn=+0 msn=0 PSN_SEQ_ERR`},

	{"an RNR NAK does not repeat as a sequence NAK", set("nack_interval", "4us"), `
		< SEND_ONLY psn=+0 len=1
		> RNR psn=+0 msn=0 timer=12
		+5us
		< SEND_ONLY psn=+1 len=1
		idle`},

	{"a NAK that is not out yet dies with its gap", nil, `
		< WRITE_ONLY psn=+1 len=1 dmalen=1 A
		< WRITE_ONLY psn=+0 len=1 dmalen=1 A
		> ACK psn=+0 msn=1
		idle`},

	{"duplicates are acknowledged and not executed", nil, `
		recv 1 8
		< SEND_ONLY psn=+0 len=8 A
		RECV 1 SEND SUCCESS len=8 imm=0 inv=0 psn=+0
		> ACK psn=+0 msn=1
		< WRITE_FIRST psn=+1 len=256 dmalen=257
		< SEND_ONLY psn=+0 len=8
		> ACK psn=+1 msn=1
		< WRITE_FIRST psn=+1 len=256 dmalen=257
		> ACK psn=+1 msn=1
		< WRITE_ONLY psn=-8388606 len=1 dmalen=1
		> ACK psn=+1 msn=1
		< WRITE_LAST psn=+2 len=1 A
		> ACK psn=+2 msn=2
		stored 265
		duplicates=3`},

	{"no receive for SEND", nil, `
		< WRITE_ONLY psn=+0 len=1 dmalen=1
		< SEND_ONLY psn=+1 len=1 A
		> RNR psn=+1 msn=1 timer=12
		< SEND_ONLY psn=+2 len=1 A
		idle
		< SEND_ONLY psn=+1 len=1 A
		> RNR psn=+1 msn=1 timer=12
		recv 1 8
		stored 1
		< SEND_ONLY psn=+1 len=1 A
		RECV 1 SEND SUCCESS len=1 imm=0 inv=0 psn=+1
		> ACK psn=+1 msn=2`},
	{"no receive for the immediate of a WRITE", nil, `
		< WRITE_FIRST psn=+0 len=256 dmalen=257
		< WRITE_LAST_IMM psn=+1 len=1 imm=0x9 A
		> RNR psn=+1 msn=0 timer=12
		stored 256
		recv 1 0
		< WRITE_LAST_IMM psn=+1 len=1 imm=0x9 A
		RECV 1 WRITE_IMM SUCCESS len=257 imm=9 inv=0 psn=+1
		> ACK psn=+1 msn=1`},

	{"SEND longer than the receive", nil, `
		recv 1 300
		recv 2 300
		< SEND_FIRST psn=+0 len=256
		< SEND_LAST psn=+1 len=45 A
		RECV 1 SEND LOC_LEN_ERR len=0 imm=0 inv=0 psn=+1
		FATAL LOC_LEN_ERR psn=+1
		RECV 2 SEND WR_FLUSH_ERR len=0 imm=0 inv=0 psn=+1
		> NAK psn=+1 msn=0 INVALID_REQ
		stored 256`},

	{"silent after a fatal NAK", nil, `
		< WRITE_MIDDLE psn=+0 len=256
		FATAL REM_INV_REQ_ERR psn=+0
		< WRITE_ONLY psn=+0 len=1 dmalen=1 A
		> NAK psn=+0 msn=0 INVALID_REQ
		< WRITE_ONLY psn=+0 len=1 dmalen=1 A
		< WRITE_ONLY psn=-1 len=1 dmalen=1 A
		idle
		failed=1
		stored 0`},

	{"READ responses by position", nil, `
		< READ_REQUEST psn=+0 dmalen=513 A
		msn=1
		epsn=3
		< READ_REQUEST psn=+3 rkey=0x77 A
		< READ_REQUEST psn=+4 dmalen=512 A
		FATAL REM_INV_REQ_ERR psn=+4
		> READ_RESP_FIRST psn=+0 len=256 msn=1
		> READ_RESP_MIDDLE psn=+1 len=256
		> READ_RESP_LAST psn=+2 len=1 msn=1
		> READ_RESP_ONLY psn=+3 msn=2
		> NAK psn=+4 msn=2 INVALID_REQ
		idle`},

	{"an ACK waits for the READ before it", nil, `
		< WRITE_ONLY psn=+0 len=1 dmalen=1 A
		< READ_REQUEST psn=+1 dmalen=512 A
		< WRITE_ONLY psn=+5 len=1 dmalen=1 A
		> ACK psn=+0 msn=1
		> READ_RESP_FIRST psn=+1 len=256 msn=2
		< WRITE_ONLY psn=+3 len=1 dmalen=1 A
		> READ_RESP_LAST psn=+2 len=256 msn=2
		> ACK psn=+3 msn=3
		idle`},

	{"replay of a READ and of its part", nil, `
		< READ_REQUEST psn=+0 dmalen=768 A
		> READ_RESP_FIRST psn=+0 len=256 msn=1
		> READ_RESP_MIDDLE psn=+1 len=256
		> READ_RESP_LAST psn=+2 len=256 msn=1
		< WRITE_ONLY psn=+3 len=1 dmalen=1 A
		> ACK psn=+3 msn=2
		< READ_REQUEST psn=+0 dmalen=768 A
		> READ_RESP_FIRST psn=+0 len=256 msn=2
		< READ_REQUEST psn=+1 va=0x8100 dmalen=512 A
		> READ_RESP_FIRST psn=+1 len=256 msn=2
		> READ_RESP_LAST psn=+2 len=256 msn=2
		< READ_REQUEST psn=+1 va=0x8100 dmalen=256 A
		> READ_RESP_ONLY psn=+1 len=256 msn=2
		< READ_REQUEST psn=+0 dmalen=769 A
		< READ_REQUEST psn=+1 va=0x8100 dmalen=513 A
		< READ_REQUEST psn=+1 va=0x8000 dmalen=256 A
		< READ_REQUEST psn=+0 rkey=0x4 dmalen=256 A
		< READ_REQUEST psn=+3 dmalen=1 A
		< READ_REQUEST psn=-1 dmalen=1 A
		< FETCH_ADD psn=+0
		idle`},

	{"what is forgotten is dropped", nil, `
		< READ_REQUEST psn=+0 dmalen=1 A
		> READ_RESP_ONLY psn=+0 len=1 msn=1
		< FETCH_ADD psn=+1 swapadd=1 A
		> ATOMIC_ACK psn=+1 msn=2
		< READ_REQUEST psn=+2 dmalen=1 A
		> READ_RESP_ONLY psn=+2 len=1 msn=3
		< READ_REQUEST psn=+0 dmalen=1 A
		idle
		remembered=2`},

	{"a replay gives way to new requests", func(qp *engine.QP) { qp.MaxDestRd = 1 }, `
		< READ_REQUEST psn=+0 dmalen=512 A
		> READ_RESP_FIRST psn=+0 len=256 msn=1
		> READ_RESP_LAST psn=+1 len=256 msn=1
		< READ_REQUEST psn=+0 dmalen=512 A
		< READ_REQUEST psn=+2 dmalen=1 A
		> READ_RESP_ONLY psn=+2 len=1 msn=2
		idle`},
	{"more READs than agreed", func(qp *engine.QP) { qp.MaxDestRd = 1 }, `
		< READ_REQUEST psn=+0 dmalen=512 A
		> READ_RESP_FIRST psn=+0 len=256 msn=1
		< READ_REQUEST psn=+2 dmalen=1 A
		FATAL REM_INV_REQ_ERR psn=+2
		> READ_RESP_LAST psn=+1 len=256 msn=1
		> NAK psn=+2 msn=1 INVALID_REQ`},
	{"more atomics than agreed", func(qp *engine.QP) { qp.MaxDestRd = 1 }, `
		< FETCH_ADD psn=+0 swapadd=0x5 A
		< FETCH_ADD psn=+1 swapadd=0x5 A
		FATAL REM_INV_REQ_ERR psn=+1
		> ATOMIC_ACK psn=+0 msn=1
		> NAK psn=+1 msn=1 INVALID_REQ
		word 5`},
	{"no READs agreed", func(qp *engine.QP) { qp.MaxDestRd = 0 }, `
		< READ_REQUEST psn=+0 dmalen=1 A
		FATAL REM_INV_REQ_ERR psn=+0
		> NAK psn=+0 msn=0 INVALID_REQ`},

	{"atomics execute once", nil, `
		< FETCH_ADD psn=+0 swapadd=0x5 A
		> ATOMIC_ACK psn=+0 msn=1
		word 5
		< FETCH_ADD psn=+0 swapadd=0x5 A
		> ATOMIC_ACK psn=+0 msn=1
		< CMP_SWAP psn=+1 compare=0x5 swapadd=0x9 A
		> ATOMIC_ACK psn=+1 msn=2 result=0x5
		< CMP_SWAP psn=+1 compare=0x5 swapadd=0x9 A
		> ATOMIC_ACK psn=+1 msn=2 result=0x5
		word 9
		< CMP_SWAP psn=+2 compare=0x5 swapadd=0x1 A
		> ATOMIC_ACK psn=+2 msn=3 result=0x9
		< CMP_SWAP psn=+1 va=0x8008 compare=0x5 swapadd=0x9 A
		< READ_REQUEST psn=+1
		< CMP_SWAP psn=+0 swapadd=0x5 A
		< FETCH_ADD psn=+2 swapadd=0x5 A
		idle
		word 9
		stored 16`},

	{"coalesced ACK", func(qp *engine.QP) { qp.AckCoalesce = 3 }, `
		< WRITE_ONLY psn=+0 len=1 dmalen=1 A
		timer 4us
		+1us
		< WRITE_ONLY psn=+1 len=1 dmalen=1 A
		idle
		< WRITE_ONLY psn=+2 len=1 dmalen=1 A
		> ACK psn=+2 msn=3
		timer none
		< WRITE_ONLY psn=+3 len=1 dmalen=1 A
		+4us
		> ACK psn=+3 msn=4
		idle
		< WRITE_ONLY psn=+4 len=1 dmalen=1 A
		< WRITE_ONLY psn=+6 len=1 dmalen=1 A
		> NAK psn=+5 msn=5 PSN_SEQ_ERR
		timer none
		idle`},
	{"a READ response carries a coalesced ACK", func(qp *engine.QP) { qp.AckCoalesce = 3 }, `
		< WRITE_ONLY psn=+0 len=1 dmalen=1 A
		< READ_REQUEST psn=+1 dmalen=1 A
		> READ_RESP_ONLY psn=+1 len=1 msn=2
		timer none
		idle`},
	{"a duplicate is answered without coalescing", func(qp *engine.QP) { qp.AckCoalesce = 3 }, `
		< WRITE_ONLY psn=+0 len=1 dmalen=1 A
		< WRITE_ONLY psn=+0 len=1 dmalen=1 A
		> ACK psn=+0 msn=1
		timer none`},

	{"MSN never goes backwards", nil, `
		< READ_REQUEST psn=+0 dmalen=256 A
		> READ_RESP_ONLY psn=+0 len=256 msn=1
		< READ_REQUEST psn=+1 dmalen=512 A
		> READ_RESP_FIRST psn=+1 len=256 msn=2
		< WRITE_ONLY psn=+3 len=1 dmalen=1
		< READ_REQUEST psn=+0 dmalen=256 A
		> READ_RESP_ONLY psn=+0 len=256 msn=3
		> READ_RESP_LAST psn=+2 len=256 msn=3`},

	{"not for a responder", nil, `
		< ACK psn=+0
		< UD_SEND_ONLY psn=+0
		< ATOMIC_WRITE psn=+0
		ignored=3
		idle`},
}

func TestResponder(t *testing.T) {
	play(t, responderScripts, func(a *actor) engine.Engine { return a.resp })
}

// TestRefusals sends one request that must not be executed, after a legal beginning, and checks the NAK, the silence
// and the memory.
func TestRefusals(t *testing.T) {
	without := func(right engine.Access) func(*engine.QP) {
		return func(qp *engine.QP) { qp.Access &^= right }
	}
	var scripts []script
	for _, tc := range []struct {
		name     string
		qp       func(*engine.QP)
		first    string // a legal packet, or none
		bad      string // the rest of the bad packet after its PSN
		syndrome string
		status   string
		stored   int
	}{
		// Opcode sequence (IBTA 9.4).
		{"MIDDLE first", nil, "", "WRITE_MIDDLE %s len=256", "INVALID_REQ", "REM_INV_REQ_ERR", 0},
		{"LAST first", nil, "", "SEND_LAST %s len=1", "INVALID_REQ", "REM_INV_REQ_ERR", 0},
		{"FIRST inside", nil, "WRITE_FIRST psn=+0 len=256 dmalen=512", "WRITE_FIRST %s len=256 dmalen=512",
			"INVALID_REQ", "REM_INV_REQ_ERR", 256},
		{"ONLY inside", nil, "WRITE_FIRST psn=+0 len=256 dmalen=512", "SEND_ONLY %s len=1", "INVALID_REQ",
			"REM_INV_REQ_ERR", 256},
		{"READ inside", nil, "WRITE_FIRST psn=+0 len=256 dmalen=512", "READ_REQUEST %s dmalen=1", "INVALID_REQ",
			"REM_INV_REQ_ERR", 256},
		{"SEND_LAST after WRITE_FIRST", nil, "WRITE_FIRST psn=+0 len=256 dmalen=512", "SEND_LAST %s len=1",
			"INVALID_REQ", "REM_INV_REQ_ERR", 256},
		// Operations that the QP does not allow.
		{"WRITE not enabled", without(engine.RemoteWrite), "", "WRITE_ONLY %s len=1 dmalen=1", "INVALID_REQ",
			"REM_INV_REQ_ERR", 0},
		{"READ not enabled", without(engine.RemoteRead), "", "READ_REQUEST %s dmalen=1", "INVALID_REQ",
			"REM_INV_REQ_ERR", 0},
		{"atomic not enabled", without(engine.RemoteAtomic), "", "FETCH_ADD %s", "INVALID_REQ", "REM_INV_REQ_ERR", 0},
		// Lengths.
		{"short FIRST", nil, "", "WRITE_FIRST %s len=255 dmalen=512", "INVALID_REQ", "REM_INV_REQ_ERR", 0},
		{"long ONLY", nil, "", "WRITE_ONLY %s len=257 dmalen=257", "INVALID_REQ", "REM_INV_REQ_ERR", 0},
		{"empty LAST", nil, "WRITE_FIRST psn=+0 len=256 dmalen=256", "WRITE_LAST %s", "INVALID_REQ",
			"REM_INV_REQ_ERR", 256},
		{"sum below DMALen", nil, "WRITE_FIRST psn=+0 len=256 dmalen=512", "WRITE_LAST %s len=255", "INVALID_REQ",
			"REM_INV_REQ_ERR", 256},
		{"sum above DMALen", nil, "WRITE_FIRST psn=+0 len=256 dmalen=300", "WRITE_MIDDLE %s len=256", "INVALID_REQ",
			"REM_INV_REQ_ERR", 256},
		{"ONLY below DMALen, bad key", nil, "", "WRITE_ONLY %s len=1 dmalen=2 rkey=0x77", "INVALID_REQ",
			"REM_INV_REQ_ERR", 0},
		{"WRITE above 2^31", nil, "", "WRITE_FIRST %s len=256 dmalen=2147483649", "INVALID_REQ", "REM_INV_REQ_ERR", 0},
		{"READ above 2^31", nil, "", "READ_REQUEST %s dmalen=2147483649", "INVALID_REQ", "REM_INV_REQ_ERR", 0},
		{"wrong padding", nil, "", "WRITE_ONLY %s len=1 dmalen=1 pad=1", "INVALID_REQ", "REM_INV_REQ_ERR", 0},
		{"misaligned atomic", nil, "", "FETCH_ADD %s va=0x8004", "INVALID_REQ", "REM_INV_REQ_ERR", 0},
		// Keys, bounds and rights.
		{"unknown key", nil, "", "WRITE_ONLY %s len=1 dmalen=1 rkey=0x77", "REM_ACCESS", "REM_ACCESS_ERR", 0},
		{"beyond the region", nil, "", "WRITE_FIRST %s len=256 va=0x9f00 dmalen=257", "REM_ACCESS",
			"REM_ACCESS_ERR", 0},
		{"around the address space", nil, "", "WRITE_ONLY %s len=2 va=0xffffffffffffffff dmalen=2", "REM_ACCESS",
			"REM_ACCESS_ERR", 0},
		{"another domain", nil, "", "WRITE_ONLY %s len=1 va=0xd000 dmalen=1 rkey=0x5", "REM_ACCESS",
			"REM_ACCESS_ERR", 0},
		{"right missing", nil, "", "WRITE_ONLY %s len=1 va=0xc000 dmalen=1 rkey=0x4", "REM_ACCESS",
			"REM_ACCESS_ERR", 0},
		{"READ beyond", nil, "", "READ_REQUEST %s dmalen=8193", "REM_ACCESS", "REM_ACCESS_ERR", 0},
		{"atomic beyond", nil, "", "FETCH_ADD %s va=0xa000", "REM_ACCESS", "REM_ACCESS_ERR", 0},
	} {
		at, lines := 0, ""
		if tc.first != "" {
			at, lines = 1, "< "+tc.first+"\n"
		}
		lines += fmt.Sprintf("< "+tc.bad+"\n", fmt.Sprintf("psn=+%d", at))
		lines += fmt.Sprintf("FATAL %s psn=%+d\n> NAK psn=%+d msn=0 %s\n", tc.status, at, at, tc.syndrome)
		lines += fmt.Sprintf("< WRITE_ONLY psn=+%d len=1 dmalen=1 A\nidle\nstored %d", at, tc.stored)
		scripts = append(scripts, script{tc.name, tc.qp, lines})
	}
	play(t, scripts, func(a *actor) engine.Engine { return a.resp })
}

// TestZeroLength: WRITE and READ of zero bytes succeed with any key (NEG-RKEY-004; IBTA 10.6.3.1).
func TestZeroLength(t *testing.T) {
	play(t, []script{{"any key", nil, `
		< WRITE_ONLY psn=+0 rkey=0x77 va=0x1 A
		> ACK psn=+0 msn=1
		< READ_REQUEST psn=+1 rkey=0x77 va=0x1
		> READ_RESP_ONLY psn=+1 msn=2`}}, func(a *actor) engine.Engine { return a.resp })
}

func TestFlush(t *testing.T) {
	a := newActor(t, scriptQP(0))
	a.half = a.resp
	for _, line := range []string{"recv 1 512", "recv 2 512", "< SEND_FIRST psn=+0 len=256",
		"< SEND_ONLY psn=+5 len=1"} {
		a.step(line)
	}
	a.resp.Flush(0)
	a.resp.Flush(0)
	for _, line := range []string{
		"RECV 1 SEND WR_FLUSH_ERR len=0 imm=0 inv=0 psn=+1", "RECV 2 SEND WR_FLUSH_ERR len=0 imm=0 inv=0 psn=+1",
		"idle", "timer none"} {
		a.step(line)
	}
	if err := a.resp.PostReceive(0, engine.ReceiveRequest{}); err != engine.ErrQPState {
		t.Errorf("PostReceive after Flush: %v", err)
	}
}

// TestFatalNAKSurvivesFlush: the NAK is sent even if the driver flushes both halves on Fatal.
func TestFatalNAKSurvivesFlush(t *testing.T) {
	a := newActor(t, scriptQP(0))
	a.half = a.resp
	a.step("< WRITE_MIDDLE psn=+0 len=256")
	a.resp.Flush(0)
	a.step("> NAK psn=+0 msn=0 INVALID_REQ")
	a.step("idle")
}

// TestPayloadDisagreesWithLength: a packet whose bytes and length differ is as invalid as a wrong length.
func TestPayloadDisagreesWithLength(t *testing.T) {
	a := newActor(t, scriptQP(0))
	a.half = a.resp
	p := a.packet("WRITE_ONLY psn=+0 len=2 dmalen=2")
	p.Payload = []byte{1}
	a.resp.HandlePacket(0, &p)
	a.step("> NAK psn=+0 msn=0 INVALID_REQ")
}

func TestReceiveDepth(t *testing.T) {
	a := newActor(t, scriptQP(0))
	a.step("recv 1 8")
	a.step("recv 2 8")
	if err := a.resp.PostReceive(0, engine.ReceiveRequest{}); err != engine.ErrQueueFull {
		t.Errorf("third receive of two: %v", err)
	}
}

// TestRememberedPSNsDoNotAlias: a resource recorded 2^24 PSNs ago must not answer a new duplicate.
func TestRememberedPSNsDoNotAlias(t *testing.T) {
	a := newActor(t, scriptQP(0))
	a.half = a.resp
	a.step("< READ_REQUEST psn=+0 dmalen=1 A")
	a.step("> READ_RESP_ONLY psn=+0 len=1 msn=1")
	a.resp.consume(psn.Half)
	a.resp.consume(psn.Half)
	a.step("< READ_REQUEST psn=+0 dmalen=1 A")
	a.step("idle")
	if got := a.variable("duplicates"); got != 1 || a.resp.epsn != 1 {
		t.Errorf("%d duplicates at epsn %d, want 1 at 1", got, a.resp.epsn)
	}
}
