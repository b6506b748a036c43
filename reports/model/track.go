package model

import "github.com/rdma-gauntlet/gauntlet/perf/history"

// Tracks summarises each series of a store.
type Tracks struct {
	Format int        `json:"format"`
	Store  string     `json:"store"`
	Nights int        `json:"nights"` // number of files, one for each night and host
	Series []TrackRow `json:"tracks"`
}

// TrackRow is a series of one host, or of all hosts if the host is not a part of its identity.
type TrackRow struct {
	history.Series
	Host     string   `json:"host,omitempty"`
	Points   int      `json:"points"`
	Gaps     int      `json:"gaps"`
	Segments int      `json:"segments"`
	First    string   `json:"first"` // night
	Last     string   `json:"last"`
	Value    *float64 `json:"value,omitempty"` // newest value that is no gap
	Word     string   `json:"word,omitempty"`  // in place of Value, for a verdict
}

// NewTracks summarises the tracks of a store.
func NewTracks(store string, nights int, tracks []history.Track) *Tracks {
	out := &Tracks{Format: FormatVersion, Store: store, Nights: nights, Series: []TrackRow{}}
	for i := range tracks {
		t := &tracks[i]
		row := TrackRow{
			Series: t.Series,
			Host:   t.Host,
			Points: len(t.Entries),
			First:  t.Entries[0].Night,
			Last:   t.Last().Night,
		}
		before := map[string]bool{}
		for k := range t.Entries {
			e := &t.Entries[k]
			if e.Gap() {
				row.Gaps++
				continue
			}
			before[e.Segment()] = true
			if row.Word, row.Value = e.Word, nil; e.Word == "" {
				v := e.Value()
				row.Value = &v
			}
		}
		row.Segments = len(before)
		out.Series = append(out.Series, row)
	}
	return out
}
