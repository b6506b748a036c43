package lab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// kind is the type of a frame's payload.
type kind byte

// The kinds. A stream that does not end with a report is from a guest that died.
const (
	hello  kind = 'h' // no payload: the guest is running, and has opened the port
	stdout kind = 'o'
	stderr kind = 'e'
	files  kind = 'f' // the next piece of a tar archive of the output paths
	report kind = 'r' // a Report, and the end
)

// A frame on the port is its kind, the length of its payload, the payload, and the CRC-32C of all these. The port
// itself neither loses nor alters bytes; the checksum is for a guest whose memory is corrupted.
const (
	headBytes  = 1 + 4
	checkBytes = 4
	maxPayload = 64 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errDamaged is in the error for bytes that are not a frame.
var errDamaged = errors.New("damaged results")

// writeFrame writes one frame with a payload of at most maxPayload bytes, in a single call.
func writeFrame(w io.Writer, k kind, payload []byte) error {
	b := make([]byte, headBytes, headBytes+len(payload)+checkBytes)
	b[0] = byte(k)
	binary.BigEndian.PutUint32(b[1:], uint32(len(payload)))
	b = append(b, payload...)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	_, err := w.Write(b)
	return err
}

// readFrame reads one frame; io.EOF means that the stream ended between two frames.
func readFrame(r io.Reader) (kind, []byte, error) {
	var head [headBytes]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > maxPayload {
		return 0, nil, fmt.Errorf("%w: a frame of %d bytes", errDamaged, size)
	}
	body := make([]byte, size+checkBytes)
	if _, err := io.ReadFull(r, body); err != nil {
		return 0, nil, fmt.Errorf("%w: a frame is cut short: %w", errDamaged, err)
	}
	payload, sum := body[:size], binary.BigEndian.Uint32(body[size:])
	if crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, payload) != sum {
		return 0, nil, fmt.Errorf("%w: checksum of a frame of %d bytes", errDamaged, size)
	}
	return kind(head[0]), payload, nil
}

// framer is an io.Writer that writes its bytes as frames of one kind.
type framer struct {
	to   io.Writer
	kind kind
}

// Write implements io.Writer.
func (f framer) Write(p []byte) (int, error) {
	for done := 0; done < len(p); {
		piece := p[done:min(len(p), done+maxPayload)]
		if err := writeFrame(f.to, f.kind, piece); err != nil {
			return done, err
		}
		done += len(piece)
	}
	return len(p), nil
}
