// Package ctr holds the rules of counters: they compare a device's counters with the packets at its port.
//
// A device reports its counters before the first packet and after the last (trace.Counter). Each rule has the counters
// that drivers document for one quantity, with their definitions. From the trace it derives an interval for the change
// of each counter, because a tap does not show how a device treats a packet that it may ignore. A change outside the
// interval is wrong in every history that fits the trace. Where the documentation is open, the rule is an OBSERVATION.
// A device that others use at the same time counts packets that are not in the trace; whoever runs the test must
// prevent that.
package ctr

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Rules returns the family in the order of IDs.
func Rules() []rule.Rule {
	return []rule.Rule{
		adaptiveCounted, congestionCounted, damagedCounted(), duplicatesCounted, refusalsCounted(),
		impliedCounted, neverBack,
		sequenceNAKsCounted, beyondCounted, packetsCounted, framesCounted, givenUpCounted, noReceiveCounted,
		notReadyCounted,
		restartsCounted, timeoutsCounted,
	}
}

// Where counters are documented.
const (
	softRoCE = "Linux 4.12, IB/rxe: Add port protocol stats"
	mlx5     = "NVIDIA, Understanding mlx5 Linux Counters"
	mlx5Port = "Linux, networking/device_drivers/ethernet/mellanox/mlx5/counters.rst"
	portABI  = "Linux, ABI/stable/sysfs-class-infiniband"
	netABI   = "Linux, networking/statistics.rst"
)

// Which devices can be judged.
const (
	both = "HW,RXE"
	nics = "HW"
)

var packetsCounted = moved(rule.Rule{
	ID: "CTR-PKT-001", Level: rule.Must, Title: "The RDMA device counts the packets that it sends and receives " +
		"as the wire has them",
	Source:   rule.Source{Ref: portABI, Requirement: "Packets sent and received are counted, each once."},
	Stimulus: "any traffic", BlackBox: both,
},
	counter{name: "hw/sent_pkts", doc: softRoCE, says: "packets sent", count: sent(anyPacket)},
	counter{name: "hw/rcvd_pkts", doc: softRoCE, says: "packets received", count: received(anyPacket)},
	counter{name: "port/port_xmit_packets", doc: portABI, says: "packets transmitted on the port",
		count: sent(anyPacket)},
	counter{name: "port/port_rcv_packets", doc: portABI, says: "packets received on the port",
		count: received(anyPacket)},
)

var framesCounted = moved(rule.Rule{
	ID: "CTR-PKT-002", Level: rule.Must, Title: "The Ethernet port counts the frames and bytes that pass it " +
		"as the wire has them",
	Source:   rule.Source{Ref: netABI, Requirement: "Frames and bytes that pass the interface are counted, each once."},
	Stimulus: "any traffic", BlackBox: both,
},
	counter{name: "net/tx_packets", with: "hw/sent_pkts", doc: netABI,
		says: "frames transmitted by the interface, which soft-RoCE sends by", count: frames(true), open: true},
	counter{name: "net/rx_packets", with: "hw/sent_pkts", doc: netABI,
		says: "frames received by the interface, which soft-RoCE receives by", count: frames(false), open: true},
	counter{name: "net/tx_bytes", with: "hw/sent_pkts", doc: netABI, says: "bytes transmitted, without FCS",
		count: octets(true), open: true, unit: largest},
	counter{name: "net/rx_bytes", with: "hw/sent_pkts", doc: netABI, says: "bytes received, without FCS",
		count: octets(false), open: true, unit: largest},
	counter{name: "ethtool/tx_packets_phy", doc: mlx5Port, says: "packets transmitted on the physical port",
		count: frames(true), open: true},
	counter{name: "ethtool/rx_packets_phy", doc: mlx5Port, says: "packets received on the physical port",
		count: frames(false), open: true},
)

