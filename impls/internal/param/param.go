// Package param reads the values of an implementation's parameters. An error quotes the value and the accepted values;
// engine.Params.Read prefixes the names of the implementation and the parameter.
package param

import (
	"fmt"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Number reads a whole number from least to most.
func Number(s string, least, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q: want a whole number from %d to %d", s, least, most)
	}
	return n, nil
}

// Bool reads true or false.
func Bool(s string) (bool, error) {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return false, fmt.Errorf("%q: want true or false", s)
	}
	return b, nil
}

// Duration reads a duration that is not negative.
func Duration(s string) (vtime.Duration, error) {
	d, err := vtime.ParseDuration(s)
	if err == nil && d < 0 {
		err = fmt.Errorf("%q: want zero or more", s)
	}
	return d, err
}
