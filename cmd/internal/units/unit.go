// Package units makes the units of work of a command, such as the runs of an atlas, and keeps their results, so that
// many machines can share a batch of any size and one machine can go on with what was interrupted.
//
// A unit has a key: the hash of all that its result depends on. A result is a file of that name, made at once, in a
// folder that belongs to one batch. So whoever finds the file need not make the unit, folders are merged by putting
// their files together, and two files of one name with other results show that something is not what it should be.
//
// Which units there are is for the command to say, and what follows from their results too: a batch whose results are
// all there is concluded by the same code that concludes it on one machine.
package units

import (
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

// Unit is a piece of work that one machine does in one go.
type Unit struct {
	Key string // identifies the work and the program that does it
	// identifies the work, whatever does it: what it cost another program tells about what it costs this one
	Work string
	Name string  // for people
	Cost float64 // estimated, in any unit
}

// New makes a unit of the text of all that its result depends on beside the program: the Spec, files that it reads, and
// where packets are real the kernel. Kind says what is made of it.
func New(kind, name string, cost float64, depends ...string) Unit {
	text, _ := json.Marshal(append([]string{kind}, depends...)) // strings marshal
	work := digest(text)
	return Unit{Key: digest([]byte(work + " " + self().Program)), Work: work, Name: name, Cost: cost}
}

// digest is a SHA-256 in hex, cut to the 128 bits that tell any two apart.
func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// checkShare is one in how many units is made by a second shard as well, so that a result which depends on the machine
// shows.
const checkShare = 50

// checked tells whether the unit is made twice where there are several shards. It depends on the work alone.
func (u *Unit) checked() bool {
	n, _ := strconv.ParseUint(u.Work[:8], 16, 64)
	return n%checkShare == 0
}

// Maker is the program that made a result.
type Maker struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Program string `json:"program"` // hash of its file, rules and engines and all
}

// String names the program for people.
func (m Maker) String() string {
	return fmt.Sprintf("gauntlet %s, commit %.12s, program %.12s", m.Version, m.Commit, m.Program)
}

// self is the running program.
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
