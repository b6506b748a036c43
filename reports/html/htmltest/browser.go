// Package htmltest opens pages in Chromium, for tests of pages. It uses the DevTools protocol over a pipe, with one
// browser for all pages of a test. It needs ten commands of the protocol; a library for it would bring megabytes of
// generated types.
package htmltest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Find returns the path of the Chromium to test with: that of GAUNTLET_BROWSER, which then must work, or one on the
// path.
func Find(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: starts a browser")
	}
	if b := os.Getenv("GAUNTLET_BROWSER"); b != "" {
		return b
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "NO BROWSER: the HTML report was not opened in Chromium. Install chromium, or set GAUNTLET_BROWSER."
	fmt.Fprintln(os.Stderr, missing)
	t.Skip(missing)
	return ""
}

// patience is the time limit of any action of the browser.
const patience = 2 * time.Minute

// Browser is a running Chromium.
type Browser struct {
	t    testing.TB
	in   *os.File     // commands
	said chan message // answers and events, in the order of arrival
	last int          // number of the last command
}

// message is a message of the protocol, in either direction.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// Start starts a browser, which ends with the test.
func Start(t testing.TB) *Browser {
	t.Helper()
	path := Find(t)
	dir, err := os.MkdirTemp("", "gauntlet-browser-")
	if err != nil {
		t.Fatal(err)
	}
	commands, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, answers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(
		path,
		"--headless=new",
		"--no-sandbox",
		"--disable-gpu",
		"--disable-dev-shm-usage",
		"--remote-debugging-pipe",
		"--user-data-dir="+dir,
	)
	c.ExtraFiles = []*os.File{commands, answers}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	commands.Close()
	answers.Close()
	b := &Browser{t: t, in: in, said: make(chan message, 1024)}
	go b.listen(out)
	t.Cleanup(func() {
		in.Close()
		_ = c.Process.Kill()
		_ = c.Wait()
		out.Close()
		_ = os.RemoveAll(dir) // fails while a process of the browser still writes there
	})
	return b
}

// listen reads messages, which end with a zero byte.
func (b *Browser) listen(out *os.File) {
	defer close(b.said)
	for r := bufio.NewReader(out); ; {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(text[:len(text)-1], &m) == nil {
			b.said <- m
		}
	}
}

// next returns the next message.
func (b *Browser) next(awaited string) message {
	b.t.Helper()
	select {
	case m, ok := <-b.said:
		if !ok {
			b.t.Fatalf("the browser ended while %s was awaited", awaited)
		}
		return m
	case <-time.After(patience):
		b.t.Fatalf("the browser says nothing while %s is awaited", awaited)
	}
	return message{}
}

// View is the size and colour scheme of a reader's window.
type View struct {
	Width, Height int
	Dark          bool
}

// Page is an open page.
type Page struct {
	*Browser
	session string
	Console []string // errors and warnings of the page, and files that could not be loaded
}

// Open opens an address and waits until it has been loaded.
func (b *Browser) Open(url string, v View) *Page {
	b.t.Helper()
	p := &Page{Browser: b}
	var target struct{ TargetID string }
	p.do("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	p.do("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p.session = attached.SessionID
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	p.do("Page.enable", nil, nil)
	p.do("Runtime.enable", nil, nil)
	p.do("Log.enable", nil, nil)
	p.do("Performance.enable", map[string]any{"timeDomain": "threadTicks"}, nil)
	p.do("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": v.Width, "height": v.Height, "deviceScaleFactor": 1, "mobile": false}, nil)
	p.do("Emulation.setEmulatedMedia",
		map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	p.do("Page.navigate", map[string]any{"url": url}, nil)
	for p.hear(b.next("the end of loading")) != "Page.loadEventFired" {
	}
	return p
}

// Close closes the page.
func (p *Page) Close() { p.do("Page.close", nil, nil) }

// do sends a command, and reads its answer into a value unless that is nil.
func (p *Page) do(method string, params, into any) {
	p.t.Helper()
	p.last++
	text, err := json.Marshal(message{ID: p.last, Session: p.session, Method: method, Params: params})
	if err == nil {
		_, err = p.in.Write(append(text, 0))
	}
	if err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
	for {
		m := p.next(method)
		if m.ID != p.last {
			p.hear(m)
			continue
		}
		switch {
		case m.Error != nil:
			err = fmt.Errorf("%s", m.Error.Message)
		case into != nil:
			err = json.Unmarshal(m.Result, into)
		}
		if err != nil {
			p.t.Fatalf("%s: %v", method, err)
		}
		return
	}
}

// hear records an event of the page, and returns its name.
func (p *Page) hear(m message) string {
	if m.Session != p.session || m.ID != 0 {
		return ""
	}
	switch m.Method {
	case "Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled":
		text, _ := json.Marshal(m.Params)
		p.Console = append(p.Console, string(text))
	}
	return m.Method
}

// Eval evaluates an expression in the page, waits if it is a promise, and reads its value.
func (p *Page) Eval(expression string, into any) {
	p.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	p.do("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &r)
	if r.ExceptionDetails != nil {
		p.t.Fatalf("%.200s: %s", expression, r.ExceptionDetails)
	}
	if err := json.Unmarshal(r.Result.Value, into); err != nil {
		p.t.Fatalf("%.200s: %v", expression, err)
	}
}

// Metrics returns the browser's metrics of the page, with times in seconds of processor time.
func (p *Page) Metrics() map[string]float64 {
	p.t.Helper()
	var r struct {
		Metrics []struct {
			Name  string
			Value float64
		}
	}
	p.do("Performance.getMetrics", nil, &r)
	out := map[string]float64{}
	for _, m := range r.Metrics {
		out[m.Name] = m.Value
	}
	return out
}

// Screenshot returns a PNG of the page of the given size in pixels.
func (p *Page) Screenshot(width, height int) []byte {
	p.t.Helper()
	var r struct{ Data []byte }
	clip := map[string]any{"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
	p.do("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true, "clip": clip}, &r)
	return r.Data
}
