package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// nowhere is a complete setup, so that the parameter is the only thing that a program can refuse.
var nowhere = Order{Op: OpSetup, Contract: Version, Side: "A", Device: "lo", MAC: "02:00:00:77:00:01", IP: "10.77.0.1",
	PeerMAC: "02:00:00:77:00:02", PeerIP: "10.77.0.2", QPs: 1, Deadline: 1000}

// NoSuch is the name of a parameter that no scheme has.
const NoSuch = "gauntlet_no_such_parameter"

// patience bounds the time that a program takes to send its capabilities, and to refuse a parameter that it does not
// have.
const patience = 30 * time.Second

// Ask reads the capabilities of a program that has just been started, and sends it a parameter that does not exist: a
// program that accepts this one would accept, and ignore, a parameter that matters. Ask kills a program that does not
// end by itself, and returns when no process of it is left. The error ends with the last line of the program's log.
func Ask(p *Program) (*Capabilities, error) {
	caps, err := ask(p)
	if err != nil {
		err = fmt.Errorf("contract: %s: %w%s", p.Name, err, p.Log.Last())
	}
	return caps, err
}

func ask(p *Program) (*Capabilities, error) {
	defer p.Stdout.Close()
	var killing sync.WaitGroup
	late := time.AfterFunc(patience, func() { _ = p.Signal(os.Kill) })
	caps, err := introduce(NewDialog(p.Stdout))
	switch {
	case err == nil:
		request(p.Stdin, nowhere, Order{Op: OpParam, Name: NoSuch, Value: "1"}, Order{Op: OpPrepare})
	case !errors.Is(err, errSilent): // a silent program has ended, or is about to
		// No further report would help. A container engine kills a container only while its output is read.
		killing.Go(func() { _ = p.Signal(os.Kill) })
	}
	// The program's input stays open, so that it does not end because of the end of its input.
	_, _ = io.Copy(io.Discard, p.Stdout)
	ended := p.Wait()
	killing.Wait()
	_ = p.Stdin.Close()
	switch inTime := late.Stop(); {
	case !inTime && errors.Is(err, errSilent):
		return nil, fmt.Errorf("it said nothing within %s; want capabilities as the first line", patience)
	case !inTime && err == nil:
		return caps, fmt.Errorf("asked for parameter %s, which does not exist, it went on for %s; want exit code %d",
			NoSuch, patience, Unsupported)
	case errors.Is(err, errSilent) && ended != nil:
		return nil, fmt.Errorf("%w; it ended with %w", err, ended)
	case err != nil:
		return nil, err
	}
	return caps, refused(ended)
}

// errSilent is the error of a program that closes its output before its first line.
var errSilent = errors.New("it said nothing; want capabilities as the first line")

// introduce reads the first line, the capabilities.
func introduce(d *Dialog) (*Capabilities, error) {
	r, err := d.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errSilent
	case err != nil:
		return nil, err
	case r.Event == SaysError:
		return nil, fmt.Errorf("it cannot go on, and said so in place of its capabilities: %s", r.Error)
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

// refused checks the exit code of a program that was sent a parameter that does not exist: it must be Unsupported.
func refused(ended error) error {
	code, err := exitCode(ended)
	if err != nil {
		return err
	}
	if code != Unsupported {
		how := "exit status 0"
		if ended != nil {
			how = ended.Error()
		}
		return fmt.Errorf("asked for parameter %s, which does not exist, it ended with %s; want exit code %d",
			NoSuch, how, Unsupported)
	}
	return nil
}
