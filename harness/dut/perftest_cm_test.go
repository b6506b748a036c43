package dut

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// TestBinaryKeys compares the structure with bytes made by hand, as perftest sends them on a 64-bit machine.
func TestBinaryKeys(t *testing.T) {
	want, err := hex.DecodeString("00000000" + "00000010" + "00000012" + "0034d1f2" + "000008f1" + "00000000" +
		"00007f3a1c00200000000000000000000000ffff0a4d0002" + "00000000" + "00000000")
	if err != nil {
		t.Fatal(err)
	}
	if got := binaryKeys(&Tool{Op: engine.OpRead}, &theirs); !bytes.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
	if got, err := parseBinaryKeys(want); err != nil || got != theirs {
		t.Errorf("%+v, %v; want %+v", got, err, theirs)
	}
	copy(want[8:], []byte{1, 0, 0, 0})
	if _, err := parseBinaryKeys(want); err == nil || !strings.Contains(err.Error(), "QPN 0x1000000") {
		t.Errorf("%v; want that there is no such QPN", err)
	}
}

// far plays the tool's end of the exchange's connection: a responder that accepts every SEND at its second
// transmission, and sends each of its own SENDs twice.
type far struct {
	ours *CM
	mu   sync.Mutex
	next psn.PSN // of its SENDs
	seen map[psn.PSN]int
	said [][]byte
}

func (f *far) receive(p *roce.Packet) {
	if p.Opcode != roce.SendOnly || p.DestQP != theirs.QPN {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen[p.PSN]++; f.seen[p.PSN] < 2 {
		return // lost
	}
	f.said = append(f.said, p.Payload)
	f.ours.Receive(&roce.Packet{BTH: roce.BTH{Opcode: roce.Acknowledge, DestQP: channelQPN, PSN: p.PSN},
		AETH: roce.AETH{Syndrome: roce.SyndromeACK}})
}

func (f *far) say(text string) {
	for range 2 {
		f.ours.Receive(&roce.Packet{BTH: roce.BTH{Opcode: roce.SendOnly, AckReq: true, DestQP: channelQPN, PSN: f.next},
			Payload: []byte(text), Len: len(text)})
	}
	f.next = f.next.Next()
}

// TestChannel: messages arrive once and in order with any retransmissions, and the end of the connection ends a pending
// Read.
func TestChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &far{next: 0xFFFFFF, seen: map[psn.PSN]int{}}
		var acked []psn.PSN
		f.ours = NewCM(mine.Addr, theirs.Addr, func(p *roce.Packet) error {
			if p.Opcode == roce.Acknowledge {
				acked = append(acked, p.PSN)
			} else {
				go f.receive(p)
			}
			return nil
		})
		c := f.ours.newCall(connected)
		c.rep = &roce.REP{QPN: theirs.QPN, StartingPSN: 0xFFFFFF}
		ch := c.open(0xFFFFFF)
		for _, text := range []string{"one", "two"} {
			if _, err := ch.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
			f.say(text)
		}
		got := make([]byte, 3)
		for i, text := range []string{"one", "two"} {
			if _, err := io.ReadFull(ch, got); err != nil || string(got) != text || string(f.said[i]) != text {
				t.Errorf("heard %q, said %q, %v; want %q", got, f.said[i], err, text)
			}
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if len(acked) != 4 || acked[3] != 0 || f.seen[0xFFFFFF] != 2 || f.seen[0] != 2 {
			t.Errorf("acknowledged %v, SENT %v", acked, f.seen)
		}
		f.say("much longer")
		if _, err := ch.Read(got); err == nil || !strings.Contains(err.Error(), "a SEND of 11 bytes came; want 3") {
			t.Errorf("%v; want how long it is", err)
		}
		f.ours.take(1, &roce.DREQ{CommIDs: roce.CommIDs{Remote: c.ids.Local}})
		ch.wait()
		if _, err := ch.Read(got); err != errGone {
			t.Errorf("%v; want %v", err, errGone)
		}
		if _, err := ch.Write(got); err != errGone {
			t.Errorf("%v; want %v", err, errGone)
		}
	})
}

