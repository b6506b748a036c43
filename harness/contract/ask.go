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

// nowhere is a setup that is complete, so that there is one thing alone that a program can refuse.
var nowhere = Order{Op: OpSetup, Contract: Version, Side: "A", Device: "lo", MAC: "02:00:00:77:00:01", IP: "10.77.0.1",
	PeerMAC: "02:00:00:77:00:02", PeerIP: "10.77.0.2", QPs: 1, Deadline: 1000}

// NoSuch is the name of a parameter that no scheme has.
const NoSuch = "gauntlet_no_such_parameter"

// patience is how long a program may take to introduce itself, and to see that it is asked for something that it lacks.
const patience = 30 * time.Second

// Ask hears what a program that has just been started can do, and asks it for a parameter that does not exist: what
// accepts that would accept, and ignore, a parameter that matters. It is killed if it does not end by itself, and
// nothing is left of it. The error ends with what it logged last.
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
	case !errors.Is(err, errSilent): // which has ended, or is about to
		// Nothing that it could say would help. A container engine kills one only while somebody hears what it says.
		killing.Go(func() { _ = p.Signal(os.Kill) })
	}
	// Its input stays open, so that it cannot mistake the end of the conversation for the reason to end.
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

// errSilent is the error of a program that closes its output before it has said a word.
var errSilent = errors.New("it said nothing; want capabilities as the first line")

// introduce hears the first line.
func introduce(d *Dialog) (*Capabilities, error) {
	r, err := d.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errSilent
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
