package injector

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/cilium/ebpf/ringbuf"

	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// Record describes the effect of the injector on one frame.
type Record struct {
	Number uint64     // number of the frame in its direction, from 0
	At     int64      // CLOCK_MONOTONIC, nanoseconds
	From   fault.Side // sender of the frame
	Cause  channel.Cause
	Copies int     // extra copies
	Marked bool    // its ECN bits were set
	Length int     // length of the frame in bytes
	Tail   [4]byte // last bytes of the frame
	// Frame is the frame as received: whole when it was lost, marked or duplicated, else its head. It is valid until
	// the next record is read.
	Frame []byte
}

// Lost reports whether the frame was not delivered.
func (r *Record) Lost() bool {
	return r.Cause.Kind == channel.Loss || r.Cause.Kind == channel.DroppedByFault
}

// kinds maps the causes of the program to those of package channel.
var kinds = [...]channel.Kind{byNobody: channel.None, byDuplicate: channel.DuplicatedByFault,
	byMark: channel.MarkedByFault,
	byDrop: channel.DroppedByFault, byLoss: channel.Loss}

// decode reads a record without its frame, and returns the number of frame bytes that follow.
func (r *Record) decode(b []byte) (kept int, err error) {
	ne := binary.NativeEndian
	*r = Record{Number: ne.Uint64(b), At: int64(ne.Uint64(b[8:])), Length: int(ne.Uint32(b[16:])), From: fault.A,
		Copies: int(ne.Uint32(b[36:])), Marked: ne.Uint32(b[40:]) != 0, Tail: [4]byte(b[44:])}
	if ne.Uint32(b[24:]) == 1 {
		r.From = fault.B
	}
	kept, cause := int(ne.Uint32(b[20:])), ne.Uint32(b[32:])
	if kept > frameMost || kept > r.Length || int(cause) >= len(kinds) {
		return 0, fmt.Errorf("injector: log: a record with %d bytes of %d, cause %d", kept, r.Length, cause)
	}
	if r.Cause.Kind = kinds[cause]; r.Cause.Scripted() {
		r.Cause.Fault = int(ne.Uint32(b[28:]))
	}
	return kept, nil
}

// ReadLog calls f for every record of a log. Records of one direction are in the order of their numbers, except those
// written by two processors at the same time.
func ReadLog(r io.Reader, f func(*Record) error) error {
	in := bufio.NewReaderSize(r, 1<<16)
	var head [recordLen]byte
	frame := make([]byte, frameMost)
	for {
		if _, err := io.ReadFull(in, head[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("injector: log: %w", err)
		}
		var rec Record
		kept, err := rec.decode(head[:])
		if err != nil {
			return err
		}
		rec.Frame = frame[:kept]
		if _, err := io.ReadFull(in, rec.Frame); err != nil {
			return fmt.Errorf("injector: log: %w", err)
		}
		if err := f(&rec); err != nil {
			return err
		}
	}
}

// drain writes the records that the kernel has logged so far.
func drain(from *ringbuf.Reader, into io.Writer, rec *ringbuf.Record) error {
	from.SetDeadline(time.Unix(1, 0)) // a time in the past: return what is there instead of waiting
	for {
		err := from.ReadInto(rec)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil
		case err != nil:
			return fmt.Errorf("injector: log: %w", err)
		}
		if len(rec.RawSample) < recordLen {
			return fmt.Errorf("injector: log: a record of %d bytes", len(rec.RawSample))
		}
		kept := int(binary.NativeEndian.Uint32(rec.RawSample[20:]))
		if recordLen+kept > len(rec.RawSample) {
			return fmt.Errorf("injector: log: a record of %d bytes for %d of a frame", len(rec.RawSample), kept)
		}
		// The kernel rounds the length of a record up.
		if _, err := into.Write(rec.RawSample[:recordLen+kept]); err != nil {
			return fmt.Errorf("injector: write the log: %w", err)
		}
	}
}
