package dut

import (
	"bytes"
	"encoding/hex"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// TestBinaryKeys holds the structure to bytes made by hand after perftest's, on a machine of 64 bits.
func TestBinaryKeys(t *testing.T) {
	want, err := hex.DecodeString("00000000" + "00000010" + "00000012" + "0034d1f2" + "000008f1" + "00000000" + "00007f3a1c002000" +
		"00000000000000000000ffff0a4d0002" + "00000000" + "00000000")
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

// far plays the tool's end of the exchange's connection: a responder that takes every SEND, the second time it comes, and SENDs
// what it is given, twice.
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
	f.ours.Receive(&roce.Packet{BTH: roce.BTH{Opcode: roce.Acknowledge, DestQP: channelQPN, PSN: p.PSN}, AETH: roce.AETH{Syndrome: roce.SyndromeACK}})
}

func (f *far) say(text string) {
	for range 2 {
		f.ours.Receive(&roce.Packet{BTH: roce.BTH{Opcode: roce.SendOnly, AckReq: true, DestQP: channelQPN, PSN: f.next}, Payload: []byte(text), Len: len(text)})
	}
	f.next = f.next.Next()
}

// TestChannel: messages arrive once and in order, whatever has to be sent again, and the end of the connection ends the waiting.
func TestChannel(t *testing.T) {
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
}
