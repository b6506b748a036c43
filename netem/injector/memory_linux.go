package injector

import (
	"encoding/binary"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// The counters of a direction, each a word of the state that the program and the process share.
const (
	cOffered = iota // numbered frames: the number of the next one
	// frames with a VLAN tag, of IPv6 or of another protocol, counted on a side with faults
	cUnread
	cDrawn     // frames that the loss process has drawn as lost, including those that a fault dropped
	cLost      // frames that the loss process lost
	cDropped   // frames that faults dropped
	cMarked    // delivered frames that faults marked
	cCopies    // extra copies
	cUnlogged  // frames for which the log had no room
	cOverrun   // frames whose fate had not been drawn; they passed
	cUntracked // packets whose transmissions could not be counted
	cUncopied  // copies that the kernel had no memory for
	cLimit     // fates that have been drawn; written by the process
	sideWords  = 16
)

// Offsets and lengths in the state, in bytes.
const (
	wordLen    = 8
	sideLen    = sideWords * wordLen
	faultsAt   = 2 * sideLen
	faultLen   = 2 * wordLen // packets that matched; packets of which the fault was the gravest
	kindsAt    = faultsAt + MaxFaults*faultLen
	kindLen    = 8
	stateLen   = kindsAt + (kindCount+1)*kindLen
	ringBits   = 1 << 21 // fates of a direction in the ring
	ringLen    = ringBits / 8
	frameMost  = 9216 // maximum length of a frame in the log, in bytes
	logLen     = 32 << 20
	recordLen  = 48          // length of a record of the log without the bytes of the frame
	headLen    = ethLen + 64 // bytes of a frame that the program reads, and that every record has
	ethLen     = 14
	scratchLen = recordLen + frameMost
)

// Head is the minimum number of bytes of a frame in a record, if the frame has as many.
const Head = headLen

// memory holds the maps that the programs share with this process.
type memory struct {
	state   *ebpf.Map // counters and the table of kinds
	fates   *ebpf.Map // fates of the next frames, a bit each; nil when no process loses any
	log     *ebpf.Map // nil without a log
	scratch *ebpf.Map // buffer of each processor for a record; nil without a log
	tally   *ebpf.Map // transmissions of each packet; nil when no fault needs them
}

// newMemory creates the maps.
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

// Flags of a kind, in the first byte of its row.
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
		_, _ = memory.ReadAt(b[:], int64(at)) // cannot fail: the map is mapped, and this is within it
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

// close closes the maps; the kernel keeps them as long as a program uses them.
func (m *memory) close() {
	for _, one := range []*ebpf.Map{m.state, m.fates, m.log, m.scratch, m.tally} {
		if one != nil {
			_ = one.Close() // close has no effect on the data
		}
	}
}
