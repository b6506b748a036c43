package engine

// Inspector is implemented by engines that expose their state to ladders, probes and reports. The order of the
// variables is fixed, names are those of the protocol's paper, and values do not depend on pointers or map order.
type Inspector interface {
	// Vars appends the engine's variables to list and returns the result. It does not change the elements already in
	// list. A driver calls Vars at every event, so Vars does not allocate if list has room.
	Vars(list []Var) []Var
}

// Var is one named variable of an engine: "snd_una", "epsn". PSNs are absolute; IsPSN lets a ladder print them relative
// to the start.
type Var struct {
	Name  string
	Value int64
	IsPSN bool
}

// Flag is the value of a variable that is true or false.
func Flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Names are the names of a group of variables that an engine exposes several times with different prefixes. They are
// built once by Prefixed, and set in each list of variables by Rename.
type Names []string

// Prefixed returns the names of the variables of group, each with the prefix.
func Prefixed(prefix string, group []Var) Names {
	n := make(Names, len(group))
	for i := range group {
		n[i] = prefix + group[i].Name
	}
	return n
}

// Rename sets the names of the last len(n) variables of list, which are the group, and returns list.
func (n Names) Rename(list []Var) []Var {
	group := list[len(list)-len(n):]
	for i := range group {
		group[i].Name = n[i]
	}
	return list
}
