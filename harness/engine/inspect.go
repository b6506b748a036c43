package engine

// Inspector is implemented by engines that show their state, for ladders, probes and reports. The order of the
// variables is fixed, names are those of the protocol's paper, and values never contain pointers or map order.
type Inspector interface {
	// Vars appends the engine's variables to list and returns it. What is in list before stays as it is. A driver calls
	// it at every event, so it allocates nothing when list has room.
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

// Names are the names of a group of variables that an engine shows more than once, each time behind another prefix:
// made once, and then given to the variables whenever they are shown.
type Names []string

// Prefixed returns the names of a group behind a prefix.
func Prefixed(prefix string, group []Var) Names {
	n := make(Names, len(group))
	for i := range group {
		n[i] = prefix + group[i].Name
	}
	return n
}

// Rename gives the names to the last variables of list, which are the group, and returns list.
func (n Names) Rename(list []Var) []Var {
	group := list[len(list)-len(n):]
	for i := range group {
		group[i].Name = n[i]
	}
	return list
}
