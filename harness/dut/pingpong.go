package dut

import (
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// pingpong is ibv_rc_pingpong of libibverbs: both ends SEND, and answer each received SEND by another.
//
// Its exchange is one line in each direction, the client's first, and then "done" from the client.
type pingpong struct{}

// pingpongFill is the initial value of each byte of its only buffer.
const pingpongFill = 0x7b

// pingpongLen is the length of the line: LID, QPN, PSN and GID in hexadecimal, and a zero byte.
const pingpongLen = 4 + 1 + 6 + 1 + 6 + 1 + 32 + 1

// args implements kind.
func (pingpong) args(t *Tool, at Setting) []string {
	return []string{"-d", at.Device, "-g", strconv.Itoa(at.GID), "-p", strconv.Itoa(at.Port), "-m", strconv.Itoa(t.MTU),
		"-s", strconv.FormatInt(int64(t.Message), 10), "-n", strconv.Itoa(t.Count)}
}

// meet implements guest. A tool that is the client sends as soon as it has read this end's line, so Begin sends the
// line.
func (pingpong) meet(t *Tool, conn net.Conn, mine Identity) (*Meeting, error) {
	gid := mine.gid()
	line := pad(fmt.Sprintf("%04x:%06x:%06x:%x", 0, mine.QPN, uint32(mine.PSN), gid[:]), pingpongLen)
	x := exchange{conn: conn, serves: t.Active}
	m := &Meeting{}
	theirs := make([]byte, pingpongLen)
	var err error
	if t.Active {
		_, err = io.ReadFull(conn, theirs)
		m.begin = func() error {
			_, err := conn.Write(line)
			return err
		}
	} else if theirs, err = x.swap(line); err == nil {
		_, err = conn.Write([]byte("done\x00"))
	}
	if err == nil {
		m.Peer, err = parsePingpong(theirs)
	}
	return m, err
}

// parsePingpong parses the line.
func parsePingpong(line []byte) (i Identity, err error) {
	var lid, qpn, first uint32
	var text string
	if n, _ := fmt.Sscanf(string(line[:len(line)-1]), "%4x:%6x:%6x:%32s",
		&lid, &qpn, &first, &text); n != 4 || qpn == 0 {
		return i, fmt.Errorf("address %.60q: want LID, QPN, PSN and GID", line)
	}
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != 16 {
		return i, fmt.Errorf("address %.60q: %.40q is no GID", line, text)
	}
	return Identity{QPN: qpn, PSN: psn.New(first), Addr: netip.AddrFrom16([16]byte(raw)).Unmap()}, nil
}
