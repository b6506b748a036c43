// Package units makes the units of work of a command, such as the runs of an atlas, and stores their results, so that
// many machines can share a batch of any size, and one machine can continue an interrupted one.
//
// A unit has a key, the hash of everything that its result depends on. The result is a file of that name, written
// atomically, in a folder that belongs to one batch. A unit whose file exists need not be made, folders are merged by
// copying their files together, and two files of one name with different results reveal an error.
//
// The command defines the units and evaluates their results: the same code concludes a complete batch of many machines
// and one of a single machine.
package units

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
)

// Unit is a piece of work that one machine does without interruption.
type Unit struct {
	Key string // identifies the work and the program that does it
	// identifies the work, whichever program does it: its cost with another program is an estimate of the cost with
	// this one
	Work string
	Name string  // for messages
	Cost float64 // estimated, in any unit
}

// New makes a unit from everything that its result depends on other than the program: the Spec, the files that it
// reads, and with real packets the kernel. Kind names the form of the result.
func New(kind, name string, cost float64, depends ...string) Unit {
	text, _ := json.Marshal(append([]string{kind}, depends...)) // a list of strings cannot fail
	work := digest(text)
	return Unit{Key: digest([]byte(work + " " + self().Program)), Work: work, Name: name, Cost: cost}
}

// digest returns the first 128 bits of a SHA-256 in hexadecimal, which are enough to identify a text.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// checkShare means that one in checkShare units is also made by a second shard, to reveal results that depend on the
// machine.
const checkShare = 50

// checked reports whether several shards make the unit twice. That depends on the work alone.
func (u *Unit) checked() bool {
	n, _ := strconv.ParseUint(u.Work[:8], 16, 64)
	return n%checkShare == 0
}

// Maker identifies the program that made a result.
type Maker struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Program string `json:"program"` // hash of the executable, which includes rules and engines
}

// String names the program in messages.
func (m Maker) String() string {
	return fmt.Sprintf("gauntlet %s, commit %.12s, program %.12s", m.Version, cmp.Or(m.Commit, "unknown"), m.Program)
}

// self returns the Maker of the running program.
var self = sync.OnceValue(func() Maker {
	m := Maker{Version: build.Version(), Commit: build.Commit(), Program: "unknown"}
	path, err := os.Executable()
	if err != nil {
		return m
	}
	f, err := os.Open(path)
	if err != nil {
		return m
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err == nil {
		m.Program = hex.EncodeToString(h.Sum(nil)[:16])
	}
	return m
})
