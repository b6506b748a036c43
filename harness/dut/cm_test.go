package dut

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// cable joins two managers. It loses the first message of the kind lose.
type cable struct {
	ours, kernel *CM
	lose         roce.CMAttribute
	lost         atomic.Bool
}

func newCable(t *testing.T, lose roce.CMAttribute) *cable {
	c := &cable{lose: lose}
	towards := func(at **CM) func(*roce.Packet) error {
		frames := make(chan *roce.Packet, 100)
		go func() {
			for p := range frames {
				(*at).Receive(p)
			}
		}()
		t.Cleanup(func() { close(frames) })
		return func(p *roce.Packet) error {
			if p.DestQP != roce.CMQueuePair {
				frames <- p
				return nil
			}
			h, _, err := roce.DecodeCM(p.Payload)
			if err != nil || h.Attribute != c.lose || !c.lost.CompareAndSwap(false, true) {
				frames <- p
			}
			return err
		}
	}
	c.ours = NewCM(mine.Addr, theirs.Addr, towards(&c.kernel))
	c.kernel = NewCM(theirs.Addr, mine.Addr, towards(&c.ours))
	return c
}

// ping returns the tool at the end of the kernel.
func ping(active bool) *Tool {
	return &Tool{Program: "rping", Active: active, Op: engine.OpWrite, MTU: 1024, Timeout: 14,
		turns: scenario.PingTurns, kind: rping{},
		retries: toolRetries, rnrRetries: toolRNRRetry}
}

// kernelEnd is the end of the connection at the tool.
var kernelEnd = End{QPN: theirs.QPN, PSN: 0x123456, MTU: 1024, Timeout: 18, Reads: 1}

// gone reports whether the only connection of a manager has ended.
func gone(m *CM) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.calls) == 1 && m.calls[0].state == parted
}

// TestCallActive: this end connects to a listening tool, whichever message is lost.
func TestCallActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, lose := range []roce.CMAttribute{0, roce.CMREQ, roce.CMREP, roce.CMRTU, roce.CMDREQ, roce.CMDREP} {
			c := newCable(t, lose)
			up := make(chan error, 1)
			c.kernel.Listen(7174)
			go func() {
				call, err := c.kernel.Called(1)
				if err == nil {
					err = call.accept(kernelEnd)
				}
				up <- err
			}()
			own := mine
			own.Expects = 0xABCDEF
			m, err := ping(false).Call(c.ours, 7174, own)
			if err != nil || <-up != nil {
				t.Fatalf("%s lost: %v", lose, err)
			}
			if m.Peer.QPN != theirs.QPN || m.Wants != 0x123456 || m.Peer.PSN != 0xABCDEF || m.Timeout != 14 {
				t.Errorf("%s lost: %+v", lose, m)
			}
			c.kernel.mu.Lock()
			q := c.kernel.calls[0].req
			c.kernel.mu.Unlock()
			if q.QPN != mine.QPN || q.StartingPSN != 0xABCDEF || q.MTU() != 1024 || q.ACKTimeout != 14 ||
				q.RetryCount != 7 {
				t.Errorf("%s lost: the tool is asked %+v", lose, q)
			}
			if err := m.Close(); err != nil || !gone(c.ours) {
				t.Errorf("%s lost: not parted: %v", lose, err)
			}
		}
	})
}

// TestCallPassive: a tool connects to this end, and the connection completes at Begin.
func TestCallPassive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, lose := range []roce.CMAttribute{0, roce.CMREQ, roce.CMMRA, roce.CMREP} {
			c := newCable(t, lose)
			c.ours.Listen(7174)
			up := make(chan error, 1)
			go func() {
				_, err := c.kernel.Connect(7174, kernelEnd)
				up <- err
			}()
			m, err := ping(true).Call(c.ours, 7174, mine)
			if err != nil {
				t.Fatal(err)
			}
			if m.Peer.QPN != theirs.QPN || m.Wants != 0x123456 || m.Timeout != 18 {
				t.Errorf("%+v", m)
			}
			select {
			case err := <-up:
				t.Errorf("the tool goes on before Begin: %v", err)
			default:
			}
			if err := m.Begin(); err != nil || <-up != nil {
				t.Fatalf("%s lost: %v", lose, err)
			}
			if err := c.kernel.Close(); err != nil || !gone(c.kernel) {
				t.Errorf("%s lost: the tool cannot leave: %v", lose, err)
			}
		}
	})
}

