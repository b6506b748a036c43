package rciw

import (
	"errors"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/mpa"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp/stream"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var fpduForm = define(rule.Rule{
	ID: "RCIW-MPA-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "An FPDU is length, ULPDU, padding to a multiple of four, and a CRC32c over them",
	Source: rule.Source{Ref: "RFC 5044 4", Requirement: "Length field, ULPDU and padding together are a multiple of " +
		"four bytes, the padding is zeros, and the CRC32c that follows covers them and the markers among them."},
	Needs: rule.TapRequester, Stimulus: "messages of several lengths",
	New: watching(func(w *watch) {
		w.sent = func(u *stream.Unit) {
			if u.FPDU == nil {
				return
			}
			w.Met()
			switch {
			case w.out.CRC() && !u.FPDU.CRCOK:
				w.Failf(rule.Requester, "the CRC of the FPDU at byte %d is %#08x, which does not match its bytes",
					u.From, u.FPDU.CRCSum)
			case u.Err != nil && len(u.FPDU.ULPDU) > 0: // an empty one says that its sender is ready (RFC 6581, 9)
				w.Failf(rule.Requester, "the FPDU at byte %d holds no DDP segment: %v", u.From, u.Err)
			}
			if slices.ContainsFunc(u.FPDU.Pad, func(b byte) bool { return b != 0 }) {
				w.Failf(rule.Requester, "the padding of the FPDU at byte %d is % x, want zeros", u.From, u.FPDU.Pad)
			}
		}
	}),
})

var markersPlaced = define(rule.Rule{
	ID: "RCIW-MPA-002", Level: rule.Must, Rests: validity.Sequence,
	Title: "When the receiver asked for markers, there is one at every 512th byte, which points back to " +
		"the length of its FPDU",
	Source: rule.Source{Ref: "RFC 5044 4.3", Requirement: "Markers are inserted every 512 bytes of the stream, the " +
		"first before the first FPDU; FPDUPTR is the number of bytes from the ULPDU length field to the marker, and " +
		"zero for one that precedes it."},
	Needs: rule.TapRequester, Stimulus: "markers negotiated, and a message longer than 512 bytes",
	New: watching(func(w *watch) {
		w.sent = func(u *stream.Unit) {
			switch {
			case errors.Is(u.Err, mpa.ErrMarker):
				w.Failf(rule.Requester, "a marker near byte %d does not point to byte %d, where its FPDU begins", u.To, u.From)
			case u.FPDU != nil && u.FPDU.Marks > 0:
				w.Met()
			}
		}
	}),
})

var wrongCRC = define(rule.Rule{
	ID: "RCIW-MPA-003", Level: rule.Must,
	Title: "A receiver that finds a wrong CRC accepts nothing more from the stream and closes it",
	Source: rule.Source{Ref: "RFC 5044 4.4, 8", Requirement: "When the CRC of an FPDU is wrong, neither it nor " +
		"anything behind it may reach DDP, and the connection is closed with an error."},
	Needs: rule.TapResponder | rule.Completions, Stimulus: "an FPDU arrives with a CRC that is wrong",
	New: watching(func(w *watch) {
		end := w.owes("the CRC of an FPDU is wrong, but the stream does not end",
			func() bool { return w.ended })
		var before sends // SENDs that arrived before such an FPDU
		taken := 0       // number of receives that completed
		w.arrived = func(u *stream.Unit) {
			switch {
			case end.Owed():
			case u.FPDU != nil && w.in.CRC() && !u.FPDU.CRCOK:
				w.Met()
				end.Arise(w.now, 0)
			default:
				before.add(u)
			}
		}
		w.told = func(e *trace.Event) {
			if !received(e) {
				return
			}
			if taken++; end.Owed() && taken > before.count() {
				w.Fail(rule.Responder, "a receive completes with data after an FPDU whose CRC is wrong; none expected")
			}
		}
	}),
})
