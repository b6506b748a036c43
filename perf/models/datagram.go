package models

import "math"

// Datagrams describes how datagram-iWARP sends a message: in segments of at most Segment payload bytes, each a UDP
// datagram with Header bytes of its own headers, each of those cut into IP fragments of Fragment bytes.
type Datagrams struct {
	Segment, Header, Fragment int
}

// Arrives is the probability that a datagram with n payload bytes arrives, for which it needs every fragment. "Any loss
// of the smaller packets making up this large UDP packet results in the entire (up to 64KB) message being dropped"
// (Grant et al., VI-A2).
func (d Datagrams) Arrives(p float64, n int) float64 {
	return math.Pow(1-p, math.Ceil(float64(n+d.Header)/float64(d.Fragment)))
}

// SendReceive is the probability that a message of size bytes is delivered by send/receive, which needs every segment
// (Fig. 7).
func (d Datagrams) SendReceive(p float64, size int) float64 {
	all := 1.0
	for left := size; left > 0; left -= d.Segment {
		all *= d.Arrives(p, min(left, d.Segment))
	}
	return all
}

// WriteRecord is the mean share of a message of size bytes that RDMA Write-Record declares valid: if the last segment
// arrives, which carries the notification, every segment that has arrived counts; otherwise none (Fig. 8). deviation is
// the standard deviation for one message.
func (d Datagrams) WriteRecord(p float64, size int) (mean, deviation float64) {
	share, spread, last := 0.0, 0.0, 1.0
	for left := size; left > 0; left -= d.Segment {
		part := float64(min(left, d.Segment)) / float64(size)
		arrives := d.Arrives(p, min(left, d.Segment))
		if left <= d.Segment {
			share, last = share+part, arrives
			break
		}
		share += arrives * part
		spread += arrives * (1 - arrives) * part * part
	}
	mean = last * share
	return mean, math.Sqrt(last*(share*share+spread) - mean*mean)
}
