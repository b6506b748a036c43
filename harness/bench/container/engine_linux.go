package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// Engine is the Docker Engine of this machine. It serves one run at a time.
type Engine struct {
	Self string // this binary, the first program of every container

	provider *testcontainers.DockerProvider
	client   client.APIClient
	version  string
	commit   string
	owner    string
	root     string // group of processes of the containers; "" leaves it to the engine
	image    string // with our engines, once the engine has it
}

// patience is the time limit for a short operation of the engine.
const patience = 30 * time.Second

// remedy ends the error of a machine without an engine.
const remedy = "install Docker Engine (apt-get install docker.io) and start it, or use --bench netns"

// Open connects to the engine and removes the containers that killed runs have left. self is this binary; version and
// commit become labels of the image with this repository's engines.
func Open(ctx context.Context, self, version, commit string) (*Engine, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New(
			"container: needs root, because it puts devices into the namespaces of containers; use sudo")
	}
	if err := static(self); err != nil {
		return nil, err
	}
	provider, _, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	e := &Engine{provider: provider, client: provider.Client(), Self: self, version: version, commit: commit}
	if e.owner, err = identify("self"); err != nil {
		return nil, err
	}
	i, err := e.client.Info(ctx, client.InfoOptions{})
	if err != nil {
		return nil, fmt.Errorf("container: ask Docker Engine about itself: %w", err)
	}
	e.root = roots[i.Info.CgroupDriver]
	return e, e.sweep(ctx)
}

// Version returns the version of the engine, or why there is none, with the remedy.
func Version(ctx context.Context) (string, error) {
	_, version, err := connect(ctx)
	return version, err
}

// connect finds the engine as the docker command does: DOCKER_HOST, or the usual sockets.
func connect(ctx context.Context) (p *testcontainers.DockerProvider, version string, err error) {
	// Ryuk, which removes what testcontainers leaves behind, is an image of a registry; sweep replaces it here. The
	// variable must be set before anything else, because it is read once.
	if err := os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true"); err != nil {
		return nil, "", err
	}
	log.SetDefault(log.NewNoopLogger())
	defer func() {
		if v := recover(); v != nil { // testcontainers panics when an engine contradicts its earlier answers
			err = fmt.Errorf("container: no Docker Engine: %v; %s", v, remedy)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// Every container is in the network "none"; with another default, testcontainers may create a bridge that no
	// container uses.
	p, err = testcontainers.NewDockerProvider(testcontainers.WithDefaultBridgeNetwork("none"),
		testcontainers.Generic2DockerOptions(testcontainers.WithLogger(log.NewNoopLogger()))[0])
	if err != nil {
		return nil, "", fmt.Errorf("container: no Docker Engine: %w; %s", err, remedy)
	}
	v, err := p.Client().ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return nil, "", fmt.Errorf("container: Docker Engine does not answer: %w; %s", err, remedy)
	}
	host, asked := p.Client().DaemonHost(), os.Getenv("DOCKER_HOST")
	switch {
	case !strings.HasPrefix(host, "unix://"):
		err = fmt.Errorf("container: Docker Engine is at %s; want one of this machine, whose namespaces can be "+
			"entered: unset DOCKER_HOST", host)
	case asked != "" && asked != host: // testcontainers would connect to the other host
		err = fmt.Errorf("container: no Docker Engine at DOCKER_HOST=%s; %s", asked, remedy)
	}
	return p, v.Version, err
}

// Start starts an implementation in a role, "endpoint" or "box": the program of its image, or, for an engine, the
// program of this repository.
func (e *Engine) Start(ctx context.Context, role string, impl *engine.Implementation) (*contract.Program, error) {
	if image := scenario.PartyOf(impl.Name).Image; image != "" {
		return e.StartImage(ctx, image)
	}
	if err := e.load(ctx); err != nil {
		return nil, err
	}
	return e.start(ctx,
		guest{name: Endpoint, image: e.image, user: Nobody, command: []string{program, "process", role, impl.Name}})
}

// StartImage starts the program of an image, which must be on this machine: nothing is ever downloaded.
func (e *Engine) StartImage(ctx context.Context, name string) (*contract.Program, error) {
	i, err := e.client.ImageInspect(ctx, name)
	if err != nil {
		return nil, fmt.Errorf(
			"container: image %s: %w; build or load it on this machine, nothing is downloaded", name, err)
	}
	g := guest{name: name, image: i.ID}
	if i.Config != nil {
		g.user, g.command = i.Config.User, append(i.Config.Entrypoint, i.Config.Cmd...)
	}
	if len(g.command) == 0 {
		return nil, fmt.Errorf(
			"container: image %s: it has no ENTRYPOINT; want the program that keeps images/CONTRACT.md", name)
	}
	return e.start(ctx, g)
}

// load gives the engine the image with this repository's engines, if it does not have it.
func (e *Engine) load(ctx context.Context) error {
	if e.image != "" {
		return nil
	}
	a, err := pack(e.version, e.commit)
	if err != nil {
		return err
	}
	if _, err := e.client.ImageInspect(ctx, a.id()); err != nil {
		var whole bytes.Buffer
		if err := a.write(&whole); err != nil {
			return err
		}
		said, err := e.client.ImageLoad(ctx, &whole, client.ImageLoadWithQuiet(true))
		if err != nil {
			return fmt.Errorf("container: load %s: %w", Endpoint, err)
		}
		_, err = io.Copy(io.Discard, said) // the image has been loaded at the end of the answer
		if err = errors.Join(err, said.Close()); err != nil {
			return fmt.Errorf("container: load %s: %w", Endpoint, err)
		}
	}
	if _, err := e.client.ImageTag(ctx, client.ImageTagOptions{Source: a.id(), Target: Endpoint}); err != nil {
		return fmt.Errorf("container: tag %s: %w", Endpoint, err)
	}
	e.image = a.id()
	return nil
}
