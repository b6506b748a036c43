package netns

import (
	"fmt"
	"net"
	"os"

	"github.com/rdma-gauntlet/gauntlet/harness/dut"
)

// introducePair puts soft-RoCE on the devices of both ends, and lets their tools be introduced to each other.
func (s *session) introducePair(d *Device) error {
	active, err := s.attach(d)
	if err != nil {
		return err
	}
	passive, err := s.attach(&Device{Side: d.Side.Other(), Tool: d.Peer})
	if err != nil {
		return err
	}
	server, err := passive.dial(s.topology)
	if err != nil {
		return err
	}
	s.passive = passive
	s.later(func() error { passive.end(); return nil })
	client, err := active.dial(s.topology)
	if err != nil {
		_ = server.Close() // the first error says more
		return err
	}
	return s.pair(active, passive, client, server)
}

// pair carries the exchange of two tools and learns both.
func (s *session) pair(active, passive *foreign, client, server net.Conn) error {
	var err error
	active.meeting, passive.meeting, err = dut.Introduce(active.Tool, client, server)
	if err := active.met(err); err != nil {
		return err
	}
	s.foreign = active
	s.later(active.close)
	active.pause()
	passive.pause()
	if err := s.learn(active); err != nil {
		return err
	}
	return s.learn(passive)
}

// acceptLocal lets a device receive what comes from an address of its own namespace. The two ends of the link are then in
// one, and each takes the other's packets for martians. The setting goes with the device.
func acceptLocal(device string) error {
	if err := os.WriteFile("/proc/sys/net/ipv4/conf/"+device+"/accept_local", []byte("1"), 0o644); err != nil {
		return fmt.Errorf("netns: let %s receive from its own namespace: %w; mount /proc/sys writable", device, err)
	}
	return nil
}
