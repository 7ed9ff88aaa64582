package decisions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// The ConfigMap in which a controller stores its log for karpenter commands in a terminal.
const (
	// MapName is the name of the ConfigMap. Its namespace is that of the controller.
	MapName = "karpenter-decisions"
	// MapKey is the key in its data. The value has one line of JSON for each episode, oldest first.
	MapKey = "episodes"
	// SettingsKey is the key of the controller's settings, as JSON: an object with the text of each flag on which decisions
	// depend, by the name of the flag.
	SettingsKey = "settings"
	// MaxStored bounds the value of MapKey, in bytes.
	MaxStored = 256 << 10
)

// Encode returns the newest episodes that fit in MaxStored bytes, one line of JSON each, oldest first, and the version
// of the log.
func (l *Log) Encode() (string, uint64) {
	if l == nil {
		return "", 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	size, from := 0, len(l.entries)
	for from > 0 {
		x := l.entries[from-1]
		if x.encoded == nil {
			data, err := json.Marshal(&x.Episode)
			if err != nil {
				break // an error occurs only for NaN and infinite prices, which no catalogue has
			}
			x.encoded = data
		}
		if size+len(x.encoded)+1 > MaxStored {
			break
		}
		size += len(x.encoded) + 1
		from--
	}
	var b strings.Builder
	b.Grow(size)
	for _, x := range l.entries[from:] {
		b.Write(x.encoded)
		b.WriteByte('\n')
	}
	return b.String(), l.version
}

// Decode returns the episodes of a text that Encode made. It ignores unknown fields, so that it can read the log of a newer
// controller.
func Decode(text string) ([]Episode, error) {
	var out []Episode
	for i, line := range bytes.Split([]byte(text), []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var e Episode
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("decode line %d of %s: %w", i+1, MapKey, err)
		}
		out = append(out, e)
	}
	return out, nil
}
