package units

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/rdma-gauntlet/gauntlet/harness/whole"
)

// formatVersion is the version of the files of this package.
const formatVersion = 1

// mostResult bounds the file of a result, in bytes.
const mostResult = 64 << 20

// head is the first line of the file of a result. The result follows, as one line of JSON.
type head struct {
	Format  int     `json:"format"`
	Key     string  `json:"key"`
	Work    string  `json:"work"`
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"` // of processor time that it took to make the result
	Maker   Maker   `json:"maker"`
	Bytes   int     `json:"bytes"`  // of the result
	Digest  string  `json:"digest"` // of the result
}

// Endings of the files of results, and of results made by a second shard.
const (
	ending      = ".unit"
	endingAgain = ".again.unit"
)

// write writes the file of a result.
func write(path string, h head, result []byte) error {
	h.Format, h.Maker, h.Bytes, h.Digest = formatVersion, self(), len(result), digest(result)
	first, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return put(path, bytes.Join([][]byte{first, result, nil}, []byte("\n")))
}

// put writes a file atomically.
func put(path string, text []byte) error {
	if err := whole.Write(path, text, 0o644); err != nil {
		return fmt.Errorf("units: write %s: %w", path, err)
	}
	return nil
}

// read reads the file of a result. The error is os.ErrNotExist without a file; other errors name the file and the
// defect.
func read(path string) (head, []byte, error) {
	var h head
	info, err := os.Stat(path)
	if err != nil {
		return h, nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > mostResult {
		return h, nil, fmt.Errorf("units: %s: want a file of %d bytes at most", path, mostResult)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return h, nil, fmt.Errorf("units: %w", err)
	}
	first, result, _ := bytes.Cut(text, []byte("\n"))
	ended := len(result) > 0 && result[len(result)-1] == '\n'
	result = bytes.TrimSuffix(result, []byte("\n"))
	err = json.Unmarshal(first, &h)
	switch {
	case err == nil && h.Format != formatVersion:
		return h, nil, fmt.Errorf("units: %s: format %d; this program reads %d", path, h.Format, formatVersion)
	case err != nil || !ended || len(result) != h.Bytes:
		return h, nil, fmt.Errorf("units: %s: truncated; remove it, and its unit is made again", path)
	case digest(result) != h.Digest:
		return h, nil, fmt.Errorf("units: %s: damaged: its bytes are not those that were written; "+
			"remove it, and its unit is made again", path)
	}
	return h, result, nil
}
