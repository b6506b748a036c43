package capture

// Seals are what one reading of a source found of its frames, in their order, so that the next one need not read their
// payloads again.
type Seals struct {
	chunks [][]seal
	count  int // of frames
}

// seal is what is known of a frame.
type seal struct {
	icrc    uint32 // that the frame bears; another one where nothing is known of the frame
	payload uint32 // CRC-32 of its payload
}

// sealChunk is how many seals lie together.
const sealChunk = 1 << 10

// Add takes the next frame, by the ICRC that it bears and the CRC-32 of its payload. Of a frame that is not sound
// nothing is kept.
func (l *Seals) Add(icrc, payload uint32, sound bool) {
	if !sound {
		icrc = ^icrc
	}
	if l.count%sealChunk == 0 {
		l.chunks = append(l.chunks, make([]seal, 0, min(sealChunk, max(16, 2*l.count))))
	}
	l.count++
	last := &l.chunks[len(l.chunks)-1]
	*last = append(*last, seal{icrc, payload})
}

// at returns what is known of a frame by its place; nil beyond the last.
func (l *Seals) at(i int) *seal {
	if i >= l.count {
		return nil
	}
	return &l.chunks[i/sealChunk][i%sealChunk]
}

// Sound is a source that has been read before.
type Sound struct {
	Source
	Frames uint64 // how many of its first frames were found to decode, with the right ICRC
	Seals  *Seals // what was found of its first frames, by their place
	next   int
}

// Next implements Source.
func (t *Sound) Next(f *Frame) error {
	err := t.Source.Next(f)
	if f.Sound = t.Frames > 0; f.Sound {
		t.Frames--
	}
	f.seal = t.Seals.at(t.next)
	t.next++
	return err
}

// Stats returns those of the source when it has some.
func (t *Sound) Stats() Stats { return StatsOf(t.Source) }
