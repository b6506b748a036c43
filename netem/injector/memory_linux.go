package injector

import (
	"encoding/binary"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// The counters of a direction, each a word of the state that program and process share.
const (
	cOffered = iota // frames that took part: the number of the next one
	// frames of a side with faults that the dialect cannot read, and that are no malformed ones either
	cUnread
	cDrawn     // frames that the loss process had drawn as lost, also those that a fault dropped
	cLost      // frames that the loss process took
	cDropped   // frames that faults took
	cMarked    // frames that were delivered with a mark
	cCopies    // extra copies
	cUnlogged  // frames for which the log had no room
	cOverrun   // frames whose fate had not been drawn yet; they passed
	cUntracked // packets whose transmissions could not be counted
	cUncopied  // copies that the kernel had no memory for
	cLimit     // frames whose fates have been drawn; written by the process
	sideWords  = 16
)

// Where what lies in the state, in bytes.
const (
	wordLen    = 8
	sideLen    = sideWords * wordLen
	faultsAt   = 2 * sideLen
	faultLen   = 2 * wordLen // packets that matched; packets of which it was the gravest fault
	kindsAt    = faultsAt + MaxFaults*faultLen
	kindLen    = 8
	stateLen   = kindsAt + (kindCount+1)*kindLen
	ringBits   = 1 << 21 // fates that are drawn ahead, of a direction
	ringLen    = ringBits / 8
	frameMost  = 9216 // bytes of a frame that the log takes
	logLen     = 32 << 20
	recordLen  = 48          // of a record of the log, before the bytes of the frame
	headLen    = ethLen + 64 // bytes of a frame that the log has in any case, and that the program reads
	ethLen     = 14
	scratchLen = recordLen + frameMost
)

// Head is how many bytes of a frame a record has at least, if there are so many.
const Head = headLen

// memory is what the programs of a hop share with this process.
type memory struct {
	state   *ebpf.Map // counters and the table of kinds
	fates   *ebpf.Map // of the frames to come, a bit each; nil when no process loses any
	log     *ebpf.Map // nil when nobody wants it
	scratch *ebpf.Map // where a record is put together, of each processor; nil likewise
	tally   *ebpf.Map // transmissions of a packet; nil when no fault asks
}

// newMemory makes the maps.
func newMemory(d *Dialect, lossy, counted, logged bool) (m *memory, err error) {
	m = &memory{}
	make := func(at **ebpf.Map, spec ebpf.MapSpec) {
		if err == nil {
			*at, err = ebpf.NewMap(&spec)
		}
	}
	const shared = 1 << 10 // BPF_F_MMAPABLE
	const onDemand = 1     // BPF_F_NO_PREALLOC
	make(&m.state, ebpf.MapSpec{Name: "gauntlet_state", Type: ebpf.Array, KeySize: 4, ValueSize: stateLen,
		MaxEntries: 1, Flags: shared})
	if logged {
		make(&m.log, ebpf.MapSpec{Name: "gauntlet_log", Type: ebpf.RingBuf, MaxEntries: logLen})
		make(&m.scratch, ebpf.MapSpec{Name: "gauntlet_work", Type: ebpf.PerCPUArray, KeySize: 4,
			ValueSize: scratchLen, MaxEntries: 1})
	}
	if lossy {
		make(&m.fates, ebpf.MapSpec{Name: "gauntlet_fates", Type: ebpf.Array, KeySize: 4, ValueSize: 2 * ringLen,
			MaxEntries: 1, Flags: shared})
	}
	if counted {
		make(&m.tally, ebpf.MapSpec{Name: "gauntlet_tally", Type: ebpf.Hash, KeySize: tallyKeyLen, ValueSize: wordLen,
			MaxEntries: fault.MaxTracked, Flags: onDemand})
	}
	if err == nil {
		err = m.writeKinds(d)
	}
	if err != nil {
		m.close()
		return nil, fmt.Errorf("injector: memory for the kernel: %w", err)
	}
	return m, nil
}

// The bits of the first byte of a kind in the table.
const (
	kKnown = 1 << iota
	kStatus
	kBack
	kPayload
	kWords
	kSetup
	kSub
	kTurns
)

// writeKinds writes the table of kinds: flags, class, length of the header, shape.
func (m *memory) writeKinds(d *Dialect) error {
	_, shape := d.shapes()
	table := make([]byte, 0, kindCount*kindLen)
	for i, k := range d.Kinds {
		flags := byte(0)
		for bit, on := range map[byte]bool{kKnown: k.Name != "" || k.Sub, kStatus: k.Status, kBack: k.Back,
			kPayload: k.Payload, kWords: k.Words,
			kSetup: k.Setup, kSub: k.Sub, kTurns: k.Turns} {
			if on {
				flags |= bit
			}
		}
		table = append(table, flags, byte(classes[k.Class]), k.Header, shape[i], 0, 0, 0, 0)
	}
	memory, err := m.state.Memory()
	if err == nil {
		_, err = memory.WriteAt(table, kindsAt)
	}
	return err
}

// word reads a word of the state.
func (m *memory) word(at int) uint64 {
	var b [wordLen]byte
	if memory, err := m.state.Memory(); err == nil {
		_, _ = memory.ReadAt(b[:], int64(at)) // it is mapped, and this is within it
	}
	return binary.NativeEndian.Uint64(b[:])
}

// put writes a word of the state.
func (m *memory) put(at int, x uint64) error {
	memory, err := m.state.Memory()
	if err == nil {
		_, err = memory.WriteAt(binary.NativeEndian.AppendUint64(nil, x), int64(at))
	}
	return err
}

// counter reads a counter of a side.
func (m *memory) counter(side, which int) uint64 { return m.word(side*sideLen + which*wordLen) }

// close gives the maps up; the kernel keeps them as long as a program has them.
func (m *memory) close() {
	for _, one := range []*ebpf.Map{m.state, m.fates, m.log, m.scratch, m.tally} {
		if one != nil {
			_ = one.Close() // nothing is lost with it
		}
	}
}
