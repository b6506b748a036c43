package dut

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// perftest is ib_write_bw, ib_read_bw, ib_send_bw and ib_write_lat of linux-rdma's perftest.
//
// Their exchange is a sequence of messages of fixed length in each direction, the client's first: the version as text,
// the size of the cyclic buffer and of a cache line as numbers, the code of the MTU as text, and then the same line of
// keys several times. The first carries the keys, the others only synchronise the two. The last one lets the client
// send.
type perftest struct {
	syncs   int  // lines of keys after the first
	latency bool // it takes turns with its peer, one message at a time
}

// perftestVersion is the required version of the protocol: other versions have other messages.
const perftestVersion = "6.06"

// The lengths of the messages.
const (
	versionLen = 16
	numberLen  = 4
	mtuLen     = 2
	keysLen    = 108
)

// args implements kind.
func (k perftest) args(t *Tool, at Setting) []string {
	args := []string{"-F", "-d", at.Device, "-x", strconv.Itoa(at.GID), "-p", strconv.Itoa(at.Port), "-m",
		strconv.Itoa(t.MTU),
		"-s", strconv.FormatInt(int64(t.Message), 10), "-n", strconv.Itoa(max(t.Count, leastCount)), "-u",
		strconv.Itoa(int(t.Timeout))}
	if k.latency {
		return args
	}
	args = append(args, "-N")
	if t.posted > 0 {
		args = append(args, "-r", strconv.Itoa(t.posted))
	}
	if t.Active {
		args = append(args, "-Q", "1", "-t", strconv.Itoa(t.Depth))
	}
	return args
}

// leastCount is the minimum number of messages that perftest sends.
const leastCount = 5

// meet implements guest.
func (k perftest) meet(t *Tool, conn net.Conn, mine Identity) (*Meeting, error) {
	x := exchange{conn: conn, serves: t.Active}
	if err := x.agree(t.MTU); err != nil {
		return nil, err
	}
	m := &Meeting{}
	return m, k.keys(t, &x, m, pad(perftestKeys(t, &mine), keysLen), parsePerftestKeys)
}

// agree performs the exchange up to the keys.
func (x *exchange) agree(mtu int) error {
	theirs, err := x.swap(pad(perftestVersion, versionLen))
	if err != nil {
		return err
	}
	if v, _, _ := strings.Cut(string(theirs), "\x00"); v != perftestVersion {
		return fmt.Errorf("it speaks version %q of perftest's protocol, and this program speaks %s; install perftest "+
			"4.5, as in Debian 12", v, perftestVersion)
	}
	const page, cacheLine = 4096, 64
	for _, m := range [][]byte{binary.BigEndian.AppendUint32(nil, page), binary.BigEndian.AppendUint32(nil, cacheLine),
		pad(strconv.Itoa(mtuCode(mtu)), mtuLen)} {
		if _, err := x.swap(m); err != nil {
			return err
		}
	}
	return nil
}

// keys sends the keys of this end as often as the tool expects, and stores those of the tool in the meeting.
func (k perftest) keys(t *Tool, x *exchange, m *Meeting, mine []byte, parse func([]byte) (Identity, error)) error {
	theirs, err := x.swap(mine)
	if err != nil {
		return err
	}
	if m.Peer, err = parse(theirs); err != nil {
		return err
	}
	for range k.syncs - 1 {
		if _, err := x.swap(mine); err != nil {
			return err
		}
	}
	if k.latency && !t.Active {
		// Here the server begins, once it has answered.
		m.begin = func() error {
			_, err := x.swap(mine)
			return err
		}
		return nil
	}
	return x.last(m, mine)
}

// mtuCode returns the code of a path MTU: 1 for 256 bytes.
func mtuCode(mtu int) (code int) {
	for code = 1; 128<<code < mtu; code++ {
	}
	return code
}

// perftestKeys returns the line of keys: LID, outstanding READs, QPN, PSN, R_Key, address, GID, and the number of a
// shared receive queue, all in hexadecimal.
func perftestKeys(t *Tool, i *Identity) string {
	line := fmt.Sprintf("%04x:%04x:%06x:%06x:%08x:%016x:", 0, t.reads(), i.QPN, uint32(i.PSN), i.Key, i.Buffer)
	for _, b := range i.gid() {
		line += fmt.Sprintf("%02x:", b)
	}
	return line + fmt.Sprintf("%08x:", 0)
}

// toolReads is the number of READs that may be outstanding in each direction.
const toolReads = 16

// parsePerftestKeys parses the line of keys.
func parsePerftestKeys(line []byte) (i Identity, err error) {
	const fields = 6 + 16
	words := strings.Split(string(line), ":")
	if len(words) < fields {
		return i, fmt.Errorf("keys %.60q: want %d numbers", line, fields+1)
	}
	var n [fields]uint64
	for k, w := range words[:fields] {
		if n[k], err = strconv.ParseUint(w, 16, 64); err != nil {
			return i, fmt.Errorf("keys %.60q: %.20q is no hexadecimal number", line, w)
		}
	}
	var gid [16]byte
	for k := range gid {
		gid[k] = byte(n[6+k])
	}
	i = Identity{Reads: int(n[1] & 0xFFFF), QPN: uint32(n[2]), PSN: psn.New(uint32(n[3])), Key: uint32(n[4]),
		Buffer: n[5], Addr: netip.AddrFrom16(gid).Unmap()}
	if i.QPN == 0 || i.QPN > psn.Mask {
		return i, fmt.Errorf("keys %.60q: QPN %#x", line, i.QPN)
	}
	return i, nil
}

// exchange is a sequence of messages of equal length in each direction, the client's first.
type exchange struct {
	conn   io.ReadWriter
	serves bool // the tool is the client
}

// swap sends a message and returns the one of the other end.
func (x *exchange) swap(mine []byte) (theirs []byte, err error) {
	if !x.serves {
		if _, err := x.conn.Write(mine); err != nil {
			return nil, err
		}
	}
	theirs = make([]byte, len(mine))
	if _, err := io.ReadFull(x.conn, theirs); err != nil {
		return nil, fmt.Errorf("it broke the exchange off: %w", err)
	}
	if x.serves {
		_, err = x.conn.Write(mine)
	}
	return theirs, err
}

// last exchanges the message after which the client sends. When the tool is the client, the answer is sent by Begin.
func (x *exchange) last(m *Meeting, mine []byte) error {
	if !x.serves {
		_, err := x.swap(mine)
		return err
	}
	if _, err := io.ReadFull(x.conn, make([]byte, len(mine))); err != nil {
		return fmt.Errorf("it broke the exchange off: %w", err)
	}
	m.begin = func() error {
		_, err := x.conn.Write(mine)
		return err
	}
	return nil
}

// pad appends zeros to a text up to n bytes.
func pad(text string, n int) []byte {
	return append([]byte(text), bytes.Repeat([]byte{0}, n-len(text))...)
}
