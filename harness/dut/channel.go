package dut

import (
	"errors"
	"fmt"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// channel is the reliable connection for the few short messages by which a tool and this end exchange parameters. Each
// message is a SEND of one packet, sent after the previous one has been acknowledged. channel is an io.ReadWriter, each
// call of which is one message.
type channel struct {
	call *call
	next psn.PSN // PSN of the next SEND
	done int     // SENDs that have been acknowledged
	sent *roce.Packet
	want psn.PSN // PSN of the device's next SEND
	msn  psn.MSN
	came [][]byte
}

// mostUnread is the maximum number of unread messages of a device; a tool sends one message at a time.
const mostUnread = 16

// channelQPN is the QP of this end's channel; endpoints have other numbers.
const channelQPN = 0x7E570

// open opens a channel on a connection that is set up. want is the starting PSN that this end has given the device.
func (c *call) open(want psn.PSN) *channel {
	c.cm.mu.Lock()
	defer c.cm.mu.Unlock()
	_, starts := c.peer()
	ch := &channel{call: c, next: starts, want: want}
	c.cm.channel = ch
	for i := range c.cm.early {
		ch.take(&c.cm.early[i])
	}
	c.cm.early = nil
	return ch
}

// Write SENDs a message, and waits until it has been acknowledged. It is retransmitted until the receiver is ready.
func (ch *channel) Write(b []byte) (int, error) {
	m := ch.call.cm
	m.mu.Lock()
	qpn, _ := ch.call.peer()
	mine := ch.done + 1
	ch.sent = &roce.Packet{BTH: roce.BTH{Opcode: roce.SendOnly, AckReq: true, PKey: roce.DefaultPKey, DestQP: qpn,
		PSN: ch.next}, Payload: b, Len: len(b)}
	ch.next = ch.next.Next()
	err := m.send(ch.sent)
	m.mu.Unlock()
	if err == nil {
		err = m.until("SEND", patience, func() bool { return ch.done == mine || ch.call.state != connected }, ch.again)
	}
	if err == nil && ch.done != mine {
		err = errGone
	}
	return len(b), err
}

// errGone is the error of a channel after the device has ended the connection.
var errGone = errors.New("it ended the connection")

// again retransmits the message that has not been acknowledged.
func (ch *channel) again() {
	m := ch.call.cm
	m.mu.Lock()
	defer m.mu.Unlock()
	if ch.sent == nil {
		return // acknowledged since the last check
	}
	if err := m.send(ch.sent); err != nil {
		m.fail(err)
	}
}

// Read returns the next message, which must fit b.
func (ch *channel) Read(b []byte) (int, error) {
	m := ch.call.cm
	if err := ch.hear(patience); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(ch.came) == 0 {
		return 0, errGone
	}
	next := ch.came[0]
	ch.came = ch.came[1:]
	if len(next) > len(b) {
		return 0, fmt.Errorf("a SEND of %d bytes came; want %d", len(next), len(b))
	}
	return copy(b, next), nil
}

// hear returns when a message has arrived, or the connection has ended.
func (ch *channel) hear(most time.Duration) error {
	return ch.call.cm.until("a SEND", most,
		func() bool { return len(ch.came) > 0 || ch.call.state != connected }, func() {})
}

// wait returns true at the next message of the tool, and false when the tool ends the connection instead; its time
// limit exceeds the duration of any run.
func (ch *channel) wait() bool {
	err := ch.hear(2 * Longest.Std())
	m := ch.call.cm
	m.mu.Lock()
	defer m.mu.Unlock()
	return err == nil && len(ch.came) > 0
}

// take processes a packet for the channel's QP.
func (ch *channel) take(p *roce.Packet) {
	switch {
	case p.Opcode == roce.Acknowledge && ch.sent != nil && p.PSN == ch.sent.PSN && p.AETH.Syndrome.IsACK():
		ch.done++
		ch.sent = nil
	case p.Opcode != roce.SendOnly || ch.want.Less(p.PSN) || len(ch.came) == mostUnread:
	default:
		if p.PSN == ch.want {
			ch.want, ch.msn = ch.want.Next(), ch.msn.Next()
			ch.came = append(ch.came, append([]byte(nil), p.Payload...))
		}
		ch.acknowledge(p.PSN)
	}
}

// acknowledge acknowledges a SEND, or a repetition of one.
func (ch *channel) acknowledge(at psn.PSN) {
	qpn, _ := ch.call.peer()
	p := &roce.Packet{BTH: roce.BTH{Opcode: roce.Acknowledge, PKey: roce.DefaultPKey, DestQP: qpn, PSN: at},
		AETH: roce.AETH{Syndrome: roce.SyndromeACK, MSN: ch.msn}}
	if err := ch.call.cm.send(p); err != nil {
		ch.call.cm.fail(err)
	}
}
