package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// version identifies what is played: the contents of the test binary and of the stories.
func (p *player) version(binary string) (string, error) {
	stories, err := filepath.Glob(filepath.Join(p.root, "internal", "sim", "testdata", "*.txtar"))
	if err != nil {
		return "", fmt.Errorf("list stories: %w", err)
	}
	sum := sha256.New()
	fmt.Fprintln(sum, p.length)
	for _, name := range append(stories, binary) { // Glob returns names in order
		data, err := os.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("read what is played: %w", err)
		}
		fmt.Fprintf(sum, "%d\n", len(data))
		sum.Write(data)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// readScores returns the scores of a file, none if it does not exist.
func readScores(file string) (all []score, err error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read scores: %w", err)
	}
	for line := range bytes.Lines(data) {
		var s score
		if err := json.Unmarshal(line, &s); err != nil {
			return nil, fmt.Errorf("read scores of %s: %w", file, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// earlier returns the last of the known scores that is of the same mutant, build and first seed, else s.
func (s score) earlier(known []score) score {
	for i := len(known) - 1; i >= 0; i-- {
		if k := known[i]; k.Mutant == s.Mutant && k.Build == s.Build && k.First == s.First {
			return k
		}
	}
	return s
}

// keep appends the score to a file, if it has a name.
func (s score) keep(file string) error {
	if file == "" {
		return nil
	}
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode score: %w", err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("keep score: %w", err)
	}
	_, err = f.Write(append(data, '\n'))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("keep score: %w", err)
	}
	return nil
}
