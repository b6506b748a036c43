package shard

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Total is the variable with the number of shards, for engines that give a task only its index. It takes precedence
// over the number that an engine gives.
const Total = "GAUNTLET_SHARD_TOTAL"

// source is the variables of an engine that give a task its part.
type source struct {
	name  string
	index string // variable of the index
	total string // variable of the number of shards; "" if there is only Total
	first int    // the index of the first shard
}

// sources are the engines. The first is for users, and takes precedence: GitHub exports neither strategy.job-index nor
// strategy.job-total, so a workflow has to.
var sources = []source{
	{"the user", "GAUNTLET_SHARD_INDEX", "", 0},
	{"GitLab", "CI_NODE_INDEX", "CI_NODE_TOTAL", 1},
	{"Slurm", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", 0},
	{"Kubernetes", "JOB_COMPLETION_INDEX", "", 0},
	{"Bazel", "TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", 0},
}

// fromEnvironment reads the part from the variables of the engine that started this process. Variables of two engines
// are an error: their nesting is unknown, and a wrong guess would leave work undone.
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

// read reads the part from the variables.
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

// positionInArray returns the position of a task in a Slurm array, from 0: arrays may begin anywhere and have a step.
// With a total of the user's own it returns the index.
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

// Acknowledge tells Bazel, as it requires, that this process supports shards: it creates the file in
// TEST_SHARD_STATUS_FILE. Without that variable it does nothing.
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