// TestChannelHearsWhatCameEarly: a tool sends as soon as its end of the connection is up. Its first messages are
// acknowledged and kept in copies, up to a limit.
func TestChannelHearsWhatCameEarly(t *testing.T) {
	var acked []psn.PSN
	ours := NewCM(mine.Addr, theirs.Addr, func(p *roce.Packet) error {
		acked = append(acked, p.PSN)
		return nil
	})
	c := ours.newCall(connected)
	c.rep = &roce.REP{QPN: theirs.QPN}
	buffer := []byte("early")
	for i := range 2 * mostUnread {
		ours.Receive(&roce.Packet{BTH: roce.BTH{Opcode: roce.SendOnly, DestQP: channelQPN, PSN: psn.PSN(7).Add(i)},
			Payload: buffer, Len: len(buffer)})
	}
	copy(buffer, "later")
	ch := c.open(7)
	if len(acked) != mostUnread || acked[0] != 7 {
		t.Errorf("acknowledged %v; want %d from 7", acked, mostUnread)
	}
	got := make([]byte, len(buffer))
	if _, err := ch.Read(got); err != nil || string(got) != "early" {
		t.Errorf("heard %q, %v", got, err)
	}
}

// TestPerftestByCM: the whole exchange of -R, with the tool at either end of both connections.
func TestPerftestByCM(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, active := range []bool{false, true} {
			c := newCable(t, 0)
			tool := &Tool{Program: "ib_read_bw", Active: active, Op: engine.OpRead, MTU: 1024, Timeout: 15,
				kind: perftestCM{perftest{syncs: 2}}}
			began := make(chan error, 1)
			c.kernel.Listen(7174)
			c.ours.Listen(7174)
			go func() { began <- playPerftest(c.kernel, tool) }()
			own := mine
			own.Expects = 0x777
			m, err := tool.Call(c.ours, 7174, own)
			if err != nil {
				t.Fatal(err)
			}
			if active {
				select {
				case err := <-began:
					t.Errorf("the tool goes on before Begin: %v", err)
				case <-time.After(askAgain / 10):
				}
			}
			if err := m.Begin(); err != nil {
				t.Error(err)
			}
			if err := <-began; err != nil {
				t.Error(err)
			}
			want := theirs
			want.PSN = 0x777
			if m.Peer != want || m.Wants != 0x123456 || m.Timeout != map[bool]engine.LocalACKTimeout{false: 15,
				true: 18}[active] ||
				m.Aside != (Aside{Own: channelQPN, Device: channelQPN}) {
				t.Errorf("active %v: %+v", active, m)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
			m.Ended() // the connection has ended
		}
	})
}

// playPerftest sends and receives the messages of the tool, in its order.
func playPerftest(cm *CM, tool *Tool) error {
	meet := func(n int, e End) (*call, error) {
		if tool.Active {
			return cm.Connect(7174, e)
		}
		c, err := cm.Called(n)
		if err == nil {
			err = c.accept(e)
		}
		return c, err
	}
	first, err := meet(1, End{QPN: channelQPN, PSN: 0x99, MTU: 1024, Timeout: 18})
	if err != nil {
		return err
	}
	x := exchange{conn: first.open(0x99), serves: !tool.Active}
	keys := binaryKeys(tool, &theirs)
	if err := x.agree(tool.MTU); err != nil {
		return err
	}
	if _, err := x.swap(keys); err != nil {
		return err
	}
	if _, err := meet(2, kernelEnd); err != nil {
		return err
	}
	for range 4 { // a synchronisation, the keys, and two synchronisations
		heard, err := x.swap(keys)
		if err != nil {
			return err
		}
		if id, err := parseBinaryKeys(heard); err != nil || id.Buffer != mine.Buffer || id.Key != mine.Key {
			return fmt.Errorf("the tool heard %x, %w", heard, err)
		}
	}
	return nil
}