var duplicatesCounted = moved(rule.Rule{
	ID: "CTR-DUP-001", Level: rule.Must, Title: "Duplicate requests are counted: those with a PSN before the expected one",
	Source: rule.Source{Ref: mlx5,
		Requirement: "duplicate_request: received packets of requests that had been executed before."},
	Stimulus: "acknowledgements are lost, and requests are retransmitted", BlackBox: both,
}, counter{name: "hw/duplicate_request", doc: mlx5 + "; " + softRoCE,
	says: "received packets of requests that had been executed before", start: duplicates})

var beyondCounted = moved(rule.Rule{
	ID: "CTR-OOS-001", Level: rule.Must, Title: "Requests beyond the expected PSN are counted, or the NAKs that " +
		"they draw, as the documentation says",
	Source:   rule.Source{Ref: mlx5, Requirement: "out_of_sequence: out of sequence packets received."},
	Stimulus: "a request is lost, and others follow it", BlackBox: both,
},
	counter{name: "hw/out_of_sequence", doc: mlx5, says: "out of sequence packets received", count: outOfSequence},
	counter{name: "hw/out_of_seq_request", doc: softRoCE,
		says: "errors due to the sequence number: NAKs, or the requests that draw them", count: sequenceErrors},
)

var sequenceNAKsCounted = moved(rule.Rule{
	ID: "CTR-NAK-001", Level: rule.Must, Title: "Sequence NAKs that arrive are counted",
	Source:   rule.Source{Ref: mlx5, Requirement: "packet_seq_err: received NAK sequence error packets."},
	Stimulus: "a request is lost, the first of all as well", BlackBox: both,
},
	counter{name: "hw/packet_seq_err", doc: mlx5, says: "received NAK sequence error packets",
		count: answered(isSequenceNAK)},
	counter{name: "hw/rcvd_seq_err", doc: softRoCE, says: "sequence errors received",
		count: answered(isSequenceNAK)},
)

var noReceiveCounted = moved(rule.Rule{
	ID: "CTR-RNR-001", Level: rule.Must, Title: "Requests that meet no receive are counted as the RNR NAKs " +
		"that are sent for them",
	Source:   rule.Source{Ref: mlx5, Requirement: "out_of_buffer: drops because a queue pair lacked a receive WQE."},
	Stimulus: "a responder without receives", BlackBox: both,
},
	counter{name: "hw/send_rnr_err", doc: softRoCE, says: "RNR NAKs sent by the responder",
		count: answers(roce.Syndrome.IsRNR)},
	counter{name: "hw/out_of_buffer", doc: mlx5, says: "drops because a queue pair lacked a receive WQE",
		count: lackingReceive},
)

var notReadyCounted = moved(rule.Rule{
	ID: "CTR-RNR-002", Level: rule.Must, Title: "RNR NAKs that arrive are counted",
	Source:   rule.Source{Ref: mlx5, Requirement: "rnr_nak_retry_err: received RNR NAK packets."},
	Stimulus: "a responder without receives", BlackBox: both,
},
	counter{name: "hw/rcvd_rnr_err", doc: softRoCE, says: "RNR NAKs received by the completer",
		count: answered(roce.Syndrome.IsRNR)},
	counter{name: "hw/rnr_nak_retry_err", doc: mlx5, says: "received RNR NAK packets",
		count: answered(roce.Syndrome.IsRNR)},
)

