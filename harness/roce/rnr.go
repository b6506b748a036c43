package roce

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// RNRTimer is the five-bit code with which a responder says how long to wait after an RNR NAK (IBTA table 45).
type RNRTimer uint8

// rnrHundredths is IBTA table 45 in units of 10 us; code 0 is the longest.
var rnrHundredths = [32]int64{65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152}

// Duration returns the minimum time that the requester must wait.
func (t RNRTimer) Duration() vtime.Duration {
	return vtime.Duration(rnrHundredths[t&31]) * 10 * vtime.Microsecond
}