// TestCallRefused: an impossible connection is an error of one line at once, without a wait.
func TestCallRefused(t *testing.T) {
	bad := func(edit func(mad []byte)) func(*CM) {
		return func(ours *CM) {
			mad := roce.AppendCM(nil, 1, &roce.REQ{LocalCommID: 5, ServiceID: roce.IPService(7174)})
			edit(mad)
			p := roce.Packet{BTH: roce.BTH{Opcode: roce.UDSendOnly, DestQP: 1},
				DETH: roce.DETH{QKey: roce.CMQKey}, Payload: mad}
			ours.Receive(&p)
		}
	}
	wrong := func(edit func(*roce.REQ)) func(*CM) {
		return func(ours *CM) {
			q := &roce.REQ{LocalCommID: 5, ServiceID: roce.IPService(7174), QPN: 0x12, PathMTU: 3}
			q.SetIP(roce.IPInfo{Source: theirs.Addr, Dest: mine.Addr})
			edit(q)
			p := roce.Packet{BTH: roce.BTH{Opcode: roce.UDSendOnly, DestQP: 1}, DETH: roce.DETH{QKey: roce.CMQKey},
				Payload: roce.AppendCM(nil, 1, q)}
			ours.Receive(&p)
		}
	}
	for want, tell := range map[string]func(*CM){
		"MAD version 1 class 0x8":           bad(func(b []byte) { b[1] = 8 }),
		"unknown attribute 0x77":            bad(func(b []byte) { b[17] = 0x77 }),
		"REQ without the header of RDMA CM": bad(func([]byte) {}),
		"MAD of 0 bytes, want 256": func(ours *CM) {
			ours.Receive(&roce.Packet{BTH: roce.BTH{Opcode: roce.UDSendOnly, DestQP: 1},
				DETH: roce.DETH{QKey: roce.CMQKey}})
		},
		"SEND_ONLY with Q_Key 0x0 came to QP 1": func(ours *CM) {
			ours.Receive(&roce.Packet{BTH: roce.BTH{Opcode: roce.SendOnly, DestQP: 1}})
		},
		"asks for a path MTU of 4096 bytes (code 5); want 1024": wrong(func(q *roce.REQ) { q.PathMTU = 5 }),
		"asks for a path MTU of 0 bytes (code 7); want 1024":    wrong(func(q *roce.REQ) { q.PathMTU = 7 }),
		"asks for transport service 1; want 0, RC":              wrong(func(q *roce.REQ) { q.Service = 1 }),
		"REQ from 10.77.0.1 to 10.77.0.1": wrong(func(q *roce.REQ) {
			q.SetIP(roce.IPInfo{Source: mine.Addr, Dest: mine.Addr})
		}),
		"to 10.77.0.1 for QP 0x0": wrong(func(q *roce.REQ) { q.QPN = 0 }),
	} {
		c := newCable(t, 0)
		c.ours.Listen(7174)
		go tell(c.ours)
		_, err := ping(true).Call(c.ours, 7174, mine)
		if err == nil || !strings.HasPrefix(err.Error(), "dut: rping: ") || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%v; want a line with %q", err, want)
		}
	}
}

// TestCallRejected: a tool that rejects is not asked again; one that does not listen yet is.
func TestCallRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for reason, want := range map[uint16]string{rejConsumer: "the tool says no (REJ reason 28)",
			5: "REJ reason 5"} {
			var ours *CM
			ours = NewCM(mine.Addr, theirs.Addr, func(p *roce.Packet) error {
				_, m, err := roce.DecodeCM(p.Payload)
				if q, ok := m.(*roce.REQ); ok {
					no := &roce.REJ{CommIDs: roce.CommIDs{Remote: q.LocalCommID}, Reason: reason}
					go ours.Receive(&roce.Packet{BTH: p.BTH, DETH: p.DETH, Payload: roce.AppendCM(nil, 1, no)})
				}
				return err
			})
			if _, err := ping(false).Call(ours, 7174, mine); err == nil || !strings.Contains(err.Error(),
				"it refuses the connection: "+want) {
				t.Errorf("%v; want %q", err, want)
			}
		}
		c := newCable(t, 0)
		go func() {
			time.Sleep(askAgain / 5)
			c.kernel.Listen(7174)
			if call, err := c.kernel.Called(1); err == nil {
				_ = call.accept(kernelEnd)
			}
		}()
		if _, err := ping(false).Call(c.ours, 7174, mine); err != nil {
			t.Errorf("a tool that listens late: %v", err)
		}
	})
}

// TestCallsAreBounded: a device that connects without end is refused.
func TestCallsAreBounded(t *testing.T) {
	var last roce.CMAttribute
	m := NewCM(mine.Addr, theirs.Addr, func(p *roce.Packet) error {
		h, _, err := roce.DecodeCM(p.Payload)
		last = h.Attribute
		return err
	})
	m.Listen(7174)
	for id := range uint32(mostCalls + 1) {
		if id > 0 && last != roce.CMMRA {
			t.Errorf("call %d is answered by %s, want MRA", id, last)
		}
		q := &roce.REQ{LocalCommID: id + 1, ServiceID: roce.IPService(7174), QPN: 0x12, PathMTU: 3}
		q.SetIP(roce.IPInfo{Source: theirs.Addr, Dest: mine.Addr})
		m.Receive(&roce.Packet{BTH: roce.BTH{Opcode: roce.UDSendOnly, DestQP: 1}, DETH: roce.DETH{QKey: roce.CMQKey},
			Payload: roce.AppendCM(nil, 1, q)})
	}
	if last != roce.CMREJ || len(m.calls) != mostCalls {
		t.Errorf("%d calls, the last answer is %s; want %d and REJ", len(m.calls), last, mostCalls)
	}
}

// FuzzCM: any packet to QP 1 is handled or refused.
func FuzzCM(f *testing.F) {
	q := &roce.REQ{LocalCommID: 5, ServiceID: roce.IPService(7174), QPN: 0x12, PathMTU: 3}
	q.SetIP(roce.IPInfo{Source: theirs.Addr, Dest: mine.Addr})
	for _, m := range []roce.CMMessage{q, &roce.REP{}, &roce.DREQ{}, &roce.REJ{}} {
		f.Add(roce.AppendCM(nil, 1, m))
	}
	f.Fuzz(func(t *testing.T, mad []byte) {
		sent := 0
		m := NewCM(mine.Addr, theirs.Addr, func(*roce.Packet) error { sent++; return nil })
		m.Listen(7174)
		p := roce.Packet{BTH: roce.BTH{Opcode: roce.UDSendOnly, DestQP: 1},
			DETH: roce.DETH{QKey: roce.CMQKey}, Payload: mad}
		for range 2 {
			if !m.Receive(&p) || sent > 2 || len(m.calls) > 1 {
				t.Errorf("%d answers, %d calls", sent, len(m.calls))
			}
		}
	})
}
