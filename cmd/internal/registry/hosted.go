package registry

// Hosted names the host of a testbed that has the device under test, or the two hosts that have one each.
type Hosted struct {
	File string // the testbed file; "" for none
	Host string // name of the host, or of two, "dut1,dut2", at A and at B; "" for all hosts of the testbed
	Keep bool   // leave this program on the host for the next time
}
