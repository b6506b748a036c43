package run

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
)

// Sheets returns the datasheets of the devices in traces, or those in a file of JSON. A device that is in several
// traces has one sheet, made from all of them. A sheet includes the counters of its device, as the given rules judge
// them. A device is identified by the name of its implementation, or by its address when it has no name.
func Sheets(ctx context.Context, counters []rule.Rule, paths ...string) ([]*datasheet.Sheet, error) {
	if len(paths) == 1 && strings.HasSuffix(paths[0], ".json") {
		return readSheets(paths[0])
	}
	var order []string
	found := map[string]*datasheet.Findings{}
	for _, path := range paths {
		h, reader, counts, err := readTrace(ctx, path, counters)
		if err != nil {
			return nil, err
		}
		for device := range datasheet.Devices {
			f := reader.Findings(device)
			if f == nil {
				continue
			}
			name := deviceName(&h, device)
			if found[name] == nil {
				found[name] = &datasheet.Findings{}
				order = append(order, name)
			}
			found[name].Add(f)
			for _, c := range counts[device] {
				found[name].Count(c)
			}
		}
	}
	var out []*datasheet.Sheet
	for _, name := range order {
		out = append(out, datasheet.New(name, paths, found[name]))
	}
	if len(out) == 0 {
		name := strings.Join(paths, ", ")
		return nil, &Unreadable{name, fmt.Errorf("datasheet: %s: no packet of a connection", name)}
	}
	return out, nil
}

// readTrace reads one trace. Its counts are by device.
func readTrace(ctx context.Context, path string,
	counters []rule.Rule) (h trace.Header, reader *datasheet.Reader, counts map[int][]datasheet.Counter, err error) {
	e := endingOf(path)
	if err := e.err(); err != nil { // else an error of a later step would hide this one
		return h, nil, nil, err
	}
	in, err := openInput(ctx, path)
	if err == nil {
		defer in.close()
		h = in.header
		reader = datasheet.NewReader(&h)
		judge := rule.NewJudge(h, counters, rule.Options{})
		err = in.play(trace.NewTimeline(&h, trace.Views{reader, judge}))
		counts = countersOf(judge.Verdicts())
	}
	if e.tolerates(err) {
		err = e.err()
	}
	return h, reader, counts, err
}

// countersOf returns the counters of each device that verdicts compare with the trace, by side.
func countersOf(verdicts []rule.Verdict) map[int][]datasheet.Counter {
	all := map[int][]datasheet.Counter{}
	for i := range verdicts {
		for _, n := range verdicts[i].Counts {
			c := datasheet.Counter{Name: n.Name, Value: n.Value, Low: n.Low, High: n.High, Seen: 1}
			if !n.Right() {
				c.Wrong = 1
			}
			side, _ := trace.ParseSide(n.Side)
			all[int(side)] = append(all[int(side)], c)
		}
	}
	return all
}

// deviceName returns the implementation of a device, else its address, else its side; "box" for a middlebox.
func deviceName(h *trace.Header, device int) string {
	if device == datasheet.DeviceBox || len(h.Conns) == 0 {
		return "box"
	}
	end := &h.Conns[0].Ends[device]
	switch {
	case end.Impl != "":
		return end.Impl
	case end.Addr.IsValid():
		return end.Addr.String()
	}
	return trace.Side(device).String()
}

// sheetLimit bounds a file of datasheets, in bytes; a longer file is not one.
const sheetLimit = 1 << 20

// readSheets reads the JSON that "datasheet --json" printed.
func readSheets(path string) ([]*datasheet.Sheet, error) {
	out, err := parseSheets(path)
	if err != nil {
		return nil, &Unreadable{path, err}
	}
	return out, nil
}

func parseSheets(path string) ([]*datasheet.Sheet, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("datasheet: %w", err)
	}
	if info.Size() > sheetLimit {
		return nil, fmt.Errorf("datasheet: %s: want at most %d bytes of JSON", path, sheetLimit)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("datasheet: %w", err)
	}
	var out []*datasheet.Sheet
	if err := json.Unmarshal(text, &out); err != nil || len(out) == 0 {
		return nil, fmt.Errorf("datasheet: %s: want what 'datasheet --json' prints", path)
	}
	return out, nil
}

// Probe returns the datasheet of an implementation. It runs each probe in virtual time with the implementation at both
// ends, and adds up the findings on both. A middlebox has a sheet of its own.
func Probe(ctx context.Context, impl engine.Implementation, params engine.Params) ([]*datasheet.Sheet, error) {
	var ends, box datasheet.Findings
	var from []string
	for _, p := range datasheet.Probes() {
		reader, err := probe(ctx, impl, params, p.Text)
		if err != nil {
			return nil, fmt.Errorf("datasheet: probe %s: %w", p.Name, err)
		}
		from = append(from, p.Name)
		for device, into := range map[int]*datasheet.Findings{datasheet.DeviceA: &ends, datasheet.DeviceB: &ends,
			datasheet.DeviceBox: &box} {
			if f := reader.Findings(device); f != nil {
				into.Add(f)
			}
		}
	}
	out := []*datasheet.Sheet{datasheet.New(impl.Name, from, &ends)}
	if len(box.Transports) > 0 {
		out = append(out, datasheet.New(impl.Name+" box", from, &box))
	}
	return out, nil
}

// probe runs one probe with the implementation at both ends.
func probe(ctx context.Context, impl engine.Implementation, params engine.Params,
	text string) (*datasheet.Reader, error) {
	s, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	s.Impl, s.Params = [2]string{impl.Name, impl.Name}, params
	job, err := bench.NewJob(s, [2]engine.Implementation{impl, impl})
	if err != nil {
		return nil, err
	}
	var reader *datasheet.Reader
	job.Bytes, job.Open = true, func(h trace.Header) (trace.Sink, error) {
		reader = datasheet.NewReader(&h)
		return trace.NewTimeline(&h, reader), nil
	}
	_, err = sim.Bench{}.Run(ctx, job)
	return reader, err
}
