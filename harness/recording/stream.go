package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// HeadLength is the number of bytes from which Begins recognises a file.
const HeadLength = 4

// magics are the first bytes of captures: gzip, pcapng, and pcap in microseconds and nanoseconds of both byte orders.
var magics = []string{"\x1F\x8B", "\x0A\x0D\x0D\x0A", "\xA1\xB2\xC3\xD4", "\xD4\xC3\xB2\xA1", "\xA1\xB2\x3C\x4D",
	"\x4D\x3C\xB2\xA1"}

// Begins returns nil if head, the first HeadLength bytes of a file or all if it is shorter, can begin a trace. A pipe
// for which it returns an error need not be read to its end.
func Begins(head []byte) error {
	switch {
	case len(head) == 0:
		return errors.New("empty; want a pcap or pcapng capture, or a trace in NDJSON")
	case isText(head) || slices.ContainsFunc(magics, func(m string) bool { return bytes.HasPrefix(head, []byte(m)) }):
		return nil
	}
	return errors.New("neither pcap nor pcapng, nor a trace in NDJSON")
}

// isText reports whether head begins NDJSON rather than a capture.
func isText(head []byte) bool { return head[0] == '{' }

// ReadFrom is Read for data without a file of its own, such as a copy of standard input: NDJSON, pcap or pcapng. The
// name is for messages. Each play reads the first size bytes of r again.
func ReadFrom(name string, r io.ReaderAt, size int64, as Stated) (Recording, error) {
	whole := func() io.Reader { return io.NewSectionReader(r, 0, size) }
	head := make([]byte, HeadLength)
	n, _ := io.ReadFull(whole(), head) // an error recurs when the whole is read
	if err := Begins(head[:n]); err != nil {
		return Recording{}, fmt.Errorf("%s: %w", name, err)
	}
	if isText(head) {
		return as.known(openText(func(f func(io.Reader) error) error {
			if err := f(whole()); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		}))
	}
	return learnCaptures(name, again([]Part{{name, r, size}}), as)
}

// ReadAll reads several captures as one recording.
func ReadAll(parts []Part, as Stated) (Recording, error) {
	if len(parts) == 1 && parts[0].Copy != nil {
		return ReadFrom(parts[0].Name, parts[0].Copy, parts[0].Size, as)
	}
	if len(parts) == 1 {
		return Read(parts[0].Name, as)
	}
	names := make([]string, len(parts))
	for i := range parts {
		names[i] = parts[i].Name
	}
	return learnCaptures(strings.Join(names, ", "), again(parts), as)
}