func refusalsCounted() rule.Rule {
	is := func(code roce.Syndrome) func(roce.Syndrome) bool {
		return func(s roce.Syndrome) bool { return s == code }
	}
	return moved(rule.Rule{
		ID: "CTR-ERR-001", Level: rule.Must, Title: "Requests that are refused are counted at both ends as " +
			"the NAKs that say so",
		Source: rule.Source{Ref: mlx5, Requirement: "resp_remote_access_errors, req_remote_access_errors, " +
			"req_remote_invalid_request: how often responder and requester detected such an error."},
		Stimulus: "requests with a wrong key, range or opcode", BlackBox: nics,
	},
		counter{name: "hw/resp_remote_access_errors", doc: mlx5,
			says: "remote access errors that the responder detected", count: answers(is(roce.SyndromeRemoteAccess))},
		counter{name: "hw/req_remote_access_errors", doc: mlx5,
			says: "remote access errors that the requester detected", count: answered(is(roce.SyndromeRemoteAccess))},
		counter{name: "hw/req_remote_invalid_request", doc: mlx5,
			says:  "remote invalid request errors that the requester detected",
			count: answered(is(roce.SyndromeInvalidReq))},
	)
}

var congestionCounted = moved(rule.Rule{
	ID: "CTR-CNP-001", Level: rule.Must, Title: "Congestion notifications that are sent, and those " +
		"that arrive, are counted",
	Source: rule.Source{Ref: mlx5, Requirement: "np_cnp_sent, rp_cnp_handled and rp_cnp_ignored: CNPs sent by " +
		"the notification point, and received by the reaction point."},
	Stimulus: "packets that the link marks", BlackBox: nics,
},
	counter{name: "hw/np_cnp_sent", doc: mlx5, says: "CNPs sent by the notification point", count: sent(isCNP)},
	counter{name: "hw/rp_cnp_handled", and: "hw/rp_cnp_ignored", doc: mlx5,
		says: "CNPs that the reaction point handled, or received and ignored", count: received(isCNP)},
)

func damagedCounted() rule.Rule {
	r := moved(rule.Rule{
		ID: "CTR-CRC-001", Level: rule.Must, Title: "Packets that arrive with a wrong ICRC are counted",
		Source:   rule.Source{Ref: mlx5, Requirement: "rx_icrc_encapsulated: RoCE packets with ICRC errors."},
		Stimulus: "packets that the link damages", BlackBox: nics,
	}, counter{name: "hw/rx_icrc_encapsulated", doc: mlx5, says: "RoCE packets with ICRC errors", count: damaged})
	r.Needs |= rule.Bytes
	return r
}

var givenUpCounted = moved(rule.Rule{
	ID: "CTR-REX-001", Level: rule.Must, Title: "Queue pairs that give up because their retries are exhausted are counted",
	Source: rule.Source{Ref: mlx5, Requirement: "req_transport_retries_exceeded, req_rnr_retries_exceeded: how " +
		"often the count of retries was exceeded."},
	Stimulus: "a black hole, or a responder without receives for good", BlackBox: both,
},
	counter{name: "hw/retry_exceeded_err", doc: softRoCE, says: "times that the retries were exceeded",
		ending: gaveUp(engine.StatusRetryExceeded)},
	counter{name: "hw/retry_rnr_exceeded_err", doc: softRoCE, says: "times that the RNR retries were exceeded",
		ending: gaveUp(engine.StatusRNRRetryExceeded)},
	counter{name: "hw/req_transport_retries_exceeded", doc: mlx5,
		says: "times that the transport retries were exceeded", ending: gaveUp(engine.StatusRetryExceeded)},
	counter{name: "hw/req_rnr_retries_exceeded", doc: mlx5, says: "times that the RNR retries were exceeded",
		ending: gaveUp(engine.StatusRNRRetryExceeded)},
)

var impliedCounted = moved(rule.Rule{
	ID: "CTR-IMP-001", Level: rule.Must, Title: "Answers beyond the one that a READ waits for are counted as implied NAKs",
	Source: rule.Source{Ref: mlx5, Requirement: "implied_nak_seq_err: times that the requester met an answer " +
		"with a PSN larger than the one expected of a READ."},
	Stimulus: "a READ response is lost", BlackBox: nics,
}, counter{name: "hw/implied_nak_seq_err", doc: mlx5,
	says: "answers with a PSN larger than the one expected of a READ", start: impliedNAKs})
