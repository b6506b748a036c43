package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Paths of the files in the initramfs that do not come from the host, in a folder that no host has.
const (
	labDir     = "/.lab"
	binDir     = labDir + "/bin" // in PATH
	initPath   = binDir + "/gauntlet"
	orderPath  = labDir + "/order.json"
	modulesDir = labDir + "/modules"
)

// Order is the input of the guest's first process.
type Order struct {
	Command []string `json:"command"`           // program and arguments; a program without a slash is looked up in PATH
	Dir     string   `json:"dir"`               // where to run it
	Env     []string `json:"env"`               // name=value
	Modules []string `json:"modules"`           // files to load, in this order
	Outputs []string `json:"outputs,omitempty"` // files and folders to send back, absolute
	Shell   bool     `json:"shell,omitempty"`   // run the command on the console

	Deterministic bool          `json:"deterministic,omitempty"` // time counts instructions
	Limit         time.Duration `json:"limit_ns,omitempty"`      // of the command, by the guest's clock; 0 is none

	// Description of the guest in reports: [name, value].
	Facts [][2]string `json:"facts"`
}

// Report is the result of a guest.
type Report struct {
	Code int           `json:"code"`           // exit code of the command; 128 and the signal's number if one ended it
	Text string        `json:"text,omitempty"` // reason why the command did not run
	Up   time.Duration `json:"up_ns"`          // since the kernel began, by the guest's clock
	Idle time.Duration `json:"idle_ns"`        // of Up, over all processors
	Full bool          `json:"full,omitempty"` // no memory was left for files
}

// inside returns the Order of the guest in which this process runs, or nil outside a guest.
func inside() (*Order, error) {
	raw, err := os.ReadFile(orderPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // not being in a guest is not an error
	}
	o := &Order{}
	if err == nil {
		err = json.Unmarshal(raw, o)
	}
	if err != nil {
		return nil, fmt.Errorf("lab: %s: %w", orderPath, err)
	}
	return o, nil
}

// Inside reports whether this process runs in a guest of the lab.
func Inside() bool {
	_, err := os.Stat(orderPath)
	return err == nil
}
