package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

// FormatVersion is the version of the files that this program writes.
const FormatVersion = 1

// first is the first line of a file: its kind and the header. Each line after it is a point, which begins with its
// series, or an alarm; lines of other kinds are from newer programs, and are skipped.
type first struct {
	Gauntlet string `json:"gauntlet"`
	Format   int    `json:"format"`
	history.Header
}

// kind is the value of Gauntlet for a night.
const kind = "night"

// errDamaged is the error of a file whose content does not match its name.
var errDamaged = errors.New("its content has another hash than its name: truncated, or changed")

// hash returns the part of a file's name that depends on its content.
func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// intact returns the content of a file that matches its name.
func intact(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w", bare(err))
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return nil, fmt.Errorf("no file of %d bytes at most", maxFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w", bare(err))
	}
	if !strings.HasSuffix(filepath.Base(path), "-"+hash(text)+filepath.Ext(path)) {
		return nil, errDamaged
	}
	return text, nil
}

// encode writes a night as lines.
func encode(n *history.Night) ([]byte, error) {
	if _, err := time.Parse(time.DateOnly, n.Night); err != nil {
		return nil, fmt.Errorf("store: night %s: want a day such as 2026-11-24", quote.Line(n.Night, quote.Name))
	}
	lines := []any{first{kind, FormatVersion, n.Header}}
	for i := range n.Points {
		p := &n.Points[i]
		for _, x := range slices.Concat(p.Values, p.Reference) {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("store: %s: the value %v is no number; want a gap with a status", p.Name, x)
			}
		}
		lines = append(lines, p)
	}
	for i := range n.Alarms {
		lines = append(lines, n.Alarms[i])
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	for _, line := range lines {
		begin := b.Len()
		if err := out.Encode(line); err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		if b.Len()-begin > maxLine {
			return nil, fmt.Errorf("store: a line is longer than %d bytes: fewer values, or a shorter name", maxLine)
		}
	}
	if b.Len() > maxFile {
		return nil, fmt.Errorf("store: a night is larger than %d bytes; add it in parts", maxFile)
	}
	return b.Bytes(), nil
}

// decode reads a night. Unknown fields are ignored.
func decode(text []byte) (*history.Night, error) {
	line, rest, _ := bytes.Cut(text, []byte("\n"))
	var h first
	if err := json.Unmarshal(line, &h); err != nil || h.Gauntlet != kind {
		return nil, errors.New("its first line is not that of a night")
	}
	if err := Readable(h.Format, FormatVersion); err != nil {
		return nil, err
	}
	n := &history.Night{Header: h.Header, Points: make([]history.Point, 0, bytes.Count(rest, []byte("\n")))}
	for number := 2; len(rest) > 0; number++ {
		if line, rest, _ = bytes.Cut(rest, []byte("\n")); len(line) > maxLine {
			return nil, fmt.Errorf("line %d is longer than %d bytes", number, maxLine)
		}
		if err := take(n, line); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return n, nil
}

// Readable returns an error for a format of a night or document that this program does not read.
func Readable(format, reads int) error {
	if format != reads {
		return fmt.Errorf("format %d, and this program reads %d: a newer one wrote it", format, reads)
	}
	return nil
}

// take reads a line after the first.
func take(n *history.Night, line []byte) error {
	var p history.Point
	if err := json.Unmarshal(line, &p); err != nil {
		return err
	}
	if p.Name != "" {
		n.Points = append(n.Points, p)
		return nil
	}
	var a history.Alarm
	if err := json.Unmarshal(line, &a); err != nil {
		return err
	}
	if a.Series != "" {
		n.Alarms = append(n.Alarms, a)
	}
	return nil
}
