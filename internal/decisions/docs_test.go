package decisions

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// docs/decisions.md names every field and every value of the JSON output.
func TestDocumented(t *testing.T) {
	data, err := os.ReadFile("../../docs/decisions.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	var words []string
	for _, v := range []any{Episode{}, Launch{}, Removal{}, Refusal{}, Effect{}, Change{}} {
		of := reflect.TypeOf(v)
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			words = append(words, name)
		}
	}
	for _, k := range Kinds() {
		words = append(words, string(k))
	}
	for _, s := range []State{StateOpen, StateDone, StateFailed, StateCancelled} {
		words = append(words, string(s))
	}
	for _, k := range []EffectKind{
		EffectLaunched, EffectRegistered, EffectInitialized, EffectTerminating, EffectTerminated, EffectFailed, EffectEvicted,
		EffectCancelled, EffectNote,
	} {
		words = append(words, string(k))
	}
	for _, w := range words {
		if !strings.Contains(page, "`"+w+"`") {
			t.Errorf("docs/decisions.md does not name %s", w)
		}
	}
}
