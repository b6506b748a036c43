package dut

import (
	"strconv"
)

// rping is rping of librdmacm. The client SENDs the location of a buffer, the server READs it, and then WRITEs the data
// to another buffer; package drive plays either. Its connection is set up by RDMA CM.
type rping struct{}

// pingReads is the number of READs that rping allows to be outstanding, and pingRNRTimer the code that the kernel
// chooses for RDMA CM.
const (
	pingReads    = 1
	pingRNRTimer = 0
)

// kernelMTU is the path MTU that RDMA CM chooses for a device whose frames are large enough for every path MTU.
const kernelMTU = 4096

// args implements kind.
func (rping) args(t *Tool, at Setting) []string {
	args := []string{"-s", "-d", "-a", at.Own.String()} // -d: it prints each post and each completion
	if t.Active {
		args = []string{"-c", "-a", at.Peer.String(), "-I", at.Own.String(), "-V", "-C", strconv.Itoa(t.Count)}
	}
	return append(args, "-p", strconv.Itoa(at.Port), "-S", strconv.FormatInt(int64(t.Message), 10))
}

// call implements caller. A client waits for the answer to its REQ, which Begin sends; a server waits for the client's
// first message on the connection.
func (rping) call(t *Tool, cm *CM, port uint16, mine Identity) (*Meeting, error) {
	end := End{QPN: mine.QPN, PSN: mine.Expects, MTU: t.MTU, Timeout: t.Timeout, Reads: pingReads, Retries: t.retries,
		RNRRetries: t.rnrRetries}
	m := &Meeting{leave: cm.Close}
	var c *call
	var err error
	if t.Active {
		c, err = cm.Called(1)
		m.begin = func() error { return c.accept(end) }
	} else {
		c, err = cm.Connect(port, end)
	}
	if err != nil {
		return nil, err
	}
	return m, c.introduce(m, t, mine)
}
