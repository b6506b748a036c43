package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// nowhere is a setup that is complete, so that there is one thing alone that a program can refuse.
var nowhere = Order{Op: OpSetup, Contract: Version, Side: "A", Device: "lo", MAC: "02:00:00:77:00:01", IP: "10.77.0.1",
	PeerMAC: "02:00:00:77:00:02", PeerIP: "10.77.0.2", QPs: 1, Deadline: 1000}

// NoSuch is the name of a parameter that no scheme has.
const NoSuch = "gauntlet_no_such_parameter"

// patience is how long a program may take to introduce itself, and to see that it is asked for something that it lacks.
const patience = 10 * time.Second

// Ask starts a program to hear what it can do, and asks it for a parameter that does not exist: what accepts that would
// accept, and ignore, a parameter that matters. The caller has prepared how the command is to be started; it is killed if
// it does not end by itself. What it wrote on standard error goes to where the caller said.
func Ask(cmd *exec.Cmd) (*Capabilities, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("contract: %s: %w", cmd.Path, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("contract: %s: %w", cmd.Path, err)
	}
	cmd.WaitDelay = time.Second // for the pipes, when something else holds them
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("contract: start %w", err)
	}
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	caps, err := introduce(NewDialog(out))
	if err == nil {
		request(in, nowhere, Order{Op: OpParam, Name: NoSuch, Value: "1"}, Order{Op: OpPrepare})
	} else {
		_ = cmd.Process.Kill() // nothing that it could say would help
	}
	// Its input stays open, so that it cannot mistake the end of the conversation for the reason to end.
	_, _ = io.Copy(io.Discard, out)
	ended := cmd.Wait()
	switch inTime := late.Stop(); {
	case !inTime && caps == nil:
		return nil, fmt.Errorf("contract: %s: it said nothing within %s; want capabilities as the first line", cmd.Path, patience)
	case !inTime:
		return caps, fmt.Errorf("contract: %s: asked for parameter %s, which does not exist, it went on for %s; want exit code %d", cmd.Path, NoSuch, patience, Unsupported)
	case err != nil:
		return nil, fmt.Errorf("contract: %s: %w", cmd.Path, err)
	}
	return caps, refused(cmd, ended)
}

// introduce hears the first line.
func introduce(d *Dialog) (*Capabilities, error) {
	r, err := d.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("it said nothing; want capabilities as the first line")
	case err != nil:
		return nil, err
	}
	return r.Capabilities, nil
}

// request writes orders. A program that ends in the middle of them is judged by its exit code.
func request(in io.Writer, orders ...Order) {
	lines := json.NewEncoder(in)
	for _, o := range orders {
		if lines.Encode(o) != nil {
			return
		}
	}
}

// refused checks how a program ended that was asked for what does not exist.
func refused(cmd *exec.Cmd, waitErr error) error {
	var exit *exec.ExitError
	if waitErr != nil && !errors.As(waitErr, &exit) {
		return fmt.Errorf("contract: %s: %w", cmd.Path, waitErr)
	}
	if code := cmd.ProcessState.ExitCode(); code != Unsupported {
		return fmt.Errorf("contract: %s: asked for parameter %s, which does not exist, it ended with %s; want exit code %d",
			cmd.Path, NoSuch, cmd.ProcessState, Unsupported)
	}
	return nil
}
