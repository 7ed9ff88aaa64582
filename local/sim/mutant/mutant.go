package mutant

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// A Mutant is the product with one defect.
type Mutant struct {
	Name string
	// Prose says what the defect is, and of which class.
	Prose string
	Edits []Edit
}

// An Edit replaces a text of a file. Path is relative to the root of the repository.
type Edit struct{ Path, Old, New string }

//go:embed mutants/*.txtar
var files embed.FS

// All returns the mutants of the folder mutants, by name.
func All() ([]Mutant, error) {
	folder, err := fs.Sub(files, "mutants")
	if err != nil {
		return nil, fmt.Errorf("read mutants: %w", err)
	}
	return In(folder)
}

// In returns the mutants of a folder, by name. It fails if the folder has no file whose name ends with .txtar.
func In(folder fs.FS) ([]Mutant, error) {
	names, err := fs.Glob(folder, "*.txtar")
	if err != nil {
		return nil, fmt.Errorf("read mutants: %w", err)
	}
	if len(names) == 0 {
		return nil, errors.New("read mutants: the folder has no file *.txtar")
	}
	var all []Mutant
	for _, name := range names {
		data, err := fs.ReadFile(folder, name)
		if err != nil {
			return nil, fmt.Errorf("read mutants: %w", err)
		}
		m, err := Parse(strings.TrimSuffix(name, ".txtar"), data)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// becomes is the name of the part with the new text.
const becomes = "becomes"

// Parse reads a mutant from a txtar archive. The archive begins with prose. For each edit it has two files. The first has the path
// of the source file as its name, and the old text. The second has the name "becomes", and the new text.
func Parse(name string, data []byte) (Mutant, error) {
	a := txtar.Parse(data)
	m := Mutant{Name: name, Prose: strings.TrimSpace(string(a.Comment))}
	if m.Prose == "" || len(a.Files) == 0 || len(a.Files)%2 != 0 {
		return m, fmt.Errorf("mutant %s: want prose, and for each edit a part with a path and a part %q", name, becomes)
	}
	for pair := range slices.Chunk(a.Files, 2) {
		if pair[0].Name == becomes || pair[1].Name != becomes {
			return m, fmt.Errorf("mutant %s: the part after %q is %q, want %q", name, pair[0].Name, pair[1].Name, becomes)
		}
		m.Edits = append(m.Edits, Edit{
			Path: pair[0].Name, Old: strings.TrimSuffix(string(pair[0].Data), "\n"), New: strings.TrimSuffix(string(pair[1].Data), "\n"),
		})
	}
	return m, nil
}

// Apply returns the changed files by path. It fails if an old text does not occur exactly once in its file. So a change of the
// source cannot silently turn a mutant into one without a defect.
func (m Mutant) Apply(root string) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, e := range m.Edits {
		data, ok := out[e.Path]
		if !ok {
			var err error
			if data, err = os.ReadFile(filepath.Join(root, e.Path)); err != nil {
				return nil, fmt.Errorf("mutant %s: %w", m.Name, err)
			}
		}
		if n := bytes.Count(data, []byte(e.Old)); n != 1 {
			return nil, fmt.Errorf("mutant %s: %s has the old text %d times, want once:\n%s", m.Name, e.Path, n, e.Old)
		}
		out[e.Path] = bytes.Replace(data, []byte(e.Old), []byte(e.New), 1)
	}
	return out, nil
}

// Overlay writes the changed files to a folder, and returns the file for the flag -overlay of the go command.
func (m Mutant) Overlay(root, dir string) (string, error) {
	changed, err := m.Apply(root)
	if err != nil {
		return "", err
	}
	if root, err = filepath.Abs(root); err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	replace := map[string]string{}
	for i, name := range slices.Sorted(maps.Keys(changed)) {
		file := filepath.Join(dir, fmt.Sprintf("%s-%d.go", m.Name, i))
		if err := os.WriteFile(file, changed[name], 0o644); err != nil {
			return "", fmt.Errorf("mutant %s: %w", m.Name, err)
		}
		replace[filepath.Join(root, name)] = file
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	file := filepath.Join(dir, m.Name+".json")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	return file, nil
}
