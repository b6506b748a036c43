package shard

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Total is the variable that says how many shards there are where an engine tells a task its index alone. It counts
// more than what the engine says.
const Total = "GAUNTLET_SHARD_TOTAL"

// source is how an engine tells a task which part it is.
type source struct {
	name  string
	index string // the variable of the index
	total string // that of the number of shards; "" where there is none but Total
	first int    // the index of the first shard
}

// sources are the engines. The first one is whatever a user sets, and counts before the others: GitHub exports neither
// strategy.job-index nor strategy.job-total, so a workflow has to.
var sources = []source{
	{"the user", "GAUNTLET_SHARD_INDEX", "", 0},
	{"GitLab", "CI_NODE_INDEX", "CI_NODE_TOTAL", 1},
	{"Slurm", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", 0},
	{"Kubernetes", "JOB_COMPLETION_INDEX", "", 0},
	{"Bazel", "TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", 0},
}

// fromEnvironment asks the engine that started this process. Two that both did are an error: who is inside whom cannot
// be seen, and a wrong guess would leave work undone.
func fromEnvironment(getenv func(string) string) (Part, error) {
	var found []source
	var names []string
	for _, s := range sources {
		names = append(names, s.index)
		if getenv(s.index) != "" {
			found = append(found, s)
		}
	}
	switch {
	case len(found) == 0:
		return Part{}, fmt.Errorf("shard auto: none of %s is set; say which with i/n", strings.Join(names, ", "))
	case len(found) > 1 && found[0].index != sources[0].index:
		return Part{}, fmt.Errorf("shard auto: both %s and %s are set; say which with i/n",
			found[0].index, found[1].index)
	}
	return found[0].read(getenv)
}

// read takes the part from the variables.
func (s *source) read(getenv func(string) string) (Part, error) {
	total := Total
	if getenv(Total) == "" && s.total != "" {
		total = s.total
	}
	i, err := number(getenv, s.index)
	if err != nil {
		return Part{}, err
	}
	n, err := number(getenv, total)
	if err != nil {
		return Part{}, err
	}
	i -= s.first
	if s.name == "Slurm" {
		if i, err = positionInArray(getenv, i, n); err != nil {
			return Part{}, err
		}
	}
	return part(s.index+" and "+total, i, n)
}

// positionInArray counts the tasks of a Slurm array from 0: arrays begin where their user wants, and may leave numbers
// out by a step. With a total of the user's own the index is what it says.
func positionInArray(getenv func(string) string, id, n int) (int, error) {
	if getenv(Total) != "" {
		return id, nil
	}
	var v [3]int
	for k, name := range []string{"SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP"} {
		var err error
		if v[k], err = number(getenv, name); err != nil {
			return 0, err
		}
	}
	first, last, step := v[0], v[1], max(1, v[2])
	if n > 1 && (last-first)/(n-1) != step && (last-first)%(n-1) == 0 {
		step = (last - first) / (n - 1)
	}
	if (id-first)%step != 0 || (last-first)/step+1 != n {
		return 0, fmt.Errorf("shard auto: %d tasks from %d to %d are no range with a step; set %s", n,
			first, last, Total)
	}
	return (id - first) / step, nil
}

// number reads a variable.
func number(getenv func(string) string, name string) (int, error) {
	n, err := strconv.Atoi(getenv(name))
	if err != nil {
		return 0, fmt.Errorf("shard auto: %s is %q: want a number", name, getenv(name))
	}
	return n, nil
}

// Acknowledge tells Bazel that this process knows of shards, as it asks for: it makes the file that
// TEST_SHARD_STATUS_FILE names. Elsewhere it does nothing.
func Acknowledge(getenv func(string) string) error {
	path := getenv("TEST_SHARD_STATUS_FILE")
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("TEST_SHARD_STATUS_FILE: %w", err)
	}
	return f.Close()
}
