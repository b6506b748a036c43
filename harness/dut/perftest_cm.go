package dut

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// perftestCM is perftest with -R. The messages of its exchange are SENDs on a connection of their own. RDMA CM sets up
// this connection and then the connection of the test. Before and after the second, the two ends synchronise by keys.
type perftestCM struct {
	perftest
}

// args implements kind.
func (k perftestCM) args(t *Tool, at Setting) []string {
	args := append([]string{"-R"}, k.perftest.args(t, at)...)
	if t.Active {
		return append(args, at.Peer.String())
	}
	return args
}

// channelTimeout is the transport timer of the exchange's connection.
const channelTimeout = 17 // 0.54 s

// call implements caller.
func (k perftestCM) call(t *Tool, cm *CM, port uint16, mine Identity) (*Meeting, error) {
	meet := func(n int, e End) (c *call, err error) {
		if !t.Active {
			return cm.Connect(port, e)
		}
		if c, err = cm.Called(n); err == nil {
			err = c.accept(e)
		}
		return c, err
	}
	first, err := meet(1, End{QPN: channelQPN, PSN: 1, MTU: t.MTU, Timeout: channelTimeout, Reads: t.reads(),
		Retries: toolRetries, RNRRetries: toolRNRRetry})
	if err != nil {
		return nil, err
	}
	ch := first.open(1)
	x := exchange{conn: ch, serves: t.Active}
	keys := binaryKeys(t, &mine)
	if err = x.agree(t.MTU); err == nil {
		_, err = x.swap(keys)
	}
	if err != nil {
		return nil, err
	}
	c, err := meet(2, End{QPN: mine.QPN, PSN: mine.Expects, MTU: t.MTU, Timeout: t.Timeout, Reads: t.reads(),
		Retries: toolRetries, RNRRetries: toolRNRRetry})
	if err != nil {
		return nil, err
	}
	m := &Meeting{leave: cm.Close, ended: ch.wait}
	if _, err = x.swap(keys); err == nil {
		err = k.keys(t, &x, m, keys, parseBinaryKeys)
	}
	if err == nil {
		err = c.introduce(m, t, mine)
	}
	m.Aside.Own = channelQPN
	m.Aside.Device, _ = first.peer()
	return m, err
}

// reads returns the number of READs that may be outstanding in each direction.
func (t *Tool) reads() int {
	if t.Op == engine.OpRead {
		return toolReads
	}
	return 0
}

// binaryLen is the length of the binary keys: the structure of perftest on a 64-bit machine, big-endian.
const binaryLen = 56

// binaryKeys returns the keys as numbers: LID, outstanding READs, QPN, PSN, R_Key, address, GID, number of a shared
// receive queue, and index of the GID.
func binaryKeys(t *Tool, i *Identity) []byte {
	b := make([]byte, binaryLen)
	be := binary.BigEndian
	be.PutUint32(b[4:], uint32(t.reads()))
	be.PutUint32(b[8:], i.QPN)
	be.PutUint32(b[12:], uint32(i.PSN))
	be.PutUint32(b[16:], i.Key)
	be.PutUint64(b[24:], i.Buffer)
	gid := i.gid()
	copy(b[32:], gid[:])
	return b
}

// parseBinaryKeys parses these keys.
func parseBinaryKeys(b []byte) (i Identity, err error) {
	be := binary.BigEndian
	i = Identity{QPN: be.Uint32(b[8:]), PSN: psn.New(be.Uint32(b[12:])), Key: be.Uint32(b[16:]),
		Buffer: be.Uint64(b[24:]),
		Addr:   netip.AddrFrom16([16]byte(b[32:48])).Unmap()}
	if i.QPN == 0 || i.QPN > psn.Mask {
		return i, fmt.Errorf("keys %x: QPN %#x", b, i.QPN)
	}
	return i, nil
}
