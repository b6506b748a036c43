package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/moby/moby/client"
)

// sweep removes the containers whose owner is no more, and the images of versions that have been replaced.
func (e *Engine) sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	list, err := e.client.ContainerList(ctx, client.ContainerListOptions{All: true,
		Filters: make(client.Filters).Add("label", Owner)})
	if err != nil {
		return fmt.Errorf("container: list what was left: %w", err)
	}
	var errs []error
	for _, c := range list.Items {
		if orphaned(c.Labels[Owner]) {
			errs = append(errs, (&box{client: e.client, id: c.ID}).remove())
		}
	}
	// An image that is in use stays, and another process may be doing the same.
	_, _ = e.client.ImagePrune(ctx, client.ImagePruneOptions{Filters: make(client.Filters).Add("dangling",
		"true").Add("label", kind)})
	return errors.Join(errs...)
}

// identify returns a name that no other process of this machine has ever had: boot ID, PID namespace, process ID and
// start time. pid may be "self".
func identify(pid string) (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("container: %w", err)
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", fmt.Errorf("container: %w", err)
	}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return "", fmt.Errorf("container: %w", err)
	}
	// The name, in parentheses, may hold anything: fields are counted from its end. The 22nd is the time of the start.
	number, _, _ := strings.Cut(string(stat), " ")
	fields := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+1:])
	if len(fields) < 20 {
		return "", fmt.Errorf("container: /proc/%s/stat: %.60q", pid, stat)
	}
	if fields[0] == "Z" {
		return "", fmt.Errorf("container: process %s has ended and is a zombie", pid)
	}
	return strings.Join([]string{strings.TrimSpace(string(boot)), space, number, fields[19]}, " "), nil
}

// orphaned reports whether the process that a label names has ended. It is false for a process in another namespace,
// which cannot be seen here.
func orphaned(owner string) bool {
	self, err := identify("self")
	if err != nil {
		return false
	}
	here, its := strings.Fields(self), strings.Fields(owner)
	switch {
	case len(its) != len(here):
		return false // of another version
	case its[0] != here[0]:
		return true // the machine has been booted since
	case its[1] != here[1]:
		return false
	}
	now, err := identify(its[2])
	return err != nil || now != owner
}
